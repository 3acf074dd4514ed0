"""How intrinsics take their arguments: by name, in a kernel only, numbers where numbers are meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.errors import KernelTypeError
from darter.frontend.numbers.promotion import is_number, strong
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    kind_of,
)

Handler = Callable[[Tracer, list[Any], dict[str, Any]], Any]
"""What a name of ``darter.lang`` means: given positional and keyword arguments."""


def bound_names(t: Tracer, name: str, arguments: list[Any], keywords: dict[str, Any], *names: str) -> list[Any]:
    """Return the arguments of an intrinsic by name; a name that ends in ``=`` may be missing (None)."""
    plain = [n.rstrip("=") for n in names]
    values = dict(zip(plain, arguments, strict=False))
    wrong = [key for key in keywords if key not in plain or key in values]
    if len(arguments) > len(names) or wrong:
        found = f"unexpected '{wrong[0]}'" if wrong else f"{len(arguments)} arguments"
        t.fail(KernelTypeError, f"dt.{name} is called wrongly", found=found, accepted=f"dt.{name}({', '.join(names)})")
    values.update(keywords)
    for key, shown in zip(plain, names, strict=True):
        if key not in values and not shown.endswith("="):
            t.fail(KernelTypeError, f"dt.{name} is missing argument '{key}'", accepted=f"dt.{name}({', '.join(names)})")
    return [values.get(key) for key in plain]


def kernel_only(t: Tracer, name: str) -> None:
    """Refuse an intrinsic in a launcher."""
    if t.host:
        t.fail(KernelTypeError, f"dt.{name} has no meaning in a launcher", advice="use it in the kernel")


def as_number(t: Tracer, value: Any, name: str) -> Any:
    """Return ``value`` with its own type, refused unless it is a number."""
    value = strong(t, value)
    if not is_number(value):
        t.fail(KernelTypeError, f"dt.{name} takes a number", found=kind_of(value))
    return value
