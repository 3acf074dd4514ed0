"""On a CUDA device: code of every assembler runs, and code with this machine's files in its line table does too."""

from __future__ import annotations

import inspect
import re

import pytest

import darter as dt
from darter.artifacts import cuda_toolkit
from darter.backends import cuda as backend, line_table
from tests.backend.launchers import make_add

N = 1000


def _added(cuda, launcher, more) -> bool:
    import torch

    x = torch.arange(N, device=cuda.device, dtype=torch.float32)
    out = torch.zeros_like(x)
    launcher(x, x, out)
    torch.cuda.synchronize()
    return bool(torch.equal(out, 2 * x + more))


@pytest.mark.parametrize(("name", "more"), [("driver", 11.0), ("ptxas", 12.0), ("nvjitlink", 13.0)])
def test_code_of_every_assembler_runs(cuda, name, more, monkeypatch, fresh_store):
    places = {"ptxas": cuda_toolkit.PTXAS, "nvjitlink": cuda_toolkit.NVJITLINK}
    if name in places and cuda_toolkit.find(places[name]) is None:
        pytest.skip(f"{name} is not installed")
    launcher = make_add(more)
    before = launcher.cache_key(*[_tensor(cuda)] * 3)
    monkeypatch.setenv("DARTER_ASSEMBLER", name)
    assert (launcher.cache_key(*[_tensor(cuda)] * 3) == before) == (name == "driver")
    assert _added(cuda, launcher, more)
    assert launcher.cache_info().compiles == 1


def test_code_with_files_and_lines_runs_and_is_the_same_artifact(cuda, monkeypatch, fresh_store):
    seen: list[bytes] = []
    place = line_table.with_places

    def noting(cubin, places):
        seen.append(place(cubin, places))
        return seen[-1]

    import darter.launch.line_info as line_info

    monkeypatch.setattr(line_info, "with_places", noting)
    monkeypatch.setenv("DARTER_LINE_INFO", "1")
    launcher = make_add(14.0)
    assert _added(cuda, launcher, 14.0)
    assert re.search(re.escape(inspect.getsourcefile(make_add).encode()), seen[0])
    launcher.clear()
    monkeypatch.delenv("DARTER_LINE_INFO")
    assert _added(cuda, launcher, 14.0)
    assert (launcher.cache_info().compiles, len(seen)) == (1, 1)


def test_the_driver_s_line_table_is_read_and_its_ptx_dropped(cuda):
    text = "\n".join(
        [
            ".version 7.8", ".target sm_80", ".address_size 64", ".visible .entry k(.param .u64 p)", "{",
            ".reg .b64 %a; .reg .b32 %b;", ".loc 1 3 1", "ld.param.u64 %a, [p];", ".loc 1 4 1",
            "mov.b32 %b, 7; st.global.b32 [%a], %b;", "ret;", "}", '.file 1 "module.kernel"',
        ]
    )  # fmt: skip
    cubin = backend.context(0).link(text, 0)
    shown = line_table.with_places(line_table.without_text(cubin), lambda name: ("/some/where/k.py", 100))
    assert b"module.kernel" in cubin
    assert b"/some/where/k.py" in shown
    assert b"st.global" not in shown
    assert backend.context(0).load(shown, 0).kernel("k", "k", 0, 1, 0, (1, 1, 1)) is not None


def _tensor(cuda):
    import torch

    return torch.zeros(N, device=cuda.device)


def test_resources_are_told_of_what_is_loaded(cuda):
    launcher, x = make_add(15.0), _tensor(cuda)
    launcher.warm(x, x, x)
    line = launcher.explain(x, x, x, resources=True).split("\n")[1]
    assert re.fullmatch(
        r"kernel '\w+': [1-9]\d* registers a thread, \d+ bytes of static shared memory, 0 bytes of local memory "
        r"\(spills\), at most \d+ threads a block, [1-9]\d* blocks a multiprocessor "
        r"\([1-9]\d* % of its threads\)",
        line,
    )
    dt.synchronize()
