#include "launcher/table.hpp"

#include <algorithm>
#include <memory>

namespace darter {
namespace {

// Odd multipliers, from splitmix64; words beyond them take them again, rotated by the count.
constexpr int kMultipliers = 32;
struct Multipliers {
  uint64_t values[kMultipliers];
  constexpr Multipliers() : values() {
    uint64_t state = 0x9e3779b97f4a7c15;
    for (uint64_t& value : values) {
      state += 0x9e3779b97f4a7c15;
      uint64_t mixed = state;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      value = (mixed ^ (mixed >> 31)) | 1;
    }
  }
};
constexpr Multipliers kMultiplier;

}  // namespace

uint64_t hash_words(const uint64_t* words, size_t count) {
  // Sums of independent products, so that they overlap; the xor-shift brings high bits of a word down first.
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) {
    hash += (words[i] ^ words[i] >> 32) * kMultiplier.values[i % kMultipliers];
    if (i % kMultipliers == kMultipliers - 1) hash = hash << 13 | hash >> 51;
  }
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 32;
}

TableEntry* Table::find_slowly(const uint64_t* words, size_t count) {
  if (slots_.empty()) return nullptr;
  const uint64_t hash = hash_words(words, count);
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask; slots_[slot] != nullptr; slot = (slot + 1) & mask) {
    TableEntry* entry = slots_[slot];
    if (entry->hash == hash && entry->words.size() == count && words_equal(entry->words.data(), words, count)) {
      last_ = entry;
      return entry;
    }
  }
  return nullptr;
}

void Table::rehash(size_t capacity) {
  slots_.assign(capacity, nullptr);
  for (TableEntry* entry : entries_) {
    size_t slot = entry->hash & (capacity - 1);
    while (slots_[slot] != nullptr) slot = (slot + 1) & (capacity - 1);
    slots_[slot] = entry;
  }
}

void Table::insert(const uint64_t* words, size_t count, PyObject* state) {
  ++generation_;
  TableEntry* entry = find(words, count);
  if (entry == nullptr) {
    auto made = std::make_unique<TableEntry>();
    made->hash = hash_words(words, count);
    made->words.assign(words, words + count);
    entry = made.get();
    entries_.push_back(made.release());
    rehash(entries_.size() * 2 > slots_.size() ? std::max<size_t>(8, slots_.size() * 2) : slots_.size());
    last_ = entry;
  }
  std::vector<PyObject*>& states = entry->states;
  const auto known = std::find(states.begin(), states.end(), state);
  if (known != states.end()) {
    std::rotate(states.begin(), known, known + 1);
  } else {
    states.insert(states.begin(), Py_NewRef(state));
  }
}

void Table::clear() {
  ++generation_;
  last_ = nullptr;
  slots_.clear();
  // Releasing a call state may run Python that uses this table: take everything out of it first.
  std::vector<TableEntry*> entries;
  entries.swap(entries_);
  for (TableEntry* entry : entries) {
    for (PyObject* state : entry->states) Py_DECREF(state);
    delete entry;
  }
}

int Table::traverse(visitproc visit, void* arg) const {
  for (const TableEntry* entry : entries_) {
    for (PyObject* state : entry->states) Py_VISIT(state);
  }
  return 0;
}

}  // namespace darter
