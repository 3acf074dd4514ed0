#include "key/key.hpp"

#include <iterator>
#include <vector>

#include "scalars/scalar_types.hpp"

namespace darter {
namespace {

// Deeper nesting goes to the cold encoder, which says where it ends.
constexpr int kMaxDepth = 16;

PyTypeObject* enum_meta() {
  static PyTypeObject* meta = nullptr;
  if (meta == nullptr) {
    Ref module(PyImport_ImportModule("enum"));
    Ref found(module ? PyObject_GetAttrString(module.get(), "EnumMeta") : nullptr);
    if (!found) {
      PyErr_Clear();
      return nullptr;
    }
    meta = reinterpret_cast<PyTypeObject*>(found.release());
  }
  return meta;
}

bool bytes_words(ValueTag tag, const char* data, Py_ssize_t count, WordBuffer* words) {
  const auto whole = static_cast<size_t>(count) / 8;
  const auto rest = static_cast<size_t>(count) % 8;
  if (!words->reserve(whole + 2)) return false;
  words->push(tag | static_cast<uint64_t>(count) << 8);
  std::memcpy(words->take(whole), data, whole * 8);
  if (rest != 0) {
    uint64_t last = 0;
    std::memcpy(&last, data + whole * 8, rest);
    words->push(last);
  }
  return true;
}

DARTER_COLD bool cold_words(const Place& place, PyObject* value, PyObject* cold, WordBuffer* words) {
  Ref path(path_text(place.path));
  Ref encoded(path ? PyObject_CallMethod(cold, "constexpr_words", "OO", value, path.get()) : nullptr);
  if (!encoded) return false;
  if (!PyTuple_CheckExact(encoded.get())) {
    PyErr_SetString(PyExc_RuntimeError, "constexpr_words must return a tuple of words");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(encoded.get()); ++i) {
    const unsigned long long word = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(encoded.get(), i));
    if (word == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) return false;
    if (!words->append(word)) return false;
  }
  return true;
}

bool str_words(const Place& place, PyObject* value, PyObject* cold, WordBuffer* words) {
  Py_ssize_t count = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &count);
  if (text == nullptr) {  // lone surrogates
    PyErr_Clear();
    return cold_words(place, value, cold, words);
  }
  return bytes_words(kValueStr, text, count, words);
}

bool int_words(const Place& place, PyObject* value, PyObject* cold, WordBuffer* words) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return cold_words(place, value, cold, words);
  if (!words->reserve(2)) return false;
  words->push(kValueInt);
  words->push(static_cast<uint64_t>(number));
  return true;
}

uint64_t double_bits(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

bool float_words(double value, WordBuffer* words) {
  if (!words->reserve(2)) return false;
  words->push(kValueFloat);
  words->push(double_bits(value));
  return true;
}

bool enum_words(const Place& place, PyObject* value, PyObject* cold, Interned* interned, WordBuffer* words) {
  static PyObject* name_attribute = PyUnicode_InternFromString("_name_");
  Ref name(PyObject_GetAttr(value, name_attribute));
  if (!name || !PyUnicode_CheckExact(name.get())) {
    PyErr_Clear();
    return cold_words(place, value, cold, words);
  }
  const uint64_t cls = interned->number(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  return words->append(kValueEnum | cls << 8) && str_words(place, name.get(), cold, words);
}

bool value_words(const Place& place, PyObject* value, PyObject* cold, Interned* interned, WordBuffer* words,
                 int depth) {
  PyTypeObject* type = Py_TYPE(value);
  if (type == &PyLong_Type) return int_words(place, value, cold, words);
  if (value == Py_None) return words->append(kValueNone);
  if (type == &PyBool_Type) return words->append(value == Py_True ? kValueTrue : kValueFalse);
  if (type == &PyFloat_Type) return float_words(PyFloat_AS_DOUBLE(value), words);
  if (type == &PyUnicode_Type) return str_words(place, value, cold, words);
  if (type == &PyBytes_Type) return bytes_words(kValueBytes, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value), words);
  if (type == &PyTuple_Type && depth < kMaxDepth) {
    if (!words->append(kValueTuple | static_cast<uint64_t>(PyTuple_GET_SIZE(value)) << 8)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      if (!value_words(place, PyTuple_GET_ITEM(value, i), cold, interned, words, depth + 1)) return false;
    }
    return true;
  }
  if (PyType_Check(value)) {
    const Dtype dtype = dtype_of_class(value);
    return dtype != kNoDtype ? words->append(kValueScalarType | static_cast<uint64_t>(dtype) << 8)
                             : cold_words(place, value, cold, words);
  }
  PyTypeObject* meta = enum_meta();
  if (meta != nullptr && PyType_IsSubtype(Py_TYPE(reinterpret_cast<PyObject*>(type)), meta) != 0) {
    return enum_words(place, value, cold, interned, words);
  }
  return cold_words(place, value, cold, words);
}

}  // namespace

