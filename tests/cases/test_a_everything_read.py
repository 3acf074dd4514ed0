"""Group A, hunted further: whatever compiled code has read, a change of it is noticed, in this process and by the next.

``CHANGES`` change something in place or bind a name anew; ``EDITS`` are two texts of one module.  Each expression runs
in a kernel and as plain Python: a call gives what plain Python gives, or raises ``CaptureDriftError``.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest

import darter as dt

MODULE = """
import dataclasses, enum, functools, math, operator, types, typing
import numpy as np
import darter as dt
{definitions}
@dt.kernel
def kernel(o: dt.Tensor, n: dt.Int64, C: dt.Constexpr):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = dt.Float32({expression})
@dt.jit(on_drift="{on_drift}")
def launcher(o: dt.Tensor, C: dt.Constexpr):
    n = o.shape[0]
    kernel(o, n, C).launch(grid=1, block=32)
def plain(C):
    return {expression}
"""

_numbers = itertools.count()


@pytest.fixture
def modules(fresh_store: object) -> Iterator[list[str]]:
    names: list[str] = []
    yield names
    for name in names:
        sys.modules.pop(name, None)
    for file in [file for file in linecache.cache if file.startswith("<everything_read")]:
        del linecache.cache[file]


def load(names: list[str], text: str, name: str = "") -> types.ModuleType:
    name = name or f"everything_read_{next(_numbers)}"
    names.append(name)
    module = sys.modules[name] = types.ModuleType(name)
    execute(module, text)
    return module


def execute(module: types.ModuleType, text: str) -> None:
    file = f"<{module.__name__}.{next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), vars(module))


def run(module: types.ModuleType, argument: str) -> float:
    o = np.full(3, 77, np.float32)
    module.launcher(o, eval(argument, vars(module)))
    return float(o[0])


def expected(module: types.ModuleType, argument: str) -> float:
    return float(np.float32(module.plain(eval(argument, vars(module)))))


POINT = "class P:\n    def __init__(self, v): self.v = v\n"
FACTORY = "def make(n):\n    def f(v): return v * n\n    return f\nF = make(2.0)\n"
FROZEN = "@dataclasses.dataclass(frozen=True)\nclass P:\n    a: float = 1.0\n    w: typing.ClassVar[float] = 2.0\n"
WRAPPED = """
def twice(f):
    @functools.wraps(f)
    def wrapper(a): return f(a) * 2.0
    return wrapper
