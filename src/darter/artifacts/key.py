"""The key record: everything a compile depends on that is known before looking at what the code captures.

The record is canonical text, the same in every process, hash seed, directory and machine.  Its SHA-256, the primary
key, only finds candidates: an entry of the store holds the record, and a hit compares the whole of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from darter import json_text
from darter.artifacts.artifact import ARGUMENT_ABI
from darter.frozen import Frozen
from darter.sha256 import sha256
from darter.target import Target

SCHEMA = 1
"""Version of the key record and of the entries' format; also the name of the directory that entries of it lie in."""

Canonical = None | bool | int | str | bytes | tuple["Canonical", ...]
"""What a key record is made of: values with one spelling.  A float is given by its bits, an object by its fields."""

_JSON_INT_BITS = 64


class KeyRecord(Frozen):
    """``function`` names the launcher for people; ``data`` is the whole record, ``digest`` its SHA-256 in hex."""

    function: str
    data: bytes
    digest: str


def key_record(
    *,
    function: str,
    source: str,
    owner: str | None,
    descriptors: Canonical,
    options: Canonical,
    environment: Mapping[str, str],
    target: Target,
    toolchain: str,
) -> KeyRecord:
    """Return the key record of one call of one launcher.

    ``function`` is module and qualified name, ``source`` the digest of its normalised text, ``owner`` the qualified
    name of the class that a method was called through, ``environment`` the resolved values of the variables that steer
    code generation, ``toolchain`` the digest of everything that generates code.

    Raises:
        TypeError: a part is of a type that has no canonical spelling.
    """
    record = {
        "schema": SCHEMA,
        "argument_abi": ARGUMENT_ABI,
        "function": function,
        "source": source,
        "owner": owner,
        "descriptors": _plain(descriptors),
        "options": _plain(options),
        "environment": [[name, value] for name, value in sorted(environment.items())],
        "target": [target.backend, target.arch, target.features, target.warp_size],
        "toolchain": toolchain,
    }
    # ASCII only: a lone surrogate in a source text has a spelling too.
    data = json_text.dumps(record, sort_keys=True).encode("ascii")
    return KeyRecord(function, data, sha256(data).hexdigest())


def _plain(value: Canonical) -> Any:
    """Return ``value`` as JSON that no other value has.  Exact types only: an enum member of 1 is not 1."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        assert isinstance(value, int)
        # Python refuses to print very long integers in decimal, so these go in hexadecimal.
        return value if value.bit_length() <= _JSON_INT_BITS else {"int": hex(value)}
    if kind is bytes:
        assert isinstance(value, bytes)
        return {"bytes": value.hex()}
    if kind is tuple:
        assert isinstance(value, tuple)
        return [_plain(item) for item in value]
    raise TypeError(
        f"a key record cannot hold a {kind.__module__}.{kind.__qualname__}; "
        "accepted are None, bool, int, str, bytes and tuples of them"
    )
