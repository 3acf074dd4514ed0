"""What the annotations of a launcher or kernel demand, as one value: contracts are compiled in.

An annotation names objects (``dt.Tensor[N]``, ``n: INDEX``) that the source text does not tell.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from darter.capture.fingerprint import ABSENT
from darter.signature.plan import ParamPlan, SignaturePlan
from darter.signature.planner import plan_signature


def parameters_value(function: types.FunctionType, is_method: int) -> tuple[Any, ...]:
    """Return what each parameter demands, as nested tuples; defaults are read on their own.

    Raises ``SignatureError`` for annotations that mean nothing (any more).
    """
    return demanded(plan_signature(function, bool(is_method)))


def demanded(plan: SignaturePlan) -> tuple[Any, ...]:
    """Return what each parameter of a plan demands, as nested tuples."""
    return tuple(map(_told, plan.parameters))


def _told(plan: ParamPlan) -> tuple[Any, ...]:
    return (
        plan.name,
        plan.kind.name,
        plan.positional_only,
        plan.keyword_only,
        plan.optional,
        None if plan.dtype is None else plan.dtype.name,
        plan.dims,
        plan.constexpr_type,
        plan.cls,
        tuple(map(_told, plan.fields)),
    )


def annotation_reads(function: types.FunctionType) -> list[tuple[dict[str, Any], str, object]]:
    """Return the dict entries that the annotations rest on: themselves, and the globals that quoted ones name."""
    held = function.__annotations__
    reads: list[tuple[dict[str, Any], str, object]] = []
    for name, annotation in held.items():
        reads.append((held, name, annotation))
        if isinstance(annotation, str):
            for global_name in sorted(_names(annotation)):
                found = function.__globals__.get(global_name, ABSENT)
                reads.append((function.__globals__, global_name, found))
    return reads


def _names(annotation: str) -> set[str]:
    try:
        tree = ast.parse(annotation, mode="eval")
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
