// Entry-wise vector operations, an item an entry. Factors are slots; a factor of 0 leaves the old entries unread.

// y = v                                                                 Twin: Vector::fill for Vec
__kernel void coarsen_fill(const ulong n, __global REAL *y, const REAL v) {
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = v;
}

// y = a x + b y                                                         Twin: Vector::axpby for Vec
__kernel void coarsen_axpby(const ulong n, __global const REAL *slots, const uint a, __global const REAL *x,
                            const uint b, __global REAL *y) {
    const size_t i = get_global_id(0);
    if (i < n) {
        const REAL t = slots[a] * x[i], s = slots[b];
        y[i] = s == 0 ? t : t + s * y[i];
    }
}

// y = a d x + b y                                                       Twin: Vector::hadamard for Vec
__kernel void coarsen_hadamard(const ulong n, __global const REAL *slots, const uint a, __global const REAL *d,
                               __global const REAL *x, const uint b, __global REAL *y) {
    const size_t i = get_global_id(0);
    if (i < n) {
        const REAL t = slots[a] * d[i] * x[i], s = slots[b];
        y[i] = s == 0 ? t : t + s * y[i];
    }
}
