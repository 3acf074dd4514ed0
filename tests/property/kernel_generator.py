"""Random kernels that are legal, race-free and deterministic: every backend must leave the same in memory.

A kernel is a function of its seed and its size (the number of statements).  Each thread writes places of its own,
shared memory is exchanged between barriers, atomics commute or have a place per thread, and what is inexact goes into
buffers that are compared by ulps.
"""

from __future__ import annotations

from dataclasses import dataclass

from darter import dtypes as dt
from darter.ir import nodes as n
from darter.ir.typing_rules import accepts_shuffle
from tests.property.generated import INPUT_ELEMENTS, GeneratedKernel
from tests.property.generator_accesses import Accesses
from tests.property.generator_expressions import Expressions

_INDEX_TYPES = tuple(dtype for dtype in dt.ALL if dtype.is_integer)


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


class KernelGenerator(Expressions, Accesses):
    """Builds one kernel of expressions and accesses, in conditions and loops."""

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
