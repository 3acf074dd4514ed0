// What every tensor must satisfy, and what its annotation demands.
#pragma once

#include "launcher/launcher.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {

// No memory behind elements, or a base that is no multiple of the item size. Without elements any base will do.
DARTER_INLINE bool memory_is_suspect(const TensorView& view) {
  const uint64_t item_mask = (uint64_t{1} << size_shift(view.dtype)) - 1;
  return view.address == 0 || (view.address & item_mask) != 0;
}
inline bool has_elements(const TensorView& view) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] == 0) return false;
  }
  return true;
}
DARTER_INLINE bool memory_is_bad(const TensorView& view) {
  return DARTER_UNLIKELY(memory_is_suspect(view)) && has_elements(view);
}
DARTER_COLD bool refuse_memory(const Place& place, const TensorView& view, bool bad_stride);

DARTER_COLD bool refuse_dtype(const Place& place, const Param* param, const TensorView& view);
DARTER_COLD bool refuse_rank(const Place& place, const Param* param, const TensorView& view);
DARTER_COLD bool refuse_extent(const Launcher* launcher, const Place& place, const Param* param, int axis,
                               const TensorView& view, const Call* call);

inline bool dtype_holds(const Place& place, const Param* param, const TensorView& view) {
  if (DARTER_LIKELY(param->dtype == kNoDtype || param->dtype == view.dtype)) return true;
  return refuse_dtype(place, param, view);
}

// The first axis that breaks the contract, or -1; binds names of dimensions on the way. The rank is that of the
// contract.
inline int broken_axis(const Param* param, const int64_t* shape, Call* call) {
  const Dim* dim = param->dims.data();
  const auto rank = static_cast<int>(param->dims.size());
  for (int axis = 0; axis < rank; ++axis, ++dim) {
    const int64_t extent = shape[axis];
    if (dim->kind == Dim::Fixed) {
      if (DARTER_UNLIKELY(dim->extent != extent)) return axis;
    } else if (dim->kind == Dim::Named) {
      while (call->symbol_count <= dim->symbol) call->symbols[call->symbol_count++] = Call::kUnbound;
      int64_t* bound = &call->symbols[dim->symbol];
      if (*bound == Call::kUnbound) {
        *bound = extent;
        call->symbol_params[dim->symbol] = static_cast<uint8_t>(call->param);
      } else if (DARTER_UNLIKELY(*bound != extent)) {
        return axis;
      }
    }
  }
  return -1;
}

inline bool dims_hold(const Launcher* launcher, const Place& place, const Param* param, const TensorView& view,
                      Call* call) {
  if (DARTER_UNLIKELY(static_cast<size_t>(view.rank) != param->dims.size())) return refuse_rank(place, param, view);
  const int axis = broken_axis(param, view.shape, call);
  return DARTER_LIKELY(axis < 0) || refuse_extent(launcher, place, param, axis, view, call);
}

// The contract, without a refusal: where it is broken the argument is read again, in the way that words refusals. Names
// that were bound to this argument's extents until then are bound to the same ones again.
inline bool contract_fits(const Param* param, Dtype dtype, int rank, const int64_t* shape, Call* call) {
  if (param->dtype != kNoDtype && param->dtype != dtype) return false;
  return !param->has_dims || (static_cast<size_t>(rank) == param->dims.size() && broken_axis(param, shape, call) < 0);
}

DARTER_INLINE bool contract_holds(const Launcher* launcher, const Place& place, const Param* param,
                                  const TensorView& view, Call* call) {
  if (DARTER_LIKELY(!param->has_contract)) return true;
  return dtype_holds(place, param, view) && (!param->has_dims || dims_hold(launcher, place, param, view, call));
}

// The layout words of an explicit argument: mask, then extents, then strides, static values or divisors. `slots` are
// its extents and strides.
bool layout_words(const Place& place, PyObject* argument, int rank, const uint64_t* slots, WordBuffer* words);

}  // namespace darter
