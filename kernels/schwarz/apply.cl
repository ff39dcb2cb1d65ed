// z = sum over levels of w C^T (sum over domains of S^T A^-1 S) C r (Wu, Wang, Wang 2022, §7): first the
// residuals of the coarse levels, then the domains of all coarse levels at once, then the domains of the
// finest level, which also add the coarse corrections.
//
// Deviation: in Fig. 12 and 13 the threads of a warp, which must run in step, walk along rows and columns of
// the matrix. Here an item of a group has one entry of a tile of 8 x 8 and keeps its own sums of its row and
// its column. The group synchronises only twice, and loads are in order of memory.

// coarse_s = the sum over the children of node s, first <= s < last; one unknown per item Host: cpu::restrict
__kernel void coarsen_schwarz_restrict(const uint first, const uint last, const uint fine,
                                       __global const uint *order, __global const uint *children,
                                       __global const REAL *r, __global REAL *coarse) {
    const uint at = get_global_id(0);
    if (at < (last - first) * BLOCK) {
        const uint s = first + at / BLOCK, k = at % BLOCK;
        const uint end = children[2 * s + 1];
        REAL sum = 0;
        for (uint p = children[2 * s]; p < end; p++) {
            const uint i = order[p];
            sum += i < fine ? r[(size_t)i * BLOCK + k] : coarse[(size_t)(i - fine) * BLOCK + k];
        }
        coarse[(size_t)s * BLOCK + k] = sum;
    }
}

// The sum over all coarser levels of the corrections to unknown k of node i.
REAL coarsen_schwarz_above(const uint i, const uint k, const uint fine, __global const uint *parent,
                           __global const REAL *coarse) {
    REAL sum = 0;
    for (uint s = parent[i]; s != NONE; s = parent[s])
        sum += coarse[(size_t)(s - fine) * BLOCK + k];
    return sum;
}

// `count` domains from d0 on: z = w A^-1 r, plus, on the finest level, the correction in `coarse`. Vectors begin with node
// `start`: 0 on the finest level, `fine` on coarse ones.
#define DOMAINS \
    const uint d0, const uint count, const uint fine, __global const uint *order, __global const uint *ranges, \
    __global const uint *offsets, __global const uint *parent, __global const STORED *packed, \
    __global const REAL *weights, const uint start, __global const REAL *r, \
    __global const REAL *coarse, __global REAL *z

#if !WIDE

// Up to 32 tiles along a side (528 tiles, 256 unknowns), all tiles are unrolled, so that sums stay in
// registers. Larger domains use loops: PoCL compiles the 8256 tiles of 1024 unknowns in 35 s unrolled, and in
// 3 s as loops.
#define UNROLLED 32
#if TILES <= UNROLLED
#define BOUND TILES
#else
#define BOUND n
#endif

// Domains from d0 on, one per group of 64 items.                        Host: Cpu::apply_domains
__kernel __attribute__((reqd_work_group_size(TILE, 1, 1)))
void coarsen_schwarz_domains(DOMAINS) {
    __local REAL x[TILES * SIDE], sums[TILES * TILE];
    const uint d = d0 + get_group_id(0);
    const uint t = get_local_id(0), row = t % SIDE, column = t / SIDE;
    const uint first = ranges[2 * d], m = (ranges[2 * d + 1] - first) * BLOCK;
    const uint n = (m + SIDE - 1) / SIDE;
    for (uint q = t; q < TILES * SIDE; q += TILE)
        x[q] = q < m ? r[(size_t)(order[first + q / BLOCK] - start) * BLOCK + q % BLOCK] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    __global const STORED *a = packed + (size_t)offsets[d] * TILE + t;
    REAL y[TILES], yt[TILES]; // parts of y = A x from the row and from the column of this entry
    for (uint i = 0; i < BOUND; i++)
        y[i] = 0;
#if TILES <= UNROLLED
#pragma unroll
#endif
    for (uint j = 0; j < BOUND; j++) {
        const REAL xj = x[j * SIDE + column];
        REAL s = 0;
        if (j < n) {
            y[j] += (REAL)*a * xj;
            a += TILE;
        }
#if TILES <= UNROLLED
#pragma unroll
#endif
        for (uint i = j + 1; i < BOUND; i++)
            if (i < n) {
                const REAL v = *a;
                a += TILE;
                y[i] += v * xj;
                s += v * x[i * SIDE + row];
            }
        yt[j] = s;
    }
    for (uint i = 0; i < BOUND; i++)
        sums[i * TILE + t] = y[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < BOUND; j++)
        sums[j * TILE + row * SIDE + column] += yt[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint q = t; q < m; q += TILE) {
        const uint i = order[first + q / BLOCK], k = q % BLOCK;
        REAL s = 0;
        for (uint u = 0; u < SIDE; u++)
            s += sums[q / SIDE * TILE + u * SIDE + q % SIDE];
        s *= weights[d];
        if (start == 0)
            s += coarsen_schwarz_above(i, k, fine, parent, coarse);
        z[(size_t)(i - start) * BLOCK + k] = s;
    }
}

#else

// Several domains per item, in wide registers. Under PoCL on a processor the form above takes 11 times as
// long in double and 23 times in float (cloth:200, two cores): barriers between the items of a group become
// loops over them.
#define WIDE_REAL JOIN(REAL, 8)
#define WIDEN(v) JOIN(convert_, WIDE_REAL)(v)

