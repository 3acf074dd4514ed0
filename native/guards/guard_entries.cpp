#include "guards/guard_entries.hpp"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "guards/dict_slot.hpp"

namespace darter {

namespace {

struct KindName {
  const char* name;
  EntryKind kind;
};

// What darter.capture.steps calls each kind. "own" and "length" become dict entries or list lengths by their container.
constexpr KindName KIND_NAMES[] = {
    {"type", EntryKind::kType},         {"mro", EntryKind::kMro},           {"cell", EntryKind::kCell},
    {"code", EntryKind::kCode},         {"defaults", EntryKind::kDefaults}, {"kwdefaults", EntryKind::kKwDefaults},
    {"length", EntryKind::kListLength}, {"element", EntryKind::kElement},   {"field", EntryKind::kField},
    {"dict", EntryKind::kDictEntry},    {"own", EntryKind::kDictEntry},     {"keys", EntryKind::kDictKeys},
};

PyObject* class_dict(PyObject* cls) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyType_GetDict(reinterpret_cast<PyTypeObject*>(cls));
#else
  return Py_XNewRef(reinterpret_cast<PyTypeObject*>(cls)->tp_dict);
#endif
}

bool refuse_watch(PyObject* watch) {
  PyErr_Format(PyExc_TypeError, "guards: not a watch: %R", watch);
  return false;
}

bool same_attribute(PyObject* found, PyObject* expected) {
  if (found == expected) return true;
  // A method is bound anew on each read.
  return PyMethod_Check(found) && PyMethod_Check(expected) &&
         PyMethod_GET_FUNCTION(found) == PyMethod_GET_FUNCTION(expected) &&
         PyMethod_GET_SELF(found) == PyMethod_GET_SELF(expected);
}

bool field_holds(const GuardEntry& entry) {
  PyObject* found = PyObject_GenericGetAttr(entry.container, entry.key);
  if (found == nullptr) {
    bool absent = PyErr_ExceptionMatches(PyExc_AttributeError);
    PyErr_Clear();
    return absent && entry.expected == nullptr;
  }
  bool same = entry.expected != nullptr && same_attribute(found, entry.expected);
  Py_DECREF(found);
  return same;
}

bool dict_entry_holds(const GuardEntry& entry) {
  PyObject* found = PyDict_GetItemWithError(entry.container, entry.key);
  if (found == nullptr && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return found == entry.expected;
}

bool dict_keys_hold(const GuardEntry& entry) {
  if (PyDict_GET_SIZE(entry.container) != PyTuple_GET_SIZE(entry.expected)) return false;
  Py_ssize_t position = 0, index = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(entry.container, &position, &key, nullptr)) {
    if (PyTuple_GET_ITEM(entry.expected, index++) != key) return false;
  }
  return true;
}

bool list_element_holds(const GuardEntry& entry) {
  return entry.index < PyList_GET_SIZE(entry.container) &&
         PyList_GET_ITEM(entry.container, entry.index) == entry.expected;
}

uint64_t word_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename Field>
const uint64_t* address_of(const Field& field) {
  static_assert(sizeof(Field) == sizeof(uint64_t), "guards compare whole words");
  return reinterpret_cast<const uint64_t*>(&field);
}

#if PY_VERSION_HEX < 0x030C0000
uint64_t version_tag(PyObject* dict) { return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag; }

// Looks the entry up, and finds its slot for the next time.
bool compare_slotted(GuardEntry* entry) {
  if (!entry_holds(*entry)) return false;
  bool has_slot = entry->kind == EntryKind::kDictEntry && entry->expected != nullptr;
  if (has_slot) entry->index = DictSlots(entry->container).find(entry->key);
  return true;
}
#endif

}  // namespace

