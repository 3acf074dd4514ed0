"""The state of one trace: where code is appended, what is being interpreted, and how refusals are raised.

One :class:`Tracer` traces one launcher or one kernel; a :class:`Session` holds what they share.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from darter.dtypes import Bool, ScalarType
from darter.errors import CaptureRefusedError, CompileError
from darter.frontend.diagnostics import located
from darter.frontend.frame import Frame
from darter.frontend.numbers.literals import Literals, Site
from darter.frontend.values import DeviceValue, KernelList, RegisterArray
from darter.ir.nodes import Block, Cast, Const, FunctionName, Kernel, KernelOptions, Loc, Node, Value
from darter.target import Target


class Recorder(Protocol):
    """What the front end needs of ``capture.recorder.Recorder``: every Python read goes through it."""

    def name(self, function: Any, name: str) -> Any:
        """Return what ``name`` is: closure, then globals, then builtins; ``LookupError`` if unbound."""

    def attribute(self, obj: Any, name: str) -> Any:
        """Return an attribute of a module, class or plain instance."""

    def item(self, container: Any, key: Any) -> Any:
        """Return an item of a captured container."""

    def items(self, container: Any) -> tuple[Any, ...]:
        """Return the items of a captured container (the keys of a dict)."""

    def contains(self, container: Any, key: Any) -> bool:
        """Return ``key in container``."""

    def length(self, container: Any) -> int:
        """Return the length of a captured container."""

    def function(self, function: Any) -> Any:
        """Record code and defaults of a helper before it is interpreted."""

    def parameters(self, function: Any, *, is_method: bool) -> None:
        """Record what the annotations of a launcher or kernel demand."""

    def getter(self, cls: type, name: str) -> Any:
        """Return the getter of a property found through the MRO of ``cls``."""

    def same(self, a: object, b: object) -> bool:
        """Return ``a is b``."""

    def class_of(self, value: Any) -> type:
        """Return the class of a value."""

    def mro(self, cls: type) -> tuple[type, ...]:
        """Return the MRO of a class."""

    def structure(self, cls: type) -> tuple[Any, ...]:
        """Return what a class is made of."""

    def content(self, value: Any, special: AbstractSet[str]) -> Any:
        """Return a value for an operation that reads all of it and may run special methods."""

    def libdevice(self) -> None:
        """Record which device library of CUDA there is."""

    def static(self, read_value: Callable[[], Any]) -> Any:
        """Return a snapshot of what ``read_value`` reads."""

    def method(self, cls: type, name: str) -> Any:
        """Return a function found through the MRO of ``cls``."""


@dataclass(slots=True, eq=False)
class Session:
    """What the traces of one compile share."""

    recorder: Recorder
    target: Target
    options: KernelOptions
    functions: list[FunctionName] = field(default_factory=list)
    function_index: dict[int, int] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)
    kernel_keys: dict[Any, Any] = field(default_factory=dict)
    captured: dict[int, Any] = field(default_factory=dict)
    names: dict[tuple[int, str], Any] = field(default_factory=dict)

    def index_of(self, function: Any) -> int:
        """Return the row of ``function`` in the module's function table."""
        code = function.__code__
        index = self.function_index.get(id(code))
        if index is None:
            index = len(self.functions)
            self.function_index[id(code)] = index
            self.captured[id(code)] = code
            self.functions.append(FunctionName(function.__qualname__, function.__module__ or ""))
        return index


class Region:
    """A block being filled, and the register arrays that were written while it was, with what they held before.

    Containers of a serial of at least ``floor`` may change in it.
    """

    __slots__ = ("block", "casts", "floor", "log", "serial")

    def __init__(self, block: Block, serial: int) -> None:
        self.block = block
        self.serial = self.floor = serial
        self.log: dict[RegisterArray, list[DeviceValue]] = {}
        self.casts: dict[tuple[Value, ScalarType], Value] = {}


class Side:
    """A finished region: its block, and what the written arrays held before and hold at its end."""

    __slots__ = ("after", "before", "block", "serial")

    def __init__(self, region: Region) -> None:
        self.block = region.block
        self.serial = region.serial
        self.before = region.log
        self.after = {array: list(array.items) for array in region.log}


def _not_wired(*_: Any) -> Any:
    raise AssertionError("the tracer is not wired to the interpreter")


