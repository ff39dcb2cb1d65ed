// CHOLMOD: a supernodal Cholesky factor, METIS ordering.
#include "system.hpp"

#include <suitesparse/cholmod.h>

int main(int, char** arguments) {
    System system(arguments[1]);
    cholmod_common common;
    cholmod_l_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_METIS;
    common.postorder = true;

    // The lower triangle by rows is the upper one by columns.
    int64_t lower = 0, k = 0, n = system.n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = system.starts[i]; e < system.starts[i + 1]; e++) lower += system.columns[e] <= i;
    cholmod_sparse* a = cholmod_l_allocate_sparse(n, n, lower, true, true, 1, CHOLMOD_REAL, &common);
    auto *starts = static_cast<SuiteSparse_long*>(a->p), *rows = static_cast<SuiteSparse_long*>(a->i);
    auto* values = static_cast<double*>(a->x);
    for (int64_t i = 0; i < n; i++) {
        starts[i] = k;
        for (int64_t e = system.starts[i]; e < system.starts[i + 1]; e++)
            if (system.columns[e] <= i) rows[k] = system.columns[e], values[k++] = system.values[e];
    }
    starts[n] = k;
    cholmod_dense* b = cholmod_l_allocate_dense(n, 1, n, CHOLMOD_REAL, &common);
    memcpy(b->x, system.rhs.data(), n * sizeof(double));

    Memory memory;
    double begin = seconds();
    cholmod_factor* l = cholmod_l_analyze(a, &common);
    if (!l || !cholmod_l_factorize(a, l, &common) || common.status != CHOLMOD_OK)
        return fprintf(stderr, "CHOLMOD status %d\n", common.status), 1;
    double ready = seconds();
    cholmod_dense* x = cholmod_l_solve(CHOLMOD_A, l, b, &common);
    double end = seconds(), peak = memory.peak();
    return report(ready - begin, end - ready, 1, system.residual(static_cast<double*>(x->x)), peak);
}
