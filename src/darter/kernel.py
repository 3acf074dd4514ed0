"""The decorators.  The stages behind them are in ``pipeline``, which a launcher opens at its first use.

The first launcher of a process imports what a launch from disk needs.  Beyond that, a package with a hundred launchers
costs a hundred small objects: no key, store, front end or backend.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from darter import _native
from darter.errors import SignatureError
from darter.ir.options import KernelOptions
from darter.lang.kernel_function import KernelFunction
from darter.launch.options import JitOptions, jit_options, kernel_options
from darter.launch.wrapping import wrap

if TYPE_CHECKING:
    from darter.launch.launcher import Launcher


@overload
def kernel(function: Callable[..., Any], /) -> KernelFunction: ...
@overload
def kernel(**options: Any) -> Callable[[Callable[..., Any]], KernelFunction]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Make a kernel of a function: ``@dt.kernel`` or ``@dt.kernel(fast_math=True)``.

    Inside a launcher, ``k(x, y, N).launch(grid=..., block=..., stream=..., shared=...)`` launches it.

    Raises:
        SignatureError: what is decorated is no plain Python function, or an option is unknown.
    """
    resolved = kernel_options(KernelOptions(), options)
    if function is None:
        return lambda decorated: KernelFunction(_plain(decorated, "dt.kernel"), resolved)
    return KernelFunction(_plain(function, "dt.kernel"), resolved)


@overload
def jit(function: Callable[..., Any], /) -> _native.JitFunction: ...
@overload
def jit(**options: Any) -> Callable[[Callable[..., Any]], _native.JitFunction]: ...
def jit(function: Any = None, /, **options: Any) -> Any:
    """Make a host launcher of a function: ``@dt.jit`` or ``@dt.jit(on_drift="recompile")``.

    Nothing is compiled, read or probed before the first call.

    Raises:
        SignatureError: what is decorated is no plain Python function, or an option is unknown.
    """
    resolved = jit_options(JitOptions(), options)
    if function is None:
        return lambda decorated: _jit(_plain(decorated, "dt.jit"), resolved)
    return _jit(_plain(function, "dt.jit"), resolved)


def compile(function: _native.JitFunction, /, *args: Any, **kwargs: Any) -> _native.CompiledFunction:
    """Return the launcher compiled and loaded for arguments like these; never launches.

    It binds like the launcher, checks what it is given and what it captured, and raises ``NotCompiledError`` or
    ``CaptureDriftError`` instead of compiling.

    Raises:
        SignatureError: ``function`` is not decorated with ``@dt.jit``.
    """
    if not isinstance(function, _native.JitFunction):
        raise SignatureError(f"dt.compile takes a function decorated with @dt.jit; found a {type(function).__name__}")
    launcher: Launcher = function.cold
    return launcher.compile(*args, **kwargs)


def unload() -> None:
    """Unload all code that this process has loaded, except what a stream capture holds; waits for running kernels.

    Launchers and what ``dt.compile`` returned go on: their next call loads the code again.
    """
    if "darter.pipeline" in sys.modules:
        from darter import pipeline

        pipeline.unload()


def synchronize(device: int | None = None) -> None:
    """Wait for all work of the CUDA device with this number, or of every device that darter has launched on.

    Launches on the CPU are done when they return.

    Raises:
        DeviceAssertError: an assertion of a kernel has failed on the device.
        DriverError: the device's work failed, or there is no such device.
    """
    if device is not None or "darter.backends.cuda" in sys.modules:
        from darter.backends import cuda

        cuda.synchronize(device)


def _plain(function: Any, decorator: str) -> types.FunctionType:
    if not isinstance(function, types.FunctionType):
        raise SignatureError(
            f"@{decorator} takes a plain Python function; found a {type(function).__name__}. Put it below "
            "@staticmethod or @classmethod, and above no other decorator"
        )
    if function.__name__ == "<lambda>":
        raise SignatureError(f"{decorator} takes a function made by def; found a lambda. Give it a name and a body")
    return function


def _jit(function: types.FunctionType, options: JitOptions) -> _native.JitFunction:
    # Not at the first call, which somebody waits for: the 40 modules that a launch from disk needs take 5 to 8 ms.  Not
    # by ``import darter`` either, which programs without a launcher do too.
    from darter import pipeline

    def open_launcher(dispatcher: _native.JitFunction, is_method: bool) -> Launcher:
        return pipeline.launcher(function, options, dispatcher, is_method)

    return wrap(_native.JitFunction(open_launcher), function, options)
