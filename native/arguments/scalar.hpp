// Python and numpy numbers as the 64-bit register of a scalar parameter.
#pragma once

#include "readers/reader.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {

// Writes `object` as `dtype`: integers sign- or zero-extended, floats as the bits of their own width, zero-extended.
// False with a refusal set for another kind or a value out of range.
bool encode_scalar_slowly(const Place& place, PyObject* object, Dtype dtype, uint64_t* out);

// The scalar type of an unannotated number, or 0: bool, int (i64), float (f32), numpy scalars their own.
Dtype dtype_of_number(PyObject* object);

// The payload of a numpy scalar of a known type, zero-extended.
uint64_t numpy_scalar_bits(PyObject* object, Dtype dtype);

// An int of at most one digit (30 bits); the common case of sizes and counts.
inline bool small_int(PyObject* object, int64_t* out) {
#if PY_VERSION_HEX >= 0x030C0000
  auto* number = reinterpret_cast<PyLongObject*>(object);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  *out = PyUnstable_Long_CompactValue(number);
  return true;
#else
  const Py_ssize_t size = Py_SIZE(object);
  if (size < -1 || size > 1) return false;
  *out = size * static_cast<int64_t>(reinterpret_cast<PyLongObject*>(object)->ob_digit[0]);
  return true;
#endif
}

inline bool encode_scalar(const Place& place, PyObject* object, Dtype dtype, uint64_t* out) {
  if (DARTER_LIKELY(PyLong_CheckExact(object) && (dtype == Dtype::kI64 || dtype == Dtype::kI32))) {
    int64_t value = 0;
    if (DARTER_LIKELY(small_int(object, &value))) {  // 30 bits and a sign fit both
      *out = static_cast<uint64_t>(value);
      return true;
    }
  }
  return encode_scalar_slowly(place, object, dtype, out);
}

}  // namespace darter
