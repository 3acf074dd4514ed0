"""SHA-256, from where it costs least to get.

``hashlib`` loads OpenSSL, which takes 2 ms; a launch from disk hashes for 0.1 ms.  So where nothing else has imported
it yet (torch does), CPython's own implementation serves.
"""

from __future__ import annotations

import functools
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

_BUILT_IN = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
"""CPython's module; a build may have left it out."""


def sha256(data: bytes = b"") -> _Hash:
    """Return the hash of ``data``, to be updated or read."""
    module = sys.modules.get("hashlib")
    if not hasattr(module, "sha256"):  # another thread may be importing it
        module = _built_in()
    made: _Hash = module.sha256(data)  # type: ignore[union-attr]
    return made


@functools.cache  # a module that is not there is looked for in every folder of the path, each time
def _built_in() -> ModuleType:
    try:
        return importlib.import_module(_BUILT_IN)
    except ImportError:
        return importlib.import_module("hashlib")
