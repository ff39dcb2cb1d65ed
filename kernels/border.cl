// Entries at the border of a rank. Build options define
//   SIZE    the number of entries of a node

// to[k] = x[nodes[k]], one node per item                                                Twin: Halo::begin
__kernel void coarsen_gather(const ulong n, __global const uint *nodes, __global const REAL *x, __global REAL *to) {
    const size_t k = get_global_id(0);
    if (k < n)
        for (uint c = 0; c < SIZE; c++)
            to[k * SIZE + c] = x[(size_t)nodes[k] * SIZE + c];
}

// y[nodes[k]] += t[k], one node per item; nodes are different                    Twin: DistMatrix::multiply_part
__kernel void coarsen_scatter_add(const ulong n, __global const uint *nodes, __global const REAL *t, __global REAL *y) {
    const size_t k = get_global_id(0);
    if (k < n)
        for (uint c = 0; c < SIZE; c++)
            y[(size_t)nodes[k] * SIZE + c] += t[k * SIZE + c];
}
