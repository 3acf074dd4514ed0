#include "signature/plan.hpp"

#include "common/errors.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {
namespace {

bool read_flag(PyObject* source, const char* name, bool* out) {
  Ref value(PyObject_GetAttrString(source, name));
  if (!value) return false;
  const int truth = PyObject_IsTrue(value.get());
  *out = truth == 1;
  return truth >= 0;
}

// Reads an attribute that is None or something; NULL for None.
bool read_optional(PyObject* source, const char* name, PyObject** out) {
  PyObject* value = PyObject_GetAttrString(source, name);
  if (value == nullptr) return false;
  if (value == Py_None) Py_CLEAR(value);
  *out = value;
  return true;
}

int symbol_index(Plan* plan, PyObject* name) {
  for (size_t i = 0; i < plan->symbols.size(); ++i) {
    const int equal = PyUnicode_Compare(plan->symbols[i], name);
    if (equal == 0) return static_cast<int>(i);
  }
  if (plan->symbols.size() == kMaxSymbols) {
    raise_error("SignatureError", "a signature has at most %d names of dimensions; found one more, %R", kMaxSymbols,
                name);
    return -1;
  }
  plan->symbols.push_back(Py_NewRef(name));
  return static_cast<int>(plan->symbols.size()) - 1;
}

bool load_dims(Plan* plan, PyObject* source, Param* param) {
  PyObject* raw = nullptr;
  if (!read_optional(source, "dims", &raw)) return false;
  if (raw == nullptr) return true;
  Ref dims(PySequence_Tuple(raw));
  Py_DECREF(raw);
  if (!dims) return false;
  param->has_dims = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(dims.get(), i);
    Dim dim;
    if (PyLong_Check(item)) {
      dim.kind = Dim::Fixed;
      dim.extent = PyLong_AsLongLong(item);
      if (dim.extent == -1 && PyErr_Occurred() != nullptr) return false;
    } else if (PyUnicode_Check(item)) {
      dim.kind = Dim::Named;
      dim.symbol = symbol_index(plan, item);
      if (dim.symbol < 0) return false;
    } else if (item != Py_None) {
      raise_error("SignatureError", "a dimension of a contract is an int, a name or None, not %R", item);
      return false;
    }
    param->dims.push_back(dim);
  }
  return true;
}

bool load_dtype(PyObject* source, Param* param) {
  PyObject* dtype = nullptr;
  if (!read_optional(source, "dtype", &dtype)) return false;
  if (dtype == nullptr) return true;
  param->dtype = dtype_of_class(dtype);
  if (param->dtype == kNoDtype) raise_error("SignatureError", "%R is no scalar type of darter", dtype);
  Py_DECREF(dtype);
  return param->dtype != kNoDtype;
}

bool load_default(PyObject* source, Param* param) {
  Ref value(PyObject_GetAttrString(source, "default"));
  Ref module(value ? PyImport_ImportModule("darter.signature.plan") : nullptr);
  Ref missing(module ? PyObject_GetAttrString(module.get(), "MISSING") : nullptr);
  if (!missing) return false;
  if (value.get() != missing.get()) param->default_value = value.release();
  return true;
}

bool load_param(Plan* plan, PyObject* source, Param* param);

bool load_params(Plan* plan, PyObject* source, const char* attribute, std::vector<Param>* out) {
  Ref items(PyObject_GetAttrString(source, attribute));
  return items && load_fields(plan, items.get(), out);
}

QuickKind quick_kind(const Param& param) {
  switch (param.kind) {
    case ParamKind::Tensor:
      return param.has_contract ? QuickKind::Contract : QuickKind::Tensor;
    case ParamKind::Any:
      return QuickKind::Any;
    case ParamKind::Scalar:  // an optional one has a key word
      return !param.optional && (param.dtype == Dtype::kI64 || param.dtype == Dtype::kI32) ? QuickKind::Int
                                                                                           : QuickKind::None;
    case ParamKind::Constexpr:
      return param.constexpr_type == nullptr || param.constexpr_type == reinterpret_cast<PyObject*>(&PyLong_Type)
                 ? QuickKind::Constexpr
                 : QuickKind::None;
    case ParamKind::Stream:
      return QuickKind::Stream;
    default:
      return QuickKind::None;
  }
}

