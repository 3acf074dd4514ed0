// Runs a CPU kernel over its grid: inline when that is quick, over OpenMP threads without the GIL when it is not.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace darter {

// What a kernel is given about its launch; the layout is part of the CPU kernel ABI.
struct CpuLaunch {
  int64_t grid[3];
  int64_t shared_bytes;
  void* host;  // the MessageLog
};

// Runs the blocks of linear numbers [begin, end) one after the other. `scratch` is 64-byte aligned and not initialised.
using CpuEntry = void (*)(const void* const* params, const CpuLaunch* launch, int64_t begin, int64_t end,
                          uint8_t* scratch);

// What is known of a kernel's cost, to choose how to run it. Read and written with the GIL held.
struct CpuCost {
  double ns_per_block;   // negative: never measured
  int64_t quick_blocks;  // a grid of at most so many is too quick for a look at the clock
  uint32_t unmeasured;   // quick launches that may pass before the next look
};

// One launch. `scratch_bytes` counts what one thread needs, dynamic shared memory included.
struct CpuJob {
  CpuEntry entry;
  const void* const* params;
  CpuLaunch launch;
  int64_t scratch_bytes;
  int64_t threads_per_block;
};

// As run_cpu_job, for every launch that is not known to be quick.
int run_measured_cpu_job(const CpuJob& job, CpuCost* cost);

// Scratch memory for kernels that need none.
extern uint8_t g_no_scratch[];

// Scratch memory of the calling thread, kept from launch to launch; NULL when there is none.
uint8_t* cpu_scratch(int64_t bytes);

// Runs all blocks of `job`. Called with the GIL held, which it releases for work that takes longer than some
// microseconds. Returns 0, or -1 with MemoryError set when there is no scratch memory.
inline int run_cpu_job(const CpuJob& job, CpuCost* cost) {
  const int64_t blocks = job.launch.grid[0] * job.launch.grid[1] * job.launch.grid[2];
  if (blocks > cost->quick_blocks || cost->unmeasured == 0) return run_measured_cpu_job(job, cost);
  uint8_t* scratch = job.scratch_bytes == 0 ? g_no_scratch : cpu_scratch(job.scratch_bytes);
  if (__builtin_expect(scratch == nullptr, 0)) return run_measured_cpu_job(job, cost);
  --cost->unmeasured;
  job.entry(job.params, &job.launch, 0, blocks, scratch);
  return 0;
}

// What the object loader binds the kernels' import `darter_message` to.
void cpu_message(const CpuLaunch* launch, int32_t message_index, int64_t block, int64_t thread,
                 const uint64_t* operands);

bool register_cpu_runner(PyObject* module);

}  // namespace darter
