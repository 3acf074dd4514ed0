// Call states by key: open addressing on a hash, decided by comparing whole keys.
#pragma once

#include <vector>

#include "common/python.hpp"

namespace darter {

uint64_t hash_words(const uint64_t* words, size_t count);

inline bool words_equal(const uint64_t* a, const uint64_t* b, size_t count) {
  uint64_t difference = 0;
  for (size_t i = 0; i < count; ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

// The call states of one key, newest first; they differ in what they captured.
struct TableEntry {
  uint64_t hash;
  std::vector<uint64_t> words;
  std::vector<PyObject*> states;  // owned CallState objects
};

class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { clear(); }

  // The entry of a key, or NULL; it is good until the table changes, so not over any call into Python.
  TableEntry* find(const uint64_t* words, size_t count) {
    TableEntry* last = last_;
    if (DARTER_LIKELY(last != nullptr && last->words.size() == count &&
                      words_equal(last->words.data(), words, count))) {
      return last;
    }
    return find_slowly(words, count);
  }

  void insert(const uint64_t* words, size_t count, PyObject* state);
  void clear();
  int traverse(visitproc visit, void* arg) const;

  // Changes with every change of the table.
  uint64_t generation() const { return generation_; }
  const std::vector<TableEntry*>& entries() const { return entries_; }

 private:
  TableEntry* find_slowly(const uint64_t* words, size_t count);
  void rehash(size_t capacity);

  TableEntry* last_ = nullptr;
  std::vector<TableEntry*> slots_;    // a power of two, at most half full
  std::vector<TableEntry*> entries_;  // owned, in order of insertion
  uint64_t generation_ = 0;
};

}  // namespace darter
