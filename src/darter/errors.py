"""Every exception and warning that darter raises, under one root.

A refusal is a :class:`DarterError` and also the builtin that its kind suggests: ``TypeError`` for a wrong kind, dtype,
rank or arity, ``ValueError`` for a wrong value, extent or grid.  A refusal of an argument says ``argument 'NAME'``; a
refusal of kernel code carries file, line and column and shows the source with a caret.
"""

from __future__ import annotations


class DarterError(Exception):
    """Root of everything darter raises."""


class ConfigError(DarterError, ValueError):
    """A setting or an environment variable has a value that is not accepted."""


# -- calls ------------------------------------------------------------------------------------------------------------


class ArgumentTypeError(DarterError, TypeError):
    """An argument of a call has the wrong kind, dtype or rank, or the call has the wrong arity."""


class ArgumentValueError(DarterError, ValueError):
    """An argument of a call has the right kind and a wrong value, extent, alignment or device."""


class SignatureError(DarterError, TypeError):
    """A decorated function's signature or annotations, or the options given to a decorator, are not accepted."""


class UnkeyableError(ArgumentTypeError):
    """A compile-time value cannot be keyed by value."""


class GridError(ArgumentValueError):
    """A grid or block is out of the limits, or is no integer."""


class LauncherArithmeticError(DarterError, ValueError):
    """Checked arithmetic in a launcher body overflowed or divided by zero."""


# -- kernel and launcher code -----------------------------------------------------------------------------------------


class CompileError(DarterError):
    """Kernel or launcher code cannot be compiled; the message shows file, line, column and a caret."""


class KernelTypeError(CompileError, TypeError):
    """An operation in kernel or launcher code is given a type that it does not accept."""


class KernelValueError(CompileError, ValueError):
    """An operation in kernel or launcher code is given a value that it does not accept."""


class KernelNameError(CompileError, NameError, TypeError):
    """A name in kernel or launcher code is unbound, or bound on one path only."""


class UnsupportedSyntaxError(CompileError, TypeError):
    """Kernel or launcher code uses Python that the language does not have."""


class StaticEvaluationError(CompileError, ValueError):
    """Python code that runs at compile time raised; the exception is the ``__cause__``."""


class SourceUnavailableError(CompileError, ValueError):
    """The source of a decorated function or of a helper cannot be found, or is not the code that runs."""


class CaptureRefusedError(CompileError, TypeError):
    """Kernel or launcher code reads a value that cannot be guarded."""


# -- after the build --------------------------------------------------------------------------------------------------


class CaptureDriftError(DarterError, RuntimeError):
    """A captured value is no longer what the compiled code was built with."""


class CaptureRaceError(CaptureDriftError):
    """A captured value changed while the code that reads it was being compiled; nothing was published."""


class NotCompiledError(DarterError, RuntimeError):
    """A ``CompiledFunction`` was given arguments that it was not compiled for."""


class ArtifactError(DarterError, ValueError):
    """An artifact is damaged or of another schema; callers treat it as a miss."""


class DriverError(DarterError, RuntimeError):
    """A GPU driver call failed; the message holds the status name and the launch."""


class StreamCaptureError(DarterError, RuntimeError):
    """A launch would have to compile or load while its stream is being captured."""


class DeviceAssertError(DarterError, AssertionError):
    """A ``dt.assert_`` or a bounds check failed on the device."""


class KernelCheckError(DarterError, RuntimeError):
    """The interpreter found a race, a read of unwritten shared memory, an access out of bounds or divergent flow."""


class KeyMismatchError(DarterError, RuntimeError):
    """The native key of a call is not the reference key: a defect of darter, found under ``DARTER_VERIFY_KEYS=1``."""


class CodegenError(DarterError, RuntimeError):
    """Generated code broke a rule of the code generator: a defect of darter, please report it."""


class StoreWarning(UserWarning):
    """The artifact store could not be read or written; launches go on from memory."""


class VariantsWarning(UserWarning):
    """A launcher has passed the limit of compiled variants."""
