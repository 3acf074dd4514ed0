// What CPU kernels say while they run: failed assertions and prints, collected without the GIL and handed to Python
// after the launch.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "scalars/dtype.hpp"

namespace darter {

// A dt.assert_ or dt.print of a kernel.
struct DeviceMessage {
  bool is_assert;
  std::vector<std::string> pieces;
  std::vector<Dtype> operands;
};

// Collects the messages of one launch, from any number of threads.
class MessageLog {
 public:
  // `block` is the kernel's block shape, `grid` the launch's.
  MessageLog(const std::vector<DeviceMessage>& messages, const int32_t block[3], const int64_t grid[3])
      : messages_(messages), block_(block), grid_(grid) {}

  void record(int32_t message_index, int64_t block, int64_t thread, const uint64_t* operands);

  // Prints to sys.stdout, in the order of blocks, and raises DeviceAssertError(message, message_index) for the first
  // failed assertion, if any. Needs the GIL. Returns 0, or -1 with an exception set.
  int deliver(PyObject* kernel_name);

 private:
  struct Line {
    int32_t message_index;
    int64_t block;
    int64_t thread;
    std::vector<uint64_t> operands;
  };

  std::vector<std::string> values_of(const Line& line) const;
  int print();
  int raise(PyObject* kernel_name) const;

  const std::vector<DeviceMessage>& messages_;
  const int32_t* block_;
  const int64_t* grid_;
  std::mutex mutex_;
  std::vector<Line> prints_;
  uint64_t dropped_ = 0;
  Line first_assert_{-1, 0, 0, {}};
  uint64_t asserts_ = 0;
};

}  // namespace darter
