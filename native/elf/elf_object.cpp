#include "elf/elf_object.hpp"

#include <elf.h>

#include <cstring>

namespace darter {

namespace {

constexpr uint64_t kMaxAlign = 4096;
#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

class ElfReader {
 public:
  ElfReader(const uint8_t* data, size_t size, ElfObject* out, std::string* problem)
      : data_(data), size_(size), out_(out), problem_(problem) {}

  bool run() {
    return header() && section_headers() && name_sections() && place_sections() && symbols() && relocations();
  }

 private:
  bool fail(const std::string& why) {
    *problem_ = why;
    return false;
  }

  bool within(uint64_t offset, uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

  template <class T>
  T at(uint64_t offset) const {
    T value;  // the file may stand at any alignment
    std::memcpy(&value, data_ + offset, sizeof(T));
    return value;
  }

  bool header() {
    if (size_ < sizeof(Elf64_Ehdr)) return fail("it is shorter than an ELF header");
    header_ = at<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return fail("it is no ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
      return fail("it is no little-endian ELF64 file");
    if (header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT)
      return fail("its ELF version is unknown");
    if (header_.e_type != ET_REL) return fail("it is no relocatable object");
    out_->machine = header_.e_machine;
    return true;
  }

  bool section_headers() {
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return fail("its section headers have an unknown size");
    if (header_.e_shnum == 0 || header_.e_shnum >= SHN_LORESERVE) return fail("its number of sections is out of range");
    if (!within(header_.e_shoff, uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr)))
      return fail("its section headers are truncated");
    for (uint64_t i = 0; i < header_.e_shnum; ++i)
      headers_.push_back(at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    if (headers_[0].sh_type != SHT_NULL) return fail("its first section is not the empty one");
    for (const Elf64_Shdr& section : headers_) {
      if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
      if (!within(section.sh_offset, section.sh_size)) return fail("a section is truncated");
    }
    return true;
  }

  // The string at `offset` of the string table `section`.
  bool string(uint32_t section, uint32_t offset, std::string* out) {
    if (section >= headers_.size() || headers_[section].sh_type != SHT_STRTAB) return fail("a string table is missing");
    const Elf64_Shdr& table = headers_[section];
    if (offset >= table.sh_size) return fail("a name is out of range");
    const char* start = reinterpret_cast<const char*>(data_ + table.sh_offset + offset);
    const void* end = std::memchr(start, 0, table.sh_size - offset);
    if (end == nullptr) return fail("a name is not terminated");
    out->assign(start, static_cast<const char*>(end));
    return true;
  }

  bool name_sections() {
    out_->sections.resize(headers_.size());
    for (size_t i = 1; i < headers_.size(); ++i) {
      if (!string(header_.e_shstrndx, headers_[i].sh_name, &out_->sections[i].name)) return false;
    }
    return true;
  }

  bool place_sections() {
    for (size_t i = 1; i < headers_.size(); ++i) {
      const Elf64_Shdr& header = headers_[i];
      ElfSection& section = out_->sections[i];
      if (!choose_place(header, &section)) return false;
      if (section.place == ElfPlace::kNone) continue;
      section.size = header.sh_size;
      section.align = header.sh_addralign == 0 ? 1 : header.sh_addralign;
      section.bytes = header.sh_type == SHT_NOBITS ? nullptr : data_ + header.sh_offset;
      if ((section.align & (section.align - 1)) != 0 || section.align > kMaxAlign)
        return fail("section " + section.name + " has a bad alignment");
    }
    return true;
  }

  bool choose_place(const Elf64_Shdr& header, ElfSection* section) {
    section->place = ElfPlace::kNone;
    if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0) return true;
    // Kernels never unwind, and notes are for linkers.
    if (header.sh_type == SHT_X86_64_UNWIND || header.sh_type == SHT_NOTE || section->name == ".eh_frame") return true;
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS)
      return fail("section " + section->name + " has a kind that is not accepted");
    if ((header.sh_flags & (SHF_TLS | SHF_COMPRESSED)) != 0)
      return fail("section " + section->name + " is thread-local or compressed");
    const bool writable = (header.sh_flags & SHF_WRITE) != 0;
    const bool code = (header.sh_flags & SHF_EXECINSTR) != 0;
    if (writable && code) return fail("section " + section->name + " is both writable and executable");
    if (code && header.sh_type == SHT_NOBITS) return fail("section " + section->name + " is code without bytes");
    section->place = code ? ElfPlace::kCode : writable ? ElfPlace::kData : ElfPlace::kReadOnly;
    return true;
  }

