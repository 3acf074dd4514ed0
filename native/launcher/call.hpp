// One call while it is read: key words, argument slots, and what must agree across arguments.
#pragma once

#include <vector>

#include "key/words.hpp"
#include "readers/reader.hpp"

namespace darter {

// References that a call must hold until the launch is done: attributes of arguments, which may be made on the spot.
class HeldRefs {
 public:
  HeldRefs() = default;
  HeldRefs(const HeldRefs&) = delete;
  HeldRefs& operator=(const HeldRefs&) = delete;
  ~HeldRefs() {
    if (DARTER_UNLIKELY(count_ != 0)) release();
  }
  // Takes over the reference and returns it.
  PyObject* hold(PyObject* owned) {
    if (count_ < kInline) {
      inline_[count_++] = owned;
    } else {
      more_.push_back(owned);
    }
    return owned;
  }
  void release() {
    while (count_ > 0) Py_DECREF(inline_[--count_]);
    for (PyObject* object : more_) Py_DECREF(object);
    more_.clear();
  }

 private:
  static constexpr int kInline = 32;
  int count_ = 0;
  PyObject* inline_[kInline];
  std::vector<PyObject*> more_;
};

struct Call {
  WordBuffer words;
  WordBuffer slots;
  HeldRefs held;

  // Where the tensors are; kNoDevice before the first one.
  int64_t device = kNoDevice;
  int device_param = 0;  // the parameter that said so

  // Frameworks whose current stream counts; two frameworks that are both in use must agree.
  const DLPackExchangeAPI* framework = nullptr;
  const DLPackExchangeAPI* other_framework = nullptr;

  void* stream = nullptr;
  bool explicit_stream = false;

  bool any_readonly = false;
  int param = 0;                       // the parameter that is read
  uint64_t readonly[kMaxParams / 64];  // valid once any_readonly is set
  int symbol_count = 0;                // of `symbols`, how many are set
  int64_t symbols[kMaxSymbols];        // extents of named dimensions, kUnbound before the first
  uint8_t symbol_params[kMaxSymbols];  // the parameter that bound each

  static constexpr int64_t kNoDevice = -1;
  static constexpr int64_t kUnbound = -1;

  void reset() {
    words.clear();
    slots.clear();
    held.release();
    device = kNoDevice;
    framework = other_framework = nullptr;
    stream = nullptr;
    explicit_stream = any_readonly = false;
    param = symbol_count = 0;
  }

  void set_readonly() {
    if (!any_readonly) std::memset(readonly, 0, sizeof readonly);
    any_readonly = true;
    readonly[param / 64] |= uint64_t{1} << (param % 64);
  }
};

// What device_number says of host memory.
constexpr int64_t kHostDevice = device_number(kDLCPU, 0);

inline int64_t device_number(const TensorView& view) { return device_number(view.device_type, view.device_id); }

}  // namespace darter
