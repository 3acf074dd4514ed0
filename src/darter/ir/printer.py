"""Readable text of a module or a kernel: what ``DARTER_DUMP=ir``, golden tests and failing property tests show.

The text is a function of the structure alone: values are named by their hint (numbered where a hint comes again) or by
a running number, in the order in which they are met, so that equal programs print equally in every process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from darter.ir import nodes as n
from darter.ir.operands import operands_of, results_of

_INDENT = "  "
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]")


def type_text(type: n.Type) -> str:
    """Return ``f32`` for a scalar type and ``ptr<f32, global>`` for a pointer."""
    return str(type) if isinstance(type, n.PointerType) else type.name


def print_module(module: n.Module) -> str:
    """Return the text of a launcher and of its kernels, ending in a newline."""
    lines = [f"function {number}: {row.module}.{row.qualname}" for number, row in enumerate(module.functions)]
    printer = _Printer()
    lines.append(f"launcher {module.name}({printer.definitions(module.parameters)}) {{")
    lines.extend(printer.block_lines(module.body, 1))
    lines.append("}")
    text = "\n".join(lines) + "\n"
    return text + "".join("\n" + print_kernel(kernel) for kernel in module.kernels)


def print_kernel(kernel: n.Kernel) -> str:
    """Return the text of one kernel, ending in a newline."""
    printer = _Printer()
    head = (
        f"kernel {kernel.name}({printer.definitions(kernel.parameters)}) block={kernel.block} warp={kernel.warp_size}"
    )
    if kernel.options != n.KernelOptions():
        head += f" {kernel.options}"
    return "\n".join([head + " {", *printer.block_lines(kernel.body, 1), "}"]) + "\n"


class _Printer:
    """Names of the values of one kernel or launcher, and the lines of its nodes."""

    def __init__(self) -> None:
        self._names: dict[n.Value, str] = {}
        self._taken: dict[str, int] = {}
        self._anonymous = 0

    def name(self, value: n.Value) -> str:
        """Return ``%name``, the same for the same value."""
        known = self._names.get(value)
        if known is not None:
            return known
        if value.hint:
            base = _NOT_IN_NAMES.sub("_", value.hint)
            count = self._taken.get(base, 0)
            self._taken[base] = count + 1
            made = f"%{base}" if count == 0 else f"%{base}.{count}"
        else:
            made = f"%{self._anonymous}"
            self._anonymous += 1
        self._names[value] = made
        return made

    def names(self, values: Iterable[n.Value]) -> str:
        return ", ".join(self.name(value) for value in values)

    def definitions(self, values: Iterable[n.Value]) -> str:
        return ", ".join(f"{self.name(value)}: {type_text(value.type)}" for value in values)

    def block_lines(self, block: n.Block, depth: int) -> list[str]:
        """Return the lines of a block's nodes and of its yield."""
        lines: list[str] = []
        for node in block.nodes:
            lines.extend(self._node_lines(node, depth))
        if block.yields:
            lines.append(f"{_INDENT * depth}yield {self.names(block.yields)}")
        return lines

    def _node_lines(self, node: n.Node, depth: int) -> list[str]:
        margin = _INDENT * depth
        match node:
            case n.If(condition=condition, then=then, orelse=orelse):
                why = f"  # {node.why}" if node.why else ""
                lines = [f"if {self.name(condition)} {{{why}", *self.block_lines(then, depth + 1)]
                if orelse.nodes or orelse.yields:
                    lines += [f"{margin}}} else {{", *self.block_lines(orelse, depth + 1)]
                results = node.results
            case n.For(body=body):
                bounds = self.names((node.lower, node.upper, node.step))
                initial = self.names(node.initial)
                lines = [f"for ({self.definitions(body.arguments)}) in range({bounds}) from ({initial}) {{"]
                lines += self.block_lines(body, depth + 1)
                results = node.results
            case n.While(test=test, body=body):
                lines = [f"while ({self.definitions(test.arguments)}) from ({self.names(node.initial)}) {{"]
                lines += self.block_lines(test, depth + 1)
                lines.append(f"{margin}}} do ({self.definitions(body.arguments)}) {{")
                lines += self.block_lines(body, depth + 1)
                results = node.results
            case _:
                return [margin + self._line(node) + _position(node)]
        head = f"{self.definitions(results)} = " if results else ""
        lines[0] = margin + head + lines[0] + _position(node)
        return [*lines, margin + "}"]

    def _line(self, node: n.Node) -> str:
        results = results_of(node)
        text = self._operation(node)
        return f"{self.definitions(results)} = {text}" if results else text

    def _operation(self, node: n.Node) -> str:
        match node:
            case n.Const(value=value):
                return f"const {value!r}"
            case n.ReadIndex(index=index, axis=axis):
                one = index in (n.Index.LANE_ID, n.Index.WARP_ID)
                return index.value if one else f"{index.value}.{'xyz'[axis]}"
            case n.Unary(op=op) | n.Binary(op=op) | n.Compare(op=op) | n.Math(op=op):
                return f"{op.value} {self.names(operands_of(node))}"
            case n.Shuffle(mode=mode) | n.Vote(mode=mode):
                return f"{type(node).__name__.lower()}.{mode.value} {self.names(operands_of(node))}"
            case n.Load(align_bytes=align):
                return f"load {self._place(node.pointer, node.offset)} align {align}"
            case n.Store(align_bytes=align):
                return f"store {self._place(node.pointer, node.offset)} = {self.names(node.values)} align {align}"
            case n.Atomic():
                expected = f" expected {self.name(node.expected)}" if node.expected is not None else ""
                place = self._place(node.pointer, node.offset)
                order = f"{node.order.value} {node.scope.value}"
                return f"atomic.{node.op.value} {place}, {self.name(node.value)}{expected} {order}"
            case n.SharedAlloc(count=count, align_bytes=align):
                return f"shared {count} align {align}"
            case n.Assert(message=message):
                return f"assert {self.name(node.condition)}, {message!r} ({self.names(node.operands)})"
            case n.Print(pieces=pieces):
                return f"print {pieces!r} ({self.names(node.operands)})"
            case n.Raise(exception=exception, pieces=pieces):
                return f"raise {exception} {pieces!r} ({self.names(node.operands)})"
            case n.Launch():
                options = "" if node.options == n.LaunchOptions() else f" {node.options}"
                shared = self.name(node.shared_bytes)
                grid = self.names(node.grid)
                return f"launch {node.kernel}({self.names(node.arguments)}) grid ({grid}) shared {shared}{options}"
            case _:
                return f"{type(node).__name__.lower()} {self.names(operands_of(node))}".rstrip()

    def _place(self, pointer: n.Value, offset: n.Value) -> str:
        return f"{self.name(pointer)}[{self.name(offset)}]"


def _position(node: n.Node) -> str:
    loc = node.loc
    return "" if loc == n.NOWHERE else f"  ; {loc.function}:{loc.line}:{loc.column}"
