// The epoch, and the dict watcher that bumps it: "something captured may have changed, check again".
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace darter {

// Starts at 1 and only grows; written with the GIL held. On 3.12 and later a store that may change a watched dict entry
// bumps it before it happens. On 3.11 nothing bumps it by itself: guards compare the dicts' version tags too.
extern uint64_t darter_epoch;

// How a dict's changes become known.
enum class DictNotice {
  kWatcher,     // PyDict_Watch: the epoch moves
  kVersionTag,  // 3.11: ma_version_tag moves
  kNone,        // no free watcher: compare the entries themselves on each call
};

// Returns how dicts are watched in this process; decided on the first call. Never fails.
DictNotice dict_notice();

// Counts one more reason to watch `dict`, for stores to `key` (NULL: for any change). Nothing happens without a
// watcher. Returns false with a Python exception set.
bool dict_watch_add(PyObject* dict, PyObject* key);

// Takes one reason back; with the last one the dict is no longer watched. Keys stay watched until then.
void dict_watch_remove(PyObject* dict);

bool register_dict_watch(PyObject* module);

}  // namespace darter
