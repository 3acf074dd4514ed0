"""Launcher bodies become launch programs: structured nodes to forward-jumping register code, constants pooled."""

from __future__ import annotations

from collections.abc import Iterator

from darter.codegen.registers import Lifetimes, Registers, alias_of
from darter.dtypes import Int64, Kind, ScalarType
from darter.errors import UnsupportedSyntaxError
from darter.ir import nodes as n
from darter.ir.convergence import Describe, describe_in
from darter.ir.operands import results_of
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program, RaiseSpec

MAX_REGISTERS = 4096
MAX_INSTRUCTIONS = 65535
MAX_LAUNCH_ARGUMENTS = 1024
"""Limits of the native module (native/program/program.hpp)."""

_UNARY = {n.UnaryOp.NEG: Opcode.NEG, n.UnaryOp.NOT: Opcode.NOT, n.UnaryOp.ABS: Opcode.ABS}
_BINARY = {op: Opcode[op.name] for op in n.BinaryOp}
_COMPARE = {op: Opcode[op.name] for op in n.CompareOp}
_MATH = (n.MathOp.SQRT, n.MathOp.FLOOR, n.MathOp.CEIL, n.MathOp.TRUNC, n.MathOp.RINT)
_OVERFLOWING = {Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.FLOORDIV, Opcode.MOD, Opcode.SHL, Opcode.NEG, Opcode.ABS}


def lower(module: n.Module, describe: Describe | None = None) -> Program:
    """Return the launch program of ``module``'s launcher body.

    ``describe`` turns a position into the lines of a message that show it.

    Raises:
        UnsupportedSyntaxError: the body has a loop over a runtime value, a function that launchers do not have, or is
            larger than a launch program can be.
    """
    return _Lowering(module, describe or describe_in(module.functions)).run()


