"""Group G of the public failure cases: errors that reach the caller, say what and where, and leave nothing behind."""

from __future__ import annotations

import functools
import linecache
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt

pytestmark = pytest.mark.usefixtures("fresh_store")


@dt.kernel
def fill_kernel(o: dt.Tensor, v: dt.Float32, n: dt.Int64):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = v


@dt.jit
def fill(o: dt.Tensor[dt.f32, "n"], v: dt.Float32):
    fill_kernel(o, v, o.shape[0]).launch(grid=dt.cdiv(o.shape[0], 32), block=32)


def run_script(path: Path, text: str) -> subprocess.CompletedProcess[str]:
    path.write_text(textwrap.dedent(text))
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, str(path)], env=found, capture_output=True, text=True, check=False)


def test_G01_a_failed_build_raises_each_time_and_writes_nothing() -> None:
    @dt.kernel
    def bad_kernel(o: dt.Tensor):
        o[0] = 1.0
        o[0] = o.no_such_thing

    @dt.jit
    def bad(o: dt.Tensor):
        bad_kernel(o).launch(grid=1, block=1)

    o = np.zeros(1, np.float32)
    said = set()
    for _ in range(3):
        with pytest.raises(dt.CompileError, match="no_such_thing") as raised:
            bad(o)
        said.add(str(raised.value))
    assert len(said) == 1
    assert o[0] == 0


def test_G02_conversion_errors_reach_the_caller_warm(capfd: pytest.CaptureFixture[str]) -> None:
    o = np.zeros(3, np.float32)
    fill(o, 1.0)
    for _ in range(100):
        with pytest.raises(TypeError, match="argument 'o'"):
            fill(o.astype(np.float64), 1.0)
        with pytest.raises(TypeError, match="argument 'v'"):
            fill(o, object())
    assert "Exception ignored" not in capfd.readouterr().err


def test_G07_code_without_source_is_the_users_matter_and_the_interpreter_lives(tmp_path: Path) -> None:
    done = run_script(
        tmp_path / "program.py",
        """
        import numpy as np
        import darter as dt

        names = {"dt": dt}
        exec('''
        @dt.kernel
        def k(o: dt.Tensor): o[0] = 1.0
        @dt.jit
        def f(o: dt.Tensor): k(o).launch(grid=1, block=1)
        '''.replace("\\n        ", "\\n"), names)
        try:
            names["f"](np.zeros(1, np.float32))
        except dt.SourceUnavailableError as error:
            print("refused:", error)
        print("alive")
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "source" in done.stdout
    assert "linecache" in done.stdout
    assert done.stdout.endswith("alive\n")


SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
made = interpreters.create()
interpreters.run_string(made, '''
import sys
sys.path[:] = {path!r}
try:
    import darter._native
except ImportError as error:
    print("refused:", error)
''')
"""


def test_G07_a_sub_interpreter_is_told_so() -> None:
    code = SUB_INTERPRETER.replace("{path!r}", repr(sys.path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "refused:" in done.stdout
    assert "interpreter" in done.stdout


def test_G07_a_wrong_kind_of_decorator_is_named() -> None:
    with pytest.raises(dt.SignatureError, match="plain Python function"):
        dt.jit(fill)
    with pytest.raises(dt.KernelTypeError, match=r"\.launch"):
        fill_kernel(np.zeros(1), 1.0, 1)

    @dt.jit
    def launches_a_function(o: dt.Tensor):
        (lambda x: x)(o).launch(grid=1, block=1)

    with pytest.raises(dt.CompileError, match="launch"):
        launches_a_function(np.zeros(1, np.float32))


def keep(_: Any) -> Callable[[Any], Any]:
    return lambda function: function


@keep(lambda a: (a,))
@dt.jit
@keep(lambda a: [a, (a, a)])
def behind_lambdas(o: dt.Tensor): fill_kernel(o, 5.0, o.shape[0]).launch(grid=1, block=32)  # fmt: skip


def test_G08_source_is_found_behind_decorators_with_lambdas() -> None:
    o = np.zeros(3, np.float32)
    behind_lambdas(o)
    assert (o == 5).all()


def adding_five(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(o: dt.Tensor):
        fill_kernel(o, 5.0, o.shape[0]).launch(grid=1, block=32)

    wrapper.mark = "kept"  # type: ignore[attr-defined]
    return wrapper


@dt.jit
@adding_five
def behind_a_wrapper(o: dt.Tensor):
    raise ValueError("the wrapper does not call this")


@pytest.mark.parametrize("launcher", [behind_a_wrapper, behind_a_wrapper.with_options(bounds_check=True)])
def test_G08_a_wrapper_is_compiled_itself_and_not_what_it_wraps(launcher: Any) -> None:
    o = np.zeros(3, np.float32)
    launcher(o)
    assert (o == 5).all()
    assert launcher.mark == "kept"
    assert launcher.__name__ == "behind_a_wrapper"
    assert launcher.__wrapped__.__code__.co_name == "wrapper"


def test_G08_source_that_does_not_match_the_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    text = "import darter as dt\n@dt.jit\ndef f(o: dt.Tensor):\n    k(o, {}).launch(grid=1, block=32)\n"
    path.write_text(text.format(1.0))
    names: dict[str, Any] = {"k": fill_kernel}
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.write_text(text.format(2.0))
    linecache.checkcache(str(path))
    with pytest.raises(dt.SourceUnavailableError, match="not the code that runs"):
        names["f"](np.zeros(3, np.float32))


def test_G10_limits_are_quoted() -> None:
    @dt.jit
    def wide(o: dt.Tensor, BLOCK: dt.Constexpr[int]):
        fill_kernel(o, 1.0, 0).launch(grid=1, block=BLOCK)

    @dt.jit
    def tall(o: dt.Tensor, rows: dt.Int64):
        fill_kernel(o, 1.0, 0).launch(grid=(1, rows), block=32)

    o = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="4096") as raised:
        wide(o, 4096)
    assert "1024" in str(raised.value)
    for _ in range(2):
        with pytest.raises(dt.GridError, match="65536") as raised:
            tall(o, 65536)
        assert "65535" in str(raised.value)
        assert "test_g_messages.py" in str(raised.value)


@pytest.mark.parametrize(
    ("value", "found"),
    [(np.int64(3), "int64"), ([1.0], "list"), (None, "None"), ("text", "str"), (np.zeros(2, "M8[s]"), "datetime64")],
)
def test_G13_the_argument_and_what_it_was_are_named(value: Any, found: str) -> None:
    with pytest.raises(TypeError, match="argument 'o'") as raised:
        fill(value, 1.0)
    assert found in str(raised.value)
    assert "accepted" in str(raised.value) or "Annotate" in str(raised.value)
