#include "cpu/cpu_runner.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>

#include "cpu/cpu_messages.hpp"

namespace darter {

alignas(64) uint8_t g_no_scratch[64];

namespace {

// Below this a launch runs on the calling thread with the GIL held: handing the GIL over costs other threads more.
constexpr double kInlineNs = 25e3;
// Below this waking a team costs as much as it saves.
constexpr double kParallelNs = 50e3;
// A thread takes at least this much work at a time.
constexpr double kTurnNs = 10e3;
// Grids of fewer threads are so quick that looking at the clock shows; they are measured once in kSampleEvery launches.
constexpr int64_t kSmallGrid = 4096;
constexpr uint32_t kSampleEvery = 32;
constexpr int64_t kScratchAlignment = 64;

// A team of threads does not survive fork, and libgomp waits for it for ever; a forked child runs everything inline.
std::atomic<bool> g_forked{false};
// Threads asked for; 0: what OpenMP takes by default, -1: not read from the environment yet.
std::atomic<int> g_threads{-1};

void after_fork_in_child() { g_forked.store(true, std::memory_order_relaxed); }

int threads_from_environment() {
  const char* text = std::getenv("DARTER_NUM_THREADS");
  if (text == nullptr) return 0;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && value >= 1 && value <= INT_MAX ? static_cast<int>(value) : 0;
}

int cpu_threads() {
  int threads = g_threads.load(std::memory_order_relaxed);
  if (threads < 0) {
    threads = threads_from_environment();
    g_threads.store(threads, std::memory_order_relaxed);
  }
  return threads > 0 ? threads : omp_get_max_threads();
}

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Memory of one OS thread, kept from launch to launch.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(memory_); }

