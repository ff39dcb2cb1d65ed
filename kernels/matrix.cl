// Block sparse rows in slices: SLICE rows are stored side by side, lane by lane, padded to the longest of the
// slice (or of all rows). Slot k of row i is column (base + k) SLICE + lane, and entry e = r COLS + c of its
// block is value ((base + k) ROWS COLS + e) SLICE + lane, with lane = i mod SLICE and base the slots of
// earlier slices. A slice of one row is plain block CSR. One block row per item, or per group of ITEMS_PER_ROW items:
// item t then sums blocks t, t + ITEMS_PER_ROW, ... of the row. Build options define
//   STORED  the type of values
//   ROWS, COLS  the numbers of rows and columns of a block
//   SLICE   the number of rows in a slice
//   ITEMS_PER_ROW    the number of items per row, a power of two; with 1 a group has many rows
//   DSLICE  the number of blocks in a slice of D, see blocks.cl
//   HALF    if only the blocks on and above the diagonal of a symmetric matrix are stored, in separate slots:
//           a slot of `columns` is then a column, and twice the slot of the block, plus one for its transpose
//   RANGES  if the rows are stored in several ranges: the n rows of a launch begin with row `row_offset` of the matrix,
//           a multiple of SLICE
//   CONTACT if a contact part is added: block k of row i, starts[i] <= k < starts[i + 1], is at column
//           places[k]

#pragma OPENCL FP_CONTRACT ON // A device may fuse multiply-adds here, as the host does.

#define AREA (ROWS * COLS)

#if ITEMS_PER_ROW > 1
#define LINE get_group_id(0)
#define SELF get_local_id(0)
#define IS_ONE_OF(count) 1 // there are as many groups, and barriers stand in no branch
// The memory of a group, at the beginning of a kernel.
#define MEET __local REAL shared[ITEMS_PER_ROW * ROWS];
#define MEETING , __local REAL *shared
#define MEETING_GIVEN , shared
#else
#define LINE get_global_id(0)
#define SELF 0
#define IS_ONE_OF(count) (LINE < (count))
#define MEET
#define MEETING
#define MEETING_GIVEN
#endif

// Whether three.cl has a faster version; see real.cl for LANES.
#define THREE (ROWS == 3 && COLS == 3 && SLICE == 1 && LANES == 8)

#ifdef CONTACT
#define PART , __global const uint *restrict starts, __global const uint *restrict places, __global const STORED *restrict contact
#define PART_GIVEN , starts, places, contact
#else
#define PART
#define PART_GIVEN
#endif

#ifdef RANGES
#define ROW_OFFSET const ulong row_offset,
#define ROW_OFFSET_GIVEN row_offset,
// A row of the matrix as a row of the range; rows before and after the range are those at its ends.
#define IN_RANGE(row) (min(max((ulong)(row), row_offset) - row_offset, n))
#else
#define ROW_OFFSET
#define ROW_OFFSET_GIVEN
#define IN_RANGE(row) (row)
#define row_offset 0
#endif

#define STORAGE \
    const uint width, __global const uint *restrict offsets, __global const uint *restrict lengths, \
    __global const uint *restrict columns, __global const STORED *restrict values PART
#define MATRIX ROW_OFFSET const ulong n, STORAGE

#if THREE

// s = (A x) of block row l of the range, one row of each block at once  Host: Bsr::multiply_rows, Sum::leaf
void coarsen_row(const size_t l, ROW_OFFSET STORAGE, __global const REAL *x, REAL *s) {
    REAL4 t[3] = {0, 0, 0};
    for (size_t k = offsets[l]; k < offsets[l + 1]; k++) {
#ifdef HALF
        const REAL4 xk = coarsen_load3(x + (size_t)columns[2 * k] * 3);
        __global const STORED *block = values + (size_t)(columns[2 * k + 1] / 2) * 9;
        if (columns[2 * k + 1] % 2)
            coarsen_add3_transposed(block, xk, t);
        else
            coarsen_add3(block, xk, t);
#else
        coarsen_add3(values + k * 9, coarsen_load3(x + (size_t)columns[k] * 3), t);
#endif
    }
#ifdef CONTACT
    const size_t i = row_offset + l;
    for (size_t k = starts[i]; k < starts[i + 1]; k++)
        coarsen_add3(contact + k * 9, coarsen_load3(x + (size_t)places[k] * 3), t);
#endif
    vstore3(coarsen_sum3(t).xyz, 0, s);
}

#else

