#include "scalars/scalar_ops.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "scalars/small_float.hpp"

namespace darter {

namespace {

// How each type is read from a register, computed with (`Value`) and written.
template <class T>
struct Native {
  using Value = T;
  static T read(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);  // little-endian: the low bytes
    return value;
  }
  static void write(uint64_t* dst, T value) {
    if constexpr (std::is_integral_v<T>) {
      *dst = static_cast<uint64_t>(static_cast<int64_t>(value));
    } else {
      uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      *dst = bits;
    }
  }
};

template <>
struct Native<bool> {
  using Value = bool;
  static bool read(uint64_t bits) { return (bits & 0xFF) != 0; }
  static void write(uint64_t* dst, bool value) { *dst = static_cast<uint64_t>(value); }
};

// f16 and bf16 are computed in f32 and rounded after each operation.
template <Dtype D>
struct Small {
  using Value = float;
  static float read(uint64_t bits) { return static_cast<float>(float_from_bits(D, bits)); }
  static void write(uint64_t* dst, float value) { *dst = float_to_bits(D, value); }
};

template <class R>
struct Ops {
  using T = typename R::Value;
  static constexpr bool kFloat = std::is_floating_point_v<T>;

  static ScalarStatus add(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    T out;
    if constexpr (kFloat) {
      out = R::read(a) + R::read(b);
    } else if (__builtin_add_overflow(R::read(a), R::read(b), &out)) {
      return ScalarStatus::kOverflow;
    }
    R::write(dst, out);
    return ScalarStatus::kOk;
  }

  static ScalarStatus sub(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    T out;
    if constexpr (kFloat) {
      out = R::read(a) - R::read(b);
    } else if (__builtin_sub_overflow(R::read(a), R::read(b), &out)) {
      return ScalarStatus::kOverflow;
    }
    R::write(dst, out);
    return ScalarStatus::kOk;
  }

  static ScalarStatus mul(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    T out;
    if constexpr (kFloat) {
      out = R::read(a) * R::read(b);
    } else if (__builtin_mul_overflow(R::read(a), R::read(b), &out)) {
      return ScalarStatus::kOverflow;
    }
    R::write(dst, out);
    return ScalarStatus::kOk;
  }

  static ScalarStatus div(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    R::write(dst, R::read(a) / R::read(b));
    return ScalarStatus::kOk;
  }

  static ScalarStatus floor_div(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    const T x = R::read(a);
    const T y = R::read(b);
    if constexpr (kFloat) {
      R::write(dst, float_floor_div(x, y));
    } else {
      if (y == 0) return ScalarStatus::kDivisionByZero;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return sub(dst, 0, a, 0);
        T quotient = x / y;
        if ((x % y != 0) && ((x < 0) != (y < 0))) --quotient;
        R::write(dst, quotient);
      } else {
        R::write(dst, x / y);
      }
    }
    return ScalarStatus::kOk;
  }

  static ScalarStatus mod(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    const T x = R::read(a);
    const T y = R::read(b);
    if constexpr (kFloat) {
      R::write(dst, float_mod(x, y));
    } else {
      if (y == 0) return ScalarStatus::kDivisionByZero;
      if constexpr (std::is_signed_v<T>) {
        T rest = y == -1 ? 0 : x % y;
        if (rest != 0 && ((rest < 0) != (y < 0))) rest += y;
        R::write(dst, rest);
      } else {
        R::write(dst, x % y);
      }
    }
    return ScalarStatus::kOk;
  }

  static T float_mod(T x, T y) {
    T rest = std::fmod(x, y);
    if (rest != 0) {
      if ((y < 0) != (rest < 0)) rest += y;
    } else {
      rest = std::copysign(rest, y);
    }
    return rest;
  }

  // The floor of the exact quotient, as Python and numpy compute it: from the remainder, since x / y may round up to an
  // integer.
  static T float_floor_div(T x, T y) {
    if (y == 0) return x / y;
    T rest = std::fmod(x, y);
    T quotient = (x - rest) / y;
    if (rest != 0 && ((y < 0) != (rest < 0))) quotient -= 1;
    if (quotient == 0) return std::copysign(static_cast<T>(0), x / y);
    const T floored = std::floor(quotient);
    return quotient - floored > static_cast<T>(0.5) ? floored + 1 : floored;
  }

