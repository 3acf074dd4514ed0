"""A C++ function behind tvm-ffi's packed call that reads torch tensors and calls cuLaunchKernel."""

from __future__ import annotations

import ctypes

from benchmarks.peers import Call, Launch, noop

NAME = "tvm_ffi"

_SOURCE = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
extern "C" int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                              void**, void**);
static void* function_handle = nullptr;
void set_function(int64_t handle) {{ function_handle = reinterpret_cast<void*>(handle); }}
void noop({parameters}) {{
  void* pointers[] = {{{pointers}}};
  void* params[] = {{{params}}};
  DLDevice device = t0.device();
  void* stream = TVMFFIEnvGetStream(device.device_type, device.device_id);
  if (cuLaunchKernel(function_handle, 1, 1, 1, 32, 1, 1, 0, stream, params, nullptr) != 0)
    TVM_FFI_THROW(RuntimeError) << "cuLaunchKernel failed";
}}
"""


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where tvm-ffi is not installed."""
    import tvm_ffi
    from tvm_ffi import cpp

    tensors, integers = range(len(launch.tensors)), range(len(launch.integers))
    source = _SOURCE.format(
        parameters=", ".join([f"tvm::ffi::TensorView t{i}" for i in tensors] + [f"int64_t n{i}" for i in integers]),
        pointers=", ".join(f"t{i}.data_ptr()" for i in tensors),
        params=", ".join([f"&pointers[{i}]" for i in tensors] + [f"&n{i}" for i in integers]),
    )
    library = cpp.load_inline(
        name=f"darter_noop_{launch.size}",
        cpp_sources=source,
        functions=["noop", "set_function"],
        extra_ldflags=["-l:libcuda.so.1"],
    )
    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if driver.cuModuleLoadData(ctypes.byref(module), noop.ptx(len(tensors) + len(integers))) != 0:
        raise RuntimeError("cuModuleLoadData failed")
    if driver.cuModuleGetFunction(ctypes.byref(function), module, b"noop") != 0:
        raise RuntimeError("cuModuleGetFunction failed")
    library.set_function(function.value)
    names = launch.names
    return Call(f"kernel({', '.join(names)})", names | {"kernel": library.noop, "library": library, "ffi": tvm_ffi})
