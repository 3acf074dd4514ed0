// Which function computes an operation in a type.
#include "scalars/scalar_ops.hpp"

#include <cmath>

#include "scalars/scalar_arithmetic.hpp"

namespace darter {

namespace {

template <class R>
ScalarFunction comparison(Opcode op) {
  using O = Ops<R>;
  using T = typename R::Value;
  switch (op) {
    case Opcode::kEq:
      return O::template compare<Equal<T>>;
    case Opcode::kNe:
      return O::template compare<NotEqual<T>>;
    case Opcode::kLt:
      return O::template compare<Less<T>>;
    case Opcode::kLe:
      return O::template compare<LessEqual<T>>;
    case Opcode::kGt:
      return O::template compare<Greater<T>>;
    case Opcode::kGe:
      return O::template compare<GreaterEqual<T>>;
    case Opcode::kMin:
      return O::min;
    case Opcode::kMax:
      return O::max;
    default:
      return nullptr;
  }
}

template <class R>
ScalarFunction arithmetic(Opcode op) {
  using O = Ops<R>;
  switch (op) {
    case Opcode::kAdd:
      return O::add;
    case Opcode::kSub:
      return O::sub;
    case Opcode::kMul:
      return O::mul;
    case Opcode::kFloorDiv:
      return O::floor_div;
    case Opcode::kMod:
      return O::mod;
    case Opcode::kNeg:
      return O::neg;
    case Opcode::kAbs:
      return O::abs;
    default:
      return comparison<R>(op);
  }
}

template <class R>
ScalarFunction bitwise(Opcode op) {
  using O = Ops<R>;
  switch (op) {
    case Opcode::kAnd:
      return O::bit_and;
    case Opcode::kOr:
      return O::bit_or;
    case Opcode::kXor:
      return O::bit_xor;
    case Opcode::kNot:
      return O::bit_not;
    default:
      return nullptr;
  }
}

template <class T>
ScalarFunction integer(Opcode op) {
  using O = Ops<Native<T>>;
  if (op == Opcode::kShl) return O::shl;
  if (op == Opcode::kShr) return O::shr;
  if (ScalarFunction found = bitwise<Native<T>>(op)) return found;
  return arithmetic<Native<T>>(op);
}

template <class R>
ScalarFunction floating(Opcode op) {
  return op == Opcode::kDiv ? Ops<R>::div : arithmetic<R>(op);
}

template <class T>
ScalarFunction exact_math(Opcode op, uint32_t math) {
  using O = Ops<Native<T>>;
  if (op == Opcode::kFma) return O::fma;
  if (op != Opcode::kMath) return floating<Native<T>>(op);
  constexpr ScalarFunction kFunctions[kMathCount] = {
      O::template math<std::sqrt>,  O::template math<std::floor>, O::template math<std::ceil>,
      O::template math<std::trunc>, O::template math<std::rint>,
  };
  return math < kMathCount ? kFunctions[math] : nullptr;
}

}  // namespace

ScalarFunction scalar_function(Opcode op, Dtype dtype, uint32_t math) {
  switch (dtype) {
    case Dtype::kBool:
      return bitwise<Native<bool>>(op) != nullptr ? bitwise<Native<bool>>(op) : comparison<Native<bool>>(op);
    case Dtype::kI8:
      return integer<int8_t>(op);
    case Dtype::kI16:
      return integer<int16_t>(op);
    case Dtype::kI32:
      return integer<int32_t>(op);
    case Dtype::kI64:
      return integer<int64_t>(op);
    case Dtype::kU8:
      return integer<uint8_t>(op);
    case Dtype::kU16:
      return integer<uint16_t>(op);
    case Dtype::kU32:
      return integer<uint32_t>(op);
    case Dtype::kU64:
      return integer<uint64_t>(op);
    case Dtype::kF16:
      return floating<Small<Dtype::kF16>>(op);
    case Dtype::kBF16:
      return floating<Small<Dtype::kBF16>>(op);
    case Dtype::kF32:
      return exact_math<float>(op, math);
    case Dtype::kF64:
      return exact_math<double>(op, math);
    default:
      return nullptr;
  }
}

}  // namespace darter
