/* A CUDA driver that only records: one line per call into the file that STUB_LOG names, statuses as STUB_* says.
 *
 * STUB_FAIL=cuLaunchKernel:700 makes a function return a status; STUB_FORKED=1 makes all return NOT_INITIALIZED in a
 * process that is not the one that called cuInit; STUB_CAPTURING=1 says that every stream is captured; STUB_SLOW_US makes
 * launches take that long. Streams 0xA1.. belong to device 0, 0xB1.. to device 1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int R;
static __thread void* stack[16];
static __thread int depth;
static int mode = 0;
static int initialised_in;
static int loaded;
static char contexts[8];
static char asserts[1 << 16];

static R done(const char* name, const char* detail) {
  const char* path = getenv("STUB_LOG");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s %s\n", name, detail);
    fclose(file);
  }
  if (getenv("STUB_FORKED") && initialised_in && initialised_in != getpid()) return 3;
  const char* fail = getenv("STUB_FAIL");
  const size_t length = strlen(name);
  if (fail && strncmp(fail, name, length) == 0 && fail[length] == ':') return atoi(fail + length + 1);
  return 0;
}
static void* context_of(int device) { return &contexts[device]; }

R cuInit(unsigned f) { (void)f; initialised_in = getpid(); return done("cuInit", ""); }
R cuDriverGetVersion(int* v) { *v = 13000; return 0; }
R cuDeviceGetCount(int* n) { *n = 2; return done("cuDeviceGetCount", ""); }
R cuDeviceGet(int* d, int i) { *d = i; return i < 2 ? done("cuDeviceGet", "") : 101; }
R cuDeviceGetName(char* s, int n, int d) { (void)d; snprintf(s, n, "stub"); return 0; }
R cuDeviceGetAttribute(int* v, int a, int d) {
  (void)d;
  *v = a == 75 ? 9 : a == 76 ? 0 : a == 97 ? 232448 : a == 39 ? 2048 : 132;
  return 0;
}
R cuDevicePrimaryCtxRetain(void** c, int d) { *c = context_of(d); return done("cuDevicePrimaryCtxRetain", d ? "1" : "0"); }
R cuCtxGetCurrent(void** c) { *c = depth ? stack[depth - 1] : NULL; return done("cuCtxGetCurrent", ""); }
R cuCtxPushCurrent_v2(void* c) { stack[depth++] = c; return done("cuCtxPushCurrent", c == context_of(1) ? "1" : "0"); }
R cuCtxPopCurrent_v2(void** c) { *c = stack[--depth]; return done("cuCtxPopCurrent", *c == context_of(1) ? "1" : "0"); }
R cuCtxSynchronize(void) { return done("cuCtxSynchronize", ""); }
R cuModuleLoadDataEx(void** m, const void* p, unsigned n, int* o, void** v) {
  (void)p; (void)n; (void)o; (void)v;
  /* Names the device in its thousands. */
  *m = (void*)(uintptr_t)((depth && stack[depth - 1] == context_of(1) ? 0x2000 : 0x1000) + ++loaded);
  return done("cuModuleLoadDataEx", mode == 2 ? "relaxed" : "strict");
}
R cuModuleUnload(void* m) { (void)m; return done("cuModuleUnload", ""); }
R cuModuleGetFunction(void** f, void* m, const char* s) { *f = m; return done("cuModuleGetFunction", s); }
R cuFuncGetAttribute(int* v, int a, void* f) {
  (void)f;
  *v = a == 0 ? 512 : a == 1 ? 1024 : a == 4 ? 40 : 0;
  return 0;
}
R cuFuncSetAttribute(void* f, int a, int v) {
  (void)f;
  char text[64];
  snprintf(text, sizeof text, "%d=%d", a, v);
  return done("cuFuncSetAttribute", text);
}
R cuFuncLoad(void* f) { (void)f; return done("cuFuncLoad", ""); }
R cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void* f, int b, size_t s) {
  (void)f; (void)b; (void)s;
  *n = 4;
  return 0;
}
static R launched(const char* name, const unsigned* g, const unsigned* b, unsigned s, void* stream, const char* more) {
  char text[512];
  if (getenv("STUB_SLOW_US")) usleep((unsigned)atoi(getenv("STUB_SLOW_US")));
  snprintf(text, sizeof text, "grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%p current=%d%s", g[0], g[1], g[2], b[0],
           b[1], b[2], s, stream, depth ? (int)((char*)stack[depth - 1] - contexts) : -1, more);
  return done(name, text);
}
R cuFuncGetParamInfo(void* f, size_t i, size_t* offset, size_t* size) {
  (void)f;
  /* Parameters of 8, 4, 4, 8 ... bytes. */
  *offset = i / 3 * 16 + (i % 3 == 0 ? 0 : i % 3 * 4 + 4);
  *size = i % 3 == 0 ? 8 : 4;
  return done("cuFuncGetParamInfo", "");
}
struct attribute { int id; int pad; unsigned value[16]; };
struct config { unsigned g[3], b[3], s; void* stream; struct attribute* attributes; unsigned count; };
R cuLaunchKernelEx(const struct config* c, void* f, void** p, void** e) {
  const int other = depth == 0 || stack[depth - 1] != context_of(((uintptr_t)f & 0xF000) == 0x2000);
  if ((uintptr_t)c->stream <= 2 && other) return done("cuLaunchKernelEx", "refused"), 400;
  char more[256] = "";
  if (p) strcat(more, " pointers");
  if (e) strcat(more, " packed=");
  for (size_t i = 0; e && i < *(size_t*)e[3]; ++i) sprintf(more + strlen(more), "%02x", ((unsigned char*)e[1])[i]);
  for (unsigned i = 0; i < c->count; ++i) {
    const struct attribute* a = &c->attributes[i];
    char one[48];
    snprintf(one, sizeof one, " %d:%u,%u,%u", a->id, a->value[0], a->value[1], a->value[2]);
    strcat(more, one);
  }
  return launched("cuLaunchKernelEx", c->g, c->b, c->s, c->stream, more);
}
R cuStreamIsCapturing(void* s, int* v) { (void)s; *v = getenv("STUB_CAPTURING") != NULL; return 0; }
R cuStreamGetCtx(void* s, void** c) { *c = context_of(((uintptr_t)s & 0xF0) == 0xB0); return done("cuStreamGetCtx", ""); }
R cuStreamSynchronize(void* s) { (void)s; return done("cuStreamSynchronize", ""); }
R cuThreadExchangeStreamCaptureMode(int* m) { const int old = mode; mode = *m; *m = old; return 0; }
R cuLinkCreate_v2(unsigned n, int* o, void** v, void** s) { (void)n; (void)o; *s = v[0]; return done("cuLinkCreate", ""); }
R cuLinkAddData_v2(void* s, int t, void* d, size_t n, const char* name, unsigned c, int* o, void** v) {
  (void)t; (void)n; (void)name; (void)c; (void)o; (void)v;
  const R status = done("cuLinkAddData", "");
  if (status) snprintf((char*)s, 64, "line 3: unknown instruction in %.8s", (const char*)d);
  return status;
}
R cuLinkComplete(void* s, void** image, size_t* n) { (void)s; *image = "cubin"; *n = 5; return done("cuLinkComplete", ""); }
R cuLinkDestroy(void* s) { (void)s; return done("cuLinkDestroy", ""); }
R cuMemHostAlloc(void** p, size_t n, unsigned f) { (void)n; (void)f; *p = asserts; return 0; }
R cuMemHostGetDevicePointer_v2(uint64_t* d, void* p, unsigned f) { (void)f; *d = (uint64_t)(uintptr_t)p; return 0; }
R cuMemFreeHost(void* p) { (void)p; return 0; }
R cuPointerGetAttribute(void* v, int a, uint64_t p) { (void)a; *(int*)v = p >> 60 ? 1 : 0; return p == 7 ? 1 : 0; }
R cuGetErrorName(R r, const char** s) {
  *s = r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : r == 3 ? "CUDA_ERROR_NOT_INITIALIZED" : r == 1 ? "CUDA_ERROR_INVALID_VALUE"
       : r == 218 ? "CUDA_ERROR_INVALID_PTX" : r == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : NULL;
  return *s ? 0 : 1;
}
char* stub_asserts(void) { return asserts; }
