// What a JitFunction offers beside being called.
#include "jit/jit_function.hpp"
#include "jit/launch.hpp"
#include "jit/part_times.hpp"
#include "readers/reader.hpp"

namespace darter {

namespace {

// -- methods that the cold object answers

constexpr char kWarm[] = "warm";
constexpr char kExplain[] = "explain";
constexpr char kCacheKey[] = "cache_key";
constexpr char kCacheInfo[] = "cache_info";
constexpr char kWithOptions[] = "with_options";
constexpr char kAcceptDrift[] = "accept_drift";
constexpr char kClear[] = "clear";

template <const char* Name>
PyObject* forward(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* cold = opened_cold(self);
  Ref method(cold != nullptr ? PyObject_GetAttrString(cold, Name) : nullptr);
  return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

// A class body has bound the function to a name: its first parameter is `self`.
PyObject* note_method(PyObject* self, PyObject* /*owner_and_name*/) {
  launcher_of(self)->is_method = true;
  Py_RETURN_NONE;
}

PyObject* clear_states(PyObject* self, PyObject* /*unused*/) {
  launcher_of(self)->table.clear();
  Py_RETURN_NONE;
}

PyObject* clear_all(PyObject* self, PyObject* args, PyObject* kwargs) {
  launcher_of(self)->table.clear();
  return forward<kClear>(self, args, kwargs);
}

// Pickled by its name, as a function is: another process imports the module and finds its own launcher there.
PyObject* reduce(PyObject* self, PyObject* /*unused*/) { return PyObject_GetAttrString(self, "__qualname__"); }

// -- methods for the cold object and for tests

// Binds the arguments of a method call as a call of the function would, and returns what `use` makes of them.
template <class Use>
PyObject* with_bound(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names, Use use) {
  Launcher* launcher = planned_launcher(self);
  if (launcher == nullptr) return nullptr;
  PyObject* room[kMaxParams];
  PyObject* const* bound = launcher->binder.bind(launcher->plan, args, count, names, room);
  return bound != nullptr ? use(launcher, bound) : nullptr;
}

PyObject* bound_arguments(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return with_bound(self, args, count, names, arguments_tuple);
}

PyObject* key_words(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return with_bound(self, args, count, names, [](Launcher* launcher, PyObject* const* bound) -> PyObject* {
    Call call;
    return read_arguments(launcher, bound, &call) ? words_tuple(call.words.data(), call.words.size()) : nullptr;
  });
}

PyObject* argument_slots(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return with_bound(self, args, count, names, [](Launcher* launcher, PyObject* const* bound) -> PyObject* {
    Call call;
    return read_arguments(launcher, bound, &call) ? words_tuple(call.slots.data(), call.slots.size()) : nullptr;
  });
}

PyObject* prepared_state(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return with_bound(self, args, count, names, [](Launcher* launcher, PyObject* const* bound) {
    Call call;
    return reinterpret_cast<PyObject*>(prepare(launcher, bound, &call));
  });
}

PyObject* compiled(PyObject* self, PyObject* args) {
  if (planned_launcher(self) == nullptr) return nullptr;
  PyObject* cold = nullptr;
  PyObject* call_args = nullptr;
  PyObject* call_kwargs = nullptr;
  if (PyArg_ParseTuple(args, "OO!O!:_compile", &cold, &PyTuple_Type, &call_args, &PyDict_Type, &call_kwargs) == 0) {
    return nullptr;
  }
  return make_compiled(as_function(self), cold, call_args, call_kwargs);
}

PyObject* intern_object(PyObject* self, PyObject* object) {
  return PyLong_FromUnsignedLongLong(launcher_of(self)->interned.number(object));
}

PyObject* release_functions(PyObject* self, PyObject* /*unused*/) {
  launcher_of(self)->interned.release_functions();
  Py_RETURN_NONE;
}

// A list of (words, [states]); a key holds more than one state after drift.
PyObject* all_states(PyObject* self, PyObject* /*unused*/) {
  Ref list(PyList_New(0));
  if (!list) return nullptr;
  for (const TableEntry* entry : launcher_of(self)->table.entries()) {
    Ref states(PyList_New(0));
    for (PyObject* state : entry->states) {
      if (!states || PyList_Append(states.get(), state) < 0) return nullptr;
    }
    Ref words(states ? words_tuple(entry->words.data(), entry->words.size()) : nullptr);
    Ref pair(words ? PyTuple_Pack(2, words.get(), states.get()) : nullptr);
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
  }
  return list.release();
}

// What is called is fixed when the launcher is made; another function under `__wrapped__` would be told of, not called.
PyObject* get_wrapped(PyObject* self, void* /*unused*/) {
  PyObject* dict = as_function(self)->dict;
  PyObject* held = dict != nullptr ? PyDict_GetItemString(dict, "__wrapped__") : nullptr;
  return held != nullptr ? Py_NewRef(held) : PyErr_Format(PyExc_AttributeError, "this launcher has no __wrapped__");
}
int set_wrapped(PyObject* self, PyObject* value, void* /*unused*/) {
  PyObject** dict = &as_function(self)->dict;
  if (*dict == nullptr) *dict = PyDict_New();
  if (*dict == nullptr) return -1;
  if (value != nullptr && PyDict_GetItemString(*dict, "__wrapped__") == nullptr) {
    return PyDict_SetItemString(*dict, "__wrapped__", value);
  }
  PyErr_SetString(PyExc_AttributeError,
                  "__wrapped__ of a launcher cannot be changed: its function is fixed when it is made; decorate the "
                  "other function with @dt.jit, and bind the name to that launcher");
  return -1;
}
PyObject* get_cold(PyObject* self, void* /*unused*/) { return Py_XNewRef(opened_cold(self)); }
PyObject* get_plan(PyObject* self, void* /*unused*/) {
  Launcher* launcher = planned_launcher(self);
  return launcher != nullptr ? Py_NewRef(launcher->plan_object) : nullptr;
}
PyObject* get_hits(PyObject* self, void* /*unused*/) {
  return PyLong_FromUnsignedLongLong(launcher_of(self)->memory_hits);
}
PyObject* get_verify(PyObject* self, void* /*unused*/) { return PyBool_FromLong(launcher_of(self)->verify_keys); }
int set_verify(PyObject* self, PyObject* value, void* /*unused*/) {
  const int truth = value != nullptr ? PyObject_IsTrue(value) : 0;
  if (truth >= 0) launcher_of(self)->verify_keys = static_cast<char>(truth);
  return truth < 0 ? -1 : 0;
}

template <typename Function>
PyCFunction method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int kPacked = METH_VARARGS | METH_KEYWORDS;
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;

PyObject* set_acceleration(PyObject* /*module*/, PyObject* enabled) {
  const int truth = PyObject_IsTrue(enabled);
  if (truth < 0) return nullptr;
  set_torch_acceleration(truth == 1);
  Py_RETURN_NONE;
}

PyObject* get_torch_reading(PyObject* /*module*/, PyObject* /*unused*/) {
  const char* reading = torch_reading();
  return reading != nullptr ? PyUnicode_FromString(reading) : Py_NewRef(Py_None);
}

}  // namespace

PyMethodDef jit_methods[] = {
    {kWarm, method(forward<kWarm>), kPacked, "Compile and load for these arguments; launch nothing."},
    {kExplain, method(forward<kExplain>), kPacked, "Say what a call with these arguments would do, and why."},
    {kCacheKey, method(forward<kCacheKey>), kPacked, "Return the primary key of a call, in hexadecimal."},
    {kCacheInfo, method(forward<kCacheInfo>), kPacked, "Return the cumulative counters."},
    {kWithOptions, method(forward<kWithOptions>), kPacked, "Return a view with other options."},
    {kAcceptDrift, method(forward<kAcceptDrift>), kPacked, "Accept the captured values as they are now."},
    {"__set_name__", note_method, METH_VARARGS, "Note that the function is a method."},
    {kClear, method(clear_all), kPacked, "Forget call states and baselines of this process."},
    {"__copy__", same_object, METH_NOARGS, "Return the launcher itself."},
    {"__deepcopy__", same_object, METH_O, "Return the launcher itself."},
    {"__reduce__", reduce, METH_NOARGS, "Return the qualified name, by which pickle finds the launcher again."},
    {"_bind", method(bound_arguments), kFast, "Return the bound arguments, defaults filled in."},
    {"_key_words", method(key_words), kFast, "Return the key words of a call."},
    {"_slots", method(argument_slots), kFast, "Return the argument slots of a call."},
    {"_prepare", method(prepared_state), kFast,
     "Return the CallState of a call, made where it must be; launch nothing."},
    {"_time_parts", method(time_parts), kFast, "Return nanoseconds of each step of a warm call; for benchmarks."},
    {"_compile", compiled, METH_VARARGS, "_compile(cold, args, kwargs): return a CompiledFunction."},
    {"_intern", intern_object, METH_O, "Return the small number of an object in this function's keys."},
    {"_release_functions", release_functions, METH_NOARGS, "Let go of functions in keys that nobody else holds."},
    {"_states", all_states, METH_NOARGS, "Return a list of (key words, call states)."},
    {"_clear", clear_states, METH_NOARGS, "Forget the call states."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef jit_getters[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__wrapped__", get_wrapped, set_wrapped, "The function that was decorated.", nullptr},
    {"cold", get_cold, nullptr, "The Python object that compiles and explains, made at the first use.", nullptr},
    {"plan", get_plan, nullptr, "The SignaturePlan.", nullptr},
    {"memory_hits", get_hits, nullptr, "Calls answered from memory so far.", nullptr},
    {"verify_keys", get_verify, set_verify, "Whether each call passes its words to cold.verify_key.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef jit_functions[] = {
    {"set_torch_acceleration", set_acceleration, METH_O,
     "Turn the accelerated ways of reading torch tensors off, or on where they verified."},
    {"torch_reading", get_torch_reading, METH_NOARGS,
     "Return how torch tensors are read: 'direct', 'shim', 'exchange' or 'dlpack'; None before the first one."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace darter
