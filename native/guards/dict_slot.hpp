// Where a dict keeps an entry, remembered: on 3.11 a store to any name of a module makes every guarded name of it be
// compared again, and a look-up each (12 ns) is too much for a hundred of them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace darter {

#if PY_VERSION_HEX < 0x030C0000

// CPython 3.11's key table, which has no public declaration; 3.11 takes security fixes only, so it stays as it is.
// Source: Include/internal/pycore_dict.h of CPython 3.11.
struct DictKeys311 {
  Py_ssize_t references;
  uint8_t log2_size;
  uint8_t log2_index_bytes;
  uint8_t kind;  // 1: all keys are exact str
  uint32_t version;
  Py_ssize_t usable;
  Py_ssize_t entry_count;
  char indices[1];
};

struct DictUnicodeEntry311 {
  PyObject* key;
  PyObject* value;
};

// The table of a dict all of whose keys are exact str. Valid until the dict changes.
class DictSlots {
 public:
  explicit DictSlots(PyObject* dict) {
    auto* object = reinterpret_cast<PyDictObject*>(dict);
    auto* keys = reinterpret_cast<const DictKeys311*>(object->ma_keys);
    if (object->ma_values != nullptr || keys->kind != 1) return;
    count_ = keys->entry_count;
    slots_ = reinterpret_cast<const DictUnicodeEntry311*>(keys->indices + (size_t{1} << keys->log2_index_bytes));
  }

  // Whether `value` stands under the very object `key` at `slot`. False also means "not known"; a slot whose key was
  // removed has no value, and no value is ever asked for as NULL but to be looked up.
  bool hold(Py_ssize_t slot, PyObject* key, PyObject* value) const {
    return slot < count_ && slots_[slot].value == value && value != nullptr && slots_[slot].key == key;
  }

  // Returns the slot of `key`, or one that none has.
  Py_ssize_t find(PyObject* key) const {
    if (count_ > MAX_SEARCHED) return NO_SLOT;
    for (Py_ssize_t slot = 0; slot < count_; ++slot) {
      if (slots_[slot].key == key) return slot;
    }
    return NO_SLOT;
  }

 private:
  static constexpr Py_ssize_t NO_SLOT = PY_SSIZE_T_MAX;
  static constexpr Py_ssize_t MAX_SEARCHED = 4096;  // larger tables are looked up in

  const DictUnicodeEntry311* slots_ = nullptr;
  Py_ssize_t count_ = 0;
};

#endif

}  // namespace darter
