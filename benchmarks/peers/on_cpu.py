"""The peers that say something on a machine without a GPU: what their host side costs, whatever would be launched."""

from __future__ import annotations

import importlib

from benchmarks.peers import Call, Launch, Skipped

CPU_PEERS = (
    "numba_njit",
    "tvm_ffi_host",
    "jax_cpu",
    "cute_host_ffi",
    "cute_host",
    "flydsl_compiled",
    "flydsl_jit",
)
"""Modules of ``benchmarks.peers``, in the order that they are measured in; each in a process of its own."""


def prepared_on_cpu(module_name: str, launch: Launch) -> tuple[str, Call] | Skipped:
    """Return a peer's name and call, called once; or why there is none.  The tensors are torch's, on the CPU."""
    peer = importlib.import_module(f"benchmarks.peers.{module_name}")
    try:
        call = peer.prepare(launch)
        exec(call.statement, dict(call.names))  # noqa: S102 - the peer's own statement
    except Exception as error:  # noqa: BLE001 - whatever keeps a peer from running here is why it is skipped
        text = str(error).strip().splitlines()
        return Skipped(peer.NAME, f"{type(error).__name__}: {text[0] if text else ''}")
    return peer.NAME, call
