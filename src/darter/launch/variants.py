"""The variants of one launcher: what each call state was built for; the warm path has a table of its own."""

from __future__ import annotations

import types
from collections.abc import Mapping

from darter._native import CallState, Guards
from darter.capture.argument_roots import argument_roots
from darter.frozen import Frozen
from darter.signature.descriptor import Descriptor


class Variant(Frozen):
    """One call state: what it was built for and the guards on what it captured."""

    words: tuple[int, ...]
    descriptors: Mapping[str, Descriptor]
    state: CallState
    guards: Guards


class Variants:
    """Variants by key words; several under one key when they were built under different captured values."""

    __slots__ = ("_chains", "_function_count")

    def __init__(self) -> None:
        self._chains: dict[tuple[int, ...], list[Variant]] = {}
        self._function_count = 0

    def __len__(self) -> int:
        return sum(len(chain) for chain in self._chains.values())

    def all(self) -> list[Variant]:
        """Return every variant."""
        return [variant for chain in self._chains.values() for variant in chain]

    def holding(self, words: tuple[int, ...]) -> Variant | None:
        """Return the variant of a key whose captured values are what they were."""
        return next((variant for variant in self._chains.get(words, ()) if variant.guards.holds()), None)

    def drifted(self, words: tuple[int, ...]) -> Variant | None:
        """Return the newest variant of a key whose captured values have changed under an unchanged environment.

        Variables that steer code generation are a part of the key in all but name: their change is no drift.
        """
        for variant in self._chains.get(words, ()):
            found = variant.guards.differences()
            if found and not any(difference.is_environment for difference in found):
                return variant
        return None

    @property
    def function_count(self) -> int:
        """How many variants are for compile-time functions."""
        return self._function_count

    def drop_functions(self) -> None:
        """Forget the variants that are for compile-time functions."""
        kept = {words: [v for v in chain if not _has_function(v)] for words, chain in self._chains.items()}
        self._chains = {words: chain for words, chain in kept.items() if chain}
        self._function_count = 0

    def add(self, variant: Variant) -> None:
        """Put a new variant first."""
        self._chains.setdefault(variant.words, []).insert(0, variant)
        self._function_count += _has_function(variant)

    def drop_drifted(self) -> None:
        """Forget the variants whose captured values have changed."""
        kept = {words: [v for v in chain if v.guards.holds()] for words, chain in self._chains.items()}
        self._chains = {words: chain for words, chain in kept.items() if chain}

    def clear(self) -> None:
        """Forget every variant."""
        self._chains.clear()
        self._function_count = 0


def _has_function(variant: Variant) -> bool:
    return any(isinstance(root, types.FunctionType) for root in argument_roots(variant.descriptors).values())
