"""Random programs mean in a kernel what they mean in Python: conditions, loops, early exits, helpers, carried values.

Each program is text that runs twice: thread by thread as plain Python, and traced, in the reference interpreter.
"""

from __future__ import annotations

import itertools
import linecache
import random

import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import Int64
from darter.lang.kernel_function import KernelFunction
from tests.unit.frontend import harness

THREADS = 8
NAMES = ("a", "b", "c")
_numbers = itertools.count()


class Program:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.budget = 22

    def text(self) -> str:
        self.lines = ["def helper(t, a, b, c):"]
        self.block(1, in_loop=False, value=True)
        self.lines += ["    return a + 2 * b", "", "def program(t, out):"]
        self.lines += ["    a = Int64(t)", "    b = Int64(3)", "    c = 1", "    items = [a, b]"]
        self.budget = 26
        self.block(1, in_loop=False, value=False)
        self.lines += ["    out[t, 0] = Int64(a)", "    out[t, 1] = Int64(b)", "    out[t, 2] = Int64(c)"]
        self.lines += ["    out[t, 3] = items[0] + items[1]"]
        return "\n".join(self.lines) + "\n"

    def expression(self, depth: int = 0) -> str:
        pick = self.random.randrange(9 if depth < 3 else 3)
        if pick == 0:
            return str(self.random.randrange(-4, 9))
        if pick < 3:
            return self.random.choice((*NAMES, "t"))
        left, right = self.expression(depth + 1), self.expression(depth + 1)
        if pick == 3:
            return f"({left} if {self.condition(depth + 1)} else {right})"
        if pick == 4:
            return f"({left} {self.random.choice(('//', '%'))} {self.random.choice((2, 3, -5, 7))})"
        return f"({left} {self.random.choice('+-*')} {right}) % 1009"

    def condition(self, depth: int = 0) -> str:
        pick = self.random.randrange(6 if depth < 2 else 3)
        left, right = self.expression(depth + 1), self.expression(depth + 1)
        simple = f"{left} {self.random.choice(('<', '<=', '==', '!=', '>'))} {right}"
        if pick < 3:
            return simple
        if pick == 3:
            return f"not ({self.condition(depth + 1)})"
        if pick == 4:
            return f"({simple} {self.random.choice(('and', 'or'))} {self.condition(depth + 1)})"
        return f"{left} < {self.random.choice(NAMES)} <= {right}"

    def block(self, depth: int, *, in_loop: bool, value: bool) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, in_loop=in_loop, value=value)

    def statement(self, depth: int, *, in_loop: bool, value: bool) -> None:
        self.budget -= 1
        pad = "    " * depth
        kind = self.random.choice(("assign", "assign", "if", "if", "for", "static", "while", "exit", "call", "list"))
        if kind in ("if", "for", "static", "while") and (depth > 4 or self.budget < 0):
            kind = "assign"
        if kind == "if":
            self.lines.append(f"{pad}if {self.condition()}:")
            self.block(depth + 1, in_loop=in_loop, value=value)
            if self.random.random() < 0.5:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, in_loop=in_loop, value=value)
        elif kind in ("for", "static"):
            name = f"i{next(_numbers)}"
            count = self.random.randrange(1, 4)
            call = f"static_range({count})" if kind == "static" else f"range({self.expression()} % {count + 1})"
            self.lines.append(f"{pad}for {name} in {call}:")
            self.lines.append(f"{pad}    {self.random.choice(NAMES)} += {name}")
            self.block(depth + 1, in_loop=True, value=value)
        elif kind == "while":
            name = f"n{next(_numbers)}"
            self.lines.append(f"{pad}{name} = Int64(t) % {self.random.randrange(2, 5)}")
            self.lines.append(f"{pad}while {name} > 0{self.random.choice(('', f' and {self.condition()}'))}:")
            self.lines.append(f"{pad}    {name} -= 1")
            self.block(depth + 1, in_loop=True, value=value)
        elif kind == "exit" and in_loop and self.random.random() < 0.7:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.lines.append(f"{pad}    {self.random.choice(('break', 'continue'))}")
        elif kind == "exit":
            self.lines.append(f"{pad}if {self.condition()}:")
            self.lines.append(f"{pad}    return {self.expression() + ' + Int64(0)' if value else ''}")
        elif kind == "call" and not value:
            self.lines.append(f"{pad}{self.random.choice(NAMES)} = helper(t, a, b, c) % 997")
        elif kind == "list" and not value:
            self.lines.append(f"{pad}items = [items[1] + 1, Int64({self.expression()})]")
        else:
            operator = self.random.choice(("=", "+=", "-="))
            self.lines.append(f"{pad}{self.random.choice(NAMES)} {operator} {self.expression()}")


def _load(text: str, namespace: dict) -> object:
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)
    return namespace["program"]


@KernelFunction
def _unused(out):
    out[0, 0] = 0


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program(seed):
    text = Program(seed).text()
    expected = np.full((THREADS, 4), -1, np.int64)
    python = _load(text, {"Int64": int, "static_range": range})
    for thread in range(THREADS):
        python(thread, expected)
    program = _load(text, {"Int64": Int64, "static_range": dt.static_range})

    @KernelFunction
    def kernel(out):
        program(dt.thread_idx.x, out)

    out = np.full((THREADS, 4), -1, np.int64)
    harness.run(harness.launcher(kernel, block=THREADS), out)
    assert out.tolist() == expected.tolist(), text
