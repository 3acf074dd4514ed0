"""The environment and the process's settings: what steers code generation, what does not, and what drift does.

Variables that steer code generation (:data:`STEERING`, a closed list) are live: a store into ``os.environ`` counts at
the next call.  They enter a key as what they resolve to, never as the text that they were given as.  All others are
read when the thing that they configure is first needed (:meth:`Config.from_environment`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal

from darter.errors import ConfigError
from darter.frozen import Frozen

OnDrift = Literal["raise", "recompile"]

STEERING: Final = ("DARTER_ARCH", "DARTER_ASSEMBLER", "DARTER_BOUNDS_CHECK", "DARTER_INTERPRET", "DARTER_PTXAS")
"""Every environment variable that steers code generation."""

ASSEMBLERS: Final = ("driver", "nvjitlink", "ptxas")
LOG_TOPICS: Final = frozenset({"recompiles", "store"})
DUMP_STAGES: Final = frozenset({"ir", "llvm", "asm"})

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})


class Steering(Frozen):
    """What the variables of :data:`STEERING` resolve to.

    ``arch`` is the architecture asked for (``DARTER_ARCH``; None: found on the machine), ``assembler`` what makes
    cubins (``DARTER_ASSEMBLER``; None: the driver, where there is one), ``bounds_check`` whether accesses are checked
    (``DARTER_BOUNDS_CHECK``), ``interpret`` whether kernels run in the interpreter (``DARTER_INTERPRET``), ``ptxas``
    the path of NVIDIA's assembler (``DARTER_PTXAS``; None: looked for where it is needed).
    """

    arch: str | None = None
    assembler: str | None = None
    bounds_check: bool = False
    interpret: bool = False
    ptxas: str | None = None


def steering_variables(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the variables of :data:`STEERING` as they stand, None where one is unset."""
    source = os.environ if environ is None else environ
    return {name: source.get(name) for name in STEERING}


def resolve_steering(variables: Mapping[str, str | None]) -> Steering:
    """Return what ``variables`` ask for.

    Raises:
        ConfigError: a value is none of those accepted.
    """
    return Steering(
        arch=variables.get("DARTER_ARCH") or None,
        assembler=_choice("DARTER_ASSEMBLER", variables.get("DARTER_ASSEMBLER"), ASSEMBLERS),
        bounds_check=_boolean("DARTER_BOUNDS_CHECK", variables.get("DARTER_BOUNDS_CHECK")),
        interpret=_boolean("DARTER_INTERPRET", variables.get("DARTER_INTERPRET")),
        ptxas=variables.get("DARTER_PTXAS") or None,
    )


class Config(Frozen):
    """The environment variables that neither steer code generation nor belong to the store.

    ``log`` are the topics that go to stderr (``DARTER_LOG``), ``dump`` the stages written to ``dump_dir``
    (``DARTER_DUMP``, ``DARTER_DUMP_DIR``), ``verify_keys`` tells whether both keys are compared on every call
    (``DARTER_VERIFY_KEYS``), ``num_threads`` the CPU threads of a launch (``DARTER_NUM_THREADS``; None: all that OpenMP
    offers), which the native module reads for itself, ``line_info`` whether CUDA code is loaded with this machine's
    files in its line table (``DARTER_LINE_INFO``).
    """

    log: frozenset[str] = frozenset()
    dump: frozenset[str] = frozenset()
    dump_dir: str = "darter-dump"
    verify_keys: bool = False
    num_threads: int | None = None
    line_info: bool = False

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Config:
        """Return the configuration as the environment stands.

        Raises:
            ConfigError: a value is none of those accepted.
        """
        source = os.environ if environ is None else environ
        threads = _number("DARTER_NUM_THREADS", source.get("DARTER_NUM_THREADS"), minimum=1.0)
        return cls(
            log=_names("DARTER_LOG", source.get("DARTER_LOG"), LOG_TOPICS),
            dump=_names("DARTER_DUMP", source.get("DARTER_DUMP"), DUMP_STAGES),
            dump_dir=source.get("DARTER_DUMP_DIR") or "darter-dump",
            verify_keys=_boolean("DARTER_VERIFY_KEYS", source.get("DARTER_VERIFY_KEYS")),
            line_info=_boolean("DARTER_LINE_INFO", source.get("DARTER_LINE_INFO")),
            num_threads=None if threads is None else int(threads),
        )


class ProcessSettings:
    """What a program sets for its whole process: ``dt.config``."""

    __slots__ = ("_on_drift",)

    def __init__(self) -> None:
        self._on_drift: OnDrift = "raise"

    @property
    def on_drift(self) -> OnDrift:
        """What a call does when captured state has changed: ``"raise"`` (the default) or ``"recompile"`` (for
        notebooks).

        A function's own ``@dt.jit(on_drift=...)`` goes before it.
        """
        return self._on_drift

    @on_drift.setter
    def on_drift(self, value: OnDrift) -> None:
        self._on_drift = checked_on_drift(value)


process: Final = ProcessSettings()
"""The settings of this process, public as ``dt.config``."""


def checked_on_drift(value: object) -> OnDrift:
    """Return ``value`` if it is a way to treat drift; raises ``ConfigError`` otherwise."""
    if value == "raise":
        return "raise"
    if value == "recompile":
        return "recompile"
    raise ConfigError(f"on_drift is {value!r}; accepted are 'raise' and 'recompile'")


def _boolean(name: str, text: str | None) -> bool:
    lowered = (text or "").strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ConfigError(f"environment variable {name} is {text!r}; accepted are 1, true, yes, on and 0, false, no, off")


def _choice(name: str, text: str | None, accepted: tuple[str, ...]) -> str | None:
    if not text or text in accepted:
        return text or None
    raise ConfigError(f"environment variable {name} is {text!r}; accepted are {', '.join(accepted)}")


def _number(name: str, text: str | None, *, minimum: float) -> float | None:
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = minimum - 1
    if not minimum <= number < float("inf"):
        raise ConfigError(f"environment variable {name} is {text!r}; accepted are numbers from {minimum:g} up")
    return number


def _names(name: str, text: str | None, accepted: frozenset[str]) -> frozenset[str]:
    found = frozenset(part.strip() for part in (text or "").split(",") if part.strip())
    if not found <= accepted:
        unknown = ", ".join(sorted(found - accepted))
        raise ConfigError(f"environment variable {name} names {unknown}; accepted are {', '.join(sorted(accepted))}")
    return found
