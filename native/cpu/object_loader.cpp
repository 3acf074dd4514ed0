#include "cpu/object_loader.hpp"

#include <cstring>
#include <new>
#include <string>

#include "common/errors.hpp"
#include "common/python_ref.hpp"
#include "cpu/cpu_runner.hpp"
#include "elf/elf_image.hpp"
#include "elf/elf_object.hpp"

namespace darter {

namespace {

struct CodeObject {
  PyObject_HEAD;
  ElfImage image;
};

template <class Function>
uint64_t address_of(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

// The host functions that compiled code can be allowed to call.
ElfImports host_functions() {
  return {
      {"memcpy", address_of<void*(void*, const void*, size_t)>(std::memcpy)},
      {"memmove", address_of<void*(void*, const void*, size_t)>(std::memmove)},
      {"memset", address_of<void*(void*, int, size_t)>(std::memset)},
      {"darter_message", address_of(cpu_message)},
  };
}

}  // namespace

PyTypeObject* CodeObject_Type = nullptr;

void* code_object_entry(PyObject* code, const char* symbol) {
  const auto& functions = reinterpret_cast<CodeObject*>(code)->image.functions();
  const auto found = functions.find(symbol);
  if (found != functions.end()) return reinterpret_cast<void*>(found->second);
  raise_error("ArtifactError", "object is damaged: it has no function '%s'", symbol);
  return nullptr;
}

namespace {

bool read_imports(PyObject* names, ElfImports* out) {
  const PythonRef items(PySequence_Fast(names, "imports must be a sequence of str"));
  if (!items) return false;
  const ElfImports known = host_functions();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const char* name = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items.get(), i));
    if (name == nullptr) return false;
    const auto found = known.find(name);
    if (found == known.end()) {
      PyErr_Format(PyExc_ValueError, "imports: '%s' is no function that compiled code can call", name);
      return false;
    }
    out->insert(*found);
  }
  return true;
}

PyObject* load_object(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"elf", "imports", nullptr};
  PyObject *elf = nullptr, *names = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "SO:load_object", const_cast<char**>(kNames), &elf, &names) == 0)
    return nullptr;
  ElfImports imports;
  if (!read_imports(names, &imports)) return nullptr;
  ElfObject object{};
  ElfImage image;
  std::string problem;
  const auto* data = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(elf));
  if (!read_elf_object(data, static_cast<size_t>(PyBytes_GET_SIZE(elf)), &object, &problem) ||
      !image.load(object, imports, &problem)) {
    const PythonRef text(
        PyUnicode_DecodeUTF8(problem.data(), static_cast<Py_ssize_t>(problem.size()), "backslashreplace"));
    return text ? raise_error("ArtifactError", "object is not loaded: %U", text.get()) : nullptr;
  }
  PyObject* self = CodeObject_Type->tp_alloc(CodeObject_Type, 0);
  if (self != nullptr) new (&reinterpret_cast<CodeObject*>(self)->image) ElfImage(std::move(image));
  return self;
}

void code_object_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<CodeObject*>(self)->image.~ElfImage();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* code_object_entry_method(PyObject* self, PyObject* symbol) {
  const char* name = PyUnicode_AsUTF8(symbol);
  void* entry = name != nullptr ? code_object_entry(self, name) : nullptr;
  return entry != nullptr ? PyLong_FromVoidPtr(entry) : nullptr;
}

PyObject* code_object_get_size(PyObject* self, void*) {
  return PyLong_FromSize_t(reinterpret_cast<CodeObject*>(self)->image.size());
}

PyMethodDef code_object_methods[] = {
    {"entry", code_object_entry_method, METH_O,
     "entry(symbol, /)\n--\n\nReturn the address of a global function; it is valid as long as this object."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef code_object_getters[] = {
    {"size_bytes", code_object_get_size, nullptr, "Memory that the code takes.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot code_object_slots[] = {
    {Py_tp_doc, const_cast<char*>("Memory of one loaded object; unmapped when the last reference goes.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(code_object_dealloc)},
    {Py_tp_methods, code_object_methods},
    {Py_tp_getset, code_object_getters},
    {0, nullptr},
};

PyType_Spec code_object_spec = {
    "darter._native.CodeObject",
    sizeof(CodeObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    code_object_slots,
};

PyMethodDef loader_functions[] = {
    {"load_object", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(load_object)), METH_VARARGS | METH_KEYWORDS,
     "load_object(elf, imports)\n--\n\nLoad an ELF64 relocatable object that may call the host functions named by "
     "imports."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool register_object_loader(PyObject* module) {
  CodeObject_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&code_object_spec));
  return CodeObject_Type != nullptr &&
         PyModule_AddObjectRef(module, "CodeObject", reinterpret_cast<PyObject*>(CodeObject_Type)) == 0 &&
         PyModule_AddFunctions(module, loader_functions) == 0;
}

}  // namespace darter
