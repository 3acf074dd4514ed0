"""Writers of LLVM text: a module of functions, helper functions made on demand, and one function's instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from darter.errors import CodegenError

INTRINSICS = frozenset(
    {
        "llvm.masked.load", "llvm.masked.store", "llvm.masked.gather", "llvm.masked.scatter",
        "llvm.fma", "llvm.fabs", "llvm.copysign", "llvm.sqrt", "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.rint",
        "llvm.maximum", "llvm.minimum", "llvm.smax", "llvm.smin", "llvm.umax", "llvm.umin", "llvm.abs",
        "llvm.fptosi.sat", "llvm.fptoui.sat", "llvm.ctpop", "llvm.cttz", "llvm.ctlz", "llvm.fshl",
    }
)  # fmt: skip
"""What may be called: each of these selects to instructions on every CPU with AVX2 (elsewhere the targets avoid it)."""


_IMPURE = ("load", "call", "atomicrmw", "cmpxchg", "phi")
"""Instructions whose result is not a function of their text."""


class ModuleText:
    """LLVM text in the making: declarations, globals, helpers by name, functions in order.

    ``attributes`` are those of every function: ``#0`` of kernels, ``#1`` of helpers, which are not inlined.
    """

    def __init__(self, attributes: str = "nounwind") -> None:
        self._attributes = (f"attributes #0 = {{ {attributes} }}", f"attributes #1 = {{ noinline {attributes} }}")
        self._declarations: dict[str, str] = {}
        self._globals: dict[str, str] = {}
        self._functions: dict[str, str] = {}

    def intrinsic(self, base: str, suffix: str, returns: str, arguments: tuple[str, ...]) -> str:
        """Declare intrinsic ``base`` for types ``suffix``, return its name; raises ``CodegenError`` off the list."""
        if base not in INTRINSICS:
            raise CodegenError(f"intrinsic {base} is not on the whitelist of darter.codegen.common.text")
        name = f"{base}.{suffix}"
        self._declarations.setdefault(name, f"declare {returns} @{name}({', '.join(arguments)})")
        return name

    def declare(self, name: str, text: str) -> None:
        """Declare the external function ``name`` by the line ``text``."""
        self._declarations.setdefault(name, text)

    def constant(self, name: str, text: str) -> str:
        """Define the private constant ``name`` (``text`` is its type and value) once; return its name."""
        self._globals.setdefault(name, f"@{name} = private unnamed_addr constant {text}")
        return name

    def helper(self, name: str, make: Callable[[], FunctionText]) -> str:
        """Return ``name`` of a helper function, made on first request."""
        if name not in self._functions:
            self._functions[name] = ""
            self._functions[name] = make().finish()
        return name

    def add(self, name: str, function: FunctionText) -> None:
        self._functions[name] = function.finish()

    def defines(self, name: str) -> bool:
        """Return whether the function ``name`` is defined here."""
        return name in self._functions

    def define(self, name: str, text: str) -> None:
        """Define the function ``name`` by its whole text."""
        self._functions[name] = text

    def define_global(self, name: str, text: str) -> None:
        """Define the global ``name`` by its whole line, once."""
        self._globals.setdefault(name, text)

    def finish(self) -> str:
        """Return the whole module."""
        parts = [*self._globals.values(), *self._declarations.values(), *self._functions.values(), *self._attributes]
        return "\n".join(parts) + "\n"


class FunctionText:
    """One function: SSA names, labels, instructions in order.

    ``preamble`` lines stand at the start of the entry block, whenever they are written, so that they dominate all else.
    ``label`` is the block being written; a ``reserve``d line is filled in later (a phi whose back edge is not known).
    ``location`` is what each instruction carries of its place in the source (", !dbg !7", or nothing); the preamble's
    carry none.
    """

    def __init__(self, module: ModuleText, header: str) -> None:
        self.module = module
        self.label = "entry"
        self.location = ""
        self._header = header
        self._preamble: list[str] = []
        self._preamble_values: dict[str, str] = {}
        self._lines: list[str] = []
        self._known: dict[str, str] = {}
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def fresh_label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def value(self, right: str) -> str:
        """Write ``%v = right`` and return ``%v``; what this block already computed is not computed again."""
        known = self._known.get(right)
        if known is not None:
            return known
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {right}{self.location}")
        if not right.startswith(_IMPURE):
            self._known[right] = name
        return name

    def line(self, text: str) -> None:
        self._lines.append(f"  {text}{self.location}")

    def preamble(self, right: str) -> str:
        """Return the name of ``right`` evaluated at the start of the function, once however often it is asked for."""
        name = self._preamble_values.get(right)
        if name is None:
            name = self._preamble_values[right] = self.name()
            self._preamble.append(f"  {name} = {right}")
        return name

    def stack(self, type: str, align_bytes: int) -> str:
        """Return the address of a new place on the stack for one ``type``."""
        name = self.name()
        self._preamble.append(f"  {name} = alloca {type}, align {align_bytes}")
        return name

    def define_preamble(self, name: str, right: str) -> None:
        """Define ``name`` at the start of the function."""
        self._preamble.append(f"  {name} = {right}")

    def begin(self, label: str) -> None:
        """Start block ``label``; the one before must be ended."""
        self._lines.append(f"{label}:")
        self._known.clear()
        self.label = label

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, condition: str, on_true: str, on_false: str) -> None:
        self.line(f"br i1 {condition}, label %{on_true}, label %{on_false}")

    def phi(self, type: str, *incoming: tuple[str, str]) -> str:
        """Write a phi of (value, label) pairs; it must stand first in its block."""
        return self.value(f"phi {type} " + ", ".join(f"[ {value}, %{label} ]" for value, label in incoming))

    def reserve(self) -> int:
        """Keep a line for :meth:`fill`."""
        self._lines.append("")
        return len(self._lines) - 1

    def fill(self, line: int, text: str) -> None:
        self._lines[line] = f"  {text}"

    def call(self, base: str, suffix: str, returns: str, *arguments: tuple[str, str]) -> str:
        """Call an intrinsic with (type, value) arguments; returns the result's name ("" for ``void``)."""
        name = self.module.intrinsic(base, suffix, returns, tuple(type for type, _ in arguments))
        return self.call_function(name, returns, *arguments)

    def call_function(self, name: str, returns: str, *arguments: tuple[str, str]) -> str:
        text = f"call {returns} @{name}({', '.join(f'{type} {value}' for type, value in arguments)})"
        if returns == "void":
            self.line(text)
            return ""
        return self.value(text)

    @contextmanager
    def counted(self, count: str, hint: str = "loop") -> Iterator[str]:
        """Write a loop of i64 ``count`` (≥ 1) turns around the block's body; yields the index's name."""
        head, done, before = self.fresh_label(hint), self.fresh_label("done"), self.label
        index, following = self.name(), self.name()
        self.jump(head)
        self.begin(head)
        slot = self.reserve()
        yield index
        self.line(f"{following} = add nuw nsw i64 {index}, 1")
        self.fill(slot, f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{self.label} ]")
        self.branch(self.value(f"icmp ult i64 {following}, {count}"), head, done)
        self.begin(done)

    def finish(self) -> str:
        return "\n".join([f"{self._header} {{", "entry:", *self._preamble, *self._lines, "}"])
