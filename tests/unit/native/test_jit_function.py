"""The function types: what they are to Python, how they bind to objects, and what they forward."""

from __future__ import annotations

import functools
import gc
import inspect
import weakref
from typing import Any

import numpy as np
import pytest

from darter import _native
from darter.errors import NotCompiledError
from darter.signature.annotations import Constexpr, Tensor
from darter.signature.plan import ParamKind, ParamPlan, SignaturePlan
from tests.unit.native.noop import noop


def test_a_call_compiles_once_for_each_key() -> None:
    function = noop(lambda x, y: None)
    x = np.zeros((4, 8), np.float32)
    for _ in range(3):
        function(x, x)
    function(x, 1)
    function(x, 2)
    assert len(function.cold.misses) == 2
    assert function.memory_hits == 3
    assert [len(states) for _, states in function._states()] == [1, 1]


def test_a_failed_miss_leaves_nothing() -> None:
    function = noop(lambda x: None)

    def fail() -> None:
        raise KeyError("no compiler")

    function.cold.during_miss = fail
    for _ in range(2):
        with pytest.raises(KeyError, match="no compiler"):
            function(1)
    assert function._states() == []


def test_update_wrapper_and_introspection() -> None:
    def add(x: Tensor, n: int = 2) -> None:
        """Add."""

    function = noop(add)
    functools.update_wrapper(function, add)
    assert (function.__name__, function.__doc__, function.__module__) == ("add", "Add.", __name__)
    assert function.__wrapped__ is add
    assert list(inspect.signature(function).parameters) == ["x", "n"]
    assert "add" in repr(function)
    assert weakref.ref(function)() is function


def test_methods_are_forwarded_to_the_cold_object() -> None:
    function = noop(lambda x: None)
    function(1)
    assert function.warm(1, n=2) == ("warm", (1,), {"n": 2})
    assert function.explain(1) == ("explain", (1,), {})
    assert function.cache_info() == "info"
    assert function.accept_drift() == "accepted"
    assert function.clear() == "cleared"
    assert function._states() == []


class Scaled:
    factor: Constexpr[int]

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def _run(self, x: Any) -> None: ...

    run = noop(_run, owner=True)


class Doubled(Scaled):
    pass


def test_methods_bind_and_key_on_the_owner_class_and_its_constexprs() -> None:
    x = np.zeros(4, np.float32)
    before = len(Scaled.run.cold.misses)
    Scaled(1).run(x)
    Scaled(1).run(x)
    Scaled(2).run(x)
    Doubled(1).run(x)
    Scaled.run(Scaled(1), x)
    bound = Scaled(1).run
    bound(x)
    bound(*(x,))
    assert len(Scaled.run.cold.misses) - before == 3
    assert Scaled.run is Scaled.__dict__["run"]


def test_a_bound_function_puts_its_object_first() -> None:
    owner = Scaled(1)
    bound = owner.run
    assert bound.__self__ is owner
    assert bound.__func__ is Scaled.run
    assert bound == owner.run
    assert hash(bound) == hash(owner.run)
    assert bound != Scaled(1).run
    assert bound.warm(1) == ("warm", (owner, 1), {})
    assert bound.explain(1) == ("explain", (owner, 1), {})
    assert bound.cache_info() == "info"
    assert bound.with_options(fast=True).__self__ is owner


class CompiledCold:
    def mismatch(self, arguments: tuple[Any, ...], words: tuple[int, ...]) -> None:
        raise NotCompiledError("another key")


def test_a_compiled_function_takes_its_own_key_only() -> None:
    function = noop(lambda x, n=1: None)
    x = np.zeros(4, np.float32)
    compiled = function._compile(CompiledCold(), (x,), {"n": 3})
    assert len(function.cold.misses) == 1
    assert compiled.words == function._key_words(x, 3)
    assert compiled.state is function._prepare(x, 3)
    assert compiled.function is function
    compiled(x)
    compiled(n=7, x=np.zeros(9, np.float32))
    with pytest.raises(NotCompiledError, match="another key"):
        compiled(np.zeros(4, np.float64))
    assert len(function.cold.misses) == 1


def test_functions_in_cycles_are_collected() -> None:
    function = noop(lambda x, n=1: None)
    compiled = function._compile(CompiledCold(), (1,), {})
    function.itself = function
    compiled.itself = compiled
    gone = weakref.ref(function), weakref.ref(compiled)
    del function, compiled
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_miss_must_return_a_call_state() -> None:
    class Cold:
        def miss(self, arguments: tuple[Any, ...], words: tuple[int, ...], stream: int) -> int:
            return 3

    function = _native.JitFunction(
        lambda dispatcher, is_method: Cold(), SignaturePlan("f", (ParamPlan("x", ParamKind.ANY),))
    )
    with pytest.raises(TypeError, match="CallState"):
        function(1)


def test_verify_keys_passes_the_words_of_each_call() -> None:
    function = noop(lambda x: None)
    function.verify_keys = True
    function(1)
    function(1)
    assert function.verify_keys is True
    assert function.cold.verified == [function._key_words(1)] * 3


def test_the_cold_side_is_opened_at_the_first_use_and_told_of_methods() -> None:
    opened: list[tuple[_native.JitFunction, bool]] = []

    def open_cold(dispatcher: _native.JitFunction, is_method: bool) -> Any:
        opened.append((dispatcher, is_method))
        return noop(lambda x: None).cold

    plain = _native.JitFunction(open_cold)

    class Holder:
        method = _native.JitFunction(open_cold)

    assert opened == []
    plain.cache_info()
    plain.cache_info()
    Holder.method.cache_info()
    assert opened == [(plain, False), (Holder.method, True)]


def test_a_cold_side_that_cannot_be_opened_is_asked_again() -> None:
    answers = iter([ZeroDivisionError(), noop(lambda x: None).cold])

    def open_cold(dispatcher: _native.JitFunction, is_method: bool) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    function = _native.JitFunction(open_cold, SignaturePlan("f", (ParamPlan("x", ParamKind.ANY),)))
    with pytest.raises(ZeroDivisionError):
        function(1)
    function(1)
    assert function.memory_hits == 0
    function(1)
    assert function.memory_hits == 1
