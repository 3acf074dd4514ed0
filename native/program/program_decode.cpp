// Decoding and verification of launch programs. The layout is that of src/darter/ir/encoding.py. Nothing here trusts
// its input.
#include <cstring>
#include <map>

#include "program/program.hpp"

namespace darter {

namespace {

constexpr uint32_t kCooperative = 1;
constexpr uint32_t kDependent = 2;
constexpr size_t kInstructionBytes = 24;
constexpr size_t kLaunchBytes = 56;
constexpr size_t kRaiseBytes = 12;
constexpr size_t kSiteBytes = 20;

// Reads little-endian numbers in order; after the first failure everything reads as 0 and `problem` says why.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size, std::string* problem) : at_(data), end_(data + size), problem_(problem) {}

  bool ok() const { return problem_->empty(); }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  bool fail(const std::string& why) {
    if (ok()) *problem_ = why;
    return false;
  }

  bool require(bool condition, const char* why) { return condition || fail(why); }

  template <class T>
  T number() {
    T value = 0;
    if (ok() && require(left() >= sizeof(T), "it is truncated")) {
      std::memcpy(&value, at_, sizeof(T));
      at_ += sizeof(T);
    }
    return value;
  }

  // A count of items of at least `item_bytes` each, which bounds what is allocated for them by the size of the input.
  uint32_t count(size_t item_bytes) {
    const auto value = number<uint32_t>();
    return bounded(value, item_bytes);
  }

  uint32_t bounded(uint32_t value, size_t item_bytes) {
    return require(value <= left() / item_bytes, "it is truncated") ? value : 0;
  }

  std::string string() {
    const uint32_t length = count(1);
    std::string text(reinterpret_cast<const char*>(at_), length);
    at_ += length;
    return text;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  std::string* problem_;
};

class Decoder {
 public:
  Decoder(const uint8_t* data, size_t size, std::string* problem) : in_(data, size, problem), out_(new Program()) {}

  std::unique_ptr<Program> run() {
    header();
    for (uint64_t& value : out_->constants) value = in_.number<uint64_t>();
    for (Instruction& instruction : out_->instructions) this->instruction(&instruction);
    for (LaunchSpec& spec : out_->launches) launch(&spec);
    for (RaiseSpec& spec : out_->raises) raise(&spec);
    sites();
    in_.require(in_.left() == 0, "bytes follow its end");
    if (in_.ok()) verify();
    return in_.ok() ? std::move(out_) : nullptr;
  }

 private:
  void header() {
    const auto magic = in_.number<uint32_t>();
    in_.require(magic == 0x706C7464, "it does not begin with the magic number");  // "dtlp"
    const auto schema = in_.number<uint32_t>();
    if (in_.ok() && schema != kProgramSchema) {
      in_.fail("it has schema " + std::to_string(schema) + "; this version reads " + std::to_string(kProgramSchema));
    }
    out_->slots = in_.number<uint32_t>();
    out_->registers = in_.number<uint32_t>();
    uint32_t counts[5];
    for (uint32_t& value : counts) value = in_.number<uint32_t>();
    const uint64_t needed = counts[0] * uint64_t{8} + counts[1] * uint64_t{kInstructionBytes} +
                            counts[2] * uint64_t{kLaunchBytes} + counts[3] * uint64_t{kRaiseBytes} +
                            counts[4] * uint64_t{kSiteBytes};
    if (!in_.require(needed <= in_.left(), "it is truncated")) return;
    in_.require(out_->registers <= kMaxRegisters, "it has too many registers");
    in_.require(uint64_t{out_->slots} + counts[0] <= out_->registers, "slots and constants exceed its registers");
    in_.require(counts[1] >= 1 && counts[1] <= UINT16_MAX, "its count of instructions is out of range");
    in_.require(counts[4] <= INT32_MAX, "it has too many sites");
    if (!in_.ok()) return;
    out_->constants.resize(counts[0]);
    out_->instructions.resize(counts[1]);
    out_->launches.resize(counts[2]);
    out_->raises.resize(counts[3]);
    out_->sites = static_cast<int32_t>(counts[4]);
  }

  uint16_t reg(uint32_t number) {
    in_.require(number < out_->registers, "a register is out of range");
    return static_cast<uint16_t>(number);
  }

  int32_t site() {
    const auto number = in_.number<int32_t>();
    in_.require(number >= -1 && number < out_->sites, "a site is out of range");
    return number;
  }

  Dtype dtype(uint32_t code) {
    in_.require(code < kDtypeCount, "a dtype is unknown");
    return static_cast<Dtype>(code);
  }

  void instruction(Instruction* out) {
    const auto op = in_.number<uint8_t>();
    const auto type = in_.number<uint8_t>();
    const auto reserved = in_.number<uint16_t>();
    uint32_t fields[4];
    for (uint32_t& field : fields) field = in_.number<uint32_t>();
    out->site = site();
    in_.require(reserved == 0, "a reserved field is not 0");
    in_.require(op < kOpcodeCount, "an opcode is unknown");
    out->dtype = dtype(type);
    out->from = Dtype::kPointer;
    out->op = static_cast<Opcode>(op);
    if (in_.ok()) operands(out, fields);
  }

