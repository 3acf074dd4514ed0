"""What stands behind a ``JitFunction``: everything that a warm call does not need.

The native dispatcher calls :meth:`Launcher.miss` when no call state of its table fits, and finds it again from then on.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from darter._native import CallState, CompiledFunction, Guards, JitFunction
from darter.config import Config, process
from darter.errors import (
    CaptureDriftError,
    CompileError,
    KeyMismatchError,
    NotCompiledError,
    StaticEvaluationError,
    VariantsWarning,
)
from darter.later import later
from darter.launch.counts import CacheInfo, Counts
from darter.launch.options import JitOptions, jit_options
from darter.launch.parameters import parameters_of
from darter.launch.request import BuildRequest
from darter.launch.variants import Variant, Variants
from darter.launch.wrapping import wrap
from darter.process_lock import ProcessLock
from darter.signature.describe import Description, describe
from darter.signature.descriptor import ObjectFacts
from darter.signature.plan import ParamKind, SignaturePlan
from darter.signature.planner import plan_signature

if TYPE_CHECKING:
    from darter.launch import explain
    from darter.launch.builder import Builder
    from darter.signature import words as full_key
else:
    # Words for people, and the readable twin of the native key: a launch that goes well needs neither.
    explain = later("darter.launch.explain")
    full_key = later("darter.signature.words")

VARIANT_LIMIT = 64
"""Variants of one launcher above which it warns, once."""

FUNCTION_LIMIT = 256
"""Variants for compile-time functions that are kept: a program that makes such a function at each call makes no end of
them.  Those dropped are found again by their content."""


class Launcher:
    """One decorated launcher: its plan, its variants, its counts.

    ``dispatcher`` is the native half, which calls this object; ``is_method`` says that the first parameter is ``self``.
    """

    __slots__ = (
        "_builder",
        "_counts",
        "_dispatcher",
        "_has_warned",
        "_is_method",
        "_lock",
        "_plan",
        "_planned_for",
        "_variants",
        "function",
        "options",
    )

    def __init__(
        self,
        function: types.FunctionType,
        options: JitOptions,
        builder: Builder,
        dispatcher: JitFunction,
        is_method: bool,
    ) -> None:
        self.function = function
        self.options = options
        self._builder = builder
        self._dispatcher = dispatcher
        self._is_method = is_method
        self._plan: SignaturePlan | None = None
        self._variants = Variants()
        self._counts = Counts()
        self._lock = ProcessLock()
        self._has_warned = False
        self._planned_for: tuple[object, ...] = ()

    # -- what the dispatcher calls ------------------------------------------------------------------------------------

    def plan(self) -> SignaturePlan:
        """Return the parameter plan, made at the first use: annotations may name what is defined later."""
        if self._plan is None:
            plan = plan_signature(self.function, self._is_method)
            self._planned_for = parameters_of(self.function, plan)
            self._plan = plan
            self._dispatcher.verify_keys = Config.from_environment().verify_keys
        return self._plan

    def constexpr_words(self, value: Any, name: str) -> tuple[int, ...]:
        """Return the key words of a compile-time value that the native key leaves to Python."""
        return tuple(full_key.constexpr_words(value, self._dispatcher._intern, name))

    def verify_key(self, arguments: Sequence[Any], words: tuple[int, ...]) -> None:
        """Raise ``KeyMismatchError`` when the lean key is not the full key."""
        description = describe(self.plan(), arguments)
        expected = full_key.key_words(
            self.plan(), description.descriptors, description.device, self._dispatcher._intern
        )
        if expected != words:
            raise KeyMismatchError(
                f"{self.plan().name}(): the lean key {_hex(words)} is not the full key {_hex(expected)}; this is a "
                "defect of darter, please report it"
            )

    def miss(self, arguments: Sequence[Any], words: tuple[int, ...], stream: int) -> CallState:
        """Return the call state for bound arguments whose key is ``words``, to be launched on ``stream`` (its handle).

        Raises ``CaptureDriftError`` when this key was built before under other captured values and ``on_drift`` is
        "raise", and whatever the build raises; nothing is kept of a failed build.
        """
        description = describe(self.plan(), arguments)
        with self._lock:
            held = self._variants.holding(words)
            if held is not None:
                self._counts.shared_hits += 1
                return held.state
            drifted = self._variants.drifted(words)
            if drifted is not None and self._on_drift() == "raise":
                raise CaptureDriftError(explain.drift_message(self.plan().name, drifted.guards))
        if self._is_planned_for_others():
            raise CaptureDriftError(explain.parameters_message(self.plan().name))
        try:
            return self._build(description, words, stream)
        except CompileError as error:
            # The message points at the caller's code; fifty frames of the stages that found it would hide that.
            cause = error.__cause__ if isinstance(error, StaticEvaluationError) else None
            raise error.with_traceback(None) from cause

    # -- what a CompiledFunction's dispatcher calls -------------------------------------------------------------------

    def mismatch(self, arguments: Sequence[Any], words: tuple[int, ...]) -> None:
        """Raise ``NotCompiledError``: the compiled function is for other arguments."""
        lines = explain.nearest(self._variants, describe(self.plan(), arguments).descriptors)
        raise NotCompiledError(explain.not_compiled_message(self.plan().name, lines))

    def drift(self, state: CallState) -> None:
        """Raise ``CaptureDriftError``: the compiled function captured values that have changed."""
        guards = state.guards
        assert isinstance(guards, Guards)
        raise CaptureDriftError(explain.drift_message(self.plan().name, guards))

    # -- the public methods -------------------------------------------------------------------------------------------

    def warm(self, *args: Any, **kwargs: Any) -> None:
        """Compile and load for arguments like these; launch nothing."""
        self._dispatcher._prepare(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> CompiledFunction:
        """Return the launcher compiled and loaded for arguments like these."""
        return self._dispatcher._compile(self, args, kwargs)

    def explain(self, *args: Any, resources: bool = False, **kwargs: Any) -> str:
        """Return whether a call would hit memory or disk, compile or drift, and what differs from the nearest one.

        With ``resources``, also what each kernel takes of a multiprocessor, where the code is loaded.
        """
        words = self._dispatcher._key_words(*args, **kwargs)
        description = describe(self.plan(), self._dispatcher._bind(*args, **kwargs))
        held = self._variants.holding(words)
        if held is not None:
            return explain.report("memory hit", explain.resource_lines(held.state) if resources else ())
        drifted = self._variants.drifted(words)
        if drifted is not None and self._on_drift() == "raise":
            return explain.report("drift", explain.drift_lines(drifted.guards))
        if self._is_planned_for_others():
            return explain.report("drift", (explain.parameters_message(self.plan().name),))
        found = self._builder.found(self._request(description))
        outcome = "compile" if found is None else f"{found} hit"
        lines = explain.nearest(self._variants, description.descriptors)
        return explain.report(outcome, (*lines, explain.NOT_LOADED) if resources else lines)

    def cache_key(self, *args: Any, **kwargs: Any) -> str:
        """Return the primary key of a call: 64 hexadecimal digits, the same in every process and on every machine.

        It covers everything but captured values: the code, descriptors, compile-time values, options, target,
        toolchain.  For caches that a program keeps of its own.
        """
        return self._builder.key(self._request(describe(self.plan(), self._dispatcher._bind(*args, **kwargs))))

    def cache_info(self) -> CacheInfo:
        """Return what the launcher's calls have cost so far."""
        return self._counts.info(self._dispatcher.memory_hits, len(self._variants))

    def with_options(self, **options: Any) -> JitFunction:
        """Return a view of the launcher with other options; this one stays as it is."""
        resolved = jit_options(self.options, options)

        def open_view(dispatcher: JitFunction, is_method: bool) -> Launcher:
            return Launcher(self.function, resolved, self._builder, dispatcher, is_method or self._is_method)

        return wrap(JitFunction(open_view), self.function, resolved)

    def clear(self) -> None:
        """Forget call states and what they were built under; entries on disk stay."""
        with self._lock:
            self._variants.clear()
            self._builder.forget(self.function)
            # Last: a call in another thread may have put a state back meanwhile.
            self._dispatcher._clear()

    def accept_drift(self) -> None:
        """Let the next call build under the captured values of now."""
        with self._lock:
            self._variants.drop_drifted()
            self._dispatcher._clear()

    # -- building -----------------------------------------------------------------------------------------------------

    def _is_planned_for_others(self) -> bool:
        """Return whether the function's parameters or their defaults were changed since the plan was made."""
        return parameters_of(self.function, plan_signature(self.function, self._is_method)) != self._planned_for

    def _on_drift(self) -> str:
        return self.options.on_drift or process.on_drift

    def _request(self, description: Description) -> BuildRequest:
        owner = next(
            (
                facts.cls
                for parameter in self.plan().parameters
                if parameter.kind is ParamKind.SELF
                and isinstance(facts := description.descriptors[parameter.name], ObjectFacts)
            ),
            None,
        )
        return BuildRequest(
            self.function, self.plan(), description.descriptors, description.device, self.options.kernel, owner
        )

    def _build(self, description: Description, words: tuple[int, ...], stream: int) -> CallState:
        # What differs is looked up before the new variant joins the others, and only if somebody reads it.
        is_logged = self._counts.compiles > 0 and "recompiles" in Config.from_environment().log
        why = explain.nearest(self._variants, description.descriptors) if is_logged else ()
        built = self._builder.build(self._request(description), stream)
        with self._lock:
            held = self._variants.holding(words)
            if held is not None:  # of another thread, which may have waited for the compile of this one
                self._count("compile" if built.origin == "compile" else "memory")
                return held.state
            if self._variants.function_count >= FUNCTION_LIMIT:
                self._variants.drop_functions()
                self._dispatcher._clear()
                self._dispatcher._release_functions()
            self._variants.add(Variant(words, description.descriptors, built.state, built.guards))
            self._count(built.origin)
            if is_logged and built.origin == "compile":
                sys.stderr.write(f"darter: {self.plan().name}: {explain.line('compile', why)}\n")
            return built.state

    def _count(self, origin: str) -> None:
        counts = self._counts
        match origin:
            case "compile":
                counts.compiles += 1
            case "disk":
                counts.disk_hits += 1
            case _:
                counts.shared_hits += 1
        if len(self._variants) > VARIANT_LIMIT and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                explain.variants_message(self.plan().name, self._variants, VARIANT_LIMIT), VariantsWarning, stacklevel=4
            )


def _hex(words: Sequence[int]) -> str:
    return "(" + ", ".join(f"{word:#x}" for word in words) + ")"
