#include "readers/torch_layout.hpp"

#include <malloc.h>

#include <algorithm>
#include <vector>

#include "scalars/scalar_types.hpp"

namespace darter {

TorchLayout torch_layout;

namespace {

constexpr int kWord = 8;
constexpr int kNowhere = -1;
// Bytes of an object that are searched, at most.
constexpr size_t kMostBytes = 512;
constexpr uint16_t kCpuDevice = 0xff00;  // type 0, index -1

// signature.torch_probes.Probe, with what the shim says of the tensor.
struct Probe {
  PyObject* tensor;
  uint64_t impl;
  uint64_t keys;
  uint64_t storage;
  uint64_t data;
  int64_t offset;
  PyObject* sizes;
  PyObject* strides;
  PyObject* dtype;
  // From the shim.
  int64_t* shim_sizes;
  int64_t* shim_strides;
  int64_t shim_rank;
  int32_t shim_dtype;
  void* shim_data;
};

struct Probes {
  std::vector<Probe> ordinary;
  std::vector<uint64_t> guarded;  // addresses of storages
};

// Bytes that may be read behind the address of an object that was allocated by itself.
size_t bytes_at(uint64_t object) { return std::min(malloc_usable_size(reinterpret_cast<void*>(object)), kMostBytes); }

template <typename T>
T at(uint64_t object, int place) {
  return torch_field<T>(reinterpret_cast<const void*>(object), place);
}

// The one place from `first` on for which `holds` is true; kNowhere when there is none or more than one.
template <typename Holds>
int only_place(int first, size_t end, int step, Holds holds) {
  int found = kNowhere;
  for (int place = first; static_cast<size_t>(place) < end; place += step) {
    if (!holds(place)) continue;
    if (found != kNowhere) return kNowhere;
    found = place;
  }
  return found;
}

template <typename Holds>
bool all_hold(const std::vector<Probe>& probes, Holds holds) {
  return std::all_of(probes.begin(), probes.end(), holds);
}

bool read_probe(PyObject* source, Probe* out) {
  unsigned long long impl = 0, keys = 0, storage = 0, data = 0;
  long long offset = 0;
  if (PyArg_ParseTuple(source, "OKKO!O!OKKL", &out->tensor, &impl, &keys, &PyTuple_Type, &out->sizes, &PyTuple_Type,
                       &out->strides, &out->dtype, &storage, &data, &offset) == 0) {
    return false;
  }
  out->impl = impl;
  out->keys = keys;
  out->storage = storage;
  out->data = data;
  out->offset = offset;
  return true;
}

bool read_probes(PyObject* pair, Probes* out) {
  PyObject* ordinary = nullptr;
  PyObject* guarded = nullptr;
  if (PyArg_ParseTuple(pair, "O!O!", &PyTuple_Type, &ordinary, &PyTuple_Type, &guarded) == 0) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ordinary); ++i) {
    out->ordinary.emplace_back();
    if (!read_probe(PyTuple_GET_ITEM(ordinary, i), &out->ordinary.back())) return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guarded); ++i) {
    PyObject* tensor = nullptr;
    unsigned long long storage = 0;
    if (PyArg_ParseTuple(PyTuple_GET_ITEM(guarded, i), "OK", &tensor, &storage) == 0) return false;
    out->guarded.push_back(storage);
  }
  return true;
}

bool equal_items(PyObject* tuple, const int64_t* values, int64_t count) {
  if (PyTuple_GET_SIZE(tuple) != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)) != values[i]) return false;
  }
  return true;
}

// Asks the shim about a probe; whether it says what torch said in Python.
bool shim_agrees(const TorchShim& shim, const Dtype* dtypes, TorchHandle handle, Probe* probe) {
  int32_t device = -1;
  if (shim.get_data_ptr(handle, &probe->shim_data) != 0 || shim.get_sizes(handle, &probe->shim_sizes) != 0 ||
      shim.get_strides(handle, &probe->shim_strides) != 0 || shim.get_dim(handle, &probe->shim_rank) != 0 ||
      shim.get_dtype(handle, &probe->shim_dtype) != 0 || shim.get_device_type(handle, &device) != 0) {
    return false;
  }
  const bool known = probe->shim_dtype >= 0 && probe->shim_dtype < kDTypeNumbers;
  return device == 0 && known && equal_items(probe->sizes, probe->shim_sizes, probe->shim_rank) &&
         equal_items(probe->strides, probe->shim_strides, probe->shim_rank) &&
         (probe->dtype == Py_None || dtypes[probe->shim_dtype] == dtype_of_class(probe->dtype));
}

// Extents and strides: the very places, since what is merely equal cannot be meant.
bool sizes_are_at(const Probe& probe, int place) {
  const uint64_t sizes = probe.impl + static_cast<uint64_t>(place) + kWord;
  return at<int64_t>(probe.impl, place) == probe.shim_rank && reinterpret_cast<uint64_t>(probe.shim_sizes) == sizes &&
         reinterpret_cast<uint64_t>(probe.shim_strides) == sizes + kTorchInlineRank * kWord;
}

