// torch tensors. Three ways, chosen once, when the first tensor arrives:
//
// 1. torch's stable C shim (aoti_torch_get_*), found by dlsym. It wants an at::Tensor*: its place in the Python object,
//    and the places of the dispatch key set, extents, strides and dtype in the TensorImpl are found by matching words
//    of probe tensors against what Python and the shim say; they are read directly then. Unless every probe agrees,
//    this way is not used. About 10 ns a tensor.
// 2. the DLPack C exchange API (torch 2.10 and later). About 70 ns, and a Python call for the dispatch keys.
// 3. __dlpack__.
//
// The dispatch key set says in one word what would make the plain memory wrong: conj and neg bits, sparse, quantised,
// mkldnn and meta tensors, functorch and functionalisation wrappers.
#include <dlfcn.h>

#include "readers/reader.hpp"
#include "readers/torch_obstacles.hpp"
#include "readers/torch_shim.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {
namespace {

// c10::cuda::CUDAStream as the calling convention returns it: device type and index in the low bytes, then the id.
struct StreamWords {
  uint64_t device;
  int64_t id;
};
using CurrentStream = StreamWords (*)(int8_t device);

// Words of a TensorImpl that are searched; torch 2.13's has 176 bytes, earlier ones have more.
constexpr int kImplWords = 22;
constexpr int kInlineRank = 5;    // up to which a TensorImpl holds extents and strides itself
constexpr int kObjectWords = 16;  // words of a tensor's Python object that are searched for the handle

struct Torch {
  PyTypeObject* tensor = nullptr;  // owned, for ever, like everything here
  PyTypeObject* parameter = nullptr;
  PyObject* dispatch_keys = nullptr;  // torch._C._dispatch_keys
  PyObject* raw_repr = nullptr;       // the str "raw_repr"
  const DLPackExchangeAPI* exchange = nullptr;
  uint64_t plain_keys = 0;  // every key that a plain, dense tensor may have
  uint64_t dense_key = 0;
  uint64_t cpu_backend = 0;
  int32_t cuda_device_type = kDLCUDA;  // kDLROCM where torch is built for HIP
  bool verified = false;               // way 1 agreed with every probe
  bool accelerated = false;            // way 1 is in use
  int handle_word = 0;
  int keys_word = 0;
  int sizes_word = 0;  // of the TensorImpl: the rank, then five extents and five strides; 0 where it is not known
  int dtype_half = 0;  // of the TensorImpl, in 16-bit units: the c10::ScalarType; the device is in the next one
  CurrentStream current_stream = nullptr;
  TorchShim shim = {};
  Dtype dtypes[kDTypeNumbers] = {};  // c10::ScalarType -> code
};
Torch torch;

PyObject* get_path(PyObject* root, std::initializer_list<const char*> names) {
  PyObject* value = Py_NewRef(root);
  for (const char* name : names) {
    PyObject* next = PyObject_GetAttrString(value, name);
    Py_DECREF(value);
    if (next == nullptr) return nullptr;
    value = next;
  }
  return value;
}

bool raw_keys(PyObject* tensor, uint64_t* out) {
  Ref set(PyObject_CallOneArg(torch.dispatch_keys, tensor));
  Ref raw(set ? PyObject_CallMethodNoArgs(set.get(), torch.raw_repr) : nullptr);
  if (!raw) return false;
  *out = PyLong_AsUnsignedLongLong(raw.get());
  return PyErr_Occurred() == nullptr;
}

bool keys_named(PyObject* c_module, std::initializer_list<const char*> names, uint64_t* out) {
  for (const char* name : names) {
    Ref key(get_path(c_module, {"DispatchKey", name}));
    Ref set(key ? PyObject_CallMethod(c_module, "DispatchKeySet", "O", key.get()) : nullptr);
    Ref raw(set ? PyObject_CallMethodNoArgs(set.get(), torch.raw_repr) : nullptr);
    if (!raw) return false;
    *out |= PyLong_AsUnsignedLongLong(raw.get());
    if (PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

// The current stream of a device. The exchange table asks CUDA for the thread's device three times on the way (100 ns);
// c10 knows the stream's id without, and id 0 is the default stream, whose handle is NULL. Every answer is checked to
// be of that device, which it would not be if the function returned something else than is believed.
int torch_current_stream(int32_t device_type, int32_t device_id, void** out) {
  if (DARTER_LIKELY(torch.current_stream != nullptr)) {
    const StreamWords words = torch.current_stream(static_cast<int8_t>(device_id));
    if ((words.device & 0xffff) == (uint64_t{kDLCUDA - 1} | static_cast<uint64_t>(device_id) << 8) && words.id == 0) {
      *out = nullptr;
      return 0;
    }
  }
  const DLPackExchangeAPI* api = torch.exchange != nullptr ? torch.exchange : torch_streams();
  return api->current_work_stream(device_type, device_id, out);
}

constexpr DLPackExchangeAPI kFastStreams = {{1, 3}, nullptr, nullptr, nullptr, nullptr, nullptr, torch_current_stream};

void find_current_stream() {
  void* library = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr || torch.exchange == nullptr || torch.exchange->current_work_stream == nullptr) return;
  torch.current_stream = reinterpret_cast<CurrentStream>(dlsym(library, "_ZN3c104cuda20getCurrentCUDAStreamEa"));
}

TorchHandle handle_of(PyObject* object) { return reinterpret_cast<uint64_t*>(object) + torch.handle_word; }
uint64_t keys_of(PyObject* object) {
  const uint64_t impl = reinterpret_cast<uint64_t*>(object)[torch.handle_word];
  return reinterpret_cast<const uint64_t*>(impl)[torch.keys_word];
}

// The one word at which every probe's memory holds what Python says; -1 when there is none or more than one.
int matching_word(uint64_t candidates) {
  return candidates != 0 && (candidates & (candidates - 1)) == 0 ? __builtin_ctzll(candidates) : -1;
}

bool locate(PyObject* probes) {
  uint64_t handle_candidates = ~uint64_t{0};
  uint64_t keys_candidates = ~uint64_t{0};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(probes); ++i) {
    PyObject* probe = PyTuple_GET_ITEM(probes, i);
    Ref cdata(PyObject_GetAttrString(probe, "_cdata"));
    if (!cdata) return false;
    const uint64_t impl = PyLong_AsUnsignedLongLong(cdata.get());
    uint64_t keys = 0;
    if (PyErr_Occurred() != nullptr || !raw_keys(probe, &keys)) return false;
    const auto words = static_cast<int>(Py_TYPE(probe)->tp_basicsize / static_cast<Py_ssize_t>(sizeof(uint64_t)));
    uint64_t handle_bits = 0;
    for (int word = 2; word < words && word < kObjectWords; ++word) {
      if (reinterpret_cast<uint64_t*>(probe)[word] == impl) handle_bits |= uint64_t{1} << word;
    }
    uint64_t keys_bits = 0;
    for (int word = 1; word < kImplWords; ++word) {
      if (reinterpret_cast<const uint64_t*>(impl)[word] == keys) keys_bits |= uint64_t{1} << word;
    }
    handle_candidates &= handle_bits;
    keys_candidates &= keys_bits;
  }
  torch.handle_word = matching_word(handle_candidates);
  torch.keys_word = matching_word(keys_candidates);
  return torch.handle_word > 0 && torch.keys_word > 0;
}

bool equal_items(PyObject* probe, const char* method, const int64_t* values, int64_t count) {
  Ref items(PyObject_CallMethod(probe, method, nullptr));
  Ref tuple(items ? PySequence_Tuple(items.get()) : nullptr);
  if (!tuple || PyTuple_GET_SIZE(tuple.get()) != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.get(), i)) != values[i]) return false;
  }
  return true;
}