  void operands(Instruction* out, const uint32_t* fields);
  void scalar(Instruction* out, const uint32_t* fields);
  void choose_step(Instruction* out) const;

  void launch(LaunchSpec* spec) {
    spec->kernel = in_.number<uint32_t>();
    const auto count = in_.number<uint32_t>();
    for (uint16_t& axis : spec->grid) axis = reg(in_.number<uint32_t>());
    int64_t threads = 1;
    for (int32_t& axis : spec->block) {
      const auto extent = in_.number<uint32_t>();
      in_.require(extent >= 1 && extent <= kMaxThreads, "a block is out of range");
      axis = static_cast<int32_t>(extent);
      threads *= extent;
    }
    in_.require(threads <= kMaxThreads, "a block has too many threads");
    spec->shared_bytes = reg(in_.number<uint32_t>());
    LaunchAttributes& attributes = spec->attributes;
    for (uint32_t& axis : attributes.cluster) axis = in_.number<uint32_t>();
    const auto flags = in_.number<uint32_t>();
    in_.require(flags <= (kCooperative | kDependent), "a launch has unknown flags");
    attributes.cooperative = (flags & kCooperative) != 0;
    attributes.programmatic_dependent = (flags & kDependent) != 0;
    spec->has_attributes =
        flags != 0 || attributes.cluster[0] != 1 || attributes.cluster[1] != 1 || attributes.cluster[2] != 1;
    spec->site = site();
    in_.require(count <= kMaxLaunchArguments, "a launch has too many arguments");
    if (!in_.ok()) return;
    spec->arguments.resize(in_.bounded(count, sizeof(uint32_t)));
    for (uint16_t& argument : spec->arguments) argument = reg(in_.number<uint32_t>());
  }

  void raise(RaiseSpec* spec) {
    const auto pieces = in_.number<uint32_t>();
    const auto operands = in_.number<uint32_t>();
    spec->site = site();
    in_.require(pieces == uint64_t{operands} + 1, "the pieces of a message do not fit its operands");
    spec->exception = in_.string();
    spec->pieces.resize(in_.bounded(pieces, sizeof(uint32_t)));
    for (std::string& piece : spec->pieces) piece = in_.string();
    spec->operands.resize(in_.bounded(operands, 2 * sizeof(uint32_t)));
    for (RaiseOperand& operand : spec->operands) {
      operand.reg = reg(in_.number<uint32_t>());
      operand.dtype = dtype(in_.number<uint32_t>());
    }
  }

  void sites() {
    for (int32_t i = 0; i < out_->sites; ++i) {
      for (size_t k = 0; k < kSiteBytes / sizeof(int32_t); ++k) in_.number<int32_t>();
    }
  }

  void verify();

