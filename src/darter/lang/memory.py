"""Memory of a block and of a thread, and atomics."""

from __future__ import annotations

from darter.lang.intrinsic import Intrinsic

barrier = Intrinsic("barrier", "dt.barrier()")
shared = Intrinsic("shared", "dt.shared(dtype, shape): uninitialised memory of the block; shape is static")
dynamic_shared = Intrinsic("dynamic_shared", "dt.dynamic_shared(dtype): the memory asked for by launch(shared=bytes)")
array = Intrinsic("array", "dt.array(dtype, n, init): a register array of n elements, indexed statically")

_ATOMIC = "(target, index, value, order='relaxed', scope='device'): returns the old element"
atomic_add = Intrinsic("atomic_add", "dt.atomic_add" + _ATOMIC)
atomic_max = Intrinsic("atomic_max", "dt.atomic_max" + _ATOMIC)
atomic_min = Intrinsic("atomic_min", "dt.atomic_min" + _ATOMIC)
atomic_and = Intrinsic("atomic_and", "dt.atomic_and" + _ATOMIC)
atomic_or = Intrinsic("atomic_or", "dt.atomic_or" + _ATOMIC)
atomic_xor = Intrinsic("atomic_xor", "dt.atomic_xor" + _ATOMIC)
atomic_exchange = Intrinsic("atomic_exchange", "dt.atomic_exchange" + _ATOMIC)
atomic_cas = Intrinsic(
    "atomic_cas", "dt.atomic_cas(target, index, expected, value, order='relaxed', scope='device'): returns the old one"
)
