"""What the native module asks of the CUDA driver, call by call, and how it reports what the driver answers."""

from __future__ import annotations

import pytest


def test_a_default_stream_gets_the_context_and_the_thread_keeps_its_own(run_on_stub):
    """The context is looked at once the driver has refused a launch, and until it is the right one again."""
    printed = run_on_stub("""
        import ctypes
        first, second = context(0), context(1)
        run = state(kernel(second.load(b"cubin", 1))).run
        driver, handle = ctypes.CDLL(DRIVER), ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(handle), 1)
        for step in range(4):
            if step == 2:
                driver.cuCtxPushCurrent_v2(handle)
            forget()
            run((0, 5, 6, 7, 0))
            print(*calls("cuLaunchKernelEx", "cuCtxPushCurrent", "cuCtxPopCurrent"), sep="\\n")
            print("asked" if calls("cuCtxGetCurrent") else "not asked")
    """)
    launch = "cuLaunchKernelEx grid=5,6,7 block=64,2,1 shared=0 stream=(nil) current=1 packed=0000000000000000"
    elsewhere = ["cuCtxPushCurrent 1", launch, "cuCtxPopCurrent 1", "asked"]
    assert printed.splitlines() == [
        *("cuLaunchKernelEx refused", *elsewhere),
        *elsewhere,
        *(launch, "asked"),
        *(launch, "not asked"),
    ]


def test_parameters_are_packed_where_the_driver_has_them(run_on_stub):
    """At 0, 8, 12, 16 and 24, of 8, 4, 4, 8 and 4 bytes; those of messages come last."""
    printed = run_on_stub("""
        from dataclasses import replace
        for messages in (0, 1):
            handle = context().load(b"cubin", 7).kernel("symbol_0", "scale", 3, 5, messages, (64, 2, 1))
            spec = LaunchSpec(0, (4, 3, 2, 1, 0), (5, 5, 5), (64, 2, 1), 6, LaunchOptions(), 0)
            body = tuple(Instruction(op, 0, 0, 0, 0, 0, -1) for op in (Opcode.LAUNCH, Opcode.RETURN))
            program = Program(7, (), 7, body, (spec,), (), (Loc(0, 0, 0, 0, 0),))
            run = _native.CallState(encode(program), (handle,), handle.code, None, (), None).run
            run((0xA1, 0xB2B2B2B2B2B2B2B2, 0xC3C3C3C3, 0xFFFFFFFFD4D4D4D4, 0xE5E5E5E5E5E5E5E5, 1, 0), 0xA1)
            print(calls("cuLaunchKernelEx")[-1].partition("packed=")[2])
    """)
    plain, with_messages = printed.splitlines()
    own = "e5" * 8 + "d4" * 4 + "c3" * 4 + "b2" * 8 + "a1000000"
    assert plain == own
    # The address of the asserts, 4 bytes of which the stub's sixth parameter has, and then module 7, kernel 3.
    assert with_messages.startswith(own)
    assert with_messages[len(own) + 8 :] == "0300000007000000"


def test_an_explicit_stream_needs_no_current_context(run_on_stub):
    printed = run_on_stub("""
        run = state(kernel(context(0).load(b"cubin", 1))).run
        forget()
        run((0, 1, 1, 1, 0), 0xA1)
        print(*calls(), sep="\\n")
    """)
    assert printed.splitlines() == [
        "cuStreamGetCtx",
        "cuLaunchKernelEx grid=1,1,1 block=64,2,1 shared=0 stream=0xa1 current=-1 packed=0000000000000000",
    ]


def test_a_stream_of_another_device_is_refused(run_on_stub):
    printed = run_on_stub("""
        run = state(kernel(context(0).load(b"cubin", 1))).run
        print(failure(run, (0, 1, 1, 1, 0), 0xB1), calls("cuLaunchKernelEx"))
    """)
    assert "ArgumentValueError" in printed
    assert "the stream 0xb1 belongs to another device" in printed
    assert printed.endswith("[]\n")


def test_every_context_call_is_paired(run_on_stub):
    printed = run_on_stub("""
        device = context(1)
        module = device.load(b"cubin", 1)
        handle = kernel(module)
        handle.resources()
        device.link("ptx", 0), device.synchronize(), device.is_capturing(0), module.unload()
        print(len(calls("cuCtxPushCurrent")), len(calls("cuCtxPopCurrent")))
    """)
    pushed, popped = map(int, printed.split())
    assert pushed == popped >= 6


