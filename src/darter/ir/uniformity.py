"""Which values of a kernel the threads of a warp or block agree on: a forward pass with a fixed point through loops.

Three things about its answers:

* They speak of the threads that *reach* a value.  A uniform value inside a divergent ``If`` may be computed once per
  warp, if no thread of the warp reaching it means that it is not computed (a load from there could fault).
* A plain load from an address that a block agrees on is block-uniform.  Threads of a race-free kernel read the same
  there: a write to that place by another thread in the same barrier interval, or by another block without order, is a
  race, which the interpreter reports.  Results of atomics are varying, they are what races are for.
* Inside a divergent loop the carried values are varying, since the lanes that left keep theirs.  The index of a ``For``
  is different: it is uniform or contiguous where its lower bound and step are, *over all lanes*, whether their trip
  counts agree or not; code that relies on it advances the index of every lane, active or not.
"""

from __future__ import annotations

from dataclasses import replace

from darter.ir import nodes as n
from darter.ir.facts import (
    Facts,
    Level,
    as_level,
    join,
    lowest_bit,
    read_index,
    strided,
    type_bounds,
    uniform,
    varying,
)
from darter.ir.lane_algebra import LaneAlgebra
from darter.ir.operands import operands_of, results_of


class Uniformity:
    """The answers for one kernel."""

    def __init__(self, facts: dict[n.Value, Facts], flow: dict[n.Node, Level]) -> None:
        self._facts = facts
        self._flow = flow

    def facts(self, value: n.Value) -> Facts:
        """Return everything that is known of ``value``; raises ``KeyError`` for a value of another kernel."""
        return self._facts[value]

    def level(self, value: n.Value) -> Level:
        """Return how much the threads that reach ``value`` agree on it."""
        return self._facts[value].level

    def stride(self, value: n.Value) -> int | None:
        """Return the difference between neighbouring lanes (0 uniform, 1 contiguous), or None where there is none."""
        return self._facts[value].stride

    def flow(self, node: n.Node) -> Level:
        """Return the level of the condition of an ``If`` or ``While``, or of the trip count of a ``For``."""
        return self._flow[node]


def analyze(kernel: n.Kernel) -> Uniformity:
    """Return the uniformity of every value of ``kernel``, which must be well formed."""
    analysis = _Analysis(kernel)
    for parameter in kernel.parameters:
        analysis.set(parameter, uniform(parameter.type, Level.BLOCK_UNIFORM))
    analysis.block(kernel.body)
    return Uniformity(analysis.facts, analysis.flow)


