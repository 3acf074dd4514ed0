"""What a launcher's calls have cost: counters that nothing resets, and what ``cache_info()`` shows of them."""

from __future__ import annotations

from darter.frozen import Frozen


class CacheInfo(Frozen):
    """Cumulative counts of one launcher, untouched by ``clear()``; ``info.compiles`` and ``info["compiles"]`` alike.

    ``compiles`` counts front-end runs, ``disk_hits`` builds that came from the store, ``memory_hits`` calls and builds
    that this process already had.  ``variants`` are the call states held now; each counts once, however many kernels
    it launches.
    """

    compiles: int
    disk_hits: int
    memory_hits: int
    variants: int

    def __getitem__(self, name: str) -> int:
        """Return a count by name; raises ``KeyError`` for a name that is none."""
        if name not in type(self)._fields:
            raise KeyError(f"{name!r}; there are {', '.join(type(self)._fields)}")
        value: int = getattr(self, name)
        return value


class Counts:
    """The counters behind a ``CacheInfo`` that Python keeps; memory hits of calls are counted by the dispatcher."""

    __slots__ = ("compiles", "disk_hits", "shared_hits")

    def __init__(self) -> None:
        self.compiles = 0
        self.disk_hits = 0
        self.shared_hits = 0

    def info(self, memory_hits: int, variants: int) -> CacheInfo:
        """Return the counts as they are, with those that others keep."""
        return CacheInfo(self.compiles, self.disk_hits, memory_hits + self.shared_hits, variants)
