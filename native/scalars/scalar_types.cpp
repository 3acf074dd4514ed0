#include "scalars/scalar_types.hpp"

namespace darter {

namespace {

struct NumpyType {
  const char* name;
  Dtype code;
};

// longlong is a type of its own beside int64 on Linux, with the same values.
constexpr NumpyType kNumpyNames[] = {
    {"bool_", Dtype::kBool},   {"int8", Dtype::kI8},       {"int16", Dtype::kI16},   {"int32", Dtype::kI32},
    {"int64", Dtype::kI64},    {"uint8", Dtype::kU8},      {"uint16", Dtype::kU16},  {"uint32", Dtype::kU32},
    {"uint64", Dtype::kU64},   {"float16", Dtype::kF16},   {"float32", Dtype::kF32}, {"float64", Dtype::kF64},
    {"longlong", Dtype::kI64}, {"ulonglong", Dtype::kU64}, {"intc", Dtype::kI32},    {"uintc", Dtype::kU32},
};
constexpr NumpyType kMlDtypesNames[] = {
    {"bfloat16", Dtype::kBF16},
    {"float8_e4m3fn", Dtype::kE4M3FN},
    {"float8_e5m2", Dtype::kE5M2},
    {"float8_e4m3fnuz", Dtype::kE4M3FNUZ},
    {"float8_e5m2fnuz", Dtype::kE5M2FNUZ},
};
constexpr int kMaxNumpyTypes = 24;

// What was learned of other modules; filled once, under the GIL, and kept for the life of the process.
struct Known {
  PyObject* classes[kDtypeCount] = {};
  PyTypeObject* ndarray = nullptr;
  PyTypeObject* memmap = nullptr;
  PyTypeObject* generic = nullptr;
  PyTypeObject* scalar_types[kMaxNumpyTypes] = {};
  Dtype scalar_codes[kMaxNumpyTypes] = {};
  int scalar_count = 0;
  bool ml_dtypes = false;
};
Known known;

// A module that is already imported, or nothing; never imports, never leaves an exception.
Ref imported(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = modules != nullptr ? PyDict_GetItemString(modules, name) : nullptr;
  return Ref::borrow(module);
}

PyTypeObject* type_attribute(PyObject* module, const char* name) {
  PyObject* value = PyObject_GetAttrString(module, name);
  if (value == nullptr) PyErr_Clear();
  if (value != nullptr && !PyType_Check(value)) Py_CLEAR(value);
  return reinterpret_cast<PyTypeObject*>(value);
}

template <size_t N>
void learn_scalars(PyObject* module, const NumpyType (&names)[N]) {
  for (const NumpyType& entry : names) {
    PyTypeObject* type = type_attribute(module, entry.name);
    if (type == nullptr) continue;
    known.scalar_types[known.scalar_count] = type;
    known.scalar_codes[known.scalar_count] = entry.code;
    ++known.scalar_count;
  }
}

DARTER_COLD void learn_ml_dtypes() {
  Ref module = imported("ml_dtypes");
  if (!module || known.ml_dtypes) return;
  PyTypeObject* probe = type_attribute(module.get(), "bfloat16");
  if (probe == nullptr) return;  // half imported, by another thread: ask again
  Py_DECREF(probe);
  known.ml_dtypes = true;
  learn_scalars(module.get(), kMlDtypesNames);
}

Dtype find_scalar(PyTypeObject* type) {
  for (int i = 0; i < known.scalar_count; ++i) {
    if (known.scalar_types[i] == type) return known.scalar_codes[i];
  }
  return kNoDtype;
}

}  // namespace

bool load_scalar_types() {
  if (known.classes[1] != nullptr) return true;
  Ref module(PyImport_ImportModule("darter.dtypes"));
  Ref all(module ? PyObject_GetAttrString(module.get(), "ALL") : nullptr);
  if (!all) return false;
  if (!PyTuple_CheckExact(all.get()) || PyTuple_GET_SIZE(all.get()) != kDtypeCount - 1) {
    PyErr_SetString(PyExc_RuntimeError, "darter.dtypes.ALL does not fit the native module");
    return false;
  }
  for (int code = 1; code < kDtypeCount; ++code) known.classes[code] = Py_NewRef(PyTuple_GET_ITEM(all.get(), code - 1));
  return true;
}

Dtype dtype_of_class(PyObject* object) {
  for (int code = 1; code < kDtypeCount; ++code) {
    if (known.classes[code] == object) return static_cast<Dtype>(code);
  }
  return kNoDtype;
}

bool numpy_known() {
  if (known.ndarray != nullptr) return true;
  Ref module = imported("numpy");
  if (!module) return false;
  PyTypeObject* memmap = type_attribute(module.get(), "memmap");
  PyTypeObject* generic = type_attribute(module.get(), "generic");
  PyTypeObject* ndarray = type_attribute(module.get(), "ndarray");
  if (memmap == nullptr || generic == nullptr || ndarray == nullptr) {  // half imported
    Py_XDECREF(memmap);
    Py_XDECREF(generic);
    Py_XDECREF(ndarray);
    return false;
  }
  learn_scalars(module.get(), kNumpyNames);
  known.memmap = memmap;
  known.generic = generic;
  known.ndarray = ndarray;
  return true;
}

PyTypeObject* numpy_ndarray() { return known.ndarray; }
PyTypeObject* numpy_memmap() { return known.memmap; }

bool is_numpy_scalar(PyTypeObject* type) { return numpy_known() && PyType_IsSubtype(type, known.generic) != 0; }

Dtype dtype_of_numpy_scalar(PyTypeObject* type) {
  if (!numpy_known()) return kNoDtype;
  Dtype code = find_scalar(type);
  if (code == kNoDtype && !known.ml_dtypes) {
    learn_ml_dtypes();
    code = find_scalar(type);
  }
  return code;
}

Dtype dtype_of_dlpack(int type_code, int bits, int lanes) {
  // Source: DLDataTypeCode of DLPack 1.1.
  if (lanes != 1) return kNoDtype;
  switch (type_code) {
    case 0:  // kDLInt
      return bits == 8    ? Dtype::kI8
             : bits == 16 ? Dtype::kI16
             : bits == 32 ? Dtype::kI32
             : bits == 64 ? Dtype::kI64
                          : kNoDtype;
    case 1:  // kDLUInt
      return bits == 8    ? Dtype::kU8
             : bits == 16 ? Dtype::kU16
             : bits == 32 ? Dtype::kU32
             : bits == 64 ? Dtype::kU64
                          : kNoDtype;
    case 2:  // kDLFloat
      return bits == 16 ? Dtype::kF16 : bits == 32 ? Dtype::kF32 : bits == 64 ? Dtype::kF64 : kNoDtype;
    case 4:  // kDLBfloat
      return bits == 16 ? Dtype::kBF16 : kNoDtype;
    case 6:  // kDLBool
      return bits == 8 ? Dtype::kBool : kNoDtype;
    case 10:  // kDLFloat8_e4m3fn
      return bits == 8 ? Dtype::kE4M3FN : kNoDtype;
    case 11:  // kDLFloat8_e4m3fnuz
      return bits == 8 ? Dtype::kE4M3FNUZ : kNoDtype;
    case 12:  // kDLFloat8_e5m2
      return bits == 8 ? Dtype::kE5M2 : kNoDtype;
    case 13:  // kDLFloat8_e5m2fnuz
      return bits == 8 ? Dtype::kE5M2FNUZ : kNoDtype;
    default:
      return kNoDtype;
  }
}

}  // namespace darter