bool entry_holds(const GuardEntry& entry) {
  switch (entry.kind) {
    case EntryKind::kType:
      return reinterpret_cast<PyObject*>(Py_TYPE(entry.container)) == entry.expected;
    case EntryKind::kMro:
      return reinterpret_cast<PyTypeObject*>(entry.container)->tp_mro == entry.expected;
    case EntryKind::kCell:
      return PyCell_GET(entry.container) == entry.expected;
    case EntryKind::kCode:
      return reinterpret_cast<PyFunctionObject*>(entry.container)->func_code == entry.expected;
    case EntryKind::kDefaults:
      return reinterpret_cast<PyFunctionObject*>(entry.container)->func_defaults == entry.expected;
    case EntryKind::kKwDefaults:
      return reinterpret_cast<PyFunctionObject*>(entry.container)->func_kwdefaults == entry.expected;
    case EntryKind::kListLength:
      return PyList_GET_SIZE(entry.container) == entry.index;
    case EntryKind::kElement:
      return list_element_holds(entry);
    case EntryKind::kField:
      return field_holds(entry);
    case EntryKind::kDictEntry:
      return dict_entry_holds(entry);
    case EntryKind::kDictLength:
      return PyDict_GET_SIZE(entry.container) == entry.index;
    case EntryKind::kDictKeys:
      return dict_keys_hold(entry);
  }
  return false;
}

GuardSnapshot* GuardSnapshot::create(PyObject* watches, PyObject* absent) {
  PyObject* sequence = PySequence_Fast(watches, "guards: watches are a sequence");
  if (sequence == nullptr) return nullptr;
  auto* snapshot = new (std::nothrow) GuardSnapshot;
  bool made = snapshot != nullptr;
  for (Py_ssize_t i = 0; made && i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    made = snapshot->append(PySequence_Fast_GET_ITEM(sequence, i), absent);
  }
  Py_DECREF(sequence);
  if (made && snapshot->arm()) return snapshot;
  if (snapshot == nullptr) PyErr_NoMemory();
  if (snapshot != nullptr) snapshot->release();
  return nullptr;
}

// Checks a watch's shape: the comparisons above trust the types of what they are given.
bool GuardSnapshot::append(PyObject* watch, PyObject* absent) {
  if (!PyTuple_Check(watch) || PyTuple_GET_SIZE(watch) < 3 || !PyUnicode_Check(PyTuple_GET_ITEM(watch, 0))) {
    return refuse_watch(watch);
  }
  const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(watch, 0));
  if (name == nullptr) return false;
  const KindName* found = std::find_if(std::begin(KIND_NAMES), std::end(KIND_NAMES),
                                       [name](const KindName& known) { return std::strcmp(known.name, name) == 0; });
  if (found == std::end(KIND_NAMES)) return refuse_watch(watch);
  PyObject* container = PyTuple_GET_ITEM(watch, 1);
  PyObject* last = PyTuple_GET_ITEM(watch, PyTuple_GET_SIZE(watch) - 1);
  GuardEntry entry{found->kind, container, nullptr, last == absent ? nullptr : last, 0};
  bool has_key = PyTuple_GET_SIZE(watch) == 4;
  bool fits = false;
  PyObject* owned_dict = nullptr;
  switch (entry.kind) {
    case EntryKind::kType:
      fits = PyType_Check(last);
      break;
    case EntryKind::kMro:
      fits = PyType_Check(container) && PyTuple_Check(last);
      break;
    case EntryKind::kCell:
      fits = PyCell_Check(container);
      break;
    case EntryKind::kCode:
      fits = PyFunction_Check(container);
      break;
    case EntryKind::kDefaults:
    case EntryKind::kKwDefaults:
      fits = PyFunction_Check(container);
      if (last == Py_None) entry.expected = nullptr;
      break;
    case EntryKind::kListLength:
      fits = PyLong_Check(last) && (PyList_Check(container) || PyDict_Check(container));
      if (!fits) break;
      if (PyDict_Check(container)) entry.kind = EntryKind::kDictLength;
      entry.index = PyLong_AsSsize_t(last);
      break;
    case EntryKind::kElement:
      fits = has_key && PyList_Check(container) && PyLong_Check(PyTuple_GET_ITEM(watch, 2));
      if (fits) entry.index = PyLong_AsSsize_t(PyTuple_GET_ITEM(watch, 2));
      fits = fits && entry.index >= 0;
      break;
    case EntryKind::kField:
      fits = has_key && PyUnicode_Check(PyTuple_GET_ITEM(watch, 2));
      if (fits) entry.key = PyTuple_GET_ITEM(watch, 2);
      break;
    case EntryKind::kDictEntry:
      fits = has_key;
      if (fits) entry.key = PyTuple_GET_ITEM(watch, 2);
      if (fits && PyType_Check(container)) entry.container = owned_dict = class_dict(container);
      fits = fits && entry.container != nullptr && PyDict_Check(entry.container);
      break;
    case EntryKind::kDictKeys:
      fits = PyDict_Check(container) && PyTuple_Check(last);
      break;
    case EntryKind::kDictLength:
      break;
  }
  if (fits && !PyErr_Occurred()) {
    Py_INCREF(entry.container);
    Py_XINCREF(entry.key);
    Py_XINCREF(entry.expected);
    // The dict has its keys interned, so that most comparisons of keys are of pointers.
    if (entry.key != nullptr && PyUnicode_CheckExact(entry.key)) PyUnicode_InternInPlace(&entry.key);
    entries_.push_back(entry);
  }
  Py_XDECREF(owned_dict);
  return PyErr_Occurred() ? false : fits || refuse_watch(watch);
}

