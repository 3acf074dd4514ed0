#include "cpu/cpu_messages.hpp"

#include <algorithm>
#include <tuple>

#include "common/errors.hpp"
#include "common/python_ref.hpp"
#include "scalars/value_text.hpp"

namespace darter {

namespace {

// Lines kept of one launch; a print in a hot kernel must not fill the memory.
constexpr size_t kMaxLines = 1 << 18;

// A linear number within `extents`, x first, as "(x, y, z)".
template <class T>
std::string position(int64_t linear, const T* extents) {
  const int64_t x = linear % extents[0];
  const int64_t y = linear / extents[0] % extents[1];
  const int64_t z = linear / extents[0] / extents[1];
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

PythonRef decode(const std::string& text) {
  return PythonRef(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
}

}  // namespace

void MessageLog::record(int32_t message_index, int64_t block, int64_t thread, const uint64_t* operands) {
  if (message_index < 0 || static_cast<size_t>(message_index) >= messages_.size()) return;
  const DeviceMessage& message = messages_[static_cast<size_t>(message_index)];
  const std::lock_guard<std::mutex> lock(mutex_);
  if (message.is_assert) {
    ++asserts_;
    if (first_assert_.message_index >= 0 &&
        std::tie(first_assert_.block, first_assert_.thread) <= std::tie(block, thread))
      return;
    first_assert_ = {message_index, block, thread, std::vector<uint64_t>(operands, operands + message.operands.size())};
  } else if (prints_.size() == kMaxLines) {
    ++dropped_;
  } else {
    prints_.push_back(
        {message_index, block, thread, std::vector<uint64_t>(operands, operands + message.operands.size())});
  }
}

int MessageLog::deliver(PyObject* kernel_name) {
  if (!prints_.empty() && print() != 0) return -1;
  return first_assert_.message_index >= 0 ? raise(kernel_name) : 0;
}

std::vector<std::string> MessageLog::values_of(const Line& line) const {
  const std::vector<Dtype>& dtypes = messages_[static_cast<size_t>(line.message_index)].operands;
  std::vector<std::string> values;
  values.reserve(dtypes.size());
  for (size_t i = 0; i < dtypes.size(); ++i) values.push_back(value_text(dtypes[i], line.operands[i]));
  return values;
}

int MessageLog::print() {
  // Blocks ran on several threads; within a block the lines are in order already.
  std::stable_sort(prints_.begin(), prints_.end(), [](const Line& a, const Line& b) { return a.block < b.block; });
  std::string text;
  for (const Line& line : prints_)
    text += message_text(messages_[static_cast<size_t>(line.message_index)].pieces, values_of(line)) + "\n";
  if (dropped_ != 0) text += "... " + std::to_string(dropped_) + " more lines of this launch are left out\n";
  PyObject* out = PySys_GetObject("stdout");
  if (out == nullptr || out == Py_None) return 0;
  const PythonRef file = PythonRef::borrow(out);  // writing may replace sys.stdout
  const PythonRef string = decode(text);
  return string ? PyFile_WriteObject(string.get(), file.get(), Py_PRINT_RAW) : -1;
}

int MessageLog::raise(PyObject* kernel_name) const {
  const char* name = PyUnicode_AsUTF8(kernel_name);
  if (name == nullptr) return -1;
  std::string text =
      message_text(messages_[static_cast<size_t>(first_assert_.message_index)].pieces, values_of(first_assert_));
  text = "kernel '" + std::string(name) + "': assertion failed: " + text + " at block " +
         position(first_assert_.block, grid_) + ", thread " + position(first_assert_.thread, block_);
  if (asserts_ > 1) text += "; it is the first of " + std::to_string(asserts_) + " failures in this launch";
  const PythonRef message = decode(text);
  const PythonRef cls(exception_class("DeviceAssertError"));
  if (!message || !cls) return -1;
  const PythonRef arguments(Py_BuildValue("(Oi)", message.get(), first_assert_.message_index));
  if (arguments) PyErr_SetObject(cls.get(), arguments.get());
  return -1;
}

}  // namespace darter