def test_loading_is_allowed_while_another_stream_is_captured(run_on_stub):
    printed = run_on_stub("""
        kernel(context().load(b"cubin", 1))
        print(calls("cuModuleLoadDataEx", "cuFuncLoad"))
    """)
    assert printed == "['cuModuleLoadDataEx relaxed', 'cuFuncLoad']\n"


def test_a_captured_module_is_never_unloaded(run_on_stub):
    printed = run_on_stub(
        """
        module = context().load(b"cubin", 1)
        run = state(kernel(module)).run
        run((0, 1, 1, 1, 0), 0xA1)
        print(module.captured, module.unload(), module.loaded, calls("cuModuleUnload"))
        """,
        STUB_CAPTURING="1",
    )
    assert printed == "True False True []\n"


def test_an_unloaded_module_is_loaded_again_by_its_next_launch(run_on_stub):
    printed = run_on_stub("""
        module = context().load(b"cubin", 1)
        run = state(kernel(module)).run
        run((0, 1, 1, 1, 0))
        print(module.captured, module.unload(), module.loaded)
        run((0, 1, 1, 1, 0))
        launched = [call for call in calls("cuLaunchKernelEx") if "grid" in call]
        print(module.loaded, len(calls("cuModuleLoadDataEx")), len(launched))
        print(calls("cuCtxSynchronize", "cuModuleUnload"))
    """)
    assert printed.splitlines() == ["False True False", "True 2 2", "['cuCtxSynchronize', 'cuModuleUnload']"]


def test_dynamic_shared_memory_is_asked_for_once_and_its_limit_is_quoted(run_on_stub):
    printed = run_on_stub("""
        run = state(kernel(context().load(b"cubin", 1))).run
        for size in (48 * 1024, 100_000, 100_000, 90_000):
            run((0, 1, 1, 1, size))
        print(calls("cuFuncSetAttribute"))
        print(failure(run, (0, 1, 1, 1, 232_000)))
    """)
    first, second = printed.splitlines()
    assert first == "['cuFuncSetAttribute 8=100000']"
    assert second.startswith("GridError")
    assert all(part in second for part in ("'scale'", "232000 bytes", "1024 bytes of static", "232448 bytes"))


@pytest.mark.parametrize(
    ("options", "attributes"),
    [
        ("cluster=(2, 2, 1)", " 4:2,2,1"),
        ("cooperative=True", " 2:1,0,0"),
        ("programmatic_dependent=True", " 6:1,0,0"),
        ("cluster=(2, 1, 1), cooperative=True, programmatic_dependent=True", " 4:2,1,1 2:1,0,0 6:1,0,0"),
    ],
)
def test_launch_options_become_attributes(run_on_stub, options, attributes):
    printed = run_on_stub(f"""
        run = state(kernel(context().load(b"cubin", 1)), LaunchOptions({options})).run
        run((0, 4, 1, 1, 0))
        print(calls("cuLaunchKernelEx")[-1].partition("packed=")[2])
    """)
    assert printed == f"0000000000000000{attributes}\n"


def test_a_failed_launch_is_raised_with_all_that_it_asked_for(run_on_stub):
    printed = run_on_stub(
        """
        run = state(kernel(context().load(b"cubin", 1))).run
        print(failure(run, (0, 5, 6, 7, 128), 0xA1))
        """,
        STUB_FAIL="cuLaunchKernelEx:701",
    )
    for part in (
        "DriverError: cuLaunchKernelEx failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)",
        "kernel 'scale'",
        "grid (5, 6, 7)",
        "block (64, 2, 1) of at most 512 threads (40 registers a thread)",
        "128 bytes of dynamic shared memory",
        "stream 0xa1",
        "device 0",
    ):
        assert part in printed


@pytest.mark.parametrize(
    "call",
    [
        "cuInit",
        "cuDevicePrimaryCtxRetain",
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuFuncLoad",
        "cuFuncSetAttribute",
        "cuStreamGetCtx",
        "cuLaunchKernelEx",
        "cuFuncGetParamInfo",
        "cuCtxGetCurrent",
        "cuCtxPushCurrent",
        "cuCtxSynchronize",
        "cuModuleUnload",
        "cuLinkCreate",
        "cuLinkAddData",
        "cuLinkComplete",
    ],
)
def test_every_status_is_raised_by_name(run_on_stub, call):
    printed = run_on_stub(
        """
        def everything():
            device = context()
            device.link("ptx", 0)
            module = device.load(b"cubin", 1)
            run = state(kernel(module)).run
            run((0, 1, 1, 1, 100_000))
            run((0, 1, 1, 1, 0), 0xA1)
            device.synchronize()
            module.unload()
        print(failure(everything))
        """,
        STUB_FAIL=f"{call}:700",
    )
    assert printed.startswith("DriverError: cu")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in printed


