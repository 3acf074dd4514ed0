"""Runs launchers through the front end, the verifier and the reference interpreter, for the tests of this folder."""

from __future__ import annotations

import operator
import struct
from typing import Any

import numpy as np

from darter.capture.recorder import Recorder
from darter.dtypes import Float32, Float64, Int32
from darter.frontend.trace import trace
from darter.ir import nodes as n
from darter.ir.interpreter import run_kernel
from darter.ir.verify import verify
from darter.lang.kernel_function import KernelFunction
from darter.signature.annotations import Tensor
from darter.signature.binder import bind
from darter.signature.describe import describe
from darter.signature.descriptor import ConstexprFacts, ObjectFacts, PointerFacts
from darter.signature.planner import plan_signature
from darter.target import Target

TARGET = Target("cpu", "x86-64", "", 32)
GPU = Target("cuda", "sm_90", "", 32)


class Raised(Exception):
    """A launcher's ``raise``: the exception's name and the message."""


def traced(
    function: Any,
    *arguments: Any,
    options: n.KernelOptions | None = None,
    owner: type | None = None,
    target: Target = TARGET,
) -> n.Module:
    """Return the verified module of a launcher for these arguments."""
    module, _ = _traced(function, arguments, options, owner, target)
    return module


def _traced(function: Any, arguments: Any, options: Any, owner: Any, target: Target) -> Any:
    plan = plan_signature(function, owner is not None)
    bound = bind(plan, arguments, {})
    described = describe(plan, bound)
    recorder = Recorder(function, owner)
    module = trace(function, plan, described.descriptors, target, options or n.KernelOptions(), recorder, owner)
    verify(module)
    return module, list(zip(bound, described.descriptors.values(), strict=True))


def run(
    function: Any,
    *arguments: Any,
    options: n.KernelOptions | None = None,
    owner: type | None = None,
    target: Target = TARGET,
) -> n.Module:
    """Trace a launcher, run its launches in the interpreter, and return the module."""
    module, bound = _traced(function, arguments, options, owner, target)
    words = [word for value, facts in bound for word in _slots(value, facts)]
    environment = dict(zip(module.parameters, words, strict=True))
    _run_block(module, module.body, environment)
    return module


def launcher(kernel: KernelFunction, block: Any = 32, grid: Any = 1, shared: int = 0) -> Any:
    """Return a launcher of three tensors at most that launches ``kernel`` once."""

    def launch(x, y=None, z=None):
        if z is not None:
            kernel(x, y, z).launch(grid=grid, block=block, shared=shared)
        elif y is not None:
            kernel(x, y).launch(grid=grid, block=block, shared=shared)
        else:
            kernel(x).launch(grid=grid, block=block, shared=shared)

    return launch


def asserting_launcher(kernel: KernelFunction) -> Any:
    """Return a launcher with an ``assert``; pytest would rewrite it in a test module."""

    def launch(x: Tensor, n: Int32):
        if x.shape[0] % n != 0:
            raise ValueError(f"{x.shape[0]} is no multiple of {n}")
        assert n < 8, "too many"
        kernel(x, x, 1, 1, 32).launch(grid=1, block=32)

    return launch


def _slots(value: Any, facts: Any = None) -> list[Any]:
    if isinstance(facts, (ConstexprFacts, ObjectFacts)):
        return []
    if isinstance(facts, PointerFacts):
        return [value.ctypes.data if isinstance(value, np.ndarray) else value]
    if isinstance(value, np.ndarray):
        strides = [s // value.itemsize for s in value.strides]
        return [value.ctypes.data, *value.shape, *strides]
    if isinstance(value, (bool, int, float)):
        return [value]
    if isinstance(value, np.generic):
        return [value.item()]
    if isinstance(value, tuple):
        return [slot for field in value for slot in _slots(field)]
    return []


_BINARY = {
    n.BinaryOp.ADD: operator.add,
    n.BinaryOp.SUB: operator.sub,
    n.BinaryOp.MUL: operator.mul,
    n.BinaryOp.FLOORDIV: operator.floordiv,
    n.BinaryOp.MOD: operator.mod,
    n.BinaryOp.AND: operator.and_,
    n.BinaryOp.OR: operator.or_,
    n.BinaryOp.MIN: min,
    n.BinaryOp.MAX: max,
    n.BinaryOp.DIV: operator.truediv,
}


def _run_block(module: n.Module, block: n.Block, env: dict[n.Value, Any]) -> tuple[Any, ...]:
    for node in block.nodes:
        match node:
            case n.Const():
                env[node.result] = node.value
            case n.Binary():
                env[node.result] = _BINARY[node.op](env[node.lhs], env[node.rhs])
            case n.Compare():
                env[node.result] = getattr(operator, node.op.value)(env[node.lhs], env[node.rhs])
            case n.Unary(op=n.UnaryOp.NOT):
                env[node.result] = not env[node.operand]
            case n.Cast():
                env[node.result] = (float if node.result.dtype.is_float else int)(env[node.operand])
            case n.Select():
                env[node.result] = env[node.on_true] if env[node.condition] else env[node.on_false]
            case n.If():
                yields = _run_block(module, node.then if env[node.condition] else node.orelse, env)
                env.update(zip(node.results, yields, strict=True))
            case n.Raise():
                text = "".join(p + str(v) for p, v in zip(node.pieces, [*map(env.get, node.operands), ""], strict=True))
                raise Raised(node.exception, text)
            case n.Launch():
                kernel = module.kernels[node.kernel]
                words = [_word(env[a], p) for a, p in zip(node.arguments, kernel.parameters, strict=True)]
                run_kernel(kernel, words, tuple(env[g] for g in node.grid), env[node.shared_bytes])
            case _:
                raise NotImplementedError(type(node).__name__)
    return tuple(env[value] for value in block.yields)


def _word(value: Any, parameter: n.Value) -> int:
    if parameter.type is Float32:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if parameter.type is Float64:
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    return int(value) & (2**64 - 1)