// Reads a probe through the shim and compares with what its methods say.
bool probe_agrees(PyObject* probe, Dtype dtype) {
  TorchHandle handle = handle_of(probe);
  void* data = nullptr;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  int64_t rank = 0;
  int32_t number = -1;
  int32_t device = -1;
  Ref address(PyObject_CallMethod(probe, "data_ptr", nullptr));
  if (!address) return false;
  if (torch.shim.get_data_ptr(handle, &data) != 0 || torch.shim.get_sizes(handle, &sizes) != 0 ||
      torch.shim.get_strides(handle, &strides) != 0 || torch.shim.get_dim(handle, &rank) != 0 ||
      torch.shim.get_dtype(handle, &number) != 0 || torch.shim.get_device_type(handle, &device) != 0) {
    return false;
  }
  return PyLong_AsUnsignedLongLong(address.get()) == reinterpret_cast<uint64_t>(data) && device == 0 && number >= 0 &&
         number < kDTypeNumbers && torch.dtypes[number] == dtype && equal_items(probe, "size", sizes, rank) &&
         equal_items(probe, "stride", strides, rank);
}

const uint64_t* impl_of(PyObject* object) {
  return reinterpret_cast<const uint64_t*>(reinterpret_cast<const uint64_t*>(object)[torch.handle_word]);
}
const uint16_t* halves_of(const uint64_t* impl) { return reinterpret_cast<const uint16_t*>(impl); }

