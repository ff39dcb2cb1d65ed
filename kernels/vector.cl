// Entry-wise vector operations, LANES entries per item, the last entries one by one. Factors are slots; if a
// factor is 0, the old entries are not read.

// y = v                                                                 Host: Vector::fill for Vec
__kernel void coarsen_fill(const ulong n, __global REAL *restrict y, const REAL v) {
    const size_t i = get_global_id(0) * LANES;
    if (i + LANES <= n)
        PUT((ENTRIES)(v), y, i);
    else
        for (size_t k = i; k < n; k++)
            y[k] = v;
}

// list = v                                                              Host: slice::fill
__kernel void coarsen_fill_list(const uint n, __global uint *list, const uint v) {
    const uint i = get_global_id(0);
    if (i < n)
        list[i] = v;
}

// y = a x + b y                                                         Host: Vector::axpby for Vec
__kernel void coarsen_axpby(const ulong n, __global const REAL *restrict slots, const uint a, __global const REAL *restrict x,
                            const uint b, __global REAL *restrict y) {
    const size_t i = get_global_id(0) * LANES;
    const REAL fa = slots[a], fb = slots[b];
    if (i + LANES <= n) {
        const ENTRIES t = fa * GET(x, i);
        if (fb == 0)
            PUT(t, y, i);
        else
            PUT(t + fb * GET(y, i), y, i);
    } else
        for (size_t k = i; k < n; k++) {
            const REAL t = fa * x[k];
            y[k] = fb == 0 ? t : t + fb * y[k];
        }
}

// y = a d x + b y                                                       Host: Vector::hadamard for Vec
__kernel void coarsen_hadamard(const ulong n, __global const REAL *restrict slots, const uint a, __global const REAL *restrict d,
                               __global const REAL *restrict x, const uint b, __global REAL *restrict y) {
    const size_t i = get_global_id(0) * LANES;
    const REAL fa = slots[a], fb = slots[b];
    if (i + LANES <= n) {
        const ENTRIES t = fa * GET(d, i) * GET(x, i);
        if (fb == 0)
            PUT(t, y, i);
        else
            PUT(t + fb * GET(y, i), y, i);
    } else
        for (size_t k = i; k < n; k++) {
            const REAL t = fa * d[k] * x[k];
            y[k] = fb == 0 ? t : t + fb * y[k];
        }
}

// p = a u + b p, s = a w + b s, x += c p, r -= c s, one entry per item  Host: Vector::pipelined_update for Vec
__kernel void coarsen_pipelined_update(const ulong n, __global const REAL *restrict slots, const uint a, const uint b, const uint c,
                            __global const REAL *restrict u, __global const REAL *restrict w, __global REAL *restrict p, __global REAL *restrict s,
                            __global REAL *restrict x, __global REAL *restrict r) {
    const size_t i = get_global_id(0);
    if (i < n) {
        const REAL fa = slots[a], fb = slots[b], fc = slots[c];
        const REAL pu = fa * u[i], sw = fa * w[i];
        const REAL pi = fb == 0 ? pu : pu + fb * p[i];
        const REAL si = fb == 0 ? sw : sw + fb * s[i];
        p[i] = pi;
        s[i] = si;
        x[i] += fc * pi;
        r[i] -= fc * si;
    }
}
