#include "guards/dict_watch.hpp"

#include <new>
#include <unordered_map>

namespace darter {

uint64_t darter_epoch = 1;

namespace {

// One watched dict. Guards own references to the dicts that they watch, so an entry never outlives its dict, but for
// the interpreter's last moments, when DEALLOCATED drops it.
struct WatchedDict {
  PyObject* keys = nullptr;  // a set of exact str, bytes and int: their hash and equality run no Python code
  bool any_key = false;
  Py_ssize_t reasons = 0;
};

using WatchedDicts = std::unordered_map<PyObject*, WatchedDict>;

// Never destroyed: dicts may still be deallocated after static destructors have run.
WatchedDicts& watched_dicts() {
  static WatchedDicts* table = new WatchedDicts;
  return *table;
}

#if PY_VERSION_HEX >= 0x030C0000

bool is_filterable(PyObject* key) {
  return PyUnicode_CheckExact(key) || PyBytes_CheckExact(key) || PyLong_CheckExact(key);
}

bool may_change_watched_key(const WatchedDict& watched, PyObject* key) {
  if (watched.any_key || key == nullptr || watched.keys == nullptr) return true;
  if (!is_filterable(key)) return true;  // it may compare equal to a watched key (True and 1)
  PyObject* pending = PyErr_GetRaisedException();
  int found = PySet_Contains(watched.keys, key);
  if (found < 0) PyErr_Clear();  // str against bytes under -bb: take it as found
  PyErr_SetRaisedException(pending);
  return found != 0;
}

// Runs before the store, with the GIL held; must not run Python code nor fail.
int on_dict_event(PyDict_WatchEvent event, PyObject* dict, PyObject* key, PyObject*) {
  WatchedDicts& table = watched_dicts();
  auto place = table.find(dict);
  if (place == table.end()) return 0;
  if (event == PyDict_EVENT_DEALLOCATED) {
    Py_CLEAR(place->second.keys);
    table.erase(place);
    ++darter_epoch;
  } else if (event == PyDict_EVENT_CLEARED || event == PyDict_EVENT_CLONED ||
             may_change_watched_key(place->second, key)) {
    ++darter_epoch;
  }
  return 0;
}

// The module's one watcher id, or -1 where no slot is free.
int watcher_id() {
  static const int id = [] {
    int added = PyDict_AddWatcher(on_dict_event);
    if (added < 0) PyErr_Clear();
    return added;
  }();
  return id;
}

#endif

PyObject* watched_dict_count(PyObject*, PyObject*) { return PyLong_FromSize_t(watched_dicts().size()); }

PyMethodDef dict_watch_methods[] = {
    {"watched_dict_count", watched_dict_count, METH_NOARGS, "Return how many dicts are watched (0 on 3.11)."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

#if PY_VERSION_HEX >= 0x030C0000

DictNotice dict_notice() { return watcher_id() >= 0 ? DictNotice::kWatcher : DictNotice::kNone; }

bool dict_watch_add(PyObject* dict, PyObject* key) {
  if (dict_notice() != DictNotice::kWatcher) return true;
  WatchedDict& watched = watched_dicts()[dict];
  if (watched.reasons == 0 && PyDict_Watch(watcher_id(), dict) < 0) {
    watched_dicts().erase(dict);
    return false;
  }
  ++watched.reasons;
  if (key == nullptr || !is_filterable(key)) {
    watched.any_key = true;
    return true;
  }
  if (watched.keys == nullptr) {
    watched.keys = PySet_New(nullptr);
    if (watched.keys == nullptr) watched.any_key = true;
  }
  if (watched.keys == nullptr || PySet_Add(watched.keys, key) < 0) {
    watched.any_key = true;  // out of memory: every store counts
    PyErr_Clear();
  }
  return true;
}

void dict_watch_remove(PyObject* dict) {
  WatchedDicts& table = watched_dicts();
  auto place = table.find(dict);
  if (place == table.end() || --place->second.reasons > 0) return;
  PyObject* keys = place->second.keys;
  table.erase(place);
  if (PyDict_Unwatch(watcher_id(), dict) < 0) PyErr_Clear();
  Py_XDECREF(keys);
}

#else

DictNotice dict_notice() { return DictNotice::kVersionTag; }
bool dict_watch_add(PyObject*, PyObject*) { return true; }
void dict_watch_remove(PyObject*) {}

#endif

bool register_dict_watch(PyObject* module) { return PyModule_AddFunctions(module, dict_watch_methods) == 0; }

}  // namespace darter
