"""Memory of a running block: real addresses, shared memory and its initialised bytes, a log to find races in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from darter.ir import nodes as n
from darter.ir.numbers import Lanes, storage
from darter.ir.operands import walk
from darter.ir.report import Check, Extent, Finding, Report

_RED_ZONE_BYTES = 64
"""Unused bytes after each shared allocation, so that running over its end is seen."""
_FIRST_ADDRESS = 4096
_ADDRESS_SPACE_BYTES = 1 << 47


class _Raw:
    """Bytes at an address, for numpy; nothing is touched until an element is."""

    def __init__(self, address: int, count: int, itemsize: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (count,),
            "typestr": f"<u{itemsize}" if itemsize > 1 else "|u1",
        }


def address_space(itemsize: int) -> Lanes:
    """Return all user addresses as one array of unsigned integers; element i stands at 4096 + i·itemsize."""
    return np.asarray(_Raw(_FIRST_ADDRESS, (_ADDRESS_SPACE_BYTES - _FIRST_ADDRESS) // itemsize, itemsize))


def element_number(address: Lanes, itemsize: int) -> Lanes:
    """Return the elements of :func:`address_space` that stand at ``address``."""
    return (address - _FIRST_ADDRESS) // itemsize


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Where the static shared allocations of a kernel stand, in bytes from the start, and where dynamic memory does."""

    offsets: dict[n.Value, tuple[int, int]]
    dynamic_offset: int


