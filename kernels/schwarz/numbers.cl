// The numbers of multilevel domains from a matrix in device memory (Wu, Wang, Wang 2022, Algorithm 1): the
// data of each level from the next finer level, and the inverse of every domain. Nothing is scattered: each
// value is gathered by the item that needs it. Build options define, in addition to the options of lists.cl,
//   WORK     the type of an elimination
//   EPSILON  twice the round-off of the matrix
//
//   own[i]        the slot of the diagonal block of node i of the finest level
//   starts[p]     the start of the couplings of position p with earlier positions of its domain
//   inner[2 q]    the slot of coupling q, and the position of the other node
//   alone[i]      whether node i of the finest level had no couplings when the structure was chosen
//   marks[i]      whether node i, or a node below it, has changed; read only if `some` is 1
//
// With the option CONTACT there are contact blocks beside the matrix, found by contact.cl:
//   met_own[i]    the contact block (i, i) of node i of the finest level, or NONE
//   met_starts[p] the start of the contacts of position p with earlier positions of its domain
//   met[2 q]      the contact block of contact q, and the position of the other node
//
// Two nodes of the finest level are different nodes up to the level on which one domain contains both, and
// the same node on coarser levels. So each off-diagonal block belongs to one level. Coarse matrices store
// only their diagonal blocks, which are sums over domains of the next finer level.

#if WIDE
#pragma OPENCL FP_CONTRACT ON
#endif

// A diagonal entry of a coarse level below this multiple of EPSILON times the sum of its terms is round-off.
// Host: precompute::ROUND_OFF
#define ROUND_OFF 64

// The smallest pivot of a scaled diagonal block that counts as positive definite. Host: dense::POSITIVE
#define POSITIVE 1e-6f

#ifdef CONTACT
// Entry e of contact block k.
#define PRESSED(k, e) ((SUM)contact[(size_t)(k) * AREA + (e)])
#define MET \
    , __global const uint *met_own, __global const uint *met_starts, __global const uint *met, \
        __global const VALUES *contact
#define MET_GIVEN , met_own, met_starts, met, contact
// Entry e of the diagonal block of node i of the finest level.
#define OWN(i, e) \
    ((own[i] == NONE ? 0 : ENTRY(own[i], e)) + (met_own[i] == NONE ? 0 : PRESSED(met_own[i], e)))
#else
#define MET
#define MET_GIVEN
#define OWN(i, e) ENTRY(own[i], e)
#endif

#define NUMBERS \
    const uint fine, __global const uint *order, __global const uint *own, __global const uint *starts, \
    __global const uint *inner, __global const VALUES *values MET
#define NUMBERS_GIVEN fine, order, own, starts, inner, values MET_GIVEN

// Entry e of the diagonal block of node i.
#define DIAGONAL(i, e) ((i) < fine ? OWN(i, e) : diagonals[(size_t)((i) - fine) * AREA + (e)])

// Diagonal blocks of nodes s of a coarse level, first <= s < last, and for each of their unknowns the sum of
// diagonal entries of the finest level; one entry per item. Host: Stage::coarse_row, Stage::coarse_sizes
__kernel void coarsen_schwarz_diagonals(const uint first, const uint last, NUMBERS,
                                        __global const uint *children, const uint some,
                                        __global const uint *marks, __global SUM *diagonals,
                                        __global SUM *sizes) {
    const uint at = get_global_id(0);
    if (at >= (last - first) * AREA)
        return;
    const uint s = first + at / AREA, e = at % AREA, transposed = e % BLOCK * BLOCK + e / BLOCK;
    if (some && !marks[fine + s])
        return;
    const uint begin = children[2 * s], end = children[2 * s + 1];
    SUM sum = 0, size = 0;
    for (uint p = begin; p < end; p++) {
        const uint i = order[p];
        sum += DIAGONAL(i, e);
        if (e % (BLOCK + 1) == 0)
            size += i < fine ? OWN(i, e) : sizes[(size_t)(i - fine) * BLOCK + e / BLOCK];
        for (uint q = starts[p]; q < starts[p + 1]; q++) {
            const uint slot = inner[2 * q], other = inner[2 * q + 1];
            if (other >= begin)
                sum += ENTRY(slot, e) + ENTRY(slot, transposed);
        }
#ifdef CONTACT
        for (uint q = met_starts[p]; q < met_starts[p + 1]; q++)
            if (met[2 * q + 1] >= begin)
                sum += PRESSED(met[2 * q], e) + PRESSED(met[2 * q], transposed);
#endif
    }
    diagonals[(size_t)s * AREA + e] = sum;
    if (e % (BLOCK + 1) == 0)
        sizes[(size_t)s * BLOCK + e / BLOCK] = size;
}

