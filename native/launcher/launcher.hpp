// What one JitFunction owns: its plan, the numbers of its interned objects, the plans of classes that it has met, and
// the table of its call states.
#pragma once

#include <memory>
#include <unordered_map>

#include "key/key.hpp"
#include "launcher/call.hpp"
#include "launcher/table.hpp"
#include "signature/binder.hpp"
#include "signature/plan.hpp"

namespace darter {

// How instances of a class are read where the annotation does not say it.
enum class ClassKind : uint8_t { Struct, JitArgument, Object, Unknown };

struct ClassPlan {
  ClassKind kind = ClassKind::Unknown;
  std::vector<Param> fields;
};

// What every warm call reads comes first.
struct Launcher {
  Plan plan;
  Table table;
  unsigned long long memory_hits = 0;
  char verify_keys = 0;
  bool is_method = false;  // a class body has bound it
  Binder binder;
  Interned interned;
  Param any;  // the plan of what has no annotation inside plain tuples
  // Keyed by class; the classes are held by `interned`.
  std::unordered_map<PyObject*, std::unique_ptr<ClassPlan>> classes;
  std::unordered_map<PyObject*, std::unique_ptr<ClassPlan>> objects;
  PyObject* open = nullptr;         // owned: open(dispatcher, is_method) makes `cold`
  PyObject* cold = nullptr;         // owned; NULL before the first use
  PyObject* plan_object = nullptr;  // owned: the SignaturePlan; NULL before the first use

  // Takes the plan over; false with an exception set, and then there is none.
  bool load_plan(PyObject* source) {
    if (!plan.load(source)) return false;
    plan_object = Py_NewRef(source);
    return true;
  }

  int traverse(visitproc visit, void* arg) const;
  void clear();
};

// The plan of a class, as signature.planner.plan_class says; NULL with an exception set.
DARTER_COLD ClassPlan* plan_of_class(Launcher* launcher, PyTypeObject* cls);
// The dt.Constexpr fields of a class whose instances are passed as `self` or as objects.
DARTER_COLD ClassPlan* plan_of_object(Launcher* launcher, PyTypeObject* cls);

// Reads bound arguments, one per parameter: fills words, slots, device and stream of `call`, which must be new or
// reset. False with an exception set.
bool read_arguments(Launcher* launcher, PyObject* const* arguments, Call* call);

// Resolves a stream argument.
bool read_stream(const Place& place, PyObject* object, Call* call);
// Without an explicit stream: the current stream of the tensors' framework on their device. In any case, behind what
// producers without a stream of their own still compute.
bool settle_stream(Launcher* launcher, Call* call);

}  // namespace darter
