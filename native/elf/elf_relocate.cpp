#include "elf/elf_relocate.hpp"

#include <elf.h>

#include <cstring>

namespace darter {

namespace {

bool fail(std::string* problem, const std::string& why) {
  *problem = why;
  return false;
}

bool fits_signed(uint64_t value) {
  return value == static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
}

bool fits_unsigned(uint64_t value) { return value >> 32 == 0; }

bool write(const RelocationPlace& place, uint64_t value, size_t bytes, std::string* problem) {
  if (place.left < bytes) return fail(problem, "a relocation crosses the end of its section");
  std::memcpy(place.bytes, &value, bytes);  // little-endian
  return true;
}

bool write_signed(const RelocationPlace& place, uint64_t value, std::string* problem) {
  if (!fits_signed(value)) return fail(problem, "a relocated address does not fit in 32 bits");
  return write(place, value, sizeof(uint32_t), problem);
}

}  // namespace

bool relocation_needs_got(uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

bool apply_relocation(const RelocationPlace& place, uint32_t type, int64_t addend, std::string* problem) {
  // Unsigned, so that damaged numbers wrap instead of overflowing.
  const uint64_t target = place.symbol + static_cast<uint64_t>(addend);
  const auto here = reinterpret_cast<uint64_t>(place.bytes);
  switch (type) {
    case R_X86_64_NONE:
      return true;
    case R_X86_64_64:
      return write(place, target, sizeof(uint64_t), problem);
    case R_X86_64_PC64:
      return write(place, target - here, sizeof(uint64_t), problem);
    case R_X86_64_32:
      if (!fits_unsigned(target)) return fail(problem, "a relocated address does not fit in 32 bits");
      return write(place, target, sizeof(uint32_t), problem);
    case R_X86_64_32S:
      return write_signed(place, target, problem);
    case R_X86_64_PC32:
    case R_X86_64_PLT32: {
      const bool reaches = fits_signed(target - here);
      const uint64_t value = reaches || place.stub == 0 ? target : place.stub + static_cast<uint64_t>(addend);
      return write_signed(place, value - here, problem);
    }
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      return write_signed(place, place.got + static_cast<uint64_t>(addend) - here, problem);
    default:
      return fail(problem, "relocation type " + std::to_string(type) + " is not supported");
  }
}

}  // namespace darter