  Reader in_;
  std::unique_ptr<Program> out_;
};

// Reads what the fields of an instruction mean for its opcode.
void Decoder::operands(Instruction* out, const uint32_t* fields) {
  const size_t here = static_cast<size_t>(out - out_->instructions.data());
  switch (out->op) {
    case Opcode::kReturn:
      out->step = Step::kReturn;
      return;
    case Opcode::kRaise:
      out->step = Step::kRaise;
      in_.require(fields[1] < out_->raises.size(), "a raise is out of range");
      out->a = static_cast<uint16_t>(fields[1]);
      return;
    case Opcode::kLaunch:
      out->step = Step::kLaunch;
      in_.require(fields[1] < out_->launches.size() && fields[1] <= UINT16_MAX, "a launch is out of range");
      out->a = static_cast<uint16_t>(fields[1]);
      return;
    case Opcode::kJump:
    case Opcode::kJumpUnless:
      out->step = out->op == Opcode::kJump ? Step::kJump : Step::kJumpUnless;
      if (out->op == Opcode::kJumpUnless) out->a = reg(fields[1]);
      in_.require(fields[3] > here && fields[3] < out_->instructions.size(), "a jump is out of range");
      out->c = static_cast<uint16_t>(fields[3]);
      return;
    default:
      scalar(out, fields);
  }
}

void Decoder::scalar(Instruction* out, const uint32_t* fields) {
  out->dst = reg(fields[0]);
  in_.require(fields[0] >= out_->slots + out_->constants.size(), "a slot or constant is written");
  // An operand that the operation does not have is read all the same, so it must be some register.
  out->a = out->b = out->c = reg(fields[1]);
  const bool unary =
      out->op == Opcode::kNeg || out->op == Opcode::kNot || out->op == Opcode::kAbs || out->op == Opcode::kMath;
  switch (out->op) {
    case Opcode::kMove:
      out->step = Step::kMove;
      return;
    case Opcode::kSelect:
      out->step = Step::kSelect;
      out->b = reg(fields[2]);
      out->c = reg(fields[3]);
      return;
    case Opcode::kCast:
    case Opcode::kBitcast:
      out->step = out->op == Opcode::kCast ? Step::kCast : Step::kBitcast;
      out->from = dtype(fields[2]);
      in_.require(out->dtype != Dtype::kPointer && out->from != Dtype::kPointer, "a cast names no scalar type");
      if (out->op == Opcode::kBitcast) {
        in_.require(dtype_bits(out->dtype) == dtype_bits(out->from), "a bitcast changes the width");
        in_.require(out->dtype != Dtype::kBool && out->from != Dtype::kBool, "a bitcast of Bool");
      }
      return;
    default:
      break;
  }
  if (!unary) out->b = reg(fields[2]);
  if (out->op == Opcode::kFma) out->c = reg(fields[3]);
  out->step = Step::kScalar;
  out->function = scalar_function(out->op, out->dtype, fields[2]);
  if (!in_.require(out->function != nullptr, "an operation is not defined for its dtype")) return;
  if (in_.ok()) choose_step(out);
}

// Gives the frequent operations on i64 their own step.
void Decoder::choose_step(Instruction* out) const {
  if (out->dtype != Dtype::kI64) return;
  static const std::map<Opcode, Step> kSteps = {
      {Opcode::kAdd, Step::kAdd}, {Opcode::kSub, Step::kSub},
      {Opcode::kMul, Step::kMul}, {Opcode::kFloorDiv, Step::kFloorDiv},
      {Opcode::kMod, Step::kMod}, {Opcode::kMin, Step::kMin},
      {Opcode::kMax, Step::kMax}, {Opcode::kEq, Step::kEq},
      {Opcode::kNe, Step::kNe},   {Opcode::kLt, Step::kLt},
      {Opcode::kLe, Step::kLe},   {Opcode::kGt, Step::kGt},
      {Opcode::kGe, Step::kGe},
  };
  const auto found = kSteps.find(out->op);
  if (found == kSteps.end()) return;
  out->step = found->second;
  const size_t index = static_cast<size_t>(out->b) - out_->slots;
  if (out->step != Step::kFloorDiv || out->b < out_->slots || index >= out_->constants.size()) return;
  const uint64_t divisor = out_->constants[index];
  if (divisor >> 63 == 0 && __builtin_popcountll(divisor) == 1) {
    out->step = Step::kFloorDivShift;
    out->c = static_cast<uint16_t>(__builtin_ctzll(divisor));
  }
}

using RegisterSet = std::vector<bool>;

// Registers that an instruction reads, handed to `use`.
template <class Use>
void for_each_read(const Program& program, const Instruction& i, Use use) {
  switch (i.step) {
    case Step::kReturn:
    case Step::kJump:
      break;
    case Step::kMove:
    case Step::kCast:
    case Step::kBitcast:
    case Step::kJumpUnless:
      use(i.a);
      break;
    case Step::kRaise:
      for (const RaiseOperand& operand : program.raises[i.a].operands) use(operand.reg);
      break;
    case Step::kLaunch: {
      const LaunchSpec& spec = program.launches[i.a];
      for (uint16_t argument : spec.arguments) use(argument);
      for (uint16_t axis : spec.grid) use(axis);
      use(spec.shared_bytes);
      break;
    }
    case Step::kSelect:
    case Step::kScalar:
      use(i.c);
      [[fallthrough]];
    default:
      use(i.a);
      use(i.b);
  }
}

// Jumps go forward, so one pass sees every way to each instruction: a register may be read when all of them have
// written it.
void Decoder::verify() {
  const size_t count = out_->instructions.size();
  const Step last = out_->instructions[count - 1].step;
  in_.require(last == Step::kReturn || last == Step::kRaise, "its end is not a return or raise");
  std::map<size_t, RegisterSet> arriving;
  RegisterSet written(out_->registers, false);
  for (size_t i = 0; i < out_->slots + out_->constants.size(); ++i) written[i] = true;
  bool reachable = true;
  const auto meet = [&arriving](size_t target, const RegisterSet& set) {
    const auto found = arriving.emplace(target, set);
    if (found.second) return;
    for (size_t k = 0; k < set.size(); ++k) found.first->second[k] = found.first->second[k] && set[k];
  };
  for (size_t at = 0; at < count && in_.ok(); ++at) {
    const auto found = arriving.find(at);
    if (found != arriving.end()) {
      if (reachable) meet(at, written);
      written = std::move(found->second);
      arriving.erase(found);
      reachable = true;
    }
    if (!reachable) continue;  // never runs
    const Instruction& i = out_->instructions[at];
    for_each_read(*out_, i,
                  [&](uint16_t number) { in_.require(written[number], "a register is read before it is written"); });
    if (i.step == Step::kJump || i.step == Step::kJumpUnless) meet(i.c, written);
    // A return names no register, and there may be none.
    if (i.step < Step::kJump && i.step != Step::kReturn) written[i.dst] = true;
    reachable = i.step != Step::kJump && i.step != Step::kReturn && i.step != Step::kRaise;
  }
}

}  // namespace

std::unique_ptr<Program> decode_program(const uint8_t* data, size_t size, std::string* problem) {
  problem->clear();
  return Decoder(data, size, problem).run();
}

}  // namespace darter
