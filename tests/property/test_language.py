"""Random kernels mean in darter what they mean in Python, where the guide's numbers stand for Python's.

Each program is text that runs three times: as Python (``python_threads``), traced in the reference interpreter, and
compiled for the CPU.  ``make fuzz`` runs 500 and CI 30; ``DARTER_FUZZ_LANGUAGE=N`` sets how many, ``DARTER_FUZZ_SEED``
takes other ones.
"""

from __future__ import annotations

import itertools
import linecache
import operator
import os
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import darter.lang as dt
from darter import dtypes
from darter.lang.kernel_function import KernelFunction
from darter.lang.library.reductions import block_sum
from tests.property import python_threads as py
from tests.property.compiled import CompiledKernels
from tests.unit.frontend import harness

_FUZZING = os.environ.get("DARTER_HYPOTHESIS_PROFILE") == "fuzz"
PROGRAMS = int(os.environ.get("DARTER_FUZZ_LANGUAGE", "500" if _FUZZING else "30"))
FIRST_SEED = int(os.environ.get("DARTER_FUZZ_SEED", "0"))
MOST_THREADS = 96
_numbers = itertools.count()

INTEGERS = ("Int32", "Int64", "UInt8", "UInt32", "Int16", "UInt64", "Int8")
FLOATS = ("Float32", "Float64", "Float16", "BFloat16")
NARROW = ("Float8E4M3FN", "Float8E5M2")


class Pair(NamedTuple):
    """A struct of the programs: an Int32 and a Float32."""

    count: Any
    value: Any


