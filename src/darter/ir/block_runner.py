"""One block of a running kernel: the values of all its threads, and what each node does to them."""

from __future__ import annotations

import numpy as np

from darter import dtypes as dt
from darter.ir import arithmetic, nodes as n, numbers
from darter.ir.memory import BlockMemory, SharedLayout
from darter.ir.numbers import Lanes
from darter.ir.report import Check, Finding, Message, Report

_ATOMIC_AS_BINARY = {
    n.AtomicOp.ADD: n.BinaryOp.ADD,
    n.AtomicOp.MAX: n.BinaryOp.MAX,
    n.AtomicOp.MIN: n.BinaryOp.MIN,
    n.AtomicOp.AND: n.BinaryOp.AND,
    n.AtomicOp.OR: n.BinaryOp.OR,
    n.AtomicOp.XOR: n.BinaryOp.XOR,
}

Env = dict[n.Value, Lanes]


class BlockRunner:
    """Runs one block.  A mask (Bool per thread) says which threads execute a node; values of others mean nothing."""

    def __init__(
        self,
        kernel: n.Kernel,
        layout: SharedLayout,
        memory: BlockMemory,
        report: Report,
        checks: Check,
        random: np.random.Generator,
    ) -> None:
        self._kernel, self._layout, self._memory = kernel, layout, memory
        self._report, self._checks, self._random = report, checks, random
        self._threads = kernel.threads
        self._linear = np.arange(self._threads)
        self._warp = self._linear // kernel.warp_size
        self._lane = self._linear % kernel.warp_size
        self._env: Env = {}
        self._block = 0
        self._grid = (1, 1, 1)

    def run(self, arguments: Env, block: int, grid: tuple[int, int, int]) -> None:
        """Run the block with linear number ``block`` of ``grid``."""
        self._env, self._block, self._grid = arguments, block, grid
        self._nodes(self._kernel.body, np.ones(self._threads, np.bool_))
        self._memory.end_interval()

    def _nodes(self, block: n.Block, mask: Lanes) -> None:
        for node in block.nodes:
            match node:
                case n.If():
                    self._if(node, mask)
                case n.For():
                    self._for(node, mask)
                case n.While():
                    self._while(node, mask)
                case n.Load() | n.Store() | n.Atomic():
                    self._access(node, mask)
                case n.Barrier() | n.Assert() | n.Print():
                    self._effect(node, mask)
                case n.Shuffle() | n.Vote():
                    self._check_flow(node.loc, mask, self._warp, "warp operation")
                    self._env[node.result] = self._together(node, mask)
                case _:
                    self._compute(node)

    # -- values -----------------------------------------------------------------------------------------------------

    def _compute(self, node: n.Node) -> None:
        env = self._env
        match node:
            case n.Const(result=result, value=value):
                env[result] = numbers.constant(value, result.dtype, self._threads)
            case n.ReadIndex(result=result, index=index, axis=axis):
                env[result] = self._index(index, axis)
            case n.Unary(result=result, op=op, operand=operand):
                env[result] = arithmetic.unary(op, env[operand], operand.dtype)
            case n.Binary(result=result, op=op, lhs=lhs, rhs=rhs):
                env[result] = arithmetic.binary(op, env[lhs], env[rhs], lhs.dtype)
            case n.Compare(result=result, op=op, lhs=lhs, rhs=rhs):
                env[result] = arithmetic.compare(op, env[lhs], env[rhs], lhs.dtype)
            case n.Select(result=result, condition=condition):
                env[result] = np.where(env[condition], env[node.on_true], env[node.on_false])
            case n.Cast(result=result, operand=operand):
                env[result] = numbers.cast(env[operand], operand.dtype, result.dtype)
            case n.Bitcast(result=result, operand=operand):
                env[result] = numbers.bitcast(env[operand], result.dtype)
            case n.Fma(result=result, a=a, b=b, c=c):
                env[result] = arithmetic.fma(env[a], env[b], env[c], result.dtype)
            case n.Math(result=result, op=op, operands=operands):
                env[result] = arithmetic.math_function(op, tuple(env[each] for each in operands), result.dtype)
            case n.Offset(result=result, pointer=pointer, offset=offset):
                env[result] = self._place(pointer, offset)
            case n.PointerCast(result=result, pointer=pointer):
                env[result] = env[pointer]
            case n.SharedAlloc(result=result):
                address = self._memory.shared_base + self._layout.offsets[result][0]
                env[result] = np.full(self._threads, address, np.int64)
            case n.DynamicShared(result=result):
                env[result] = np.full(self._threads, self._memory.dynamic_base, np.int64)
            case _:
                raise TypeError(f"{type(node).__name__} does not run in a kernel")

    def _index(self, index: n.Index, axis: int) -> Lanes:
        bx, by, _ = self._kernel.block
        gx, gy, _ = self._grid
        match index:
            case n.Index.THREAD_IDX:
                thread = (self._linear % bx, self._linear // bx % by, self._linear // (bx * by))[axis]
                return thread.astype(np.int32)
            case n.Index.LANE_ID:
                return self._lane.astype(np.int32)
            case n.Index.WARP_ID:
                return self._warp.astype(np.int32)
            case n.Index.BLOCK_IDX:
                block = (self._block % gx, self._block // gx % gy, self._block // (gx * gy))[axis]
                return np.full(self._threads, block, np.int64)
            case n.Index.GRID_DIM:
                return np.full(self._threads, self._grid[axis], np.int64)

    def _together(self, node: n.Shuffle | n.Vote, mask: Lanes) -> Lanes:
        if isinstance(node, n.Shuffle):
            return self._shuffle(node)
        holds = self._env[node.predicate] & mask
        result: Lanes = np.zeros(self._threads, np.uint64 if node.mode is n.VoteMode.BALLOT else np.bool_)
        for warp in np.unique(self._warp[mask]):
            members = self._warp == warp
            match node.mode:
                case n.VoteMode.ANY:
                    result[members] = holds[members].any()
                case n.VoteMode.ALL:
                    result[members] = (holds | ~mask)[members].all()
                case n.VoteMode.BALLOT:
                    result[members] = sum(1 << int(lane) for lane in self._lane[members & holds])
        return result

    def _shuffle(self, node: n.Shuffle) -> Lanes:
        """Return the value of each lane's source lane; its own at an edge and where the block has no such thread."""
        lane, width = self._env[node.lane].astype(np.int64), self._kernel.warp_size
        match node.mode:
            case n.ShuffleMode.INDEX:
                source = lane % width
            case n.ShuffleMode.XOR:
                source = self._lane ^ lane
            case n.ShuffleMode.UP:
                source = self._lane - lane
            case n.ShuffleMode.DOWN:
                source = self._lane + lane
        thread = self._warp * width + source
        known = (source >= 0) & (source < width) & (thread < self._threads)
        return self._env[node.value][np.where(known, thread, self._linear)]

    # -- memory -----------------------------------------------------------------------------------------------------

    def _place(self, pointer: n.Value, offset: n.Value) -> Lanes:
        assert isinstance(pointer.type, n.PointerType)
        return self._env[pointer] + self._env[offset].astype(np.int64) * pointer.type.element.size_bytes

    def _access(self, node: n.Load | n.Store | n.Atomic, mask: Lanes) -> None:
        type = node.pointer.type
        assert isinstance(type, n.PointerType)
        place = self._place(node.pointer, node.offset)
        if isinstance(node, n.Atomic):
            self._env[node.result] = self._atomic(node, type, place, mask)
            return
        self._memory.check_alignment(place, mask, node.align_bytes, node.loc)
        if isinstance(node, n.Load):
            for number, result in enumerate(node.results):
                self._env[result] = self._memory.load(type, place + number * type.element.size_bytes, mask, node.loc)
            return
        order = self._order(mask)
        for number, value in enumerate(node.values):
            where = place + number * type.element.size_bytes
            self._memory.store(type, where, self._env[value], order, node.loc)

    def _order(self, mask: Lanes) -> Lanes:
        """Return the active threads in the order of this moment: warps at random, the lanes of a warp in order."""
        rank = self._random.permutation(int(self._warp[-1]) + 1)
        order = np.argsort(rank[self._warp], kind="stable")
        return order[mask[order]]

    def _atomic(self, node: n.Atomic, type: n.PointerType, place: Lanes, mask: Lanes) -> Lanes:
        dtype = type.element
        value = self._env[node.value]
        result = np.zeros_like(value)
        allowed = set(self._memory.atomic(type, place, mask, node.loc).tolist())
        for thread in self._order(mask):
            if int(thread) not in allowed:
                continue
            here, new = int(place[thread]), value[thread : thread + 1]
            old = self._memory.read_one(type, here)
            result[thread] = old[0]
            if node.expected is not None:
                expected = self._env[node.expected][thread : thread + 1]
                if old.tobytes() != expected.tobytes():
                    continue
            elif node.op is not n.AtomicOp.EXCHANGE:
                new = arithmetic.binary(_ATOMIC_AS_BINARY[node.op], old, new, dtype)
            self._memory.write_one(type, here, new)
        return result

    # -- effects ----------------------------------------------------------------------------------------------------

    def _effect(self, node: n.Barrier | n.Assert | n.Print, mask: Lanes) -> None:
        if isinstance(node, n.Barrier):
            self._check_flow(node.loc, mask, np.zeros(self._threads, np.int64), "barrier")
            self._memory.end_interval()
            return
        said = mask & ~self._env[node.condition] if isinstance(node, n.Assert) else mask
        for thread in np.flatnonzero(said):
            operands = tuple(self._python_value(operand, int(thread)) for operand in node.operands)
            self._report.messages.append(Message(node, self._block, int(thread), operands))

    def _python_value(self, value: n.Value, thread: int) -> bool | int | float:
        lanes = self._env[value]
        dtype = dt.Int64 if isinstance(value.type, n.PointerType) else value.type
        number: bool | int | float = numbers.widen(lanes[thread : thread + 1], dtype)[0].item()
        return number

    def _check_flow(self, loc: n.Loc, mask: Lanes, group: Lanes, what: str) -> None:
        """Report a group of threads (its number per thread) of which some are here and some are not."""
        if Check.FLOW not in self._checks or mask.all():
            return
        here, away = np.unique(group[mask]), np.unique(group[~mask])
        torn = np.intersect1d(here, away)
        if len(torn):
            thread = int(np.flatnonzero(~mask & (group == torn[0]))[0])
            text = f"{what} is reached by some threads only"
            self._report.add(Finding(Check.FLOW, loc, self._block, thread, text))

    # -- structure --------------------------------------------------------------------------------------------------

    def _if(self, node: n.If, mask: Lanes) -> None:
        condition = self._env[node.condition]
        for block, side in ((node.then, mask & condition), (node.orelse, mask & ~condition)):
            if side.any():
                self._nodes(block, side)
        for result, taken, other in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
            self._env[result] = np.where(condition, self._held(taken), self._held(other))

    def _held(self, value: n.Value) -> Lanes:
        """Return the lanes of ``value``, or zeros where its block did not run for any thread."""
        lanes = self._env.get(value)
        if lanes is None:
            pointer = isinstance(value.type, n.PointerType)
            return np.zeros(self._threads, np.int64 if pointer else numbers.storage(value.dtype))
        return lanes

    def _for(self, node: n.For, mask: Lanes) -> None:
        index = self._env[node.lower]
        upper, step = self._env[node.upper], self._env[node.step]
        carried = [self._env[value] for value in node.initial]
        active = mask & (step != 0)
        while True:
            active = active & np.where(step > 0, index < upper, index > upper)
            if not active.any():
                break
            for argument, lanes in zip(node.body.arguments, (index, *carried), strict=True):
                self._env[argument] = lanes
            self._nodes(node.body, active)
            carried = self._advanced(node.body.yields, carried, active)
            after = index + step
            # The index stops at the end of its type: what wrapped is past every bound.
            wrapped = np.where(step > 0, after < index, after > index)
            active = active & ~wrapped
            index = after
        for result, lanes in zip(node.results, carried, strict=True):
            self._env[result] = lanes

    def _while(self, node: n.While, mask: Lanes) -> None:
        carried = [self._env[value] for value in node.initial]
        active = mask
        while active.any():
            for argument, lanes in zip(node.test.arguments, carried, strict=True):
                self._env[argument] = lanes
            self._nodes(node.test, active)
            active = active & self._env[node.test.yields[0]]
            if not active.any():
                break
            for argument, lanes in zip(node.body.arguments, carried, strict=True):
                self._env[argument] = lanes
            self._nodes(node.body, active)
            carried = self._advanced(node.body.yields, carried, active)
        for result, lanes in zip(node.results, carried, strict=True):
            self._env[result] = lanes

    def _advanced(self, yields: tuple[n.Value, ...], carried: list[Lanes], active: Lanes) -> list[Lanes]:
        """Return the next carried values: those of threads that left the loop stay."""
        return [np.where(active, self._env[end], lanes) for end, lanes in zip(yields, carried, strict=True)]
