"""The numbers of interned objects in key words, without a launcher."""

from __future__ import annotations


class Interner:
    """Numbers objects by identity, from 1, as one launcher does over its life; keeps them alive."""

    def __init__(self) -> None:
        self.held: list[object] = []

    def __call__(self, value: object) -> int:
        for number, held in enumerate(self.held, 1):
            if held is value:
                return number
        self.held.append(value)
        return len(self.held)
