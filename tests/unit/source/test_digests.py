"""Digests of sources: equal to those of the normalised text, and known only for the same text and the same code."""

from __future__ import annotations

import hashlib
import linecache
import types

import pytest

from darter.errors import SourceUnavailableError
from darter.source import function_source, own_lines
from darter.source.digests import LIMIT, SourceDigests

TEXT = """
def f(n):
    size: int = 2
    if n in {"a", "b", "c"}:
        return lambda m: m + (1.0, -0.0, size)
    return n
"""


def _defined(tmp_path, text: str, name: str = "f", file: str = "defined.py") -> types.FunctionType:
    path = tmp_path / file
    path.write_text(text)
    linecache.checkcache(str(path))
    scope: dict[str, object] = {"__name__": "defined"}
    exec(compile(text, str(path), "exec"), scope)
    function = scope[name]
    assert isinstance(function, types.FunctionType)
    return function


def _expected(function: types.FunctionType) -> str:
    return hashlib.sha256(function_source.source_of(function).digest_text.encode()).hexdigest()


def test_a_digest_is_that_of_the_normalised_text(tmp_path) -> None:
    digests = SourceDigests()
    function = _defined(tmp_path, TEXT)
    assert digests.of(function) == _expected(function)
    assert digests.has_news


def test_another_process_parses_nothing(tmp_path, monkeypatch) -> None:
    function = _defined(tmp_path, TEXT)
    told = SourceDigests()
    expected = told.of(function)
    monkeypatch.setattr(own_lines, "node_from_own_lines", lambda *_: pytest.fail("parsed"))
    digests = SourceDigests(told.text())
    # Elsewhere in another file, too: neither decides what a function says.
    assert digests.of(_defined(tmp_path, "\n\n\n" + TEXT, file="moved.py")) == expected
    assert not digests.has_news


@pytest.mark.parametrize(
    "edit",
    [("return n", "return n + 1"), ("size: int", "size: float"), ("-0.0", "0.0"), ('"c"', '"d"'), ("f(n)", "f(n=1)")],
)
def test_another_text_is_another_digest_though_the_code_may_be_the_same(tmp_path, edit) -> None:
    told = SourceDigests()
    before = told.of(_defined(tmp_path, TEXT))
    digests = SourceDigests(told.text())
    function = _defined(tmp_path, TEXT.replace(*edit), file="edited.py")
    assert digests.of(function) == _expected(function) != before
    assert digests.has_news


def test_text_that_is_not_the_code_that_runs_has_no_digest(tmp_path) -> None:
    function = _defined(tmp_path, TEXT)
    told = SourceDigests()
    told.of(function)
    linecache.clearcache()
    (tmp_path / "defined.py").write_text(TEXT.replace("return n", "return 1"))
    with pytest.raises(SourceUnavailableError):
        SourceDigests(told.text()).of(function)


def test_code_that_is_not_of_its_text_has_no_digest(tmp_path) -> None:
    function = _defined(tmp_path, TEXT)
    told = SourceDigests()
    told.of(function)
    function.__code__ = function.__code__.replace(co_consts=(*function.__code__.co_consts, 1))
    with pytest.raises(SourceUnavailableError):
        SourceDigests(told.text()).of(function)


def test_what_more_than_its_own_lines_decide_is_not_remembered(tmp_path) -> None:
    digests = SourceDigests()
    function = _defined(tmp_path, "f = lambda n: n + 1\n")
    assert digests.of(function) == _expected(function)
    assert not digests.has_news


def test_damage_and_too_much_are_found_out_anew(tmp_path) -> None:
    function = _defined(tmp_path, TEXT)
    told = SourceDigests()
    expected = told.of(function)
    damaged = told.text()[:-1] + ("0" if told.text()[-1] != "0" else "1")
    assert SourceDigests(damaged).of(function) == expected
    assert SourceDigests("").of(function) == expected
    many = SourceDigests()
    many._known.update({f"{number:064x}": expected for number in range(LIMIT)})
    assert SourceDigests(many.text())._known == {}