  static ScalarStatus bit_and(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    R::write(dst, static_cast<T>(+R::read(a) & +R::read(b)));
    return ScalarStatus::kOk;
  }

  static ScalarStatus bit_or(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    R::write(dst, static_cast<T>(+R::read(a) | +R::read(b)));
    return ScalarStatus::kOk;
  }

  static ScalarStatus bit_xor(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    R::write(dst, static_cast<T>(R::read(a) ^ R::read(b)));
    return ScalarStatus::kOk;
  }

  static ScalarStatus shl(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    const unsigned amount = static_cast<unsigned>(b) & (sizeof(T) * 8 - 1);
    const T x = R::read(a);
    const T out = static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << amount);
    if (static_cast<T>(out >> amount) != x) return ScalarStatus::kOverflow;
    R::write(dst, out);
    return ScalarStatus::kOk;
  }

  static ScalarStatus shr(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    const unsigned amount = static_cast<unsigned>(b) & (sizeof(T) * 8 - 1);
    R::write(dst, static_cast<T>(R::read(a) >> amount));
    return ScalarStatus::kOk;
  }

  static ScalarStatus min(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    const T x = R::read(a);
    const T y = R::read(b);
    T out = y < x ? y : x;
    if constexpr (kFloat) {
      if (std::isnan(x) || std::isnan(y)) out = x + y;
      if (x == 0 && y == 0) out = std::signbit(x) ? x : y;
    }
    R::write(dst, out);
    return ScalarStatus::kOk;
  }

  static ScalarStatus max(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    const T x = R::read(a);
    const T y = R::read(b);
    T out = x < y ? y : x;
    if constexpr (kFloat) {
      if (std::isnan(x) || std::isnan(y)) out = x + y;
      if (x == 0 && y == 0) out = std::signbit(x) ? y : x;
    }
    R::write(dst, out);
    return ScalarStatus::kOk;
  }

  static ScalarStatus neg(uint64_t* dst, uint64_t a, uint64_t b, uint64_t c) {
    if constexpr (kFloat) {
      R::write(dst, -R::read(a));
      return ScalarStatus::kOk;
    } else {
      (void)b;
      return sub(dst, 0, a, c);
    }
  }

  static ScalarStatus bit_not(uint64_t* dst, uint64_t a, uint64_t, uint64_t) {
    if constexpr (std::is_same_v<T, bool>) {
      R::write(dst, !R::read(a));
    } else {
      R::write(dst, static_cast<T>(~R::read(a)));
    }
    return ScalarStatus::kOk;
  }

  static ScalarStatus abs(uint64_t* dst, uint64_t a, uint64_t, uint64_t) {
    const T x = R::read(a);
    if constexpr (kFloat) {
      R::write(dst, std::fabs(x));
    } else if constexpr (std::is_signed_v<T>) {
      if (x < 0) return sub(dst, 0, a, 0);
      R::write(dst, x);
    } else {
      R::write(dst, x);
    }
    return ScalarStatus::kOk;
  }

  template <class Compare>
  static ScalarStatus compare(uint64_t* dst, uint64_t a, uint64_t b, uint64_t) {
    *dst = static_cast<uint64_t>(Compare()(R::read(a), R::read(b)));
    return ScalarStatus::kOk;
  }

  static ScalarStatus fma(uint64_t* dst, uint64_t a, uint64_t b, uint64_t c) {
    R::write(dst, std::fma(R::read(a), R::read(b), R::read(c)));
    return ScalarStatus::kOk;
  }

  template <T (*Function)(T)>
  static ScalarStatus math(uint64_t* dst, uint64_t a, uint64_t, uint64_t) {
    R::write(dst, Function(R::read(a)));
    return ScalarStatus::kOk;
  }
};

template <class T>
struct Equal {
  bool operator()(T a, T b) const { return a == b; }
};
template <class T>
struct NotEqual {
  bool operator()(T a, T b) const { return a != b; }
};
template <class T>
struct Less {
  bool operator()(T a, T b) const { return a < b; }
};
template <class T>
struct LessEqual {
  bool operator()(T a, T b) const { return a <= b; }
};
template <class T>
struct Greater {
  bool operator()(T a, T b) const { return a > b; }
};
template <class T>
struct GreaterEqual {
  bool operator()(T a, T b) const { return a >= b; }
};

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
