// Conversions between scalars in registers.
#include <cmath>
#include <limits>

#include "scalars/scalar_ops.hpp"
#include "scalars/small_float.hpp"

namespace darter {

namespace {

uint64_t int_magnitude(Dtype from, uint64_t value, bool* negative) {
  *negative = dtype_is_signed_int(from) && static_cast<int64_t>(value) < 0;
  return *negative ? 0 - value : value;
}

// `value` truncated toward zero and saturated to the integer type `to`; NaN becomes 0.
uint64_t saturate(double value, Dtype to) {
  if (std::isnan(value)) return 0;
  const int bits = dtype_bits(to);
  if (dtype_is_signed_int(to)) {
    const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
    const double limit = std::ldexp(1.0, bits - 1);
    if (value >= limit) return static_cast<uint64_t>(most);
    if (value < -limit) return static_cast<uint64_t>(-most - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  if (value >= std::ldexp(1.0, bits)) return std::numeric_limits<uint64_t>::max() >> (64 - bits);
  return value <= -1 ? 0 : static_cast<uint64_t>(value);
}

}  // namespace

uint64_t canonical_register(Dtype dtype, uint64_t value) {
  if (dtype == Dtype::kBool) return static_cast<uint64_t>((value & 0xFF) != 0);
  const int unused = 64 - dtype_bits(dtype);
  if (dtype_is_signed_int(dtype)) return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  return value << unused >> unused;
}

ScalarStatus cast_scalar(uint64_t* dst, uint64_t value, Dtype from, Dtype to, bool checked) {
  value = canonical_register(from, value);
  if (dtype_is_float(from)) {
    const double number = float_from_bits(from, value);
    if (to == Dtype::kBool) {
      *dst = static_cast<uint64_t>(number != 0);  // true of NaN
    } else {
      *dst = dtype_is_float(to) ? float_to_bits(to, number) : saturate(number, to);
    }
    return ScalarStatus::kOk;
  }
  bool negative = false;
  const uint64_t magnitude = int_magnitude(from, value, &negative);
  if (to == Dtype::kBool) {
    *dst = static_cast<uint64_t>(value != 0);
  } else if (dtype_is_float(to)) {
    *dst = float_bits_from_int(to, magnitude, negative);
  } else {
    const uint64_t narrow = canonical_register(to, value);
    const bool sign_changed = negative != (dtype_is_signed_int(to) && static_cast<int64_t>(narrow) < 0);
    if (checked && (narrow != value || sign_changed)) return ScalarStatus::kOutOfRange;
    *dst = narrow;
  }
  return ScalarStatus::kOk;
}

}  // namespace darter
