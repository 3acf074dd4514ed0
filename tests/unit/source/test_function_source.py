"""Finding a function's source by its code object."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import pathlib

import pytest

from darter.errors import SourceUnavailableError
from darter.source import function_source as source
from darter.source.function_source import source_of


def _wrapping(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + 1

    return wrapper


def _taking(_):
    return lambda function: function


def plain(x):
    """A docstring."""
    return x + 1


@_taking(lambda a: (a,))
def decorated_with_a_lambda(x):
    return x + 2


@_wrapping
def wrapped(x):
    return x + 3


PAIR = (lambda x: x + 1, lambda x: x + 2)


class Holder:
    def method(self):
        return lambda y: y * 3


def _text(function):
    source = source_of(function)
    return "\n".join(source.lines[source.node.lineno - 1 : source.node.end_lineno])


def test_functions_methods_and_nested_functions():
    assert _text(plain).startswith("def plain")
    assert source_of(plain).first_line == plain.__code__.co_firstlineno
    assert _text(decorated_with_a_lambda).startswith("def decorated_with_a_lambda")
    assert "return lambda y" in _text(Holder.method)
    assert "lambda y: y * 3" in source_of(Holder().method()).lines[source_of(Holder().method()).first_line - 1]


def test_the_wrapper_is_its_own_source():
    assert _text(wrapped).lstrip().startswith("def wrapper")


# fmt: off
MANY = (lambda x: 1 if x in (5, 6) else 0, lambda x: 2 if x else 0, lambda x: x and 3, lambda x: x or 3, lambda x: 0 < x < 3, lambda x: [i for i in x], lambda x: (lambda y: y if x else 3), lambda x, y=(lambda z: z if z else 2): y(x), lambda: None, lambda: 1 + 1, lambda: 2.0)  # noqa: C416, E501
# fmt: on


@pytest.mark.parametrize("place", range(len(MANY)))
def test_lambdas_of_one_line_are_told_apart_whatever_their_bodies_are(place):
    """The body of a condition, a chain or an ``and`` is the position of no instruction."""
    text = (
        "lambda x: 1 if x in (5, 6) else 0", "lambda x: 2 if x else 0", "lambda x: x and 3", "lambda x: x or 3",
        "lambda x: 0 < x < 3", "lambda x: [i for i in x]", "lambda x: lambda y: y if x else 3",
        "lambda x, y=lambda z: z if z else 2: y(x)", "lambda: None", "lambda: 1 + 1", "lambda: 2.0",
    )[place]  # fmt: skip
    assert ast.unparse(source_of(MANY[place]).node) == text


def test_lambdas_inside_lambdas_of_one_line_are_told_apart():
    assert ast.unparse(source_of(MANY[6](1)).node) == "lambda y: y if x else 3"
    assert ast.unparse(source_of(MANY[7].__defaults__[0]).node) == "lambda z: z if z else 2"


def test_two_lambdas_on_one_line_are_told_apart():
    first, second = (source_of(function).digest_text for function in PAIR)
    assert first != second
    assert "Constant(1," in first
    assert "Constant(2," in second


def test_the_digest_ignores_docstring_decorators_and_place(tmp_path):
    def functions(text):
        path = tmp_path / f"m{len(text)}.py"
        path.write_text(text)
        namespace = {}
        exec(compile(text, str(path), "exec"), namespace)
        return namespace["f"]

    a = functions("def f(x):\n    return x + 1\n")
    b = functions('\n\n@(lambda g: g)\ndef f(x):\n    """Doc."""\n\n    # comment\n    return (x + 1)\n')
    c = functions("def f(x):\n    return x + 1.0\n")
    assert source_of(a).digest_text == source_of(b).digest_text
    assert source_of(a).digest_text != source_of(c).digest_text


def test_a_file_edited_after_loading_is_refused_and_one_only_moved_is_not(tmp_path):
    path = tmp_path / "edited.py"

    def load(text):
        path.write_text(text)
        namespace = {}
        exec(compile(text, str(path), "exec"), namespace)
        return namespace["f"]

    old = load("def f(x):\n    return x + 1\n")
    path.write_text("\n\n\ndef f(x):\n    return x + 1\n")
    linecache.clearcache()
    assert source_of(old).first_line == 4
    path.write_text("def f(x):\n    return x + 22\n")
    linecache.clearcache()
    with pytest.raises(SourceUnavailableError, match="edited after it was loaded"):
        source_of(old)


def test_code_without_source_says_so_and_a_cell_run_again_is_found_anew():
    namespace = {}
    exec(compile("def f(x):\n    return 1\n", "<nowhere>", "exec"), namespace)
    with pytest.raises(SourceUnavailableError, match=r"source .*linecache\.cache"):
        source_of(namespace["f"])
    for value in ("1", "2"):
        text = f"def f(x):\n    return {value}\n"
        exec(compile(text, "<cell 7>", "exec"), namespace)
        linecache.cache["<cell 7>"] = (len(text), None, text.splitlines(keepends=True), "<cell 7>")
        assert f"Constant({value}," in source_of(namespace["f"]).digest_text


def test_changed_bytecode_is_refused():
    def f(x):
        return x + 1

    def g(x):
        return x + 2

    f.__code__ = f.__code__.replace(co_consts=g.__code__.co_consts)
    with pytest.raises(SourceUnavailableError):
        source_of(f)
    assert pathlib.Path(source_of(g).file).name == "test_function_source.py"


def test_a_file_of_the_same_size_and_time_is_read_again(tmp_path):
    path = tmp_path / "twice.py"

    def loaded(number):
        path.write_text(f"def f():\n    return {number}\n")
        os.utime(path, (1000, 1000))
        namespace = {"__name__": "twice"}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        return namespace["f"]

    for number in (1, 2, 3):
        assert f"return {number}" in source_of(loaded(number)).lines[1]


# -- from a function's own lines --------------------------------------------------------------------------------------

AROUND = '''
import functools
import math


class Shapes:
    limit = 3

    def method(self, n):
        # a comment further left than the body
  # and one further still
        text = """a string
