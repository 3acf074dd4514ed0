"""NVIDIA's assemblers: found, identified by content, and clear where they are not to be found or refuse."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from darter.artifacts import cuda_toolkit
from darter.backends import cuda
from darter.backends.cubin import sections
from darter.backends.toolkit_assemblers import choose
from darter.codegen import nvptx
from darter.config import Steering
from darter.errors import CompileError, ConfigError, DriverError
from darter.target import Target
from tests.assemblers import ptxas
from tests.property.kernel_generator import generate

HOPPER = Target("cuda", "sm_90", "", 32)


def _ptx() -> str:
    return nvptx.compile_kernels([generate(3, 24, 32).kernel], HOPPER)[0]


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_toolkit, "find", lambda places: None)


def test_the_same_text_gives_the_same_bytes() -> None:
    first, second = (ptxas().assemble(_ptx(), HOPPER) for _ in range(2))
    assert first == second


def test_nvjitlink_assembles() -> None:
    if cuda_toolkit.find(cuda_toolkit.NVJITLINK) is None:
        pytest.skip("no libnvJitLink here; pip install nvidia-nvjitlink brings it")
    assembler = choose("nvjitlink", None)
    assert assembler.identity.startswith("nvJitLink 1")
    cubin = assembler.assemble(_ptx(), HOPPER)
    assert any(section.name.startswith(".text.") for section in sections(cubin))
    with pytest.raises(CompileError, match=r"(?s)nvJitLink refuses kernel 'generated.*mulx"):
        assembler.assemble(_ptx().replace("ld.param", "mulx.param"), HOPPER)


def test_a_refusal_shows_the_kernel_and_the_assembler_s_text() -> None:
    broken = _ptx().replace("ld.param", "mulx.param")
    with pytest.raises(CompileError, match=r"(?s)ptxas refuses kernel 'generated.*' for sm_90:\n.*darter\.ptx.*mulx"):
        ptxas().assemble(broken, HOPPER)


def test_the_identity_is_version_and_content_wherever_it_lies(tmp_path: Path) -> None:
    text = "print('Cuda compilation tools\\nBuild cuda_13.0.r13.0/compiler.1')"
    first, second = _script(tmp_path / "ptxas", text), _script(tmp_path / "other", text)
    other = _script(tmp_path / "newer", text.replace("compiler.1", "compiler.2"))
    assert choose("ptxas", first).identity == choose("ptxas", second).identity != choose("ptxas", other).identity
    assert choose("ptxas", first).identity.startswith("ptxas Build cuda_13.0.r13.0/compiler.1 sha256 ")
    assert str(tmp_path) not in choose("ptxas", first).identity


def test_what_is_no_ptxas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"DARTER_PTXAS is .*No such file"):
        choose("ptxas", str(tmp_path / "absent"))
    with pytest.raises(ConfigError, match="is no ptxas"):
        choose("ptxas", _script(tmp_path / "ptxas", "raise SystemExit(3)"))
    plain = tmp_path / "plain"
    plain.write_text("no program")
    with pytest.raises(ConfigError, match="cannot be run"):
        choose("ptxas", str(plain))


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_not_installed_is_said_with_the_remedy() -> None:
    for asked in ("ptxas", "nvjitlink", None):
        with pytest.raises(ConfigError, match="install nvidia-cuda-nvcc"):
            choose(asked, None)


def test_the_driver_assembles_unless_another_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ptxas_path = _script(tmp_path / "ptxas", "print('Build x')")
    monkeypatch.setattr(cuda, "driver_identity", lambda: "libcuda 13000")
    assert cuda.assembler(Steering()).identity == "libcuda 13000"
    assert cuda.assembler(Steering(ptxas=ptxas_path)).identity == "libcuda 13000"
    assert cuda.assembler(Steering(assembler="ptxas", ptxas=ptxas_path)).identity.startswith("ptxas Build x")


def test_without_a_driver_ptxas_assembles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent() -> str:
        raise DriverError("no CUDA driver")

    monkeypatch.setattr(cuda, "driver_identity", absent)
    ptxas_path = _script(tmp_path / "ptxas", "print('Build x')")
    assert cuda.assembler(Steering(ptxas=ptxas_path)).identity.startswith("ptxas Build x")
    with pytest.raises(DriverError):
        cuda.assembler(Steering(assembler="driver", ptxas=ptxas_path))


def test_a_toolkit_is_found_by_cuda_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("bin/ptxas", "lib64/libnvJitLink.so.12", "lib64/libnvJitLink.so.13", "lib64/libnvJitLink.so.13.0.39"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(cuda_toolkit, "_wheels", lambda: iter(()))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert cuda_toolkit.find(cuda_toolkit.PTXAS) == os.path.join(tmp_path, "bin/ptxas")
    assert cuda_toolkit.find(cuda_toolkit.NVJITLINK) == os.path.join(tmp_path, "lib64/libnvJitLink.so.13")
    assert cuda_toolkit.find(cuda_toolkit.LIBDEVICE) != os.path.join(tmp_path, "bin/ptxas")


def test_triton_s_parts_are_found_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "triton" / "backends" / "nvidia"
    for name in ("bin/ptxas", "lib/libdevice.10.bc"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text("")
    monkeypatch.setattr(cuda_toolkit, "_package", lambda name: [str(tmp_path / name)])
    roots = list(cuda_toolkit._roots())
    assert roots[-1] == str(own)
    monkeypatch.setattr(cuda_toolkit, "_roots", lambda: iter(roots[-1:]))
    assert cuda_toolkit.find(cuda_toolkit.PTXAS) == str(own / "bin" / "ptxas")
    assert cuda_toolkit.find(cuda_toolkit.LIBDEVICE) == str(own / "lib" / "libdevice.10.bc")
