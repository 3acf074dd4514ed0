"""The readable reference of argument binding: what ``inspect.Signature.bind`` and ``apply_defaults`` do, for a plan.

The native module binds the same way and leaves the wording of failures to :func:`bind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from darter.errors import ArgumentTypeError
from darter.signature.plan import MISSING, ParamPlan, SignaturePlan


def bind(plan: SignaturePlan, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return one value per parameter, in signature order, defaults filled in.

    Raises ``ArgumentTypeError``, a ``TypeError``, where Python would refuse the call.
    """
    positional = [parameter for parameter in plan.parameters if not parameter.keyword_only]
    if len(args) > len(positional):
        raise _too_many(plan, positional, len(args))
    bound: dict[str, Any] = {parameter.name: value for parameter, value in zip(positional, args, strict=False)}
    by_keyword = {parameter.name for parameter in plan.parameters if not parameter.positional_only}
    for name, value in kwargs.items():
        if name not in by_keyword:
            raise _unknown(plan, name)
        if name in bound:
            raise ArgumentTypeError(
                f"{plan.name}() got multiple values for argument '{name}': by position and by keyword."
            )
        bound[name] = value
    missing = [
        parameter.name for parameter in plan.parameters if parameter.name not in bound and parameter.default is MISSING
    ]
    if missing:
        raise ArgumentTypeError(f"{plan.name}() is missing {_listed(missing)}. Its parameters: {_signature(plan)}.")
    return tuple(bound.get(parameter.name, parameter.default) for parameter in plan.parameters)


def _too_many(plan: SignaturePlan, positional: Sequence[ParamPlan], given: int) -> ArgumentTypeError:
    least = sum(1 for parameter in positional if parameter.default is MISSING)
    count = f"{len(positional)}" if least == len(positional) else f"{least} to {len(positional)}"
    return ArgumentTypeError(
        f"{plan.name}() takes {count} positional arguments and was given {given}. Its parameters: {_signature(plan)}."
    )


def _unknown(plan: SignaturePlan, name: str) -> ArgumentTypeError:
    if any(parameter.name == name for parameter in plan.parameters):
        return ArgumentTypeError(
            f"{plan.name}(): argument '{name}' is positional-only and was passed by keyword; pass it by position."
        )
    return ArgumentTypeError(
        f"{plan.name}() got an unexpected keyword argument '{name}'. Its parameters: {_signature(plan)}."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"argument '{name}'" for name in names)


def _signature(plan: SignaturePlan) -> str:
    """Return the parameters as Python writes them, with ``/``, ``*`` and ``=...`` for those that have a default."""
    shown: list[str] = []
    parameters = plan.parameters
    for index, parameter in enumerate(parameters):
        if parameter.keyword_only and (index == 0 or not parameters[index - 1].keyword_only):
            shown.append("*")
        shown.append(parameter.name if parameter.default is MISSING else f"{parameter.name}=...")
        last_positional_only = index + 1 == len(parameters) or not parameters[index + 1].positional_only
        if parameter.positional_only and last_positional_only:
            shown.append("/")
    return f"({', '.join(shown)})"