class Program:
    """Writes one random program; ``names`` maps what is in scope to its type (``weak``: a Python int)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self.types = [
            "Int32",
            "Float32",
            "Bool",
            *self.random.sample(INTEGERS[1:], 2),
            *self.random.sample(FLOATS[1:], 1),
        ]
        self.fresh = 0
        self.threads = self.random.choice((32, 32, 64, MOST_THREADS))
        self.helpers: list[tuple[str, str]] = []

    def text(self) -> str:
        for _ in range(2):
            self.helper()
        self.names = {"t": "Int32"}
        self.lines += ["", "def program(t, ints, floats, out, counts):"]
        for type in self.types:
            self.names[f"v{type}"] = type
            self.line(1, f"v{type} = {self.start(type)}")
        self.line(1, "n = 3")
        self.line(1, "pair = Pair(Int32(1), Float32(0.5))")
        self.line(1, "items = [vInt32, Int32(5)]")
        self.line(1, "array = register_array(Int32, 3, 1)")
        self.line(1, f"tile = shared(Int32, {self.threads})")
        self.names |= {"n": "weak", "pair.count": "Int32", "pair.value": "Float32", "items[0]": "Int32"}
        self.names |= {f"array[{place}]": "Int32" for place in range(3)}
        for _ in range(self.random.randrange(6, 14)):
            if self.random.random() < 0.15:
                self.in_step(1)
            else:
                self.statement(1, budget=3, loop=False, together=True)
        shown = [name for name in self.names if self.names[name] != "weak"]
        for place, name in enumerate(shown[:20]):
            self.line(1, f"out[t, {place}] = Float64({name})")
        self.line(1, "out[t, 20] = Float64(n)")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def start(self, type: str) -> str:
        if type == "Bool":
            return "ints[t] > 3"
        source = "floats" if type in FLOATS else "ints"
        return f"{type}({source}[t + {self.random.randrange(8)}])"

    def helper(self) -> None:
        name, type = f"helper{len(self.helpers)}", self.random.choice(("Int32", "Float32"))
        self.names = {"a": "Int32", "b": "Float32", "k": "weak", "shift": "weak"}
        self.lines += ["", f"def {name}(a, b, shift=1, *, k=2):"]
        for _ in range(self.random.randrange(1, 4)):
            self.statement(1, budget=2, loop=False, together=False, result=type)
        self.line(1, f"return {self.expression(type)}")
        self.helpers.append((name, type))

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, type: str, depth: int = 0) -> str:
        if type == "Bool":
            return self.condition(depth)
        leaf = depth > 2 or self.random.random() < 0.3
        if leaf:
            known = [name for name, held in self.names.items() if held == type]
            if known and self.random.random() < 0.8:
                return self.random.choice(known)
            return f"{type}({self.constant(type)})"
        kinds = [self.arithmetic] * 4 + [self.converted] * 2 + [self.chosen, self.chosen, self.extreme, self.negated]
        kinds += [self.bitwise] * 2 if type in INTEGERS else [self.divided]
        if self.helpers and depth < 2 and type in ("Int32", "Float32"):
            kinds.append(self.called)
        return self.random.choice(kinds)(type, depth + 1)

    def constant(self, type: str) -> str:
        if type in FLOATS:
            return self.random.choice(("0.5", "-1.5", "3", "0.1", "100.25", "-0.0"))
        return str(self.random.choice((0, 1, 2, 3, 7, 100) + (() if type[0] == "U" else (-1, -5))))

    def number(self, type: str) -> str:
        """Return a Python number that fits a type."""
        return self.random.choice(("2", "3", "7")) if type not in FLOATS else self.random.choice(("2", "0.5", "-3.0"))

    def arithmetic(self, type: str, depth: int) -> str:
        symbol = self.random.choice(("+", "-", "*", "//", "%") if type in INTEGERS else ("+", "-", "*"))
        left = self.expression(type, depth)
        right = self.number(type) if self.random.random() < 0.3 else self.expression(type, depth)
        if self.random.random() < 0.1 and type in INTEGERS:
            return f"divmod({left}, {right})[{self.random.randrange(2)}]"
        return (
            f"({left} {symbol} {right})" if self.random.random() < 0.9 else f"({left}) ** {self.random.randrange(1, 4)}"
        )

    def divided(self, type: str, depth: int) -> str:
        return f"({self.expression(type, depth)} / {self.expression(type, depth)})"

    def bitwise(self, type: str, depth: int) -> str:
        if self.random.random() < 0.4:
            amount = self.random.choice((str(self.random.randrange(7)), f"({self.expression(type, depth)} & 7)"))
            return f"({self.expression(type, depth)} {self.random.choice(('<<', '>>'))} {amount})"
        return f"({self.expression(type, depth)} {self.random.choice('&|^')} {self.expression(type, depth)})"

    def negated(self, type: str, depth: int) -> str:
        operand = self.expression(type, depth)
        return self.random.choice(
            (f"(-{operand})", f"abs({operand})", f"(~{operand})" if type in INTEGERS else operand)
        )

    def extreme(self, type: str, depth: int) -> str:
        name = self.random.choice(("smaller", "larger"))
        return f"{name}({self.expression(type, depth)}, {self.expression(type, depth)})"

    def chosen(self, type: str, depth: int) -> str:
        a, b = self.expression(type, depth), self.expression(type, depth)
        if self.random.random() < 0.5:
            return f"({a} if {self.condition(depth)} else {b})"
        return f"where({self.condition(depth)}, {a}, {b})"

    def converted(self, type: str, depth: int) -> str:
        other = self.random.choice(self.types)
        inner = self.expression(other, depth)
        if other != "Bool" and self.random.random() < 0.3:
            mixed = self.random.choice(self.types)
            legal = mixed != "Bool" and (mixed in FLOATS or other in FLOATS or (mixed[0] == "U") == (other[0] == "U"))
            if legal:
                inner = f"{inner} {self.random.choice('+-*')} {self.expression(mixed, depth)}"
        if self.random.random() < 0.15:
            inner = f"{self.random.choice(NARROW)}({inner})"
        if self.random.random() < 0.1:
            known = [name for name, held in self.names.items() if held == "weak"]
            inner = self.random.choice(known) if known else inner
        return f"{type}({inner})"

    def called(self, type: str, depth: int) -> str:
        known = [name for name, returned in self.helpers if returned == type]
        if not known:
            return self.expression(type, depth)
        extra = self.random.choice(("", ", 3", ", k=5", ", k=1, shift=2"))
        given = f"{self.expression('Int32', depth)}, {self.expression('Float32', depth)}"
        return f"{self.random.choice(known)}({given}{extra})"

    def condition(self, depth: int) -> str:
        pick = self.random.randrange(9)
        type = self.random.choice([type for type in self.types if type != "Bool"])
        left = self.expression(type, depth + 1)
        if pick < 3 or depth > 2:
            return (
                f"({left} {self.random.choice(('<', '<=', '==', '!=', '>', '>='))} {self.expression(type, depth + 1)})"
            )
        if pick == 3:
            return f"(not {self.condition(depth + 1)})"
        if pick == 4:
            return f"({self.condition(depth + 1)} {self.random.choice(('and', 'or'))} {self.condition(depth + 1)})"
        if pick == 5:
            return f"({self.expression('Int32', depth + 1)} {self.random.choice(('in', 'not in'))} (1, 2, 5, 8))"
        if pick == 6 and "vBool" in self.names:
            return "vBool"
        if pick == 7 and "n" in self.names:
            return f"(n {self.random.choice('<>')} {self.random.randrange(8)})"
        return f"({self.number(type)} < {left} <= {self.expression(type, depth + 1)})"

    def in_step(self, depth: int) -> None:
        """Write a loop or condition that all threads of the block take alike, with exchanges inside."""
        name, self.fresh = f"u{self.fresh}", self.fresh + 1
        kind = self.random.randrange(4)
        if kind == 0:
            self.line(depth, f"for {name} in range({self.random.choice(('2', 'ints[7] % 4', '1, 3'))}):")
        elif kind == 1:
            self.line(depth, f"{name} = Int32(0)")
            self.line(depth, f"while {name} < 3 and block_sum({self.expression('Int32')}) % 3 != 0:")
            self.line(depth + 1, f"{name} += 1")
        elif kind == 2:
            self.line(depth, f"if {self.random.choice(('ints[7] > 5', 'block_sum(vInt32) % 2 == 0'))}:")
        else:
            self.line(depth, f"for {name} in static_range(2):")
        for _ in range(self.random.randrange(1, 4)):
            if depth < 3 and self.random.random() < 0.2:
                self.in_step(depth + 1)
            elif kind < 2 and self.random.random() < 0.15:
                self.line(depth + 1, f"if block_sum({self.expression('Int32')}) % 2 == 0:")
                self.line(depth + 2, self.random.choice(("break", "continue")))
            else:
                self.statement(depth + 1, budget=2, loop=False, together=True)

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self, depth: int, *, budget: int, loop: bool, together: bool, result: str = "") -> None:
        kinds = [self.assign] * 6
        if budget:
            kinds += [self.branch] * 3 + [self.range_loop, self.while_loop, self.static_loop]
        if loop:
            kinds.append(self.leave)
        if result:
            kinds.append(self.give_back)
        if together:
            kinds += [self.exchange] * 3
        self.random.choice(kinds)(depth, budget=budget, loop=loop, together=together, result=result)

    def block(self, depth: int, *, budget: int, loop: bool, result: str) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, budget=budget - 1, loop=loop, together=False, result=result)

    def assign(self, depth: int, **_: Any) -> None:
        assignable = [
            name for name in self.names if name not in ("t", "pair.count", "pair.value", "items[0]", "b", "k", "shift")
        ]
        name = self.random.choice(assignable or ["a"])
        pick = self.random.random()
        if pick < 0.08 and "pair.count" in self.names:
            self.line(depth, f"pair = Pair({self.expression('Int32')}, {self.expression('Float32')})")
        elif pick < 0.14 and "items[0]" in self.names:
            self.line(depth, f"items = [items[1], {self.expression('Int32')}]")
        elif pick < 0.2 and "items[0]" in self.names:
            self.line(depth, f"array[1], array[2] = array[2], {self.expression('Int32')}")
        elif name == "n":
            self.line(depth, self.random.choice(("n += 1", "n = n * 3 % 17", "n = 4")))
        else:
            type = self.names.get(name, "Int32")
            if type != "Bool" and self.random.random() < 0.2:
                self.line(depth, f"{name} {self.random.choice(('+=', '-='))} {self.expression(type)}")
            else:
                self.line(depth, f"{name} = {self.expression(type)}")

    def branch(self, depth: int, *, budget: int, loop: bool, result: str, **_: Any) -> None:
        self.line(depth, f"if {self.condition(0)}:")
        self.block(depth + 1, budget=budget, loop=loop, result=result)
        if self.random.random() < 0.4:
            self.line(depth, f"elif {self.condition(0)}:")
            self.block(depth + 1, budget=budget, loop=loop, result=result)
        if self.random.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1, budget=budget, loop=loop, result=result)

    def range_loop(self, depth: int, *, budget: int, result: str, **_: Any) -> None:
        index, self.fresh = f"i{self.fresh}", self.fresh + 1
        t, computed = self.index(), self.expression("Int32")
        bounds = self.random.choice(("3", f"{t} % 4", "1, 5, 2", "4, 0, -1", f"({computed}) & 3", f"{t} & 1, 4"))
        self.line(depth, f"for {index} in range({bounds}):")
        self.line(depth + 1, f"{self.total()} += Int32({index})")
        self.block(depth + 1, budget=budget, loop=True, result=result)

    def static_loop(self, depth: int, *, budget: int, result: str, **_: Any) -> None:
        index, self.fresh = f"i{self.fresh}", self.fresh + 1
        container = self.random.choice(
            ("static_range(3)", "(1, 4)", "enumerate(('a', 'b'))", "{'x': 2, 'y': 3}.values()")
        )
        target = f"({index}, _)" if container.startswith("enum") else index
        self.line(depth, f"for {target} in {container}:")
        self.line(depth + 1, f"{self.total()} += {index}")
        self.block(depth + 1, budget=budget, loop=True, result=result)

    def while_loop(self, depth: int, *, budget: int, result: str, **_: Any) -> None:
        turns, self.fresh = f"w{self.fresh}", self.fresh + 1
        begin = self.random.choice(("0", "Int32(0)", "Int64(0)"))
        self.line(depth, f"{turns} = {begin}")
        condition = self.random.choice(("", f" and {self.condition(1)}"))
        self.line(depth, f"while {turns} < {self.random.choice(('3', f'{self.index()} % 3 + 1'))}{condition}:")
        self.line(depth + 1, f"{turns} += 1")
        self.block(depth + 1, budget=budget, loop=True, result=result)

    def index(self) -> str:
        return "t" if "t" in self.names else "a"

    def total(self) -> str:
        return "vInt32" if "vInt32" in self.names else "a"

    def leave(self, depth: int, **_: Any) -> None:
        self.line(depth, f"if {self.condition(0)}:")
        self.line(depth + 1, self.random.choice(("break", "continue")))

    def give_back(self, depth: int, *, result: str, **_: Any) -> None:
        self.line(depth, f"if {self.condition(0)}:")
        self.line(depth + 1, f"return {self.expression(result)}")

    def exchange(self, depth: int, **_: Any) -> None:
        type = self.random.choice([type for type in self.types if type != "Bool"])
        kind = self.random.randrange(7)
        target = f"v{type}"
        if kind == 0:
            self.line(depth, f"{target} = shuffle_xor({self.expression(type)}, {self.random.choice((1, 2, 16))})")
        elif kind == 1:
            self.line(depth, f"{target} = shuffle_idx({self.expression(type)}, (vInt32 + t) & 31)")
        elif kind == 2:
            self.line(depth, f"pair = shuffle_up(pair, {self.random.choice((1, 3))})")
        elif kind == 3:
            self.line(depth, f"vBool = vote_any({self.condition(0)})")
        elif kind == 4:
            self.line(depth, f"vInt32 = Int32(ballot({self.condition(0)}) % 1000)")
        elif kind == 5:
            self.line(depth, f"tile[t] = {self.expression('Int32')}")
            self.line(depth, "barrier()")
            self.line(depth, f"vInt32 += tile[(t * {self.random.choice((1, 3, 5))} + 7) % {self.threads}]")
            self.line(depth, "barrier()")
        else:
            self.line(depth, f"atomic_add(counts, t % 5, {self.expression('Int32')})")
            self.line(depth, f"vInt32 = block_sum({self.expression('Int32')})")


# -- running ----------------------------------------------------------------------------------------------------------


def _load(text: str, namespace: dict[str, Any]) -> Any:
    name = f"<language {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)
    return namespace["program"]


def inputs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    ints = random.integers(-100, 100, MOST_THREADS + 8).astype(np.int32)
    ints[:4] = (0, 2**31 - 1, -(2**31), 7)
    floats = np.round(random.normal(0, 20, MOST_THREADS + 8), 2).astype(np.float32)
    floats[:3] = (0.0, -0.5, 1e6)
    return ints, floats


def in_python(text: str, seed: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the program writes, run as Python."""
    block = py.Block(threads)
    tile = py.Memory(np.zeros(threads, np.int32), "Int32")
    casts = {type: (lambda v, type=type: py.cast(type, v)) for type in py.WIDTHS}
    namespace: dict[str, Any] = casts | {
        "Pair": Pair, "where": py.where, "smaller": py.extremum("min"), "larger": py.extremum("max"),
        "range": py.run_time_range, "static_range": range, "divmod": divmod, "shared": lambda *_: tile,
        "register_array": lambda cast, n, init: [py.Number("Int32", init)] * n,
        "shuffle_xor": block.shuffle_xor, "shuffle_idx": block.shuffle_idx, "shuffle_up": block.shuffle_up,
        "vote_any": block.vote_any, "ballot": block.ballot, "barrier": block.barrier, "block_sum": block.block_sum,
        "atomic_add": block.atomic_add,
    }  # fmt: skip
    program = _load(text, namespace)
    ints, floats = inputs(seed)
    out, counts = np.zeros((threads, 21)), np.zeros(5, np.int32)
    memories = py.Memory(ints, "Int32"), py.Memory(floats, "Float32"), py.Memory(out, "Float64")
    with np.errstate(all="ignore"):
        block.run(lambda t: program(t, *memories, py.Memory(counts, "Int32")))
    return out, counts


