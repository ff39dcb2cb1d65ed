// The inverse of a symmetric positive definite matrix (Wu, Wang, Wang 2022, §6.2): one-way Gauss-Jordan
// elimination of [A | I] to [D L^T | L^-1] in place, then L^-T D^-1 L^-1.
//
//   A, then L^-1 below the diagonal                     a, packed in tiles
//   D^-1                                                d
//   column k of A over its pivot; row and column k      f, g

// The largest trace of a trusted inverse, over the reciprocal of the smallest trusted pivot.
//                                                                       Host: dense::LARGEST
#define LARGEST 10

// What to add to the diagonal of an inverse with this trace, so that it stays positive definite when it is rounded.
//                                                                       Host: dense::raise
#define TWICE_ROUND_OFF(type) (sizeof(type) == sizeof(float) ? 0x1p-23f : 0x1p-52f)
WORK coarsen_raise(const WORK trace, const uint rows) {
    const WORK raise = (TWICE_ROUND_OFF(STORED) + rows * TWICE_ROUND_OFF(WORK)) * trace;
    return raise * rows <= 1 ? 0 : raise;
}

// a = the inverse of the diagonal block of a node, for a domain that is not positive definite.
#define INVERT_BLOCK(a, scale, n, first, node) \
    { \
        WORK block_[AREA]; \
        SUM scale_[BLOCK]; \
        for (uint k_ = 0; k_ < BLOCK; k_++) \
            scale_[k_] = (scale)[(node) * BLOCK + k_]; \
        coarsen_schwarz_block(order[(first) + (node)], NUMBERS_GIVEN, diagonals, scale_, block_); \
        for (uint e_ = 0; e_ < AREA; e_++) { \
            const uint r_ = (node) * BLOCK + e_ / BLOCK, c_ = (node) * BLOCK + e_ % BLOCK; \
            if (r_ >= c_) \
                (a)[coarsen_entry(n, r_, c_)] = block_[e_]; \
            if (r_ > c_ && r_ / SIDE == c_ / SIDE) \
                (a)[coarsen_entry(n, c_, r_)] = block_[e_]; \
        } \
    }

#if !WIDE