// s = (A x) of block row l of the range, for all items of its group     Host: Bsr::multiply_rows, Sum::leaf
void coarsen_row(const size_t l, ROW_OFFSET STORAGE, __global const REAL *x, REAL *s MEETING) {
#if SLICE == 1
    const size_t base = offsets[l], lane = 0;
    const uint count = offsets[l + 1] - offsets[l];
#else
    const size_t slice = l / SLICE, lane = l % SLICE;
    const size_t base = width ? slice * width : offsets[slice];
    const uint count = lengths[l];
#endif
#ifdef HALF
    __global const uint *place = columns + 2 * ((base + SELF) * SLICE + lane);
#else
    __global const uint *column = columns + base * SLICE + lane;
    __global const STORED *a = values + (base + SELF) * AREA * SLICE + lane;
#endif
    for (uint r = 0; r < ROWS; r++)
        s[r] = 0;
    for (uint k = SELF; k < count; k += ITEMS_PER_ROW) {
#ifdef HALF
        const uint slot = place[1] / 2, mirrored = place[1] % 2;
        const uint down = mirrored ? 1 : COLS, across = mirrored ? COLS : 1;
        __global const REAL *xk = x + (size_t)place[0] * COLS;
        __global const STORED *block = values + (size_t)(slot / SLICE) * AREA * SLICE + slot % SLICE;
        for (uint c = 0; c < COLS; c++) {
            const REAL xc = xk[c];
            for (uint r = 0; r < ROWS; r++)
                s[r] += (REAL)block[(r * down + c * across) * SLICE] * xc;
        }
        place += 2 * SLICE * ITEMS_PER_ROW;
#else
        __global const REAL *xk = x + (size_t)column[k * SLICE] * COLS;
        for (uint c = 0; c < COLS; c++) {
            const REAL xc = xk[c];
            for (uint r = 0; r < ROWS; r++)
                s[r] += (REAL)a[(r * COLS + c) * SLICE] * xc;
        }
        a += AREA * SLICE * ITEMS_PER_ROW;
#endif
    }
#ifdef CONTACT
    const size_t i = row_offset + l;
    for (uint k = starts[i] + SELF; k < starts[i + 1]; k += ITEMS_PER_ROW) {
        __global const REAL *xk = x + (size_t)places[k] * COLS;
        __global const STORED *block = contact + (size_t)k * AREA;
        for (uint c = 0; c < COLS; c++)
            for (uint r = 0; r < ROWS; r++)
                s[r] += (REAL)block[r * COLS + c] * xk[c];
    }
#endif
#if ITEMS_PER_ROW > 1
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint r = 0; r < ROWS; r++)
        shared[SELF * ROWS + r] = s[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint r = 0; r < ROWS; r++) {
        s[r] = shared[r];
        for (uint t = 1; t < ITEMS_PER_ROW; t++)
            s[r] += shared[t * ROWS + r];
    }
#endif
}

#endif

#define ROW(l, x, s) coarsen_row(l, ROW_OFFSET_GIVEN width, offsets, lengths, columns, values PART_GIVEN, x, s MEETING_GIVEN)

// y = A x                                                               Host: LinearOperator::apply for Bsr
__kernel void coarsen_multiply(MATRIX, __global const REAL *restrict x, __global REAL *restrict y) {
    MEET
    const size_t l = LINE, i = row_offset + l;
    if (IS_ONE_OF(n)) {
        REAL s[ROWS];
        ROW(l, x, s);
        if (SELF == 0)
            for (uint r = 0; r < ROWS; r++)
                y[i * ROWS + r] = s[r];
    }
}

// y = a A x + b y                                                       Host: Bsr::apply_add
__kernel void coarsen_multiply_add(MATRIX, const REAL a, __global const REAL *restrict x, const REAL b, __global REAL *restrict y) {
    MEET
    const size_t l = LINE, i = row_offset + l;
    if (IS_ONE_OF(n)) {
        REAL s[ROWS];
        ROW(l, x, s);
        if (SELF == 0)
            for (uint r = 0; r < ROWS; r++)
                y[i * ROWS + r] = b == 0 ? a * s[r] : a * s[r] + b * y[i * ROWS + r];
    }
}

// r = b - A x                                                          Host: LinearOperator::residual for Bsr
__kernel void coarsen_residual(MATRIX, __global const REAL *restrict b, __global const REAL *restrict x, __global REAL *restrict r) {
    MEET
    const size_t l = LINE, i = row_offset + l;
    if (IS_ONE_OF(n)) {
        REAL s[ROWS];
        ROW(l, x, s);
        if (SELF == 0)
            for (uint k = 0; k < ROWS; k++)
                r[i * ROWS + k] = b[i * ROWS + k] - s[k];
    }
}

