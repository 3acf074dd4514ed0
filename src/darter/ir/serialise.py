"""Kernels as bytes and back: canonical JSON, the same for equal kernels in every process.

Values become numbers in the order in which they are met; a value's first mention carries its type and hint.  Readers
take nothing on trust: what does not fit raises ``ArtifactError``.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Sequence
from typing import Any

from darter import dtypes as dt
from darter.errors import ArtifactError
from darter.frozen import values_of
from darter.ir import nodes as n

SCHEMA = 1

_NODES = {kind.__name__: kind for kind in vars(n).values() if isinstance(kind, type) and issubclass(kind, n.Node)}
_ENUMS = {kind.__name__: kind for kind in vars(n).values() if isinstance(kind, type) and issubclass(kind, enum.Enum)}


def kernels_to_bytes(kernels: Sequence[n.Kernel]) -> bytes:
    """Return ``kernels`` as UTF-8 JSON."""
    rows = [_Writer().kernel(kernel) for kernel in kernels]
    return json.dumps([SCHEMA, rows], separators=(",", ":")).encode()


def kernels_from_bytes(data: bytes) -> list[n.Kernel]:
    """Return the kernels in ``data``, not verified.

    Raises:
        ArtifactError: it is not what :func:`kernels_to_bytes` writes.
    """
    try:
        schema, rows = json.loads(data)
        if schema != SCHEMA:
            raise ArtifactError(f"kernels of schema {schema}, this is {SCHEMA}")
        return [_Reader().kernel(row) for row in rows]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, ArtifactError):
            raise
        raise ArtifactError(f"damaged kernels: {error}") from error


class _Writer:
    def __init__(self) -> None:
        self._numbers: dict[n.Value, int] = {}

    def kernel(self, kernel: n.Kernel) -> list[Any]:
        parameters = [self.any(value) for value in kernel.parameters]
        options = dataclasses.asdict(kernel.options)
        return [kernel.name, parameters, self.any(kernel.body), kernel.block, kernel.warp_size, options]

    def any(self, item: Any) -> Any:
        match item:
            case n.Value():
                return self._value(item)
            case n.Block():
                arguments = [self._value(value) for value in item.arguments]
                nodes = [self.any(node) for node in item.nodes]
                return {"block": [arguments, nodes, [self._value(value) for value in item.yields]]}
            case n.Node():
                fields = {field.name: self.any(getattr(item, field.name)) for field in dataclasses.fields(item)}
                return {"node": type(item).__name__, **fields}
            case n.Loc():
                return {"loc": values_of(item)}
            case enum.Enum():
                return {"enum": [type(item).__name__, item.name]}
            case float():
                return {"float": item.hex()}
            case tuple():
                return [self.any(each) for each in item]
            case None | bool() | int() | str():
                return item
        raise TypeError(f"{type(item).__name__} does not stand in a kernel")

    def _value(self, value: n.Value) -> Any:
        number = self._numbers.get(value)
        if number is not None:
            return {"value": number}
        self._numbers[value] = len(self._numbers)
        pointer = isinstance(value.type, n.PointerType)
        kind = [value.type.element.code, value.type.space.name] if isinstance(value.type, n.PointerType) else []
        return {"new": kind if pointer else [value.dtype.code], "hint": value.hint}


class _Reader:
    def __init__(self) -> None:
        self._values: list[n.Value] = []

    def kernel(self, row: list[Any]) -> n.Kernel:
        name, parameters, body, block, warp_size, options = row
        values = tuple(self.any(value) for value in parameters)
        options["noalias"] = tuple(options["noalias"])
        x, y, z = block
        return n.Kernel(name, values, self.any(body), (x, y, z), warp_size, n.KernelOptions(**options))

    def any(self, item: Any) -> Any:
        if isinstance(item, list):
            return tuple(self.any(each) for each in item)
        if not isinstance(item, dict):
            return item
        if "node" in item:
            kind = _NODES[item.pop("node")]
            return kind(**{name: self.any(value) for name, value in item.items()})
        if "value" in item:
            return self._values[item["value"]]
        if "new" in item:
            return self._new(item)
        if "block" in item:
            arguments, nodes, yields = item["block"]
            made = [self.any(value) for value in arguments]
            return n.Block(tuple(made), [self.any(node) for node in nodes], tuple(self.any(value) for value in yields))
        if "loc" in item:
            return n.Loc(*item["loc"])
        if "enum" in item:
            kind_name, member = item["enum"]
            return _ENUMS[kind_name][member]
        return float.fromhex(item["float"])

    def _new(self, item: dict[str, Any]) -> n.Value:
        code, *space = item["new"]
        element = dt.by_code(code)
        value = n.Value(n.PointerType(element, n.Space[space[0]]) if space else element, item["hint"])
        self._values.append(value)
        return value
