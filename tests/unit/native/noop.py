"""Launchers over launch programs that do nothing, for tests of the warm call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from darter import _native
from darter.ir.encoding import encode
from darter.ir.program import Instruction, Opcode, Program
from darter.signature.describe import describe
from darter.signature.descriptor import slot_count
from darter.signature.plan import SignaturePlan
from darter.signature.planner import plan_signature
from darter.signature.words import constexpr_words


def noop_state(slots: int, written: Sequence[int] = (), guards: object = None) -> _native.CallState:
    """Return a call state whose program takes ``slots`` argument slots and returns at once."""
    program = Program(
        slots=slots,
        constants=(),
        registers=slots + 2,
        instructions=(Instruction(Opcode.RETURN, 0, 0, 0, 0, 0, -1),),
        launches=(),
        raises=(),
        sites=(),
    )
    return _native.CallState(encode(program), [], None, guards, written, None)


class NoopCold:
    """Answers what the warm call asks of Python; counts the misses."""

    def __init__(self, plan: SignaturePlan, written: Sequence[int] = ()) -> None:
        self.plan = plan
        self.written = written
        self.misses: list[tuple[Any, ...]] = []
        self.verified: list[tuple[int, ...]] = []
        self.encoded: list[str] = []
        self.guards: object = None
        self.during_miss: Callable[[], None] | None = None
        self.function: _native.JitFunction

    def miss(self, arguments: tuple[Any, ...], words: tuple[int, ...], stream: int) -> _native.CallState:
        if self.during_miss is not None:
            self.during_miss()
        slots = sum(map(slot_count, describe(self.plan, arguments).descriptors.values()))
        self.misses.append(tuple(type(argument) for argument in arguments))
        return noop_state(slots, self.written, self.guards)

    def constexpr_words(self, value: Any, name: str) -> tuple[int, ...]:
        self.encoded.append(name)
        return constexpr_words(value, self.function._intern, name)

    def verify_key(self, arguments: tuple[Any, ...], words: tuple[int, ...]) -> None:
        self.verified.append(words)

    def warm(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return ("warm", args, kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return ("explain", args, kwargs)

    def cache_info(self) -> str:
        return "info"

    def clear(self) -> str:
        return "cleared"

    def accept_drift(self) -> str:
        return "accepted"

    def with_options(self, **options: Any) -> _native.JitFunction:
        return noop(lambda self, x: None, owner=True)


def noop(function: Callable[..., Any], written: Sequence[int] = (), owner: bool = False) -> _native.JitFunction:
    """Return a launcher with the signature of ``function``; ``written`` are the parameters that it stores to."""
    plan = plan_signature(function, owner=owner)
    cold = NoopCold(plan, written)
    cold.function = _native.JitFunction(lambda dispatcher, is_method: cold, plan)
    return cold.function
