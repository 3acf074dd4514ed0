"""Modules made on the spot, for libraries that read a function's text from its file."""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType


def generated_module(name: str, text: str) -> ModuleType:
    """Return a module with this text, from a file that lasts as long as the process."""
    folder = Path(tempfile.mkdtemp(prefix="darter-generated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parameters(launch_names: list[str], tensor: str, integer: str) -> str:
    """Return annotated parameters: ``t…`` are tensors, all others integers."""
    return ", ".join(f"{name}: {tensor if name.startswith('t') else integer}" for name in launch_names)