#if ROWS == COLS

// Entry (r, c) of block i of D.
#define D(i, r, c) ((REAL)d[((i) / DSLICE * AREA + (r) * COLS + (c)) * DSLICE + (i) % DSLICE])

// step = D_i t
#if THREE && DSLICE == 1
#define SCALED(i, t, step) \
    { \
        REAL4 s_[3] = {0, 0, 0}; \
        coarsen_add3(d + (size_t)(i) * 9, (REAL4)(t[0], t[1], t[2], 0), s_); \
        vstore3(coarsen_sum3(s_).xyz, 0, step); \
    }
#else
#define SCALED(i, t, step) \
    for (uint r_ = 0; r_ < ROWS; r_++) { \
        step[r_] = 0; \
        for (uint c_ = 0; c_ < ROWS; c_++) \
            step[r_] += D(i, r_, c_) * t[c_]; \
    }
#endif

// step = D_i (b - A x)_i of row i = row_offset + l
#define STEP(l, i, step) \
    { \
        REAL t_[ROWS]; \
        ROW(l, x, t_); \
        for (uint r_ = 0; r_ < ROWS; r_++) \
            t_[r_] = b[(i) * ROWS + r_] - t_[r_]; \
        SCALED(i, t_, step) \
    }

// s = beta s + omega D (b - A x), y = x + s                            Host: Matrix::relax_into for CpuMatrix
__kernel void coarsen_relax_into(MATRIX, __global const STORED *restrict d, const REAL omega, const REAL beta,
                                 __global const REAL *restrict b, __global const REAL *restrict x, __global REAL *restrict s,
                                 __global REAL *restrict y) {
    MEET
    const size_t l = LINE, i = row_offset + l;
    if (IS_ONE_OF(n)) {
        REAL step[ROWS];
        STEP(l, i, step);
        if (SELF == 0)
            for (uint r = 0; r < ROWS; r++) {
                const size_t at = i * ROWS + r;
                const REAL t = beta == 0 ? omega * step[r] : omega * step[r] + beta * s[at];
                s[at] = t;
                y[at] = x[at] + t;
            }
    }
}

// x_i += omega D_i (b - A x)_i for the rows of chunks `first` to first + count, one chunk per item or group,
// forward or backward, as far as the rows are in the range of the matrix. Chunks are not coupled: none reads entries
// that another one writes.                                              Host: Sweeping::run
__kernel void coarsen_relax(MATRIX, __global const uint *restrict chunks, const uint first, const uint count,
                            const uint backward, __global const STORED *restrict d, const REAL omega,
                            __global const REAL *restrict b, __global REAL *restrict x) {
    MEET
    const size_t line = LINE;
    if (IS_ONE_OF(count)) {
        const size_t begin = IN_RANGE(chunks[2 * (first + line)]), end = IN_RANGE(chunks[2 * (first + line) + 1]);
        for (size_t k = 0; k < end - begin; k++) {
            const size_t l = backward ? end - 1 - k : begin + k, i = row_offset + l;
            REAL step[ROWS];
            STEP(l, i, step);
            if (SELF == 0)
                for (uint r = 0; r < ROWS; r++)
                    x[i * ROWS + r] += omega * step[r];
#if ITEMS_PER_ROW > 1
            barrier(CLK_GLOBAL_MEM_FENCE); // the next row of the chunk reads it
#endif
        }
    }
}

#if ITEMS_PER_ROW == 1

// y = A x, x·y and the sum of |x y|, for a matrix of one range         Host: LinearOperator::apply_dot for Bsr
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_multiply_dot(MATRIX, __global const REAL *restrict x, __global REAL *restrict y, __global SUM *restrict partial) {
    __local SUM shared[WIDTH];
    SUM value = 0, magnitude = 0;
    const size_t last = LAST(n);
    for (size_t i = FIRST(n) + get_local_id(0); i < last; i += WIDTH) {
        REAL s[ROWS];
        ROW(i, x, s);
        for (uint r = 0; r < ROWS; r++) {
            y[i * ROWS + r] = s[r];
            const SUM t = (SUM)x[i * ROWS + r] * s[r];
            value += t;
            magnitude += fabs(t);
        }
    }
    value = coarsen_tree(shared, value);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = value;
    magnitude = coarsen_tree(shared, magnitude);
    if (get_local_id(0) == 0)
        partial[get_num_groups(0) + get_group_id(0)] = magnitude;
}

#endif

#endif