class _Lowering:
    """One walk over the body; ``_step`` counts as ``Lifetimes`` does."""

    def __init__(self, module: n.Module, describe: Describe) -> None:
        self._module = module
        self._describe = describe
        self._lifetimes = Lifetimes(module.body)
        self._constants: dict[int, int] = {}
        self._register: dict[n.Value, int] = {value: slot for slot, value in enumerate(module.parameters)}
        self._pool_constants(module.body)
        first = len(module.parameters) + len(self._constants)
        self._registers = Registers(first)
        self._first_temporary = first
        self._step = 0
        self._code: list[Instruction] = []
        self._launches: list[LaunchSpec] = []
        self._raises: list[RaiseSpec] = []
        self._sites: dict[n.Loc, int] = {}

    def run(self) -> Program:
        if not self._block(self._module.body):
            self._emit(Opcode.RETURN)
        if self._registers.count > MAX_REGISTERS or len(self._code) > MAX_INSTRUCTIONS:
            raise UnsupportedSyntaxError(
                f"launcher {self._module.name} is too large: it needs {self._registers.count} registers (at most "
                f"{MAX_REGISTERS}) and {len(self._code)} instructions (at most {MAX_INSTRUCTIONS}); split it"
            )
        return Program(
            slots=len(self._module.parameters),
            constants=tuple(self._constants),
            registers=self._registers.count,
            instructions=tuple(self._code),
            launches=tuple(self._launches),
            raises=tuple(self._raises),
            sites=tuple(self._sites),
        )

    # -- registers ----------------------------------------------------------------------------------------------------

    def _pool_constants(self, body: n.Block) -> None:
        for bits, value in self._needed_constants(body):
            register = self._constants.setdefault(bits, len(self._module.parameters) + len(self._constants))
            if value is not None:
                self._register[value] = register

    def _needed_constants(self, block: n.Block) -> Iterator[tuple[int, n.Value | None]]:
        """Yield the bit patterns that the code reads, with the value that each is of."""
        for node in block.nodes:
            match node:
                case n.Const(result=result, value=number) if result in self._lifetimes.used:
                    yield register_bits(result.dtype, number), result
                case n.Offset(result=result):
                    yield _element_bytes(result), None
                case n.If():
                    yield from self._needed_constants(node.then)
                    yield from self._needed_constants(node.orelse)
                case _:
                    pass

    def _at(self, value: n.Value) -> int:
        return self._register[self._lifetimes.root(value)]

    def _take(self, value: n.Value) -> int:
        register = self._register[value] = self._registers.take()
        return register

    def _end_step(self) -> None:
        """Free the registers of the values that ended with this step."""
        for value in self._lifetimes.ending(self._step):
            register = self._register.get(value, -1)
            if register >= self._first_temporary:
                self._registers.give_back(register)
                del self._register[value]

    # -- instructions -------------------------------------------------------------------------------------------------

    def _emit(
        self, op: Opcode, dtype: int = 0, dst: int = 0, a: int = 0, b: int = 0, c: int = 0, site: int = -1
    ) -> int:
        self._code.append(Instruction(op, dtype, dst, a, b, c, site))
        return len(self._code) - 1

    def _site(self, loc: n.Loc) -> int:
        return -1 if loc.function < 0 else self._sites.setdefault(loc, len(self._sites))

    def _land(self, jump: int) -> None:
        """Let the jump at ``jump`` go to the next instruction."""
        old = self._code[jump]
        self._code[jump] = Instruction(old.op, old.dtype, old.dst, old.a, old.b, len(self._code), old.site)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _block(self, block: n.Block) -> bool:
        """Write the nodes of ``block``; returns whether it always raises."""
        ended = False
        for node in block.nodes:
            self._step += 1
            if isinstance(node, n.If):
                ended = self._if(node, dead=ended) or ended
                continue
            if not ended and not isinstance(node, n.Const) and alias_of(node) is None:
                self._node(node)
            ended = ended or isinstance(node, n.Raise)
            self._end_step()
        return ended

    def _node(self, node: n.Node) -> None:
        match node:
            case n.Launch():
                self._launch(node)
            case n.Raise():
                self._raise(node)
            case n.Offset():
                self._offset(node)
            case n.For() | n.While():
                raise self._unsupported(node, "a loop over a runtime value; use dt.static_range, or loop in the kernel")
            case _:
                self._scalar(node)

    def _unsupported(self, node: n.Node, what: str) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(f"a launcher cannot contain {what}\n{self._describe(node.loc)}")

    def _scalar(self, node: n.Node) -> None:
        op, dtype, operands = self._operation(node)
        (result,) = results_of(node)
        can_fail = (dtype.kind is not Kind.FLOAT and op in _OVERFLOWING) if dtype else False
        if isinstance(node, n.Cast):
            can_fail = _loses(node.operand.dtype, node.result.dtype)
        if not can_fail and result not in self._lifetimes.used:
            return
        a, b, c = (*operands, 0, 0)[:3]
        # Operands that end here may give their register to the result: it is written after they are read.
        self._end_step()
        self._emit(
            op, dtype.code if dtype else 0, self._take(result), a, b, c, self._site(node.loc) if can_fail else -1
        )

    def _operation(self, node: n.Node) -> tuple[Opcode, ScalarType | None, tuple[int, ...]]:
        """Return the opcode, its dtype (None for a pointer) and its operand fields."""
        at = self._at
        match node:
            case n.Unary():
                return _UNARY[node.op], node.result.dtype, (at(node.operand),)
            case n.Binary():
                return _BINARY[node.op], node.result.dtype, (at(node.lhs), at(node.rhs))
            case n.Compare():
                return _COMPARE[node.op], node.lhs.dtype, (at(node.lhs), at(node.rhs))
            case n.Select():
                dtype = None if isinstance(node.result.type, n.PointerType) else node.result.dtype
                return Opcode.SELECT, dtype, (at(node.condition), at(node.on_true), at(node.on_false))
            case n.Cast():
                return Opcode.CAST, node.result.dtype, (at(node.operand), node.operand.dtype.code)
            case n.Bitcast():
                source = Int64 if isinstance(node.operand.type, n.PointerType) else node.operand.dtype
                return Opcode.BITCAST, node.result.dtype, (at(node.operand), source.code)
            case n.Fma():
                return Opcode.FMA, node.result.dtype, (at(node.a), at(node.b), at(node.c))
            case n.Math() if node.op in _MATH:
                return Opcode.MATH, node.result.dtype, (at(node.operands[0]), _MATH.index(node.op))
            case n.Math():
                raise self._unsupported(node, f"the function {node.op.value}; compute it in the kernel")
            case _:
                raise self._unsupported(node, f"{type(node).__name__}, which belongs in a kernel")

    def _offset(self, node: n.Offset) -> None:
        """Write pointer + offset · element size, in checked i64 arithmetic."""
        dst, site = self._take(node.result), self._site(node.loc)
        offset, i64 = self._at(node.offset), Int64.code
        if node.offset.dtype is not Int64:
            self._emit(Opcode.CAST, i64, dst, offset, node.offset.dtype.code)
            offset = dst
        self._emit(Opcode.MUL, i64, dst, offset, self._constants[_element_bytes(node.result)], site=site)
        self._emit(Opcode.ADD, i64, dst, self._at(node.pointer), dst, site=site)

    def _launch(self, node: n.Launch) -> None:
        if len(node.arguments) > MAX_LAUNCH_ARGUMENTS:
            raise self._unsupported(node, f"a launch of more than {MAX_LAUNCH_ARGUMENTS} kernel parameters")
        x, y, z = node.grid
        spec = LaunchSpec(
            kernel=node.kernel,
            arguments=tuple(self._at(value) for value in node.arguments),
            grid=(self._at(x), self._at(y), self._at(z)),
            block=self._module.kernels[node.kernel].block,
            shared_bytes=self._at(node.shared_bytes),
            options=node.options,
            site=self._site(node.loc),
        )
        self._emit(Opcode.LAUNCH, a=len(self._launches))
        self._launches.append(spec)

    def _raise(self, node: n.Raise) -> None:
        operands = tuple((self._at(value), _code(value)) for value in node.operands)
        self._emit(Opcode.RAISE, a=len(self._raises))
        self._raises.append(RaiseSpec(node.exception, node.pieces, operands, self._site(node.loc)))

    def _if(self, node: n.If, *, dead: bool) -> bool:
        """Write an ``If``; returns whether both sides always raise.  ``dead``: it is never reached and only counted."""
        if dead:
            self._skip(node)
            return True
        condition = self._at(node.condition)
        results = [self._take(value) if value in self._lifetimes.used else -1 for value in node.results]
        self._end_step()
        unless = self._emit(Opcode.JUMP_UNLESS, a=condition)
        then_ends = self._side(node.then, results)
        leave = -1
        if not then_ends and (node.orelse.nodes or any(register >= 0 for register in results)):
            leave = self._emit(Opcode.JUMP)
        self._land(unless)
        else_ends = self._side(node.orelse, results)
        if leave >= 0:
            self._land(leave)
        return then_ends and else_ends

    def _side(self, block: n.Block, results: list[int]) -> bool:
        ended = self._block(block)
        self._step += 1
        for register, value in zip(results, () if ended else block.yields, strict=False):
            if register >= 0:
                self._emit(Opcode.MOVE, _code(value), register, self._at(value))
        self._end_step()
        return ended

    def _skip(self, node: n.If) -> None:
        """Count the steps of a node that is never reached."""
        self._end_step()
        for block in (node.then, node.orelse):
            for inner in block.nodes:
                self._step += 1
                if isinstance(inner, n.If):
                    self._skip(inner)
                else:
                    self._end_step()
            self._step += 1
            self._end_step()


def register_bits(dtype: ScalarType, value: bool | int | float) -> int:
    """Return ``value`` as an unsigned 64-bit register: integers sign- or zero-extended, floats zero-extended."""
    if dtype.kind is Kind.FLOAT:
        return int.from_bytes(dtype.numpy().type(value).tobytes(), "little")
    return int(value) & (2**64 - 1)


def _element_bytes(pointer: n.Value) -> int:
    if not isinstance(pointer.type, n.PointerType):
        raise TypeError(f"{pointer!r} is no pointer")
    return pointer.type.element.size_bytes


def _code(value: n.Value) -> int:
    return 0 if isinstance(value.type, n.PointerType) else value.dtype.code


def _loses(source: ScalarType, dtype: ScalarType) -> bool:
    """Return whether a cast between these integer types can meet a value that does not fit."""
    return source.is_integer and dtype.is_integer and not (dtype.min <= source.min and source.max <= dtype.max)
