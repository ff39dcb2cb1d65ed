// A_c = P^T A P for known patterns: first Q = A P, then P^T Q. Each entry is gathered from a list of block
// products in a fixed order. Build options define
//   STORED  the type of values
//   B, K    the numbers of rows and columns of a block of P
//   ASLICE, PSLICE, CSLICE  the numbers of rows in a slice of A, P and A_c, see matrix.cl
//
//   starts[t]    the start of the products of block t
//   right[2 p], right[2 p + 1]  the slots of A and P of product p of Q
//   left[2 p], left[2 p + 1]    the slot of P and the block of Q of product p of A_c
//   slots[t]     the slot of block t of A_c

#pragma OPENCL FP_CONTRACT ON

// The position of entry e of the block in a slot, for blocks of `area` entries in slices of `slice` rows.
#define PLACE(slot, e, area, slice) (((size_t)((slot) / (slice)) * (area) + (e)) * (slice) + (slot) % (slice))

// Rows of Q = A P, one row of a block per item.                         Host: Factors::make_q
__kernel void coarsen_galerkin_right(const ulong count, __global const uint *starts, __global const uint *right,
                                     __global const STORED *a, __global const STORED *p, __global REAL *q) {
    const size_t item = get_global_id(0);
    if (item >= count * B)
        return;
    const size_t t = item / B;
    const uint r = item % B;
    REAL sum[K];
    for (uint c = 0; c < K; c++)
        sum[c] = 0;
    for (uint k = starts[t]; k < starts[t + 1]; k++) {
        const uint from = right[2 * (size_t)k], to = right[2 * (size_t)k + 1];
        for (uint x = 0; x < B; x++) {
            const REAL v = a[PLACE(from, r * B + x, B * B, ASLICE)];
            for (uint c = 0; c < K; c++)
                sum[c] += v * (REAL)p[PLACE(to, x * K + c, B * K, PSLICE)];
        }
    }
    for (uint c = 0; c < K; c++)
        q[item * K + c] = sum[c];
}

// Rows of A_c = P^T Q, one row of a block per item.                     Host: Factors::refill
__kernel void coarsen_galerkin_left(const ulong count, __global const uint *starts, __global const uint *left,
                                    __global const uint *slots, __global const STORED *p,
                                    __global const REAL *q, __global STORED *coarse) {
    const size_t item = get_global_id(0);
    if (item >= count * K)
        return;
    const size_t t = item / K;
    const uint r = item % K;
    REAL sum[K];
    for (uint c = 0; c < K; c++)
        sum[c] = 0;
    for (uint k = starts[t]; k < starts[t + 1]; k++) {
        const uint from = left[2 * (size_t)k];
        __global const REAL *block = q + (size_t)left[2 * (size_t)k + 1] * B * K;
        for (uint x = 0; x < B; x++) {
            const REAL v = p[PLACE(from, x * K + r, B * K, PSLICE)];
            for (uint c = 0; c < K; c++)
                sum[c] += v * block[x * K + c];
        }
    }
    for (uint c = 0; c < K; c++)
        coarse[PLACE(slots[t], r * K + c, K * K, CSLICE)] = (STORED)sum[c];
}

// Diagonal entries of unknowns without a basis function: the largest entry of the diagonal of their node, or
// 1. One node per item; its unknowns are without_basis[k], starts[i] <= k < starts[i + 1], its block is slots[i].
// Host: hierarchy::give_diagonal
__kernel void coarsen_galerkin_without_basis(const ulong count, __global const uint *starts, __global const uint *without_basis,
                                    __global const uint *slots, __global STORED *coarse) {
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    STORED largest = 0;
    for (uint r = 0; r < K; r++)
        largest = fmax(largest, coarse[PLACE(slots[i], r * (K + 1), K * K, CSLICE)]);
    for (uint k = starts[i]; k < starts[i + 1]; k++)
        coarse[PLACE(slots[i], without_basis[k] * (K + 1), K * K, CSLICE)] = largest > 0 ? largest : 1;
}

// A_c = A_c + D, stored values in their order.                         Host: term::offset
__kernel void coarsen_galerkin_add(const ulong count, __global const STORED *d, __global STORED *coarse) {
    const size_t i = get_global_id(0);
    if (i < count)
        coarse[i] += d[i];
}
