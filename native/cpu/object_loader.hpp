// Loads ELF relocatable objects into memory that can be executed: no linker, no files.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace darter {

// Owns the memory of one loaded object.
extern PyTypeObject* CodeObject_Type;

// Address of the global function `symbol` of a CodeObject; NULL with ArtifactError set when it has none. Valid as long
// as the CodeObject.
void* code_object_entry(PyObject* code, const char* symbol);

bool register_object_loader(PyObject* module);

}  // namespace darter
