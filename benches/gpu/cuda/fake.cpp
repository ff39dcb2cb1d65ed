// A GPU of the test: the functions of libcuda and libnvrtc that opencl_on_cuda calls, on the host. A program is compiled by g++; items of a group
// are fibers that meet at barriers, groups run one after the other. Slow, and without a GPU of its own.
//
//   g++ -std=c++17 -O1 -shared -fPIC -o libcuda.so.1 fake.cpp -ldl && cp libcuda.so.1 libnvrtc.so.12

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

// What a compiled program begins with.
static const char *PRELUDE = R"(
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
struct Index { unsigned x; };
extern "C" { Index threadIdx, blockIdx, blockDim, gridDim; void (*fake_barrier)(); }
#define __global__
#define __shared__ static
#define __syncthreads() fake_barrier()
#define __clz(v) ((v) ? __builtin_clz((unsigned)(v)) : 32)
#define __int_as_float(v) __builtin_inff()
using std::isnan; using std::isfinite; using std::fabs; using std::fma; using std::fmin; using std::fmax;
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
template <class... A, size_t... I> void fake_call(void (*f)(A...), void **p, std::index_sequence<I...>) {
    f(*(A *)p[I]...);
}
template <class... A> void fake_call(void (*f)(A...), void **p) { fake_call(f, p, std::index_sequence_for<A...>()); }
#undef INFINITY
#undef UINT_MAX
)";

struct Program {
    std::string source, built, log;
};

struct Module {
    void *library;
};

// The state of a launch.
struct Function {
    void (*call)(void **);
    Module *module;
};
static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<std::vector<char>> stacks;
static std::vector<char> done;
static unsigned current;
static Function *running;
static void **arguments;

static void fiber() {
    running->call(arguments);
    done[current] = 1;
}

static void barrier() { swapcontext(&fibers[current], &scheduler); }

static std::string folder() {
    static std::string name;
    if (name.empty()) {
        std::string pattern = std::string(getenv("LD_LIBRARY_PATH")) + "/XXXXXX"; // the test removes it
        name = mkdtemp(pattern.data());
    }
    return name;
}

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGetName(char *name, int size, int) { return snprintf(name, size, "the host by fibers"), 0; }
int cuDeviceGetAttribute(int *value, int what, int) {
    *value = what == 1 ? 1024 : what == 8 ? 49152 : what == 16 ? 1 : what == 75 ? 8 : 0;
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = (size_t)2 << 30, 0; }
int cuDriverGetVersion(int *version) { return *version = 12040, 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &scheduler, 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuMemAlloc_v2(unsigned long *at, size_t bytes) { return *at = (unsigned long)malloc(bytes), *at ? 0 : 2; }
int cuMemFree_v2(unsigned long at) { return free((void *)at), 0; }
int cuMemcpyHtoD_v2(unsigned long to, const void *from, size_t bytes) { return memcpy((void *)to, from, bytes), 0; }
int cuMemcpyDtoH_v2(void *to, unsigned long from, size_t bytes) { return memcpy(to, (void *)from, bytes), 0; }
int cuMemcpyDtoDAsync_v2(unsigned long to, unsigned long from, size_t bytes, void *) {
    return memmove((void *)to, (void *)from, bytes), 0;
}
int cuModuleLoadData(void **module, const void *image) {
    void *library = dlopen((const char *)image, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void (**)())dlsym(library, "fake_barrier") = barrier;
    return *module = new Module{library}, 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    Module *m = (Module *)module;
    void *call = dlsym(m->library, (std::string("call_") + name).c_str());
    return *function = new Function{(void (*)(void **))call, m}, call ? 0 : 500;
}
int cuLaunchKernel(void *function, unsigned groups, unsigned, unsigned, unsigned items, unsigned, unsigned, unsigned,
                   void *, void **words, void **) {
    running = (Function *)function;
    arguments = words;
    auto index = [](const char *name) { return (unsigned *)dlsym(running->module->library, name); };
    unsigned *thread = index("threadIdx"), *block = index("blockIdx");
    *index("blockDim") = items;
    *index("gridDim") = groups;
    if (fibers.size() < items) {
        fibers.resize(items);
        while (stacks.size() < items)
            stacks.emplace_back(64 << 10);
    }
    for (unsigned group = 0; group < groups; group++) {
        *block = group;
        done.assign(items, 0);
        for (unsigned left = items, round = 0; left > 0; round++)
            for (current = 0; current < items; current++) {
                if (done[current])
                    continue;
                if (round == 0) {
                    getcontext(&fibers[current]);
                    fibers[current].uc_stack = {stacks[current].data(), 0, stacks[current].size()};
                    fibers[current].uc_link = &scheduler;
                    makecontext(&fibers[current], fiber, 0);
                }
                *thread = current;
                swapcontext(&scheduler, &fibers[current]);
                left -= done[current];
            }
    }
    return 0;
}

int nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 0, 0; }
int nvrtcCreateProgram(void **program, const char *source, const char *, int, const char *const *, const char *const *) {
    return *program = new Program{source, "", ""}, 0;
}
int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    static int number = 0;
    Program *p = (Program *)program;
    std::string base = folder() + "/" + std::to_string(number++), defined;
    for (int k = 0; k < count; k++)
        if (!strncmp(options[k], "-D", 2))
            defined += std::string(" '") + options[k] + "'";
    std::ofstream(base + ".cpp") << PRELUDE << p->source << "\n";
    std::string flags = "g++ -std=c++17 -w -fpermissive" + defined + " ";
    if (system((flags + "-E -P " + base + ".cpp -o " + base + ".ii 2>" + base + ".log").c_str()) == 0) {
        std::ifstream in(base + ".ii");
        std::stringstream text;
        text << in.rdbuf();
        std::string whole = text.str(), calls; // a way to call each kernel with the words of a launch
        std::regex made("extern \"C\"[^;{]*?void (coarsen_\\w+)\\(");
        for (std::sregex_iterator at(whole.begin(), whole.end(), made), end; at != end; ++at)
            calls += "extern \"C\" void call_" + (*at)[1].str() + "(void **p) { fake_call(" + (*at)[1].str() + ", p); }\n";
        std::ofstream(base + ".ii", std::ios::app) << calls;
    }
    int status = system((flags + "-O1 -shared -fPIC " + base + ".ii -o " + base + ".so 2>>" + base + ".log").c_str());
    std::ifstream log(base + ".log");
    std::stringstream text;
    text << log.rdbuf();
    p->log = text.str();
    p->built = base + ".so";
    return status ? 6 : 0;
}
int nvrtcGetProgramLogSize(void *program, size_t *size) { return *size = ((Program *)program)->log.size() + 1, 0; }
int nvrtcGetProgramLog(void *program, char *to) { return strcpy(to, ((Program *)program)->log.c_str()), 0; }
int nvrtcGetPTXSize(void *program, size_t *size) { return *size = ((Program *)program)->built.size() + 1, 0; }
int nvrtcGetPTX(void *program, char *to) { return strcpy(to, ((Program *)program)->built.c_str()), 0; }
int nvrtcDestroyProgram(void **program) { return delete (Program *)*program, 0; }
}
