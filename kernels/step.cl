// The inertia of an implicit Euler step: f(x) = (x - y)^T M (x - y) / (2 h^2), see crates/elastic/src/implicit_euler.rs.
//
//   inertia[i]  the mass of node i divided by h^2
//   y           where the nodes go without forces; a multiple of three numbers, as all vectors here

// y = x + h (v + h a)                                                   Host: ImplicitEuler::begin
__kernel void coarsen_step_target(const ulong n, __global const REAL *x, __global const REAL *v, const REAL h, const REAL a0,
                                  const REAL a1, const REAL a2, __global REAL *y) {
    const size_t k = get_global_id(0);
    if (k < n)
        y[k] = x[k] + h * (v[k] + h * (k % 3 == 0 ? a0 : k % 3 == 1 ? a1 : a2));
}

// next = x + share (h v)                                                Host: ContactStepper::predict
__kernel void coarsen_step_predict(const ulong n, __global const REAL *x, __global const REAL *v, const REAL h,
                                   const REAL share, __global REAL *next) {
    const size_t k = get_global_id(0);
    if (k < n)
        next[k] = x[k] + share * (h * v[k]);
}

// v = (next - x) / h, x = next                                          Host: ContactStepper::step
__kernel void coarsen_step_end(const ulong n, __global const REAL *next, const REAL h, __global REAL *x, __global REAL *v) {
    const size_t k = get_global_id(0);
    if (k < n) {
        v[k] = (next[k] - x[k]) / h;
        x[k] = next[k];
    }
}

// f(x), n nodes                                                         Host: ImplicitEuler::value
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_step_energy(const ulong n, __global const REAL *inertia, __global const REAL *x, __global const REAL *y,
                         __global SUM *partial) {
    __local SUM shared[WIDTH];
    SUM sum = 0;
    const size_t last = LAST(n);
    for (size_t i = FIRST(n) + get_local_id(0); i < last; i += WIDTH) {
        SUM squares = 0;
        for (uint k = 0; k < 3; k++) {
            const SUM gap = (SUM)x[3 * i + k] - y[3 * i + k];
            squares += gap * gap;
        }
        sum += (SUM)0.5 * inertia[i] * squares;
    }
    sum = coarsen_tree(shared, sum);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

// g = M (x - y) / h^2                                                   Host: ImplicitEuler::gradient
__kernel void coarsen_step_gradient(const ulong n, __global const REAL *inertia, __global const REAL *x, __global const REAL *y,
                                    __global REAL *g) {
    const size_t k = get_global_id(0);
    if (k < n)
        g[k] = inertia[k / 3] * (x[k] - y[k]);
}
