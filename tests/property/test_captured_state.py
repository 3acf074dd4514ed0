"""Random changes of captured state: guards hold exactly as long as a plain read gives what was compiled in."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from darter.capture.record import CaptureRecord
from darter.capture.resolve import resolve
from tests.property.captured_program import ENVIRONMENT_NAME, Compiled, load, observe, toy_compile

IS_FUZZ = os.environ.get("DARTER_HYPOTHESIS_PROFILE") == "fuzz"
STEPS = int(os.environ.get("DARTER_FUZZ", "0")) or (10_000 if IS_FUZZ else 500)
STEPS_PER_RUN = 50
MAX_STATES = 3

_numbers = itertools.count()

VALUES = st.sampled_from(
    [
        *(0, 1, 3, True, 1.0, 3.0, -0.0, 0.0, float("nan"), None, "3", b"3", (1, 2), (1, (2.0,)), 2**70),
        *(np.int64(1), np.int32(1), np.float32(1), frozenset({1, 2}), frozenset({2, 1})),
    ]
)
SCOPED_NAMES = st.sampled_from(["NUMBER", "min", "CONFIG", "ITEMS", "UNRELATED", "MIXED", "POINT", "FROZEN"])


class CapturedState(RuleBasedStateMachine):
    """Every rule changes something; after each, every compiled state is held against the oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.program = load(f"captured_program_{next(_numbers)}")
        self.states: list[Compiled] = []
        self.initial = dict(vars(self.program.module))
        self.code = {name: vars(self.program.module)[name].__code__ for name in ("helper", "other_helper")}

    def teardown(self) -> None:
        self.states.clear()
        self.program.unload()

    @property
    def module(self) -> Any:
        return self.program.module

    @initialize()
    def compile(self) -> None:
        self.states.append(toy_compile(self.program))

    @invariant()
    def guards_tell_the_truth(self) -> None:
        now = observe(self.program)
        for state in self.states:
            same = state.values == now
            changed = {name: (state.values[name], now[name]) for name in now if state.values[name] != now[name]}
            assert state.guards.holds() == same, changed or [str(drift) for drift in state.guards.differences()]
            assert state.guards.holds() == same  # the quick answer is the same
            assert bool(state.guards.differences()) != same
        if not any(state.values == now for state in self.states):
            del self.states[: -MAX_STATES + 1]
            compiled = toy_compile(self.program)
            assert compiled.values == now, {name: (compiled.values[name], now[name]) for name in now}
            assert CaptureRecord.from_bytes(compiled.record.to_bytes()) == compiled.record
            assert resolve(compiled.record, self.program.kernel) == ()
            self.states.append(compiled)

    # -- names --------------------------------------------------------------------------------------------------------

    @rule(name=SCOPED_NAMES, value=VALUES)
    def bind(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)

    @rule(name=SCOPED_NAMES)
    def unbind(self, name: str) -> None:
        vars(self.module).pop(name, None)

    @rule(name=SCOPED_NAMES)
    def restore(self, name: str) -> None:
        if name in self.initial:
            setattr(self.module, name, self.initial[name])
        else:
            vars(self.module).pop(name, None)

    @rule()
    def reload(self) -> None:
        self.program.reload()

    @rule(position=st.integers(0, 1), value=VALUES)
    def fill_cell(self, position: int, value: Any) -> None:
        self.program.kernel.__closure__[position].cell_contents = value

    @rule(position=st.integers(0, 1))
    def empty_cell(self, position: int) -> None:
        with contextlib.suppress(ValueError):
            del self.program.kernel.__closure__[position].cell_contents

    @rule(
        value=st.sampled_from([None, "", "1", "2"]), name=st.sampled_from([ENVIRONMENT_NAME, "DARTER_TEST_UNRELATED"])
    )
    def set_environment(self, name: str, value: str | None) -> None:
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value

    # -- containers ---------------------------------------------------------------------------------------------------

    def _config(self) -> dict[Any, Any]:
        if not isinstance(vars(self.module).get("CONFIG"), dict):
            self.module.CONFIG = self.initial["CONFIG"]
        return self.module.CONFIG

    @rule(key=st.sampled_from(["block", 5, 5.0, "extra", "unrelated", 7]), value=VALUES)
    def store_key(self, key: Any, value: Any) -> None:
        self._config()[key] = value

    @rule(key=st.sampled_from(["block", 5, "extra", "nested"]))
    def drop_key(self, key: Any) -> None:
        self._config().pop(key, None)

    @rule(value=st.sampled_from([{"deep": [1, 2, (3, 4)]}, {"deep": (1, 2, (3, 4))}, {"deep": [1]}, {}, 3]))
    def store_nested(self, value: Any) -> None:
        self._config()["nested"] = dict(value) if isinstance(value, dict) else value

    @rule(value=VALUES)
    def append_deep(self, value: Any) -> None:
        nested = self._config().get("nested")
        if isinstance(nested, dict) and isinstance(nested.get("deep"), list) and len(nested["deep"]) < 6:
            nested["deep"].append(value)

    @rule()
    def pop_deep(self) -> None:
        nested = self._config().get("nested")
        if isinstance(nested, dict) and isinstance(nested.get("deep"), list) and nested["deep"]:
            nested["deep"].pop()

    @rule()
    def replace_config_by_an_equal_one(self) -> None:
        self.module.CONFIG = dict(self._config())

    @rule()
    def refill_config(self) -> None:
        config = self._config()
        kept = dict(config)
        config.clear()
        config.update(kept)

    @rule()
    def clear_ordered(self) -> None:
        self.module.ORDERED.clear()

    @rule(pairs=st.permutations(["a", "b"]), value=st.sampled_from([1, 2, True]))
    def refill_ordered(self, pairs: list[str], value: Any) -> None:
        self.module.ORDERED.clear()
        self.module.ORDERED.update(dict.fromkeys(pairs, value))

    def _items(self) -> list[Any]:
        if not isinstance(vars(self.module).get("ITEMS"), list):
            self.module.ITEMS = self.initial["ITEMS"]
        return self.module.ITEMS

    @rule(value=VALUES, position=st.integers(0, 1))
    def set_item(self, position: int, value: Any) -> None:
        items = self._items()
        if len(items) > position:
            items[position] = value

    @rule()
    def rotate_items(self) -> None:
        items = self._items()
        if items:
            items.insert(0, items.pop())

    @rule(content=st.sampled_from([[1, 2.0, [3]], [1, [3]], [1.0, 2.0, [3]], []]))
    def refill_items(self, content: list[Any]) -> None:
        self._items()[:] = [list(item) if isinstance(item, list) else item for item in content]

    @rule(value=VALUES, where=st.sampled_from(["MIXED", "POINT"]))
    def change_inside_tuple(self, where: str, value: Any) -> None:
        held = vars(self.module).get(where)
        if isinstance(held, tuple) and isinstance(held[1], list) and held[1]:
            held[1][0] = value

    # -- classes and instances ----------------------------------------------------------------------------------------

    @rule(cls=st.sampled_from(["Base", "Derived"]), name=st.sampled_from(["scale", "width", "unrelated"]), value=VALUES)
    def set_class_attribute(self, cls: str, name: str, value: Any) -> None:
        setattr(getattr(self.module, cls), name, value)

    @rule(
        cls=st.sampled_from(["Base", "Derived"]), name=st.sampled_from(["scale", "width", "fixed", "doubled", "area"])
    )
    def delete_class_attribute(self, cls: str, name: str) -> None:
        if name in vars(getattr(self.module, cls)):
            delattr(getattr(self.module, cls), name)

    @rule(cls=st.sampled_from(["Base", "Derived"]), name=st.sampled_from(["area", "doubled", "fixed"]))
    def restore_class_attribute(self, cls: str, name: str) -> None:
        source = self.initial["Base"] if name in vars(self.initial["Base"]) else None
        if source is not None:
            setattr(getattr(self.module, cls), name, vars(source)[name])

    @rule(cls=st.sampled_from(["Base", "Derived"]), name=st.sampled_from(["other_helper", "helper"]))
    def override_method(self, cls: str, name: str) -> None:
        getattr(self.module, cls).area = self.initial[name]

    @rule(to=st.sampled_from(["Derived", "Other"]))
    def change_class_of_instance(self, to: str) -> None:
        self.module.THING.__class__ = getattr(self.module, to)

    @rule(swap=st.booleans())
    def change_bases(self, swap: bool) -> None:
        module = self.module
        through_other = swap and module.Other.__bases__ == (module.Base,)
        module.Derived.__bases__ = (module.Other,) if through_other else (module.Base,)

    @rule(name=st.sampled_from(["width", "scale", "area", "unrelated"]), value=VALUES)
    def set_instance_attribute(self, name: str, value: Any) -> None:
        setattr(self.module.THING, name, value)

    @rule(name=st.sampled_from(["width", "scale", "area"]))
    def delete_instance_attribute(self, name: str) -> None:
        vars(self.module.THING).pop(name, None)

    @rule(value=VALUES)
    def set_slot(self, value: Any) -> None:
        self.module.SLOTTED.value = value

    @rule()
    def delete_slot(self) -> None:
        if hasattr(self.module.SLOTTED, "value"):
            del self.module.SLOTTED.value

    @rule(value=st.sampled_from([4, 5, True]))
    def force_frozen(self, value: Any) -> None:
        if type(vars(self.module).get("FROZEN")).__name__ == "Frozen":
            object.__setattr__(self.module.FROZEN, "width", value)

    # -- functions ----------------------------------------------------------------------------------------------------

    @rule(code=st.sampled_from(["helper", "other_helper"]))
    def replace_code(self, code: str) -> None:
        self.module.helper.__code__ = self.code[code]

    @rule(defaults=st.sampled_from([(2,), (3,), (2.0,), None]))
    def replace_defaults(self, defaults: Any) -> None:
        self.module.helper.__defaults__ = defaults

    @rule(defaults=st.sampled_from([{"c": 3}, {"c": 4}, {}, None]))
    def replace_kwdefaults(self, defaults: Any) -> None:
        self.module.helper.__kwdefaults__ = None if defaults is None else dict(defaults)

    @rule(value=VALUES)
    def change_kwdefault(self, value: Any) -> None:
        if self.module.helper.__kwdefaults__ is not None:
            self.module.helper.__kwdefaults__["c"] = value

    @rule(name=st.sampled_from(["helper", "other_helper"]))
    def rebind_helper(self, name: str) -> None:
        self.module.helper = self.initial[name]

    @rule(names=st.sampled_from([["helper", "other_helper"], ["other_helper", "helper"], ["helper"]]))
    def change_function_list(self, names: list[str]) -> None:
        self.module.HELPERS[:] = [self.initial[name] for name in names]

    @rule(value=VALUES)
    def change_partial_keyword(self, value: Any) -> None:
        self.module.PARTIAL.keywords["c"] = value

    @rule(name=st.sampled_from(["helper", "other_helper"]), argument=st.sampled_from([1, True]))
    def change_partial(self, name: str, argument: Any) -> None:
        function = self.initial[name]
        assert isinstance(function, types.FunctionType)
        self.module.PARTIAL.__setstate__((function, (argument,), {"c": 5}, None))

    # -- nothing that counts ------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(["u1", "u2", "u3"]), value=st.integers())
    def store_something_else(self, name: str, value: int) -> None:
        setattr(self.module, name, value)

    @rule()
    def collect_garbage(self) -> None:
        gc.collect()


@pytest.mark.parametrize("part", range(max(1, STEPS // 500)))
def test_guards_hold_exactly_while_captured_state_is_unchanged(part: int) -> None:
    """10 runs of 50 random changes each; ``DARTER_FUZZ=10000`` runs 10,000 changes."""
    run_state_machine_as_test(
        CapturedState,
        settings=settings(
            max_examples=500 // STEPS_PER_RUN,
            stateful_step_count=STEPS_PER_RUN,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=STEPS == 500,
            report_multiple_bugs=False,
            phases=[Phase.explicit, Phase.generate],  # shrinking a run of 50 steps takes minutes
        ),
    )
