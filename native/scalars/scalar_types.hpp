// The Python objects that stand for scalar types: the classes of darter.dtypes, numpy's and ml_dtypes' scalar types,
// and DLPack's numbers.
#pragma once

#include "common/python.hpp"
#include "scalars/dtype.hpp"

namespace darter {

constexpr Dtype kNoDtype = static_cast<Dtype>(0);

// log2 of the size in bytes of each type; 0 for none.
constexpr uint8_t kSizeShifts[kDtypeCount] = {0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 1, 1, 2, 3, 0, 0, 0, 0};
inline int size_shift(Dtype dtype) { return kSizeShifts[static_cast<int>(dtype)]; }

// Imports darter.dtypes; called when the first plan is made. Returns false with an exception set.
bool load_scalar_types();

// The type that a class of darter.dtypes is, or none.
Dtype dtype_of_class(PyObject* object);

// True once numpy is imported and its types are known; never imports it.
bool numpy_known();
PyTypeObject* numpy_ndarray();
PyTypeObject* numpy_memmap();
// True for numpy scalars of any type.
bool is_numpy_scalar(PyTypeObject* type);

// The type of a numpy scalar type (numpy's own and those of ml_dtypes), by identity, or none.
Dtype dtype_of_numpy_scalar(PyTypeObject* type);

// The type of a DLPack data type with one lane, or none.
Dtype dtype_of_dlpack(int type_code, int bits, int lanes);

}  // namespace darter
