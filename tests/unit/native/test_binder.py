"""The native binder binds as ``inspect.Signature.bind`` does, and refuses in Python's own words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from darter.errors import ArgumentTypeError
from tests.unit.native.noop import noop


def make(
    positional_only: int, plain: int, keyword_only: int, defaults: int, keyword_defaults: int
) -> Callable[..., Any]:
    """Return a function with so many parameters; the last ones of each group have defaults."""
    names = [f"p{i}" for i in range(positional_only + plain)]
    shown = [name if i < len(names) - defaults else f"{name}={i}" for i, name in enumerate(names)]
    if positional_only:
        shown.insert(positional_only, "/")
    if keyword_only:
        shown.append("*")
        shown += [f"k{i}" if i < keyword_only - keyword_defaults else f"k{i}={-i}" for i in range(keyword_only)]
    namespace: dict[str, Any] = {}
    exec(f"def f({', '.join(shown)}): pass", namespace)
    return namespace["f"]


signatures = st.builds(
    make, st.integers(0, 2), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)
)
keywords = st.lists(st.sampled_from(["p0", "p1", "p2", "p3", "p4", "k0", "k1", "other"]), unique=True, max_size=5)


def refusal_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return what Python says against the call, or None."""
    try:
        function(*args, **kwargs)
    except TypeError as error:
        return str(error).split(". Did you mean")[0]  # Python 3.13 guesses
    return None


@given(signatures, st.integers(0, 6), keywords)
def test_binds_as_python_does_and_refuses_in_its_words(
    function: Callable[..., Any], count: int, names: list[str]
) -> None:
    args = tuple(range(100, 100 + count))
    kwargs = {name: index for index, name in enumerate(names)}
    launcher = noop(function)
    refusal = refusal_of(function, args, kwargs)
    if refusal is not None:
        with pytest.raises(ArgumentTypeError) as refused:
            launcher._bind(*args, **kwargs)
        assert str(refused.value) == refusal
        return
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    for _ in range(2):  # the second time by the remembered names
        assert launcher._bind(*args, **kwargs) == tuple(bound.arguments.values())


def test_many_sets_of_keywords_and_names_made_at_run_time() -> None:
    launcher = noop(lambda a=0, b=0, c=0, d=0, e=0: None)
    for repeat in range(3):
        for bits in range(32):
            chosen = {"".join(name): bits for place, name in enumerate("abcde") if bits >> place & 1}
            expected = tuple(chosen.get(name, 0) for name in "abcde")
            assert launcher._bind(**chosen) == expected, repeat


def test_keywords_in_any_order_are_one_key() -> None:
    launcher = noop(lambda x, n=8, m=4: None)
    launcher(1.0, n=8, m=4)
    launcher(m=4, n=8, x=1.0)
    launcher(1.0, 8, 4)
    launcher(x=1.0)
    assert len(launcher._states()) == 1
    assert launcher._slots(1.0, m=2, n=3) == launcher._slots(1.0, 3, 2)


def test_too_many_parameters_are_refused() -> None:
    with pytest.raises(TypeError, match="at most 256"):
        noop(make(0, 257, 0, 0, 0))
    assert len(noop(make(0, 256, 0, 0, 0))._slots(*range(256))) == 256
