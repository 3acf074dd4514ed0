#include "program/call_state_errors.hpp"

#include <string>
#include <vector>

#include "common/errors.hpp"
#include "scalars/value_text.hpp"

namespace darter {

namespace {

// Sets the exception that `cold_errors(kind, exception, message, site)` returns; without such a callable, the named one
// with the message.
[[gnu::cold]] int raise_cold(const CallStateBody& body, const char* kind, const std::string& exception,
                             PyObject* message, int site) {
  if (message == nullptr) return -1;
  if (!body.cold_errors) {
    PythonRef cls(exception_class(exception.c_str()));
    if (cls) PyErr_SetObject(cls.get(), message);
    return -1;
  }
  PythonRef error(PyObject_CallFunction(body.cold_errors.get(), "ssOi", kind, exception.c_str(), message, site));
  if (!error) return -1;
  if (!PyExceptionInstance_Check(error.get())) {
    PyErr_Format(PyExc_SystemError, "darter: cold_errors returned a %s instead of an exception",
                 Py_TYPE(error.get())->tp_name);
    return -1;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return -1;
}

[[gnu::cold]] int raise_cold(const CallStateBody& body, const char* kind, const char* exception,
                             const std::string& message, int site) {
  // Pieces of messages come from source files, where lone surrogates are possible.
  PythonRef text(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "surrogatepass"));
  return raise_cold(body, kind, std::string(exception), text.get(), site);
}

const char* operator_text(Opcode op) {
  switch (op) {
    case Opcode::kAdd:
      return "+";
    case Opcode::kSub:
    case Opcode::kNeg:
      return "-";
    case Opcode::kMul:
      return "*";
    case Opcode::kFloorDiv:
      return "//";
    case Opcode::kMod:
      return "%";
    case Opcode::kShl:
      return "<<";
    case Opcode::kAbs:
      return "abs";
    default:
      return "?";
  }
}

// The failed instruction as an expression over the values that it met.
std::string expression(const Instruction& i, const uint64_t* registers) {
  const std::string a = value_text(i.dtype, registers[i.a]);
  if (i.op == Opcode::kAbs) return "abs(" + a + ")";
  if (i.op == Opcode::kNeg) return "-(" + a + ")";
  return a + " " + operator_text(i.op) + " " + value_text(i.dtype, registers[i.b]);
}

[[gnu::cold]] int raise_arithmetic(const CallStateBody& body, const RunResult& result, const uint64_t* registers) {
  const Instruction& i = *result.instruction;
  std::string message;
  if (result.end == RunEnd::kOutOfRange) {
    message = value_text(i.from, registers[i.a]) + " does not fit in " + dtype_name(i.dtype);
  } else if (result.end == RunEnd::kDivisionByZero) {
    message = "division by zero: " + expression(i, registers);
  } else {
    message = std::string(dtype_name(i.dtype)) + " overflow: " + expression(i, registers);
  }
  return raise_cold(body, "arithmetic", "LauncherArithmeticError", message, i.site);
}

[[gnu::cold]] int raise_grid(const CallStateBody& body, const LaunchSpec& spec, const uint64_t* registers) {
  const char* name = PyUnicode_AsUTF8(body.kernels[spec.kernel]->name);
  if (name == nullptr) return -1;
  const std::string launch = std::string("launch of '") + name + "': ";
  for (int axis = 0; axis < 3; ++axis) {
    const auto extent = static_cast<int64_t>(registers[spec.grid[axis]]);
    if (extent >= 0 && extent <= kGridLimits[axis]) continue;
    return raise_cold(body, "grid", "GridError",
                      launch + "grid " + "xyz"[axis] + " is " + std::to_string(extent) + "; it must be between 0 and " +
                          std::to_string(kGridLimits[axis]),
                      spec.site);
  }
  return raise_cold(body, "grid", "GridError",
                    launch + "dynamic shared memory is " +
                        std::to_string(static_cast<int64_t>(registers[spec.shared_bytes])) +
                        " bytes; it must be between 0 and " + std::to_string(kMaxSharedBytes),
                    spec.site);
}

[[gnu::cold]] int raise_user(const CallStateBody& body, const RaiseSpec& spec, const uint64_t* registers) {
  std::vector<std::string> values;
  values.reserve(spec.operands.size());
  for (const RaiseOperand& operand : spec.operands) values.push_back(value_text(operand.dtype, registers[operand.reg]));
  return raise_cold(body, "raise", spec.exception.c_str(), message_text(spec.pieces, values), spec.site);
}

// Takes the exception that is set; 3.12 deprecated the old way.
PythonRef take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return PythonRef(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PythonRef(value);
#endif
}

// A kernel handle reports a failed assertion as DeviceAssertError(message, message_index); everything else stays as it
// is.
[[gnu::cold]] int raise_from_kernel(const CallStateBody& body, const LaunchSpec& spec) {
  PythonRef error = take_exception();
  PythonRef cls(exception_class("DeviceAssertError"));
  if (!cls) return -1;
  PythonRef args(error && Py_IS_TYPE(error.get(), reinterpret_cast<PyTypeObject*>(cls.get()))
                     ? PyObject_GetAttrString(error.get(), "args")
                     : nullptr);
  if (args && PyTuple_Check(args.get()) && PyTuple_GET_SIZE(args.get()) == 2) {
    const long index = PyLong_AsLong(PyTuple_GET_ITEM(args.get(), 1));
    return raise_cold(body, "assert", std::string("DeviceAssertError"), PyTuple_GET_ITEM(args.get(), 0),
                      body.message_sites[spec.kernel] + static_cast<int>(index));
  }
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return -1;
}

}  // namespace

[[gnu::cold]] int raise_run(const CallStateBody& body, const RunResult& result, const uint64_t* registers) {
  const Program& program = *body.program;
  const uint16_t index = result.instruction->a;
  switch (result.end) {
    case RunEnd::kRaise:
      return raise_user(body, program.raises[index], registers);
    case RunEnd::kBadGrid:
    case RunEnd::kBadShared:
      return raise_grid(body, program.launches[index], registers);
    case RunEnd::kException:
      return raise_from_kernel(body, program.launches[index]);
    default:
      return raise_arithmetic(body, result, registers);
  }
}

}  // namespace darter
