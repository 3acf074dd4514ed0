"""Where code stands, without a path: an artifact names functions, and who calls one knows its file."""

from __future__ import annotations

from darter.frozen import Frozen


class Loc(Frozen):
    """Where code stands: index into the module's function table, line relative to ``def``, columns (UTF-8 bytes)."""

    function: int
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Loc(-1, 0, 0, 0, 0)


class FunctionName(Frozen):
    """Row of the module's function table: what a :class:`Loc` refers to."""

    qualname: str
    module: str

    @property
    def ascii_name(self) -> str:
        """The whole name as line tables have it: plain ASCII, no quote, no backslash."""
        name = f"{self.module}.{self.qualname}"
        return "".join(ch if " " <= ch <= "~" and ch not in '"\\' else "?" for ch in name)
