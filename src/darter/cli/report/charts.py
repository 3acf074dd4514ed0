"""The pictures of a report as plain data: which rows of result files make which chart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Series:
    """One line: points (x, y) in ascending x; ``own`` lines are darter's, drawn stronger."""

    name: str
    points: tuple[tuple[float, float], ...]
    own: bool


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over a linear x axis (days since 0001-01-01 if ``x_is_date``) and a logarithmic or linear y axis."""

    key: str
    title: str
    caption: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_y: bool = False
    x_is_date: bool = False


@dataclass(frozen=True, slots=True)
class StackChart:
    """Horizontal bars of parts, one after the other; ``bars`` are (label, value of each part)."""

    key: str
    title: str
    caption: str
    x_label: str
    parts: tuple[str, ...]
    bars: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class RatioChart:
    """Ratios with a spread about 1; ``rows`` are (label, low, ratio, high, whether it is judged)."""

    key: str
    title: str
    caption: str
    x_label: str
    rows: tuple[tuple[str, float, float, float, bool], ...]


Chart = LineChart | StackChart | RatioChart


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file that a benchmark wrote (see ``report_json``)."""

    name: str
    machine: dict[str, Any]
    command: str
    rows: tuple[dict[str, Any], ...]

    @property
    def day(self) -> date:
        return date.fromisoformat(self.machine["date"])


def read_results(folder: Path) -> list[ResultFile]:
    """Return the result files of a folder, oldest first; other JSON files are left out.

    Raises:
        FileNotFoundError: there is none.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and {"machine", "rows"} <= data.keys():
            found.append(ResultFile(path.name, data["machine"], data.get("command", ""), tuple(data["rows"])))
    if not found:
        raise FileNotFoundError(f"{folder} holds no result file (*.json with 'machine' and 'rows')")
    return sorted(found, key=lambda each: (each.day, each.name))


def charts_of(results: Sequence[ResultFile]) -> list[Chart]:
    """Return every chart that the files have rows for."""
    made: Iterable[Chart | None] = (
        _by_arguments(results),
        _peers_on_gpu(results),
        *_stacks(results),
        *_matrices(results),
        _by_date(results, "cpu", "python", "an empty Python function's call"),
        _by_date(results, "cuda", "floor", "the driver's launch in a C loop"),
    )
    return [chart for chart in made if chart is not None]


def _by_arguments(results: Sequence[ResultFile]) -> LineChart | None:
    """Rows ``arguments/cpu/<who>/<count>``; a later file's replace an earlier one's."""
    lines: dict[str, dict[float, float]] = {}
    for row in _rows(results, "arguments/"):
        _, _, who, label = row["name"].split("/")
        if label.isdigit():
            lines.setdefault(who, {})[float(label)] = row.get("min", row["value"])
    if not lines:
        return None
    series = tuple(
        Series(who, tuple(sorted(points.items())), who.startswith("darter")) for who, points in lines.items()
    )
    return LineChart(
        "arguments",
        "What a call costs by the number of its arguments",
        "Tensors of rank 2 on the CPU, an empty kernel or function; least of the batches. The floor is an empty Python "
        "function. Peers' figures leave out what a GPU's driver would add. From 31 arguments on, CPython makes a list "
        "and a tuple of them first.",
        "tensors passed",
        "ns per call",
        series,
        log_y=True,
    )


def _peers_on_gpu(results: Sequence[ResultFile]) -> LineChart | None:
    """Rows ``peer/<who>/<size>/over_floor`` of ``darter bench launch --backend cuda``, with their nanoseconds."""
    counts = {"S": 4.0, "M": 14.0, "L": 22.0}
    lines: dict[str, dict[float, float]] = {}
    for row in _rows(results, "peer/"):
        who, size, kind = row["name"].removeprefix("peer/").rsplit("/", 2)
        if kind == "over_floor":
            lines.setdefault(who, {})[counts[size]] = row["ns"]["median"]
            lines.setdefault("driver's launch (floor)", {})[counts[size]] = row["other_ns"]["median"]
    for row in _rows(results, "launch/torch/"):
        _, _, size, style, mix, *rest = row["name"].split("/")
        if (style, mix, rest) == ("positional", "one", ["over_floor"]):
            lines.setdefault("darter", {})[counts[size]] = row["ns"]["median"]
            lines.setdefault("driver's launch (floor)", {})[counts[size]] = row["other_ns"]["median"]
    if not lines:
        return None
    series = tuple(Series(who, tuple(sorted(points.items())), who == "darter") for who, points in lines.items())
    return LineChart(
        "gpu",
        "What a launch costs on a GPU, host time",
        "The same empty kernel with 3 tensors and 1 integer, 8 and 6, 14 and 8; torch tensors, or the library's own.",
        "arguments",
        "ns per launch",
        series,
        log_y=True,
    )


_PARTS = (
    "bind",
    "read arguments",
    "check, key words, slots",
    "look-up",
    "guards",
    "launch program",
    "rest",
)


def _stacks(results: Sequence[ResultFile]) -> list[StackChart]:
    """Rows ``replay/<backend>/<arguments>/<bodies>/<launcher>/<part>`` of the newest file for each prefix."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in _rows(results, "replay/"):
        prefix, launcher, part = row["name"].rsplit("/", 2)
        found.setdefault(prefix, {}).setdefault(launcher, {})[part] = row["value"]
    charts = []
    for prefix, launchers in found.items():
        bars = tuple(
            (launcher, _stack(parts)) for launcher, parts in launchers.items() if {"jit", "key", "guards"} <= set(parts)
        )
        if bars:
            where = prefix.removeprefix("replay/").replace("/", ", ")
            charts.append(
                StackChart(
                    f"stack-{prefix.removeprefix('replay/').replace('/', '-')}",
                    f"Where the nanoseconds of a warm call go ({where})",
                    "Each part timed alone in a native loop, averaged over the window's calls; the rest is the whole "
                    "call less the parts: the interpreter's call, and what parts cost more between others.",
                    "ns per call",
                    _PARTS,
                    bars,
                )
            )
    return charts


