// S A S + sigma (I - S) for constraints of single nodes: S = I - W W^T per node. See matrix.cl for the layout of blocks.
// Build options define
//   STORED  the type of values
//   SIZE    the number of rows and columns of a block
//   SLICE   as in matrix.cl, and so are n and row_offset, 0 for one range
//
//   groups[i]   the number of node i among the constrained nodes, or NONE
//   nodes[g]    constrained node g
//   basis       SIZE rows of W^T for each constrained node, row after row; zeros stand for missing rows

#define AREA (SIZE * SIZE)
#define NONE UINT_MAX

// sigma as a share of the stiffness, and of a node without a positive diagonal block. Host: constants of numeric
#define SOFTER ((SUM)0.1)
#define NO_SCALE 1

// Entry e of block k of a row.
#define PLACE(k, e) (((base + (k)) * AREA + (e)) * SLICE + lane)

// b = b S                                                               Host: numeric::right
void coarsen_filter_right(SUM *b, __global const REAL *q) {
    for (uint p = 0; p < SIZE; p++)
        for (uint r = 0; r < SIZE; r++) {
            SUM share = 0;
            for (uint c = 0; c < SIZE; c++)
                share += b[r * SIZE + c] * q[p * SIZE + c];
            for (uint c = 0; c < SIZE; c++)
                b[r * SIZE + c] -= share * q[p * SIZE + c];
        }
}

// b = S b                                                               Host: numeric::left
void coarsen_filter_left(SUM *b, __global const REAL *q) {
    for (uint p = 0; p < SIZE; p++)
        for (uint c = 0; c < SIZE; c++) {
            SUM share = 0;
            for (uint r = 0; r < SIZE; r++)
                share += q[p * SIZE + r] * b[r * SIZE + c];
            for (uint r = 0; r < SIZE; r++)
                b[r * SIZE + c] -= share * q[p * SIZE + r];
        }
}

// partial[group] = the sum of the traces of the blocks of a group       Host: numeric::translations
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_filter_trace(MATRIX, __global SUM *partial) {
    __local SUM shared[WIDTH];
    SUM sum = 0;
    const size_t last = LAST(n);
    for (size_t l = FIRST(n) + get_local_id(0); l < last; l += WIDTH) {
        const size_t base = BASE(l), lane = LANE(l);
        const uint count = COUNT(l);
        for (uint k = 0; k < count; k++)
            for (uint r = 0; r < SIZE; r++)
                sum += values[PLACE(k, r * (SIZE + 1))];
    }
    sum = coarsen_tree(shared, sum);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

// scales[g] = sigma of constrained node g, if it is in the range; slots[trace] is the sum above, of all `rows` rows.
// Host: numeric::scale
__kernel void coarsen_filter_scales(MATRIX, const ulong rows, const ulong constrained, __global const REAL *slots,
                                    const uint trace, __global const uint *nodes, __global const REAL *basis,
                                    __global REAL *scales) {
    const size_t g = get_global_id(0);
    if (g >= constrained || nodes[g] < row_offset || nodes[g] - row_offset >= n)
        return;
    const size_t i = nodes[g], l = i - row_offset, base = BASE(l), lane = LANE(l);
    const uint count = COUNT(l);
    __global const REAL *w = basis + g * AREA;
    SUM sum = 0, rank = 0;
    for (uint p = 0; p < SIZE; p++) {
        SUM length = 0;
        for (uint r = 0; r < SIZE; r++)
            length += (SUM)w[p * SIZE + r] * w[p * SIZE + r];
        rank += length > 0; // rows are of length 1 or 0
    }
    for (uint k = 0; k < count; k++)
        if (columns[(base + k) * SLICE + lane] == i)
            for (uint e = 0; e < SIZE * AREA; e++) {
                const uint p = e / AREA, r = e / SIZE % SIZE, c = e % SIZE;
                sum += (SUM)w[p * SIZE + r] * values[PLACE(k, r * SIZE + c)] * w[p * SIZE + c];
            }
    const SUM mean = sum / rank, softest = slots[trace] / (SUM)(rows * SIZE);
    scales[g] = mean > 0 && isfinite(mean) ? fmin(mean, fmax(softest, SOFTER * mean)) : NO_SCALE;
}

// filtered = S A S + sigma (I - S), one row per item                    Host: Numeric::fill
__kernel void coarsen_filter_matrix(MATRIX, __global const uint *groups, __global const REAL *basis,
                                    __global const REAL *scales, __global STORED *filtered) {
    const size_t l = get_global_id(0), i = row_offset + l;
    if (l >= n)
        return;
    const size_t base = BASE(l), lane = LANE(l);
    const uint count = COUNT(l), own = groups[i];
    for (uint k = 0; k < count; k++) {
        const uint j = columns[(base + k) * SLICE + lane], other = groups[j];
        SUM b[AREA];
        for (uint e = 0; e < AREA; e++)
            b[e] = values[PLACE(k, e)];
        if (other != NONE)
            coarsen_filter_right(b, basis + (size_t)other * AREA);
        if (own != NONE) {
            __global const REAL *w = basis + (size_t)own * AREA;
            coarsen_filter_left(b, w);
            if (i == j)
                for (uint e = 0; e < SIZE * AREA; e++) {
                    const uint p = e / AREA, r = e / SIZE % SIZE, c = e % SIZE;
                    b[r * SIZE + c] += (SUM)scales[own] * w[p * SIZE + r] * w[p * SIZE + c];
                }
        }
        for (uint e = 0; e < AREA; e++)
            filtered[PLACE(k, e)] = (STORED)b[e];
    }
}

// filtered = S C S for contact blocks, one row per item                 Host: FilteredContact
__kernel void coarsen_filter_contact(const ulong n, __global const uint *starts, __global const uint *places,
                                     __global const STORED *contact, __global const uint *groups,
                                     __global const REAL *basis, __global STORED *filtered) {
    const size_t i = get_global_id(0);
    if (i >= n)
        return;
    const uint own = groups[i];
    for (uint k = starts[i]; k < starts[i + 1]; k++) {
        const uint other = groups[places[k]];
        SUM b[AREA];
        for (uint e = 0; e < AREA; e++)
            b[e] = contact[(size_t)k * AREA + e];
        if (other != NONE)
            coarsen_filter_right(b, basis + (size_t)other * AREA);
        if (own != NONE)
            coarsen_filter_left(b, basis + (size_t)own * AREA);
        for (uint e = 0; e < AREA; e++)
            filtered[(size_t)k * AREA + e] = (STORED)b[e];
    }
}

// x = S x, one constrained node per item                                Host: Projector::node
__kernel void coarsen_filter_vector(const ulong constrained, __global const uint *nodes,
                                    __global const REAL *basis, __global REAL *x) {
    const size_t g = get_global_id(0);
    if (g >= constrained)
        return;
    __global const REAL *w = basis + g * AREA;
    __global REAL *own = x + (size_t)nodes[g] * SIZE;
    SUM y[SIZE];
    for (uint r = 0; r < SIZE; r++)
        y[r] = own[r];
    for (uint p = 0; p < SIZE; p++) {
        SUM share = 0;
        for (uint r = 0; r < SIZE; r++)
            share += (SUM)w[p * SIZE + r] * y[r];
        for (uint r = 0; r < SIZE; r++)
            y[r] -= share * w[p * SIZE + r];
    }
    for (uint r = 0; r < SIZE; r++)
        own[r] = (REAL)y[r];
}
