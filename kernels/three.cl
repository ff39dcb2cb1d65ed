// Blocks of 3x3 entries stored by rows, for a core that runs its items one after the other: one row of the
// block at a time, in a vector register. Build options define
//   STORED  the type of values
// Loading four entries costs as much as loading one, and loading three costs twice as much. So four entries
// are loaded instead of three, all inside the block; the lane from another row (the last lane, in row 2 the
// first) is ignored.
// Under PoCL on a processor a product takes 1.6 times as long without this file in float, and 1.15 times in
// double (cloth:200, medians of 20 interleaved runs).

#if LANES == 8

#pragma OPENCL FP_CONTRACT ON // as in matrix.cl

#define REAL3 JOIN(REAL, 3)
#define REAL4 JOIN(REAL, 4)
#define LOAD4(a) JOIN(convert_, REAL4)(vload4(0, a))

// x0 x1 x2 0
REAL4 coarsen_load3(__global const REAL *x) {
    return (REAL4)(x[0], x[1], x[2], 0);
}

// Adds the products of rows 0 to 2 of the block with x to lanes 0 to 2 of s[0] and s[1] and lanes 1 to 3 of
// s[2].
void coarsen_add3(__global const STORED *a, const REAL4 x, REAL4 *s) {
    s[0] += LOAD4(a) * x;
    s[1] += LOAD4(a + 3) * x;
    s[2] += LOAD4(a + 5) * x.wxyz;
}

// As coarsen_add3, with the transpose of the block.
void coarsen_add3_transposed(__global const STORED *a, const REAL4 x, REAL4 *s) {
    s[0] += (REAL4)(a[0], a[3], a[6], 0) * x;
    s[1] += (REAL4)(a[1], a[4], a[7], 0) * x;
    s[2] += (REAL4)(0, a[2], a[5], a[8]) * x.wxyz;
}

// The sum of the products of each row, and a 0.
REAL4 coarsen_sum3(const REAL4 *s) {
    return (REAL4)(s[0].x, s[1].x, s[2].y, 0) + (REAL4)(s[0].y, s[1].y, s[2].z, 0) + (REAL4)(s[0].z, s[1].z, s[2].w, 0);
}

#endif