// Whether rank, extents and strides stand at a word of the TensorImpl, as the shim tells them.
bool sizes_are_at(const uint64_t* impl, int word, TorchHandle handle) {
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  int64_t rank = 0;
  if (torch.shim.get_sizes(handle, &sizes) != 0 || torch.shim.get_strides(handle, &strides) != 0 ||
      torch.shim.get_dim(handle, &rank) != 0 || impl[word] != static_cast<uint64_t>(rank)) {
    return false;
  }
  const auto* inline_sizes = reinterpret_cast<const int64_t*>(impl + word + 1);
  // The very places, and not only equal values: what else is equal cannot be meant.
  return sizes == inline_sizes && strides == inline_sizes + kInlineRank;
}

// Finds where a TensorImpl holds what is read directly; leaves sizes_word 0 where not all probes agree on one place.
void locate_fields(PyObject* probes) {
  int sizes_word = 0;
  uint64_t dtype_candidates[2] = {~uint64_t{0}, ~uint64_t{0}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(probes); ++i) {
    PyObject* probe = PyTuple_GET_ITEM(probes, i);
    const uint64_t* impl = impl_of(probe);
    int found = 0;
    for (int word = 1; word + 2 * kInlineRank < kImplWords; ++word) {
      if (sizes_are_at(impl, word, handle_of(probe))) found = word;
    }
    int32_t number = -1;
    if (found == 0 || (i > 0 && found != sizes_word) || torch.shim.get_dtype(handle_of(probe), &number) != 0) return;
    sizes_word = found;
    uint64_t bits[2] = {};
    for (int half = 4; half + 1 < 4 * kImplWords; ++half) {
      // Behind the dtype: the device (type 0, index -1 of the CPU).
      if (halves_of(impl)[half] == number && halves_of(impl)[half + 1] == 0xff00)
        bits[half / 64] |= uint64_t{1} << half % 64;
    }
    for (int part = 0; part < 2; ++part) dtype_candidates[part] &= bits[part];
  }
  const int low = matching_word(dtype_candidates[0]);
  const int high = matching_word(dtype_candidates[1]);
  const bool one_low = low >= 0 && dtype_candidates[1] == 0;
  const bool one_high = high >= 0 && dtype_candidates[0] == 0;
  if (!one_low && !one_high) return;
  torch.dtype_half = one_low ? low : 64 + high;
  torch.sizes_word = sizes_word;
}

bool verify_acceleration(PyObject* module) {
  if (!load_torch_shim(&torch.shim, torch.dtypes)) return false;
  Ref f32(PyObject_GetAttrString(module, "float32"));
  Ref i16(f32 ? PyObject_GetAttrString(module, "int16") : nullptr);
  Ref complex64(i16 ? PyObject_GetAttrString(module, "complex64") : nullptr);
  Ref parameter_class(complex64 ? get_path(module, {"nn", "Parameter"}) : nullptr);
  if (!parameter_class) return false;
  auto make = [module](PyObject* dtype, const char* shape, int a, int b) {
    Ref keywords(Py_BuildValue("{s:O}", "dtype", dtype));
    Ref arguments(Py_BuildValue(shape, a, b));
    Ref function(PyObject_GetAttrString(module, "empty"));
    return Ref(keywords && arguments && function ? PyObject_Call(function.get(), arguments.get(), keywords.get())
                                                 : nullptr);
  };
  Ref plain(make(f32.get(), "((ii))", 3, 5));
  Ref transposed(plain ? PyObject_CallMethod(plain.get(), "t", nullptr) : nullptr);
  Ref shorts(transposed ? make(i16.get(), "((ii))", 7, 2) : Ref());
  Ref parameter(shorts ? PyObject_CallOneArg(parameter_class.get(), plain.get()) : nullptr);
  Ref complex(parameter ? make(complex64.get(), "((ii))", 2, 2) : Ref());
  Ref conjugate(complex ? PyObject_CallMethod(complex.get(), "conj", nullptr) : nullptr);
  Ref probes(conjugate ? PyTuple_Pack(5, plain.get(), transposed.get(), shorts.get(), parameter.get(), conjugate.get())
                       : nullptr);
  const bool agree = probes && locate(probes.get()) && probe_agrees(plain.get(), Dtype::kF32) &&
                     probe_agrees(transposed.get(), Dtype::kF32) && probe_agrees(shorts.get(), Dtype::kI16) &&
                     probe_agrees(parameter.get(), Dtype::kF32);
  if (agree) locate_fields(probes.get());
  return agree;
}

