"""The parameter plan: what each parameter of a launcher or kernel is, made once at first use."""

from __future__ import annotations

import enum
from typing import Any, Final

from darter.dtypes import ScalarType
from darter.frozen import Frozen


class ParamKind(enum.IntEnum):
    """What a parameter accepts; the numbers stand again in native/signature/plan.hpp.

    ``ANY`` is an unannotated parameter: the kind of its argument is found at each call.
    """

    ANY = 0
    TENSOR = 1
    POINTER = 2
    SCALAR = 3
    CONSTEXPR = 4
    TYPE = 5
    STREAM = 6
    STRUCT = 7
    SELF = 8
    JIT_ARGUMENT = 9


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""Stands for "no default", since None is a default."""


class ParamPlan(Frozen):
    """One parameter.

    ``dtype`` is demanded of a tensor, a pointer or a scalar (None: any).  ``dims`` is the contract of a tensor: None
    for any rank, else per axis an int (fixed extent), a name (must agree across arguments) or None (free).
    ``constexpr_type`` is the exact type demanded of a constexpr.  ``optional`` admits None.  ``cls`` is the class of
    a struct, a ``JitArgument`` or an object with Constexpr fields (None for ``self``), and what a type argument derives
    from; ``fields`` are the parameters of a struct or ``JitArgument`` in order.
    """

    name: str
    kind: ParamKind
    default: Any = MISSING
    positional_only: bool = False
    keyword_only: bool = False
    optional: bool = False
    dtype: ScalarType | None = None
    dims: tuple[int | str | None, ...] | None = None
    constexpr_type: type | None = None
    cls: type | None = None
    fields: tuple[ParamPlan, ...] = ()


class SignaturePlan(Frozen):
    """All parameters in order; ``name`` is the function's qualified name, for messages."""

    name: str
    parameters: tuple[ParamPlan, ...]
