// Plans of classes whose instances are arguments, asked of the signature package once for each class.
#include "common/errors.hpp"
#include "launcher/launcher.hpp"

namespace darter {
namespace {

// Calls darter.signature.<module>.<function>(argument).
PyObject* ask(const char* module_name, const char* function, PyObject* argument) {
  Ref module(PyImport_ImportModule(module_name));
  return module ? PyObject_CallMethod(module.get(), function, "O", argument) : nullptr;
}

int ask_truth(const char* function, PyObject* argument) {
  Ref answer(ask("darter.signature.structures", function, argument));
  return answer ? PyObject_IsTrue(answer.get()) : -1;
}

bool classify(PyObject* cls, ClassPlan* plan) {
  const int is_jit = ask_truth("is_jit_argument", cls);
  if (is_jit < 0) return false;
  const int is_struct = is_jit == 0 ? ask_truth("is_struct", cls) : 0;
  if (is_struct < 0) return false;
  plan->kind = is_jit != 0 ? ClassKind::JitArgument : is_struct != 0 ? ClassKind::Struct : ClassKind::Object;
  return true;
}

ClassPlan* keep(Launcher* launcher, PyObject* cls, std::unordered_map<PyObject*, std::unique_ptr<ClassPlan>>* plans,
                std::unique_ptr<ClassPlan> made) {
  launcher->interned.number(cls);  // holds the class for as long as its plan stands here
  ClassPlan* plan = made.get();
  (*plans)[cls] = std::move(made);
  return plan;
}

}  // namespace

ClassPlan* plan_of_class(Launcher* launcher, PyTypeObject* type) {
  auto* cls = reinterpret_cast<PyObject*>(type);
  const auto found = launcher->classes.find(cls);
  if (found != launcher->classes.end()) return found->second.get();
  auto made = std::make_unique<ClassPlan>();
  if (!classify(cls, made.get())) return nullptr;
  Ref fields(ask("darter.signature.planner", "plan_class", cls));
  if (!fields || !load_fields(&launcher->plan, fields.get(), &made->fields)) return nullptr;
  if (made->kind == ClassKind::Object && made->fields.empty()) made->kind = ClassKind::Unknown;
  return keep(launcher, cls, &launcher->classes, std::move(made));
}

ClassPlan* plan_of_object(Launcher* launcher, PyTypeObject* type) {
  auto* cls = reinterpret_cast<PyObject*>(type);
  const auto found = launcher->objects.find(cls);
  if (found != launcher->objects.end()) return found->second.get();
  auto made = std::make_unique<ClassPlan>();
  made->kind = ClassKind::Object;
  Ref declared(ask("darter.signature.structures", "constexpr_annotations", cls));
  if (!declared) return nullptr;
  if (!PyDict_Check(declared.get())) {
    raise_error("SignatureError", "constexpr_annotations must return a dict");
    return nullptr;
  }
  PyObject* name = nullptr;
  PyObject* exact = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(declared.get(), &position, &name, &exact) != 0) {
    Param& field = made->fields.emplace_back();
    field.kind = ParamKind::Constexpr;
    field.name = Py_NewRef(name);
    if (exact != Py_None) field.constexpr_type = Py_NewRef(exact);
  }
  return keep(launcher, cls, &launcher->objects, std::move(made));
}

int Launcher::traverse(visitproc visit, void* arg) const {
  Py_VISIT(open);
  Py_VISIT(cold);
  Py_VISIT(plan_object);
  if (const int status = plan.traverse(visit, arg)) return status;
  if (const int status = any.traverse(visit, arg)) return status;
  for (const auto* plans : {&classes, &objects}) {
    for (const auto& entry : *plans) {
      for (const Param& field : entry.second->fields) {
        if (const int status = field.traverse(visit, arg)) return status;
      }
    }
  }
  if (const int status = interned.traverse(visit, arg)) return status;
  return table.traverse(visit, arg);
}

void Launcher::clear() {
  table.clear();
  binder.clear();
  interned.clear();
  classes.clear();
  objects.clear();
  Py_CLEAR(open);
  Py_CLEAR(cold);
  Py_CLEAR(plan_object);
}

}  // namespace darter
