"""The IR of a few launchers, word for word; ``python -m tests.golden.test_printed_ir`` writes it."""

from __future__ import annotations

import pathlib

import pytest

from darter.capture.recorder import Recorder
from darter.dtypes import Float32
from darter.frontend.trace import trace
from darter.ir.nodes import KernelOptions
from darter.ir.printer import print_module
from darter.signature.descriptor import ConstexprFacts, StreamFacts, TensorFacts
from darter.signature.planner import plan_signature
from tests.golden import programs
from tests.unit.frontend.harness import TARGET

_GOLDEN = pathlib.Path(__file__).with_name("printed_ir.txt")
_FACTS = TensorFacts(Float32, 1, 0, True, False, 1)
_LAUNCHERS = (programs.vector_add, programs.search, programs.sums)


def _printed(launcher):
    descriptors = dict.fromkeys(("x", "y", "out"), _FACTS)
    if launcher is programs.vector_add:
        descriptors |= {"BLOCK": ConstexprFacts(256), "stream": StreamFacts()}
    plan = plan_signature(launcher, False)
    module = trace(launcher, plan, descriptors, TARGET, KernelOptions(), Recorder(launcher))
    return print_module(module).rstrip() + "\n"


@pytest.mark.parametrize("launcher", _LAUNCHERS, ids=lambda launcher: launcher.__name__)
def test_printed_ir(launcher):
    parts = dict(part.split("\n", 1) for part in _GOLDEN.read_text().split("== ")[1:])
    assert _printed(launcher) == parts[launcher.__name__].rstrip() + "\n"


if __name__ == "__main__":
    _GOLDEN.write_text("\n".join(f"== {launcher.__name__}\n{_printed(launcher)}" for launcher in _LAUNCHERS))
