"""The entry of the front end: a launcher and its descriptors become a module of typed IR."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from darter.dtypes import ScalarType
from darter.errors import CodegenError, DarterError, UnsupportedSyntaxError
from darter.frontend import attributes
from darter.frontend.calls import functions as calls
from darter.frontend.diagnostics import place
from darter.frontend.expressions import evaluate
from darter.frontend.finish import finish
from darter.frontend.frame import Frame, local_names
from darter.frontend.interpreter import execute
from darter.frontend.launches.launcher import launch
from darter.frontend.layouts import with_fixed_extents
from darter.frontend.numbers.literals import Literals, Site
from darter.frontend.parameters import parameter_value, slot_values
from darter.frontend.tensors import raw_extent
from darter.frontend.tracer import Recorder, Session, Tracer
from darter.frontend.values import TensorValue
from darter.ir.nodes import KernelOptions, Module, Value
from darter.signature.descriptor import Descriptor
from darter.signature.plan import ParamKind, SignaturePlan
from darter.source.function_source import source_of
from darter.target import Target


def trace(
    function: types.FunctionType,
    plan: SignaturePlan,
    descriptors: Mapping[str, Descriptor],
    target: Target,
    options: KernelOptions,
    recorder: Recorder,
    owner_class: type | None = None,
) -> Module:
    """Return the module of a launcher: its body over its argument slots, and every kernel that it may launch.

    ``descriptors`` holds one descriptor per parameter of ``plan``; ``options`` are the launcher's options, which
    ``bounds_check`` and ``fast_math`` pass on to every kernel.  ``owner_class`` is the class that a method is bound to.

    Raises:
        CompileError: the code cannot be compiled; the message says where and why.
        CodegenError: the front end itself failed, which is a defect of darter.
    """
    session = Session(recorder, target, options)
    t = wired(Tracer(session, host=True))
    try:
        return _trace(t, function, plan, descriptors)
    except DarterError:
        raise
    except RecursionError as error:
        raise t.error(UnsupportedSyntaxError, "the code nests too deep for Python's recursion limit") from error
    except Exception as error:
        raise _internal(t, error, "an unexpected failure") from error


def _internal(t: Tracer, error: BaseException, what: str) -> CodegenError:
    where = f" at {place(t.frame, t.at)}" if t.frame is not None and hasattr(t.at, "lineno") else ""
    return CodegenError(
        f"{what} inside darter's front end{where}: {type(error).__name__}: {error}. This is a defect of darter; please "
        f"report it with the function that was compiled."
    )


def _fresh(t: Tracer, known: Mapping[Site, ScalarType]) -> Tracer:
    kernel = wired(Tracer(t.session, host=False))
    kernel.literals = Literals(known)
    return kernel


def wired(t: Tracer) -> Tracer:
    """Give a tracer the interpreter's entries."""
    t.fresh = lambda known: _fresh(t, known)
    t.evaluate = lambda node: evaluate(t, node)
    t.execute = lambda body: execute(t, body)
    t.call = lambda function, arguments, keywords: calls.call(t, function, arguments, keywords)
    t.launch = lambda call, arguments, keywords: launch(t, call, arguments, keywords)
    t.read_attribute = lambda value, name: attributes.read(t, value, name)
    return t


def _trace(
    t: Tracer, function: types.FunctionType, plan: SignaturePlan, descriptors: Mapping[str, Descriptor]
) -> Module:
    t.recorder.function(function)
    is_method = any(parameter.kind is ParamKind.SELF for parameter in plan.parameters[:1])
    t.recorder.parameters(function, is_method=is_method)
    source = source_of(function)
    node: Any = source.node
    frame = Frame(function, source, node, t.session.index_of(function), local_names(node))
    t.frame, t.at = frame, node
    slots: list[Value] = []
    for index, parameter in enumerate(plan.parameters):
        facts = with_fixed_extents(descriptors[parameter.name], parameter.dims)
        value = parameter_value(t, parameter.name, facts, (index,))
        slots += slot_values(t, value)
        frame.locals[parameter.name] = value
    _share_named_extents(t, plan, frame)
    t.execute(tuple(node.body))
    t.body.nodes[:0] = t.prologue
    finish(t.body, t.replaced)
    return Module(
        function.__name__, tuple(slots), t.body, t.session.kernels, t.session.functions, tuple(sorted(t.written))
    )


def _share_named_extents(t: Tracer, plan: SignaturePlan, frame: Frame) -> None:
    """Let extents that the contract calls by one name be one value: the call has checked that they agree."""
    named: dict[str, int | Value] = {}
    for parameter in plan.parameters:
        value = frame.locals[parameter.name]
        if not isinstance(value, TensorValue) or parameter.dims is None:
            continue
        for axis, dim in enumerate(parameter.dims):
            if isinstance(dim, str):
                value.extents[axis] = named.setdefault(dim, raw_extent(t, value, axis))
