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
  PyTypeObject* type = nullptr;  // owned, so that no other type takes its address
  // For arrays of numpy only, so that one comparison says that `type` and `dtype_object` serve: the type, borrowed from
  // `type`.
  const PyTypeObject* numpy_type = nullptr;
  PyObject* dtype_object = nullptr;  // owned: the last numpy.dtype seen
  ReaderKind reader = ReaderKind::None;
  Dtype dtype = Dtype::kPointer;  // of the last numpy array, or plain torch tensor
  uint8_t item_shift = 0;         // log2 of its size in bytes
  // For torch tensors only: what a plain one had, and what follows from it.
  uint32_t torch_meta = 0;  // dtype and device, as the TensorImpl holds them
  uint64_t torch_keys = 0;  // 0: none seen
  int64_t device = 0;       // device_number
  uint64_t word = 0;        // what the key word of every such array or tensor has
  // The DLPack exchange table of the type (ReaderKind::Exchange) or of torch; NULL for tensors on the CPU.
  const void* framework = nullptr;
};
static_assert(sizeof(TypeCache) == 64);

// One axis of a tensor's contract.
struct Dim {
  enum Kind : uint8_t { Free, Fixed, Named } kind = Free;
  int64_t extent = 0;  // Fixed
  int symbol = 0;      // Named: index into Plan::symbols
};

// What the first look at an argument tries; what does not fit is read the general way. A Contract is a tensor whose
// dtype or extents are demanded, an Any has no annotation.
enum class QuickKind : uint8_t { None, Tensor, Contract, Any, Int, Constexpr, Stream };

// The cache comes first and fills one line of the processor's: the warm call needs no more of a tensor's parameter.
struct alignas(64) Param {
  Param() = default;
  Param(const Param&) = delete;
  Param& operator=(const Param&) = delete;
  Param(Param&& other) noexcept;
  Param& operator=(Param&&) = delete;
  ~Param();

  int traverse(visitproc visit, void* arg) const;

  TypeCache cache;
  ParamKind kind = ParamKind::Any;
  Dtype dtype = Dtype::kPointer;
  bool has_dims = false;
  bool has_contract = false;  // dtype or dims are demanded
  bool optional = false;
  bool positional_only = false;
  bool keyword_only = false;
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

// Parameters of one kind, one behind the other.
struct QuickRun {
  QuickKind kind;
  int end;  // the first parameter behind them
};

struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  // Copies a SignaturePlan; false with an exception set.
  bool load(PyObject* signature_plan);
  int traverse(visitproc visit, void* arg) const;

  int count() const { return static_cast<int>(defaults.size()); }

  std::vector<Param> params;
  std::vector<QuickRun> quick_runs;  // they cover all parameters
  std::vector<PyObject*> defaults;   // one a parameter, borrowed from it; NULL: none
  std::vector<PyObject*> symbols;    // owned names
  PyObject* name = nullptr;          // owned
  int positional = 0;                // parameters that may be given by position; they come first
  int complete = -1;                 // how many arguments by position are all; -1 where they never are, or are none
};

// Copies a tuple of ParamPlans; names of dimensions join those of `plan`. False with an exception set.
bool load_fields(Plan* plan, PyObject* param_plans, std::vector<Param>* out);

}  // namespace darter
