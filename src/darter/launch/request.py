"""What is asked of the stages that build a launch, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Literal

from darter._native import CallState, Guards
from darter.frozen import Frozen
from darter.ir.options import KernelOptions
from darter.signature.descriptor import Descriptor
from darter.signature.plan import SignaturePlan
from darter.target import Device


class BuildRequest:
    """Everything that one call state depends on, apart from captured values.

    ``descriptors`` are in signature order; ``owner`` is the class of ``self``, or None; ``options`` have every default
    resolved.
    """

    # No record: mypy takes a record's field that holds a function for a method.
    __slots__ = ("descriptors", "device", "function", "options", "owner", "plan")

    def __init__(
        self,
        function: FunctionType,
        plan: SignaturePlan,
        descriptors: Mapping[str, Descriptor],
        device: Device,
        options: KernelOptions,
        owner: type | None,
    ) -> None:
        self.function = function
        self.plan = plan
        self.descriptors = descriptors
        self.device = device
        self.options = options
        self.owner = owner


class Built(Frozen):
    """A ready launch.

    ``origin`` tells where it came from: "compile", "disk", or "memory" (another launcher of the same content).
    """

    state: CallState
    guards: Guards
    origin: Literal["compile", "disk", "memory"]
