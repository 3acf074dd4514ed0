// Puts a decoded program and its kernels into one piece of memory.
#include <cstring>
#include <type_traits>

#include "program/program.hpp"

namespace darter {
namespace {

static_assert(std::is_trivially_copyable_v<Instruction> && std::is_trivially_copyable_v<LinkedLaunch>);

constexpr size_t kAlign = 8;
constexpr size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Hands out the memory of a block, from its start to its end.
class Block {
 public:
  explicit Block(void* memory) : next_(static_cast<char*>(memory)) {}

  template <typename T>
  T* take(size_t count) {
    auto* taken = reinterpret_cast<T*>(next_);
    next_ += aligned(count * sizeof(T));
    return taken;
  }
  template <typename T>
  const T* copy(const std::vector<T>& values) {
    T* copied = take<T>(values.size());
    if (!values.empty()) std::memcpy(copied, values.data(), values.size() * sizeof(T));
    return copied;
  }

 private:
  char* next_;
};

size_t bytes_of(const Program& program) {
  size_t bytes = aligned(sizeof(LinkedProgram)) + aligned(program.constants.size() * sizeof(uint64_t)) +
                 aligned(program.instructions.size() * sizeof(Instruction)) +
                 aligned(program.launches.size() * sizeof(LinkedLaunch));
  for (const LaunchSpec& spec : program.launches) bytes += aligned(spec.arguments.size() * sizeof(LinkedArgument));
  return bytes;
}

}  // namespace

LinkedProgramPtr link_program(const Program& program, KernelHandle* const* kernels) {
  Block block(::operator new(bytes_of(program), std::align_val_t{64}));
  auto* linked = new (block.take<LinkedProgram>(1)) LinkedProgram{};
  linked->slots = program.slots;
  linked->constant_count = static_cast<uint32_t>(program.constants.size());
  linked->constants = block.copy(program.constants);
  linked->instructions = block.copy(program.instructions);
  auto* launches = block.take<LinkedLaunch>(program.launches.size());
  linked->launches = launches;
  for (const LaunchSpec& spec : program.launches) {
    KernelHandle* kernel = kernels[spec.kernel];
    const size_t count = spec.arguments.size();
    auto* arguments = block.take<LinkedArgument>(count);
    for (size_t i = 0; i < count; ++i) {
      arguments[i] = {spec.arguments[i], kernel->offsets != nullptr ? kernel->offsets[i] : uint16_t{0}};
    }
    new (launches++) LinkedLaunch{kernel,
                                  kernel->launch,
                                  arguments,
                                  spec.has_attributes ? &spec.attributes : nullptr,
                                  static_cast<uint32_t>(count),
                                  kernel->offsets != nullptr ? kernel->packed_bytes : 0,
                                  {spec.grid[0], spec.grid[1], spec.grid[2]},
                                  spec.shared_bytes};
  }
  return LinkedProgramPtr(linked);
}

}  // namespace darter
