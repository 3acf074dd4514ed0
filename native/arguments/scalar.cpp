#include "arguments/scalar.hpp"

#include <cmath>

#include "scalars/small_float.hpp"

namespace darter {
namespace {

bool is_number_kind(Dtype dtype) { return dtype_is_int(dtype) || dtype_is_float(dtype); }

bool refuse_kind(const Place& place, PyObject* object, Dtype dtype) {
  if (object == Py_None) {
    return refuse_type(place, "found None; the parameter is not optional. Annotate it with `| None` to admit None");
  }
  const char* accepted = dtype == Dtype::kBool   ? "bool and numpy.bool_"
                         : dtype_is_float(dtype) ? "float, int and NumPy's numbers"
                                                 : "int and NumPy's integers";
  return refuse_type(place, "found a value of type %s; accepted for dt.%s: %s. Convert the value before the call",
                     Py_TYPE(object)->tp_name, dtype_name(dtype), accepted);
}

bool refuse_range(const Place& place, PyObject* object, Dtype dtype) {
  return refuse_value(place, "found %R, out of range for dt.%s; annotate a wider type, or pass a value that fits",
                      object, dtype_name(dtype));
}

int64_t sign_extended(uint64_t bits, Dtype dtype) {
  const int shift = 64 - dtype_bits(dtype);
  return static_cast<int64_t>(bits << shift) >> shift;
}

// The value of a Python int in 128 bits, which hold every i64 and u64; `fits` false beyond both.
__int128 int_value(PyObject* object, bool* fits) {
  int sign = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &sign);
  *fits = sign == 0;
  if (sign <= 0) return value;
  const unsigned long long large = PyLong_AsUnsignedLongLong(object);
  if (large == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return 0;
  }
  *fits = true;
  return large;
}

bool encode_integer(const Place& place, PyObject* object, Dtype dtype, uint64_t* out) {
  __int128 value = 0;
  bool fits = true;
  if (PyLong_CheckExact(object)) {
    value = int_value(object, &fits);
  } else {
    const Dtype own = dtype_of_numpy_scalar(Py_TYPE(object));
    if (!dtype_is_int(own)) return refuse_kind(place, object, dtype);
    const uint64_t bits = numpy_scalar_bits(object, own);
    value = dtype_is_signed_int(own) ? static_cast<__int128>(sign_extended(bits, own)) : static_cast<__int128>(bits);
  }
  const int bits = dtype_bits(dtype);
  const bool is_signed = dtype_is_signed_int(dtype);
  const __int128 low = is_signed ? -(static_cast<__int128>(1) << (bits - 1)) : 0;
  const __int128 high = (static_cast<__int128>(1) << (is_signed ? bits - 1 : bits)) - 1;
  if (!fits || value < low || value > high) return refuse_range(place, object, dtype);
  *out = static_cast<uint64_t>(value);
  return true;
}

// A finite value of at least this size rounds past the largest finite one. e4m3fn's largest is even, so that the tie at
// 464 still rounds down to it.
bool overflows(double value, Dtype dtype) {
  const double size = std::fabs(value);
  switch (dtype) {
    case Dtype::kF16:
      return size >= 65520.0;
    case Dtype::kBF16:
      return size >= std::ldexp(2 - std::ldexp(1, -8), 127);
    case Dtype::kF32:
      return !std::isfinite(static_cast<float>(value));
    case Dtype::kE4M3FN:
      return size > 464.0;
    case Dtype::kE4M3FNUZ:
      return size >= 248.0;
    case Dtype::kE5M2:
    case Dtype::kE5M2FNUZ:
      return size >= 61440.0;
    default:
      return false;
  }
}

// The value of a number of another type than the parameter's, as a double; false with a refusal set.
bool number_as_double(const Place& place, PyObject* object, Dtype dtype, double* out) {
  if (PyFloat_CheckExact(object)) {
    *out = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyLong_CheckExact(object)) {
    *out = PyLong_AsDouble(object);
    if (*out != -1 || PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return refuse_range(place, object, dtype);
  }
  const Dtype own = dtype_of_numpy_scalar(Py_TYPE(object));
  if (!is_number_kind(own)) return refuse_kind(place, object, dtype);
  const uint64_t bits = numpy_scalar_bits(object, own);
  *out = dtype_is_float(own)        ? float_from_bits(own, bits)
         : dtype_is_signed_int(own) ? static_cast<double>(sign_extended(bits, own))
                                    : static_cast<double>(bits);
  return true;
}

bool encode_float(const Place& place, PyObject* object, Dtype dtype, uint64_t* out) {
  // A number of the parameter's own type keeps its bits, NaN payloads included.
  if (!PyFloat_CheckExact(object) && dtype_of_numpy_scalar(Py_TYPE(object)) == dtype) {
    *out = numpy_scalar_bits(object, dtype);
    return true;
  }
  double value = 0;
  if (!number_as_double(place, object, dtype, &value)) return false;
  if (std::isfinite(value) && overflows(value, dtype)) return refuse_range(place, object, dtype);
  *out = float_to_bits(dtype, value);
  return true;
}

bool encode_bool(const Place& place, PyObject* object, uint64_t* out) {
  if (PyBool_Check(object)) {
    *out = object == Py_True ? 1 : 0;
    return true;
  }
  if (dtype_of_numpy_scalar(Py_TYPE(object)) != Dtype::kBool) return refuse_kind(place, object, Dtype::kBool);
  *out = numpy_scalar_bits(object, Dtype::kBool);
  return true;
}

}  // namespace

uint64_t numpy_scalar_bits(PyObject* object, Dtype dtype) {
  // numpy's and ml_dtypes' scalar objects hold the value right behind the object head.
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const char*>(object) + sizeof(PyObject), size_t{1} << size_shift(dtype));
  return bits;
}

Dtype dtype_of_number(PyObject* object) {
  if (PyLong_CheckExact(object)) return Dtype::kI64;
  if (PyFloat_CheckExact(object)) return Dtype::kF32;
  if (PyBool_Check(object)) return Dtype::kBool;
  return dtype_of_numpy_scalar(Py_TYPE(object));
}

bool encode_scalar_slowly(const Place& place, PyObject* object, Dtype dtype, uint64_t* out) {
  if (dtype == Dtype::kBool) return encode_bool(place, object, out);
  return dtype_is_float(dtype) ? encode_float(place, object, dtype, out) : encode_integer(place, object, dtype, out);
}

}  // namespace darter
