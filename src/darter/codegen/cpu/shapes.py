"""How each value varies over the lanes of a warp: the same in all, lane-affine, or freely.

A uniform value is held as one scalar, an affine one as the scalar of lane 0 and a constant stride, a varying one as a
vector.  "Uniform" speaks of the active lanes only: under a divergent condition a scalar holds for those that are on.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from darter.dtypes import ScalarType
from darter.ir import nodes as ir


class Kind(enum.IntEnum):
    """From the most to the least regular."""

    BLOCK = 0
    WARP = 1
    AFFINE = 2
    VARYING = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """``stride`` is the step from lane to lane of an affine value: in its own unit, for a pointer in bytes."""

    kind: Kind
    stride: int = 0

    @property
    def uniform(self) -> bool:
        return self.kind <= Kind.WARP


BLOCK = Shape(Kind.BLOCK)
WARP = Shape(Kind.WARP)
VARYING = Shape(Kind.VARYING)

Range = tuple[int, int]


def affine(stride: int) -> Shape:
    """Return the shape of a value that moves by ``stride`` per lane."""
    return Shape(Kind.AFFINE, stride) if stride else WARP


def join(a: Shape, b: Shape) -> Shape:
    """Return the shape that holds a value of either shape."""
    if a == b:
        return a
    if a.uniform and b.uniform:
        return WARP
    return VARYING


@dataclass(slots=True)
class Shapes:
    """The shapes of a kernel's values, and the ranges of its integers where no lane can have wrapped."""

    kernel: ir.Kernel
    of: dict[ir.Value, Shape] = field(default_factory=dict)
    ranges: dict[ir.Value, Range] = field(default_factory=dict)
    constants: dict[ir.Value, bool | int | float] = field(default_factory=dict)
    used: set[ir.Value] = field(default_factory=set)

    def __getitem__(self, value: ir.Value) -> Shape:
        return self.of[value]

    def level(self, *values: ir.Value) -> Shape:
        """Return the least regular uniform shape of ``values``, or VARYING if one is not uniform."""
        kind = max((self.of[value].kind for value in values), default=Kind.BLOCK)
        return Shape(kind) if kind <= Kind.WARP else VARYING


def analyse(kernel: ir.Kernel) -> Shapes:
    """Return the shapes of all values of ``kernel``."""
    shapes = Shapes(kernel)
    _collect_uses(kernel.body, shapes.used)
    for parameter in kernel.parameters:
        shapes.of[parameter] = BLOCK
        if isinstance(parameter.type, ScalarType) and parameter.type.is_integer:
            shapes.ranges[parameter] = (parameter.type.min, parameter.type.max)
    _block(shapes, kernel.body)
    return shapes


def _collect_uses(block: ir.Block, used: set[ir.Value]) -> None:
    used.update(block.yields)
    for node in block.nodes:
        used.update(operands(node))
        for child in ir.children(node):
            _collect_uses(child, used)


def operands(node: ir.Node) -> tuple[ir.Value, ...]:
    """Return the values that ``node`` itself reads, those of its blocks excepted."""
    match node:
        case ir.Unary() | ir.Cast() | ir.Bitcast():
            return (node.operand,)
        case ir.Binary() | ir.Compare():
            return (node.lhs, node.rhs)
        case ir.Select():
            return (node.condition, node.on_true, node.on_false)
        case ir.Fma():
            return (node.a, node.b, node.c)
        case ir.Math() | ir.Print():
            return node.operands
        case ir.Offset() | ir.Load():
            return (node.pointer, node.offset)
        case ir.PointerCast():
            return (node.pointer,)
        case ir.Store():
            return (node.pointer, node.offset, *node.values)
        case ir.Atomic():
            expected = () if node.expected is None else (node.expected,)
            return (node.pointer, node.offset, node.value, *expected)
        case ir.Shuffle():
            return (node.value, node.lane)
        case ir.Vote():
            return (node.predicate,)
        case ir.Assert():
            return (node.condition, *node.operands)
        case ir.If():
            return (node.condition,)
        case ir.For():
            return (node.lower, node.upper, node.step, *node.initial)
        case ir.While():
            return node.initial
        case _:
            return ()


def results(node: ir.Node) -> tuple[ir.Value, ...]:
    """Return the values that ``node`` itself defines for the nodes after it."""
    match node:
        case ir.Load() | ir.If() | ir.For() | ir.While():
            return node.results
        case _:
            result = getattr(node, "result", None)
            return () if result is None else (result,)


def _block(shapes: Shapes, block: ir.Block) -> None:
    for node in block.nodes:
        _node(shapes, node)


