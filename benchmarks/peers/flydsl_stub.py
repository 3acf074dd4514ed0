"""FlyDSL on a machine without an AMD GPU: a HIP library and a linker that do nothing.

Every HIP function that FlyDSL's runtime imports returns success, so that what is left is FlyDSL's own host work.
Nothing that FlyDSL compiles is ever run, so the linker copies its input.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers import Launch
from benchmarks.peers.generated import generated_module, parameters

_MAKERS = {"hipModuleLoadData", "hipModuleGetFunction", "hipMalloc", "hipStreamCreate", "hipEventCreateWithFlags"}
"""Functions whose first parameter is where a handle goes."""

_LINKER = """#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in -o) out=$2; shift ;; -*) ;; *) in=$1 ;; esac; shift; done
cp "$in" "$out"
"""

_LAUNCHER = """
import flydsl.compiler as flyc
import flydsl.expr as fx

@flyc.kernel
def noop({parameters}):
    pass

@flyc.jit
def launcher({parameters}, stream: fx.Stream = fx.Stream(None)):
    noop({names}).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)
"""


def stubbed_launcher(launch: Launch) -> tuple[Any, Any]:
    """Return FlyDSL's ``compile`` and a ``@flyc.jit`` launcher of an empty kernel.

    Raises ``ImportError`` where FlyDSL is not installed, ``OSError`` without a C compiler.
    """
    spec = importlib.util.find_spec("flydsl")
    if spec is None or spec.origin is None:
        raise ImportError("No module named 'flydsl'")
    if os.environ.get("DARTER_STUB_HIP") != str(os.getpid()):
        _install(Path(spec.origin).parent / "_mlir" / "_mlir_libs" / "libfly_jit_runtime.so")
        os.environ["DARTER_STUB_HIP"] = str(os.getpid())
    names = list(launch.names)
    listed = parameters(names, "fx.Tensor", "fx.Int32")
    module = generated_module(
        f"darter_fly_{len(launch.tensors)}_{len(launch.integers)}",
        _LAUNCHER.format(parameters=listed, names=", ".join(names)),
    )
    import flydsl.compiler as flyc

    return flyc.compile, module.launcher


def _install(runtime: Path) -> None:
    """Build the HIP library and load it before FlyDSL's runtime asks for it by its soname; point at the linker."""
    folder = Path(tempfile.mkdtemp(prefix="darter-hip-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    functions = sorted({name.decode() for name in re.findall(rb"\bhip[A-Z]\w+", runtime.read_bytes())})
    lines = ["static long handle[64];", "int hipGetDevice(int* out) { *out = 0; return 0; }"]
    lines += ['const char* hipGetErrorName(int error) { (void)error; return "stub"; }']
    for name in functions:
        if name not in ("hipGetDevice", "hipGetErrorName"):
            body = "*out = handle;" if name in _MAKERS else "(void)out;"
            lines.append(f"int {name}(void** out) {{ {body} return 0; }}")
    (folder / "hip.c").write_text("\n".join(lines) + "\n")
    (folder / "hip.map").write_text("hip_4.2 { global: *; };\n")
    library = folder / "libamdhip64.so.7"
    command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    command += [f"-Wl,--version-script={folder / 'hip.map'}", "-o", str(library), str(folder / "hip.c")]
    subprocess.run(command, check=True, capture_output=True)
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    linker = folder / "llvm" / "bin" / "ld.lld"
    linker.parent.mkdir(parents=True)
    linker.write_text(_LINKER)
    linker.chmod(0o755)
    os.environ["ROCM_PATH"] = str(folder)
    os.environ.setdefault("FLYDSL_GPU_ARCH", "gfx942")
