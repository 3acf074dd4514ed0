"""Streams, graphs and arrays of other libraries on a CUDA device. Cases F02, F03, F05, F06, F14, F15."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import darter as dt
from tests.backend.launchers import add, make_add

N = 5000


@pytest.fixture
def arrays(cuda):
    import torch

    x, y = (torch.arange(N, device=cuda.device, dtype=torch.float32) * factor for factor in (1, 3))
    out = torch.zeros_like(x)
    add(x, y, out)
    torch.cuda.synchronize()
    return x, y, out


def test_the_current_stream_of_torch_orders_the_launch(arrays):
    import torch

    x, y, out = arrays
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.fill_(1)
        add(x, y, out)
    stream.synchronize()
    assert torch.equal(out, y + 1)


@pytest.mark.parametrize("spelling", ["torch", "handle", "protocol", "pair"])
def test_an_explicit_stream_wins(arrays, spelling):
    import torch

    x, y, out = arrays
    stream = torch.cuda.Stream()

    class Protocol:
        def __cuda_stream__(self):
            return (0, stream.cuda_stream)

    class Pair:
        __cuda_stream__ = (0, stream.cuda_stream)

    chosen = {"torch": stream, "handle": stream.cuda_stream, "protocol": Protocol(), "pair": Pair()}[spelling]
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.fill_(7)
    add(x, y, out, stream=chosen)
    stream.synchronize()
    assert torch.equal(out, y + 7)


def test_a_captured_graph_launches_anew_on_every_replay(arrays):
    import torch

    x, y, out = arrays
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(x, y, out)
    for value in (2, 5):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, y + value)


def test_a_graph_outlives_its_launcher_and_unload(arrays):
    import torch

    x, y, out = arrays
    graph = torch.cuda.CUDAGraph()
    launcher = make_add(0.25)
    launcher.warm(x, y, out)
    with torch.cuda.graph(graph):
        launcher(x, y, out)
    del launcher
    gc.collect()
    dt.unload()
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y + 0.25)


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")  # as it should be
def test_a_cold_launch_under_capture_names_the_remedy_and_leaves_nothing(arrays):
    import torch

    x, y, out = arrays
    launcher = make_add(0.5)
    graph = torch.cuda.CUDAGraph()
    out.zero_()
    with torch.cuda.graph(graph), pytest.raises(dt.DarterError, match=r"compile before capture.*add\.warm"):
        launcher(x, y, out)
    torch.cuda.synchronize()
    assert not out.any()
    launcher.warm(x, y, out)
    again = torch.cuda.CUDAGraph()
    with torch.cuda.graph(again):
        launcher(x, y, out)
    again.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y + 0.5)


def test_unloaded_code_is_loaded_again(arrays):
    import torch

    x, y, out = arrays
    handle = dt.compile(add, x, y, out)
    for call in (add, handle):
        for forget in (dt.unload, add.clear):
            forget()
            out.zero_()
            call(x, y, out)
            assert torch.equal(out, x + y)


def test_tensors_that_require_grad_are_read_like_others(arrays):
    import torch

    x, y, out = arrays
    weight = torch.nn.Parameter(x.clone())
    for call in (add, dt.compile(add, weight, y, out)):
        call(weight, y, out)
        assert torch.equal(out, x + y)
    assert weight.grad_fn is None


def test_host_and_device_arrays_in_one_call_are_named(arrays):
    x, y, out = arrays
    for _ in range(2):
        with pytest.raises(ValueError, match=r"argument 'y': found on device cpu:0, but argument 'x' is on cuda:0"):
            add(x, y.cpu(), out)
    with pytest.raises(ValueError, match=r"argument 'y': found on device cuda:0, but argument 'x' is on cpu:0"):
        add(x.cpu(), y, out)


def test_the_current_stream_of_cupy_and_a_dispute(arrays):
    import torch

    cupy = pytest.importorskip("cupy")
    x, y, out = arrays
    a, b, c = (cupy.from_dlpack(each) for each in (x, y, out))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        c.fill(0)
        add(a, b, c)
        with pytest.raises(ValueError, match="current stream is"):
            add(a, y, c)
        add(a, y, c, stream=stream.ptr)
    stream.synchronize()
    assert torch.equal(out, x + y)
    add(a, y, c)  # both frameworks are on the default stream here
    torch.cuda.synchronize()


def test_jax_arrays_are_read_once_they_are_ready(arrays, monkeypatch):
    import torch

    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX runs on the CPU here")
    _, y, out = arrays
    big = jax.numpy.ones((3000, 3000))
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            x = (big @ big @ big)[0, :1] * jax.numpy.ones(N)
            add(x, y, out)
        stream.synchronize()
        assert torch.equal(out, torch.full_like(y, 9e6) + y)


def test_numba_arrays_say_their_device_and_stream(arrays):
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack
    numba_cuda = pytest.importorskip("numba.cuda")
    host = np.arange(N, dtype=np.float32)
    a, out = numba_cuda.to_device(host), numba_cuda.device_array(N, np.float32)
    add(a, a, out)
    np.testing.assert_array_equal(out.copy_to_host(), 2 * host)


def test_no_call_holds_its_tensors(arrays):
    import torch

    x, y, out = arrays
    before = torch.cuda.memory_allocated()
    temporary = torch.ones_like(x)
    add(temporary, y, out)
    del temporary
    assert torch.cuda.memory_allocated() == before


def test_a_destroyed_streams_handle_is_never_remembered(arrays):
    import torch

    cupy = pytest.importorskip("cupy")
    x, y, out = arrays
    for value in range(20):
        stream = cupy.cuda.Stream(non_blocking=True)
        x.fill_(value)
        torch.cuda.synchronize()
        add(x, y, out, stream=stream.ptr)
        stream.synchronize()
        assert torch.equal(out, y + value)
        del stream
