// Large dense blocks along the diagonal, stored by rows: the coarsest level of a hierarchy. Build options
// define
//   STORED  the type of values

#pragma OPENCL FP_CONTRACT ON

// z = a D r + b z, one row of a block of size x size per group          Host: DenseBlocks::apply_add
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_dense(const ulong n, const uint size, __global const STORED *restrict d, const REAL a,
                   __global const REAL *restrict r, const REAL b, __global REAL *restrict z) {
    __local SUM shared[WIDTH];
    for (size_t row = get_group_id(0); row < n; row += get_num_groups(0)) {
        __global const STORED *values = d + row * size;
        __global const REAL *part = r + row / size * size;
        PACK packs = 0;
        PACKS(i, 0, size)
            packs += LOAD(values, i) * LOAD(part, i);
        SUM s = coarsen_across(packs);
        REST(i, 0, size)
            s += (SUM)values[i] * part[i];
        s = coarsen_tree(shared, s);
        if (get_local_id(0) == 0) {
            const REAL v = (REAL)s;
            z[row] = b == 0 ? a * v : a * v + b * z[row];
        }
    }
}