bool find_shim_places(Probes* probes, const TorchShim& shim, const Dtype* dtypes, size_t impl_bytes, TorchLayout* out) {
  size_t object_bytes = kMostBytes;
  for (const Probe& probe : probes->ordinary) {
    object_bytes = std::min(object_bytes, static_cast<size_t>(Py_TYPE(probe.tensor)->tp_basicsize));
  }
  const int handle = only_place(2 * kWord, object_bytes, kWord, [&](int place) {
    return all_hold(probes->ordinary,
                    [&](const Probe& probe) { return torch_field<uint64_t>(probe.tensor, place) == probe.impl; });
  });
  const int keys = only_place(kWord, impl_bytes, kWord, [&](int place) {
    return all_hold(probes->ordinary,
                    [&](const Probe& probe) { return at<uint64_t>(probe.impl, place) == probe.keys; });
  });
  if (handle == kNowhere || keys == kNowhere) return false;
  out->handle = static_cast<int16_t>(handle);
  out->keys = static_cast<int16_t>(keys);
  return std::all_of(probes->ordinary.begin(), probes->ordinary.end(),
                     [&](Probe& probe) { return shim_agrees(shim, dtypes, torch_handle(*out, probe.tensor), &probe); });
}

// The address that the warm call will compute is what the shim says, in every probe.
bool addresses_agree(const std::vector<Probe>& probes, const TorchLayout& at) {
  return all_hold(probes, [&](const Probe& probe) {
    const char* impl = torch_impl(at, probe.tensor);
    const char* storage = torch_field<const char*>(impl, at.storage);
    const int64_t item_bytes = probe.dtype == Py_None ? 8 : dtype_bits(dtype_of_class(probe.dtype)) / 8;
    const int64_t offset = torch_field<int64_t>(impl, at.offset) * item_bytes;
    return torch_field<uint64_t>(storage, at.data) + static_cast<uint64_t>(offset) ==
           reinterpret_cast<uint64_t>(probe.shim_data);
  });
}

// An address of this process, as it seems: one of its bytes may be 1 by chance, in every object.
bool looks_like_address(uint64_t word) { return word >> 32 != 0 && word >> 48 == 0; }

// Whether a byte is 0 in ordinary storages and 1 in guarded ones, as a flag is.
bool guards_at(const Probes& probes, int place) {
  const auto in_word = place / kWord * kWord;
  return all_hold(probes.ordinary, [&](const Probe& probe) { return at<uint8_t>(probe.storage, place) == 0; }) &&
         std::all_of(probes.guarded.begin(), probes.guarded.end(), [&](uint64_t storage) {
           return at<uint8_t>(storage, place) == 1 && !looks_like_address(at<uint64_t>(storage, in_word));
         });
}

bool find_direct_places(const Probes& probes, size_t impl_bytes, TorchLayout* out) {
  size_t storage_bytes = kMostBytes;
  for (const Probe& probe : probes.ordinary) storage_bytes = std::min(storage_bytes, bytes_at(probe.storage));
  for (uint64_t storage : probes.guarded) storage_bytes = std::min(storage_bytes, bytes_at(storage));
  // With room for what is read from a place on.
  const size_t impl_words = impl_bytes - (impl_bytes % kWord);
  const size_t storage_words = storage_bytes - (storage_bytes % kWord);
  const size_t sizes_bytes = kWord * 2 * kTorchInlineRank;
  if (probes.guarded.empty() || impl_words < sizes_bytes || storage_words == 0) return false;
  const auto of_impl = [&](size_t end, int step, auto holds) {
    return only_place(kWord, end, step, [&](int place) {
      return all_hold(probes.ordinary, [&](const Probe& probe) { return holds(probe, place); });
    });
  };
  const int places[] = {
      of_impl(impl_words - sizes_bytes, kWord, sizes_are_at),
      of_impl(impl_words - 2, 2,
              [](const Probe& probe, int place) {
                return at<uint16_t>(probe.impl, place) == probe.shim_dtype &&
                       at<uint16_t>(probe.impl, place + 2) == kCpuDevice;
              }),
      of_impl(impl_words, kWord,
              [](const Probe& probe, int place) { return at<uint64_t>(probe.impl, place) == probe.storage; }),
      of_impl(impl_words, kWord,
              [](const Probe& probe, int place) { return at<int64_t>(probe.impl, place) == probe.offset; }),
      of_impl(storage_words, kWord,
              [](const Probe& probe, int place) { return at<uint64_t>(probe.storage, place) == probe.data; }),
      only_place(kWord, storage_words, 1, [&](int place) { return guards_at(probes, place); }),
  };
  if (std::find(std::begin(places), std::end(places), kNowhere) != std::end(places)) return false;
  int16_t* const fields[] = {&out->sizes, &out->dtype, &out->storage, &out->offset, &out->data, &out->guarded};
  for (size_t i = 0; i < std::size(places); ++i) *fields[i] = static_cast<int16_t>(places[i]);
  return addresses_agree(probes.ordinary, *out);
}

}  // namespace

bool find_torch_layout(const TorchShim& shim, const Dtype* dtypes, TorchLayout* found) {
  Ref module(PyImport_ImportModule("darter.signature.torch_probes"));
  Ref pair(module ? PyObject_CallMethod(module.get(), "probes", nullptr) : nullptr);
  Probes probes;
  if (!pair || !read_probes(pair.get(), &probes) || probes.ordinary.empty()) {
    PyErr_Clear();
    return false;
  }
  size_t impl_bytes = kMostBytes;
  for (const Probe& probe : probes.ordinary) impl_bytes = std::min(impl_bytes, bytes_at(probe.impl));
  TorchLayout layout;
  layout.shim = find_shim_places(&probes, shim, dtypes, impl_bytes, &layout);
  layout.direct = layout.shim && find_direct_places(probes, impl_bytes, &layout);
  PyErr_Clear();
  *found = layout;
  return true;
}

}  // namespace darter
