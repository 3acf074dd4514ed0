"""The bytes of a store entry: one file that holds a key record, a manifest and an artifact.

    prefix       48 bytes, little-endian: magic, schema, length and SHA-256 of the header
    header       JSON: target, kernels, functions, and per blob its size and SHA-256
    blobs        key, manifest, program, code, one after the other

A reader verifies each part before it uses it, and the length of the file; whatever is odd is an ``ArtifactError``.  No
part is ever executed or unpickled by reading it.
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

from darter import json_text
from darter.artifacts.artifact import Artifact, DeviceMessage, KernelEntry
from darter.artifacts.key import SCHEMA, KeyRecord
from darter.errors import ArtifactError
from darter.frozen import Frozen
from darter.ir.places import FunctionName
from darter.sha256 import sha256
from darter.target import Target

_MAGIC = b"\x93darter\n"
_PREFIX = struct.Struct("<8sII32s")
_BLOBS = ("key", "manifest", "program", "code")
_HEADER_LIMIT_BYTES = 1 << 26


class Entry(Frozen):
    """What one file of the store holds; ``key`` and ``manifest`` are whole, so that a hit compares them, not hashes."""

    key: bytes
    manifest: bytes
    artifact: Artifact


class EntryHead(Frozen):
    """The verified first part of an entry, enough to decide whether it is the one that is looked for."""

    key: bytes
    manifest: bytes
    header: dict[str, Any]


def encode(key: KeyRecord, manifest: bytes, artifact: Artifact) -> bytes:
    """Return the bytes of the entry."""
    blobs = (key.data, manifest, artifact.program, artifact.code)
    header = {
        "function": key.function,
        "target": _target_row(artifact.target),
        "kernels": [_kernel_row(kernel) for kernel in artifact.kernels],
        "functions": [[name.qualname, name.module] for name in artifact.functions],
        "written": artifact.written,
        "blobs": [[len(blob), sha256(blob).hexdigest()] for blob in blobs],
    }
    text = json_text.dumps(header).encode("ascii")
    prefix = _PREFIX.pack(_MAGIC, SCHEMA, len(text), sha256(text).digest())
    return b"".join((prefix, text, *blobs))


def read_head(stream: BinaryIO) -> EntryHead:
    """Return the head of the entry that ``stream`` begins with; leaves the stream before the program.

    Raises:
        ArtifactError: the entry is damaged, cut, or of another schema.
    """
    magic, schema, length, digest = _PREFIX.unpack(_exactly(stream, _PREFIX.size, "prefix"))
    if magic != _MAGIC:
        raise ArtifactError("the entry does not begin with darter's magic number")
    if schema != SCHEMA:
        raise ArtifactError(f"the entry has schema {schema}; this version reads {SCHEMA}")
    if length > _HEADER_LIMIT_BYTES:
        raise ArtifactError(f"the entry's header claims {length} bytes; at most {_HEADER_LIMIT_BYTES} are read")
    text = _exactly(stream, length, "header")
    if sha256(text).digest() != digest:
        raise ArtifactError("the entry's header does not have its checksum")
    try:
        header = json_text.loads(text)
        sizes = [size for size, _ in header["blobs"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArtifactError(f"the entry's header cannot be read: {error}") from error
    if len(sizes) != len(_BLOBS) or not all(type(size) is int and size >= 0 for size in sizes):
        raise ArtifactError(f"the entry's header lists {len(sizes)} blobs; {len(_BLOBS)} with their sizes are needed")
    return EntryHead(_blob(stream, header, 0), _blob(stream, header, 1), header)


def read_artifact(stream: BinaryIO, head: EntryHead) -> Artifact:
    """Return the artifact that follows ``head`` in ``stream``.

    Raises:
        ArtifactError: the entry is damaged, cut, or longer than its header says.
    """
    program = _blob(stream, head.header, 2)
    code = _blob(stream, head.header, 3)
    if stream.read(1):
        raise ArtifactError("bytes follow the entry's end")
    try:
        return Artifact(
            target=Target(*head.header["target"]),
            program=program,
            kernels=tuple(_kernel(row) for row in head.header["kernels"]),
            code=code,
            functions=tuple(FunctionName(*row) for row in head.header["functions"]),
            written=tuple(head.header["written"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"the entry's header cannot be read: {error}") from error


def read(stream: BinaryIO) -> Entry:
    """Return the whole entry; raises ``ArtifactError`` as :func:`read_head` and :func:`read_artifact` do."""
    head = read_head(stream)
    return Entry(head.key, head.manifest, read_artifact(stream, head))


def _blob(stream: BinaryIO, header: dict[str, Any], number: int) -> bytes:
    size, digest = header["blobs"][number]
    data = _exactly(stream, size, _BLOBS[number])
    if sha256(data).hexdigest() != digest:
        raise ArtifactError(f"the entry's {_BLOBS[number]} does not have its checksum")
    return data


def _exactly(stream: BinaryIO, size: int, what: str) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise ArtifactError(f"the entry ends inside its {what}: {len(data)} bytes of {size}")
    return data


def _target_row(target: Target) -> list[Any]:
    return [target.backend, target.arch, target.features, target.warp_size]


def _kernel_row(kernel: KernelEntry) -> list[Any]:
    messages = [[m.is_assert, m.pieces, m.operand_dtypes, m.function, m.line, m.column] for m in kernel.messages]
    return [
        kernel.symbol,
        kernel.parameters,
        kernel.block,
        kernel.shared_bytes,
        kernel.scratch_bytes,
        kernel.uses_dynamic_shared,
        messages,
    ]


def _kernel(row: list[Any]) -> KernelEntry:
    symbol, parameters, (x, y, z), shared_bytes, scratch_bytes, uses_dynamic_shared, messages = row
    return KernelEntry(
        symbol=symbol,
        parameters=tuple(parameters),
        block=(x, y, z),
        shared_bytes=shared_bytes,
        scratch_bytes=scratch_bytes,
        uses_dynamic_shared=uses_dynamic_shared,
        messages=tuple(_message(message) for message in messages),
    )


def _message(row: list[Any]) -> DeviceMessage:
    is_assert, pieces, operand_dtypes, function, line, column = row
    return DeviceMessage(is_assert, tuple(pieces), tuple(operand_dtypes), function, line, column)
