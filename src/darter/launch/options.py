"""The options of ``@dt.jit``, ``@dt.kernel`` and ``with_options``: named, checked, every default resolved."""

from __future__ import annotations

import dataclasses
from typing import Any

from darter.config import OnDrift, checked_on_drift
from darter.errors import SignatureError
from darter.frozen import Frozen
from darter.ir.options import KernelOptions

_KINDS: dict[str, type] = {
    "fast_math": bool,
    "noalias": tuple,
    "min_blocks_per_multiprocessor": int,
    "max_registers": int,
    "bounds_check": bool,
}


class JitOptions(Frozen):
    """Options of one launcher.

    ``on_drift`` is None where the process' setting (``dt.config.on_drift``) decides; it is in no key.  ``kernel`` are
    the options that every kernel of the launcher starts from.
    """

    on_drift: OnDrift | None = None
    kernel: KernelOptions = KernelOptions()


def jit_options(base: JitOptions, given: dict[str, Any]) -> JitOptions:
    """Return ``base`` with ``given`` put in; raises ``SignatureError`` for unknown names and wrong values."""
    rest = dict(given)
    if "noalias" in rest:
        raise SignatureError("option 'noalias' names parameters of one kernel: @dt.kernel(noalias=('x',))")
    on_drift = rest.pop("on_drift", base.on_drift)
    if on_drift is not None:
        on_drift = checked_on_drift(on_drift)
    return JitOptions(on_drift, kernel_options(base.kernel, rest, also=("on_drift",)))


def kernel_options(base: KernelOptions, given: dict[str, Any], also: tuple[str, ...] = ()) -> KernelOptions:
    """Return ``base`` with the options ``given`` put in; ``also`` are further names for the message."""
    for name, value in given.items():
        kind = _KINDS.get(name)
        if kind is None:
            accepted = ", ".join(sorted((*_KINDS, *also)))
            raise SignatureError(f"unknown option {name!r}; accepted: {accepted}")
        if type(value) is not kind or (type(value) is int and value < 0):
            raise SignatureError(f"option {name!r} is {value!r}; accepted: {_accepted(kind)}")
    if not all(isinstance(name, str) for name in given.get("noalias", ())):
        raise SignatureError(f"option 'noalias' is {given['noalias']!r}; accepted: a tuple of parameter names")
    return dataclasses.replace(base, **given)


def _accepted(kind: type) -> str:
    return {bool: "True or False", int: "an int from 0", tuple: "a tuple of parameter names"}[kind]
