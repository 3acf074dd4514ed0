"""Whether two code objects do the same, and whether they stand at the same place."""

from __future__ import annotations
import __future__

import functools
import types

FUTURE_FLAGS = functools.reduce(
    lambda flags, name: flags | int(getattr(__future__, name).compiler_flag), __future__.all_feature_names, 0
)
"""The compiler's flags that ``from __future__ import ...`` sets; code carries those that it was compiled under."""


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Tell whether two code objects do the same: everything but positions, file and qualified name."""
    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
        and (a.co_argcount, a.co_posonlyargcount, a.co_kwonlyargcount, a.co_flags)
        == (b.co_argcount, b.co_posonlyargcount, b.co_kwonlyargcount, b.co_flags)
        and _same_constants(a.co_consts, b.co_consts)
    )


def _same_constants(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    return len(a) == len(b) and all(map(_same_constant, a, b))


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return a.co_name == b.co_name and same_code(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _same_constants(a, b)
    # repr tells 0.0 from -0.0 and nan from nothing else; constants are plain values.
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else a == b


def same_place(a: types.CodeType, b: types.CodeType) -> bool:
    return (
        a.co_firstlineno == b.co_firstlineno
        and a.co_qualname == b.co_qualname
        and list(a.co_positions()) == list(b.co_positions())
    )
