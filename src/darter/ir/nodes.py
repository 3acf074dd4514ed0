"""The typed, structured IR: SSA values inside nested blocks, one scalar per thread.

There is no branch and no jump.  The front end lowers ``break``, ``continue`` and early ``return`` to carried Bool
values and :class:`If`, so that each pass, the interpreter and each code generator meets four structured nodes only:
``If``, ``For``, ``While`` and ``Block``.  A vector access is a :class:`Load` of several results, a register array is
a Python list of values in the front end; neither has a type here.

A launcher body is built of the same nodes plus :class:`Launch` and :class:`Raise`; ``ir.program`` is what it becomes.

Positions are relative to the decorated function, so that no path gets into an artifact and moving a function in its
file changes nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from darter.dtypes import ScalarType
from darter.ir.operations import (
    BINARY_MATH as BINARY_MATH,
    BIT_COUNTS as BIT_COUNTS,
    LIBRARY_MATH as LIBRARY_MATH,
    AtomicOp as AtomicOp,
    BinaryOp as BinaryOp,
    CompareOp as CompareOp,
    Index as Index,
    MathOp as MathOp,
    Order as Order,
    Scope as Scope,
    ShuffleMode as ShuffleMode,
    UnaryOp as UnaryOp,
    VoteMode as VoteMode,
)
from darter.ir.options import KernelOptions as KernelOptions, LaunchOptions as LaunchOptions
from darter.ir.places import NOWHERE as NOWHERE, FunctionName as FunctionName, Loc as Loc

# -- positions, types, values -----------------------------------------------------------------------------------------


class Space(enum.Enum):
    """Memory that a pointer points into."""

    GLOBAL = "global"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class PointerType:
    """Type of an address of elements of ``element`` in ``space``."""

    element: ScalarType
    space: Space

    def __str__(self) -> str:
        return f"ptr<{self.element.name}, {self.space.value}>"


Type = ScalarType | PointerType


class Value:
    """One SSA value: defined once, by a node, a block argument or a parameter.  Compared by identity."""

    __slots__ = ("hint", "type")

    def __init__(self, type: Type, hint: str = "") -> None:
        self.type = type
        self.hint = hint

    @property
    def dtype(self) -> ScalarType:
        """The scalar type; raises ``TypeError`` for a pointer."""
        if isinstance(self.type, PointerType):
            raise TypeError(f"a {self.type} has no scalar type")
        return self.type

    def __repr__(self) -> str:
        return f"<Value {self.hint or 'v'}: {self.type if isinstance(self.type, PointerType) else self.type.name}>"


@dataclass(slots=True, eq=False)
class Node:
    """Base of all nodes."""

    loc: Loc = field(default=NOWHERE, kw_only=True)


@dataclass(slots=True, eq=False)
class Block:
    """Nodes in order, then the values that the block yields to the node that owns it."""

    arguments: tuple[Value, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    yields: tuple[Value, ...] = ()


# -- scalar computation -----------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Const(Node):
    """A constant of ``result``'s scalar type: a Python bool, an int in range, or a float (rounded to nearest even)."""

    result: Value
    value: bool | int | float


@dataclass(slots=True, eq=False)
class ReadIndex(Node):
    """``axis`` 0, 1, 2 is x, y, z; 0 for lane and warp.  Linear thread number is x + y·bx + z·bx·by; warps are cut from
    it.
    """

    result: Value
    index: Index
    axis: int


@dataclass(slots=True, eq=False)
class Unary(Node):
    """``result`` has the operand's type."""

    result: Value
    op: UnaryOp
    operand: Value


@dataclass(slots=True, eq=False)
class Binary(Node):
    """Operands and ``result`` have one type; never float8."""

    result: Value
    op: BinaryOp
    lhs: Value
    rhs: Value


@dataclass(slots=True, eq=False)
class Compare(Node):
    """Operands have one type; ``result`` is Bool."""

    result: Value
    op: CompareOp
    lhs: Value
    rhs: Value


@dataclass(slots=True, eq=False)
class Select(Node):
    """``condition`` (Bool) picks; both sides were evaluated."""

    result: Value
    condition: Value
    on_true: Value
    on_false: Value


@dataclass(slots=True, eq=False)
class Cast(Node):
    """Numeric conversion.

    int→int truncates or extends; to Bool is ``!= 0`` (NaN is True); int→float and float→float round to nearest even and
    keep denormals; float→int truncates toward zero, saturates and turns NaN into 0.  To float8: the fn and fnuz types
    saturate finite values and infinities to ±max; e5m2 and e5m2fnuz too; NaN stays NaN (0x80 in fnuz); -0 becomes 0
    in fnuz.
    """

    result: Value
    operand: Value


@dataclass(slots=True, eq=False)
class Bitcast(Node):
    """Reinterprets the bits; both types have the same width; Bool is not accepted.

    In a launcher, a pointer's bits are an i64, its address.
    """

    result: Value
    operand: Value


@dataclass(slots=True, eq=False)
class Fma(Node):
    """``a·b + c`` rounded once; f32 or f64."""

    result: Value
    a: Value
    b: Value
    c: Value


@dataclass(slots=True, eq=False)
class Math(Node):
    """The functions of ``BINARY_MATH`` have two operands, every other one has one."""

    result: Value
    op: MathOp
    operands: tuple[Value, ...]


# -- memory -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Offset(Node):
    """``pointer`` moved by ``offset`` elements (i32 or i64); ``result`` has the pointer's type."""

    result: Value
    pointer: Value
    offset: Value


