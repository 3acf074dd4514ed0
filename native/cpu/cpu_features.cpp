// Source: x86-64 psABI, "micro-architecture levels"; Intel SDM volume 2, CPUID, and volume 1, 13.3 (XGETBV).
#include "cpu/cpu_features.hpp"

#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace darter {

namespace {

#if defined(__x86_64__)

struct CpuId {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuId cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuId out;
  __get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx);
  return out;
}

// Which register states the system saves: bits 1 and 2 for AVX, 5 to 7 for AVX-512.
uint64_t saved_state(const CpuId& basic) {
  if ((basic.ecx & (1U << 27)) == 0) return 0;  // no OSXSAVE
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

constexpr uint32_t bit(int number) { return 1U << number; }

// The highest level of which the CPU has everything, and of what lies beyond it the features that change generated
// code.
struct Architecture {
  std::string name;
  std::string features;
};

Architecture architecture() {
  const CpuId basic = cpuid(1, 0);
  const CpuId extended = cpuid(7, 0);
  const CpuId amd = cpuid(0x80000001, 0);
  const uint64_t state = saved_state(basic);
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  if (!all(basic.ecx, bit(0) | bit(9) | bit(13) | bit(19) | bit(20) | bit(23)) || !all(amd.ecx, bit(0)))
    return {"x86-64", ""};
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
  if (!all(basic.ecx, bit(12) | bit(22) | bit(28) | bit(29)) || !all(extended.ebx, bit(3) | bit(5) | bit(8)) ||
      !all(amd.ecx, bit(5)) || (state & 0x6) != 0x6) {
    return {"x86-64-v2", ""};
  }
  // AVX512F, DQ, CD, BW, VL
  if (!all(extended.ebx, bit(16) | bit(17) | bit(28) | bit(30) | bit(31)) || (state & 0xE6) != 0xE6)
    return {"x86-64-v3", ""};
  std::string features;
  const auto add = [&features](bool has, const char* name) {
    if (has) features += (features.empty() ? "+" : ",+") + std::string(name);
  };
  add(all(extended.edx, bit(23)), "avx512fp16");
  add(all(extended.ecx, bit(1)), "avx512vbmi");
  return {"x86-64-v4", features};
}

#else

struct Architecture {
  std::string name;
  std::string features;
};

Architecture architecture() { return {"generic", ""}; }

#endif

PyObject* cpu_architecture(PyObject*, PyObject*) {
  const Architecture host = architecture();
  return Py_BuildValue("(ss)", host.name.c_str(), host.features.c_str());
}

PyMethodDef cpu_feature_methods[] = {
    {"cpu_architecture", cpu_architecture, METH_NOARGS,
     "cpu_architecture()\n--\n\nReturn the host's architecture as an LLVM CPU name and its sorted further features."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool register_cpu_features(PyObject* module) { return PyModule_AddFunctions(module, cpu_feature_methods) == 0; }

}  // namespace darter
