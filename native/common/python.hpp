// What every file of the warm call needs of CPython: the header, an owning reference, branch hints.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "common/python_ref.hpp"

#define DARTER_LIKELY(x) __builtin_expect(!!(x), 1)
#define DARTER_UNLIKELY(x) __builtin_expect(!!(x), 0)
// Error building and first-use work stand out of line, so that the warm call stays small in the instruction cache.
#define DARTER_COLD __attribute__((noinline, cold))
// Steps of the warm call, cut into functions for the reader and not for the machine.
#define DARTER_INLINE inline __attribute__((always_inline))

namespace darter {

using Ref = PythonRef;

}  // namespace darter
