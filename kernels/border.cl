// Entries at the border of a rank. Build options define
//   SIZE    the number of entries of a node of x
//   ROWS    the number of entries of a node of y

// to[k] = x[nodes[k]], one node per item                                                Host: Halo::begin
__kernel void coarsen_gather(const ulong n, __global const uint *nodes, __global const REAL *x, __global REAL *to) {
    const size_t k = get_global_id(0);
    if (k < n)
        for (uint c = 0; c < SIZE; c++)
            to[k * SIZE + c] = x[(size_t)nodes[k] * SIZE + c];
}

// to[at + k] = x[first + k], one entry per item                                         Host: RedistributionPlan::carry
__kernel void coarsen_shift(const ulong n, const ulong first, const ulong at, __global const REAL *x, __global REAL *to) {
    const size_t k = get_global_id(0);
    if (k < n)
        to[at + k] = x[first + k];
}

// y[nodes[k]] += t[k], one node per item; nodes are different                    Host: DistMatrix::multiply_part
__kernel void coarsen_scatter_add(const ulong n, __global const uint *nodes, __global const REAL *t, __global REAL *y) {
    const size_t k = get_global_id(0);
    if (k < n)
        for (uint c = 0; c < ROWS; c++)
            y[(size_t)nodes[k] * ROWS + c] += t[k * ROWS + c];
}