  // At least `bytes`, or NULL.
  uint8_t* get(int64_t bytes) {
    if (bytes > size_) {
      const int64_t rounded = (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
      std::free(memory_);
      memory_ = std::aligned_alloc(kScratchAlignment, static_cast<size_t>(rounded));
      size_ = memory_ != nullptr ? rounded : 0;
    }
    return static_cast<uint8_t*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  int64_t size_ = 0;
};

thread_local Scratch t_scratch;

// NULL when there is no memory.
uint8_t* scratch_for(const CpuJob& job) {
  return job.scratch_bytes == 0 ? g_no_scratch : t_scratch.get(job.scratch_bytes);
}

bool run_here(const CpuJob& job, int64_t blocks) {
  uint8_t* scratch = scratch_for(job);
  if (__builtin_expect(scratch == nullptr, 0)) return false;
  job.entry(job.params, &job.launch, 0, blocks, scratch);
  return true;
}

// Blocks that no thread has taken yet. A thread takes a share of what is left, so that few turns serve a huge grid and
// the last ones are small enough for all threads to end together.
class BlockQueue {
 public:
  BlockQueue(int64_t blocks, int64_t threads, int64_t smallest)
      : blocks_(blocks), shares_(threads * 4), smallest_(smallest) {}

  // The next blocks, [*begin, *end); false when there are none.
  bool take(int64_t* begin, int64_t* end) {
    int64_t first = next_.load(std::memory_order_relaxed);
    do {
      if (first >= blocks_) return false;
      const int64_t left = blocks_ - first;
      *end = first + std::min(left, std::max(smallest_, left / shares_));
    } while (!next_.compare_exchange_weak(first, *end, std::memory_order_relaxed));
    *begin = first;
    return true;
  }

 private:
  std::atomic<int64_t> next_{0};
  const int64_t blocks_;
  const int64_t shares_;
  const int64_t smallest_;
};

// Runs the blocks on a team; *busy_ns is the time spent in the kernel, summed over the threads.
bool run_on_team(const CpuJob& job, BlockQueue* queue, int threads, double* busy_ns) {
  std::atomic<bool> failed{false};
  double busy = 0;
#pragma omp parallel num_threads(threads) reduction(+ : busy)
  {
    uint8_t* scratch = scratch_for(job);
    if (scratch == nullptr) failed.store(true, std::memory_order_relaxed);
    const double start = now_ns();
    int64_t begin = 0;
    int64_t end = 0;
    while (!failed.load(std::memory_order_relaxed) && queue->take(&begin, &end)) {
      job.entry(job.params, &job.launch, begin, end, scratch);
    }
    busy += now_ns() - start;
  }
  *busy_ns = busy;
  return !failed.load(std::memory_order_relaxed);
}

// Without the GIL. `cost_ns` is the expected time of the whole grid on one thread, negative when unknown.
bool run_long(const CpuJob& job, int64_t blocks, double cost_ns, double* busy_ns) {
  const bool alone = blocks == 1 || g_forked.load(std::memory_order_relaxed) || omp_in_parallel() != 0;
  const bool worth_it = cost_ns < 0 ? blocks * job.threads_per_block >= kSmallGrid : cost_ns >= kParallelNs;
  if (!alone && worth_it) {
    const double blocks_per_turn = cost_ns > 0 ? kTurnNs / cost_ns * static_cast<double>(blocks) : 1;
    const int64_t smallest = std::max<int64_t>(1, static_cast<int64_t>(blocks_per_turn));
    const int64_t threads = std::min<int64_t>(cpu_threads(), (blocks + smallest - 1) / smallest);
    if (threads > 1) {
      BlockQueue queue(blocks, threads, smallest);
      return run_on_team(job, &queue, static_cast<int>(threads), busy_ns);
    }
  }
  const double start = now_ns();
  const bool done = run_here(job, blocks);
  *busy_ns = now_ns() - start;
  return done;
}

// Remembers what a launch took, and up to which grid a launch is both small and quick.
void learn(CpuCost* cost, double busy_ns, int64_t blocks, int64_t threads_per_block) {
  cost->ns_per_block = busy_ns / static_cast<double>(blocks);
  const double inline_blocks = kInlineNs / std::max(cost->ns_per_block, 1e-3);
  const int64_t small_blocks = kSmallGrid / threads_per_block;
  cost->quick_blocks = static_cast<int64_t>(std::min(inline_blocks, static_cast<double>(small_blocks)));
  cost->unmeasured = kSampleEvery - 1;
}

}  // namespace

uint8_t* cpu_scratch(int64_t bytes) { return t_scratch.get(bytes); }

int run_measured_cpu_job(const CpuJob& job, CpuCost* cost) {
  const int64_t* grid = job.launch.grid;
  const int64_t blocks = grid[0] * grid[1] * grid[2];
  const double expected_ns = cost->ns_per_block * static_cast<double>(blocks);
  double busy_ns = 0;
  bool done;
  if (expected_ns >= 0 && expected_ns < kInlineNs) {
    const double start = now_ns();
    done = run_here(job, blocks);
    busy_ns = now_ns() - start;
  } else {
    Py_BEGIN_ALLOW_THREADS;
    done = run_long(job, blocks, expected_ns, &busy_ns);
    Py_END_ALLOW_THREADS;
  }
  if (__builtin_expect(!done, 0)) {
    PyErr_NoMemory();
    return -1;
  }
  learn(cost, busy_ns, blocks, job.threads_per_block);
  return 0;
}

void cpu_message(const CpuLaunch* launch, int32_t message_index, int64_t block, int64_t thread,
                 const uint64_t* operands) {
  if (launch->host != nullptr) static_cast<MessageLog*>(launch->host)->record(message_index, block, thread, operands);
}

namespace {

PyObject* set_cpu_threads(PyObject*, PyObject* argument) {
  const long threads = PyLong_AsLong(argument);
  if (threads == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (threads < 0 || threads > INT_MAX)
    return PyErr_Format(PyExc_ValueError, "threads must be 0 (OpenMP's default) or more, got %ld", threads);
  g_threads.store(static_cast<int>(threads), std::memory_order_relaxed);
  Py_RETURN_NONE;
}

PyObject* get_cpu_threads(PyObject*, PyObject*) {
  return PyLong_FromLong(g_forked.load(std::memory_order_relaxed) ? 1 : cpu_threads());
}

PyMethodDef cpu_runner_methods[] = {
    {"set_cpu_threads", set_cpu_threads, METH_O,
     "set_cpu_threads(threads, /)\n--\n\nLet kernels run on that many threads; 0 takes OpenMP's default."},
    {"cpu_threads", get_cpu_threads, METH_NOARGS,
     "cpu_threads()\n--\n\nReturn how many threads a large launch from this thread uses."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool register_cpu_runner(PyObject* module) {
  return pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0 &&
         PyModule_AddFunctions(module, cpu_runner_methods) == 0;
}

}  // namespace darter
