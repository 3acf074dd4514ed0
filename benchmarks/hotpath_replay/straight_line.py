"""A function that makes given calls one after the other, as a model's code would: by names, without argument tuples."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any


def straight_line(calls: Sequence[tuple[Any, tuple[Any, ...]]]) -> Callable[[int], int]:
    """Return ``run(repeats) -> nanoseconds``, which makes the (function, arguments) calls in order, again and again.

    Functions and arguments are local variables of what is timed, one each however often it occurs.
    """
    names: dict[int, str] = {}
    values: list[Any] = []

    def name_of(value: Any) -> str:
        if id(value) not in names:
            names[id(value)] = f"v{len(values)}"
            values.append(value)
        return names[id(value)]

    lines = [f"        {name_of(function)}({', '.join(map(name_of, arguments))})" for function, arguments in calls]
    text = "\n".join(
        [
            f"def window(clock, repeats, {', '.join(names.values())}):",
            "    start = clock()",
            "    for _ in range(repeats):",
            *lines,
            "    return clock() - start",
        ]
    )
    namespace: dict[str, Any] = {}
    exec(compile(text, "<window>", "exec"), namespace)  # noqa: S102 - the text is the calls above
    window = namespace["window"]
    return lambda repeats: window(time.perf_counter_ns, repeats, *values)
