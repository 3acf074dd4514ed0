"""Messages about mistakes in kernel code, word for word; ``python -m tests.golden.test_kernel_errors`` writes them."""

from __future__ import annotations

import pathlib
import re
import types

import numpy as np
import pytest

from darter.errors import CodegenError, CompileError
from darter.lang.kernel_function import KernelFunction
from tests.golden import mistakes
from tests.unit.frontend import harness

_GOLDEN = pathlib.Path(__file__).with_name("kernel_errors.txt")
_NO_MISTAKES = ("kernel", "endless", "fixed", "generated")


def _cases():
    for name, function in vars(mistakes).items():
        if name in _NO_MISTAKES:
            continue
        if isinstance(function, KernelFunction):
            yield name, harness.launcher(function)
        elif isinstance(function, types.FunctionType):
            yield name, function


def _message(name, function):
    x = np.zeros(8, np.int64 if name == "wrong_contract" else np.float32)
    with pytest.raises(CompileError) as caught:
        harness.traced(function, x)
    assert not isinstance(caught.value, CodegenError)
    lines = [line for line in str(caught.value).splitlines() if "harness.py" not in line]
    text = re.sub(r"\S*/(mistakes\.py)", r"\1", "\n".join(lines))
    return f"== {name}: {type(caught.value).__name__}\n{text}\n"


def _golden():
    return {part.split(":")[0]: "== " + part for part in _GOLDEN.read_text().split("== ")[1:]}


@pytest.mark.parametrize(("name", "function"), list(_cases()))
def test_message(name, function):
    assert _message(name, function) == _golden()[name]


def test_the_golden_file_has_no_other_cases():
    assert set(_golden()) == {name for name, _ in _cases()}


if __name__ == "__main__":
    _GOLDEN.write_text("".join(_message(name, function) for name, function in _cases()))
