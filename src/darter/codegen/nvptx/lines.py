"""Source lines for profilers: a line table beside the code, made of functions' names and lines counted from ``def``.

It is metadata of the kind that only becomes ``.loc`` directives: the instructions are the same with and without it.  A
file of the table is a function, named as modules name it, and its ``def`` is line 1: so no path of this machine gets
into an artifact, and a function that moves in its file changes nothing.  ``backends.line_table`` puts the paths and
lines of this machine into it when the code is loaded.

Source: LLVM, "Source Level Debugging with LLVM" (DICompileUnit, DILexicalBlockFile); PTX ISA 8.7, ".loc", ".file".
"""

from __future__ import annotations

from collections.abc import Sequence

from darter.ir.places import FunctionName, Loc


class LineTable:
    """The debug metadata of one LLVM module.  Code of an inlined helper counts as the helper's own lines."""

    def __init__(self, functions: Sequence[FunctionName]) -> None:
        self._functions = functions
        self._nodes: list[str] = []
        self._known: dict[str, str] = {}
        self._files: dict[int, str] = {}
        self._unit = ""
        self._locations: dict[tuple[str, int, int], str] = {}

    def subprogram(self, symbol: str, function: int) -> str:
        """Return what a definition carries that is the kernel ``symbol``, of function ``function``; "" for none."""
        if not 0 <= function < len(self._functions):
            return ""
        if not self._unit:
            self._unit = self._node(
                f"distinct !DICompileUnit(language: DW_LANG_Python, file: {self._file(function)}, "
                'producer: "darter", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)'
            )
        file, signature = self._file(function), self._node("!DISubroutineType(types: !{})")
        return self._node(
            f'distinct !DISubprogram(name: "{symbol}", scope: {file}, file: {file}, line: 1, type: {signature}, '
            f"scopeLine: 1, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {self._unit})"
        )

    def location(self, subprogram: str, loc: Loc) -> str:
        """Return what an instruction carries that stands at ``loc``; "" where nothing is known.

        Without its column: assemblers put none into a cubin, and each would be a directive of its own to read.
        """
        if not subprogram or not 0 <= loc.function < len(self._functions):
            return ""
        place = (subprogram, loc.function, loc.line)
        found = self._locations.get(place)
        if found is None:
            found = self._locations[place] = f", !dbg {self._location(subprogram, loc)}"
        return found

    def _location(self, subprogram: str, loc: Loc) -> str:
        scope = self._node(
            f"!DILexicalBlockFile(scope: {subprogram}, file: {self._file(loc.function)}, discriminator: 0)"
        )
        return self._node(f"!DILocation(line: {loc.line + 1}, scope: {scope})")

    def finish(self) -> str:
        """Return the metadata as text; "" where no kernel asked for any."""
        if not self._unit:
            return ""
        version = len(self._nodes)
        return "\n".join(
            [
                f"!llvm.dbg.cu = !{{{self._unit}}}",
                f"!llvm.module.flags = !{{!{version}}}",
                *(f"!{number} = {node}" for number, node in enumerate(self._nodes)),
                f'!{version} = !{{i32 2, !"Debug Info Version", i32 3}}\n',
            ]
        )

    def _file(self, function: int) -> str:
        name = self._files.get(function)
        if name is None:
            text = f'!DIFile(filename: "{self._functions[function].ascii_name}", directory: "")'
            name = self._files[function] = self._node(text)
        return name

    def _node(self, text: str) -> str:
        name = self._known.get(text)
        if name is None:
            name = self._known[text] = f"!{len(self._nodes)}"
            self._nodes.append(text)
        return name
