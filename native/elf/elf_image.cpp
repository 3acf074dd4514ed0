#include "elf/elf_image.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "elf/elf_relocate.hpp"

namespace darter {

namespace {

// No kernel comes near it, and every relative address within an image fits 32 bits.
constexpr uint64_t kMaxImageBytes = 256U << 20;

// A jump through an address that stands behind it, for functions further away than a call reaches.
constexpr uint8_t kStub[kStubBytes] = {0xFF, 0x25, 0x02, 0x00, 0x00, 0x00, 0x0F, 0x0B};  // jmp *2(%rip); ud2; address
constexpr size_t kStubAddress = 8;

// Assemblers list it wherever code goes through the table of addresses; no accepted relocation refers to it.
constexpr const char* kGotSymbol = "_GLOBAL_OFFSET_TABLE_";

uint64_t round_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

}  // namespace

ElfImage::ElfImage(ElfImage&& other) noexcept { *this = std::move(other); }

ElfImage& ElfImage::operator=(ElfImage&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(functions_, other.functions_);
  return *this;
}

ElfImage::~ElfImage() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

class ElfLoader {
 public:
  ElfLoader(const ElfObject& object, const ElfImports& imports, ElfImage* image, std::string* problem)
      : object_(object), imports_(imports), image_(image), problem_(problem) {}

  bool run() {
    if (object_.machine != EM_X86_64)
      return fail("it is for machine " + std::to_string(object_.machine) + ", not x86-64");
    if (!resolve_imports() || !lay_out() || !map()) return false;
    copy();
    return relocate() && protect() && publish();
  }

 private:
  bool fail(const std::string& why) {
    *problem_ = why;
    return false;
  }

  bool resolve_imports() {
    imported_.assign(object_.symbols.size(), 0);
    stubs_.assign(object_.symbols.size(), 0);
    got_.assign(object_.symbols.size(), 0);
    for (size_t i = 1; i < object_.symbols.size(); ++i) {
      const ElfSymbol& symbol = object_.symbols[i];
      if (symbol.defined) continue;
      if (symbol.name == kGotSymbol) continue;
      const auto found = imports_.find(symbol.name);
      if (found == imports_.end())
        return fail("it needs the function '" + symbol.name + "', which compiled code may not call");
      imported_[i] = found->second;
    }
    return true;
  }

  // Gives every section, stub and table entry its offset in the image: code first, then what is only read, then data,
  // each on its own pages.
  bool lay_out() {
    page_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    offsets_.assign(object_.sections.size(), 0);
    uint64_t at = 0;
    for (ElfPlace place : {ElfPlace::kCode, ElfPlace::kReadOnly, ElfPlace::kData}) {
      starts_[static_cast<int>(place)] = at;
      for (size_t i = 0; i < object_.sections.size(); ++i) {
        const ElfSection& section = object_.sections[i];
        if (section.place != place) continue;
        at = round_up(at, section.align);
        if (section.size > kMaxImageBytes - at) return fail("it is too large");
        offsets_[i] = at;
        at += section.size;
        if (at > kMaxImageBytes) return fail("it is too large");
      }
      if (place == ElfPlace::kCode) at = lay_out_stubs(round_up(at, kStubBytes));
      if (place == ElfPlace::kReadOnly) at = lay_out_got(round_up(at, sizeof(uint64_t)));
      at = round_up(at, page_);
      if (at > kMaxImageBytes) return fail("it is too large");
      ends_[static_cast<int>(place)] = at;
    }
    image_size_ = at;
    return at != 0 || fail("it holds no code");
  }

  uint64_t lay_out_stubs(uint64_t at) {
    for (size_t i = 0; i < imported_.size(); ++i) {
      if (imported_[i] == 0) continue;
      stubs_[i] = at;
      at += kStubBytes;
    }
    return at;
  }

  uint64_t lay_out_got(uint64_t at) {
    for (const ElfRelocation& relocation : object_.relocations) {
      if (!relocation_needs_got(relocation.type) || got_[relocation.symbol] != 0) continue;
      if (at == 0) at = sizeof(uint64_t);  // 0 says "none"
      got_[relocation.symbol] = at;
      at += sizeof(uint64_t);
    }
    return at;
  }

