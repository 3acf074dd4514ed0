// The operations of launch programs, written once for all scalar types; scalar_ops.cpp picks from them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "scalars/scalar_ops.hpp"
#include "scalars/small_float.hpp"

namespace darter {

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

}  // namespace darter