// One domain per group of 64 items, in local memory: 78 tiles of 96 x 96 take 20 KB in float, 40 KB in
// double.                                                               Host: Workspace::invert
__kernel __attribute__((reqd_work_group_size(TILE, 1, 1)))
void coarsen_schwarz_invert(const uint domains, NUMBERS, __global const uint *ranges, __global const uint *offsets,
                            const uint some, __global const uint *marks, __global const SUM *diagonals,
                            __global const SUM *sizes, const uint run, const REAL trust,
                            __global STORED *packed, __global uint *repairs) {
    __local WORK a[TILES * (TILES + 1) / 2 * TILE], f[TILES * SIDE], g[TILES * SIDE], d[TILES * SIDE];
    __local SUM scale[TILES * SIDE];
    const uint domain = get_group_id(0), t = get_local_id(0), row = t % SIDE, column = t / SIDE;
    const uint first = ranges[2 * domain], nodes = ranges[2 * domain + 1] - first;
    const uint m = nodes * BLOCK, n = (m + SIDE - 1) / SIDE, tiles = n * (n + 1) / 2;
    if ((some && !coarsen_schwarz_marked(first, nodes, order, marks)) || (run == LEFT && repairs[domain] != UNTRUSTED))
        return;
    for (uint r = t; r < n * SIDE; r += TILE)
        scale[r] = r < m ? coarsen_schwarz_scale(order[first + r / BLOCK], r % BLOCK, NUMBERS_GIVEN, diagonals, sizes) : 0;
    WORK least = 0, shift = 0, trace = 0;
    uint attempt = 0;
    for (; attempt < (run == ONCE ? 1 : ATTEMPTS) && !(least > trust); attempt++) {
        for (uint k = 0; k < tiles; k++)
            a[k * TILE + t] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint r = t; r < m; r += TILE)
            ASSEMBLE_ROW(a, scale, n, first, r, shift)
        shift = shift == 0 ? 10 * (WORK)trust : 10 * shift;
        barrier(CLK_LOCAL_MEM_FENCE);
        least = INFINITY;
        for (uint k = 0; k < m; k++) {
            const WORK pivot = a[coarsen_entry(n, k, k)];
            // A pivot that is not positive is replaced by 1, so that all items run in step.
            least = pivot > 0 ? fmin(least, pivot) : 0;
            const WORK over = pivot > 0 ? 1 / pivot : 1;
            for (uint r = t; r < n * SIDE; r += TILE) {
                const WORK below = r > k ? a[coarsen_entry(n, r, k)] : 0;
                f[r] = below * over;
                g[r] = r > k ? below : r < k ? a[coarsen_entry(n, k, r)] : 0;
            }
            if (t == 0)
                d[k] = over;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = k / SIDE; i < n; i++) {
                const WORK fi = f[i * SIDE + row];
                const uint below = i * SIDE + row > k;
                for (uint j = 0; j <= i; j++) {
                    const uint at = coarsen_tile(n, i, j) * TILE + t, c = j * SIDE + column;
                    a[at] = c == k && below ? -fi : a[at] - fi * g[c];
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (least > trust) {
            for (uint r = t; r < m; r += TILE) {
                WORK sum = d[r]; // entry (r, r) of L^-T D^-1 L^-1
                for (uint k = r + 1; k < m; k++) {
                    const WORK below = a[coarsen_entry(n, k, r)];
                    sum += below * below * d[k];
                }
                f[r] = sum;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            trace = 0;
            for (uint r = 0; r < m; r++)
                trace += f[r];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!(trace * trust <= LARGEST))
                least = 0;
        }
    }
    if (run == ONCE && !(least > trust)) {
        if (t == 0)
            repairs[domain] = UNTRUSTED;
        return;
    }
    __global STORED *out = packed + (size_t)offsets[domain] * TILE;
    if (least > trust) {
        const WORK raise = coarsen_raise(trace, n * SIDE);
        // L^-1 has ones on its diagonal and zeros above the diagonal.
        for (uint i = 0; i < n; i++)
            if (row <= column)
                a[coarsen_tile(n, i, i) * TILE + t] = row == column;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < n; j++)
            for (uint i = j; i < n; i++) {
                const uint r = i * SIDE + row, c = j * SIDE + column;
                WORK sum = 0;
                for (uint k = i * SIDE; k < m; k++) {
                    // Tiles are stored by columns: entry (k, r) of tile (k / 8, i).
                    const WORK left = a[coarsen_tile(n, k / SIDE, i) * TILE + row * SIDE + k % SIDE];
                    const WORK right = a[coarsen_tile(n, k / SIDE, j) * TILE + column * SIDE + k % SIDE];
                    sum += left * right * d[k];
                }
                sum += r == c ? raise : 0;
                out[coarsen_tile(n, i, j) * TILE + t] = (STORED)(sum * (scale[r] * scale[c]));
            }
        if (t == 0)
            repairs[domain] = attempt > 1;
        return;
    }
    for (uint k = 0; k < tiles; k++)
        a[k * TILE + t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint node = t; node < nodes; node += TILE)
        INVERT_BLOCK(a, scale, n, first, node)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < n; j++)
        for (uint i = j; i < n; i++) {
            const uint at = coarsen_tile(n, i, j) * TILE + t;
            out[at] = (STORED)(a[at] * (scale[i * SIDE + row] * scale[j * SIDE + column]));
        }
    if (t == 0)
        repairs[domain] = 2;
}

#else

// Several domains per item, in wide registers. Under PoCL on a processor the form above takes 12 times as
// long (cloth:200 in double, two cores).
#define WIDE_WORK JOIN(WORK, 8)
#define WIDE_SUM JOIN(SUM, 8)
#define WIDE_STORED JOIN(STORED, 8)

// c += l r, tiles by columns.                                           Host: eliminate::accumulate
#define ACCUMULATE(c, l, r) \
    { \
        const WIDE_WORK l0 = (l)[0], l1 = (l)[1], l2 = (l)[2], l3 = (l)[3]; \
        const WIDE_WORK l4 = (l)[4], l5 = (l)[5], l6 = (l)[6], l7 = (l)[7]; \
        const WORK *r_ = (const WORK *)(r); \
        for (uint c_ = 0; c_ < SIDE; c_++) { \
            WIDE_WORK s_ = (c)[c_]; \
            s_ = fma(l0, (WIDE_WORK)(r_[c_ * SIDE]), s_); \
            s_ = fma(l1, (WIDE_WORK)(r_[c_ * SIDE + 1]), s_); \
            s_ = fma(l2, (WIDE_WORK)(r_[c_ * SIDE + 2]), s_); \
            s_ = fma(l3, (WIDE_WORK)(r_[c_ * SIDE + 3]), s_); \
            s_ = fma(l4, (WIDE_WORK)(r_[c_ * SIDE + 4]), s_); \
            s_ = fma(l5, (WIDE_WORK)(r_[c_ * SIDE + 5]), s_); \
            s_ = fma(l6, (WIDE_WORK)(r_[c_ * SIDE + 6]), s_); \
            s_ = fma(l7, (WIDE_WORK)(r_[c_ * SIDE + 7]), s_); \
            (c)[c_] = s_; \
        } \
    }

