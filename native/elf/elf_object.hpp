// Reads an ELF64 relocatable object; every number is checked against the size of the file before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace darter {

// What a section becomes in memory.
enum class ElfPlace : uint8_t { kNone, kCode, kReadOnly, kData };
constexpr int kElfPlaces = 4;

struct ElfSection {
  std::string name;
  ElfPlace place;
  const uint8_t* bytes;  // NULL: zeros
  uint64_t size;
  uint64_t align;
};

struct ElfSymbol {
  std::string name;
  bool defined;
  bool absolute;
  bool global;
  bool function;
  uint32_t section;  // of a symbol that is defined and not absolute
  uint64_t value;    // offset in the section, or the absolute value
};

struct ElfRelocation {
  uint32_t section;  // where it applies; a section with a place
  uint32_t type;
  uint32_t symbol;
  uint64_t offset;  // within the section
  int64_t addend;
};

struct ElfObject {
  uint16_t machine;
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;
  std::vector<ElfRelocation> relocations;
};

// Reads `data` into *out, whose sections point into it. Returns false and says in *problem what is wrong.
bool read_elf_object(const uint8_t* data, size_t size, ElfObject* out, std::string* problem);

}  // namespace darter
