"""``DARTER_DUMP=ir,llvm,asm``: what a build went through, written as text files into ``DARTER_DUMP_DIR``.

One file per stage, ``FUNCTION.DIGEST.ir`` and so on; the digest is that of the IR, so that variants stand side by side
and building the same again writes the same file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from darter.config import Config
from darter.target import Target

if TYPE_CHECKING:
    from darter.ir.nodes import Module

Readable = Callable[["Module", Target, str], str | None]
"""A backend's ``readable``: the text of a module at stage "llvm" or "asm", or None where there is no such stage."""

_SUFFIXES = {"llvm": "ll", "asm": "s"}


def dump_stages(config: Config, module: Module, target: Target, readable: Readable) -> None:
    """Write the stages that ``config.dump`` names; does nothing, and imports nothing, where it names none.

    Raises:
        OSError: the directory cannot be made or written.
    """
    if not config.dump:
        return
    from darter.ir.printer import print_module

    text = print_module(module)
    digest = hashlib.sha256(f"{target}\n{text}".encode()).hexdigest()[:8]
    name = re.sub(r"[^A-Za-z0-9_.]+", "_", module.name)
    directory = Path(config.dump_dir)
    directory.mkdir(parents=True, exist_ok=True)
    if "ir" in config.dump:
        (directory / f"{name}.{digest}.ir").write_text(text, encoding="utf-8")
    for stage, suffix in _SUFFIXES.items():
        lowered = readable(module, target, stage) if stage in config.dump else None
        if lowered is not None:
            (directory / f"{name}.{digest}.{suffix}").write_text(lowered, encoding="utf-8")
