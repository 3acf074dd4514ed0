"""Random kernels that are legal, race-free and deterministic: every backend must leave the same in memory.

A kernel is a function of its seed and its size (the number of statements).  Each thread writes places of its own,
shared memory is exchanged between barriers, atomics commute or have a place per thread, and what is inexact goes into
buffers that are compared by ulps.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from darter import dtypes as dt
from darter.ir import nodes as n
from darter.ir.typing_rules import accepts_atomic, accepts_binary, accepts_shuffle, accepts_unary
from tests.ir_builder import Builder
from tests.property.generated import EXACT, INPUT_ELEMENTS, GeneratedKernel, Plan, Role

_BLOCKS = (
    (32, 1, 1), (64, 1, 1), (96, 1, 1), (40, 1, 1), (33, 1, 1), (128, 1, 1), (1, 1, 1),
    (16, 4, 1), (8, 4, 2), (7, 3, 1), (1, 64, 2), (32, 2, 1), (64, 1, 2),
)  # fmt: skip
_INDEX_TYPES = tuple(dtype for dtype in dt.ALL if dtype.is_integer)
_ARITHMETIC = tuple(dtype for dtype in dt.ALL if not dtype.is_float8)
_COMMUTING = (n.AtomicOp.ADD, n.AtomicOp.MAX, n.AtomicOp.MIN, n.AtomicOp.AND, n.AtomicOp.OR, n.AtomicOp.XOR)


@dataclass(frozen=True, slots=True)
class Flow:
    """Who is known to be here: ``barriers`` and ``warps`` say what is legal, ``depth`` how deep this is nested."""

    barriers: bool
    warps: bool
    depth: int

    def divergent(self) -> Flow:
        return Flow(False, False, self.depth + 1)

    def by_warp(self) -> Flow:
        return Flow(False, self.warps, self.depth + 1)

    def uniform(self) -> Flow:
        return Flow(self.barriers, self.warps, self.depth + 1)


class KernelGenerator:
    """Builds one kernel; ``random`` draws every choice, so that (seed, size) names it."""

    def __init__(self, seed: int, size: int, warp_size: int) -> None:
        self.random = random.Random(seed)
        self.b = Builder()
        self.plan = Plan()
        self.warp_size = warp_size
        self.block = self.random.choice(_BLOCKS)
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.grid = (self.random.choice((1, 2, 3)), self.random.choice((1, 1, 2)), self.random.choice((1, 1, 2)))
        self.everyone = self.threads * self.grid[0] * self.grid[1] * self.grid[2]
        self.size = size
        favourites = self.random.sample(dt.ALL, 4)
        self.types = list(dict.fromkeys([dt.Int32, dt.Bool, dt.Float32, *favourites]))
        self.values: list[list[n.Value]] = [[]]
        self.agreed: list[list[n.Value]] = [[]]
        self.shared: dict[dt.ScalarType, n.Value] = {}

    # -- values -------------------------------------------------------------------------------------------------------

    def note(self, *values: n.Value) -> None:
        """Let later statements of this scope use ``values``."""
        self.values[-1].extend(values)

    def pick(self, dtype: dt.ScalarType) -> n.Value:
        """Return a visible value of ``dtype``, made of another one or of a constant where there is none."""
        known = [value for scope in self.values for value in scope if value.type is dtype]
        chance = self.random.random()
        if chance < 0.06:
            return self.pick_agreed(dtype)
        if known and chance < 0.9:
            # The latest values are the most interesting: they depend on the most.
            return known[-1 - min(int(self.random.expovariate(0.3)), len(known) - 1)]
        return self.b.const(dtype, self.constant(dtype))

    def pick_agreed(self, dtype: dt.ScalarType) -> n.Value:
        """Return a value that the block agrees on, as the analysis can prove."""
        known = [value for scope in self.agreed for value in scope if value.type is dtype]
        return self.random.choice(known) if known else self.b.const(dtype, self.constant(dtype))

    def constant(self, dtype: dt.ScalarType) -> bool | int | float:
        if dtype is dt.Bool:
            return self.random.random() < 0.5
        if dtype.is_integer:
            near = [
                0,
                1,
                2,
                3,
                5,
                7,
                8,
                31,
                32,
                64,
                100,
                dtype.min,
                dtype.max,
                -1,
                self.random.randint(dtype.min, dtype.max),
            ]
            return self.random.choice([value for value in near if dtype.min <= value <= dtype.max])
        return self.random.choice(
            [0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 3.14159265, -0.7, 1e-5, 1000.25, 448.0, 1e30, float("inf"), float("nan")]
        )

    def arithmetic_type(self) -> dt.ScalarType:
        return self.random.choice([dtype for dtype in self.types if dtype in _ARITHMETIC])

    def small(self, value: n.Value, mask: int) -> n.Value:
        """Return an integer value cut to ``mask`` (2^k - 1)."""
        return self.b.binary(n.BinaryOp.AND, value, self.b.const(value.dtype, mask))

    # -- the kernel ---------------------------------------------------------------------------------------------------

    def generate(self) -> GeneratedKernel:
        self._prologue()
        self.statements(self.size, Flow(True, True, 0))
        for dtype in dt.ALL:
            self._store_all(dtype)
        kernel = n.Kernel("generated", self.plan.parameters, self.b.block, self.block, self.warp_size)
        return GeneratedKernel(kernel, self.plan, self.grid, self.everyone)

    def _prologue(self) -> None:
        b = self.b
        bx, by, _ = self.block
        tx, ty, tz = (b.index(n.Index.THREAD_IDX, axis) for axis in range(3))
        row = b.add(b.mul(tz, b.const(dt.Int32, by)), ty)
        self.thread = b.add(b.mul(row, b.const(dt.Int32, bx)), tx)
        gx, gy = b.index(n.Index.GRID_DIM, 0), b.index(n.Index.GRID_DIM, 1)
        x, y, z = (b.index(n.Index.BLOCK_IDX, axis) for axis in range(3))
        number = b.add(b.mul(b.add(b.mul(z, gy), y), gx), x)
        self.global_thread = b.add(b.mul(number, b.const(dt.Int64, self.threads)), b.cast(dt.Int64, self.thread))
        self.note(self.thread, tx, ty, b.index(n.Index.LANE_ID), self.global_thread)
        self.warp_number = b.index(n.Index.WARP_ID)
        self.agreed[-1].extend([x, gx, b.cast(dt.Int32, y)])
        for dtype in self.types:
            if self.random.random() < 0.5:
                self.agreed[-1].append(self.plan.scalar(dtype, self.constant(dtype)))
        for dtype in self.random.sample(self.types, 2):
            self.shared[dtype] = b.shared(dtype, self.threads)
        if self.random.random() < 0.5:
            dtype = self.random.choice(self.types)
            self.plan.shared_bytes = self.threads * dtype.size_bytes
            self.shared.setdefault(dtype, b.dynamic_shared(dtype))
        for dtype in self.types * 2:
            self.note(b.load(self.plan.input(dtype), self.near_thread(INPUT_ELEMENTS - 1)))

    def _store_all(self, dtype: dt.ScalarType) -> None:
        """Store every value of ``dtype`` that the kernel ends with: what is not stored is not compared."""
        known = [value for value in self.values[0] if value.type is dtype]
        while known:
            width = max(width for width in (1, 2, 4, 8, 16) if width <= len(known))
            self.store_value(*known[:width])
            known = known[width:]

    def statements(self, count: int, flow: Flow) -> None:
        """Append about ``count`` statements, those inside loops and conditions included."""
        while count > 0:
            count -= self.statement(count, flow)

    def statement(self, budget: int, flow: Flow) -> int:
        """Append one statement and return how many it counts for."""
        if flow.depth < 4 and budget > 3 and self.random.random() < 0.22:
            inside = self.random.randint(2, max(2, min(budget - 1, 8)))
            loops = (self.for_, self.for_, self.while_) if flow.depth < 3 else ()
            self.random.choice((self.if_, self.if_, self.early_exit, *loops))(inside, flow)
            return inside + 1
        choices = (
            [self.expression] * 12
            + [self.load] * 4
            + [self.any_store] * 2
            + [self.atomic, self.inexact, self.guarded, self.row, self.chosen_pointer]
        )
        if flow.barriers:
            choices += [self.exchange] * 2 + [self.shared_atomic, self.b.barrier]
        if flow.warps and self.threads % self.warp_size == 0:
            choices += [self.shuffle] * 2
        if flow.warps:
            choices += [self.vote]
        if flow.depth == 0:
            choices += [self.message]
        self.random.choice(choices)()
        return 1

    # -- structure ----------------------------------------------------------------------------------------------------

    def nested(self, count: int, flow: Flow, yields: list[dt.ScalarType], *given: n.Value) -> list[n.Value]:
        """Append statements in a scope of their own and return values of the types ``yields``."""
        self.values.append(list(given))
        self.agreed.append([])
        self.statements(count, flow)
        made = self.values[-1][len(given) :]
        for value in self.random.sample(made, min(4, len(made))):
            self.store_value(value)
        result = [self.pick(dtype) for dtype in yields]
        self.values.pop()
        self.agreed.pop()
        return result

    def condition(self, flow: Flow) -> tuple[n.Value, Flow]:
        """Return a condition and who is known to be under it."""
        kind = self.random.random()
        if kind < 0.3:
            dtype = self.random.choice((dt.Int32, dt.Int64))
            op = self.random.choice(list(n.CompareOp))
            return self.b.compare(op, self.pick_agreed(dtype), self.pick_agreed(dtype)), flow.uniform()
        if kind < 0.4:
            bound = self.b.const(dt.Int32, self.random.randint(0, 3))
            return self.b.compare(n.CompareOp.LT, self.warp_number, bound), flow.by_warp()
        if kind < 0.55:
            bound = self.b.const(dt.Int32, self.random.randint(0, self.threads))
            return self.b.compare(self.random.choice(list(n.CompareOp)), self.thread, bound), flow.divergent()
        return self.pick(dt.Bool), flow.divergent()

    def carried_types(self) -> list[dt.ScalarType]:
        return [self.random.choice(self.types) for _ in range(self.random.randint(0, 3))]

    def if_(self, count: int, flow: Flow) -> None:
        condition, inner = self.condition(flow)
        types = self.carried_types()
        first = self.random.randint(1, count)
        self.note(*self.b.if_(
            condition,
            lambda: self.nested(first, inner, types),
            lambda: self.nested(count - first, inner, types),
        ))  # fmt: skip

    def early_exit(self, count: int, flow: Flow) -> None:
        """Put statements after an early return: under a flag that a condition cleared."""
        condition, inner = self.condition(flow)
        stays = self.b.if_(
            condition, lambda: [self.b.const(dt.Bool, True)], lambda: [self.pick_agreed(dt.Bool)]
        )  # fmt: skip
        types = self.carried_types()
        fallback = [self.pick(dtype) for dtype in types]
        inner = inner if inner.barriers else flow.divergent()
        self.note(*self.b.if_(stays[0], lambda: self.nested(count, inner, types), lambda: fallback, why="return"))

    def for_(self, count: int, flow: Flow) -> None:
        lower, upper, step, inner = self.bounds(flow)
        types = self.carried_types()
        initial = [self.pick(dtype) for dtype in types]
        self.note(*self.b.for_(
            lower, upper, step, initial, lambda *given: self.nested(count, inner, types, *given)
        ))  # fmt: skip

    def bounds(self, flow: Flow) -> tuple[n.Value, n.Value, n.Value, Flow]:
        """Return the bounds of a loop of a few turns."""
        b, kind = self.b, self.random.random()
        dtype = self.random.choice((dt.Int32, dt.Int64, self.random.choice(_INDEX_TYPES)))
        if kind < 0.15:  # a block-stride loop
            step, turns = self.threads, self.random.randint(1, 3) * self.threads - self.random.randint(0, 5)
            return self.thread, b.const(dt.Int32, turns), b.const(dt.Int32, step), flow.divergent()
        if kind < 0.25:  # up to the end of the type
            end = dtype.max - self.random.randint(0, 2)
            lower, step = end - self.random.randint(0, 9), self.random.randint(1, 4)
            return b.const(dtype, lower), b.const(dtype, end), b.const(dtype, step), flow.uniform()
        down = dtype.is_signed and self.random.random() < 0.3
        step = b.const(dtype, (-1 if down else 1) * self.random.choice((1, 1, 2, 3)))
        if kind < 0.6:
            ends = [b.const(dtype, self.random.randint(0, 6)) for _ in range(2)]
            if dtype is dt.Int32 and self.random.random() < 0.5:
                ends[1] = self.small(self.pick_agreed(dtype), 7)
            return ends[0], ends[1], step, flow.uniform()
        ends = [self.small(self.pick(dtype), 7) for _ in range(2)]
        return ends[0], ends[1], step, flow.divergent()

    def while_(self, count: int, flow: Flow) -> None:
        """Append a loop that counts turns and may leave early by a carried flag."""
        b, leaves = self.b, self.random.random() < 0.6
        inner = flow.divergent() if leaves else flow.uniform()
        types = self.carried_types()
        most = b.const(dt.Int32, self.random.randint(0, 5))
        initial = [b.const(dt.Int32, 0), b.const(dt.Bool, True), *(self.pick(dtype) for dtype in types)]

        def test(turn: n.Value, goes_on: n.Value, *carried: n.Value) -> n.Value:
            more = b.compare(n.CompareOp.LT, turn, most)
            return b.binary(n.BinaryOp.AND, more, goes_on) if leaves else more

        def body(turn: n.Value, goes_on: n.Value, *carried: n.Value) -> list[n.Value]:
            wanted = [dt.Bool, *types] if leaves else types
            results = self.nested(count, inner, wanted, turn, *carried)
            after = b.add(turn, b.const(dt.Int32, 1))
            return [after, *results] if leaves else [after, goes_on, *results]

        self.note(*b.while_(initial, test, body)[2:])

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> None:
        kinds = [self.unary, self.binary, self.binary, self.binary, self.binary, self.compare, self.select]
        kinds += [self.cast, self.cast, self.bitcast, self.fma, self.exact_math, self.agreed_expression]
        for _ in range(self.random.randint(2, 6)):
            self.note(self.random.choice(kinds)())

    def unary(self) -> n.Value:
        dtype = self.arithmetic_type()
        op = self.random.choice([op for op in n.UnaryOp if accepts_unary(op, dtype)])
        return self.b.unary(op, self.pick(dtype))

    def binary(self) -> n.Value:
        dtype = self.arithmetic_type()
        op = self.random.choice([op for op in n.BinaryOp if accepts_binary(op, dtype)])
        return self.b.binary(op, self.pick(dtype), self.pick(dtype))

    def compare(self) -> n.Value:
        dtype = self.arithmetic_type()
        return self.b.compare(self.random.choice(list(n.CompareOp)), self.pick(dtype), self.pick(dtype))

    def select(self) -> n.Value:
        dtype = self.random.choice(self.types)
        return self.b.select(self.pick(dt.Bool), self.pick(dtype), self.pick(dtype))

    def cast(self) -> n.Value:
        return self.b.cast(self.random.choice(self.types), self.pick(self.random.choice(self.types)))

    def bitcast(self) -> n.Value:
        """Reinterpret bits, but never those of a NaN, which nothing promises."""
        source = self.random.choice([dtype for dtype in self.types if dtype is not dt.Bool])
        target = self.random.choice([dtype for dtype in dt.ALL if dtype is not dt.Bool and dtype.bits == source.bits])
        return self.b.bitcast(target, self.without_nan(self.pick(source)))

    def without_nan(self, value: n.Value) -> n.Value:
        if not value.dtype.is_float:
            return value
        wide = value if value.dtype is dt.Float64 else self.b.cast(dt.Float32, value)
        number = self.b.compare(n.CompareOp.EQ, wide, wide)
        return self.b.select(number, value, self.b.const(value.dtype, 1.0))

    def wide_float(self) -> dt.ScalarType:
        return dt.Float64 if dt.Float64 in self.types and self.random.random() < 0.5 else dt.Float32

    def fma(self) -> n.Value:
        dtype = self.wide_float()
        return self.b.fma(self.pick(dtype), self.pick(dtype), self.pick(dtype))

    def exact_math(self) -> n.Value:
        return self.b.math(self.random.choice(EXACT), self.pick(self.wide_float()))

    def agreed_expression(self) -> n.Value:
        dtype = self.random.choice((dt.Int32, dt.Int64))
        op = self.random.choice((n.BinaryOp.ADD, n.BinaryOp.MUL, n.BinaryOp.XOR, n.BinaryOp.MAX, n.BinaryOp.FLOORDIV))
        value = self.b.binary(op, self.pick_agreed(dtype), self.pick_agreed(dtype))
        self.agreed[-1].append(value)
        return value

    def inexact(self) -> None:
        """Store a function that is only documented to some ulps; nothing else depends on it."""
        dtype, op = self.wide_float(), self.random.choice([op for op in n.MathOp if op not in EXACT])
        operands = [self.pick(dtype) for _ in range(2 if op is n.MathOp.POW else 1)]
        start = self.store_value(self.b.math(op, *operands), role=Role.INEXACT)
        self.plan.functions.append((dtype, start, self.everyone, op))

    # -- memory -------------------------------------------------------------------------------------------------------

    def near_thread(self, mask: int) -> n.Value:
        """Return an index that moves with the thread, cut to ``mask``."""
        return self.small(self.b.add(self.thread, self.b.const(dt.Int32, self.random.randint(0, 40))), mask)

    def load(self) -> None:
        dtype, b = self.random.choice(self.types), self.b
        pointer, width = self.plan.input(dtype), self.random.choice((1, 1, 1, 2, 4, 8, 16))
        last = INPUT_ELEMENTS // 16 - 1
        index = self.random.choice((
            lambda: self.small(self.pick(dt.Int32), last),
            lambda: self.near_thread(last),
            lambda: self.small(self.pick_agreed(dt.Int32), last),
            lambda: b.cast(dt.Int64, self.small(self.pick(dt.Int32), last)),
        ))()  # fmt: skip
        if self.random.random() < 0.3:
            other = self.random.choice([t for t in dt.ALL if t is not dt.Bool and t.size_bytes <= dtype.size_bytes])
            if dtype is not dt.Bool:
                pointer, dtype = b.pointer_cast(other, pointer), other
        if self.random.random() < 0.3:
            pointer = b.offset(pointer, index)
            index = b.const(dt.Int32, 0)
            aligned = False
        else:
            aligned = self.random.random() < 0.7
            index = b.mul(index, b.const(index.dtype, width)) if aligned else index
        align = min(16, width * dtype.size_bytes) if aligned else dtype.size_bytes
        self.note(*b.load_vector(pointer, index, width, align)[:3])

    def guarded(self) -> None:
        """Load and store under a bounds check whose other side lies beyond the end of the buffer."""
        b, dtype = self.b, self.random.choice(self.types)
        start, factor = self.random.randint(0, INPUT_ELEMENTS), self.random.choice((1, 1, 1, 2, 5))
        index = b.add(b.mul(self.thread, b.const(dt.Int32, factor)), b.const(dt.Int32, start))
        inside = b.compare(n.CompareOp.LT, index, b.const(dt.Int32, INPUT_ELEMENTS))
        pointer, fallback = self.plan.input(dtype), self.pick(dtype)
        self.note(*b.if_(inside, lambda: [b.load(pointer, index)], lambda: [fallback]))
        last = max(1, self.everyone - self.random.randint(0, 40))
        out, first = self.plan.slot(dtype, Role.OUTPUT, last)
        mine = b.compare(n.CompareOp.LT, self.global_thread, b.const(dt.Int64, last))
        b.if_(mine, lambda: b.store(out, b.add(self.global_thread, b.const(dt.Int64, first)), fallback))

    def row(self) -> None:
        """Go through a part of the input with all threads of the block, and carry a sum."""
        b, dtype = (
            self.b,
            self.random.choice([dtype for dtype in self.types if dtype in _ARITHMETIC and dtype is not dt.Bool]),
        )
        pointer, index = self.plan.input(dtype), self.random.choice((dt.Int32, dt.Int64))
        length = self.small(self.pick_agreed(index), INPUT_ELEMENTS - 1)
        start = self.thread if index is dt.Int32 else b.cast(dt.Int64, self.thread)

        def body(k: n.Value, total: n.Value) -> list[n.Value]:
            return [b.binary(self.random.choice((n.BinaryOp.ADD, n.BinaryOp.MAX)), total, b.load(pointer, k))]

        self.note(*b.for_(start, length, b.const(index, self.threads), [self.pick(dtype)], body))

    def chosen_pointer(self) -> None:
        b, dtype = self.b, self.random.choice(self.types)
        ends = [b.offset(self.plan.input(dtype), b.const(dt.Int32, self.random.randint(0, 100))) for _ in range(2)]
        self.note(b.load(b.select(self.pick(dt.Bool), *ends), self.near_thread(127)))

    def any_store(self) -> None:
        self.store(self.random.choice(self.types))

    def store(self, dtype: dt.ScalarType) -> None:
        width = self.random.choice((1, 1, 1, 2, 4))
        self.store_value(*(self.pick(dtype) for _ in range(width)))

    def store_value(self, *values: n.Value, role: Role = Role.OUTPUT) -> int:
        """Store to places that are this thread's own; return the number of the first of them all."""
        b, width = self.b, len(values)
        pointer, start = self.plan.slot(values[0].dtype, role, width * self.everyone)
        place = b.mul(self.global_thread, b.const(dt.Int64, width)) if width > 1 else self.global_thread
        b.store(pointer, b.add(place, b.const(dt.Int64, start)), *values)
        return start

    def exchange(self) -> None:
        """Write shared memory one place per thread, meet, read any place, meet."""
        b, dtype = self.b, self.random.choice(list(self.shared))
        shared = self.shared[dtype]
        last = b.const(dt.Int32, self.threads - 1)
        mine = self.random.choice((self.thread, b.binary(n.BinaryOp.SUB, last, self.thread)))
        value = self.pick(dtype)
        b.barrier()
        b.store(shared, mine, value)
        b.barrier()
        anywhere = b.binary(n.BinaryOp.MOD, self.pick(dt.Int32), b.const(dt.Int32, self.threads))
        read = b.load(shared, anywhere)
        same = b.load(shared, b.const(dt.Int32, self.random.randrange(self.threads)))
        b.barrier()
        self.note(read, same)
        if same.type in (dt.Int32, dt.Int64):
            self.agreed[-1].append(same)

    # -- atomics ------------------------------------------------------------------------------------------------------

    def atomic_value(self, op: n.AtomicOp, dtype: dt.ScalarType) -> n.Value:
        """Return an operand; of a sum of floats a small whole number, so that the order of additions does not show."""
        if op is n.AtomicOp.ADD and dtype.is_float:
            return self.b.cast(dtype, self.small(self.pick(dt.Int32), 7))
        return self.pick(dtype)

    def order(self) -> tuple[n.Order, n.Scope]:
        return self.random.choice(list(n.Order)), self.random.choice(list(n.Scope))

    def atomic(self) -> None:
        b, op = self.b, self.random.choice(list(n.AtomicOp))
        dtype = self.random.choice([dtype for dtype in dt.ALL if accepts_atomic(op, dtype)])
        alone = op not in _COMMUTING or self.random.random() < 0.4
        places = self.everyone if alone else 4
        pointer, start = self.plan.slot(dtype, Role.ATOMIC, places)
        where = self.global_thread if alone else b.cast(dt.Int64, self.small(self.pick(dt.Int32), 3))
        expected = b.const(dtype, 0.0 if dtype.is_float else 0) if op is n.AtomicOp.CAS else None
        value = self.atomic_value(op, dtype)
        place = b.add(where, b.const(dt.Int64, start))
        before = b.atomic(op, pointer, place, value, expected, *self.order())
        if alone:
            self.note(before)

    def shared_atomic(self) -> None:
        """Reduce into one place of shared memory: a thread sets it, all update it, all read it."""
        usable = [d for d in self.shared if accepts_atomic(n.AtomicOp.ADD, d)]
        if not usable:
            return
        b, dtype = self.b, self.random.choice(usable)
        op = self.random.choice([op for op in _COMMUTING if accepts_atomic(op, dtype)])
        zero = b.const(dt.Int32, 0)
        start, value = self.pick(dtype), self.atomic_value(op, dtype)
        if op is n.AtomicOp.ADD and dtype.is_float:
            start = b.const(dtype, 3.0)
        first = b.compare(n.CompareOp.EQ, self.thread, zero)
        b.barrier()
        b.if_(first, lambda: b.store(self.shared[dtype], zero, start))
        b.barrier()
        b.atomic(op, self.shared[dtype], zero, value, None, n.Order.RELAXED, n.Scope.BLOCK)
        b.barrier()
        self.note(b.load(self.shared[dtype], zero))
        b.barrier()

    # -- threads together ---------------------------------------------------------------------------------------------

    def shuffle(self) -> None:
        usable = [dtype for dtype in self.types if accepts_shuffle(dtype)]
        b, mode = self.b, self.random.choice(list(n.ShuffleMode))
        lane = self.random.choice((
            lambda: b.const(dt.Int32, self.random.choice((0, 1, 2, 5, 16, 31))),
            lambda: self.small(self.pick(dt.Int32), 31),
            lambda: self.small(self.pick_agreed(dt.Int32), 31),
        ))()  # fmt: skip
        self.note(b.shuffle(mode, self.pick(self.random.choice(usable)), lane))

    def vote(self) -> None:
        self.note(self.b.vote(self.random.choice(list(n.VoteMode)), self.pick(dt.Bool)))

    def message(self) -> None:
        shown = tuple(self.without_nan(self.pick(self.random.choice(self.types))) for _ in range(2))
        if self.random.random() < 0.5:
            self.b.append(n.Assert(self.pick(dt.Bool), "asserted", shown))
        else:
            self.b.append(n.Print(("a ", " b ", ""), shown))


def generate(seed: int, size: int, warp_size: int = 32) -> GeneratedKernel:
    """Return the kernel that ``seed`` and ``size`` name."""
    return KernelGenerator(seed, size, warp_size).generate()