@twice
def h(a): return a
"""

CHANGES = [
    # what an operator or a builtin reads of a container
    ("L = [2.0, 3.0]", "math.prod(L)", "L[0] = 5.0"),
    ("L = [2.0, 3.0]", "math.prod(L)", "L.append(5.0)"),
    ("L = [2.0]; M = [1.0]", "(L + M)[1]", "M[0] = 7.0"),
    ("L = [2.0]", "(L * 2)[1]", "L[0] = 7.0"),
    ("L = ([2.0],)", "1.0 if L == ([2.0],) else 0.0", "L[0][0] = 7.0"),
    ("L = [[2.0]]", "1.0 if L < [[3.0]] else 0.0", "L[0][0] = 7.0"),
    ("D = {'a': 1}", "1.0 if D == {'a': 1} else 0.0", "D['a'] = 2"),
    ("L = [2.0]", "1.0 if L else 0.0", "L.clear()"),
    ("D = {'a': 1}", "1.0 if not D else 0.0", "D.clear()"),
    ("L = [2.0]", "float(len(f'{L}'))", "L[0] = 2.5555"),
    ("L = ['a', 'b']", "float(len(','.join(L)))", "L[0] = 'aaaa'"),
    ("L = ['a']", "float(len('%s' % L))", "L[0] = 'aaaa'"),
    ("L = [2.0]", "operator.getitem(L, 0)", "L[0] = 7.0"),
    ("L = [[2.0]]", "1.0 if [2.0] in L else 0.0", "L[0][0] = 7.0"),
    ("L = ([2.0],)", "1.0 if [2.0] in L else 0.0", "L[0][0] = 7.0"),
    ("L = [[2.0]]", "float(L.count([2.0]))", "L[0][0] = 3.0"),
    ("L = ([2.0], [3.0])", "float(L.index([3.0]))", "L[0][0] = 3.0"),
    ("L = [[2.0], [3.0]]", "max(L)[0]", "L[0][0] = 7.0"),
    ("L = [[2.0], [3.0]]", "sorted(L)[0][0]", "L[0][0] = 7.0"),
    ("D = {'a': 1.0}", "(D | {'b': 2.0})['a']", "D['a'] = 7.0"),
    ("D = {'a': 1.0}", "{**D}['a']", "D['a'] = 7.0"),
    ("L = [1, 2]", "float(len(frozenset(L)))", "L[0] = 2"),
    ("L = [{'f': lambda v: v * 2}]", "L[0]['f'](1.0)", "L[0]['f'] = F2"),
    # classes and instances
    ("class A: pass\nclass B: pass\nX = A()", "1.0 if isinstance(X, A) else 2.0", "X.__class__ = B"),
    (
        "class A: pass\nclass B: pass\nclass D(A): pass\nX = D()",
        "1.0 if isinstance(X, A) else 2.0",
        "D.__bases__ = (B,)",
    ),
    ("class A:\n    s = 1.0\nclass B:\n    s = 2.0\nX = A()", "type(X).s", "X.__class__ = B"),
    ("class A:\n    s = 1.0\nclass B(A): pass\nX = B()", "X.s", "B.s = 2.0"),
    ("class A:\n    __slots__ = ('v',)\nX = A(); X.v = 1.0", "X.v", "X.v = 2.0"),
    ("class A: pass\nX = A(); X.s = 1.0", "X.s", "A.s = property(F2)"),
    ("class A: pass\nX = A()", "1.0 if hasattr(X, 's') else 2.0", "A.s = 1"),
    (FROZEN + "X = P(1.0)", "X.a", "object.__setattr__(X, 'a', 2.0)"),
    (FROZEN + "X = P(1.0); Y = P(1.0)", "1.0 if X == Y else 2.0", "object.__setattr__(X, 'a', 2.0)"),
    (FROZEN + "X = P(1.0)", "X.w", "P.w = 3.0"),
    ("class E(enum.Enum):\n    A = [1.0]", "E.A.value[0]", "E.A.value[0] = 2.0"),
    ("class E(enum.Enum):\n    A = 1.0", "E.A.value", "E.A._value_ = 2.0"),
    ("class E(enum.Enum):\n    A = 1.0", "1.0 if E.A == 1.0 else 2.0", "E.__eq__ = F2"),
    ("class A: pass\nX = A()", "1.0 if X == None else 2.0", "A.__eq__ = F2"),
    ("class A: pass\nX = A()", "1.0 if X else 2.0", "A.__len__ = ZERO"),
    ("class A: pass\nX = A()\nL = [X]", "1.0 if X in L else 2.0", "L[0] = A()"),
    # functions, modules, names
    ("a = make_same()\nb = make_same()\nL = (a,)", "1.0 if b in L else 2.0", "b = a"),
    ("a = make_same()\nb = make_same()", "1.0 if a == b else 2.0", "b = a"),
    ("def a(): return 1.0\nb = a", "1.0 if a is b else 2.0", "b = make_same()"),
    ("M = types.ModuleType('M'); M.s = 1.0", "M.s", "M.__class__ = Computed"),
    ("M = types.ModuleType('M')", "1.0 if hasattr(M, 'z') else 2.0", "M.__getattr__ = F2"),
    (WRAPPED, "h(1.0)", "h.__closure__[0].cell_contents = F2"),
    ("def h(a=[1.0]): return a[0]", "h()", "h.__defaults__[0][0] = 2.0"),
    ("def h(a, b): return a + b\nP = functools.partial(h, b=1.0)", "P(2.0)", "P.keywords['b'] = 5.0"),
    ("def h(a, b): return a + b\nP = functools.partial(h, 1.0)", "P(2.0)", "P.__setstate__((h, (7.0,), {}, {}))"),
    ("def max(a, b): return 7.0", "max(1.0, 2.0)", "del max"),
    ("", "max(1.0, 2.0)", "def max(a, b): return 7.0"),
    ("import builtins", "float(abs(-3.0))", "abs = F2"),
    ("G = 0.0", "math.copysign(1.0, G)", "G = -0.0"),
    ("G = True", "1.0 if G is True else 2.0", "G = 1"),
    ("G = np.float32(1.5)", "G", "G = np.float32(2.5)"),
    ("T = dt.f32", "1.0 if T is dt.f32 else 2.0", "T = dt.f16"),
]

ARGUMENT_CHANGES = [
    (FACTORY, "C[0](1.0)", "(F,)", "F.__closure__[0].cell_contents = 3.0"),
    (FACTORY + FROZEN, "C.a(1.0)", "P(F)", "F.__closure__[0].cell_contents = 3.0"),
    ("class E(enum.Enum):\n    A = [1.0]", "C[0].value[0]", "(E.A,)", "E.A.value[0] = 3.0"),
    ("class E(enum.Enum):\n    A = 1.0\n    def m(s): return 1.0", "C.m()", "E.A", "E.m = F2"),
    ("class A:\n    s = 1.0", "C[0].s", "(A,)", "A.s = 2.0"),
    (FROZEN, "C.w", "P(1.0)", "P.w = 3.0"),
]

BASES = "class A: pass\nclass B: pass\nclass D({}): pass\nX = D()"
ENUM = "class E(enum.IntEnum):\n    A = 1"
PAIR = "X = P(1.0); Y = P(2.0)"
NT = "class P(typing.NamedTuple):\n    a: float{}\n    b: float{}\n"
EDITS = [
    (NT.format("", " = 1.0"), NT.format("", " = 2.0"), "P(0.0).b", "None"),
    (FROZEN, FROZEN.replace("1.0", "3.0"), "P().a", "None"),
    (
        NT.format("", ""),
        NT.format("", "").replace(" a:", " x:").replace(" b:", " a:").replace(" x:", " b:"),
        "P(1.0, 2.0).a",
        "None",
    ),
    (ENUM, ENUM + "\n    B = 2", "float(sum([int(e) for e in E]))", "None"),
    ("class E(enum.IntEnum):\n    A = 1", "class E(enum.IntEnum):\n    A = 2", "C * 2.0", "E.A"),
    (ENUM + "\n    B = 1", ENUM + "\n    B = 2", "float(E.B)", "None"),
    (BASES.format("A"), BASES.format("B"), "1.0 if isinstance(X, A) else 2.0", "None"),
    (
        FROZEN + PAIR,
        FROZEN.replace("= 1.0", "= dataclasses.field(compare=False)") + PAIR,
        "1.0 if X == Y else 2.0",
        "None",
    ),
    ("L = [lambda v: v * 2, lambda v: v * 3]", "L = [lambda v: v * 3, lambda v: v * 2]", "L[0](1.0)", "None"),
    (WRAPPED, WRAPPED.replace("* 2.0", "* 3.0"), "h(1.0)", "None"),
    (WRAPPED, WRAPPED.replace("return a\n", "return a + 1.0\n"), "h(1.0)", "None"),
    (FACTORY, FACTORY.replace("2.0", "3.0"), "F(1.0)", "None"),
    (FACTORY, FACTORY.replace("2.0", "3.0"), "C[0](1.0)", "(F,)"),
    (FROZEN, FROZEN.replace("2.0", "3.0"), "C.w", "P(1.0)"),
    ("class E(enum.Enum):\n    A = [1.0]", "class E(enum.Enum):\n    A = [2.0]", "C.value[0]", "E.A"),
]

HELD = """
F2 = lambda *_: 2.0
ZERO = lambda *_: 0
def make_same():
    def a(): return 1.0
    a.__qualname__ = "a"
    return a
