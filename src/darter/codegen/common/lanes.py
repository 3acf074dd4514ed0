"""Instructions over ``width`` lanes at once: one writer for scalars (width 1) and warps (vectors)."""

from __future__ import annotations

from dataclasses import dataclass

from darter.codegen.common.constants import float32_literal, float64_literal
from darter.codegen.common.text import FunctionText
from darter.codegen.common.types import mangled


@dataclass(frozen=True, slots=True)
class Lanes:
    """Writes instructions of ``width`` lanes into ``text``; ``flags`` are the fast-math flags of float arithmetic."""

    text: FunctionText
    width: int
    flags: str = ""

    def strict(self) -> Lanes:
        """Return the same lanes without fast-math flags, for code whose exactness depends on the order."""
        return Lanes(self.text, self.width) if self.flags else self

    def type(self, element: str) -> str:
        return element if self.width == 1 else f"<{self.width} x {element}>"

    def constant(self, element: str, literal: str) -> str:
        return literal if self.width == 1 else f"splat ({element} {literal})"

    def integer(self, element: str, value: int) -> str:
        return self.constant(element, str(value))

    def real(self, element: str, value: float) -> str:
        """Return a float constant, rounded to ``element``."""
        return self.constant(element, float32_literal(value) if element == "float" else float64_literal(value))

    def op(self, opcode: str, element: str, a: str, b: str) -> str:
        """Write a binary instruction; float ones carry the flags."""
        flags = self.flags if opcode in ("fadd", "fsub", "fmul", "fdiv") else ""
        return self.text.value(f"{opcode}{flags} {self.type(element)} {a}, {b}")

    def negate(self, element: str, a: str) -> str:
        return self.text.value(f"fneg {self.type(element)} {a}")

    def compare(self, predicate: str, element: str, a: str, b: str) -> str:
        opcode = "fcmp" if element in ("float", "double") else "icmp"
        return self.text.value(f"{opcode} {predicate} {self.type(element)} {a}, {b}")

    def select(self, element: str, condition: str, a: str, b: str) -> str:
        t = self.type(element)
        return self.text.value(f"select {self.type('i1')} {condition}, {t} {a}, {t} {b}")

    def convert(self, opcode: str, source: str, target: str, a: str) -> str:
        return self.text.value(f"{opcode} {self.type(source)} {a} to {self.type(target)}")

    def call(self, base: str, element: str, *operands: str) -> str:
        """Call an intrinsic whose operands and result are all of ``element``."""
        t = self.type(element)
        return self.text.call(base, mangled(element, self.width), t, *((t, operand) for operand in operands))

    def zeros(self, base: str, element: str, a: str) -> str:
        """Call an intrinsic that counts zeros and counts all bits of a 0."""
        t = self.type(element)
        return self.text.call(base, mangled(element, self.width), t, (t, a), ("i1", "false"))

    def fma(self, element: str, a: str, b: str, c: str) -> str:
        return self.call("llvm.fma", element, a, b, c)
