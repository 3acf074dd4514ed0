// Guards: whether everything that a compile captured is still what it was, in a few nanoseconds.
//
// A guard rests on entries, each one comparison of a pointer: what a dict holds under a key, what a cell contains, a
// function's code. Entries of dicts are compared only when the epoch (or on 3.11 a version tag) says that something may
// have changed; what nobody notifies (cells, functions, lists, attributes of instances, MROs) is compared on every
// call.
//
// An entry that is no longer identical sends the question to Python, which compares by value and answers with fresh
// entries, positive or negative. Both answers are kept, so that a program that goes back and forth asks Python only
// once for each.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "guards/dict_watch.hpp"
#include "guards/guard_entries.hpp"

namespace darter {

struct Guards {
  PyObject_HEAD;
  uint64_t epoch;           // all entries of `current` were compared at this epoch
  uint64_t always;          // 1: `current` has entries that are compared on every call
  bool verdict;             // what `current` says as long as its entries are identical
  bool accepted;            // accept() was called for the drift that `negative` describes
  GuardSnapshot* current;   // `positive`, `negative` or NULL (unknown: ask Python); borrowed
  GuardSnapshot* positive;  // owned
  GuardSnapshot* negative;  // owned
  PyObject* cold;           // callable: () -> (holds, watches)
  PyObject* absent;         // stands for "not there" in watches
  PyObject* weak_references;
};

extern PyTypeObject* Guards_Type;

// The comparison that a new epoch, or an entry that nobody notifies, makes necessary.
bool guards_compare(Guards* guards);

// Whether what was captured is known to be unchanged; false also means "not known". Runs no Python code.
inline bool guards_known_to_hold(PyObject* object) {
  const auto* guards = reinterpret_cast<const Guards*>(object);
  return guards->verdict && guards->epoch == darter_epoch && (guards->always == 0 || guards->current->words_hold());
}

// Returns whether what was captured is unchanged. Needs the GIL. Runs no Python code while nothing has changed;
// otherwise it may, so call it before anything that must not be interrupted, and hold a reference to `guards`. Leaves
// no exception set.
inline bool guards_hold(PyObject* object) {
  return guards_known_to_hold(object) || guards_compare(reinterpret_cast<Guards*>(object));
}

bool register_guards(PyObject* module);

}  // namespace darter
