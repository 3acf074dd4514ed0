"""The JSON that every ``darter bench`` command and every benchmark writes, so that one reader serves all of them.

``{"machine": {…}, "command": "…", "rows": [{"name": "…", "value": …, "unit": "ratio|ns|us|ms|…", …}]}``

The replay imports this of the darter that it measures, which may be another version's: it keeps its place and names.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata, util
from pathlib import Path
from typing import Any

from darter._version import __version__

_PACKAGES = ("numpy", "llvmlite", "ml_dtypes", "torch", "numba")
_GPU_PACKAGES = ("triton", "cupy-cuda13x", "jax", "numba-cuda", "cuda-core", "cuda-bindings", "apache-tvm-ffi")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: ``value`` in ``unit``; ``more`` are further keys (``min``, ``calls`` …)."""

    name: str
    value: float
    unit: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "unit": self.unit, **self.more}


def report(command: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the report as plain data."""
    return {"machine": machine(), "command": command, "rows": [row.as_json() for row in rows]}


def write_report(path: Path, command: str, rows: Sequence[Row]) -> None:
    """Write the report to ``path``, or to standard output for ``-``."""
    text = json.dumps(report(command, rows), indent=1) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")


def machine() -> dict[str, Any]:
    """Return what a reader needs to judge a figure: processor, cores, system, date, versions of what is installed."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "darter": __version__,
        **{name: version for name in _PACKAGES if (version := installed_version(name))},
        **_gpu(),
    }


def installed_version(name: str) -> str | None:
    """Return the version of an installed package, or None; imports nothing of it."""
    if util.find_spec(name) is None:
        return None
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def _gpu() -> dict[str, str]:
    """Return the first NVIDIA GPU, its driver and the GPU packages' versions; nothing where there is no GPU."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {}
    query = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    found = subprocess.run(query, check=False, capture_output=True, text=True).stdout.splitlines()
    if not found:
        return {}
    name, _, driver = found[0].partition(", ")
    versions = {package: _distribution_version(package) for package in _GPU_PACKAGES}
    return {"gpu": name, "gpus": str(len(found)), "driver": driver} | {p: v for p, v in versions.items() if v}


def _distribution_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
