// An ELF object in memory: laid out, relocated, its pages protected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "elf/elf_object.hpp"

namespace darter {

// Addresses of the host functions that an object may call, by name.
using ElfImports = std::map<std::string, uint64_t>;

// Memory of a loaded object, unmapped by the destructor. Code is never writable and executable at once.
class ElfImage {
 public:
  ElfImage() = default;
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;
  ElfImage(ElfImage&& other) noexcept;
  ElfImage& operator=(ElfImage&& other) noexcept;
  ~ElfImage();

  // Loads `object`. Returns false and says in *problem what is wrong.
  bool load(const ElfObject& object, const ElfImports& imports, std::string* problem);

  // Addresses of the global functions.
  const std::map<std::string, uint64_t>& functions() const { return functions_; }

  size_t size() const { return size_; }

 private:
  friend class ElfLoader;

  uint8_t* memory_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, uint64_t> functions_;
};

}  // namespace darter