bool GuardSnapshot::arm() {
  // By kind first, so that dict entries come last; then those of one dict side by side.
  std::stable_sort(entries_.begin(), entries_.end(), [](const GuardEntry& a, const GuardEntry& b) {
    if (is_dict_entry(a) != is_dict_entry(b)) return is_dict_entry(b);
    if (is_dict_entry(a)) return a.container < b.container;
    return a.kind < b.kind;
  });
  auto same = [](const GuardEntry& a, const GuardEntry& b) {
    return a.kind == b.kind && a.container == b.container && a.key == b.key && a.expected == b.expected &&
           a.index == b.index;
  };
  size_t kept = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (kept > 0 && same(entries_[kept - 1], entries_[i])) {
      Py_DECREF(entries_[i].container);
      Py_XDECREF(entries_[i].key);
      Py_XDECREF(entries_[i].expected);
    } else {
      entries_[kept++] = entries_[i];
    }
  }
  entries_.resize(kept);
  first_dict_entry_ = static_cast<size_t>(
      std::find_if(entries_.begin(), entries_.end(), [](const GuardEntry& entry) { return is_dict_entry(entry); }) -
      entries_.begin());
  switch (dict_notice()) {
    case DictNotice::kWatcher:
      for (size_t i = first_dict_entry_; i < entries_.size(); ++i, ++armed_) {
        if (!dict_watch_add(entries_[i].container, entries_[i].key)) return false;
      }
      break;
    case DictNotice::kVersionTag:
      group_dicts();
      break;
    case DictNotice::kNone:
      compares_dicts_ = first_dict_entry_ < entries_.size();
      break;
  }
  flatten();
  return true;
}

void GuardSnapshot::flatten() {
#if PY_VERSION_HEX < 0x030C0000
  for (const VersionedDict& versioned : dicts_) {
    words_.push_back({address_of(reinterpret_cast<PyDictObject*>(versioned.dict)->ma_version_tag), versioned.tag});
  }
#endif
  words_decide_ = !compares_dicts_;
  for (size_t i = 0; i < first_dict_entry_ && words_decide_; ++i) words_decide_ = flatten_entry(entries_[i]);
}

// Adds the word that decides the entry; false where there is none.
bool GuardSnapshot::flatten_entry(const GuardEntry& entry) {
  const uint64_t expected = word_of(entry.expected);
  auto* function = reinterpret_cast<PyFunctionObject*>(entry.container);
  switch (entry.kind) {
    case EntryKind::kType:
      words_.push_back({address_of(entry.container->ob_type), expected});
      return true;
    case EntryKind::kMro:
      words_.push_back({address_of(reinterpret_cast<PyTypeObject*>(entry.container)->tp_mro), expected});
      return true;
    case EntryKind::kCell:
      words_.push_back({address_of(reinterpret_cast<PyCellObject*>(entry.container)->ob_ref), expected});
      return true;
    case EntryKind::kCode:
      words_.push_back({address_of(function->func_code), expected});
      return true;
    case EntryKind::kDefaults:
      words_.push_back({address_of(function->func_defaults), expected});
      return true;
    case EntryKind::kKwDefaults:
      words_.push_back({address_of(function->func_kwdefaults), expected});
      return true;
    case EntryKind::kListLength:
      words_.push_back(
          {address_of(reinterpret_cast<PyVarObject*>(entry.container)->ob_size), static_cast<uint64_t>(entry.index)});
      return true;
    case EntryKind::kField:
      return flatten_field(entry);
    default:
      return false;  // a list moves its elements when it grows
  }
}

