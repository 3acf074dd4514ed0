"""Helper functions that go lane by lane: gathers and scatters that the target has no instruction for, and atomics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from darter.codegen.common.text import FunctionText, ModuleText


@contextmanager
def active_lanes(text: FunctionText, width: int, bits: str) -> Iterator[str]:
    """Write a loop over the lanes whose bit is set in ``bits`` (``width`` bits), lowest first; yields the i64 lane."""
    with text.counted(str(width), "lane") as lane:
        index = lane if width == 64 else text.value(f"trunc i64 {lane} to i{width}")
        moved = text.value(f"lshr i{width} {bits}, {index}")
        on = text.value(f"trunc i{width} {moved} to i1")
        work, skip = text.fresh_label("work"), text.fresh_label("skip")
        text.branch(on, work, skip)
        text.begin(work)
        yield lane
        text.jump(skip)
        text.begin(skip)


def buffer(text: FunctionText, width: int, element: str, data: str) -> str:
    """Write ``data`` (a vector of ``width`` lanes) to the stack; return where."""
    place = text.stack(f"<{width} x {element}>", 64)
    text.line(f"store <{width} x {element}> {data}, ptr {place}, align 64")
    return place


def lane_of(text: FunctionText, element: str, place: str, lane: str) -> str:
    """Return the address of lane ``lane`` in a buffer."""
    return text.value(f"getelementptr {element}, ptr {place}, i64 {lane}")


def gather(module: ModuleText, element: str, width: int) -> str:
    """Return the helper that loads ``element`` from each active lane's address; other lanes get 0."""
    name = f"darter.gather.{element}"

    def make() -> FunctionText:
        vector = f"<{width} x {element}>"
        header = f"define internal {vector} @{name}(<{width} x ptr> %at, i{width} %mask) #1"
        text = FunctionText(module, header)
        places = buffer(text, width, "ptr", "%at")
        found = buffer(text, width, element, "zeroinitializer")
        with active_lanes(text, width, "%mask") as lane:
            place = text.value(f"load ptr, ptr {lane_of(text, 'ptr', places, lane)}")
            one = text.value(f"load {element}, ptr {place}")
            text.line(f"store {element} {one}, ptr {lane_of(text, element, found, lane)}")
        text.line(f"ret {vector} {text.value(f'load {vector}, ptr {found}, align 64')}")
        return text

    return module.helper(name, make)


def scatter(module: ModuleText, element: str, width: int) -> str:
    """Return the helper that stores each active lane's element at its address, in the order of lanes."""
    name = f"darter.scatter.{element}"

    def make() -> FunctionText:
        vector = f"<{width} x {element}>"
        header = f"define internal void @{name}(<{width} x ptr> %at, {vector} %data, i{width} %mask) #1"
        text = FunctionText(module, header)
        places = buffer(text, width, "ptr", "%at")
        data = buffer(text, width, element, "%data")
        with active_lanes(text, width, "%mask") as lane:
            one = text.value(f"load {element}, ptr {lane_of(text, element, data, lane)}")
            place = text.value(f"load ptr, ptr {lane_of(text, 'ptr', places, lane)}")
            text.line(f"store {element} {one}, ptr {place}")
        text.line("ret void")
        return text

    return module.helper(name, make)


def permute(module: ModuleText, element: str, width: int) -> str:
    """Return the helper that gives each lane the element of the lane that it names (0 to ``width`` - 1)."""
    name = f"darter.permute.{element}"

    def make() -> FunctionText:
        vector, sources = f"<{width} x {element}>", f"<{width} x i32>"
        text = FunctionText(module, f"define internal {vector} @{name}({vector} %data, {sources} %from) #1")
        stored = "i8" if element == "i1" else element
        data = "%data" if element != "i1" else text.value(f"zext {vector} %data to <{width} x i8>")
        from_ = buffer(text, width, "i32", "%from")
        places = buffer(text, width, stored, data)
        found = buffer(text, width, stored, "zeroinitializer")
        with text.counted(str(width), "lane") as lane:
            source = text.value(f"load i32, ptr {lane_of(text, 'i32', from_, lane)}")
            wide = text.value(f"zext i32 {source} to i64")
            one = text.value(f"load {stored}, ptr {lane_of(text, stored, places, wide)}")
            text.line(f"store {stored} {one}, ptr {lane_of(text, stored, found, lane)}")
        result = text.value(f"load <{width} x {stored}>, ptr {found}, align 64")
        if element == "i1":
            result = text.value(f"trunc <{width} x i8> {result} to {vector}")
        text.line(f"ret {vector} {result}")
        return text

    return module.helper(name, make)
