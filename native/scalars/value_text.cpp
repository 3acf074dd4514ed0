#include "scalars/value_text.hpp"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "scalars/scalar_ops.hpp"
#include "scalars/small_float.hpp"

namespace darter {

namespace {

// The double with the fewest decimal digits that rounds to `bits` in `dtype`: its repr is the shortest text of the
// value.
double shortest_decimal(Dtype dtype, uint64_t bits, double exact) {
  if (dtype == Dtype::kF64 || std::isnan(exact) || std::isinf(exact)) return exact;
  for (int digits = 0; digits < 9; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*e", digits, exact);
    const double candidate = std::strtod(text, nullptr);
    if (float_to_bits(dtype, candidate) == bits) return candidate;
  }
  return exact;
}

std::string float_text(Dtype dtype, uint64_t bits) {
  const double value = shortest_decimal(dtype, bits, float_from_bits(dtype, bits));
  char* text = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
  if (text == nullptr) {
    PyErr_Clear();
    return "?";
  }
  std::string result(text);
  PyMem_Free(text);
  return result;
}

}  // namespace

std::string value_text(Dtype dtype, uint64_t bits) {
  bits = canonical_register(dtype, bits);
  if (dtype == Dtype::kBool) return bits != 0 ? "True" : "False";
  if (dtype_is_float(dtype)) return float_text(dtype, bits);
  if (dtype_is_signed_int(dtype)) return std::to_string(static_cast<int64_t>(bits));
  if (dtype != Dtype::kPointer) return std::to_string(bits);
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

std::string message_text(const std::vector<std::string>& pieces, const std::vector<std::string>& values) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    text += pieces[i];
    if (i + 1 < pieces.size() && i < values.size()) text += values[i];
  }
  const size_t shown = pieces.empty() ? 0 : pieces.size() - 1;
  for (size_t i = shown; i < values.size(); ++i) text += (i == shown ? " (" : ", ") + values[i];
  if (values.size() > shown) text += ')';
  return text;
}

}  // namespace darter
