// torch tensors. Three ways, chosen once, when the first tensor arrives:
//
// 1. torch's stable C shim (aoti_torch_get_*), found by dlsym. It wants an at::Tensor*: its place in the Python object,
//    and that of the dispatch key set, are found on probe tensors (torch_layout.hpp); without them this way is not
//    used. Where all that a launch reads is found there too, the warm call reads it directly (quick_arguments.hpp) and
//    comes here with what is unusual. About 5 ns a tensor directly, 15 by the shim.
// 2. the DLPack C exchange API (torch 2.10 and later). About 70 ns, and a Python call for the dispatch keys.
// 3. __dlpack__.
//
// The dispatch key set says in one word what would make the plain memory wrong: conj and neg bits, sparse, quantised,
// mkldnn and meta tensors, functorch and functionalisation wrappers.
#include <dlfcn.h>

#include "readers/reader.hpp"
#include "readers/torch_layout.hpp"
#include "readers/torch_obstacles.hpp"
#include "scalars/scalar_types.hpp"
#include "signature/key_tags.hpp"

namespace darter {
namespace {

// c10::cuda::CUDAStream as the calling convention returns it: device type and index in the low bytes, then the id.
struct StreamWords {
  uint64_t device;
  int64_t id;
};
using CurrentStream = StreamWords (*)(int8_t device);

// Searches for the layout; a mode that changes what torch makes is active during the first ones, perhaps.
constexpr int kMostSearches = 8;
// Linux maps nothing below (vm.mmap_min_addr).
constexpr uint64_t kLowestAddress = 65536;

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
  TorchLayout layout;                  // as found; `torch_layout` is what is in use of it
  int searches = 0;
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

// The dispatch key set of a tensor that the shim can be asked about.
uint64_t keys_of(PyObject* object) {
  return torch_field<uint64_t>(torch_impl(torch_layout, object), torch_layout.keys);
}
bool keys_are_plain(uint64_t keys) { return (keys & ~torch.plain_keys) == 0 && (keys & torch.dense_key) != 0; }

// A storage that was resized to nothing leaves its views where they were: at NULL and their offset.
bool storage_is_gone(PyObject* object) {
  if (!torch_layout.direct) return false;
  const char* storage = torch_field<const char*>(torch_impl(torch_layout, object), torch_layout.storage);
  return storage == nullptr || torch_field<uint64_t>(storage, torch_layout.data) == 0;
}

DARTER_COLD void search_layout() {
  if (torch.layout.shim || torch.searches == kMostSearches) return;
  ++torch.searches;
  if (find_torch_layout(torch.shim, torch.dtypes, &torch.layout)) torch.searches = kMostSearches;
  torch_layout = torch.layout;
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
  if (!load_torch_shim(&torch.shim, torch.dtypes)) torch.searches = kMostSearches;
  find_current_stream();
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
  if (!keys_are_plain(keys)) return read_unusual(place, object, view);
  if (method_is_true(object, "is_complex")) return refuse_dtype(place, object);
  if (torch.exchange != nullptr) {
    if (!read_exchange(place, object, torch.exchange, view)) return false;
  } else {
    Ref detached(PyObject_CallMethod(object, "detach", nullptr));  // __dlpack__ refuses tensors that require grad
    if (!detached || !read_dlpack(place, detached.get(), view)) return false;
    if (view->device_type != kDLCPU) view->framework = torch_streams();
  }
  if (view->address < kLowestAddress) view->address = 0;  // a view of a storage that was resized to nothing
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
    search_layout();
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

bool learn_torch(PyObject* object, TypeCache* cache) {
  const char* impl = torch_impl(torch_layout, object);
  const uint64_t keys = keys_of(object);
  const auto meta = torch_field<uint32_t>(impl, torch_layout.dtype);
  const uint32_t number = meta & 0xffff;
  const uint32_t device_type = meta >> 16 & 0xff;
  const uint32_t device_index = meta >> 24;
  if (!keys_are_plain(keys) || number >= kDTypeNumbers || torch.dtypes[number] == kNoDtype) return false;
  const bool on_cpu = (keys & torch.cpu_backend) != 0;
  if (!on_cpu && (device_type != kDLCUDA - 1 || device_index >= 0x80)) return false;
  const int32_t type = on_cpu ? static_cast<int32_t>(kDLCPU) : torch.cuda_device_type;
  cache->dtype = torch.dtypes[number];
  cache->item_shift = static_cast<uint8_t>(size_shift(cache->dtype));
  cache->word = kTagTensor | static_cast<uint64_t>(cache->dtype) << 8 | static_cast<uint64_t>(type) << 40;
  cache->device = device_number(type, on_cpu ? 0 : static_cast<int32_t>(device_index));
  cache->framework = on_cpu ? nullptr : &kFastStreams;
  cache->torch_keys = keys;
  cache->torch_meta = meta;
  return true;
}

bool read_torch(const Place& place, PyObject* object, TensorView* view) {
  if (!torch_layout.shim) return read_slowly(place, object, view);
  const uint64_t keys = keys_of(object);
  if (!keys_are_plain(keys)) return read_unusual(place, object, view);
  TorchHandle handle = torch_handle(torch_layout, object);
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
  if (storage_is_gone(object)) data = nullptr;
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

void set_torch_acceleration(bool enabled) { torch_layout = enabled ? torch.layout : TorchLayout(); }
const char* torch_reading() {
  if (torch.tensor == nullptr) return nullptr;
  if (torch_layout.shim) return torch_layout.direct ? "direct" : "shim";
  return torch.exchange != nullptr ? "exchange" : "dlpack";
}

}  // namespace darter
