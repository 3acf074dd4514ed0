"""JSON, from where it costs least to get.

The ``json`` package compiles regular expressions when it is imported, which takes 1 to 2 ms; what reads and writes JSON
is in C and needs none of them.  So where nothing else has imported the package yet, CPython's own module serves.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def loads(data: bytes | str) -> Any:
    """Return the value that JSON (bytes: ASCII characters) stands for; raises ``ValueError`` for anything else."""
    if not hasattr(sys.modules.get("json"), "loads"):
        text = data if isinstance(data, str) else data.decode("ascii")
        try:
            value, end = _scanner()(text, 0)
        except (StopIteration, SystemError):  # the second where it wants to raise an error of the package
            end = -1
        if end == len(text):
            return value
    return importlib.import_module("json").loads(data)  # which also finds the words for what is wrong


def dumps(value: Any, *, sort_keys: bool = False) -> str:
    """Return the shortest JSON of ``value``, in ASCII characters; raises ``TypeError`` for what JSON lacks."""
    return "".join(_encoder(sort_keys)(value, 0))


class _Reading:
    """The options of ``json.loads``, as the scanner reads them."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")


@functools.lru_cache(maxsize=1)
def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        made: Callable[[str, int], tuple[Any, int]] = importlib.import_module("_json").make_scanner(_Reading())
    except (ImportError, AttributeError, TypeError):  # another Python
        return importlib.import_module("json").JSONDecoder().scan_once  # type: ignore[no-any-return]
    return made


@functools.lru_cache(maxsize=2)
def _encoder(sort_keys: bool) -> Callable[[Any, int], tuple[str, ...]]:
    try:
        native = importlib.import_module("_json")
        made: Callable[[Any, int], tuple[str, ...]] = native.make_encoder(
            None, _refuse, native.encode_basestring_ascii, None, ":", ",", sort_keys, False, False
        )
    except (ImportError, AttributeError, TypeError):
        package = importlib.import_module("json")
        encoder = package.JSONEncoder(sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)
        return lambda value, _: (encoder.encode(value),)
    return made


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} has no form in JSON")
