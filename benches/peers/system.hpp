// A system as every driver reads it, and the line that every driver prints; the formats are those of system.py.
#pragma once
#include <malloc.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

struct System {
    int64_t n = 0, nnz = 0;
    std::vector<int64_t> starts;
    std::vector<int32_t> columns;
    std::vector<double> values, rhs;

    explicit System(const std::string& folder) {
        std::ifstream file(folder + "/system.bin", std::ios::binary);
        auto read = [&](auto* place, size_t count) { file.read(reinterpret_cast<char*>(place), count * sizeof(*place)); };
        read(&n, 1), read(&nnz, 1);
        starts.resize(n + 1), columns.resize(nnz), values.resize(nnz), rhs.resize(n);
        read(starts.data(), n + 1), read(columns.data(), nnz), read(values.data(), nnz), read(rhs.data(), n);
        if (!file) fprintf(stderr, "%s/system.bin: cannot be read\n", folder.c_str()), exit(1);
    }

    // |b - A x| / |b|
    double residual(const double* x) const {
        double r2 = 0, b2 = 0;
        for (int64_t i = 0; i < n; i++) {
            double r = rhs[i];
            for (int64_t k = starts[i]; k < starts[i + 1]; k++) r -= values[k] * x[columns[k]];
            r2 += r * r, b2 += rhs[i] * rhs[i];
        }
        return std::sqrt(r2 / b2);
    }
};

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// MiB of a line of /proc/self/status: VmRSS, or VmHWM, the most so far
inline double resident(const char* key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(key, 0) == 0) return atof(line.c_str() + strlen(key) + 1) / 1024;
    return 0;
}

// The most memory held since this was made, beyond what was held then, in MiB.
struct Memory {
    double before;
    Memory() {
        malloc_trim(0);
        std::ofstream("/proc/self/clear_refs") << "5";
        before = resident("VmRSS");
    }
    double peak() const { return std::fmax(resident("VmHWM") - before, 0.0); }
};

inline int report(double setup, double solve, long iterations, double residual, double memory) {
    if (!std::isfinite(residual)) return fprintf(stderr, "the residual is not a number\n"), 1;
    printf("{\"setup\": %.6f, \"solve\": %.6f, \"iterations\": %ld, \"residual\": %.3e, \"memory\": %.1f}\n", setup, solve, iterations, residual, memory);
    return 0;
}