class Computed(types.ModuleType):
    @property
    def s(self): return 2.0
"""


@pytest.mark.parametrize("on_drift", ["raise", "recompile"])
@pytest.mark.parametrize(
    ("definitions", "expression", "argument", "change"),
    [*((d, e, "None", c) for d, e, c in CHANGES), *ARGUMENT_CHANGES],
)
def test_a_change_in_this_process(
    modules: list[str], definitions: str, expression: str, argument: str, change: str, on_drift: str
) -> None:
    text = MODULE.format(definitions=HELD + definitions, expression=expression, on_drift=on_drift)
    module = load(modules, text)
    first = expected(module, argument)
    assert [run(module, argument), run(module, argument)] == [first, first]
    execute(module, change)
    try:
        found: object = run(module, argument)
    except dt.CaptureDriftError:
        found = "drift"
    except dt.CompileError:
        found = "refused"  # what stands there now cannot be compiled
    if on_drift == "raise":
        assert found == "drift"
    else:
        assert found in ("refused", expected(module, argument))


@pytest.mark.parametrize(("before", "after", "expression", "argument"), EDITS)
def test_an_edited_definition(modules: list[str], before: str, after: str, expression: str, argument: str) -> None:
    texts = [MODULE.format(definitions=d, expression=expression, on_drift="recompile") for d in (before, after)]
    module = load(modules, texts[0])
    old = run(module, argument)
    assert old == expected(module, argument)
    name = module.__name__
    again = load(modules, texts[0], name)
    assert run(again, argument) == old
    assert again.launcher.cache_info()["compiles"] == 0  # the twin: the same text finds what is there
    edited = load(modules, texts[1], name)
    assert run(edited, argument) == expected(edited, argument) != old
    # Definitions alone, under the launcher that is there: a reload.
    launcher = again.launcher
    execute(again, texts[1])
    again.launcher = launcher
    assert run(again, argument) == expected(again, argument)


REFUSED = [
    ("def a(): pass\nL = [a]; M = [a]", "1.0 if L == M else 2.0", "by its identity"),
    ("class E(enum.IntEnum):\n    A = 1\n    def __add__(self, o): return 10.0", "E.A + 1", "__add__"),
    ("class E(enum.Enum):\n    A = 1\n    def __eq__(self, o): return True", "1.0 if E.A == 3 else 2.0", "__eq__"),
    ("class E(enum.Enum):\n    A = 1\n    def __bool__(self): return True", "1.0 if E.A else 2.0", "__bool__"),
    (FROZEN + "    def __eq__(self, o): return True\nX = P()", "1.0 if X == 2 else 2.0", "__eq__"),
    (NT.format("", "") + "    def __add__(self, o): return 1.0\nX = P(1.0, 2.0)", "X + X", "__add__"),
    (NT.format("", "") + "    def __len__(self): return 1\nX = P(1.0, 2.0)", "float(len(X))", "class P"),
    (POINT + "S = frozenset({P(1.0)})", "[p.v for p in S][0]", "frozenset"),
    (POINT + "D = {P(1.0): 1.0}", "[p.v for p in D][0]", "dict"),
    (POINT + "X, Y = P(1.0), P(2.0)\nD = {X: 1.0, Y: 2.0}", "D[Y]", "key of type P"),
    ("L = [lambda: 1 for _ in range(2)]\nD = {L[0]: 1.0, L[1]: 2.0}", "D[L[1]]", "key of type function"),
    ("import abc\nclass A(abc.ABC): pass\nX = 1", "1.0 if isinstance(X, A) else 2.0", "registry"),
]


@pytest.mark.parametrize(("definitions", "expression", "message"), REFUSED)
def test_what_cannot_be_followed_is_refused_by_name(
    modules: list[str], definitions: str, expression: str, message: str
) -> None:
    module = load(modules, MODULE.format(definitions=definitions, expression=expression, on_drift="raise"))
    with pytest.raises(dt.CompileError, match=message):
        run(module, "None")


ANNOTATED = """
{future}
import numpy as np
import darter as dt
VALUE, N = dt.Float16, 3
@dt.kernel
def kernel(o: dt.Tensor, n: dt.Int64, v: VALUE):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = dt.Float32(v)
@dt.jit
def launcher(o: dt.Tensor[N]):
    n = o.shape[0]
    kernel(o, n, 1000.25).launch(grid=1, block=32)
