"""Both binders bind what ``inspect.Signature.bind`` binds, and refuse what it refuses."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from darter._native import JitFunction
from darter.errors import ArgumentTypeError
from darter.signature.binder import bind
from darter.signature.planner import plan_signature

NAMES = ("a", "b", "c", "d", "e", "f")

KIND_ORDER = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


@st.composite
def functions(draw: st.DrawFn) -> Callable[..., Any]:
    """A function with up to six parameters of every kind, with and without defaults."""
    names = NAMES[: draw(st.integers(0, len(NAMES)))]
    kinds = sorted(draw(st.lists(st.sampled_from(KIND_ORDER), min_size=len(names), max_size=len(names))))
    positional = sum(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds)
    first_default = draw(st.integers(0, positional))
    parts: list[str] = []
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if kind is inspect.Parameter.KEYWORD_ONLY:
            if index == positional:
                parts.append("*")
            has_default = draw(st.booleans())
        else:
            has_default = index >= first_default
        parts.append(f"{name}={index + 100}" if has_default else name)
        if kind is inspect.Parameter.POSITIONAL_ONLY and (index + 1 == len(names) or kinds[index + 1] is not kind):
            parts.append("/")
    scope: dict[str, Any] = {}
    exec(f"def function({', '.join(parts)}): ...", scope)
    made = scope["function"]
    assert isinstance(made, types.FunctionType)
    return made


@given(
    function=functions(),
    args=st.lists(st.integers(0, 9), max_size=7).map(tuple),
    kwargs=st.dictionaries(st.sampled_from((*NAMES, "unknown")), st.integers(10, 19)),
)
def test_binder_is_inspects(function: Callable[..., Any], args: tuple[int, ...], kwargs: dict[str, int]) -> None:
    plan = plan_signature(function, owner=False)
    native = JitFunction(lambda dispatcher, is_method: None, plan)
    try:
        expected = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        for _ in range(2):
            with pytest.raises(ArgumentTypeError, match=r"function\(\)"):
                bind(plan, args, kwargs)
            with pytest.raises(ArgumentTypeError, match=r"function\(\)"):
                native._bind(*args, **kwargs)
        return
    expected.apply_defaults()
    assert bind(plan, args, kwargs) == tuple(expected.arguments.values())
    for _ in range(2):
        assert native._bind(*args, **kwargs) == tuple(expected.arguments.values())
    assert tuple(expected.arguments) == tuple(parameter.name for parameter in plan.parameters)


@given(function=functions(), data=st.data())
def test_every_good_call_is_bound(function: Callable[..., Any], data: st.DataObject) -> None:
    """Calls that are good by construction, which random ones rarely are."""
    args: list[int] = []
    kwargs: dict[str, int] = {}
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        has_default = parameter.default is not inspect.Parameter.empty
        may_be_positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY and len(args) == index
        if has_default and data.draw(st.booleans()):
            continue
        if may_be_positional and (parameter.kind is inspect.Parameter.POSITIONAL_ONLY or data.draw(st.booleans())):
            args.append(index)
        elif parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            kwargs[parameter.name] = index
        elif not has_default:
            return
    expected = inspect.signature(function).bind(*args, **kwargs)
    expected.apply_defaults()
    shuffled = dict(data.draw(st.permutations(list(kwargs.items()))))
    plan = plan_signature(function, owner=False)
    assert bind(plan, args, shuffled) == tuple(expected.arguments.values())
    assert JitFunction(lambda dispatcher, is_method: None, plan)._bind(*args, **shuffled) == tuple(
        expected.arguments.values()
    )