bool constexpr_words(const Place& place, PyObject* value, PyObject* cold, Interned* interned, WordBuffer* words) {
  return value_words(place, value, cold, interned, words, 0);
}

uint64_t general_layout(const TensorView& view, uint64_t* slots) {
  const int rank = view.rank;
  const int shift = size_shift(view.dtype);
  const int stride_shift = view.byte_strides ? shift : 0;
  const uint64_t item_mask = (uint64_t{1} << stride_shift) - 1;
  uint64_t* extents = slots + 1;
  uint64_t* strides = extents + rank;
  uint64_t wide = 0;
  uint64_t others = 0;     // strides in use, in elements, but for the unit axis'
  uint64_t remainder = 0;  // of the strides in bytes
  uint64_t above = 0;      // offsets on the two sides of the base, in elements
  uint64_t below = 0;
  uint64_t unit = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const int64_t extent = view.shape[axis];
    const int64_t raw = view.strides[axis];
    const int64_t stride = raw >> stride_shift;
    extents[axis] = static_cast<uint64_t>(extent);
    strides[axis] = static_cast<uint64_t>(stride);
    const uint64_t used = extent > 1 ? ~uint64_t{0} : 0;
    const uint64_t effective = static_cast<uint64_t>(stride) & used;
    const auto sign = static_cast<uint64_t>(static_cast<int64_t>(effective) >> 63);
    const uint64_t distance = (effective ^ sign) - sign;
    // A product that overflows comes of a factor that makes the tensor wide already.
    const uint64_t reach = static_cast<uint64_t>(extent - 1) * distance;
    wide |= static_cast<uint64_t>(extent) >> kWideBits | distance >> kWideBits | reach >> kWideBits;
    above += reach & ~sign;
    below += reach & sign;
    remainder |= static_cast<uint64_t>(raw) & used & item_mask;
    if (unit == 0 && (used == 0 || stride == 1)) {
      unit = static_cast<uint64_t>(axis) + 1;
    } else {
      others |= effective;
    }
  }
  if (remainder != 0) return kIrregular;
  wide |= (above << shift | below << shift) >> kWideBits;
  return layout_bits(unit, unit != 0 && ((others << shift | view.address) & 15) == 0, wide != 0);
}

uint64_t Interned::number(PyObject* object) {
  if (object == last_) return last_number_;
  const auto found = numbers_.find(object);
  if (found != numbers_.end()) {
    last_number_ = found->second;
  } else {
    last_number_ = ++count_;
    numbers_.emplace(Py_NewRef(object), last_number_);
  }
  last_ = object;
  return last_number_;
}

void Interned::release_functions() {
  last_ = nullptr;
  std::vector<PyObject*> released;
  for (auto entry = numbers_.begin(); entry != numbers_.end();) {
    const bool unused = PyFunction_Check(entry->first) && Py_REFCNT(entry->first) == 1;
    if (unused) released.push_back(entry->first);
    entry = unused ? numbers_.erase(entry) : std::next(entry);
  }
  for (PyObject* function : released) Py_DECREF(function);
}

int Interned::traverse(visitproc visit, void* arg) const {
  for (const auto& entry : numbers_) Py_VISIT(entry.first);
  return 0;
}

void Interned::clear() {
  last_ = nullptr;
  std::unordered_map<PyObject*, uint64_t> held;
  held.swap(numbers_);
  for (const auto& entry : held) Py_DECREF(entry.first);
}

}  // namespace darter