def _stack(parts: dict[str, float]) -> tuple[float, ...]:
    reading = min(parts.get("reading", 0.0), parts["key"])
    known = (
        parts.get("bind", 0.0),
        reading,
        parts["key"] - reading,
        parts.get("lookup", 0.0),
        parts["guards"],
        parts.get("program", 0.0),
    )
    return (*known, max(0.0, parts["jit"] - sum(known)))


def _matrices(results: Sequence[ResultFile]) -> list[RatioChart]:
    """Rows ``matrix/…``, a chart for each file: plain and precompiled calls."""
    charts = []
    for result in results:
        rows = []
        for row in result.rows:
            if row["name"].startswith("matrix/") and row["name"].endswith(("/jit", "/compiled")):
                label = " ".join(row["name"].removeprefix("matrix/replay/").split("/")[1::2])
                label = f"{label} {row['name'].rsplit('/', 1)[1]}"
                rows.append((label, row["low"], row["value"], row["high"], row["name"].endswith("/jit")))
        if rows:
            charts.append(
                RatioChart(
                    f"matrix-{result.name.removesuffix('.json')}",
                    f"Two darters side by side ({result.name})",
                    f"{result.command}. Ratio of the medians, fixed to original; the bar spans the pairs of runs. "
                    "Below 1 is faster. Plain calls (jit), in blue, decide.",
                    "fixed ÷ original",
                    tuple(rows),
                )
            )
    return charts


def _by_date(results: Sequence[ResultFile], backend: str, floor: str, floor_text: str) -> LineChart | None:
    """The mixed window's plain call over ``floor``, of each file by its date."""
    lines: dict[str, dict[float, float]] = {}
    for result in results:
        for row in result.rows:
            name = row["name"]
            if name.startswith(f"replay/{backend}/") and name.endswith(f"/noop/mixed/jit_over_{floor}"):
                who = f"{name.split('/')[2]}; Python {result.machine.get('python', '?')}; {_place(result, backend)}"
                lines.setdefault(who, {})[float(result.day.toordinal())] = row["value"]
    if not lines:
        return None
    return LineChart(
        f"dates-{backend}",
        f"The mixed window's plain call by date ({backend})",
        f"Host time over that of {floor_text}, which takes the machine's speed out.",
        "date of the result file",
        f"× {floor_text}",
        tuple(Series(who, tuple(sorted(points.items())), True) for who, points in lines.items()),
        x_is_date=True,
    )


def _place(result: ResultFile, backend: str) -> str:
    """Return the machine's part that the host's times are compared for, shortly."""
    if backend != "cpu" and "gpu" in result.machine:
        return str(result.machine["gpu"])
    processor = str(result.machine.get("cpu", "?")).removesuffix(" Processor").replace("(R)", "")
    return f"{processor}, {result.machine.get('cores', '?')} cores"


def _rows(results: Sequence[ResultFile], prefix: str) -> Iterable[dict[str, Any]]:
    return (row for result in results for row in result.rows if row["name"].startswith(prefix))
