"""Places in the source that a launch can name: those of the launch program, then those of the kernels' messages."""

from __future__ import annotations

from darter.artifacts.artifact import Artifact
from darter.ir.encoding import decode
from darter.ir.places import Loc


def sites_of(artifact: Artifact) -> tuple[Loc, ...]:
    """Return the table that the site numbers of a call state's errors index.

    The program's sites come first, then one per message of each kernel, in order; native/program/call_state.cpp counts
    alike.
    """
    messages = [message for kernel in artifact.kernels for message in kernel.messages]
    return (
        *decode(artifact.program).sites,
        *(Loc(m.function, m.line, m.column, m.line, m.column) for m in messages),
    )
