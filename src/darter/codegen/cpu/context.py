"""The state of emitting one kernel: where values are, which lanes are on, and how code reads and defines values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from darter.artifacts.artifact import DeviceMessage
from darter.codegen.common.constants import literal
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.text import FunctionText, ModuleText
from darter.codegen.common.types import mangled, register_type
from darter.codegen.cpu.shapes import Kind, Shape, Shapes
from darter.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Held:
    """Where a value is: a scalar (uniform), lane 0's scalar (affine), or a vector.

    ``full`` of a varying Bool is a scalar ``i1`` that implies that every lane is true, which is cheaper to test.
    """

    shape: Shape
    text: str
    full: str | None = None


@dataclass(slots=True)
class Scratch:
    """The layout of a block's scratch memory: shared arrays, and values that cross barriers."""

    size_bytes: int = 0

    def take(self, size_bytes: int, align_bytes: int) -> int:
        """Reserve ``size_bytes`` and return their offset."""
        offset = -(-self.size_bytes // align_bytes) * align_bytes
        self.size_bytes = offset + size_bytes
        return offset


@dataclass(slots=True)
class Context:
    """Everything that emitting a node reads and changes.

    ``mask`` is the ``<W x i1>`` of the lanes that are on, None when all are; code is only reached with at least one on.
    ``versioned`` says that the code being written already is the second version of some condition or loop.
    """

    module: ModuleText
    text: FunctionText
    kernel: ir.Kernel
    features: frozenset[str]
    shapes: Shapes
    emit: Callable[[Context, Sequence[ir.Node]], None]
    math_uses: Counter[ir.MathOp]
    held: dict[ir.Value, Held] = field(default_factory=dict)
    scratch: Scratch = field(default_factory=Scratch)
    messages: list[DeviceMessage] = field(default_factory=list)
    message_indices: dict[ir.Node, int] = field(default_factory=dict)
    shared: dict[ir.Value, int] = field(default_factory=dict)
    mask: str | None = None
    versioned: bool = False
    warp: str = "0"
    block: str = "0"
    block_index: tuple[str, str, str] = ("0", "0", "0")
    grid: tuple[str, str, str] = ("1", "1", "1")
    uses_dynamic_shared: bool = False

    # -- lanes --------------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return self.kernel.warp_size

    @property
    def flags(self) -> str:
        return " contract reassoc arcp afn" if self.kernel.options.fast_math else ""

    @property
    def scalar(self) -> Lanes:
        return Lanes(self.text, 1, self.flags)

    @property
    def vector(self) -> Lanes:
        return Lanes(self.text, self.width, self.flags)

    def has(self, feature: str) -> bool:
        """Return whether the target has ``feature`` (an LLVM feature name)."""
        return feature in self.features

    # -- reading values -----------------------------------------------------------------------------------------------

    def lane0(self, value: ir.Value) -> str:
        """Return the scalar of a uniform value, or of lane 0 of any other."""
        held = self.held[value]
        if held.shape.kind is not Kind.VARYING:
            return held.text
        t = self.vector.type(register_type(value.type))
        return self.text.value(f"extractelement {t} {held.text}, i64 0")

    def lanes(self, value: ir.Value) -> str:
        """Return ``value`` as a vector."""
        held = self.held[value]
        return self.spread(held.text, register_type(value.type), held.shape)

    def spread(self, text: str, element: str, shape: Shape) -> str:
        """Return what ``text`` holds under ``shape`` as a vector of ``element``."""
        if shape.kind is Kind.VARYING:
            return text
        base = self.splat(element, text)
        if shape.kind is not Kind.AFFINE:
            return base
        if element == "ptr":
            steps = self.steps("i64", shape.stride)
            return self.text.value(
                f"getelementptr i8, {self.vector.type('ptr')} {base}, {self.vector.type('i64')} {steps}"
            )
        return self.vector.op("add", element, base, self.steps(element, shape.stride))

    def splat(self, element: str, text: str) -> str:
        """Return a vector with ``text`` in every lane."""
        if not text.startswith("%"):
            return f"splat ({element} {text})"
        t = self.vector.type(element)
        first = self.text.value(f"insertelement {t} poison, {element} {text}, i64 0")
        return self.text.value(f"shufflevector {t} {first}, {t} poison, {self.vector.type('i32')} zeroinitializer")

    def steps(self, element: str, stride: int) -> str:
        """Return the constant vector 0, stride, 2·stride, … of an integer type."""
        bits = int(element[1:])
        values = ((lane * stride + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)) for lane in range(self.width))
        numbers = ", ".join(f"{element} {value}" for value in values)
        return self.text.preamble(f"add {self.vector.type(element)} <{numbers}>, zeroinitializer")

    # -- defining values ----------------------------------------------------------------------------------------------

    def define(self, value: ir.Value, text: str, full: str | None = None) -> None:
        """Say that ``text`` holds ``value``, in the form that its shape asks for."""
        self.held[value] = Held(self.shapes[value], text, full)

    def compute(self, result: ir.Value, operands: Sequence[ir.Value], make: Callable[..., str]) -> None:
        """Define ``result`` as ``make(lanes, *operands)``, over scalars or vectors as its shape asks."""
        known = self.shapes.constant(result)
        if known is not None and not isinstance(result.type, ir.PointerType):
            self.define(result, literal(known, result.type))
        elif self.shapes[result].kind is Kind.VARYING:
            self.define(result, make(self.vector, *[self.lanes(operand) for operand in operands]))
        else:
            self.define(result, make(self.scalar, *[self.lane0(operand) for operand in operands]))

    def as_shape(self, value: ir.Value, shape: Shape) -> str:
        """Return ``value`` in the form that ``shape`` (its own or a less regular one) asks for."""
        return self.lanes(value) if shape.kind is Kind.VARYING else self.lane0(value)

    def type_of(self, value: ir.Value) -> str:
        """Return the LLVM type that holds ``value``."""
        return self.type_as(value, self.shapes[value])

    def type_as(self, value: ir.Value, shape: Shape) -> str:
        element = register_type(value.type)
        return self.vector.type(element) if shape.kind is Kind.VARYING else element

    def first_lanes(self, element: str, room: str, stride: int) -> str:
        """Return the lanes L with L·stride < ``room``, an unsigned number of type ``element``; the stride is positive.

        Compared in 16 bits where they hold all multiples: a quarter of the work of 64.
        """
        last = stride * self.width
        bits = 16 if last < 1 << 16 else 32
        if bits >= int(element[1:]):
            return self.vector.compare("ult", element, self.steps(element, stride), self.splat(element, room))
        least = self.scalar.call("llvm.umin", element, room, str(last))
        narrow = self.scalar.convert("trunc", element, f"i{bits}", least)
        steps = self.steps(f"i{bits}", stride)
        return self.vector.compare("ult", f"i{bits}", steps, self.splat(f"i{bits}", narrow))

    # -- masks --------------------------------------------------------------------------------------------------------

    def mask_text(self) -> str:
        """Return the active lanes as a vector, all of them when there is no mask."""
        return self.mask or "splat (i1 true)"

    def any(self, mask: str) -> str:
        """Return a scalar: some lane of ``mask`` is on."""
        return self.text.value(f"icmp ne i{self.width} {self.bits(mask)}, 0")

    def bits(self, mask: str) -> str:
        """Return the lanes of ``mask`` as an integer of W bits."""
        return self.text.value(f"bitcast {self.vector.type('i1')} {mask} to i{self.width}")

    def both(self, a: str | None, b: str) -> str:
        """Return the lanes that are on in ``a`` (None: all) and in ``b``."""
        return b if a is None else self.vector.op("and", "i1", a, b)

    def all_true(self, value: ir.Value) -> str | None:
        """Return the cheap scalar that implies that a Bool holds in every lane, if there is one."""
        return self.held[value].full

    def intrinsic(self, base: str, element: str, returns: str, *arguments: tuple[str, str]) -> str:
        """Call a vector intrinsic whose name is mangled by W lanes of ``element``."""
        return self.text.call(base, mangled(element, self.width), returns, *arguments)
