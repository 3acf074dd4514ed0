"""Kernels: one per function, facts of its arguments, static values, block and options; equal ones are shared."""

from __future__ import annotations

import dataclasses
import enum
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from darter.dtypes import ScalarType
from darter.errors import CompileError
from darter.frontend.finish import finish
from darter.frontend.frame import Frame, local_names
from darter.frontend.layouts import with_fixed_extents
from darter.frontend.numbers.literals import Site
from darter.frontend.parameters import parameter_value
from darter.frontend.tracer import Tracer
from darter.frontend.values import KernelCall
from darter.frozen import Frozen, values_of
from darter.ir.nodes import Kernel, KernelOptions, Value
from darter.signature.descriptor import Descriptor
from darter.signature.plan import SignaturePlan
from darter.source.function_source import source_of

_MOST_TRACES = 4
_ORDER = {"pointer": 0, "extent": 1, "stride": 2, "scalar": 3}


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """A traced kernel: its index, what each of its parameters is, and the parameters whose memory it writes."""

    index: int
    slots: tuple[tuple[Any, ...], ...]
    written: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Traced:
    """One trace of a kernel: its tracer, the values that its code uses, or why it was refused."""

    tracer: Tracer
    used: set[Value]
    error: CompileError | None = None


def built_kernel(
    t: Tracer, call: KernelCall, plan: SignaturePlan, facts: tuple[Descriptor, ...], block: tuple[int, int, int]
) -> BuiltKernel:
    """Return the kernel for these facts, traced at the first time."""
    options = _options(t, call)
    key = (id(call.kernel.__wrapped__), tuple(map(_tagged, facts)), block, options)
    built = t.session.kernel_keys.get(key)
    if built is None:
        built = t.session.kernel_keys[key] = _trace(t, call, plan, facts, block, options)
        # The key has identities of values that the launcher may have made for this one launch.
        t.session.captured[id(facts)] = facts
    result: BuiltKernel = built
    return result


def _options(t: Tracer, call: KernelCall) -> KernelOptions:
    own, launcher = call.kernel.options, t.session.options
    options: KernelOptions = dataclasses.replace(
        own,
        fast_math=own.fast_math or launcher.fast_math,
        bounds_check=own.bounds_check or launcher.bounds_check,
        min_blocks_per_multiprocessor=own.min_blocks_per_multiprocessor or launcher.min_blocks_per_multiprocessor,
        max_registers=own.max_registers or launcher.max_registers,
    )
    return options


def _tagged(value: Any) -> Any:
    """Return a key of a descriptor or static value that tells 1, True and 1.0 apart."""
    if isinstance(value, Frozen):
        return (type(value), *map(_tagged, values_of(value)))
    if isinstance(value, float):
        return (type(value), struct.pack("<d", value))
    if isinstance(value, tuple):
        return (type(value), *map(_tagged, value))
    if isinstance(value, complex):
        return (type(value), struct.pack("<dd", value.real, value.imag))
    if isinstance(value, frozenset):
        return (type(value), frozenset(map(_tagged, value)))
    if value is None or isinstance(value, (bool, int, str, bytes, enum.Enum)):
        return (type(value), value)
    if isinstance(value, (type, ScalarType)):
        return value
    if dataclasses.is_dataclass(value):
        return (type(value), *(_tagged(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return (type(value), id(value))


def _trace(
    t: Tracer,
    call: KernelCall,
    plan: SignaturePlan,
    facts: tuple[Descriptor, ...],
    block: tuple[int, int, int],
    options: KernelOptions,
) -> BuiltKernel:
    traced = _settled(lambda known: _body(t, call, plan, facts, block, options, known))
    k, used = traced.tracer, traced.used
    slots = sorted((key for key, value in k.slots.items() if value in used), key=lambda s: (s[0], _ORDER[s[1]], s[2]))
    parameters = tuple(k.slots[key] for key in slots)
    kernels = t.session.kernels
    name = _unique(call.kernel.__wrapped__.__name__, {kernel.name for kernel in kernels})
    index = t.session.index_of(call.kernel.__wrapped__)
    kernels.append(Kernel(name, parameters, k.body, block, t.session.target.warp_size, options, index))
    return BuiltKernel(len(kernels) - 1, tuple(slots), frozenset(k.written))


def _settled(trace: Callable[[dict[Site, ScalarType]], _Traced]) -> _Traced:
    """Return the trace in which Python numbers have the types that they meet, even late; see ``numbers.literals``.

    A trace that was told more types than the one before and fails is forgotten: types are found for the better only.
    """
    best = trace({})
    known: dict[Site, ScalarType] = {}
    for _ in range(_MOST_TRACES):
        found = best.tracer.literals.found(failed=best.error is not None)
        if not found:
            break
        known |= found
        again = trace(known)
        if again.error is not None:
            break
        best = again
    if best.error is not None:
        raise best.error
    return best


def _body(
    t: Tracer,
    call: KernelCall,
    plan: SignaturePlan,
    facts: tuple[Descriptor, ...],
    block: tuple[int, int, int],
    options: KernelOptions,
    known: dict[Site, ScalarType],
) -> _Traced:
    """Trace the kernel once, with what is known of the types of its Python numbers."""
    function = call.kernel.__wrapped__
    source = source_of(function)
    node: Any = source.node
    k = t.fresh(known)
    k.block, k.bounds_check = block, options.bounds_check
    frame = Frame(function, source, node, t.session.index_of(function), local_names(node), None, (t.frame, t.at))
    k.frame, k.at = frame, node
    try:
        for index, (parameter, descriptor) in enumerate(zip(plan.parameters, facts, strict=True)):
            fixed = with_fixed_extents(descriptor, parameter.dims)
            frame.locals[parameter.name] = parameter_value(k, parameter.name, fixed, (index,))
        k.execute(tuple(node.body))
    except CompileError as error:
        return _Traced(k, set(), error)
    k.body.nodes[:0] = k.prologue
    return _Traced(k, finish(k.body, k.replaced))


def _unique(name: str, taken: set[str]) -> str:
    """Return a symbol for a kernel: its name in ASCII, numbered where another has it."""
    base = name if name.isascii() and name.isidentifier() else "kernel"
    candidate, count = base, 1
    while candidate in taken:
        candidate, count = f"{base}_{count}", count + 1
    return candidate
