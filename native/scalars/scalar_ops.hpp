// Arithmetic of launch programs on scalars in 64-bit registers: the low bytes of a register hold the value.
//
// Operations read only the low bytes of an operand and write a canonical register: integers sign- or zero-extended,
// floats and Bool zero-extended. Integer overflow and division by zero are reported, never undefined; floats follow
// IEEE 754.
#pragma once

#include <cstdint>

#include "scalars/dtype.hpp"

namespace darter {

// Numbers of darter.ir.program.Opcode; a test compares them.
enum class Opcode : uint8_t {
  kReturn = 0,
  kMove = 1,
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kDiv = 5,
  kFloorDiv = 6,
  kMod = 7,
  kAnd = 8,
  kOr = 9,
  kXor = 10,
  kShl = 11,
  kShr = 12,
  kMin = 13,
  kMax = 14,
  kNeg = 15,
  kNot = 16,
  kAbs = 17,
  kEq = 18,
  kNe = 19,
  kLt = 20,
  kLe = 21,
  kGt = 22,
  kGe = 23,
  kSelect = 24,
  kCast = 25,
  kJump = 26,
  kJumpUnless = 27,
  kRaise = 28,
  kLaunch = 29,
  kBitcast = 30,
  kFma = 31,
  kMath = 32,
};

constexpr int kOpcodeCount = 33;
constexpr int kMathCount = 5;  // square root, floor, ceil, trunc, rint

enum class ScalarStatus : uint8_t { kOk, kOverflow, kDivisionByZero, kOutOfRange };

// Computes *dst from the operands; an unused one may be anything.
using ScalarFunction = ScalarStatus (*)(uint64_t* dst, uint64_t a, uint64_t b, uint64_t c);

// The function for arithmetic, comparison, FMA or MATH (`math` is its number) in `dtype`; NULL where the language has
// no such operation.
ScalarFunction scalar_function(Opcode op, Dtype dtype, uint32_t math);

// Converts the low bytes of `value` from one scalar type to another. `checked`: an integer that does not fit is
// kOutOfRange and leaves *dst alone; otherwise it is truncated. A float that becomes an integer saturates and NaN
// becomes 0; everything else rounds to nearest even.
ScalarStatus cast_scalar(uint64_t* dst, uint64_t value, Dtype from, Dtype to, bool checked);

// The low bytes of `value` as a canonical register of type `dtype`.
uint64_t canonical_register(Dtype dtype, uint64_t value);

}  // namespace darter