def shared_layout(kernel: n.Kernel) -> SharedLayout:
    """Return the layout: (offset, size) of each ``SharedAlloc``, with red zones in between."""
    offsets: dict[n.Value, tuple[int, int]] = {}
    end = 0
    for node in walk(kernel.body):
        if isinstance(node, n.SharedAlloc):
            assert isinstance(node.result.type, n.PointerType)
            size = node.count * node.result.type.element.size_bytes
            align = max(node.align_bytes, 16)
            start = -(-end // align) * align
            offsets[node.result] = (start, size)
            end = start + size + _RED_ZONE_BYTES
    return SharedLayout(offsets, -(-end // _RED_ZONE_BYTES) * _RED_ZONE_BYTES)


@dataclass(slots=True)
class _Logged:
    """Accesses of one node in one barrier interval."""

    address: Lanes
    thread: Lanes
    size: int
    writes: bool
    atomic: bool
    loc: n.Loc


class BlockMemory:
    """Loads, stores and atomics of one block, checked."""

    def __init__(
        self,
        layout: SharedLayout,
        shared_bytes: int,
        extents: Sequence[Extent],
        checks: Check,
        report: Report,
        block: int,
    ) -> None:
        self._checks, self._report, self._block = checks, report, block
        self._views: dict[int, Lanes] = {}
        total = layout.dynamic_offset + shared_bytes + _RED_ZONE_BYTES
        # Bytes that no one wrote hold a pattern that shows: NaN as a float, a large negative number as an integer.
        self._shared = np.full(total + _RED_ZONE_BYTES, 0xFF, np.uint8)
        base = self._shared.ctypes.data
        self.shared_base = base + (-base % _RED_ZONE_BYTES)
        self.dynamic_base = self.shared_base + layout.dynamic_offset
        self._shared_end = self.shared_base + total
        self._written = np.zeros(total, np.bool_)
        parts = [(start, size) for start, size in layout.offsets.values()]
        if shared_bytes:
            parts.append((layout.dynamic_offset, shared_bytes))
        starts = np.array([self.shared_base + start for start, _ in parts], np.int64)
        self._shared_parts = (starts, starts + np.array([size for _, size in parts], np.int64))
        ordered = sorted(extents, key=lambda extent: extent.address)
        starts = np.array([extent.address for extent in ordered], np.int64)
        self._global_parts = (starts, starts + np.array([extent.size_bytes for extent in ordered], np.int64))
        self._bounded = bool(ordered)
        self._log: list[_Logged] = []

    # -- accesses ---------------------------------------------------------------------------------------------------

    def load(self, type: n.PointerType, address: Lanes, active: Lanes, loc: n.Loc) -> Lanes:
        """Return one element per lane, 0 where the lane is not active or must not read there."""
        size = type.element.size_bytes
        threads, places = self._checked(type, address, active, size, loc, "reads")
        self._note(places, threads, size, loc, writes=False)
        if type.space is n.Space.SHARED and Check.UNINITIALISED in self._checks:
            self._check_written(places, threads, size, loc)
        result = np.zeros(len(address), f"u{size}")
        result[threads] = self._read(places, size)
        return result != 0 if type.element.name == "bool" else result.view(storage(type.element))

    def store(self, type: n.PointerType, address: Lanes, values: Lanes, order: Lanes, loc: n.Loc) -> None:
        """Write one element per lane of ``order`` (thread numbers), the last one winning where places are equal."""
        size = type.element.size_bytes
        active = np.zeros(len(address), np.bool_)
        active[order] = True
        threads, places = self._checked(type, address, active, size, loc, "writes")
        self._note(places, threads, size, loc, writes=True)
        if len(threads) < len(order):
            order = order[np.isin(order, threads)]
        # A loop over equal places keeps the order; numpy assigns in order too, but does not promise it.
        self._write(address[order], _bits(values[order], size), size)
        if type.space is n.Space.SHARED:
            self._mark_written(address[order], size)

    def atomic(self, type: n.PointerType, address: Lanes, active: Lanes, loc: n.Loc) -> Lanes:
        """Check and log an atomic access; return the threads that may do it."""
        size = type.element.size_bytes
        threads, places = self._checked(type, address, active, size, loc, "updates")
        self._note(places, threads, size, loc, writes=True, atomic=True)
        if type.space is n.Space.SHARED:
            if Check.UNINITIALISED in self._checks:
                self._check_written(places, threads, size, loc)
            self._mark_written(places, size)
        return threads

    def read_one(self, type: n.PointerType, address: int) -> Lanes:
        """Return the element at ``address`` as an array of one."""
        size = type.element.size_bytes
        return self._read(np.array([address], np.int64), size).view(storage(type.element))

    def write_one(self, type: n.PointerType, address: int, value: Lanes) -> None:
        """Write an array of one to ``address``."""
        size = type.element.size_bytes
        self._write(np.array([address], np.int64), _bits(value, size), size)

    def _view(self, itemsize: int) -> Lanes:
        view = self._views.get(itemsize)
        if view is None:
            view = self._views[itemsize] = address_space(itemsize)
        return view

    def _read(self, places: Lanes, size: int) -> Lanes:
        if size > 1 and np.any(places % size):
            pieces = self._view(1)[element_number(places, 1)[:, None] + np.arange(size)]
            return np.ascontiguousarray(pieces).view(f"u{size}").reshape(-1)
        result: Lanes = self._view(size)[element_number(places, size)]
        return result

    def _write(self, places: Lanes, bits: Lanes, size: int) -> None:
        if size > 1 and np.any(places % size):
            pieces = np.ascontiguousarray(bits).view(np.uint8).reshape(-1, size)
            self._view(1)[element_number(places, 1)[:, None] + np.arange(size)] = pieces
            return
        self._view(size)[element_number(places, size)] = bits

    # -- checks -----------------------------------------------------------------------------------------------------

    def check_alignment(self, address: Lanes, active: Lanes, align_bytes: int, loc: n.Loc) -> None:
        """Report a lane whose address is no multiple of what the access promises."""
        wrong = active & (address % align_bytes != 0)
        if Check.BOUNDS in self._checks and wrong.any():
            thread = int(np.argmax(wrong))
            text = f"address {int(address[thread]):#x} is not a multiple of {align_bytes}"
            self._report.add(Finding(Check.BOUNDS, loc, self._block, thread, text), "alignment")

    def _checked(
        self, type: n.PointerType, address: Lanes, active: Lanes, size: int, loc: n.Loc, verb: str
    ) -> tuple[Lanes, Lanes]:
        """Return the threads that may access their address, and the addresses; report the first that may not."""
        threads = np.flatnonzero(active)
        places = address[threads]
        shared = type.space is n.Space.SHARED
        if not shared and not (self._bounded and Check.BOUNDS in self._checks):
            return threads, places
        starts, ends = self._shared_parts if shared else self._global_parts
        part = np.searchsorted(starts, places, side="right") - 1
        inside = part >= 0
        inside &= places + size <= (ends[part] if len(ends) else places)
        if not inside.all() and Check.BOUNDS in self._checks:
            first = int(np.argmin(inside))
            text = f"thread {verb} {size} bytes of {type.space.value} memory outside of every allocation"
            self._report.add(Finding(Check.BOUNDS, loc, self._block, int(threads[first]), text))
        return threads[inside], places[inside]

    def _shared_bytes_of(self, places: Lanes, size: int) -> Lanes:
        return (places - self.shared_base)[:, None] + np.arange(size)

    def _mark_written(self, places: Lanes, size: int) -> None:
        self._written[self._shared_bytes_of(places, size)] = True

    def _check_written(self, places: Lanes, threads: Lanes, size: int, loc: n.Loc) -> None:
        known = self._written[self._shared_bytes_of(places, size)].all(axis=1)
        if not known.all():
            thread = int(threads[np.argmin(known)])
            text = "shared memory is read before it is written"
            self._report.add(Finding(Check.UNINITIALISED, loc, self._block, thread, text))

    def _note(
        self, places: Lanes, threads: Lanes, size: int, loc: n.Loc, *, writes: bool, atomic: bool = False
    ) -> None:
        if Check.RACES in self._checks and len(places):
            self._log.append(_Logged(places, threads, size, writes, atomic, loc))

    def end_interval(self) -> None:
        """Look for races among the accesses since the last barrier, and forget them."""
        log, self._log = self._log, []
        if not any(entry.writes for entry in log):
            return
        race = _find_race(log)
        if race is not None:
            first, second, thread, other = race
            what = "writes" if first.writes else "reads"
            then = "writes" if second.writes else "reads"
            text = f"race: thread {thread} {what} what thread {other} {then} in the same barrier interval"
            self._report.add(Finding(Check.RACES, first.loc, self._block, thread, text), repr(second.loc))


def _bits(values: Lanes, size: int) -> Lanes:
    return values.view(f"u{size}")


def _find_race(log: list[_Logged]) -> tuple[_Logged, _Logged, int, int] | None:
    """Return two conflicting accesses with their threads: one place, two threads, a write, and not both atomic."""
    grain = min(entry.size for entry in log)
    if any(np.any(entry.address % grain) for entry in log):
        grain = 1
    spread = [np.arange(entry.size // grain) for entry in log]
    place = np.concatenate(
        [(entry.address // grain)[:, None] + part for entry, part in zip(log, spread, strict=True)], axis=None
    )
    thread = np.concatenate([np.repeat(entry.thread, len(part)) for entry, part in zip(log, spread, strict=True)])
    number = np.concatenate(
        [np.full(len(entry.thread) * len(part), i) for i, (entry, part) in enumerate(zip(log, spread, strict=True))]
    )
    writes = np.array([entry.writes and not entry.atomic for entry in log])[number]
    atomic = np.array([entry.atomic for entry in log])[number]
    order = np.argsort(place, kind="stable")
    place, thread, number, writes, atomic = (part[order] for part in (place, thread, number, writes, atomic))
    starts = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
    shared = np.minimum.reduceat(thread, starts) != np.maximum.reduceat(thread, starts)
    wrote, updated = np.logical_or.reduceat(writes, starts), np.logical_or.reduceat(atomic, starts)
    plain = np.logical_or.reduceat(~atomic, starts)
    racy = shared & (wrote | (updated & plain))
    if not racy.any():
        return None
    group = int(np.argmax(racy))
    end = starts[group + 1] if group + 1 < len(starts) else len(place)
    return _conflict(log, number[starts[group] : end], thread[starts[group] : end])


def _conflict(log: list[_Logged], numbers: Any, threads: Any) -> tuple[_Logged, _Logged, int, int]:
    """Return the pair to show from the accesses to one place: a write, and an access by another thread."""
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            first, second = log[a], log[b]
            if first.writes and threads[i] != threads[j] and not (first.atomic and second.atomic):
                return first, second, int(threads[i]), int(threads[j])
    raise AssertionError("a racy place without a conflict")
