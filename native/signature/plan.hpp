// The native copy of signature.plan.SignaturePlan: what each parameter accepts, in the form that the warm call reads.
#pragma once

#include <vector>

#include "common/python.hpp"
#include "scalars/dtype.hpp"

namespace darter {

// The numbers are those of signature.plan.ParamKind.
enum class ParamKind : uint8_t {
  Any = 0,
  Tensor = 1,
  Pointer = 2,
  Scalar = 3,
  Constexpr = 4,
  Type = 5,
  Stream = 6,
  Struct = 7,
  Self = 8,
  JitArgument = 9,
};

// How arrays of one Python type are read.
enum class ReaderKind : uint8_t { None, Numpy, Torch, Exchange, DLPack, CudaArray, Array, Explicit };

// A parameter's memory of the last type that it was given; the reader is chosen once for each type, not once a call.
struct TypeCache {
  PyTypeObject* type = nullptr;      // owned, so that no other type takes its address
  PyObject* dtype_object = nullptr;  // owned: the last numpy.dtype seen
  const void* framework = nullptr;   // the type's DLPack exchange table, for ReaderKind::Exchange
  ReaderKind reader = ReaderKind::None;
  Dtype dtype = Dtype::kPointer;  // what dtype_object stands for
  // For arrays of numpy only, so that one comparison says that `type` and `dtype_object` serve: the type, borrowed from
  // `type`; log2 of the item's size; what every key word of such an array has.
  const PyTypeObject* numpy_type = nullptr;
  uint8_t item_shift = 0;
  uint64_t word = 0;
};

// One axis of a tensor's contract.
struct Dim {
  enum Kind : uint8_t { Free, Fixed, Named } kind = Free;
  int64_t extent = 0;  // Fixed
  int symbol = 0;      // Named: index into Plan::symbols
};

// What the first look at an argument tries; what does not fit is read the general way.
enum class QuickKind : uint8_t { None, Tensor, Int, Constexpr, Stream };

struct Param {
  Param() = default;
  Param(const Param&) = delete;
  Param& operator=(const Param&) = delete;
  Param(Param&& other) noexcept;
  Param& operator=(Param&&) = delete;
  ~Param();

  int traverse(visitproc visit, void* arg) const;

  ParamKind kind = ParamKind::Any;
  bool optional = false;
  bool positional_only = false;
  bool keyword_only = false;
  bool has_dims = false;
  bool has_contract = false;  // dtype or dims are demanded
  QuickKind quick = QuickKind::None;
  Dtype dtype = Dtype::kPointer;
  TypeCache cache;
  std::vector<Dim> dims;
  std::vector<Param> fields;
  PyObject* name = nullptr;            // owned, interned
  PyObject* default_value = nullptr;   // owned; NULL: none
  PyObject* constexpr_type = nullptr;  // owned; NULL: any
  PyObject* cls = nullptr;             // owned; NULL: none
};

// Parameters of one launcher; more are refused, so that the warm call's arrays have a fixed size.
constexpr int kMaxParams = 256;
// Names of dimensions in one signature.
constexpr int kMaxSymbols = 64;

struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  // Copies a SignaturePlan; false with an exception set.
  bool load(PyObject* signature_plan);
  int traverse(visitproc visit, void* arg) const;

  int count() const { return static_cast<int>(params.size()); }

  std::vector<Param> params;
  std::vector<PyObject*> symbols;  // owned names
  PyObject* name = nullptr;        // owned
  int positional = 0;              // parameters that may be given by position; they come first
};

// Copies a tuple of ParamPlans; names of dimensions join those of `plan`. False with an exception set.
bool load_fields(Plan* plan, PyObject* param_plans, std::vector<Param>* out);

}  // namespace darter