class _Analysis:
    def __init__(self, kernel: n.Kernel) -> None:
        self.facts: dict[n.Value, Facts] = {}
        self.flow: dict[n.Node, Level] = {}
        self._kernel = kernel
        self._algebra = LaneAlgebra(kernel.warp_size)
        self._one_warp = kernel.threads <= kernel.warp_size

    def set(self, value: n.Value, facts: Facts) -> None:
        self.facts[value] = self._settled(facts)

    def block(self, block: n.Block) -> None:
        for node in block.nodes:
            match node:
                case n.If():
                    self._if(node)
                case n.For():
                    self._for(node)
                case n.While():
                    self._while(node)
                case _:
                    for result in results_of(node):
                        self.set(result, self._value(node, result))

    # -- straight code ----------------------------------------------------------------------------------------------

    def _value(self, node: n.Node, result: n.Value) -> Facts:
        of = self.facts
        match node:
            case n.Const():
                return _constant(result, node.value)
            case n.ReadIndex(index=index, axis=axis):
                return read_index(self._kernel, index, axis)
            case n.Unary(op=op, operand=operand):
                return self._algebra.unary(op, result.type, of[operand])
            case n.Binary(op=op, lhs=lhs, rhs=rhs):
                return self._algebra.binary(op, result.type, of[lhs], of[rhs])
            case n.Compare(op=op, lhs=lhs, rhs=rhs):
                return self._algebra.compare(op, lhs.type, of[lhs], of[rhs])
            case n.Select():
                if node.on_true is node.on_false:
                    return of[node.on_true]
                return join(result.type, of[node.on_true], of[node.on_false], of[node.condition].level)
            case n.Cast(operand=operand) | n.Bitcast(operand=operand):
                return self._algebra.converted(operand.type, result.type, of[operand])
            case n.Offset(pointer=pointer, offset=offset):
                return _moved(result, of[pointer], of[offset])
            case n.PointerCast(pointer=pointer):
                return _recast(result, pointer, of[pointer])
            case n.Load(pointer=pointer, offset=offset):
                place = max(of[pointer].level, of[offset].level)
                agreed = place <= Level.WARP_UNIFORM
                return uniform(result.type, max(place, Level.BLOCK_UNIFORM)) if agreed else varying(result.type)
            case n.SharedAlloc() | n.DynamicShared():
                return uniform(result.type, Level.BLOCK_UNIFORM)
            case n.Shuffle():
                return self._shuffled(node)
            case n.Vote(mode=mode, predicate=predicate):
                agreed = of[predicate].level <= Level.BLOCK_UNIFORM and mode is not n.VoteMode.BALLOT
                return uniform(result.type, Level.BLOCK_UNIFORM if agreed else Level.WARP_UNIFORM)
            case n.Fma() | n.Math():
                return self._algebra.opaque(result.type, *(of[operand] for operand in operands_of(node)))
            case _:
                return varying(result.type)

    def _shuffled(self, node: n.Shuffle) -> Facts:
        value, lane = self.facts[node.value], self.facts[node.lane]
        if value.is_uniform:
            return value
        if node.mode is n.ShuffleMode.INDEX and lane.is_uniform:
            return uniform(node.result.type, Level.WARP_UNIFORM)
        return varying(node.result.type)

    # -- structure --------------------------------------------------------------------------------------------------

    def _if(self, node: n.If) -> None:
        level = self.facts[node.condition].level
        self.flow[node] = level
        self.block(node.then)
        self.block(node.orelse)
        for result, a, b in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
            self.set(result, self.facts[a] if a is b else join(result.type, self.facts[a], self.facts[b], level))

    def _for(self, node: n.For) -> None:
        lower, upper, step = (self.facts[value] for value in (node.lower, node.upper, node.step))
        level = self.flow[node] = max(lower.level, upper.level, step.level)
        index, *arguments = node.body.arguments
        self.set(index, _loop_index(index.type, lower, upper, step))
        carried = [self.facts[value] for value in node.initial]
        while True:
            for argument, facts in zip(arguments, carried, strict=True):
                self.set(argument, facts)
            self.block(node.body)
            after = self._carried(node.initial, arguments, node.body.yields, carried, level)
            if after == carried:
                break
            carried = after
        for result, facts in zip(node.results, carried, strict=True):
            self.set(result, facts)

    def _while(self, node: n.While) -> None:
        carried = [self.facts[value] for value in node.initial]
        while True:
            for tested, argument, facts in zip(node.test.arguments, node.body.arguments, carried, strict=True):
                self.set(tested, facts)
                self.set(argument, facts)
            self.block(node.test)
            level = self.flow[node] = self.facts[node.test.yields[0]].level
            self.block(node.body)
            after = self._carried(node.initial, node.body.arguments, node.body.yields, carried, level)
            if after == carried:
                break
            carried = after
        for result, facts in zip(node.results, carried, strict=True):
            self.set(result, facts)

    def _carried(
        self,
        initial: tuple[n.Value, ...],
        arguments: list[n.Value] | tuple[n.Value, ...],
        yields: tuple[n.Value, ...],
        before: list[Facts],
        level: Level,
    ) -> list[Facts]:
        """Return the next facts of the carried values: never more is known than before, so that the loop above ends."""
        after = []
        for start, argument, end, known in zip(initial, arguments, yields, before, strict=True):
            if end is argument or end is start:
                after.append(known)
                continue
            joined = join(argument.type, known, self.facts[end], level)
            low, high = type_bounds(argument.type)
            if (joined.low, joined.high) != (known.low, known.high):
                joined = replace(joined, low=low, high=high, exact=joined.stride == 0)
            after.append(self._settled(joined))
        return after

    def _settled(self, facts: Facts) -> Facts:
        """Return ``facts`` in the form that is stored: the block of one warp agrees as its warp does."""
        if self._one_warp and facts.level is Level.WARP_UNIFORM:
            return as_level(facts, Level.BLOCK_UNIFORM)
        return facts if facts.exact else self._algebra.proven_exact(facts)


def _constant(result: n.Value, value: bool | int | float) -> Facts:
    if isinstance(value, float):  # static is an integer or Bool whose one value is known by its bounds
        return uniform(result.type, Level.BLOCK_UNIFORM)
    return Facts(Level.STATIC, 0, lowest_bit(int(value)), int(value), int(value), exact=True)


def _moved(result: n.Value, pointer: Facts, offset: Facts) -> Facts:
    if pointer.is_uniform and offset.is_uniform:
        return uniform(result.type, max(pointer.level, offset.level, Level.BLOCK_UNIFORM))
    if pointer.stride is None or offset.stride is None:
        return varying(result.type)
    return strided(result.type, pointer.stride + offset.stride, 1, 0, 0, pointer.exact and offset.exact)


def _recast(result: n.Value, pointer: n.Value, facts: Facts) -> Facts:
    if facts.is_uniform or facts.stride is None:
        return facts
    assert isinstance(pointer.type, n.PointerType)
    assert isinstance(result.type, n.PointerType)
    stride_bytes = facts.stride * pointer.type.element.size_bytes
    stride, rest = divmod(stride_bytes, result.type.element.size_bytes)
    return varying(result.type) if rest else strided(result.type, stride, 1, 0, 0, facts.exact)


def _loop_index(type: n.Type, lower: Facts, upper: Facts, step: Facts) -> Facts:
    """Return the facts of a loop's index; its bounds are tracked where the step is a positive constant."""
    divisor = min(lower.divisor, step.divisor)
    if not step.is_uniform or lower.stride is None:
        return varying(type, divisor)
    rising = step.constant is not None and step.constant > 0
    low, high = (lower.low, max(lower.low, upper.high - 1)) if rising else type_bounds(type)
    if lower.is_uniform:
        agreed = max(lower.level, step.level, Level.BLOCK_UNIFORM)
        return uniform(type, agreed, divisor, low, high)
    return strided(type, lower.stride, divisor, low, high, lower.exact and rising)