  bool map() {
    void* memory = mmap(nullptr, image_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return fail("there is no memory for its " + std::to_string(image_size_) + " bytes");
    image_->memory_ = static_cast<uint8_t*>(memory);
    image_->size_ = image_size_;
    return true;
  }

  uint64_t base() const { return reinterpret_cast<uint64_t>(image_->memory_); }

  uint64_t address(size_t number) const {
    const ElfSymbol& symbol = object_.symbols[number];
    if (!symbol.defined) return imported_[number];
    return symbol.absolute ? symbol.value : base() + offsets_[symbol.section] + symbol.value;
  }

  void copy() {
    for (size_t i = 0; i < object_.sections.size(); ++i) {
      const ElfSection& section = object_.sections[i];
      if (section.place != ElfPlace::kNone && section.bytes != nullptr)
        std::memcpy(image_->memory_ + offsets_[i], section.bytes, section.size);
    }
    for (size_t i = 0; i < imported_.size(); ++i) {
      if (imported_[i] == 0) continue;
      std::memcpy(image_->memory_ + stubs_[i], kStub, sizeof kStub);
      std::memcpy(image_->memory_ + stubs_[i] + kStubAddress, &imported_[i], sizeof(uint64_t));
    }
    for (size_t i = 0; i < got_.size(); ++i) {
      const uint64_t value = got_[i] != 0 ? address(i) : 0;
      if (got_[i] != 0) std::memcpy(image_->memory_ + got_[i], &value, sizeof value);
    }
  }

  bool relocate() {
    for (const ElfRelocation& relocation : object_.relocations) {
      const ElfSection& section = object_.sections[relocation.section];
      if (object_.symbols[relocation.symbol].name == kGotSymbol)
        return fail("it refers to the table of addresses itself");
      RelocationPlace place{};
      place.bytes = image_->memory_ + offsets_[relocation.section] + relocation.offset;
      place.left = section.size - relocation.offset;
      place.symbol = relocation.symbol == 0 ? 0 : address(relocation.symbol);
      place.stub = stubs_[relocation.symbol] == 0 ? 0 : base() + stubs_[relocation.symbol];
      place.got = base() + got_[relocation.symbol];
      if (!apply_relocation(place, relocation.type, relocation.addend, problem_)) {
        *problem_ += " (section " + section.name + ", symbol '" + object_.symbols[relocation.symbol].name + "')";
        return false;
      }
    }
    return true;
  }

  bool protect() {
    const struct {
      ElfPlace place;
      int flags;
    } rules[] = {{ElfPlace::kCode, PROT_READ | PROT_EXEC}, {ElfPlace::kReadOnly, PROT_READ}};
    for (const auto& rule : rules) {
      uint8_t* start = image_->memory_ + starts_[static_cast<int>(rule.place)];
      uint8_t* end = image_->memory_ + ends_[static_cast<int>(rule.place)];
      if (start == end) continue;
      if (rule.place == ElfPlace::kCode)
        __builtin___clear_cache(reinterpret_cast<char*>(start), reinterpret_cast<char*>(end));
      if (mprotect(start, static_cast<size_t>(end - start), rule.flags) != 0)
        return fail("the system does not let it become executable");
    }
    return true;
  }

  bool publish() {
    for (size_t i = 1; i < object_.symbols.size(); ++i) {
      const ElfSymbol& symbol = object_.symbols[i];
      if (!symbol.defined || symbol.absolute || !symbol.global || !symbol.function) continue;
      const ElfSection& section = object_.sections[symbol.section];
      if (section.place != ElfPlace::kCode || symbol.value >= section.size)
        return fail("function '" + symbol.name + "' is not in code");
      if (!image_->functions_.emplace(symbol.name, address(i)).second)
        return fail("function '" + symbol.name + "' is defined twice");
    }
    return true;
  }

  const ElfObject& object_;
  const ElfImports& imports_;
  ElfImage* image_;
  std::string* problem_;
  uint64_t page_ = 0;
  uint64_t image_size_ = 0;
  uint64_t starts_[kElfPlaces] = {};
  uint64_t ends_[kElfPlaces] = {};
  std::vector<uint64_t> offsets_;   // of each section in the image
  std::vector<uint64_t> imported_;  // address of each imported symbol, 0 for others
  std::vector<uint64_t> stubs_;     // offset of its stub; meaningful for imported symbols
  std::vector<uint64_t> got_;       // offset of each symbol's entry in the table of addresses; 0: none
};

bool ElfImage::load(const ElfObject& object, const ElfImports& imports, std::string* problem) {
  return ElfLoader(object, imports, this, problem).run();
}

}  // namespace darter
