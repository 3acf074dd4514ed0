"""Types of Python numbers that are found late: after a loop carried the number, or a condition chose it.

Where a loop or a condition makes a value of nothing but Python numbers, that value has a *site*, and what is computed
of it and of Python numbers carries the site along (``DeviceValue.origins``).  Such a value has the default type until
it meets a value of another one; then the site is to have that type, and the kernel is traced once more.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from darter.dtypes import Float32, Float64, Int32, Int64, ScalarType, UInt32, UInt64
from darter.frontend.frame import Frame

Site = Hashable
"""A place in the code, the calls that led there, and the name whose number it is."""

_WIDER: dict[Any, tuple[ScalarType, ...]] = {Float32: (Float64,)}
_OTHER_INTEGERS: dict[Any, tuple[ScalarType, ...]] = {Int64: (Int32, UInt32, UInt64)}


class Literals:
    """What one trace of a kernel is told of the types of sites, and what it finds."""

    __slots__ = ("_met", "_settled", "known")

    def __init__(self, known: Mapping[Site, ScalarType]) -> None:
        self.known = known
        self._met: dict[Site, set[ScalarType]] = {}
        self._settled: dict[Site, Any] = {}

    def meet(self, origins: frozenset[Site], dtype: ScalarType) -> None:
        """Note that a value made of the numbers of these sites met a value, or memory, of ``dtype``."""
        for site in origins:
            self._met.setdefault(site, set()).add(dtype)

    def settle(self, origins: frozenset[Site], dtype: Any) -> None:
        """Note the type that the sites' number has in this trace."""
        for site in origins:
            self._settled[site] = dtype

    def found(self, failed: bool) -> dict[Site, ScalarType]:
        """Return the types that another trace should give to sites.

        Floats become Float64, for no digit to be lost.  An integer keeps its Int64 as long as that compiles; where it
        does not (``failed``), it becomes the one other type of 32 bits or more that it met.
        """
        types: dict[Site, ScalarType] = {}
        for site, met in self._met.items():
            settled = self._settled.get(site)
            wanted = [dtype for dtype in _WIDER.get(settled, ()) if dtype in met]
            if failed:
                wanted += [dtype for dtype in _OTHER_INTEGERS.get(settled, ()) if dtype in met]
            if len(wanted) == 1 and site not in self.known:
                types[site] = wanted[0]
        return types


def site_of(frame: Frame, node: Any, name: Hashable) -> Site:
    """Return the site of a name's number at ``node``, reached through the calls that ``frame`` stands in."""
    path = [frame.loc(node)]
    caller = frame.caller
    while caller is not None:
        outer, at = caller
        path.append(outer.loc(at))
        caller = outer.caller
    return (tuple(path), name)
