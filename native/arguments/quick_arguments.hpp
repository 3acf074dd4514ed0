// The arguments that most calls consist of, read in one loop; the first look that read_arguments takes.
#pragma once

#include "arguments/plain_tensor.hpp"
#include "arguments/scalar.hpp"
#include "launcher/launcher.hpp"
#include "readers/torch_layout.hpp"

namespace darter {

// The few kinds of argument that calls consist of, where nothing about them is unusual. Their words and slots go
// straight to the ends of the buffers, which have room for them.
struct QuickReader {
  Call* call;
  uint64_t* slots;
  uint64_t* words;

  // Words and slots that a quick argument takes, at most.
  static constexpr size_t kMost = kPlainSlots;

  // Takes the ends over where there is room for `count` arguments; false where there is none.
  bool begin(size_t count) {
    slots = call->slots.end();
    words = call->words.end();
    return call->slots.has_room(count * kMost) && call->words.has_room(count * kMost);
  }
  void end() {
    call->slots.set_end(slots);
    call->words.set_end(words);
  }

  // Reads arguments of one kind from `index` on, up to `end` or to the first that has to be read the general way, whose
  // number is returned. The kind is decided once for all of them: a launch leaves the processor without a memory of how
  // its branches went, and each one that it must guess costs as much as the rest of an argument.
  DARTER_INLINE int read(QuickKind kind, Param* params, PyObject* const* values, int index, int end) {
    switch (kind) {
      case QuickKind::Tensor:
        if (index < end) index = tensors<false>(params, values, index, end);
        break;
      case QuickKind::Contract:
        if (index < end) index = tensors<true>(params, values, index, end);
        break;
      case QuickKind::Any:
        while (index < end && any(&params[index], values[index], index)) ++index;
        break;
      case QuickKind::Int:
        while (index < end && integer(values[index])) ++index;
        break;
      case QuickKind::Constexpr:
        while (index < end && compile_time_integer(values[index])) ++index;
        break;
      case QuickKind::Stream:
        while (index < end && values[index] == Py_None) ++index;
        break;
      case QuickKind::None:
        break;
    }
    return index;
  }

  // Each of these returns false with nothing changed where the argument has to be read the general way.

  DARTER_INLINE bool integer(PyObject* value) {
    int64_t number = 0;
    if (DARTER_UNLIKELY(!PyLong_CheckExact(value) || !small_int(value, &number))) return false;
    *slots++ = static_cast<uint64_t>(number);
    return true;
  }

  DARTER_INLINE bool any(Param* param, PyObject* value, int index) {
    if (Py_TYPE(value) == param->cache.type) return tensor<false>(param, param->cache, value, index);
    if (!integer(value)) return false;
    *words++ = kTagScalar | static_cast<uint64_t>(Dtype::kI64) << 8;
    return true;
  }

  DARTER_INLINE bool compile_time_integer(PyObject* value) {
    int64_t number = 0;
    if (DARTER_UNLIKELY(!PyLong_CheckExact(value) || !small_int(value, &number))) return false;
    words[0] = kTagConstexpr;
    words[1] = kValueInt;
    words[2] = static_cast<uint64_t>(number);
    words += 3;
    return true;
  }

  // Most launches are given tensors of one type, dtype and device: what the first parameter of the run remembers is
  // tried for all of them, so that only those that differ fetch what their own parameter remembers.
  template <bool Contract>
  DARTER_INLINE int tensors(Param* params, PyObject* const* values, int index, int end) {
    const TypeCache& first = params[index].cache;
    do {
      if (!tensor<Contract>(&params[index], first, values[index], index)) break;
    } while (++index < end);
    return index;
  }

  template <bool Contract>
  DARTER_INLINE bool tensor(Param* param, const TypeCache& first, PyObject* value, int index) {
    const TypeCache* cache = &first;
    if (DARTER_UNLIKELY(!is_like(first, value))) {
      cache = own_cache(param, value);
      if (cache == nullptr) return false;
    }
    return Py_TYPE(value) == cache->numpy_type ? numpy<Contract>(param, *cache, value, index)
                                               : torch<Contract>(param, *cache, value, index);
  }