// An attribute that is a slot of the instance: its place in the object, the object's class, and the class's version.
bool GuardSnapshot::flatten_field(const GuardEntry& entry) {
  PyTypeObject* type = Py_TYPE(entry.container);
  if (entry.expected == nullptr || !PyUnicode_CheckExact(entry.key)) return false;
  PyObject* found = _PyType_Lookup(type, entry.key);  // borrowed; also gives the type a version
  if (found == nullptr || !Py_IS_TYPE(found, &PyMemberDescr_Type)) return false;
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
  const unsigned int version = type->tp_version_tag;
  if (member->type != T_OBJECT_EX || version == 0 || !PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
    return false;
  }
  const auto* place = reinterpret_cast<const char*>(entry.container) + member->offset;
  words_.push_back({reinterpret_cast<const uint64_t*>(place), word_of(entry.expected)});
  words_.push_back({address_of(entry.container->ob_type), word_of(type)});
  const bool is_known = !classes_.empty() && classes_.back().type == type;
  if (!is_known) classes_.push_back({type, version});
  return true;
}

void GuardSnapshot::group_dicts() {
  for (size_t i = first_dict_entry_; i < entries_.size(); ++i) {
    if (dicts_.empty() || dicts_.back().dict != entries_[i].container) {
      dicts_.push_back({entries_[i].container, 0, i, i});  // no dict has the tag 0: the first check compares
    }
    dicts_.back().last = i + 1;
  }
}

GuardSnapshot::~GuardSnapshot() {
  for (size_t i = 0; i < armed_; ++i) dict_watch_remove(entries_[first_dict_entry_ + i].container);
  for (const GuardEntry& entry : entries_) {
    Py_DECREF(entry.container);
    Py_XDECREF(entry.key);
    Py_XDECREF(entry.expected);
  }
}

bool GuardSnapshot::dict_holds([[maybe_unused]] VersionedDict* versioned) {
#if PY_VERSION_HEX < 0x030C0000
  uint64_t tag = version_tag(versioned->dict);
  if (tag == versioned->tag) return true;
  DictSlots slots(versioned->dict);
  for (size_t i = versioned->first; i < versioned->last; ++i) {
    if (slots.hold(entries_[i].index, entries_[i].key, entries_[i].expected)) continue;
    if (!compare_slotted(&entries_[i])) return false;
    slots = DictSlots(versioned->dict);  // a key's __eq__ may have changed the dict
  }
  versioned->tag = tag;
  words_[static_cast<size_t>(versioned - dicts_.data())].expected = tag;
#endif
  return true;
}

bool GuardSnapshot::holds_all() {
  // Dicts first: as long as the dicts of classes are as they were, reading an instance's attribute runs no Python code.
  if (dicts_.empty()) {
    for (size_t i = first_dict_entry_; i < entries_.size(); ++i) {
      if (!entry_holds(entries_[i])) return false;
    }
  }
  for (VersionedDict& versioned : dicts_) {
    versioned.tag = 0;
    if (!dict_holds(&versioned)) return false;
  }
  for (size_t i = 0; i < first_dict_entry_; ++i) {
    if (!entry_holds(entries_[i])) return false;
  }
  return true;
}

bool GuardSnapshot::holds_unnotified() {
  if (compares_dicts_) return holds_all();
  for (VersionedDict& versioned : dicts_) {
    if (!dict_holds(&versioned)) return false;
  }
  for (size_t i = 0; i < first_dict_entry_; ++i) {
    if (!entry_holds(entries_[i])) return false;
  }
  return true;
}

int GuardSnapshot::traverse(visitproc visit, void* arg) const {
  for (const GuardEntry& entry : entries_) {
    Py_VISIT(entry.container);
    Py_VISIT(entry.key);
    Py_VISIT(entry.expected);
  }
  return 0;
}

}  // namespace darter