"""


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
def test_what_annotations_name_is_captured(modules: list[str], future: str) -> None:
    def call(module: types.ModuleType, extent: int) -> list[float]:
        o = np.zeros(extent, np.float32)
        module.launcher(o)
        return list(o)

    text = ANNOTATED.format(future=future)
    module = load(modules, text)
    name = module.__name__
    assert call(module, 3) == [1000.0] * 3
    assert call(load(modules, text, name), 3) == [1000.0] * 3
    assert call(load(modules, text.replace("N = dt.Float16, 3", "N = dt.Float32, 3"), name), 3) == [1000.25] * 3
    assert call(load(modules, text.replace("N = dt.Float16, 3", "N = dt.Float16, 5"), name), 5) == [1000.0] * 5


def test_a_launchers_own_defaults_and_function(modules: list[str]) -> None:
    text = MODULE.format(definitions="", expression="C", on_drift="recompile").replace(
        "Constexpr):\n    n", "Constexpr = 1.0):\n    n"
    )
    module = load(modules, text)
    o = np.zeros(3, np.float32)
    module.launcher(o)
    function = module.launcher.__wrapped__
    function.__defaults__ = (2.0,)
    with pytest.raises(dt.CaptureDriftError, match="its parameters or their defaults"):
        module.launcher(o)
    function.__defaults__ = (1.0,)
    module.launcher(o)
    assert o[0] == 1
    with pytest.raises(AttributeError, match="__wrapped__"):
        module.launcher.__wrapped__ = function


def test_a_called_launchers_options_are_not_lost(modules: list[str]) -> None:
    text = MODULE.format(definitions="", expression="C", on_drift="recompile")
    module = load(modules, text + "\n@dt.jit\ndef outer(o: dt.Tensor):\n    launcher(o, 1.0)\n")
    o = np.zeros(3, np.float32)
    module.outer(o)
    module.launcher = module.launcher.with_options(fast_math=True)
    with pytest.raises(dt.CaptureDriftError, match=r"launcher\.options"):
        module.outer(o)
    module.outer.accept_drift()
    with pytest.raises(dt.KernelTypeError, match="options of its own"):
        module.outer(o)
