// The loop that runs a launch program: the last part of every warm call.
#include <alloca.h>

#include <cstring>

#include "program/program.hpp"

namespace darter {

namespace {

// Divides flooring; the caller has excluded 0 and -1 as divisors. A 32-bit division takes a third of the time of a
// 64-bit one on many machines.
inline int64_t floor_div(int64_t a, int64_t b) {
  if (((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32) == 0) {
    return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  }
  const int64_t quotient = a / b;
  return quotient - static_cast<int64_t>((a % b != 0) && ((a < 0) != (b < 0)));
}

inline int64_t floor_mod(int64_t a, int64_t b) {
  if (((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32) == 0) {
    return static_cast<uint32_t>(a) % static_cast<uint32_t>(b);
  }
  const int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

RunEnd end_of(ScalarStatus status) {
  switch (status) {
    case ScalarStatus::kDivisionByZero:
      return RunEnd::kDivisionByZero;
    case ScalarStatus::kOutOfRange:
      return RunEnd::kOutOfRange;
    default:
      return RunEnd::kOverflow;
  }
}

// A function of its own, because what alloca takes must be given back before the next launch.
[[gnu::noinline]] RunEnd launch(const LinkedLaunch& spec, uint64_t* r, void* stream) {
  const int64_t grid[3] = {static_cast<int64_t>(r[spec.grid[0]]), static_cast<int64_t>(r[spec.grid[1]]),
                           static_cast<int64_t>(r[spec.grid[2]])};
  const auto shared = static_cast<int64_t>(r[spec.shared_bytes]);
  // As unsigned numbers the negative ones are over the limit too.
  if (static_cast<uint64_t>(grid[0]) > static_cast<uint64_t>(kGridLimits[0]) ||
      static_cast<uint64_t>(grid[1]) > static_cast<uint64_t>(kGridLimits[1]) ||
      static_cast<uint64_t>(grid[2]) > static_cast<uint64_t>(kGridLimits[2])) {
    return RunEnd::kBadGrid;
  }
  if (static_cast<uint64_t>(shared) > static_cast<uint64_t>(kMaxSharedBytes)) return RunEnd::kBadShared;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return RunEnd::kDone;
  const size_t count = spec.argument_count;
  const LinkedArgument* arguments = spec.arguments;
  void* parameters;
  if (spec.packed_bytes != 0) {
    // Whole registers, in the order of their offsets: what is too much of one is overwritten by the next.
    parameters = alloca(spec.packed_bytes + sizeof(uint64_t));
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<char*>(parameters) + arguments[i].offset, &r[arguments[i].reg], sizeof(uint64_t));
    }
  } else {
    auto** pointers = static_cast<void**>(alloca((count + 1) * sizeof(void*)));
    for (size_t i = 0; i < count; ++i) pointers[i] = &r[arguments[i].reg];
    parameters = pointers;
  }
  return spec.launch(spec.kernel, parameters, grid, shared, stream, spec.attributes) == 0 ? RunEnd::kDone
                                                                                          : RunEnd::kException;
}

}  // namespace

RunResult run_program(const LinkedProgram& program, uint64_t* r, void* stream) {
  uint64_t* const constants = r + program.slots;
  for (uint32_t i = 0; i < program.constant_count; ++i) constants[i] = program.constants[i];
  const Instruction* const first = program.instructions;
  const Instruction* i = first;
  auto* const s = reinterpret_cast<int64_t*>(r);
  int64_t out;
  for (;; ++i) {
    // The two that every program ends with come before the jump through a table, which is foreseen by luck only.
    if (i->step == Step::kLaunch) {
      const RunEnd end = launch(program.launches[i->a], r, stream);
      if (end != RunEnd::kDone) return {end, i};
      continue;
    }
    if (i->step == Step::kReturn) return {RunEnd::kDone, nullptr};
    switch (i->step) {
      case Step::kMove:
        r[i->dst] = r[i->a];
        break;
      case Step::kAdd:
        // Not into dst at once: it may be an operand, which the message shows.
        if (__builtin_add_overflow(s[i->a], s[i->b], &out)) return {RunEnd::kOverflow, i};
        s[i->dst] = out;
        break;
      case Step::kSub:
        if (__builtin_sub_overflow(s[i->a], s[i->b], &out)) return {RunEnd::kOverflow, i};
        s[i->dst] = out;
        break;
      case Step::kMul:
        if (__builtin_mul_overflow(s[i->a], s[i->b], &out)) return {RunEnd::kOverflow, i};
        s[i->dst] = out;
        break;
      case Step::kFloorDiv:
        if (s[i->b] == 0) return {RunEnd::kDivisionByZero, i};
        if (s[i->b] == -1) {
          if (__builtin_sub_overflow(int64_t{0}, s[i->a], &out)) return {RunEnd::kOverflow, i};
          s[i->dst] = out;
        } else {
          s[i->dst] = floor_div(s[i->a], s[i->b]);
        }
        break;
      case Step::kFloorDivShift:
        s[i->dst] = s[i->a] >> i->c;
        break;
      case Step::kMod:
        if (s[i->b] == 0) return {RunEnd::kDivisionByZero, i};
        s[i->dst] = s[i->b] == -1 ? 0 : floor_mod(s[i->a], s[i->b]);
        break;
      case Step::kMin:
        s[i->dst] = s[i->a] < s[i->b] ? s[i->a] : s[i->b];
        break;
      case Step::kMax:
        s[i->dst] = s[i->a] > s[i->b] ? s[i->a] : s[i->b];
        break;
      case Step::kEq:
        r[i->dst] = static_cast<uint64_t>(s[i->a] == s[i->b]);
        break;
      case Step::kNe:
        r[i->dst] = static_cast<uint64_t>(s[i->a] != s[i->b]);
        break;
      case Step::kLt:
        r[i->dst] = static_cast<uint64_t>(s[i->a] < s[i->b]);
        break;
      case Step::kLe:
        r[i->dst] = static_cast<uint64_t>(s[i->a] <= s[i->b]);
        break;
      case Step::kGt:
        r[i->dst] = static_cast<uint64_t>(s[i->a] > s[i->b]);
        break;
      case Step::kGe:
        r[i->dst] = static_cast<uint64_t>(s[i->a] >= s[i->b]);
        break;
      case Step::kScalar: {
        const ScalarStatus status = i->function(&r[i->dst], r[i->a], r[i->b], r[i->c]);
        if (status != ScalarStatus::kOk) return {end_of(status), i};
        break;
      }
      case Step::kCast: {
        const ScalarStatus status = cast_scalar(&r[i->dst], r[i->a], i->from, i->dtype, i->site >= 0);
        if (status != ScalarStatus::kOk) return {end_of(status), i};
        break;
      }
      case Step::kBitcast:
        r[i->dst] = canonical_register(i->dtype, r[i->a]);
        break;
      case Step::kSelect:
        r[i->dst] = (r[i->a] & 0xFF) != 0 ? r[i->b] : r[i->c];
        break;
      case Step::kJump:
        i = first + i->c - 1;
        break;
      case Step::kJumpUnless:
        if ((r[i->a] & 0xFF) == 0) i = first + i->c - 1;
        break;
      case Step::kRaise:
        return {RunEnd::kRaise, i};
      default:
        __builtin_unreachable();  // the decoder made every step
    }
  }
}

}  // namespace darter
