// Tensors as nearly all are: one to four axes, none of them empty, rows along the last one. Their slots and key word in
// a few dozen instructions. Every check of the general way is made here too, all of them in one comparison; what fails
// it is read again by the general way, which knows the exceptions and words the refusals.
#pragma once

#include "arguments/tensor_checks.hpp"
#include "key/key.hpp"
#include "readers/reader_numpy.hpp"

namespace darter {

// Slots of a plain tensor, at most.
constexpr size_t kPlainSlots = 9;

// Writes 1 + 2 * Rank slots and returns the rank and the layout's bits of the key word, or kIrregular. Strides are in
// bytes or in elements. Agrees with general_layout.
template <int Rank, bool ByteStrides>
DARTER_INLINE uint64_t plain_layout(uint64_t address, const int64_t* shape, const int64_t* strides, int shift,
                                    uint64_t* slots) {
  constexpr int kLast = Rank - 1;
  const uint64_t item_bytes = uint64_t{1} << shift;
  // Rows along the last axis: any other stride of it is an exception.
  uint64_t exceptions = static_cast<uint64_t>(strides[kLast]) ^ (ByteStrides ? item_bytes : 1);
  const auto row = static_cast<uint64_t>(shape[kLast]);
  uint64_t high = row | (row - 1);  // an empty axis sets every bit
  uint64_t low = address;
  uint64_t others = address;            // what must be aligned for vector accesses
  uint64_t reach = (row - 1) << shift;  // bytes from the first element to the last; below 2^62
  slots[0] = address;
  slots[1 + kLast] = row;
  slots[1 + Rank + kLast] = 1;
  for (int axis = 0; axis < kLast; ++axis) {
    const auto extent = static_cast<uint64_t>(shape[axis]);
    const auto raw = static_cast<uint64_t>(strides[axis]);
    const uint64_t bytes = ByteStrides ? raw : raw << shift;
    high |= extent | (extent - 1) | bytes;
    low |= bytes;
    reach += (extent - 1) * bytes;
    others |= extent > 1 ? bytes : 0;
    slots[1 + axis] = extent;
    slots[1 + Rank + axis] = ByteStrides ? raw >> shift : raw;
  }
  exceptions |= high >> kWideBits | (low & (item_bytes - 1));
  if (DARTER_UNLIKELY(exceptions != 0 || address == 0)) return kIrregular;
  return static_cast<uint64_t>(Rank) << 16 | layout_bits(Rank, (others & 15) == 0, reach >> kWideBits != 0);
}

// A function for each rank, because together they need more registers than there are.
template <int Rank>
[[gnu::noinline]] uint64_t plain_numpy(const NumpyArray* array, int shift, uint64_t* slots) {
  return plain_layout<Rank, true>(reinterpret_cast<uint64_t>(array->data), array->dimensions, array->strides, shift,
                                  slots);
}

template <int Rank>
[[gnu::noinline]] uint64_t plain_strided(uint64_t address, const int64_t* shape, const int64_t* strides, int shift,
                                         uint64_t* slots) {
  return plain_layout<Rank, false>(address, shape, strides, shift, slots);
}

template <int Rank>
[[gnu::noinline]] uint64_t plain_view(const TensorView& view, uint64_t* slots) {
  const int shift = size_shift(view.dtype);
  return view.byte_strides ? plain_layout<Rank, true>(view.address, view.shape, view.strides, shift, slots)
                           : plain_layout<Rank, false>(view.address, view.shape, view.strides, shift, slots);
}

DARTER_INLINE uint64_t plain_numpy(const NumpyArray* array, int shift, uint64_t* slots) {
  if (DARTER_LIKELY(array->nd == 2)) return plain_numpy<2>(array, shift, slots);
  if (array->nd == 1) return plain_numpy<1>(array, shift, slots);
  if (array->nd == 3) return plain_numpy<3>(array, shift, slots);
  return array->nd == 4 ? plain_numpy<4>(array, shift, slots) : kIrregular;
}

// Strides in elements.
DARTER_INLINE uint64_t plain_strided(uint64_t address, int64_t rank, const int64_t* shape, const int64_t* strides,
                                     int shift, uint64_t* slots) {
  // Not a call: nearly all tensors have two axes, and around a call nine registers are saved.
  if (DARTER_LIKELY(rank == 2)) return plain_layout<2, false>(address, shape, strides, shift, slots);
  if (rank == 1) return plain_strided<1>(address, shape, strides, shift, slots);
  if (rank == 3) return plain_strided<3>(address, shape, strides, shift, slots);
  return rank == 4 ? plain_strided<4>(address, shape, strides, shift, slots) : kIrregular;
}

DARTER_INLINE uint64_t plain_view(const TensorView& view, uint64_t* slots) {
  if (DARTER_LIKELY(view.rank == 2)) return plain_view<2>(view, slots);
  if (view.rank == 1) return plain_view<1>(view, slots);
  if (view.rank == 3) return plain_view<3>(view, slots);
  return view.rank == 4 ? plain_view<4>(view, slots) : kIrregular;
}

}  // namespace darter