bool load_param(Plan* plan, PyObject* source, Param* param) {
  Ref kind(PyObject_GetAttrString(source, "kind"));
  if (!kind) return false;
  const long number = PyLong_AsLong(kind.get());
  if (number == -1 && PyErr_Occurred() != nullptr) return false;
  if (number < 0 || number > static_cast<long>(ParamKind::JitArgument)) {
    raise_error("SignatureError", "unknown kind of parameter: %ld", number);
    return false;
  }
  param->kind = static_cast<ParamKind>(number);
  param->name = PyObject_GetAttrString(source, "name");
  if (param->name == nullptr || !PyUnicode_CheckExact(param->name)) {
    if (PyErr_Occurred() == nullptr) raise_error("SignatureError", "a parameter's name must be a str");
    return false;
  }
  PyUnicode_InternInPlace(&param->name);
  const bool loaded = read_flag(source, "optional", &param->optional) &&
                      read_flag(source, "positional_only", &param->positional_only) &&
                      read_flag(source, "keyword_only", &param->keyword_only) && load_default(source, param) &&
                      load_dtype(source, param) && load_dims(plan, source, param) &&
                      read_optional(source, "constexpr_type", &param->constexpr_type) &&
                      read_optional(source, "cls", &param->cls) && load_params(plan, source, "fields", &param->fields);
  param->has_contract = param->dtype != kNoDtype || param->has_dims;
  return loaded;
}

}  // namespace

bool load_fields(Plan* plan, PyObject* param_plans, std::vector<Param>* out) {
  Ref items(PySequence_Tuple(param_plans));
  if (!items) return false;
  out->reserve(static_cast<size_t>(PyTuple_GET_SIZE(items.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    out->emplace_back();
    if (!load_param(plan, PyTuple_GET_ITEM(items.get(), i), &out->back())) return false;
  }
  return true;
}

Param::Param(Param&& other) noexcept
    : cache(std::exchange(other.cache, TypeCache{})),
      kind(other.kind),
      dtype(other.dtype),
      has_dims(other.has_dims),
      has_contract(other.has_contract),
      optional(other.optional),
      positional_only(other.positional_only),
      keyword_only(other.keyword_only),
      dims(std::move(other.dims)),
      fields(std::move(other.fields)),
      name(std::exchange(other.name, nullptr)),
      default_value(std::exchange(other.default_value, nullptr)),
      constexpr_type(std::exchange(other.constexpr_type, nullptr)),
      cls(std::exchange(other.cls, nullptr)) {}

Param::~Param() {
  Py_XDECREF(cache.type);
  Py_XDECREF(cache.dtype_object);
  Py_XDECREF(name);
  Py_XDECREF(default_value);
  Py_XDECREF(constexpr_type);
  Py_XDECREF(cls);
}

int Param::traverse(visitproc visit, void* arg) const {
  Py_VISIT(cache.type);
  Py_VISIT(cache.dtype_object);
  Py_VISIT(default_value);
  Py_VISIT(constexpr_type);
  Py_VISIT(cls);
  for (const Param& field : fields) {
    if (const int status = field.traverse(visit, arg)) return status;
  }
  return 0;
}

Plan::~Plan() {
  for (PyObject* symbol : symbols) Py_DECREF(symbol);
  Py_XDECREF(name);
}

int Plan::traverse(visitproc visit, void* arg) const {
  for (const Param& param : params) {
    if (const int status = param.traverse(visit, arg)) return status;
  }
  return 0;
}

bool Plan::load(PyObject* signature_plan) {
  if (!load_scalar_types()) return false;
  // An earlier attempt may have failed half-way.
  params.clear();
  quick_runs.clear();
  defaults.clear();
  positional = 0;
  Py_CLEAR(name);
  name = PyObject_GetAttrString(signature_plan, "name");
  if (name == nullptr || !load_params(this, signature_plan, "parameters", &params)) return false;
  if (params.size() > kMaxParams) {
    raise_error("SignatureError", "%U() has %zu parameters; at most %d are accepted. Pass several as one tuple", name,
                params.size(), kMaxParams);
    return false;
  }
  bool keyword_seen = false;
  for (const Param& param : params) {
    defaults.push_back(param.default_value);
    const QuickKind kind = quick_kind(param);
    if (quick_runs.empty() || quick_runs.back().kind != kind) quick_runs.push_back({kind, 0});
    quick_runs.back().end = static_cast<int>(&param - params.data()) + 1;
    if (param.keyword_only) {
      keyword_seen = true;
    } else if (keyword_seen) {
      raise_error("SignatureError", "%U(): keyword-only parameters must come last", name);
      return false;
    } else {
      ++positional;
    }
  }
  // Without arguments a caller may hand over no array at all.
  complete = !keyword_seen && positional > 0 ? positional : -1;
  return true;
}

}  // namespace darter
