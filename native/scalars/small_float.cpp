#include "scalars/small_float.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace darter {

namespace {

// How the bits of a small float are read. `finite_only`: no infinities (fn: all ones is NaN; fnuz: only 0x80 is).
struct Format {
  int bits;
  int mantissa;
  int bias;
  bool finite_only;
  bool unsigned_zero;
  bool saturates;
};

constexpr Format kFormats[] = {
    {16, 10, 15, false, false, false},  // f16
    {16, 7, 127, false, false, false},  // bf16
    {8, 3, 7, true, false, true},       // e4m3fn
    {8, 2, 15, false, false, true},     // e5m2
    {8, 3, 8, true, true, true},        // e4m3fnuz
    {8, 2, 16, true, true, true},       // e5m2fnuz
};

const Format& format_of(Dtype dtype) {
  const int code = static_cast<int>(dtype);
  return kFormats[dtype <= Dtype::kBF16 ? code - static_cast<int>(Dtype::kF16)
                                        : code - static_cast<int>(Dtype::kE4M3FN) + 2];
}

uint32_t exponent_mask(const Format& f) { return (1U << (f.bits - 1 - f.mantissa)) - 1; }

// Bits of the largest finite magnitude.
uint32_t largest(const Format& f) {
  const uint32_t all = (1U << (f.bits - 1)) - 1;
  if (f.unsigned_zero) return all;
  return f.finite_only ? all - 1 : (exponent_mask(f) << f.mantissa) - 1;
}

double small_value(const Format& f, uint32_t bits) {
  const uint32_t sign = (bits >> (f.bits - 1)) & 1;
  const uint32_t magnitude = bits & ((1U << (f.bits - 1)) - 1);
  if (f.unsigned_zero && sign != 0 && magnitude == 0) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > largest(f)) {
    const bool infinite = !f.finite_only && magnitude == (exponent_mask(f) << f.mantissa);
    const double special =
        infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return sign != 0 ? -special : special;
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa);
  const uint32_t fraction = magnitude & ((1U << f.mantissa) - 1);
  const double value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                                     : std::ldexp(fraction | (1U << f.mantissa), exponent - f.bias - f.mantissa);
  return sign != 0 ? -value : value;
}

uint32_t nan_bits(const Format& f, uint32_t sign) {
  if (f.unsigned_zero) return 1U << (f.bits - 1);
  if (f.finite_only) return sign | ((1U << (f.bits - 1)) - 1);
  return sign | (exponent_mask(f) << f.mantissa) | (1U << (f.mantissa - 1));
}

uint32_t small_bits(const Format& f, double value) {
  const uint32_t sign = std::signbit(value) ? 1U << (f.bits - 1) : 0;
  if (std::isnan(value)) return nan_bits(f, sign);
  const double magnitude = std::fabs(value);
  uint64_t bits = std::numeric_limits<uint64_t>::max();
  if (!std::isinf(magnitude)) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
    const int smallest = 1 - f.bias;
    const int scale = exponent - 1 < smallest ? smallest : exponent - 1;
    if (scale <= f.bias + 1) {  // beyond that it overflows whatever the fraction is
      // Count of the unit in the last place at this scale; a carry into the next power of two comes out right by
      // addition.
      const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa - scale)));
      const uint64_t base = static_cast<uint64_t>(scale + f.bias) << f.mantissa;
      bits = units < (1U << f.mantissa) ? units : base + units - (1U << f.mantissa);
    }
  }
  if (bits > largest(f)) bits = f.saturates ? largest(f) : exponent_mask(f) << f.mantissa;
  if (bits == 0 && f.unsigned_zero) return 0;
  return sign | static_cast<uint32_t>(bits);
}

}  // namespace

double float_from_bits(Dtype dtype, uint64_t bits) {
  if (dtype == Dtype::kF64) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (dtype == Dtype::kF32) {
    const auto low = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, sizeof value);
    return value;
  }
  return small_value(format_of(dtype), static_cast<uint32_t>(bits));
}

uint64_t float_to_bits(Dtype dtype, double value) {
  if (dtype == Dtype::kF64) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (dtype == Dtype::kF32) {
    const auto narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
  return small_bits(format_of(dtype), value);
}

uint64_t float_bits_from_int(Dtype dtype, uint64_t magnitude, bool negative) {
  if (dtype == Dtype::kF64) {
    const auto value = static_cast<double>(magnitude);
    return float_to_bits(dtype, negative ? -value : value);
  }
  // Round to odd at 53 bits first: what is lost stays visible as a sticky bit, so that the second rounding is the only
  // one.
  double value;
  if (magnitude >> 53 != 0) {
    const uint64_t kept = (magnitude >> 11) | static_cast<uint64_t>((magnitude & 0x7FF) != 0);
    value = std::ldexp(static_cast<double>(kept), 11);
  } else {
    value = static_cast<double>(magnitude);
  }
  return float_to_bits(dtype, negative ? -value : value);
}

}  // namespace darter