def _node(shapes: Shapes, node: ir.Node) -> None:
    match node:
        case ir.If():
            _if(shapes, node)
        case ir.For():
            _for(shapes, node)
        case ir.While():
            _while(shapes, node)
        case _:
            shape = _plain(shapes, node)
            for result in results(node):
                shapes.of[result] = shape
            _range(shapes, node)


def _plain(shapes: Shapes, node: ir.Node) -> Shape:
    match node:
        case ir.Const() | ir.SharedAlloc() | ir.DynamicShared():
            return BLOCK
        case ir.ReadIndex():
            return _index(shapes.kernel, node)
        case ir.Binary():
            return _binary(shapes, node)
        case ir.Cast():
            return _cast(shapes, node)
        case ir.Select() if shapes[node.condition].uniform:
            picked = join(shapes[node.on_true], shapes[node.on_false])
            return max(picked, shapes[node.condition], key=lambda shape: shape.kind)
        case ir.Offset():
            return _offset(shapes, node)
        case ir.PointerCast():
            return shapes[node.pointer]
        case ir.Atomic():
            return VARYING
        case ir.Vote():
            return WARP
        case ir.Shuffle():
            if shapes[node.value].uniform:
                return WARP
            return WARP if node.mode is ir.ShuffleMode.INDEX and shapes[node.lane].uniform else VARYING
        case _:
            return shapes.level(*operands(node))


def _index(kernel: ir.Kernel, node: ir.ReadIndex) -> Shape:
    width, (x, y, _) = kernel.warp_size, kernel.block
    match node.index:
        case ir.Index.BLOCK_IDX | ir.Index.GRID_DIM:
            return BLOCK
        case ir.Index.WARP_ID:
            return WARP if kernel.threads > width else BLOCK
        case ir.Index.LANE_ID:
            return affine(1)
        case ir.Index.THREAD_IDX:
            inner = (1, x, x * y)[node.axis]
            if kernel.block[node.axis] == 1:
                return BLOCK
            if inner % width == 0 or inner >= kernel.threads:
                return WARP
            whole = inner * kernel.block[node.axis]
            return affine(1) if inner == 1 and (whole >= kernel.threads or whole % width == 0) else VARYING


def _binary(shapes: Shapes, node: ir.Binary) -> Shape:
    a, b = shapes[node.lhs], shapes[node.rhs]
    if a.uniform and b.uniform:
        return shapes.level(node.lhs, node.rhs)
    if VARYING in (a, b) or not node.result.dtype.is_integer:
        return VARYING
    match node.op:
        case ir.BinaryOp.ADD:
            return affine(a.stride + b.stride)
        case ir.BinaryOp.SUB:
            return affine(a.stride - b.stride)
        case ir.BinaryOp.MUL if node.rhs in shapes.constants and a.kind is Kind.AFFINE:
            return affine(a.stride * int(shapes.constants[node.rhs]))
        case ir.BinaryOp.MUL if node.lhs in shapes.constants:
            return affine(b.stride * int(shapes.constants[node.lhs]))
        case ir.BinaryOp.SHL if node.rhs in shapes.constants:
            return affine(a.stride << (int(shapes.constants[node.rhs]) % node.result.dtype.bits))
        case _:
            return VARYING


def _cast(shapes: Shapes, node: ir.Cast) -> Shape:
    shape = shapes[node.operand]
    if shape.kind is not Kind.AFFINE:
        return shape
    source, target = node.operand.dtype, node.result.dtype
    if not (source.is_integer and target.is_integer):
        return VARYING
    # A widened sum is the sum of what was widened only where no lane wrapped.
    return shape if target.bits <= source.bits or node.operand in shapes.ranges else VARYING


def _offset(shapes: Shapes, node: ir.Offset) -> Shape:
    pointer, offset = shapes[node.pointer], shapes[node.offset]
    if pointer.uniform and offset.uniform:
        return shapes.level(node.pointer, node.offset)
    if VARYING in (pointer, offset):
        return VARYING
    assert isinstance(node.pointer.type, ir.PointerType)
    return affine(pointer.stride + offset.stride * node.pointer.type.element.size_bytes)


# -- structure --------------------------------------------------------------------------------------------------------


def _if(shapes: Shapes, node: ir.If) -> None:
    _block(shapes, node.then)
    _block(shapes, node.orelse)
    condition = shapes[node.condition]
    for result, a, b in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
        shape = join(shapes[a], shapes[b])
        if condition.uniform:
            shape = max(shape, condition, key=lambda shape: shape.kind) if shape.uniform else shape
        elif a is not b:
            shape = VARYING
        shapes.of[result] = shape


