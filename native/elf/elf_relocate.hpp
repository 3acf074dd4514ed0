// Relocations of x86-64. Source: System V ABI, AMD64 supplement 1.0, section 4.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace darter {

constexpr size_t kStubBytes = 16;

// One place to patch; addresses are those at run time.
struct RelocationPlace {
  uint8_t* bytes;   // what is patched, standing at its final address
  uint64_t left;    // bytes of the section from there
  uint64_t symbol;  // address of the symbol
  uint64_t stub;    // a jump to it within reach, 0 where there is none
  uint64_t got;     // where its address stands, for the types that need it
};

// Whether the type refers to a table entry that holds the symbol's address.
bool relocation_needs_got(uint32_t type);

// Patches. Returns false and says in *problem what is wrong.
bool apply_relocation(const RelocationPlace& place, uint32_t type, int64_t addend, std::string* problem);

}  // namespace darter
