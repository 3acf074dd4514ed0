// Tensor readers: from a Python array of any library to one plain view, without holding the array.
#pragma once

#include "readers/dlpack.hpp"
#include "signature/plan.hpp"

namespace darter {

constexpr int kMaxRank = 64;

// Element types, for refusals. Other float8 types exist, so the four are named.
#define DARTER_DTYPES_TEXT                                                \
  "bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64, " \
  "float8_e4m3fn, float8_e4m3fnuz, float8_e5m2 and float8_e5m2fnuz"

// What a reader finds. The pointers belong to the array, or to `storage`; they are good until Python code runs.
struct TensorView {
  uint64_t address;
  const int64_t* shape;
  const int64_t* strides;
  int32_t rank;
  Dtype dtype;
  bool byte_strides;  // numpy counts strides in bytes, DLPack in elements
  bool readonly;
  int32_t device_type;  // DLPack's, folded by folded_device_type
  int32_t device_id;
  const DLPackExchangeAPI* framework;  // asked for the current stream of a device, or NULL
  int64_t storage[2 * kMaxRank];
};

// Device type, as DLPack counts, and ordinal in one number.
constexpr int64_t device_number(int32_t type, int32_t ordinal) {
  return static_cast<int64_t>(type) << 32 | static_cast<uint32_t>(ordinal);
}

// Where an argument stands in the call, for messages: the parameter, and the way into nested arguments.
struct ArgumentPath {
  const ArgumentPath* outer;
  PyObject* name;    // a str (borrowed) or NULL
  Py_ssize_t index;  // used where name is NULL
};

// "x", "opts.scale" or "pair[1]"; a new reference, or NULL with an exception set.
DARTER_COLD PyObject* path_text(const ArgumentPath* path);

// Raises about one argument: "add(): argument 'x': " and the formatted text. Always returns false.
struct Place {
  PyObject* function;  // the function's name
  const ArgumentPath* path;
};
DARTER_COLD bool refuse_type(const Place& place, const char* format, ...);
DARTER_COLD bool refuse_value(const Place& place, const char* format, ...);

// Whether and how objects of this type are read as tensors; caches the answer. False with a refusal set for arrays that
// are refused by their type; true with ReaderKind::None for what is no array at all.
DARTER_COLD bool choose_reader(const Place& place, PyObject* object, TypeCache* cache);

// One per kind of array. False with an exception set.
bool read_torch(const Place& place, PyObject* object, TensorView* view);
// Notes in the cache what plain tensors with this one's dispatch keys, dtype and device have in common; false for
// tensors that read_torch must see. Only where torch_layout.direct.
bool learn_torch(PyObject* object, TypeCache* cache);
bool read_exchange(const Place& place, PyObject* object, const DLPackExchangeAPI* api, TensorView* view);
bool read_dlpack(const Place& place, PyObject* object, TensorView* view);
bool read_array_interface(const Place& place, PyObject* object, bool cuda, TensorView* view);

// Refuses a negative extent, which only a broken producer gives: no loop over such a tensor would say so.
DARTER_COLD bool check_extents(const Place& place, const TensorView& view);

// Copies a DLTensor, whose owner may go away, into the view.
bool view_of_dltensor(const Place& place, const DLTensor& tensor, TensorView* view);

// torch's part of choose_reader: 1 a plain tensor type, 0 no torch type, -1 refused.
int classify_torch(const Place& place, PyObject* object, TypeCache* cache);

// Sources of streams for frameworks that have no exchange table; only `current_work_stream` is set.
//
// torch before 2.10 and CuPy say their current stream in Python. Producers that have none (JAX, say) make their arrays
// ready on the legacy default stream when they export them: no launch may overtake it.
const DLPackExchangeAPI* torch_streams();
const DLPackExchangeAPI* cupy_streams();
const DLPackExchangeAPI* legacy_streams();

// The exchange table of a type, or NULL without an exception.
const DLPackExchangeAPI* exchange_api_of(PyTypeObject* type);

// Switches torch's shim and direct reading off (tests compare the ways of reading) or on again where they verified.
void set_torch_acceleration(bool enabled);
// How torch tensors are read: "direct", "shim", "exchange" or "dlpack"; NULL before the first one.
const char* torch_reading();

}  // namespace darter
