"""What binding a call rests on in a launcher's function: calls bind by a plan that is made once."""

from __future__ import annotations

import types

from darter.capture.fingerprint import fingerprint
from darter.capture.parameters import demanded
from darter.errors import CaptureRefusedError
from darter.signature.plan import SignaturePlan


def parameters_of(function: types.FunctionType, plan: SignaturePlan) -> tuple[object, ...]:
    """Return parameters, annotations and defaults of ``function`` as a value: equal as long as a plan of them is right.

    ``plan`` is the plan of ``function`` as it is now.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = tuple(map(_told, function.__defaults__ or ()))
    keyword_defaults = tuple((name, _told(value)) for name, value in sorted((function.__kwdefaults__ or {}).items()))
    told = fingerprint(demanded(plan))
    return (names, code.co_argcount, code.co_flags & 0x0C, defaults, keyword_defaults, told)


def _told(value: object) -> object:
    try:
        return fingerprint(value)
    except CaptureRefusedError:
        return id(value)  # a default that no compile-time value can be; the function holds it
