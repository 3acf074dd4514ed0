"""Checks that a module keeps the rules of ``nodes``: types, single definition, scoping, structure, and legal barriers.

A broken rule of types or scoping is a defect of darter (:class:`CodegenError`).  A barrier or warp operation under
divergent flow is a user's mistake (:class:`KernelTypeError`) and names both lines.
"""

from __future__ import annotations

from darter.dtypes import i64
from darter.errors import CodegenError
from darter.ir import nodes as n
from darter.ir.convergence import Describe, check_convergence, describe_in
from darter.ir.operands import operands_of, results_of
from darter.ir.typing_rules import complaints

_LAUNCHER_ONLY = (n.Launch, n.Raise)
_KERNEL_ONLY = (
    n.ReadIndex,
    n.Load,
    n.Store,
    n.Atomic,
    n.SharedAlloc,
    n.DynamicShared,
    n.Barrier,
    n.Shuffle,
    n.Vote,
    n.Assert,
    n.Print,
)
_MAX_THREADS = 1024


def verify(module: n.Module, describe: Describe | None = None) -> None:
    """Check ``module`` and its kernels; ``describe`` turns a position into text such as ``file.py:12``.

    Raises:
        KernelTypeError: a barrier or a warp operation is reached by some threads only.
        CodegenError: the IR is malformed, which is a defect of darter.
    """
    describe = describe or describe_in(module.functions)
    _Scope(describe, in_launcher=True, module=module).check(module.parameters, module.body)
    for kernel in module.kernels:
        verify_kernel(kernel, describe)


def verify_kernel(kernel: n.Kernel, describe: Describe | None = None) -> None:
    """Check one kernel; see :func:`verify`."""
    describe = describe or describe_in([])
    _check_head(kernel)
    _Scope(describe, in_launcher=False).check(kernel.parameters, kernel.body)
    check_convergence(kernel, describe)


def _check_head(kernel: n.Kernel) -> None:
    if len(kernel.block) != 3 or min(kernel.block) < 1 or kernel.threads > _MAX_THREADS:
        raise CodegenError(f"kernel {kernel.name}: block {kernel.block} is not 1 to {_MAX_THREADS} threads")
    if kernel.warp_size not in (32, 64):
        raise CodegenError(f"kernel {kernel.name}: warps of {kernel.warp_size} lanes")
    for parameter in kernel.parameters:
        if isinstance(parameter.type, n.PointerType) and parameter.type.space is not n.Space.GLOBAL:
            raise CodegenError(f"kernel {kernel.name}: parameter {parameter!r} points into shared memory")


def _reads_address(node: n.Node) -> bool:
    return isinstance(node, n.Bitcast) and isinstance(node.operand.type, n.PointerType)


class _Scope:
    """One walk over a body: which values are visible here, which were ever defined."""

    def __init__(self, describe: Describe, *, in_launcher: bool, module: n.Module | None = None) -> None:
        self._describe = describe
        self._forbidden = _KERNEL_ONLY if in_launcher else _LAUNCHER_ONLY
        self._module = module
        self._visible: dict[n.Value, None] = {}  # in the order of definition, so that a scope ends by popping
        self._defined: set[n.Value] = set()

    def check(self, parameters: tuple[n.Value, ...], body: n.Block) -> None:
        self._define(parameters, n.NOWHERE)
        if body.arguments or body.yields:
            raise CodegenError("the body of a kernel or launcher has no arguments and yields nothing")
        self._block(body, n.NOWHERE, nested=False)

    def _fail(self, node: n.Node, text: str) -> CodegenError:
        name = type(node).__name__
        return CodegenError(f"{self._describe(node.loc)}: {name}: {text}; this is a defect of darter, please report it")

    def _define(self, values: tuple[n.Value, ...], loc: n.Loc) -> None:
        for value in values:
            if value in self._defined:
                raise CodegenError(f"{self._describe(loc)}: {value!r} is defined twice; this is a defect of darter")
            self._defined.add(value)
            self._visible[value] = None

    def _use(self, values: tuple[n.Value, ...], node: n.Node) -> None:
        for value in values:
            if value not in self._visible:
                raise self._fail(node, f"{value!r} is used where it is not defined")

    def _block(self, block: n.Block, loc: n.Loc, *, nested: bool) -> None:
        before = len(self._visible)
        self._define(block.arguments, loc)
        for node in block.nodes:
            self._node(node, nested=nested)
            self._define(results_of(node), node.loc)
        for value in block.yields:
            if value not in self._visible:
                raise CodegenError(f"{self._describe(loc)}: {value!r} is yielded where it is not defined")
        while nested and len(self._visible) > before:
            self._visible.popitem()

    def _node(self, node: n.Node, *, nested: bool) -> None:
        self._use(operands_of(node), node)
        for text in complaints(node):
            raise self._fail(node, text)
        in_kernel = self._module is None
        if isinstance(node, self._forbidden) or (in_kernel and _reads_address(node)):
            raise self._fail(node, "does not belong here")
        if isinstance(node, n.SharedAlloc) and nested:
            raise self._fail(node, "stands inside another node")
        if isinstance(node, n.Launch):
            self._launch(node)
        for child in n.children(node):
            self._block(child, node.loc, nested=True)

    def _launch(self, node: n.Launch) -> None:
        kernels = self._module.kernels if self._module is not None else []
        if not 0 <= node.kernel < len(kernels):
            raise self._fail(node, f"there is no kernel {node.kernel}")
        wanted = [parameter.type for parameter in kernels[node.kernel].parameters]
        if [argument.type for argument in node.arguments] != wanted:
            raise self._fail(node, f"arguments {node.arguments!r} do not match {wanted!r}")
        for value in (*node.grid, node.shared_bytes):
            if value.type is not i64:
                raise self._fail(node, f"{value!r} is no i64")
