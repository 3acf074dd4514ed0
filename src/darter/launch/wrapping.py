"""What a launcher shows of the function that it was made of."""

from __future__ import annotations

import functools
import types

from darter._native import JitFunction
from darter.launch.options import JitOptions


def wrap(made: JitFunction, function: types.FunctionType, options: JitOptions) -> JitFunction:
    """Give ``made`` the function's name, documentation and attributes, ``__wrapped__`` and the options; return it."""
    functools.update_wrapper(made, function, updated=())
    # A function that wraps another one names that as its own __wrapped__; the launcher's is the function itself.
    vars(made).update({name: value for name, value in vars(function).items() if name != "__wrapped__"})
    vars(made)["options"] = options.kernel
    return made