that goes on at the left
"""
        return (
            n,
        text)

    @functools.lru_cache(
        maxsize=3,
    )
    def decorated(
        self,
        n=1,
    ):
        """A docstring."""
        return n + 1

    def mangled(self):
        return self.__limit

    def asks_above(self):
        return super().__str__()


def factory(scale, other):
    def closing(x):
        def inner(y):
            return math.sqrt(y) * scale + other
        return inner(x)

    def closing_over_nothing(x): return x + 1; 2

    return closing, closing_over_nothing


def branches(n):
    if n:
        return math.floor(n)
    else:
        return 2
async def right_after(n):
    return n
'''


@pytest.mark.parametrize("lines_above", [0, 3])
def test_own_lines_give_the_node_that_the_whole_file_gives(tmp_path, monkeypatch, lines_above):
    path = tmp_path / "around.py"
    path.write_text("\n" * lines_above + AROUND)
    scope: dict[str, object] = {"__name__": "around"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    shapes = scope["Shapes"]
    functions = [
        shapes.method,
        shapes.decorated.__wrapped__,
        shapes.mangled,
        shapes.asks_above,
        scope["factory"],
        *scope["factory"](1, 2),
        scope["branches"],
        scope["right_after"],
    ]
    own = [source.node_from_own_lines(f, tuple(linecache.getlines(str(path)))) for f in functions]
    monkeypatch.setattr(source, "node_from_own_lines", lambda function, lines: None)
    for function, node in zip(functions, own, strict=True):
        whole = source.source_of(function).node
        if node is not None:
            assert ast.dump(node, include_attributes=True) == ast.dump(whole, include_attributes=True)
    # Names that a class changes, and a string that comes out of the block, take the whole file.
    assert [f.__name__ for f, node in zip(functions, own, strict=True) if node is None] == [
        "method",
        "mangled",
        "asks_above",
    ]


def test_a_file_that_changed_above_a_function_is_searched_whole(tmp_path):
    path = tmp_path / "moved.py"
    path.write_text("def f(n):\n    return n + 1\n")
    scope: dict[str, object] = {"__name__": "moved"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("def g(n):\n    return n + 1\n\n\ndef f(n):\n    return n + 1\n")
    linecache.checkcache(str(path))
    assert source.source_of(scope["f"]).first_line == 5


def test_what_was_proven_is_not_proven_again_until_the_lines_change(tmp_path, monkeypatch):
    file = tmp_path / "helpers.py"
    file.write_text("def helper(x):\n    return x + 1\n")
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    first = source_of(scope["helper"])
    proofs = []
    monkeypatch.setattr(source, "node_from_own_lines", lambda function, lines: proofs.append(function))
    assert source_of(scope["helper"]) is first
    assert not proofs
    file.write_text("def helper(x):\n    return x + 2\n")
    linecache.checkcache()
    with pytest.raises(SourceUnavailableError):
        source_of(scope["helper"])
    assert proofs