  bool symbols() {
    for (size_t i = 1; i < headers_.size(); ++i) {
      if (headers_[i].sh_type == SHT_SYMTAB_SHNDX) return fail("it has too many sections");
      if (headers_[i].sh_type != SHT_SYMTAB) continue;
      if (symbol_table_ != 0) return fail("it has two symbol tables");
      symbol_table_ = i;
    }
    if (symbol_table_ == 0) return true;
    const Elf64_Shdr& table = headers_[symbol_table_];
    if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_size % sizeof(Elf64_Sym) != 0)
      return fail("its symbol table has a bad size");
    out_->symbols.resize(table.sh_size / sizeof(Elf64_Sym));
    for (size_t i = 1; i < out_->symbols.size(); ++i) {
      if (!symbol(at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym)), table.sh_link, &out_->symbols[i]))
        return false;
    }
    return true;
  }

  bool symbol(const Elf64_Sym& raw, uint32_t strings, ElfSymbol* out) {
    if (!string(strings, raw.st_name, &out->name)) return false;
    const int type = ELF64_ST_TYPE(raw.st_info);
    if (type == STT_TLS || type == STT_GNU_IFUNC || type == STT_COMMON || raw.st_shndx == SHN_COMMON) {
      return fail("symbol '" + out->name + "' has a kind that is not accepted");
    }
    out->global = ELF64_ST_BIND(raw.st_info) != STB_LOCAL;
    out->function = type == STT_FUNC;
    out->defined = raw.st_shndx != SHN_UNDEF;
    out->absolute = raw.st_shndx == SHN_ABS;
    out->section = 0;
    out->value = raw.st_value;
    if (!out->defined || out->absolute) return true;
    if (raw.st_shndx >= headers_.size()) return fail("symbol '" + out->name + "' is in a section out of range");
    if (out->value > headers_[raw.st_shndx].sh_size)
      return fail("symbol '" + out->name + "' is outside of its section");
    out->section = raw.st_shndx;
    return true;
  }

  bool relocations() {
    for (const Elf64_Shdr& header : headers_) {
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) continue;
      if (header.sh_info >= headers_.size()) return fail("relocations are for a section out of range");
      const ElfSection& target = out_->sections[header.sh_info];
      if (target.place == ElfPlace::kNone) continue;
      if (header.sh_type == SHT_REL) return fail("relocations of section " + target.name + " have no addends");
      if (target.bytes == nullptr) return fail("relocations are for section " + target.name + ", which has no bytes");
      if (header.sh_entsize != sizeof(Elf64_Rela) || header.sh_size % sizeof(Elf64_Rela) != 0)
        return fail("a relocation table has a bad size");
      if (header.sh_link != symbol_table_) return fail("a relocation table has no symbol table");
      for (uint64_t offset = 0; offset < header.sh_size; offset += sizeof(Elf64_Rela)) {
        if (!relocation(at<Elf64_Rela>(header.sh_offset + offset), header.sh_info)) return false;
      }
    }
    return true;
  }

  bool relocation(const Elf64_Rela& raw, uint32_t section) {
    const uint32_t number = ELF64_R_SYM(raw.r_info);
    if (number >= out_->symbols.size()) return fail("a relocation names a symbol out of range");
    if (raw.r_offset >= out_->sections[section].size) return fail("a relocation is outside of its section");
    const ElfSymbol& symbol = out_->symbols[number];
    const bool in_section = number != 0 && symbol.defined && !symbol.absolute;
    if (in_section && out_->sections[symbol.section].place == ElfPlace::kNone &&
        headers_[symbol.section].sh_size != 0) {
      return fail("a relocation needs section " + out_->sections[symbol.section].name + ", which is not loaded");
    }
    out_->relocations.push_back(
        {section, static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info)), number, raw.r_offset, raw.r_addend});
    return true;
  }

  const uint8_t* data_;
  size_t size_;
  ElfObject* out_;
  std::string* problem_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> headers_;
  size_t symbol_table_ = 0;
};

}  // namespace

bool read_elf_object(const uint8_t* data, size_t size, ElfObject* out, std::string* problem) {
  return ElfReader(data, size, out, problem).run();
}

}  // namespace darter
