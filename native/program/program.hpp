// Launch programs: the decoded, verified form of darter.ir.program, and the loop that runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "program/kernel_handle.hpp"
#include "scalars/dtype.hpp"
#include "scalars/scalar_ops.hpp"

namespace darter {

constexpr uint32_t kProgramSchema = 1;
// The caller keeps the registers on its stack, and a launch a pointer per argument.
constexpr uint32_t kMaxRegisters = 4096;
constexpr uint32_t kMaxLaunchArguments = 1024;
constexpr int64_t kGridLimits[3] = {2147483647, 65535, 65535};
constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxSharedBytes = 2147483647;

// What an instruction does, as the loop sees it: the frequent operations on i64 have steps of their own, all others go
// through a function.
enum class Step : uint8_t {
  kReturn,
  kMove,
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kFloorDivShift,  // by a positive power of two, whose logarithm is in c
  kMod,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kScalar,
  kCast,
  kBitcast,
  kSelect,
  kJump,
  kJumpUnless,
  kRaise,
  kLaunch,
};

struct Instruction {
  Step step;
  Opcode op;
  Dtype dtype;
  Dtype from;  // of a cast
  uint16_t dst;
  uint16_t a;
  uint16_t b;
  uint16_t c;
  int32_t site;
  ScalarFunction function;  // kScalar
};

struct LaunchSpec {
  uint32_t kernel;
  std::vector<uint16_t> arguments;
  uint16_t grid[3];
  int32_t block[3];
  uint16_t shared_bytes;
  LaunchAttributes attributes;
  bool has_attributes;
  int32_t site;
};

struct RaiseOperand {
  uint16_t reg;
  Dtype dtype;
};

struct RaiseSpec {
  std::string exception;
  std::vector<std::string> pieces;  // one more than operands
  std::vector<RaiseOperand> operands;
  int32_t site;
};

struct Program {
  uint32_t slots;
  uint32_t registers;
  int32_t sites;
  std::vector<uint64_t> constants;
  std::vector<Instruction> instructions;
  std::vector<LaunchSpec> launches;
  std::vector<RaiseSpec> raises;
};

// Decodes and verifies: every number in range, jumps forward, operations legal, registers written before they are read,
// slots and constants never written. Returns NULL and says in *problem what is wrong.
std::unique_ptr<Program> decode_program(const uint8_t* data, size_t size, std::string* problem);

// Why a run ended.
enum class RunEnd : uint8_t {
  kDone,
  kException,  // a Python exception is set
  kOverflow,
  kDivisionByZero,
  kOutOfRange,
  kBadGrid,
  kBadShared,
  kRaise,
};

// Where it ended; `instruction` is NULL for kDone.
struct RunResult {
  RunEnd end;
  const Instruction* instruction;
};

// A parameter of a launch: the register that holds it, and where it goes if parameters are packed.
struct LinkedArgument {
  uint16_t reg;
  uint16_t offset;
};

// A launch whose kernel is known.
struct LinkedLaunch {
  KernelHandle* kernel;
  LaunchFunction launch;
  const LinkedArgument* arguments;
  const LaunchAttributes* attributes;  // NULL: none
  uint32_t argument_count;
  uint32_t packed_bytes;  // 0: parameters are passed by pointers
  uint16_t grid[3];
  uint16_t shared_bytes;
};

// What the loop reads of a program and its kernels, behind one another in one piece of memory: a driver's launch leaves
// little of anything in the processor's nearest cache, and each line that a warm call fetches anew costs nanoseconds.
struct LinkedProgram {
  uint32_t slots;
  uint32_t constant_count;
  const uint64_t* constants;
  const Instruction* instructions;
  const LinkedLaunch* launches;

  struct Free {
    void operator()(LinkedProgram* linked) const { ::operator delete(linked, std::align_val_t{64}); }
  };
};
using LinkedProgramPtr = std::unique_ptr<LinkedProgram, LinkedProgram::Free>;

// Both are borrowed by what is returned: the program, and the kernels, one for each number that a launch names.
LinkedProgramPtr link_program(const Program& program, KernelHandle* const* kernels);

// Runs `program` over `registers`, whose first ones are the filled slots.
RunResult run_program(const LinkedProgram& program, uint64_t* registers, void* stream);

}  // namespace darter