// Marks the nodes of a list.                                            Host: Plan::touched
__kernel void coarsen_schwarz_mark(const uint count, __global const uint *nodes, __global uint *marks) {
    const uint at = get_global_id(0);
    if (at < count)
        marks[nodes[at]] = 1;
}

// Marks nodes of a coarse level with a marked child.                    Host: Plan::touched
__kernel void coarsen_schwarz_raise(const uint first, const uint last, const uint fine, __global const uint *order,
                                    __global const uint *children, __global uint *marks) {
    const uint s = first + get_global_id(0);
    if (s < last) {
        uint mark = 0;
        for (uint p = children[2 * s]; p < children[2 * s + 1]; p++)
            mark |= marks[order[p]];
        marks[fine + s] = mark;
    }
}

// Inverts a block in place by Gauss-Jordan elimination; returns the smallest pivot, or 0.
// Host: eliminate::invert_tile
WORK coarsen_invert_block(WORK *a) {
    WORK least = INFINITY;
    for (uint k = 0; k < BLOCK; k++) {
        const WORK pivot = a[k * BLOCK + k];
        if (!(pivot > 0))
            return 0;
        least = fmin(least, pivot);
        const WORK d = 1 / pivot;
        for (uint i = 0; i < BLOCK; i++) {
            if (i == k)
                continue;
            const WORK f = -a[i * BLOCK + k] * d;
            for (uint j = 0; j < BLOCK; j++)
                if (j != k)
                    a[i * BLOCK + j] += f * a[k * BLOCK + j];
            a[i * BLOCK + k] = f;
        }
        for (uint j = 0; j < BLOCK; j++)
            a[k * BLOCK + j] = j == k ? d : a[k * BLOCK + j] * d;
    }
    return least;
}

// The inverse of the scaled diagonal block of node i, or the unit matrix if the block is not positive
// definite; returns whether it is positive definite.
uint coarsen_schwarz_block(const uint i, NUMBERS, __global const SUM *diagonals, const SUM *scale, WORK *a) {
    for (uint e = 0; e < AREA; e++) {
        const uint row = e / BLOCK, column = e % BLOCK, lower = max(row, column) * BLOCK + min(row, column);
        a[e] = scale[row] == 0 || scale[column] == 0 ? row == column : (WORK)(DIAGONAL(i, lower) * scale[row] * scale[column]);
    }
    const uint positive = coarsen_invert_block(a) > POSITIVE;
    for (uint e = 0; e < AREA && !positive; e++)
        a[e] = e % (BLOCK + 1) == 0;
    return positive;
}

// 1 / sqrt of diagonal entry k of node i, or 0 if the entry is round-off. Host: Stage::scales
SUM coarsen_schwarz_scale(const uint i, const uint k, NUMBERS, __global const SUM *diagonals,
                          __global const SUM *sizes) {
    const SUM d = DIAGONAL(i, k * (BLOCK + 1));
    const SUM size = i < fine ? 0 : sizes[(size_t)(i - fine) * BLOCK + k];
    return d > ROUND_OFF * (SUM)EPSILON * size && isfinite(d) ? 1 / sqrt(d) : 0;
}

// Inverses of the diagonal blocks of nodes in no domain, one node per item. A block that is not positive
// definite is replaced by its diagonal, and reported in `repairs`.      Host: check::check
__kernel void coarsen_schwarz_alone(const uint count, __global const uint *nodes, NUMBERS,
                                    __global const SUM *diagonals, __global REAL *d, const uint domains,
                                    __global uint *repairs) {
    const uint at = get_global_id(0);
    if (at >= count)
        return;
    const uint i = nodes[at];
    SUM scale[BLOCK];
    WORK a[AREA];
    for (uint k = 0; k < BLOCK; k++)
        scale[k] = coarsen_schwarz_scale(i, k, NUMBERS_GIVEN, diagonals, diagonals);
    repairs[domains + at] = coarsen_schwarz_block(i, NUMBERS_GIVEN, diagonals, scale, a) ? 0 : 2;
    for (uint e = 0; e < AREA; e++) {
        const uint row = e / BLOCK, column = e % BLOCK, lower = max(row, column) * BLOCK + min(row, column);
        d[(size_t)at * AREA + e] = (REAL)(a[lower] * scale[row] * scale[column]);
    }
}

