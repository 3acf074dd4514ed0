"""``darter info``: versions, where the store is, and what code is generated for on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console
from rich.table import Table

from darter.artifacts.settings import StoreSettings, settings_from
from darter.cli.report_json import machine
from darter.config import resolve_steering, steering_variables
from darter.errors import DarterError


def info() -> None:
    """Show versions, the store and the targets of this machine."""
    table = Table(show_header=False, box=None)
    for name, value in machine().items():
        table.add_row(name, str(value))
    for name, text in store_facts(settings_from(os.environ)).items():
        table.add_row(name, text)
    table.add_row("target", _target())
    for name, text in cuda_facts().items():
        table.add_row(name, text)
    Console().print(table)


def store_facts(settings: StoreSettings) -> dict[str, str]:
    """Return what is to be told about the store; makes nothing."""
    if settings.directory is None:
        return {"store": "none: no directory for it is to be found; set DARTER_CACHE_DIR to an absolute path"}
    files = [path for path in Path(settings.directory).rglob("*") if path.is_file() and path.stat().st_size]
    size_mib = sum(path.stat().st_size for path in files) / 2**20
    return {
        "store": settings.directory,
        "entries": f"{len(files)}, {size_mib:.1f} MiB of at most {settings.limit_bytes / 2**20:.0f} MiB",
    }


def cuda_facts() -> dict[str, str]:
    """Return what makes cubins under the environment as it stands, and where CUDA's device library lies."""
    from darter.artifacts import cuda_toolkit
    from darter.backends import cuda

    try:
        assembler = cuda.assembler(resolve_steering(steering_variables())).identity
    except DarterError as error:
        assembler = f"none: {error}"
    return {"CUDA assembler": assembler, "libdevice": cuda_toolkit.libdevice() or "none"}


def _target() -> str:
    from darter.backends import cpu

    target = cpu.target()
    return f"{target.backend} {target.arch}, warps of {target.warp_size}"
