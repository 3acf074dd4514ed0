#include "arguments/tensor_checks.hpp"

namespace darter {
namespace {

PyObject* shape_text(const TensorView& view) {
  Ref shape(PyTuple_New(view.rank));
  if (!shape) return nullptr;
  for (int axis = 0; axis < view.rank; ++axis) {
    PyObject* extent = PyLong_FromLongLong(view.shape[axis]);
    if (extent == nullptr) return nullptr;
    PyTuple_SET_ITEM(shape.get(), axis, extent);
  }
  return shape.release();
}

bool mask_attribute(PyObject* argument, const char* name, uint64_t* out) {
  Ref value(PyObject_GetAttrString(argument, name));
  if (!value) return false;
  *out = PyLong_AsUnsignedLongLong(value.get());
  return PyErr_Occurred() == nullptr;
}

// One half of a layout: extents or strides.
bool layout_half(const Place& place, PyObject* argument, const char* attribute, const char* what, uint64_t mask,
                 int rank, const uint64_t* values, const uint64_t* extents, WordBuffer* words) {
  const bool strides = values != extents;
  Ref divisors(PyObject_GetAttrString(argument, attribute));
  if (!divisors || !PyTuple_Check(divisors.get())) return false;
  if (PyTuple_GET_SIZE(divisors.get()) != rank) {
    return refuse_value(place,
                        "found rank %d under an explicit argument made for rank %zd; make the argument again with "
                        "dt.from_dlpack",
                        rank, PyTuple_GET_SIZE(divisors.get()));
  }
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t divisor = PyLong_AsLongLong(PyTuple_GET_ITEM(divisors.get(), axis));
    if (divisor <= 0) return PyErr_Occurred() == nullptr ? refuse_value(place, "found a divisor below 1") : false;
    const bool unused = strides && static_cast<int64_t>(extents[axis]) <= 1;
    const int64_t value = static_cast<int64_t>(values[axis]);
    if (!unused && value % divisor != 0) {
      return refuse_value(place,
                          "found %s %lld on axis %d, promised to be a multiple of %lld; mark it dynamic with a "
                          "divisor that holds, or with none",
                          what, static_cast<long long>(value), axis, static_cast<long long>(divisor));
    }
    const bool is_static = (mask >> axis & 1) != 0;
    words->push(static_cast<uint64_t>(!is_static ? divisor : unused ? 1 : value));
  }
  return true;
}

}  // namespace

bool refuse_memory(const Place& place, const TensorView& view, bool bad_stride) {
  const int item_bytes = 1 << size_shift(view.dtype);
  Ref shape(shape_text(view));
  if (!shape) return false;
  if (bad_stride) {
    return refuse_value(
        place,
        "found a stride, in an array of shape %S, that is no multiple of the item size (%d bytes); copy it "
        "into memory of its own, for example with .copy()",
        shape.get(), item_bytes);
  }
  if (view.address == 0) {
    return refuse_value(
        place,
        "found a tensor of shape %S with no memory behind it (NULL data); its storage was freed or never "
        "made. Allocate it before the call",
        shape.get());
  }
  return refuse_value(place,
                      "found a base address %p that is no multiple of the item size (%d bytes); copy it into aligned "
                      "memory, for example with .copy() or .clone()",
                      reinterpret_cast<void*>(view.address), item_bytes);
}

bool refuse_dtype(const Place& place, const Param* param, const TensorView& view) {
  return refuse_type(place, "found dtype %s; accepted: %s, as the annotation demands. Convert it before the call",
                     dtype_name(view.dtype), dtype_name(param->dtype));
}

bool refuse_rank(const Place& place, const Param* param, const TensorView& view) {
  Ref shape(shape_text(view));
  if (!shape) return false;
  return refuse_type(place, "found rank %d, shape %S; accepted: rank %zu. Reshape it, or loosen the contract",
                     view.rank, shape.get(), param->dims.size());
}

bool refuse_extent(const Launcher* launcher, const Place& place, const Param* param, int axis, const TensorView& view,
                   const Call* call) {
  const Dim& dim = param->dims[static_cast<size_t>(axis)];
  Ref shape(shape_text(view));
  if (!shape) return false;
  const auto extent = static_cast<long long>(view.shape[axis]);
  if (dim.kind == Dim::Fixed) {
    return refuse_value(place,
                        "found extent %lld on axis %d, shape %S; accepted: %lld, as the contract fixes it. Pass an "
                        "array of that size, or loosen the contract",
                        extent, axis, shape.get(), static_cast<long long>(dim.extent));
  }
  const Param& other = launcher->plan.params[call->symbol_params[dim.symbol]];
  return refuse_value(place,
                      "found extent %lld on axis %d, named '%U', shape %S; accepted: %lld, which argument '%U' has "
                      "under the same name. Pass arrays that agree, or loosen the contract",
                      extent, axis, launcher->plan.symbols[static_cast<size_t>(dim.symbol)], shape.get(),
                      static_cast<long long>(call->symbols[dim.symbol]), other.name);
}

bool layout_words(const Place& place, PyObject* argument, int rank, const uint64_t* slots, WordBuffer* words) {
  uint64_t shape_mask = 0;
  uint64_t stride_mask = 0;
  if (!mask_attribute(argument, "shape_mask", &shape_mask) || !mask_attribute(argument, "stride_mask", &stride_mask)) {
    return false;
  }
  words->push(shape_mask | stride_mask << 32);
  return layout_half(place, argument, "shape_divisors", "extent", shape_mask, rank, slots, slots, words) &&
         layout_half(place, argument, "stride_divisors", "stride", stride_mask, rank, slots + rank, slots, words);
}

}  // namespace darter