// released[group] = the first node in a group that had no couplings when the structure was chosen but that the
// matrix couples now, or NONE. Host: Plan::serves
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_schwarz_released(const uint n, ROWS, __global const VALUES *values, __global const uint *alone,
                              __global uint *released) {
    __local uint first[WIDTH];
    uint found = NONE;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        if (!alone[i])
            continue;
        for (uint k = 0; k < COUNT(i); k++) {
            const uint slot = FIRST_SLOT(i) + k * SLICE;
            for (uint e = 0; e < AREA && columns[slot] != i; e++)
                found = ENTRY(slot, e) != 0 ? min(found, i) : found;
        }
    }
    first[get_local_id(0)] = found;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint k = 1; k < WIDTH; k++)
            found = min(found, first[k]);
        released[get_group_id(0)] = found;
    }
}

// Whether a domain has a marked node.
uint coarsen_schwarz_marked(const uint first, const uint nodes, __global const uint *order,
                            __global const uint *marks) {
    uint mark = 0;
    for (uint p = first; p < first + nodes; p++)
        mark |= marks[order[p]];
    return mark;
}

// The index of entry (row, column), row >= column, of a packed matrix.  Host: packed::entry
uint coarsen_entry(const uint n, const uint row, const uint column) {
    return coarsen_tile(n, row / SIDE, column / SIDE) * TILE + column % SIDE * SIDE + row % SIDE;
}

// Its contacts.
#ifdef CONTACT
#define PRESS_ROW(a, scale, n, first, r, p_, row_) \
    for (uint q_ = met_starts[p_]; q_ < met_starts[(p_) + 1]; q_++) { \
        const uint k_ = met[2 * q_], c_ = (met[2 * q_ + 1] - (first)) * BLOCK; \
        for (uint e_ = 0; e_ < BLOCK; e_++) \
            (a)[coarsen_entry(n, r, c_ + e_)] += \
                (WORK)(PRESSED(k_, (row_) * BLOCK + e_) * ((scale)[c_ + e_] * (scale)[r])); \
    }
#else
#define PRESS_ROW(a, scale, n, first, r, p_, row_)
#endif

// Row r of the lower part of the scaled matrix of a domain.             Host: Stage::assemble
#define ASSEMBLE_ROW(a, scale, n, first, r, shift) \
    { \
        const uint p_ = (first) + (r) / BLOCK, row_ = (r) % BLOCK, i_ = order[p_]; \
        for (uint q_ = starts[p_]; q_ < starts[p_ + 1]; q_++) { \
            const uint slot_ = inner[2 * q_], c_ = (inner[2 * q_ + 1] - (first)) * BLOCK; \
            for (uint e_ = 0; e_ < BLOCK; e_++) \
                (a)[coarsen_entry(n, r, c_ + e_)] += \
                    (WORK)(ENTRY(slot_, row_ * BLOCK + e_) * ((scale)[c_ + e_] * (scale)[r])); \
        } \
        PRESS_ROW(a, scale, n, first, r, p_, row_) \
        for (uint e_ = 0; e_ < row_; e_++) \
            (a)[coarsen_entry(n, r, (r) - row_ + e_)] = \
                (WORK)(DIAGONAL(i_, row_ * BLOCK + e_) * ((scale)[(r) - row_ + e_] * (scale)[r])); \
        (a)[coarsen_entry(n, r, r)] = \
            (scale)[r] == 0 ? 1 : (WORK)(DIAGONAL(i_, row_ * (BLOCK + 1)) * ((scale)[r] * (scale)[r])) + (WORK)(shift); \
    }

// The number of shifts, as fractions of the diagonal: 0, 10, 100, ... times the smallest trusted pivot.
// Host: precompute::SHIFTS
#define ATTEMPTS 5

// The domains that a run inverts: all; all in one attempt, leaving untrusted domains to a run in a wider
// type; only the domains that were left. Host: Stage::domain
#define ALL 0
#define ONCE 1
#define LEFT 2
#define UNTRUSTED 3 // the mark in `repairs` of a domain left to the second run