@dataclass(slots=True, eq=False)
class PointerCast(Node):
    """The same address seen as elements of another type, in the same space."""

    result: Value
    pointer: Value


@dataclass(slots=True, eq=False)
class Load(Node):
    """Reads ``len(results)`` (1, 2, 4, 8 or 16) consecutive elements at ``pointer[offset]``.

    ``align_bytes`` is what the address is known to be a multiple of.
    """

    results: tuple[Value, ...]
    pointer: Value
    offset: Value
    align_bytes: int


@dataclass(slots=True, eq=False)
class Store(Node):
    """Writes ``values`` to consecutive elements at ``pointer[offset]``; each has the pointer's element type."""

    values: tuple[Value, ...]
    pointer: Value
    offset: Value
    align_bytes: int


@dataclass(slots=True, eq=False)
class Atomic(Node):
    """Updates ``pointer[offset]``; ``result`` is what stood there before.  ``expected`` is given for CAS only."""

    result: Value
    op: AtomicOp
    pointer: Value
    offset: Value
    value: Value
    expected: Value | None
    order: Order
    scope: Scope


@dataclass(slots=True, eq=False)
class SharedAlloc(Node):
    """``count`` elements of shared memory of the block, uninitialised; stands at the top level of a kernel."""

    result: Value
    count: int
    align_bytes: int


@dataclass(slots=True, eq=False)
class DynamicShared(Node):
    """Start of the dynamic shared memory that the launch asked for (16-byte aligned)."""

    result: Value


# -- threads together -------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Barrier(Node):
    """All threads of the block meet; memory before is visible after.  Needs block-uniform flow."""


@dataclass(slots=True, eq=False)
class Shuffle(Node):
    """``value`` (32- or 64-bit, f16, bf16) of another lane of the warp; ``lane`` is i32.  Needs warp-uniform flow."""

    result: Value
    mode: ShuffleMode
    value: Value
    lane: Value


@dataclass(slots=True, eq=False)
class Vote(Node):
    """``predicate`` (Bool) over the warp's lanes.  Needs warp-uniform flow."""

    result: Value
    mode: VoteMode
    predicate: Value


# -- talking to the host ----------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Assert(Node):
    """When ``condition`` is false, records ``message`` with block, thread and ``operands``; the thread goes on."""

    condition: Value
    message: str
    operands: tuple[Value, ...] = ()


@dataclass(slots=True, eq=False)
class Print(Node):
    """Prints ``pieces[0] operand[0] pieces[1] … pieces[n]`` and a newline, one line per thread."""

    pieces: tuple[str, ...]
    operands: tuple[Value, ...]


# -- structure --------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class If(Node):
    """``results`` are what the taken block yields.  ``why`` says which early exit made this node, for messages about
    barriers.
    """

    results: tuple[Value, ...]
    condition: Value
    then: Block
    orelse: Block
    why: str = ""


@dataclass(slots=True, eq=False)
class For(Node):
    """``for index in range(lower, upper, step)`` with carried values.

    ``index``, ``lower``, ``upper``, ``step`` have one integer type; ``step`` is not 0 (0 runs nothing).  The block's
    arguments are (index, *carried) and it yields the next carried values; ``results`` are the last ones.
    """

    results: tuple[Value, ...]
    lower: Value
    upper: Value
    step: Value
    initial: tuple[Value, ...]
    body: Block


@dataclass(slots=True, eq=False)
class While(Node):
    """``test`` takes the carried values and yields (Bool,); ``body`` takes them and yields the next ones."""

    results: tuple[Value, ...]
    initial: tuple[Value, ...]
    test: Block
    body: Block


# -- launchers --------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Launch(Node):
    """Launches ``module.kernels[kernel]`` with one value per parameter of that kernel; ``grid`` are three i64 values.

    A grid with a zero launches nothing.  ``shared_bytes`` (i64) is the dynamic shared memory asked for.
    """

    kernel: int
    arguments: tuple[Value, ...]
    grid: tuple[Value, Value, Value]
    shared_bytes: Value
    options: LaunchOptions


@dataclass(slots=True, eq=False)
class Raise(Node):
    """Ends the launcher with an exception: ``exception`` is a builtin's name, or the name of a class in ``errors``.

    The message is ``pieces[0] operand[0] pieces[1] …``.
    """

    exception: str
    pieces: tuple[str, ...]
    operands: tuple[Value, ...]


# -- wholes -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Kernel:
    """One kernel, specialised: parameters are scalars and pointers only; a tensor became its pointer and the extents
    and strides used.

    ``function`` is its row in the module's function table; -1 where it is made of no function.
    """

    name: str
    parameters: tuple[Value, ...]
    body: Block
    block: tuple[int, int, int]
    warp_size: int
    options: KernelOptions = field(default_factory=KernelOptions)
    function: int = NOWHERE.function

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(slots=True, eq=False)
class Module:
    """What one compile produces: a launcher over its parameters, and the kernels that it launches.

    ``parameters`` are the launcher's values in slot order (``signature.descriptor.slots``): per tensor the pointer, the
    extents, the strides (i64, in elements), per scalar its value.  ``written`` are the indices of the plan
    parameters whose tensors a kernel stores to (a read-only argument there is refused at the call).
    """

    name: str
    parameters: tuple[Value, ...]
    body: Block
    kernels: list[Kernel]
    functions: list[FunctionName]
    written: tuple[int, ...] = ()


def children(node: Node) -> tuple[Block, ...]:
    """Return the blocks inside ``node``, in order of execution."""
    match node:
        case If():
            return (node.then, node.orelse)
        case For():
            return (node.body,)
        case While():
            return (node.test, node.body)
        case _:
            return ()