class Tracer:
    """Traces one launcher (``host``) or one kernel."""

    def __init__(self, session: Session, host: bool) -> None:
        self.session = session
        self.recorder = session.recorder
        self.host = host
        self.frame: Frame = None  # type: ignore[assignment]
        self.at: ast.AST = None  # type: ignore[assignment]
        self.body = Block()
        self.prologue: list[Node] = []
        self.regions: list[Region] = [Region(self.body, 0)]
        self.nodes: list[Node] = self.body.nodes
        self.replaced: dict[Value, Value] = {}
        self.constants: dict[tuple[ScalarType, Any], Value] = {}
        self.cached: dict[Any, Value] = {}
        self.serial = 0
        self.adoptions = 0
        self.literals = Literals({})
        self.depth = 0
        self.written: set[int] = set()
        self.block: tuple[int, int, int] = (1, 1, 1)
        self.bounds_check = False
        self.slots: dict[tuple[Any, ...], Value] = {}
        # The interpreter's two entries, so that calls can run the code of helpers.
        self.evaluate: Callable[[Any], Any] = _not_wired
        self.execute: Callable[[Any], str | None] = _not_wired
        self.call: Callable[[Any, list[Any], dict[str, Any]], Any] = _not_wired
        self.launch: Callable[[Any, list[Any], dict[str, Any]], Any] = _not_wired
        self.fresh: Callable[[Mapping[Site, ScalarType]], Tracer] = _not_wired
        self.read_attribute: Callable[[Any, str], Any] = _not_wired

    # -- emitting -----------------------------------------------------------------------------------------------------

    def loc(self) -> Loc:
        """Return the position of the code being traced."""
        return self.frame.loc(self.at)

    def emit(self, node: Node) -> None:
        """Append ``node`` at the position of the code being traced."""
        node.loc = self.frame.loc(self.at)
        self.nodes.append(node)

    def const(self, dtype: ScalarType, value: Any) -> Value:
        """Return a constant; each is emitted once, at the start of the kernel or launcher."""
        # Bool, int and float constants of one dtype are of one Python type; repr keeps -0.0 and NaN apart from others.
        key = (dtype, repr(value) if dtype.is_float else value)
        result = self.constants.get(key)
        if result is None:
            result = self.constants[key] = Value(dtype)
            self.prologue.append(Const(result, value))
        return result

    def cast(self, value: Value, dtype: ScalarType) -> Value:
        """Return ``value`` converted to ``dtype``."""
        if value.type is dtype:
            return value
        key = (value, dtype)
        for region in self.regions:
            if key in region.casts:
                return region.casts[key]
        result = Value(dtype, value.hint)
        self.emit(Cast(result, value))
        region = self.regions[-1]
        if self.nodes is region.block.nodes:  # else it stands at the end of a block that was left
            region.casts[key] = result
        return result

    # -- regions ------------------------------------------------------------------------------------------------------

    def enter(self, block: Block | None = None) -> Region:
        """Begin a block that runs under a condition or in a loop."""
        self.serial += 1
        region = Region(block or Block(), self.serial)
        self.regions.append(region)
        self.nodes = region.block.nodes
        return region

    def leave(self) -> Side:
        """End the innermost block; arrays hold again what they held before it."""
        side = Side(self.regions.pop())
        for array, items in side.before.items():
            array.items = list(items)
        self.nodes = self.regions[-1].block.nodes
        return side

    def write_array(self, array: RegisterArray, items: list[DeviceValue]) -> None:
        """Set all items of a register array, noting what it held before the current region."""
        log = self.regions[-1].log
        if array not in log:
            log[array] = array.items
        array.items = items

    def new_list(self, items: Iterable[Any]) -> KernelList:
        """Return a list made in the current region."""
        result = KernelList(items)
        result.serial = self.next_serial()
        return result

    def next_serial(self) -> int:
        """Return a number that tells whether something was made inside a region."""
        self.serial += 1
        return self.serial

    # -- reading Python -----------------------------------------------------------------------------------------------

    def recorded(self, read: Callable[[], Any]) -> Any:
        """Return what ``read`` gives; a refusal of the recorder gets the position of the code that reads."""
        try:
            return read()
        except CaptureRefusedError as error:
            if "\n" in str(error):
                raise
            raise self.error(type(error), str(error)) from error

    # -- refusing -----------------------------------------------------------------------------------------------------

    def error(
        self,
        cls: type[CompileError],
        message: str,
        found: str = "",
        accepted: str = "",
        advice: str = "",
        node: ast.AST | None = None,
    ) -> CompileError:
        """Return an error at ``node``, or at the code being traced."""
        return located(cls, self.frame, node or self.at, message, found, accepted, advice)

    def fail(
        self, cls: type[CompileError], message: str, found: str = "", accepted: str = "", advice: str = ""
    ) -> NoReturn:
        """Raise an error at the code being traced."""
        raise self.error(cls, message, found, accepted, advice)

    @property
    def where(self) -> str:
        """``"a launcher"`` or ``"a kernel"``, for messages."""
        return "a launcher" if self.host else "a kernel"


def zero(t: Tracer, dtype: ScalarType) -> Value:
    """Return the constant that stands for a value that nobody reads."""
    return t.const(dtype, False if dtype is Bool else 0.0 if dtype.is_float else 0)