// The transpose of a tile.
void coarsen_transpose(const WIDE_WORK *from, WIDE_WORK *to) {
    const WORK *f = (const WORK *)from;
    for (uint r = 0; r < SIDE; r++)
        to[r] = (WIDE_WORK)(f[r], f[SIDE + r], f[2 * SIDE + r], f[3 * SIDE + r], f[4 * SIDE + r], f[5 * SIDE + r],
                            f[6 * SIDE + r], f[7 * SIDE + r]);
}

// The inverse of one tile, L^-T D^-1 L^-1, by one-way elimination; returns the smallest pivot.
//                                                                       Host: eliminate::invert_tile
WORK coarsen_invert_tile(WIDE_WORK *a) {
    WORK *entries = (WORK *)a, d[SIDE], least = INFINITY;
    for (uint k = 0; k < SIDE; k++) {
        const WORK pivot = entries[k * SIDE + k];
        if (!(pivot > 0))
            return 0;
        least = fmin(least, pivot);
        d[k] = 1 / pivot;
        WIDE_WORK factors = 0;
        for (uint i = k + 1; i < SIDE; i++)
            ((WORK *)&factors)[i] = -(entries[k * SIDE + i] * d[k]);
        for (uint c = 0; c < SIDE; c++)
            a[c] = fma(factors, (WIDE_WORK)(entries[c * SIDE + k]), a[c]);
        a[k] = factors;
        entries[k * SIDE + k] = 1;
    }
    WIDE_WORK rows[SIDE];
    coarsen_transpose(a, rows);
    for (uint c = 0; c < SIDE; c++)
        a[c] = 0;
    for (uint k = 0; k < SIDE; k++)
        for (uint c = 0; c <= k; c++)
            a[c] = fma(rows[k], (WIDE_WORK)(d[k] * ((WORK *)rows)[k * SIDE + c]), a[c]);
    for (uint c = 0; c < SIDE; c++)
        for (uint r = 0; r < c; r++)
            entries[c * SIDE + r] = entries[r * SIDE + c];
    return least;
}

// The inverse of a matrix of n x n tiles in place; returns the smallest pivot. If the pivot is not positive,
// `a` is invalid.                                                       Host: Workspace::invert
WORK coarsen_invert(const uint n, WIDE_WORK *a, WIDE_WORK *q, WIDE_WORK *d, WIDE_WORK *f) {
    WORK least = INFINITY;
    for (uint k = 0; k < n; k++) {
        WIDE_WORK *dk = d + k * SIDE;
        for (uint c = 0; c < SIDE; c++)
            dk[c] = a[coarsen_tile(n, k, k) * SIDE + c];
        const WORK pivot = coarsen_invert_tile(dk);
        if (!(pivot > 0))
            return 0;
        least = fmin(least, pivot);
        for (uint i = k + 1; i < n; i++) {
            WIDE_WORK product[SIDE];
            for (uint c = 0; c < SIDE; c++)
                product[c] = 0;
            ACCUMULATE(product, a + coarsen_tile(n, i, k) * SIDE, dk)
            for (uint c = 0; c < SIDE; c++)
                f[i * SIDE + c] = -product[c];
        }
        for (uint j = 0; j < k; j++) {
            WIDE_WORK *kj = a + coarsen_tile(n, k, j) * SIDE;
            for (uint i = k + 1; i < n; i++)
                ACCUMULATE(a + coarsen_tile(n, i, j) * SIDE, f + i * SIDE, kj)
        }
        for (uint j = k + 1; j < n; j++) {
            WIDE_WORK transposed[SIDE];
            coarsen_transpose(a + coarsen_tile(n, j, k) * SIDE, transposed);
            for (uint i = j; i < n; i++)
                ACCUMULATE(a + coarsen_tile(n, i, j) * SIDE, f + i * SIDE, transposed)
        }
        for (uint i = k + 1; i < n; i++)
            for (uint c = 0; c < SIDE; c++)
                a[coarsen_tile(n, i, k) * SIDE + c] = f[i * SIDE + c];
    }
    for (uint k = 0; k < n; k++) { // q = D^-1 L^-1
        for (uint j = 0; j < k; j++) {
            WIDE_WORK *product = q + coarsen_tile(n, k, j) * SIDE;
            for (uint c = 0; c < SIDE; c++)
                product[c] = 0;
            ACCUMULATE(product, d + k * SIDE, a + coarsen_tile(n, k, j) * SIDE)
        }
        for (uint c = 0; c < SIDE; c++)
            q[coarsen_tile(n, k, k) * SIDE + c] = d[k * SIDE + c];
    }
    for (uint i = 0; i < n; i++) { // row i of the inverse needs only rows below i of L^-1
        for (uint k = i + 1; k < n; k++)
            coarsen_transpose(a + coarsen_tile(n, k, i) * SIDE, f + k * SIDE);
        for (uint j = 0; j <= i; j++) {
            WIDE_WORK sum[SIDE];
            for (uint c = 0; c < SIDE; c++)
                sum[c] = q[coarsen_tile(n, i, j) * SIDE + c];
            for (uint k = i + 1; k < n; k++)
                ACCUMULATE(sum, f + k * SIDE, q + coarsen_tile(n, k, j) * SIDE)
            if (i == j)
                for (uint c = 0; c < SIDE; c++)
                    for (uint r = 0; r < c; r++)
                        ((WORK *)sum)[c * SIDE + r] = ((WORK *)sum)[r * SIDE + c];
            for (uint c = 0; c < SIDE; c++)
                a[coarsen_tile(n, i, j) * SIDE + c] = sum[c];
        }
    }
    return least;
}