DARTER_COLD bool load_torch(PyObject* module) {
  torch.raw_repr = PyUnicode_InternFromString("raw_repr");
  Ref c_module(PyObject_GetAttrString(module, "_C"));
  Ref tensor(c_module ? PyObject_GetAttrString(module, "Tensor") : nullptr);
  Ref parameter(tensor ? get_path(module, {"nn", "Parameter"}) : nullptr);
  torch.dispatch_keys = parameter ? PyObject_GetAttrString(c_module.get(), "_dispatch_keys") : nullptr;
  uint64_t dense = 0;
  uint64_t cpu = 0;
  if (torch.dispatch_keys == nullptr || torch.raw_repr == nullptr ||
      !keys_named(c_module.get(),
                  {"CPU", "CUDA", "HIP", "AutogradCPU", "AutogradCUDA", "AutogradHIP", "ADInplaceOrView", "AutocastCPU",
                   "AutocastCUDA"},
                  &torch.plain_keys) ||
      !keys_named(c_module.get(), {"Dense"}, &dense) || !keys_named(c_module.get(), {"CPU"}, &cpu)) {
    return false;
  }
  torch.dense_key = dense;
  torch.cpu_backend = cpu & ~dense;
  Ref hip(get_path(module, {"version", "hip"}));
  if (hip && hip.get() != Py_None) torch.cuda_device_type = kDLROCM;
  PyErr_Clear();
  auto* tensor_type = reinterpret_cast<PyTypeObject*>(tensor.get());
  torch.exchange = exchange_api_of(tensor_type);
  torch.verified = verify_acceleration(module);
  find_current_stream();
  PyErr_Clear();
  torch.accelerated = torch.verified;
  torch.parameter = reinterpret_cast<PyTypeObject*>(parameter.release());
  torch.tensor = reinterpret_cast<PyTypeObject*>(tensor.release());
  return true;
}

// Not plain: a torch.func.grad wrapper is read through, everything else is refused.
DARTER_COLD bool read_unusual(const Place& place, PyObject* object, TensorView* view) {
  if (functorch_says(object, "is_gradtrackingtensor")) {
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C._functorch");
    Ref inner(PyObject_CallMethod(module, "get_unwrapped", "O", object));
    if (!inner) return refuse_type(place, "found a torch.func wrapper that could not be read");
    if (inner.get() != object) {
      if (!read_torch(place, inner.get(), view)) return false;
      // The wrapper keeps the inner tensor alive, but its Python object ends here: copy what belongs to it.
      std::memmove(view->storage, view->shape, static_cast<size_t>(view->rank) * sizeof(int64_t));
      std::memmove(view->storage + kMaxRank, view->strides, static_cast<size_t>(view->rank) * sizeof(int64_t));
      view->shape = view->storage;
      view->strides = view->storage + kMaxRank;
      return true;
    }
  }
  return refuse_type(place, "%s", torch_obstacle(object));
}

DARTER_COLD bool refuse_dtype(const Place& place, PyObject* object) {
  Ref dtype(PyObject_GetAttrString(object, "dtype"));
  if (!dtype) return false;
  return refuse_type(place, "found dtype %S; accepted: " DARTER_DTYPES_TEXT ". Convert it with tensor.to(...)",
                     dtype.get());
}

// Ways 2 and 3.
DARTER_COLD bool read_slowly(const Place& place, PyObject* object, TensorView* view) {
  uint64_t keys = 0;
  if (!raw_keys(object, &keys)) return refuse_type(place, "its dispatch keys could not be read");
  if ((keys & ~torch.plain_keys) != 0 || (keys & torch.dense_key) == 0) return read_unusual(place, object, view);
  if (method_is_true(object, "is_complex")) return refuse_dtype(place, object);
  if (torch.exchange != nullptr) {
    if (!read_exchange(place, object, torch.exchange, view)) return false;
  } else {
    Ref detached(PyObject_CallMethod(object, "detach", nullptr));  // __dlpack__ refuses tensors that require grad
    if (!detached || !read_dlpack(place, detached.get(), view)) return false;
    if (view->device_type != kDLCPU) view->framework = torch_streams();
  }
  return true;
}

}  // namespace

