"""The stages behind a miss as a launcher sees them, for type checkers; ``pipeline`` wires the stages themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from types import FunctionType

    from darter.launch.request import BuildRequest, Built


class Builder(Protocol):
    """The stages behind a miss."""

    def build(self, request: BuildRequest, stream: int) -> Built:
        """Return a ready launch, from memory, from disk or from the front end.

        ``stream`` is the handle of the stream that it will run on; raises ``StreamCaptureError`` if that is captured.
        """

    def key(self, request: BuildRequest) -> str:
        """Return the primary key in hexadecimal."""

    def found(self, request: BuildRequest) -> Literal["memory", "disk"] | None:
        """Return where :meth:`build` would find the request built; loads, compiles and counts nothing."""

    def forget(self, function: FunctionType) -> None:
        """Drop what this process keeps of the function's builds; entries on disk stay."""
