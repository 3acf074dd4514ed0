"""Code as a profiler is to see it: the line table of an artifact with the files of this machine."""

from __future__ import annotations

import os
import types

from darter.artifacts.artifact import Artifact
from darter.backends.line_table import with_places
from darter.frozen import replaced
from darter.ir.carets import place_of


def with_line_info(artifact: Artifact, function: types.FunctionType) -> Artifact:
    """Return a CUDA artifact with files and lines in its line table; ``function`` is the launcher that is loaded.

    The code in it is the same.  A function that is not to be found keeps its name, and lines counted from its ``def``.
    """
    if artifact.target.backend != "cuda" or not artifact.kernels:
        return artifact
    names = {name.ascii_name: name for name in artifact.functions}

    def place(table_name: str) -> tuple[str, int] | None:
        name = names.get(table_name)
        found = None if name is None else place_of(name, function)
        return None if found is None else (os.path.abspath(found[0]), found[1])

    return replaced(artifact, code=with_places(artifact.code, place))
