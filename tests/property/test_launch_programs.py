"""Random launcher bodies: lowered and run natively, they do what a plain evaluation of their IR does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import given, strategies as st

from darter import _native
from darter.codegen.program import lower, register_bits
from darter.dtypes import Bool, ScalarType, bf16, f16, f32, f64, i8, i32, i64, u8, u32, u64
from darter.ir import nodes as n
from darter.ir.encoding import decode, encode
from darter.ir.verify import verify
from tests.c_objects import LOG, load_c
from tests.ir_builder import Builder

INTEGERS = (i8, i32, i64, u8, u32, u64)
FLOATS = (f16, bf16, f32, f64)
DTYPES = (Bool, *INTEGERS, *FLOATS)
LOG_ROWS = 64

# -- a plain evaluation -----------------------------------------------------------------------------------------------


class _Stop(Exception):
    """The program ends early: what a run reports."""


def _wide(dtype: ScalarType) -> Any:
    """The numpy type that arithmetic of a float type is done in."""
    return np.float64 if dtype is f64 else np.float32


def _round(dtype: ScalarType, value: Any) -> Any:
    """``value`` (a float or int) as a float of ``dtype``, rounded once."""
    if dtype is bf16 and math.isfinite(value):
        return _exact_bf16(Fraction(value if isinstance(value, int) else float(value)), math.copysign(1, value))
    if isinstance(value, int):
        value = (np.uint64 if value >= 0 else np.int64)(value)
    return dtype.numpy().type(value)


def _exact_bf16(value: Fraction, sign: float) -> Any:
    magnitude = abs(value)
    if magnitude == 0:
        return ml_dtypes.bfloat16(math.copysign(0.0, sign))
    exponent = max(math.floor(math.log2(magnitude)), -126)
    while exponent > -126 and Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    quantum = Fraction(2) ** (exponent - 7)
    rounded = round(magnitude / quantum) * quantum  # half to even
    limit = Fraction(2) ** 128
    return ml_dtypes.bfloat16(math.copysign(math.inf if rounded >= limit else float(rounded), sign))


def _integer(dtype: ScalarType, value: int) -> int:
    if not dtype.min <= value <= dtype.max:
        raise _Stop("arithmetic")
    return value


def _binary_int(op: n.BinaryOp, dtype: ScalarType, a: int, b: int) -> int:
    if op in (n.BinaryOp.FLOORDIV, n.BinaryOp.MOD) and b == 0:
        raise _Stop("arithmetic")
    amount = b % dtype.bits
    results: dict[n.BinaryOp, Callable[[], int]] = {
        n.BinaryOp.ADD: lambda: a + b,
        n.BinaryOp.SUB: lambda: a - b,
        n.BinaryOp.MUL: lambda: a * b,
        n.BinaryOp.FLOORDIV: lambda: a // b,
        n.BinaryOp.MOD: lambda: a % b,
        n.BinaryOp.AND: lambda: a & b,
        n.BinaryOp.OR: lambda: a | b,
        n.BinaryOp.XOR: lambda: a ^ b,
        n.BinaryOp.SHL: lambda: a << amount,
        n.BinaryOp.SHR: lambda: a >> amount,
        n.BinaryOp.MIN: lambda: min(a, b),
        n.BinaryOp.MAX: lambda: max(a, b),
    }
    return _integer(dtype, results[op]())


def _binary_bool(op: n.BinaryOp, a: bool, b: bool) -> bool:
    return {n.BinaryOp.AND: a & b, n.BinaryOp.OR: a | b, n.BinaryOp.XOR: a ^ b}[op]


def _extreme(op: n.BinaryOp, a: Any, b: Any) -> Any:
    if np.isnan(a) or np.isnan(b):
        return a + b
    if a == 0 and b == 0:
        return a if bool(np.signbit(a)) == (op is n.BinaryOp.MIN) else b
    return min(a, b) if op is n.BinaryOp.MIN else max(a, b)


def _binary_float(op: n.BinaryOp, dtype: ScalarType, x: Any, y: Any) -> Any:
    a, b = _wide(dtype)(x), _wide(dtype)(y)
    results: dict[n.BinaryOp, Callable[[], Any]] = {
        n.BinaryOp.ADD: lambda: a + b,
        n.BinaryOp.SUB: lambda: a - b,
        n.BinaryOp.MUL: lambda: a * b,
        n.BinaryOp.DIV: lambda: a / b,
        n.BinaryOp.FLOORDIV: lambda: np.floor_divide(a, b),
        n.BinaryOp.MOD: lambda: np.remainder(a, b),
        n.BinaryOp.MIN: lambda: _extreme(op, a, b),
        n.BinaryOp.MAX: lambda: _extreme(op, a, b),
    }
    return _round(dtype, results[op]())


def _saturated(dtype: ScalarType, value: float) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return dtype.max if value > 0 else dtype.min
    return min(max(int(value), dtype.min), dtype.max)


def _cast(source: ScalarType, dtype: ScalarType, value: Any) -> Any:
    if dtype is Bool:
        return bool(value != 0)
    if dtype.is_float:
        return _round(dtype, float(value) if source.is_float else int(value))
    return _saturated(dtype, float(value)) if source.is_float else _integer(dtype, int(value))


def _unary(op: n.UnaryOp, dtype: ScalarType, value: Any) -> Any:
    if dtype is Bool:
        return not value
    if dtype.is_float:
        return -value if op is n.UnaryOp.NEG else abs(value)
    if op is n.UnaryOp.NOT:
        return ~value if dtype.is_signed else value ^ dtype.max
    return _integer(dtype, -value if op is n.UnaryOp.NEG else abs(value))


_COMPARE: dict[n.CompareOp, Callable[[Any, Any], Any]] = {
    n.CompareOp.EQ: lambda a, b: a == b,
    n.CompareOp.NE: lambda a, b: a != b,
    n.CompareOp.LT: lambda a, b: a < b,
    n.CompareOp.LE: lambda a, b: a <= b,
    n.CompareOp.GT: lambda a, b: a > b,
    n.CompareOp.GE: lambda a, b: a >= b,
}


@dataclass
class _Evaluation:
    """Runs IR as it is written; ``rows`` are the launches, ``ended`` how it ended early and on which line."""

    values: dict[n.Value, Any]
    rows: list[tuple[int, tuple[Any, ...]]] = field(default_factory=list)
    ended: tuple[str, int] | None = None

    def run(self, block: n.Block) -> None:
        for node in block.nodes:
            try:
                self._node(node)
            except _Stop as stop:
                self.ended = (str(stop), node.loc.line)
            if self.ended:
                return

    def _node(self, node: n.Node) -> None:
        at = self.values
        match node:
            case n.Const():
                at[node.result] = (
                    _cast(f64, node.result.dtype, node.value) if node.result.dtype.is_float else node.value
                )
            case n.Unary():
                at[node.result] = _unary(node.op, node.result.dtype, at[node.operand])
            case n.Binary():
                at[node.result] = self._binary(node)
            case n.Compare():
                at[node.result] = bool(_COMPARE[node.op](at[node.lhs], at[node.rhs]))
            case n.Select():
                at[node.result] = at[node.on_true if at[node.condition] else node.on_false]
            case n.Cast():
                at[node.result] = _cast(node.operand.dtype, node.result.dtype, at[node.operand])
            case n.If():
                side = node.then if at[node.condition] else node.orelse
                self.run(side)
                if not self.ended:
                    at.update(zip(node.results, [at[value] for value in side.yields], strict=True))
            case n.Launch():
                self.rows.append((at[node.grid[0]], tuple(at[value] for value in node.arguments[1:])))
            case n.Raise():
                raise _Stop("raise")
            case _:
                raise AssertionError(node)

    def _binary(self, node: n.Binary) -> Any:
        dtype, a, b = node.result.dtype, self.values[node.lhs], self.values[node.rhs]
        if dtype is Bool:
            return _binary_bool(node.op, a, b)
        return _binary_float(node.op, dtype, a, b) if dtype.is_float else _binary_int(node.op, dtype, a, b)


# -- random bodies ----------------------------------------------------------------------------------------------------

_INT_OPS = [op for op in n.BinaryOp if op is not n.BinaryOp.DIV]
_FLOAT_OPS = [n.BinaryOp.ADD, n.BinaryOp.SUB, n.BinaryOp.MUL, n.BinaryOp.DIV, n.BinaryOp.MIN, n.BinaryOp.MAX]
_DIVISIONS = [n.BinaryOp.FLOORDIV, n.BinaryOp.MOD]


def _numbers(dtype: ScalarType) -> st.SearchStrategy[Any]:
    if dtype is Bool:
        return st.booleans()
    if dtype.is_integer:
        small = st.integers(max(dtype.min, -4), 64)
        return st.one_of(small, st.integers(dtype.min, dtype.max), st.sampled_from([dtype.min, dtype.max]))
    width = 64 if dtype is f64 else 32 if dtype is f32 else 16
    if dtype is bf16:
        return st.floats(width=32).map(lambda value: float(_round(bf16, value)))
    return st.floats(width=width)


class _Generator:
    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.build = Builder()
        self.line = 0
        self.log = n.Value(n.PointerType(i64, n.Space.GLOBAL), "log")
        self.parameters = [n.Value(dtype, dtype.name) for dtype in DTYPES]
        self.scope: list[n.Value] = list(self.parameters)
        self.kernels: list[n.Kernel] = []

    def module(self) -> n.Module:
        self.one, self.zero = self.build.const(i64, 1), self.build.const(i64, 0)
        self.nodes(depth=0)
        self.launch()
        parameters = (self.log, *self.parameters)
        return n.Module("launcher", parameters, self.build.block, self.kernels, [n.FunctionName("f", "m")])

    def pick(self, dtype: ScalarType) -> n.Value:
        return self.draw(st.sampled_from([value for value in self.scope if value.type is dtype]))

    def nodes(self, depth: int) -> None:
        for _ in range(self.draw(st.integers(0, 6))):
            self.line += 1
            self.build.loc = n.Loc(0, self.line, 0, self.line, 1)
            kinds = ["binary"] * 4 + ["unary", "compare", "compare", "select", "cast", "cast", "const", "launch"]
            kind = self.draw(st.sampled_from(kinds + (["branch"] * 3 if depth < 3 else []) + ["raise"] * (depth > 1)))
            getattr(self, kind)(*([depth] if kind == "branch" else []))
            if kind == "raise":
                return

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, "raise_" if name == "raise" else name)

    def const(self) -> None:
        dtype = self.draw(st.sampled_from(DTYPES))
        self.scope.append(self.build.const(dtype, self.draw(_numbers(dtype))))

    def binary(self) -> None:
        dtype = self.draw(st.sampled_from(DTYPES))
        if dtype is Bool:
            ops = [n.BinaryOp.AND, n.BinaryOp.OR, n.BinaryOp.XOR]
        else:
            ops = _INT_OPS if dtype.is_integer else _FLOAT_OPS + (_DIVISIONS if dtype in (f32, f64) else [])
        self.scope.append(self.build.binary(self.draw(st.sampled_from(ops)), self.pick(dtype), self.pick(dtype)))

    def unary(self) -> None:
        dtype = self.draw(st.sampled_from(DTYPES))
        ops = [n.UnaryOp.NOT] if dtype is Bool else [n.UnaryOp.NEG, n.UnaryOp.ABS]
        ops += [n.UnaryOp.NOT] if dtype.is_integer else []
        self.scope.append(self.build.unary(self.draw(st.sampled_from(ops)), self.pick(dtype)))

    def compare(self) -> None:
        dtype = self.draw(st.sampled_from(DTYPES[1:]))
        self.scope.append(
            self.build.compare(self.draw(st.sampled_from(n.CompareOp)), self.pick(dtype), self.pick(dtype))
        )

    def select(self) -> None:
        dtype = self.draw(st.sampled_from(DTYPES))
        self.scope.append(self.build.select(self.pick(Bool), self.pick(dtype), self.pick(dtype)))

    def cast(self) -> None:
        value = self.draw(st.sampled_from(self.scope))
        self.scope.append(self.build.cast(self.draw(st.sampled_from(DTYPES)), value))

    def launch(self) -> None:
        values = [self.draw(st.sampled_from(self.scope)) for _ in range(3)]
        grid = self.build.const(i64, len(self.kernels) + 1)
        types = [n.Value(self.log.type), *(n.Value(value.type) for value in values)]
        self.build.append(
            n.Launch(len(self.kernels), (self.log, *values), (grid, self.one, self.one), self.zero, n.LaunchOptions())
        )
        self.kernels.append(n.Kernel("record", tuple(types), n.Block(), (1, 1, 1), 32))

    def raise_(self) -> None:
        self.build.append(n.Raise("ValueError", ("no", "!"), (self.draw(st.sampled_from(self.scope)),)))

    def branch(self, depth: int) -> None:
        condition = self.pick(Bool)
        dtypes = [self.draw(st.sampled_from(DTYPES)) for _ in range(self.draw(st.integers(0, 3)))]

        def side() -> list[n.Value]:
            outside = list(self.scope)
            self.nodes(depth + 1)
            yields = [self.pick(dtype) for dtype in dtypes]
            self.scope = outside
            return yields

        self.scope.extend(self.build.if_(condition, side, side))


@st.composite
def _programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[n.Module, list[Any]]:
    module = _Generator(draw).module()
    return module, [draw(_numbers(value.dtype)) for value in module.parameters[1:]]


# -- the comparison ---------------------------------------------------------------------------------------------------


class _Reported(Exception):
    """What a failing run reports: kind and line."""


def _run(module: n.Module, arguments: list[Any]) -> tuple[list[tuple[int, ...]], tuple[str, int] | None]:
    program = lower(module)
    data = encode(program)
    assert decode(data) == program
    code = load_c(LOG)
    kernel = _native.CpuKernel(code, "record", 4, (1, 1, 1), 0, ())

    def report(kind: str, exception: str, message: str, site: int) -> Exception:
        return _Reported(kind, program.sites[site].line)

    state = _native.CallState(data, [kernel] * len(module.kernels), code, None, (), report)
    log = np.zeros(1 + 4 * LOG_ROWS, np.int64)
    bits = [register_bits(v.dtype, a) for v, a in zip(module.parameters[1:], arguments, strict=True)]
    ended = None
    try:
        state.run([log.ctypes.data, *bits])
    except _Reported as reported:
        ended = reported.args
    rows = log[1 : 1 + 4 * log[0]].reshape(-1, 4)
    return [tuple(int(v) for v in row) for row in rows], ended


def _expected_value(dtype: ScalarType, raw: int, value: Any) -> bool:
    """Return whether the low bytes of ``raw`` are ``value``; one NaN is as good as another."""
    low = (raw & ((1 << dtype.bits) - 1)).to_bytes(dtype.size_bytes, "little")
    found = np.frombuffer(low, dtype.numpy())[0]
    if dtype.is_float and np.isnan(value):
        return bool(np.isnan(found))
    return low == register_bits(dtype, value).to_bytes(8, "little")[: dtype.size_bytes]


@given(_programs())
def test_native_runs_are_plain_evaluations(case: tuple[n.Module, list[Any]]) -> None:
    module, arguments = case
    verify(module)
    values = {
        v: _cast(f64, v.dtype, a) if v.dtype.is_float else a
        for v, a in zip(module.parameters[1:], arguments, strict=True)
    }
    evaluation = _Evaluation(values)
    with np.errstate(all="ignore"):
        evaluation.run(module.body)
    rows, ended = _run(module, arguments)
    assert ended == evaluation.ended
    assert [row[0] for row in rows] == [tag for tag, _ in evaluation.rows]
    for row, (tag, expected) in zip(rows, evaluation.rows, strict=True):
        types = [parameter.dtype for parameter in module.kernels[tag - 1].parameters[1:]]
        for dtype, raw, value in zip(types, row[1:], expected, strict=True):
            assert _expected_value(dtype, raw, value), (dtype, raw, value)
