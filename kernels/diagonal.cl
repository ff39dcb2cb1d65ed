// Inverses of the diagonal blocks of a matrix in device memory, plain or with a contact part. See matrix.cl
// for the layout of blocks and blocks.cl for the layout of inverses. Build options define
//   STORED  the type of values
//   SIZE    the number of rows and columns of a block
//   SLICE, DSLICE, CONTACT  as in matrix.cl, and so are n and row_offset, 0 for one range. Ranges come in their order.
//   TINY    the largest pivot of a scaled row that counts as round-off

#define AREA (SIZE * SIZE)

#ifdef CONTACT
#define PART , __global const uint *starts, __global const uint *places, __global const STORED *contact
#define PART_GIVEN , starts, places, contact
#else
#define PART
#define PART_GIVEN
#endif

// Faults of a block: fault `kind` of block i has number FAULTS i + kind, so there are fewer than 2^31 blocks.
#define SOUND UINT_MAX
#define SINGULAR 0
#define NOT_POSITIVE 1
#define FAULTS 2

// w = diagonal block l of the range, zero if it is not stored
void coarsen_diagonal_block(const size_t l, MATRIX PART, SUM *w) {
    const size_t i = row_offset + l, base = BASE(l), lane = LANE(l);
    const uint count = COUNT(l);
    for (uint e = 0; e < AREA; e++)
        w[e] = 0;
    for (uint k = 0; k < count; k++)
        if (columns[(base + k) * SLICE + lane] == i)
            for (uint e = 0; e < AREA; e++)
                w[e] = values[((base + k) * AREA + e) * SLICE + lane];
#ifdef CONTACT
    for (uint k = starts[i]; k < starts[i + 1]; k++)
        if (places[k] == i)
            for (uint e = 0; e < AREA; e++)
                w[e] += contact[(size_t)k * AREA + e];
#endif
}

// d = w^-1 by Gauss-Jordan elimination of (S w | S) with partial pivoting, where S scales the rows; returns
// whether w is regular.                                                 Host: dense_blocks::invert
uint coarsen_invert(SUM *w, SUM *d) {
    uint sound = 1;
    for (uint r = 0; r < SIZE; r++) {
        SUM largest = 0;
        for (uint c = 0; c < SIZE; c++) {
            largest = fmax(largest, fabs(w[r * SIZE + c]));
            sound &= isfinite(w[r * SIZE + c]) != 0;
        }
        const SUM scale = 1 / largest;
        sound &= isfinite(scale) != 0;
        for (uint c = 0; c < SIZE; c++) {
            w[r * SIZE + c] *= scale;
            d[r * SIZE + c] = r == c ? scale : 0;
        }
    }
    for (uint p = 0; p < SIZE && sound; p++) {
        uint best = p;
        for (uint r = p + 1; r < SIZE; r++)
            best = fabs(w[r * SIZE + p]) > fabs(w[best * SIZE + p]) ? r : best;
        sound = fabs(w[best * SIZE + p]) > (SUM)TINY;
        const SUM scale = 1 / w[best * SIZE + p];
        for (uint c = 0; c < SIZE; c++) {
            const SUM wp = w[best * SIZE + c] * scale, dp = d[best * SIZE + c] * scale;
            w[best * SIZE + c] = w[p * SIZE + c];
            d[best * SIZE + c] = d[p * SIZE + c];
            w[p * SIZE + c] = wp;
            d[p * SIZE + c] = dp;
        }
        for (uint r = 0; r < SIZE; r++) {
            const SUM factor = r == p ? 0 : w[r * SIZE + p];
            for (uint c = 0; c < SIZE; c++) {
                w[r * SIZE + c] -= factor * w[p * SIZE + c];
                d[r * SIZE + c] -= factor * d[p * SIZE + c];
            }
        }
    }
    return sound;
}

// d = the inverses, or the unit matrix for singular blocks; faults[group] = the first fault in a group, or
// SOUND. Host: DenseBlocks::invert_diagonal, DenseBlocks::check_positive
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_diagonal(MATRIX PART, __global STORED *d, __global uint *faults) {
    __local uint first[WIDTH];
    uint fault = SOUND;
    for (size_t l = get_global_id(0); l < n; l += get_global_size(0)) {
        const size_t i = row_offset + l;
        SUM w[AREA], inverse[AREA];
        coarsen_diagonal_block(l, row_offset, n, width, offsets, lengths, columns, values PART_GIVEN, w);
        const uint sound = coarsen_invert(w, inverse);
        uint positive = 1;
        for (uint r = 0; r < SIZE; r++)
            positive &= inverse[r * (SIZE + 1)] > 0;
        if (!sound || !positive)
            fault = min(fault, (uint)i * FAULTS + (sound ? NOT_POSITIVE : SINGULAR));
        for (uint e = 0; e < AREA; e++)
            d[(i / DSLICE * AREA + e) * DSLICE + i % DSLICE] = (STORED)(sound ? inverse[e] : e % (SIZE + 1) == 0);
    }
    first[get_local_id(0)] = fault;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint k = 1; k < WIDTH; k++)
            fault = min(fault, first[k]);
        faults[get_group_id(0)] = row_offset ? min(fault, faults[get_group_id(0)]) : fault;
    }
}

// bounds[group] = the largest sum of |a_ij d_i| over a row of scalars in a group; NaN if a sum is NaN.
// Host: spectrum::row_sums
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_row_sums(MATRIX PART, __global const STORED *d, __global REAL *bounds) {
    __local SUM largest[WIDTH];
    SUM bound = 0;
    for (size_t l = get_global_id(0); l < n; l += get_global_size(0)) {
        const size_t i = row_offset + l, base = BASE(l), lane = LANE(l);
        const uint count = COUNT(l);
        SUM sum = 0;
        for (uint k = 0; k < count; k++)
            sum += fabs((SUM)values[(base + k) * SLICE + lane]);
#ifdef CONTACT
        for (uint k = starts[i]; k < starts[i + 1]; k++)
            sum += fabs((SUM)contact[k]);
#endif
        sum *= fabs((SUM)d[i]); // blocks of one entry are consecutive
        bound = isnan(sum) || sum > bound ? sum : bound;
    }
    largest[get_local_id(0)] = bound;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint k = 1; k < WIDTH; k++)
            bound = isnan(largest[k]) || largest[k] > bound ? largest[k] : bound;
        const REAL before = row_offset ? bounds[get_group_id(0)] : 0;
        bounds[get_group_id(0)] = isnan(before) || before > bound ? before : bound;
    }
}
