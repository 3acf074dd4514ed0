"""Why a call hits or misses, in words: ``fn.explain(...)``, drift errors, the log of recompiles, warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from darter._native import CallState, CudaKernel, Guards, KernelHandle
from darter.launch.variants import Variants
from darter.signature.descriptor import Descriptor
from darter.signature.difference import difference

_WAYS_OUT = (
    'to build again instead: @dt.jit(on_drift="recompile") or dt.config.on_drift = "recompile"; to accept the new '
    "values once: fn.accept_drift(); to compile a snapshot in: dt.static(value)"
)


def nearest(variants: Variants, descriptors: Mapping[str, Descriptor]) -> tuple[str, ...]:
    """Return how a call differs from the nearest variant, one line per difference; empty without variants."""
    candidates = [(*difference(v.descriptors, descriptors), *drift_lines(v.guards)) for v in variants.all()]
    return min(candidates, key=len) if candidates else ()


def drift_lines(guards: Guards) -> tuple[str, ...]:
    """Return one line per captured value that is no longer what the guards were installed on."""
    return tuple(str(drift) for drift in guards.differences())


NOT_LOADED = "resources: known once the code is loaded, by a call or by warm(...)"


def resource_lines(state: CallState) -> tuple[str, ...]:
    """Return one line per kernel of a call state: registers, shared and local memory, occupancy on its device."""
    kernels = getattr(state.owner, "kernels", ())
    return tuple(f"kernel '{kernel.name}': {_resources(kernel)}" for kernel in kernels)


def _resources(kernel: KernelHandle) -> str:
    if not isinstance(kernel, CudaKernel):
        return "runs on the host"
    found = kernel.resources()
    return (
        f"{found['registers']} registers a thread, {found['shared_bytes']} bytes of static shared memory, "
        f"{found['local_bytes']} bytes of local memory (spills), at most {found['max_threads']} threads a block, "
        f"{found['blocks_per_multiprocessor']} blocks a multiprocessor ({found['occupancy_percent']} % of its threads)"
    )


def report(outcome: str, lines: Sequence[str]) -> str:
    """Return the text of an explanation: the outcome, then one line per difference."""
    return "\n".join((outcome, *lines))


def line(outcome: str, lines: Sequence[str]) -> str:
    """Return an explanation on one line, for the log."""
    return f"{outcome}: {'; '.join(lines)}" if lines else outcome


def drift_message(name: str, guards: Guards) -> str:
    """Return the text of a ``CaptureDriftError``."""
    return report(
        f"{name}(): captured values changed since this variant was compiled", (*drift_lines(guards), _WAYS_OUT)
    )


def parameters_message(name: str) -> str:
    """Return the text of a ``CaptureDriftError`` about a launcher's own parameters."""
    return (
        f"{name}(): its parameters or their defaults were changed after it was first used, and calls bind by those of "
        "then; restore them, or decorate the changed function with @dt.jit"
    )


def not_compiled_message(name: str, lines: Sequence[str]) -> str:
    """Return the text of a ``NotCompiledError``."""
    return report(
        f"{name}(): this CompiledFunction was compiled for other arguments",
        (*lines, "call the launcher itself, or dt.compile(launcher, ...) with arguments like these"),
    )


def variants_message(name: str, variants: Variants, limit: int) -> str:
    """Return the text of the variants warning: which argument or constexpr made most of the variants."""
    every = variants.all()
    blamed = Counter(
        line.split(":", 1)[0] for variant in every[1:] for line in difference(every[0].descriptors, variant.descriptors)
    )
    cause = f"; most differ in {blamed.most_common(1)[0][0]}" if blamed else ""
    return f"{name}() has more than {limit} compiled variants{cause}"
