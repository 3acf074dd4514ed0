// The part of the CUDA driver API that darter calls, declared here and found by dlopen, so that one wheel serves
// machines with and without a GPU.
//
// Source: CUDA Driver API reference 13.0 (cuda.h); numbers and layouts are ABI and do not change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace darter::cuda {

using Result = int;
using Device = int;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using LinkState = struct LinkTag*;

constexpr Result kSuccess = 0;
constexpr Result kNotInitialized = 3;

enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kThreadsPerMultiprocessor = 39,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedBytesOptIn = 97,
};
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
};
enum JitOption : int { kMaxRegisters = 0, kErrorLog = 5, kErrorLogBytes = 6, kGenerateLineInfo = 13 };
enum JitInput : int { kPtx = 1 };
enum CaptureMode : int { kCaptureRelaxed = 2 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1 };
enum PointerAttribute : int { kDeviceOrdinal = 9 };
enum AttributeId : int { kCooperative = 2, kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };

// In `extra` of a launch: the address of packed parameters, that of their size, the end.
enum LaunchParameter : uintptr_t { kParameterEnd = 0, kParameterBuffer = 1, kParameterBytes = 2 };

constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kHostAllocMapped = 2;

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute is 72 bytes");

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// One function pointer for each driver entry; `open` fills all of them or none.
struct Api {
  Result (*init)(unsigned);
  Result (*driver_version)(int*);
  Result (*device_count)(int*);
  Result (*device_get)(Device*, int);
  Result (*device_name)(char*, int, Device);
  Result (*device_attribute)(int*, int, Device);
  Result (*primary_retain)(Context*, Device);
  Result (*context_current)(Context*);
  Result (*context_push)(Context);
  Result (*context_pop)(Context*);
  Result (*context_synchronize)();
  Result (*module_load)(Module*, const void*, unsigned, int*, void**);
  Result (*module_unload)(Module);
  Result (*module_function)(Function*, Module, const char*);
  Result (*function_attribute)(int*, int, Function);
  Result (*function_set_attribute)(Function, int, int);
  Result (*function_load)(Function);
  Result (*occupancy)(int*, Function, int, size_t);
  Result (*parameter_info)(Function, size_t, size_t*, size_t*);
  Result (*launch)(const LaunchConfig*, Function, void**, void**);
  Result (*stream_is_capturing)(Stream, int*);
  Result (*stream_context)(Stream, Context*);
  Result (*stream_synchronize)(Stream);
  Result (*exchange_capture_mode)(int*);
  Result (*link_create)(unsigned, int*, void**, LinkState*);
  Result (*link_add)(LinkState, int, void*, size_t, const char*, unsigned, int*, void**);
  Result (*link_complete)(LinkState, void**, size_t*);
  Result (*link_destroy)(LinkState);
  Result (*host_alloc)(void**, size_t, unsigned);
  Result (*host_device_pointer)(uint64_t*, void*, unsigned);
  Result (*host_free)(void*);
  Result (*pointer_attribute)(void*, int, uint64_t);
  Result (*error_name)(Result, const char**);
};

// Returns the driver's functions, opening `path` (nullptr: the installed driver) and calling cuInit at the first call;
// nullptr with DriverError set when there is no driver. A later call returns the same table whatever the path.
const Api* open(const char* path);

// Returns the table if `open` has succeeded, else nullptr; sets no exception.
const Api* opened();

// Sets DriverError for a failed call: its name, the status' name and number, and `detail` (may be empty). Returns -1.
[[gnu::cold]] int raise_status(Result status, const char* call, const char* detail);

}  // namespace darter::cuda