def launcher_of(text: str, threads: int) -> Any:
    """Return a launcher whose kernel is the program."""
    types = {type: getattr(dtypes, type) for type in py.WIDTHS}
    namespace: dict[str, Any] = types | {
        "Pair": Pair, "where": dt.where, "smaller": dt.min, "larger": dt.max, "static_range": dt.static_range,
        "shared": dt.shared, "register_array": dt.array, "shuffle_xor": dt.shuffle_xor, "shuffle_idx": dt.shuffle_idx,
        "shuffle_up": dt.shuffle_up, "vote_any": dt.vote_any, "ballot": dt.ballot, "barrier": dt.barrier,
        "block_sum": block_sum, "atomic_add": dt.atomic_add,
    }  # fmt: skip
    program = _load(text, namespace)

    @KernelFunction
    def kernel(ints, floats, out, counts):
        program(dt.thread_idx.x, ints, floats, out, counts)

    def launch(ints, floats, out, counts):
        kernel(ints, floats, out, counts).launch(grid=1, block=threads)

    return launch


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + PROGRAMS))
def test_a_random_kernel(seed: int, tmp_path: Path) -> None:
    program = Program(seed)
    text, threads = program.text(), program.threads
    expected = in_python(text, seed, threads)
    launch = launcher_of(text, threads)
    interpreted = np.zeros((threads, 21)), np.zeros(5, np.int32)
    module = harness.run(launch, *inputs(seed), *interpreted)
    compiled = np.zeros((threads, 21)), np.zeros(5, np.int32)
    arrays = (*inputs(seed), *compiled)
    kernels = CompiledKernels(module.kernels, tmp_path)
    kernels.run(0, _words(module, arrays), (1, 1, 1), 0)
    for name, (out, counts) in (("interpreted", interpreted), ("compiled", compiled)):
        np.testing.assert_array_equal(counts, expected[1], f"{name}\n{text}")
        np.testing.assert_array_equal(out, expected[0], f"{name}\n{text}")


def _words(module: Any, arrays: tuple[np.ndarray, ...]) -> list[int]:
    """Return the registers of the kernel's parameters: what its launch passes of the launcher's slots."""
    slots = [
        word
        for array in arrays
        for word in (array.ctypes.data, *array.shape, *(stride // array.itemsize for stride in array.strides))
    ]
    given = dict(zip(module.parameters, slots, strict=True))
    for node in module.body.nodes:
        operand = getattr(node, "operand", None)
        if operand in given:
            given[node.result] = given[operand]
    launch = module.body.nodes[-1]
    return [operator.index(given[argument]) for argument in launch.arguments]