// Several domains per item.                                             Host: Workspace::invert
__kernel void coarsen_schwarz_invert(const uint domains, NUMBERS, __global const uint *ranges,
                                     __global const uint *offsets, const uint some, __global const uint *marks,
                                     __global const SUM *diagonals, __global const SUM *sizes, const uint run,
                                     const REAL trust, __global STORED *packed, __global uint *repairs) {
    WIDE_WORK tiles[TILES * (TILES + 1) / 2 * SIDE], q[TILES * (TILES + 1) / 2 * SIDE];
    WIDE_WORK d[TILES * SIDE], f[TILES * SIDE];
    SUM scale[TILES * SIDE];
    WORK *a = (WORK *)tiles;
    const uint each = (domains + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = each * get_global_id(0), end = min(domains, begin + each);
    for (uint domain = begin; domain < end; domain++) {
        const uint first = ranges[2 * domain], nodes = ranges[2 * domain + 1] - first;
        const uint m = nodes * BLOCK, n = (m + SIDE - 1) / SIDE;
        if ((some && !coarsen_schwarz_marked(first, nodes, order, marks)) || (run == LEFT && repairs[domain] != UNTRUSTED))
            continue;
        for (uint r = 0; r < n * SIDE; r++)
            scale[r] = r < m ? coarsen_schwarz_scale(order[first + r / BLOCK], r % BLOCK, NUMBERS_GIVEN, diagonals, sizes) : 0;
        WORK least = 0, shift = 0, trace = 0;
        uint attempt = 0;
        for (; attempt < (run == ONCE ? 1 : ATTEMPTS) && !(least > trust); attempt++) {
            for (uint k = 0; k < n * (n + 1) / 2 * SIDE; k++)
                tiles[k] = 0;
            for (uint r = 0; r < m; r++)
                ASSEMBLE_ROW(a, scale, n, first, r, shift)
            for (uint r = m; r < n * SIDE; r++)
                a[coarsen_entry(n, r, r)] = 1;
            for (uint k = 0; k < n; k++) {
                WORK *t = a + coarsen_tile(n, k, k) * TILE;
                for (uint c = 0; c < SIDE; c++)
                    for (uint r = 0; r < c; r++)
                        t[c * SIDE + r] = t[r * SIDE + c];
            }
            shift = shift == 0 ? 10 * (WORK)trust : 10 * shift;
            least = coarsen_invert(n, tiles, q, d, f);
            if (least > trust) {
                trace = 0;
                for (uint r = 0; r < n * SIDE; r++)
                    trace += a[coarsen_entry(n, r, r)];
                if (!(trace * trust <= LARGEST))
                    least = 0;
            }
        }
        if (least > trust) {
            const WORK raise = coarsen_raise(trace, n * SIDE);
            for (uint r = 0; raise > 0 && r < m; r++)
                a[coarsen_entry(n, r, r)] += raise;
        }
        repairs[domain] = run == ONCE && !(least > trust) ? UNTRUSTED : attempt > 1;
        if (repairs[domain] == UNTRUSTED)
            continue;
        if (!(least > trust)) {
            repairs[domain] = 2;
            for (uint k = 0; k < n * (n + 1) / 2 * SIDE; k++)
                tiles[k] = 0;
            for (uint node = 0; node < nodes; node++)
                INVERT_BLOCK(a, scale, n, first, node)
        }
        __global STORED *out = packed + (size_t)offsets[domain] * TILE;
        for (uint j = 0; j < n; j++)
            for (uint i = j; i < n; i++) {
                const uint at = coarsen_tile(n, i, j) * SIDE;
                const WIDE_SUM rows = vload8(i, scale);
                for (uint c = 0; c < SIDE; c++) {
                    const WIDE_SUM v = JOIN(convert_, WIDE_SUM)(tiles[at + c]) * (rows * scale[j * SIDE + c]);
                    vstore8(JOIN(convert_, WIDE_STORED)(v), at + c, out);
                }
            }
    }
}

#endif