def divergent_for(shapes: Shapes, node: ir.For) -> bool:
    """Return whether lanes of one warp may run different numbers of turns."""
    return not (shapes[node.lower].uniform and shapes[node.upper].uniform and shapes[node.step].uniform)


def _for(shapes: Shapes, node: ir.For) -> None:
    index, *carried = node.body.arguments
    level = shapes.level(node.lower, node.upper, node.step)
    lower, step = shapes[node.lower], shapes[node.step]
    shapes.of[index] = level if level.uniform else lower if step.uniform else VARYING
    # A lane that is on has lower <= index < upper, so its index has not wrapped.
    shapes.ranges[index] = (index.dtype.min, index.dtype.max)
    _carried(shapes, node.results, node.initial, carried, node.body, None if divergent_for(shapes, node) else level)


def _while(shapes: Shapes, node: ir.While) -> None:
    for argument, initial in zip(node.test.arguments, node.initial, strict=True):
        shapes.of[argument] = shapes[initial]
    while True:
        _block(shapes, node.test)
        condition = shapes[node.test.yields[0]]
        for outer, inner in zip(node.test.arguments, node.body.arguments, strict=True):
            shapes.of[inner] = shapes[outer]
        _block(shapes, node.body)
        if not _widen(shapes, list(node.test.arguments), node.body.yields, condition if condition.uniform else None):
            break
    for result, argument in zip(node.results, node.test.arguments, strict=True):
        shapes.of[result] = shapes[argument]


def _carried(
    shapes: Shapes,
    results_: tuple[ir.Value, ...],
    initial: tuple[ir.Value, ...],
    arguments: list[ir.Value],
    body: ir.Block,
    level: Shape | None,
) -> None:
    for argument, first in zip(arguments, initial, strict=True):
        shapes.of[argument] = shapes[first]
    while True:
        _block(shapes, body)
        if not _widen(shapes, arguments, body.yields, level):
            break
    for result, argument in zip(results_, arguments, strict=True):
        shapes.of[result] = shapes[argument]


def _widen(shapes: Shapes, arguments: list[ir.Value], following: tuple[ir.Value, ...], level: Shape | None) -> bool:
    """Join what is carried round; ``level`` None: lanes leave at different turns, so that nothing stays regular."""
    changed = False
    for argument, value in zip(arguments, following, strict=True):
        before = shapes[argument]
        if level is None:
            after = VARYING if value is not argument else before
        else:
            after = join(before, shapes[value])
            if after.uniform and value is not argument:
                after = max(after, level, key=lambda shape: shape.kind)
        if after != before:
            shapes.of[argument] = after
            changed = True
    return changed


# -- ranges -----------------------------------------------------------------------------------------------------------


def _range(shapes: Shapes, node: ir.Node) -> None:
    """Note the range of an integer result of which no lane wraps; forget it where one may."""
    found = _range_of(shapes, node)
    for result in results(node):
        if not isinstance(result.type, ScalarType) or not result.type.is_integer:
            continue
        if found is not None and result.type.min <= found[0] and found[1] <= result.type.max:
            shapes.ranges[result] = found
        else:
            shapes.ranges.pop(result, None)


def _range_of(shapes: Shapes, node: ir.Node) -> Range | None:
    ranges = shapes.ranges
    match node:
        case ir.Const():
            shapes.constants[node.result] = node.value
            return (int(node.value), int(node.value)) if node.result.dtype.is_integer else None
        case ir.ReadIndex():
            return 0, _index_limit(shapes.kernel, node)
        case ir.Cast():
            return ranges.get(node.operand)
        case ir.Load():
            dtype = node.results[0].type
            return (dtype.min, dtype.max) if isinstance(dtype, ScalarType) and dtype.is_integer else None
        case ir.Binary() if node.lhs in ranges and node.rhs in ranges:
            return _binary_range(node.op, ranges[node.lhs], ranges[node.rhs])
        case _:
            return None


def _index_limit(kernel: ir.Kernel, node: ir.ReadIndex) -> int:
    match node.index:
        case ir.Index.THREAD_IDX:
            return kernel.block[node.axis] - 1
        case ir.Index.LANE_ID:
            return kernel.warp_size - 1
        case ir.Index.WARP_ID:
            return kernel.threads // kernel.warp_size
        case _:
            return 2**31 - 1 if node.axis == 0 else 65535


def _binary_range(op: ir.BinaryOp, a: Range, b: Range) -> Range | None:
    match op:
        case ir.BinaryOp.ADD:
            return a[0] + b[0], a[1] + b[1]
        case ir.BinaryOp.SUB:
            return a[0] - b[1], a[1] - b[0]
        case ir.BinaryOp.MUL:
            corners = [x * y for x in a for y in b]
            return min(corners), max(corners)
        case _:
            return None