int classify_torch(const Place& place, PyObject* object, TypeCache* cache) {
  PyTypeObject* type = Py_TYPE(object);
  if (torch.tensor == nullptr) {
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    if (module == nullptr) return 0;
    Ref tensor(PyObject_GetAttrString(module, "Tensor"));
    if (!tensor || !PyType_Check(tensor.get())) {
      PyErr_Clear();
      return 0;
    }
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(tensor.get())) == 0) return 0;
    if (!load_torch(module)) {
      refuse_type(place, "this version of torch could not be read; torch 2.4 or later is accepted");
      return -1;
    }
  }
  if (type == torch.tensor || type == torch.parameter) {
    cache->reader = ReaderKind::Torch;
    return 1;
  }
  if (PyType_IsSubtype(type, torch.tensor) == 0) return 0;
  refuse_type(place,
              "found a %s, a subclass of torch.Tensor whose meaning would be lost; accepted: torch.Tensor and "
              "torch.nn.Parameter. Pass the plain tensor inside",
              type->tp_name);
  return -1;
}

bool quick_torch(PyObject* object, TensorView* view) {
  if (DARTER_UNLIKELY(torch.sizes_word == 0 || !torch.accelerated)) return false;
  const uint64_t keys = keys_of(object);
  if (DARTER_UNLIKELY((keys & ~torch.plain_keys) != 0 || (keys & torch.dense_key) == 0)) return false;
  const uint64_t* impl = impl_of(object);
  const uint64_t rank = impl[torch.sizes_word];
  const uint32_t number = halves_of(impl)[torch.dtype_half];
  const uint32_t device = halves_of(impl)[torch.dtype_half + 1];
  void* data = nullptr;
  if (DARTER_UNLIKELY(rank > kInlineRank || number >= kDTypeNumbers)) return false;
  view->dtype = torch.dtypes[number];
  if (DARTER_UNLIKELY(view->dtype == kNoDtype || torch.shim.get_data_ptr(handle_of(object), &data) != 0)) return false;
  view->address = reinterpret_cast<uint64_t>(data);
  view->shape = reinterpret_cast<const int64_t*>(impl + torch.sizes_word + 1);
  view->strides = view->shape + kInlineRank;
  view->rank = static_cast<int32_t>(rank);
  view->byte_strides = false;
  view->readonly = false;
  if (DARTER_UNLIKELY((keys & torch.cpu_backend) != 0)) {
    view->device_type = kDLCPU;
    view->device_id = 0;
    view->framework = nullptr;
    return true;
  }
  // Type CUDA (1), and an index.
  if (DARTER_UNLIKELY((device & 0xff) != kDLCUDA - 1 || device >> 8 >= 0x80)) return false;
  view->device_id = static_cast<int32_t>(device >> 8);
  view->device_type = torch.cuda_device_type;
  view->framework = &kFastStreams;
  return true;
}

bool read_torch(const Place& place, PyObject* object, TensorView* view) {
  if (DARTER_LIKELY(quick_torch(object, view))) return true;
  if (!torch.accelerated) return read_slowly(place, object, view);
  const uint64_t keys = keys_of(object);
  if ((keys & ~torch.plain_keys) != 0 || (keys & torch.dense_key) == 0) return read_unusual(place, object, view);
  TorchHandle handle = handle_of(object);
  void* data = nullptr;
  int64_t rank = 0;
  int32_t number = 0;
  // The shim returns a status and the handle is a defined tensor: the getters of metadata cannot fail on it.
  torch.shim.get_sizes(handle, const_cast<int64_t**>(&view->shape));
  torch.shim.get_strides(handle, const_cast<int64_t**>(&view->strides));
  torch.shim.get_dim(handle, &rank);
  torch.shim.get_dtype(handle, &number);
  if (torch.shim.get_data_ptr(handle, &data) != 0)
    return refuse_value(place, "its storage could not be read; pass a tensor that owns memory");
  view->dtype = static_cast<uint32_t>(number) < kDTypeNumbers ? torch.dtypes[number] : kNoDtype;
  if (view->dtype == kNoDtype) return refuse_dtype(place, object);
  if (rank > kMaxRank)
    return refuse_value(place, "found rank %d; accepted: up to %d", static_cast<int>(rank), kMaxRank);
  view->address = reinterpret_cast<uint64_t>(data);
  view->rank = static_cast<int32_t>(rank);
  view->byte_strides = false;
  view->readonly = false;
  view->device_type = kDLCPU;
  view->device_id = 0;
  view->framework = nullptr;
  if ((keys & torch.cpu_backend) != 0) return true;
  torch.shim.get_device_index(handle, &view->device_id);
  view->device_type = torch.cuda_device_type;
  view->framework = &kFastStreams;
  return true;
}

void set_torch_acceleration(bool enabled) { torch.accelerated = enabled && torch.verified; }
bool torch_acceleration_active() { return torch.accelerated; }

}  // namespace darter