def test_the_assemblers_own_words_are_in_the_error(run_on_stub):
    printed = run_on_stub('print(failure(context().link, "garbage!", 0))', STUB_FAIL="cuLinkAddData:218")
    assert "CUDA_ERROR_INVALID_PTX (218): line 3: unknown instruction in garbage!" in printed


def test_a_forked_child_is_told_what_happened_and_the_way_out(run_on_stub):
    printed = run_on_stub(
        """
        run = state(kernel(context().load(b"cubin", 1))).run
        child = os.fork()
        if child == 0:
            print(failure(run, (0, 1, 1, 1, 0)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        """,
        STUB_FORKED="1",
    )
    assert "CUDA_ERROR_NOT_INITIALIZED (3)" in printed
    assert "forked after CUDA was used" in printed
    assert "'spawn'" in printed


def test_without_a_driver_the_error_says_so(run_on_stub):
    printed = run_on_stub('print(failure(_native.CudaContext, 0, on_assert, "/nowhere/libcuda.so"))')
    assert printed.startswith("DriverError: no CUDA driver: /nowhere/libcuda.so cannot be opened")


@pytest.mark.parametrize("when", ["run((0, 1, 1, 1, 0))", "device.synchronize()"])
def test_a_recorded_assertion_is_raised_once_by_whatever_comes_next(run_on_stub, when):
    printed = run_on_stub(f"""
        import ctypes, struct
        device = context()
        run = state(kernel(device.load(b"cubin", 9), messages=2)).run
        ctypes.CDLL(DRIVER).stub_asserts.restype = ctypes.c_void_p
        buffer = ctypes.CDLL(DRIVER)
        buffer.stub_asserts.restype = ctypes.c_void_p
        record = struct.pack("<IIQQQ8Q", 1, 1, 9 << 32, 3, 40, 11, 12, 0, 0, 0, 0, 0, 0)
        ctypes.memmove(buffer.stub_asserts(), struct.pack("<I60x", 5) + record, 64 + len(record))
        print(failure(lambda: {when}))
        print(reports)
        {when}
    """)
    first, second = printed.splitlines()
    assert first == "AssertionError: recorded"
    assert second == f"[({9 << 32}, 1, 3, 40, (11, 12, 0, 0, 0, 0, 0, 0), 5)]"


def test_other_threads_run_while_a_full_queue_makes_launches_wait(run_on_stub):
    printed = run_on_stub(
        """
        run = state(kernel(context().load(b"cubin", 1))).run
        for _ in range(9):  # one launch in eight is timed
            run((0, 1, 1, 1, 0))
        turns, stop = [], threading.Event()
        def count():
            while not stop.wait(0.001):
                turns.append(time.perf_counter())
        thread = threading.Thread(target=count)
        thread.start()
        began = time.perf_counter()
        run((0, 1, 1, 1, 0))
        ended = time.perf_counter()
        stop.set()
        thread.join()
        # Woken inside the launch, and not only at its two ends.
        print(sum(began + 0.01 < turn < ended - 0.01 for turn in turns) > 1)
        """,
        STUB_SLOW_US="100000",
    )
    assert printed == "True\n"


def test_an_address_tells_its_device(run_on_stub):
    printed = run_on_stub("""
        print(_native.cuda_pointer_device(4096, DRIVER), _native.cuda_pointer_device(1 << 60 | 4096, DRIVER))
        print(failure(_native.cuda_pointer_device, 7, DRIVER))
    """)
    assert printed.splitlines()[0] == "0 1"
    assert "0x7 is no address of device memory" in printed


def test_resources_of_a_kernel(run_on_stub):
    printed = run_on_stub("print(kernel(context().load(b'cubin', 1)).resources())")
    assert "'registers': 40" in printed
    assert "'blocks_per_multiprocessor': 4" in printed
    assert "'occupancy_percent': 25" in printed


def test_a_state_whose_launch_does_not_fit_its_kernel_is_refused(run_on_stub):
    printed = run_on_stub("""
        module = context().load(b"cubin", 1)
        print(failure(state, module.kernel("symbol_0", "scale", 0, 2, 0, (64, 2, 1))))
        print(failure(state, kernel(module, block=(32, 1, 1))))
        print(failure(kernel, module, 0, (64, 2)))
    """)
    assert "takes 2 parameters and is given 1" in printed
    assert "another block than its launch" in printed
    assert "TypeError" in printed