  // What the parameter itself remembers, if the value is like that or a plain tensor of torch; else NULL.
  static const TypeCache* own_cache(Param* param, PyObject* value) {
    TypeCache& own = param->cache;
    if (is_like(own, value)) return &own;
    const bool is_torch = own.reader == ReaderKind::Torch && Py_TYPE(value) == own.type && torch_layout.direct;
    return is_torch && learn_torch(value, &own) ? &own : nullptr;
  }

  // Whether a value is an array of numpy, or a plain tensor of torch, of the dtype (and for torch the device) seen
  // last.
  static DARTER_INLINE bool is_like(const TypeCache& cache, PyObject* value) {
    const PyTypeObject* type = Py_TYPE(value);
    if (type == cache.numpy_type) {
      return reinterpret_cast<PyObject*>(reinterpret_cast<const NumpyArray*>(value)->descr) == cache.dtype_object;
    }
    const TorchLayout& at = torch_layout;
    if (type != cache.type || cache.reader != ReaderKind::Torch || !at.direct) return false;
    const char* impl = torch_impl(at, value);
    return torch_field<uint64_t>(impl, at.keys) == cache.torch_keys &&
           torch_field<uint32_t>(impl, at.dtype) == cache.torch_meta;
  }

  // An array that is like those of the cache, of ordinary layout, on the device of the others.
  template <bool Contract>
  DARTER_INLINE bool numpy(const Param* param, const TypeCache& cache, PyObject* value, int index) {
    const auto* array = reinterpret_cast<const NumpyArray*>(value);
    const uint64_t layout = plain_numpy(array, cache.item_shift, slots);
    if (DARTER_UNLIKELY(layout == kIrregular)) return false;
    if (Contract) {
      call->param = index;
      if (!contract_fits(param, cache.dtype, array->nd, array->dimensions, call)) return false;
    }
    if (DARTER_UNLIKELY(call->device != kHostDevice)) {
      if (call->device != Call::kNoDevice) return false;
      call->device = kHostDevice;
      call->device_param = index;
    }
    if (DARTER_UNLIKELY((array->flags & kNumpyWriteable) == 0)) {
      call->param = index;
      call->set_readonly();
    }
    slots += 1 + 2 * array->nd;
    *words++ = cache.word | layout;
    return true;
  }

  // A dense tensor that is like those of the cache, of ordinary layout, on the device and of the framework of the
  // others.
  template <bool Contract>
  DARTER_INLINE bool torch(const Param* param, const TypeCache& cache, PyObject* value, int index) {
    const TorchLayout& at = torch_layout;
    const char* impl = torch_impl(at, value);
    const char* storage = torch_field<const char*>(impl, at.storage);
    if (DARTER_UNLIKELY(storage == nullptr || torch_field<uint8_t>(storage, at.guarded) != 0)) return false;
    const auto data = torch_field<uint64_t>(storage, at.data);
    const uint64_t address = data + (torch_field<uint64_t>(impl, at.offset) << cache.item_shift);
    const auto* shape = reinterpret_cast<const int64_t*>(impl + at.sizes);
    const int64_t rank = *shape++;
    const uint64_t layout = plain_strided(address, rank, shape, shape + kTorchInlineRank, cache.item_shift, slots);
    if (DARTER_UNLIKELY(layout == kIrregular || data == 0)) return false;
    if (Contract) {
      call->param = index;
      if (!contract_fits(param, cache.dtype, static_cast<int>(rank), shape, call)) return false;
    }
    if (DARTER_UNLIKELY(cache.device != call->device)) {
      if (call->device != Call::kNoDevice) return false;
      call->device = cache.device;
      call->device_param = index;
      call->framework = static_cast<const DLPackExchangeAPI*>(cache.framework);
    }
    if (DARTER_UNLIKELY(cache.framework != call->framework)) return false;
    slots += 1 + 2 * rank;
    *words++ = cache.word | layout;
    return true;
  }
};

}  // namespace darter
