// The entries that a guard rests on, and how each is compared.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <vector>

#include "guards/dict_watch.hpp"

namespace darter {

// In the order in which they are compared: an attribute of an instance comes last, so that its class is known to be as
// it was and reading it runs no Python code.
enum class EntryKind : uint8_t {
  kType,        // the class of `container` is `expected`
  kMro,         // the MRO of the class `container` is the tuple `expected`
  kCell,        // the cell `container` holds `expected`, or nothing (NULL)
  kCode,        // the function's code object
  kDefaults,    // its tuple of defaults, or NULL
  kKwDefaults,  // its dict of keyword defaults, or NULL
  kListLength,  // the list has `index` elements
  kElement,     // the list's element at `index` is `expected`
  kField,       // the instance's attribute `key` is `expected`, or is not there (NULL)
  kDictEntry,   // the dict has `expected` under `key`, or nothing (NULL)
  kDictLength,  // the dict has `index` entries
  kDictKeys,    // the dict's keys are those of the tuple `expected`, in order
};

struct GuardEntry {
  EntryKind kind;
  PyObject* container;
  PyObject* key;
  PyObject* expected;
  Py_ssize_t index;  // of a dict entry: its slot in the dict when it was compared last (3.11)
};

inline bool is_dict_entry(const GuardEntry& entry) { return entry.kind >= EntryKind::kDictEntry; }

// Whether the entry is identical to what it was. Leaves no exception set.
bool entry_holds(const GuardEntry& entry);

// A field of an object that a snapshot owns, which nobody notifies: compared on every call, by one load and one
// compare. The object is owned and the field is a part of it, so that the address is good for as long as the snapshot
// lives.
struct WatchedWord {
  const uint64_t* address;
  uint64_t expected;
};

// A class that is owned, and the version of its attributes and its bases' (0 once they change): while it is the same,
// a name that is a slot of its instances is still that slot.
struct WatchedClass {
  const PyTypeObject* type;
  unsigned int version;
};

// The entries of one answer. Owns references to all that they point at, and watches their dicts for as long as it
// lives.
class GuardSnapshot {
 public:
  // Makes a snapshot of a sequence of watches, as darter.capture.steps describes them, and arms it: from here on a
  // change of its dicts moves the epoch. `absent` stands for "not there" in watches. Returns NULL with a Python
  // exception set. The caller owns the first reference.
  static GuardSnapshot* create(PyObject* watches, PyObject* absent);
  GuardSnapshot(const GuardSnapshot&) = delete;
  GuardSnapshot& operator=(const GuardSnapshot&) = delete;

  // Whether all entries are identical; also brings the version tags up to date (3.11).
  bool holds_all();

  // Whether the entries that nobody notifies are identical, and those of dicts whose version tag has moved (3.11).
  bool holds_unnotified();

  // The same where it is told by words alone; false also means "not known". Runs no Python code.
  bool words_hold() const {
    uint64_t difference = words_decide_ ? 0 : 1;
    for (const WatchedWord& word : words_) difference |= *word.address ^ word.expected;
    for (const WatchedClass& watched : classes_) difference |= watched.type->tp_version_tag ^ watched.version;
    return difference == 0;
  }

  // Whether `holds_unnotified` has anything to compare.
  bool has_unnotified() const { return first_dict_entry_ > 0 || !dicts_.empty() || compares_dicts_; }

  // Comparing a dict entry can run a key's __eq__, which can do anything: whoever compares holds a reference.
  void retain() { ++references_; }
  void release() {
    if (--references_ == 0) delete this;
  }

  int traverse(visitproc visit, void* argument) const;

 private:
  // Entries [first, last) of one dict, and its version tag when they were compared last (3.11).
  struct VersionedDict {
    PyObject* dict;
    uint64_t tag;
    size_t first;
    size_t last;
  };

  GuardSnapshot() = default;
  ~GuardSnapshot();
  bool append(PyObject* watch, PyObject* absent);
  bool arm();
  void group_dicts();
  bool dict_holds(VersionedDict* versioned);
  void flatten();
  bool flatten_entry(const GuardEntry& entry);
  bool flatten_field(const GuardEntry& entry);

  std::vector<GuardEntry> entries_;
  std::vector<VersionedDict> dicts_;  // 3.11 only
  // The same entries once more, as far as they are words: what a call compares when no epoch has moved. The tags of
  // `dicts_` come first, in the same order.
  std::vector<WatchedWord> words_;
  std::vector<WatchedClass> classes_;
  bool words_decide_ = false;    // every entry that is compared on each call is among `words_`
  size_t first_dict_entry_ = 0;  // entries before it are compared on every call
  size_t armed_ = 0;             // dict entries that have been armed, counted from first_dict_entry_
  size_t references_ = 1;
  bool compares_dicts_ = false;  // dicts cannot be watched: compare their entries on every call
};

}  // namespace darter
