// Small dense blocks along the diagonal, DSLICE of them side by side: entry e of block i is value
// ((i / DSLICE) SIZE² + e) DSLICE + i mod DSLICE. Build options define
//   STORED  the type of values
//   SIZE    the number of rows and columns of a block
//   DSLICE  the number of blocks in a slice

#pragma OPENCL FP_CONTRACT ON

// z = a D r + b z, one block per item                                   Host: DenseBlocks::apply_add
__kernel void coarsen_blocks(const ulong n, __global const STORED *restrict d, const REAL a, __global const REAL *restrict r,
                             const REAL b, __global REAL *restrict z) {
    const size_t i = get_global_id(0);
    if (i < n) {
#if SIZE == 3 && DSLICE == 1 && LANES == 8
        REAL4 s[3] = {0, 0, 0};
        coarsen_add3(d + i * 9, coarsen_load3(r + i * 3), s);
        const REAL3 zi = a * coarsen_sum3(s).xyz;
        vstore3(b == 0 ? zi : zi + b * vload3(i, z), i, z);
#else
        __global const STORED *block = d + i / DSLICE * SIZE * SIZE * DSLICE + i % DSLICE;
        for (uint row = 0; row < SIZE; row++) {
            REAL s = 0;
            for (uint c = 0; c < SIZE; c++)
                s += (REAL)block[(row * SIZE + c) * DSLICE] * r[i * SIZE + c];
            const size_t at = i * SIZE + row;
            z[at] = b == 0 ? a * s : a * s + b * z[at];
        }
#endif
    }
}
