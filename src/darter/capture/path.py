"""Resolution paths: where a captured value was found, as plain data that resolves again in any process.

A path is a tuple of steps, a step a tuple that starts with its kind.  The first step is the root:

==================  ====================================================================================================
``function``        the launcher's Python function
``owner``           the class that the launcher was bound through
``argument`` name   the class of an argument, by parameter name
``import`` m, q     the module ``m``, or what its qualified name ``q`` stands for
``environ``         the dict behind ``os.environ``
``libdevice``       the digest of CUDA's device library on this machine
==================  ====================================================================================================

Each further step reads one thing from the value before it:

====================  ===============================================================================================
``cell`` name         what a function's closure cell holds
``name`` name         a function's global, or builtin where there is no such global
``code``              a function, for its code
``defaults``          the count of a function's defaults;  ``default`` i: one of them
``kwdefault`` name    the default of a keyword-only parameter
``parameters`` m      what a launcher's or kernel's annotations demand; ``m`` is 1 for a method
``attr`` name         what stands in a module's dict
``lookup`` name       what the first class of a class's MRO that has the name has there
``descriptor`` name   the same, if it is a descriptor that takes part in reading an instance's attribute
``mro``               a class's MRO, as a tuple
``structure``         what a class is made of: fields, members, special methods
``member`` name       an enum's member
``type``              an instance's class
``field`` name        an instance's attribute, methods bound
``key`` key           a dict's entry (see :func:`key_step`);  ``has`` key: whether there is one
``keys``              a dict's keys in order
``length``            a list's or dict's length
``element`` i         a list's or tuple's element
``func``, ``self``    of a bound, static or class method
``getter``            a property's function
``static``            a snapshot of the content
``is`` path           whether the object here is the one at another path
====================  ===============================================================================================
"""

from __future__ import annotations

from typing import Final

from darter import json_text
from darter.capture.fingerprint import encode

Step = tuple[str | int, ...]
Path = tuple[Step, ...]

FUNCTION_ROOT: Final[Path] = (("function",),)
OWNER_ROOT: Final[Path] = (("owner",),)
ENVIRON_ROOT: Final[Path] = (("environ",),)
LIBDEVICE_ROOT: Final[Path] = (("libdevice",),)


def argument_root(name: str) -> Path:
    """Return the root of the class of the argument ``name``."""
    return (("argument", name),)


def import_root(module: str, qualname: str = "") -> Path:
    """Return the root of a module, or of a class or function that can be imported from it."""
    return (("import", module, qualname),)


def key_step(key: object) -> Step:
    """Return the step that reads ``key`` of a dict; the key is told by type and value.

    Raises ``CaptureRefusedError`` for a key that is not encoded by value.
    """
    if type(key) is str:
        return ("key", "str", key)
    if type(key) is int:
        return ("key", "int", f"{key:x}")
    return ("key", "hex", encode(key).hex())


def identity_step(other: Path) -> Step:
    """Return the step that asks whether an object is the one at ``other``."""
    return ("is", json_text.dumps(other))


def identity_path(step: Step) -> Path:
    """Return the path that :func:`identity_step` was given."""
    return tuple(tuple(part) for part in json_text.loads(str(step[1])))


def describe(path: Path) -> str:
    """Return a path as its reader would write it: ``global 'cfg.BLOCK'``, ``closure 'scale'``, ``environment 'X'``."""
    kind, text = "function", ""
    for position, step in enumerate(path):
        kind, text = _describe_step(kind, text, step, is_last=position == len(path) - 1)
    return f"{kind} '{text}'" if text else kind


_SCOPES: Final = {"cell": "closure", "name": "global"}


def _describe_step(kind: str, text: str, step: Step, *, is_last: bool) -> tuple[str, str]:
    name = str(step[-1])
    match step[0]:
        case "function" | "owner":
            return str(step[0]), ""
        case "argument":
            return "class of argument", name
        case "import":
            return "module" if not name else "name", f"{step[1]}.{name}" if name else str(step[1])
        case "environ":
            return "environment variable", ""
        case "libdevice":
            return "CUDA's device library", ""
        case "cell" | "name":
            return _SCOPES[str(step[0])], name
        case "attr" | "lookup" | "member" | "field" | "descriptor":
            return ("attribute" if not text else kind), f"{text}.{name}" if text else name
        case "key" | "has":
            return kind, _describe_key(kind, text, step) + (" being there" if step[0] == "has" else "")
        case "element":
            return kind, f"{text}[{name}]"
        case "default" | "kwdefault" | "defaults":
            suffix = "" if step[0] == "defaults" else f" {name}"
            return "default" if not text else kind, f"{text} default{suffix}".strip()
        case "code":
            return f"code of {kind}" if is_last else kind, text
        case "parameters":
            return f"annotations of {kind}" if is_last else kind, text
        case "length" | "keys" | "type" | "structure" | "mro":
            return kind, f"{text} {step[0]}".strip() if is_last else text
        case "is":
            return kind, f"{text} is {describe(identity_path(step))}"
        case _:
            return kind, text


def _describe_key(kind: str, text: str, step: Step) -> str:
    value = str(step[2])
    if kind == "environment variable":
        return bytes.fromhex(value).removeprefix(b"bytes:").decode("utf-8", "replace") if step[1] == "hex" else value
    shown = repr(value) if step[1] == "str" else str(int(value, 16)) if step[1] == "int" else "…"
    return f"{text}[{shown}]"
