"""Random accesses that race with none: own places, shared memory between barriers, atomics that commute."""

from __future__ import annotations

from darter import dtypes as dt
from darter.ir import nodes as n
from darter.ir.typing_rules import accepts_atomic
from tests.property.generated import INEXACT, INPUT_ELEMENTS, Role
from tests.property.generator_values import ARITHMETIC, Values

_COMMUTING = (n.AtomicOp.ADD, n.AtomicOp.MAX, n.AtomicOp.MIN, n.AtomicOp.AND, n.AtomicOp.OR, n.AtomicOp.XOR)


class Accesses(Values):
    """Appends loads, stores and atomics."""

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
            self.random.choice([dtype for dtype in self.types if dtype in ARITHMETIC and dtype is not dt.Bool]),
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

    def inexact(self) -> None:
        """Store a function that is only documented to some ulps; nothing else depends on it."""
        dtype, op = self.wide_float(), self.random.choice([op for op in INEXACT if op not in n.LIBRARY_MATH])
        if self.functions.random() < 0.5:
            # Drawn apart, and of as many operands: a seed makes the kernel that it made before there were these.
            alike = op in n.BINARY_MATH
            op = self.functions.choice([f for f in INEXACT if f in n.LIBRARY_MATH and (f in n.BINARY_MATH) == alike])
        operands = [self.pick(dtype) for _ in range(1 + (op in n.BINARY_MATH))]
        start = self.store_value(self.b.math(op, *operands), role=Role.INEXACT)
        self.plan.functions.append((dtype, start, self.everyone, op))

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