// Domain d by one item of a core with wide registers.                   Host: packed::multiply
void coarsen_schwarz_rows(const uint d, DOMAINS) {
    const uint first = ranges[2 * d], nodes = ranges[2 * d + 1] - first;
    const uint m = nodes * BLOCK, n = (m + SIDE - 1) / SIDE;
    REAL x[TILES * SIDE];
    WIDE_REAL y[TILES];
    for (uint a = 0; a < nodes; a++) {
        const uint i = order[first + a] - start;
        for (uint k = 0; k < BLOCK; k++)
            x[a * BLOCK + k] = r[(size_t)i * BLOCK + k];
    }
    for (uint q = m; q < n * SIDE; q++)
        x[q] = 0;
    for (uint i = 0; i < n; i++)
        y[i] = 0;
    __global const STORED *a = packed + (size_t)offsets[d] * TILE;
    for (uint j = 0; j < n; j++) {
        WIDE_REAL s = y[j], t0 = 0, t1 = 0, t2 = 0, t3 = 0, t4 = 0, t5 = 0, t6 = 0, t7 = 0;
        const REAL x0 = x[j * SIDE], x1 = x[j * SIDE + 1], x2 = x[j * SIDE + 2], x3 = x[j * SIDE + 3];
        const REAL x4 = x[j * SIDE + 4], x5 = x[j * SIDE + 5], x6 = x[j * SIDE + 6], x7 = x[j * SIDE + 7];
#define COLUMN(c) s = fma(WIDEN(vload8(c, a)), (WIDE_REAL)(x##c), s);
        COLUMN(0) COLUMN(1) COLUMN(2) COLUMN(3) COLUMN(4) COLUMN(5) COLUMN(6) COLUMN(7)
#undef COLUMN
        y[j] = s;
        a += TILE;
        for (uint i = j + 1; i < n; i++) {
            const WIDE_REAL xi = vload8(i, x);
            WIDE_REAL v, yi = y[i];
#define COLUMN(c) v = WIDEN(vload8(c, a)); yi = fma(v, (WIDE_REAL)(x##c), yi); t##c = fma(v, xi, t##c);
            COLUMN(0) COLUMN(1) COLUMN(2) COLUMN(3) COLUMN(4) COLUMN(5) COLUMN(6) COLUMN(7)
#undef COLUMN
            y[i] = yi;
            a += TILE;
        }
        // The sum over each t, for all eight at once.
        const WIDE_REAL u0 = (WIDE_REAL)(t0.lo + t0.hi, t1.lo + t1.hi), u1 = (WIDE_REAL)(t2.lo + t2.hi, t3.lo + t3.hi);
        const WIDE_REAL u2 = (WIDE_REAL)(t4.lo + t4.hi, t5.lo + t5.hi), u3 = (WIDE_REAL)(t6.lo + t6.hi, t7.lo + t7.hi);
        const WIDE_REAL w0 = (WIDE_REAL)(u0.even + u0.odd, u1.even + u1.odd);
        const WIDE_REAL w1 = (WIDE_REAL)(u2.even + u2.odd, u3.even + u3.odd);
        y[j] += (WIDE_REAL)(w0.even + w0.odd, w1.even + w1.odd);
    }
    const REAL *sums = (const REAL *)y;
    for (uint p = 0; p < nodes; p++) {
        const uint i = order[first + p];
        for (uint k = 0; k < BLOCK; k++) {
            const REAL s = weights[d] * sums[p * BLOCK + k];
            z[(size_t)(i - start) * BLOCK + k] = start == 0 ? s + coarsen_schwarz_above(i, k, fine, parent, coarse) : s;
        }
    }
}

// Domains from d0 on, divided among the items.                          Host: Cpu::apply_domains
__kernel void coarsen_schwarz_domains(DOMAINS) {
    const uint each = (count + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = each * get_global_id(0), end = min(count, begin + each);
    for (uint d = begin; d < end; d++)
        coarsen_schwarz_rows(d0 + d, d0, count, fine, order, ranges, offsets, parent, packed, weights, start, r, coarse, z);
}

#endif

// z = D r for nodes in no domain, one node per item; D symmetric        Host: Cpu::apply_domains
__kernel void coarsen_schwarz_left_out(const uint count, __global const uint *nodes, __global const REAL *d,
                                       __global const REAL *r, __global REAL *z) {
    const uint at = get_global_id(0);
    if (at < count) {
        const size_t i = (size_t)nodes[at] * BLOCK;
        for (uint row = 0; row < BLOCK; row++) {
            REAL s = 0;
            for (uint c = 0; c < BLOCK; c++)
                s += d[(size_t)at * AREA + row * BLOCK + c] * r[i + c];
            z[i + row] = s;
        }
    }
}

// z += the correction of the domain of each node, for the first `count` domains; one unknown of a domain per item
//                                                                       Host: CpuDomains::prolong
__kernel void coarsen_schwarz_prolong(const uint count, __global const uint *order, __global const uint *ranges,
                                      __global const REAL *corrections, __global REAL *z) {
    const uint at = get_global_id(0);
    if (at < count * BLOCK) {
        const uint d = at / BLOCK, k = at % BLOCK;
        for (uint p = ranges[2 * d]; p < ranges[2 * d + 1]; p++)
            z[(size_t)order[p] * BLOCK + k] += corrections[at];
    }
}
