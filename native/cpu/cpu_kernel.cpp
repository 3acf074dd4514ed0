#include "cpu/cpu_kernel.hpp"

#include <climits>
#include <new>
#include <string>
#include <vector>

#include "common/errors.hpp"
#include "common/python_ref.hpp"
#include "cpu/cpu_messages.hpp"
#include "cpu/cpu_runner.hpp"
#include "cpu/object_loader.hpp"
#include "program/kernel_handle.hpp"
#include "program/program.hpp"

namespace darter {

namespace {

struct CpuKernel {
  KernelHandle base;
  CpuEntry entry;
  int64_t scratch_bytes;
  int64_t threads;
  CpuCost cost;
  std::vector<DeviceMessage> messages;
};

int launch_with_messages(CpuKernel* kernel, CpuJob* job) {
  MessageLog log(kernel->messages, kernel->base.block, job->launch.grid);
  job->launch.host = &log;
  return run_cpu_job(*job, &kernel->cost) == 0 ? log.deliver(kernel->base.name) : -1;
}

int cpu_launch(KernelHandle* handle, void* parameters, const int64_t grid[3], int64_t shared_bytes, void*,
               const LaunchAttributes*) {
  auto* kernel = reinterpret_cast<CpuKernel*>(handle);
  CpuJob job{kernel->entry,
             static_cast<void**>(parameters),
             {{grid[0], grid[1], grid[2]}, shared_bytes, nullptr},
             kernel->scratch_bytes + shared_bytes,
             kernel->threads};
  if (!kernel->messages.empty()) return launch_with_messages(kernel, &job);
  return run_cpu_job(job, &kernel->cost);
}

bool read_strings(PyObject* sequence, std::vector<std::string>* out) {
  const PythonRef items(PySequence_Fast(sequence, "pieces of a message must be a sequence of str"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const PythonRef bytes(
        PyUnicode_AsEncodedString(PySequence_Fast_GET_ITEM(items.get(), i), "utf-8", "surrogatepass"));
    if (!bytes) return false;
    out->emplace_back(PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get())));
  }
  return true;
}

bool read_dtypes(PyObject* sequence, std::vector<Dtype>* out) {
  const PythonRef items(PySequence_Fast(sequence, "operand dtypes of a message must be a sequence of int"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const long code = PyLong_AsLong(PySequence_Fast_GET_ITEM(items.get(), i));
    if (code == -1 && PyErr_Occurred() != nullptr) return false;
    if (code < 0 || code >= kDtypeCount)
      return raise_error("ArtifactError", "a kernel message has a value of unknown dtype %ld", code) != nullptr;
    out->push_back(static_cast<Dtype>(code));
  }
  return true;
}

bool read_messages(PyObject* sequence, std::vector<DeviceMessage>* out) {
  const PythonRef items(
      PySequence_Fast(sequence, "messages must be a sequence of (is_assert, pieces, operand_dtypes)"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    int is_assert = 0;
    PyObject *pieces = nullptr, *dtypes = nullptr;
    DeviceMessage message{};
    if (PyArg_ParseTuple(PySequence_Fast_GET_ITEM(items.get(), i), "pOO:message", &is_assert, &pieces, &dtypes) == 0)
      return false;
    message.is_assert = is_assert != 0;
    if (!read_strings(pieces, &message.pieces) || !read_dtypes(dtypes, &message.operands)) return false;
    out->push_back(std::move(message));
  }
  return true;
}

// What a launch trusts: a block of 1 to 1024 threads, scratch memory in whole cache lines.
bool check_numbers(const int block[3], int parameters, long long scratch_bytes) {
  int64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (block[axis] < 1 || block[axis] > kMaxThreads) {
      raise_error("ArtifactError", "a kernel's block has an extent of %d; it must be between 1 and %lld", block[axis],
                  static_cast<long long>(kMaxThreads));
      return false;
    }
    threads *= block[axis];
  }
  if (threads > kMaxThreads || parameters < 0 || parameters > static_cast<int>(kMaxLaunchArguments) ||
      scratch_bytes < 0 || scratch_bytes > INT_MAX || scratch_bytes % 64 != 0) {
    raise_error("ArtifactError",
                "a kernel's numbers are out of range: %lld threads, %d parameters, %lld bytes of scratch memory",
                static_cast<long long>(threads), parameters, scratch_bytes);
    return false;
  }
  return true;
}

PyObject* cpu_kernel_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"code", "symbol", "parameter_count", "block", "scratch_bytes", "messages",
                                       "name", nullptr};
  PyObject *code = nullptr, *symbol = nullptr, *messages = nullptr, *name = nullptr;
  int parameters = 0;
  int block[3] = {0, 0, 0};
  long long scratch_bytes = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O!Ui(iii)LO|U:CpuKernel", const_cast<char**>(kNames), CodeObject_Type,
                                  &code, &symbol, &parameters, &block[0], &block[1], &block[2], &scratch_bytes,
                                  &messages, &name) == 0) {
    return nullptr;
  }
  std::vector<DeviceMessage> rows;
  if (!check_numbers(block, parameters, scratch_bytes) || !read_messages(messages, &rows)) return nullptr;
  const char* text = PyUnicode_AsUTF8(symbol);
  void* entry = text != nullptr ? code_object_entry(code, text) : nullptr;
  PyObject* self = entry != nullptr ? type->tp_alloc(type, 0) : nullptr;
  if (self == nullptr) return nullptr;
  auto* kernel = reinterpret_cast<CpuKernel*>(self);
  kernel->base.launch = cpu_launch;
  kernel->base.code = Py_NewRef(code);
  kernel->base.name = Py_NewRef(name != nullptr ? name : symbol);
  kernel->base.parameter_count = parameters;
  kernel->base.message_count = static_cast<int32_t>(rows.size());
  for (int axis = 0; axis < 3; ++axis) kernel->base.block[axis] = block[axis];
  kernel->entry = reinterpret_cast<CpuEntry>(entry);
  kernel->scratch_bytes = scratch_bytes;
  kernel->threads = int64_t{block[0]} * block[1] * block[2];
  kernel->cost = {-1, 0, 0};
  new (&kernel->messages) std::vector<DeviceMessage>(std::move(rows));
  return self;
}

void cpu_kernel_dealloc(PyObject* self) {
  reinterpret_cast<CpuKernel*>(self)->messages.~vector();
  KernelHandle_Type->tp_dealloc(self);
}

PyType_Slot cpu_kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>("CpuKernel(code, symbol, parameter_count, block, scratch_bytes, messages, "
                                  "name=None)\n--\n\n"
                                  "A kernel of a CodeObject, with what a launch of it needs.")},
    {Py_tp_new, reinterpret_cast<void*>(cpu_kernel_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(cpu_kernel_dealloc)},
    {0, nullptr},
};

PyType_Spec cpu_kernel_spec = {
    "darter._native.CpuKernel", sizeof(CpuKernel), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, cpu_kernel_slots,
};

}  // namespace

bool register_cpu_kernel(PyObject* module) {
  const PythonRef bases(PyTuple_Pack(1, KernelHandle_Type));
  const PythonRef type(bases ? PyType_FromSpecWithBases(&cpu_kernel_spec, bases.get()) : nullptr);
  return type && PyModule_AddObjectRef(module, "CpuKernel", type.get()) == 0;
}

}  // namespace darter
