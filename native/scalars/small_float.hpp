// Conversions between the floats of at most 16 bits and double. Rounding is to nearest even, denormals are kept.
#pragma once

#include <cstdint>

#include "scalars/dtype.hpp"

namespace darter {

// The value of the low bits of `bits` read as `dtype`, one of the floats; exact.
double float_from_bits(Dtype dtype, uint64_t bits);

// `value` rounded once to `dtype`, one of the floats, as zero-extended bits. f16 and bf16 overflow to infinity; the
// float8 types saturate finite values and infinities. NaN stays NaN.
uint64_t float_to_bits(Dtype dtype, double value);

// An integer rounded once to `dtype`, one of the floats.
uint64_t float_bits_from_int(Dtype dtype, uint64_t magnitude, bool negative);

}  // namespace darter
