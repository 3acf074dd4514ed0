"""The mathematical functions of kernels as instruction sequences: no library is called."""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common.lanes import Lanes
from darter.errors import CodegenError
from darter.ir.nodes import MathOp

_EXACT = {
    MathOp.SQRT: "llvm.sqrt",
    MathOp.FLOOR: "llvm.floor",
    MathOp.CEIL: "llvm.ceil",
    MathOp.TRUNC: "llvm.trunc",
    MathOp.RINT: "llvm.rint",
}


def emit(lanes: Lanes, op: MathOp, element: str, operands: Sequence[str], fast: bool) -> str:
    """Return ``op`` of ``operands``, whose LLVM type is ``element`` (``float`` or ``double``)."""
    strict = lanes.strict()
    if op in _EXACT:
        return strict.call(_EXACT[op], element, operands[0])
    if op is MathOp.RSQRT:
        return strict.op("fdiv", element, strict.real(element, 1.0), strict.call("llvm.sqrt", element, operands[0]))
    raise CodegenError(f"{op.value} of {element} is not there yet")


def floor_divide(lanes: Lanes, element: str, a: str, b: str) -> str:
    raise CodegenError("float floor division is not there yet")


def floor_modulo(lanes: Lanes, element: str, a: str, b: str) -> str:
    raise CodegenError("float modulo is not there yet")
