"""Random expressions: every operation, on whatever types a kernel has."""

from __future__ import annotations

from darter import dtypes as dt
from darter.ir import nodes as n
from darter.ir.typing_rules import accepts_binary, accepts_unary
from tests.property.generated import EXACT
from tests.property.generator_values import Values


class Expressions(Values):
    """Appends expressions."""

    def expression(self) -> None:
        kinds = [self.unary, self.binary, self.binary, self.binary, self.binary, self.compare, self.select]
        kinds += [self.cast, self.cast, self.bitcast, self.fma, self.exact_math, self.agreed_expression]
        for _ in range(self.random.randint(2, 6)):
            self.note(self.random.choice(kinds)())

    def unary(self) -> n.Value:
        dtype = self.arithmetic_type()
        ops = [op for op in n.UnaryOp if accepts_unary(op, dtype) and op not in n.BIT_COUNTS]
        op = self.random.choice(ops)
        if dtype.is_integer and self.counts.random() < 0.3:
            op = self.counts.choice(n.BIT_COUNTS)
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
