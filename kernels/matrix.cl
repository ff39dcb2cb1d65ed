// Block sparse rows: block k of a block row lies in column block columns[k], its rows x cols values row by row. An item
// a scalar row.

// (A x) of scalar row i                                                 Twin: Bsr::multiply_rows
REAL coarsen_row(const size_t i, const uint rows, const uint cols, __global const uint *offsets,
                 __global const uint *columns, __global const REAL *values, __global const REAL *x) {
    const size_t block_row = i / rows, within = i % rows;
    REAL s = 0;
    for (uint k = offsets[block_row]; k < offsets[block_row + 1]; k++) {
        __global const REAL *a = values + ((size_t)k * rows + within) * cols;
        __global const REAL *xk = x + (size_t)columns[k] * cols;
        for (uint c = 0; c < cols; c++)
            s += a[c] * xk[c];
    }
    return s;
}

// y = A x                                                               Twin: LinearOperator::apply for Bsr
__kernel void coarsen_multiply(const ulong n, const uint rows, const uint cols, __global const uint *offsets,
                               __global const uint *columns, __global const REAL *values,
                               __global const REAL *x, __global REAL *y) {
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = coarsen_row(i, rows, cols, offsets, columns, values, x);
}

// y = A x, x·y and the sum of |x y|                                     Twin: LinearOperator::apply_dot for Bsr
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_multiply_dot(const ulong n, const uint rows, const uint cols, __global const uint *offsets,
                          __global const uint *columns, __global const REAL *values, __global const REAL *x,
                          __global REAL *y, __global SUM *partial) {
    __local SUM shared[WIDTH];
    SUM value = 0, magnitude = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) {
        const REAL yi = coarsen_row(i, rows, cols, offsets, columns, values, x);
        y[i] = yi;
        const SUM t = (SUM)x[i] * yi;
        value += t;
        magnitude += fabs(t);
    }
    value = coarsen_tree(shared, value);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = value;
    magnitude = coarsen_tree(shared, magnitude);
    if (get_local_id(0) == 0)
        partial[get_num_groups(0) + get_group_id(0)] = magnitude;
}

// r = b - A x                                                           Twin: LinearOperator::residual for Bsr
__kernel void coarsen_residual(const ulong n, const uint rows, const uint cols, __global const uint *offsets,
                               __global const uint *columns, __global const REAL *values,
                               __global const REAL *b, __global const REAL *x, __global REAL *r) {
    const size_t i = get_global_id(0);
    if (i < n)
        r[i] = b[i] - coarsen_row(i, rows, cols, offsets, columns, values, x);
}
