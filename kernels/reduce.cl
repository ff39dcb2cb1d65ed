// Sums over vectors, bitwise the same in every run: each of G work groups sums its range into partial[k G + group], for up
// to six sums k. G depends on the length and on the kind of device. coarsen_scalars adds the G partial sums, as soon as a kernel needs them.

// x·y0 .. x·y3, of which the first `count` are computed                 Host: Vector::dots for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_dots(const ulong n, const uint count, __global const REAL *restrict x, __global const REAL *restrict y0,
                  __global const REAL *restrict y1, __global const REAL *restrict y2, __global const REAL *restrict y3,
                  __global SUM *restrict partial) {
    __local SUM shared[WIDTH];
    const size_t first = FIRST(n), last = LAST(n);
    PACK s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    PACKS(i, first, last) {
        const PACK xi = LOAD(x, i);
        s0 += xi * LOAD(y0, i);
        if (count > 1)
            s1 += xi * LOAD(y1, i);
        if (count > 2)
            s2 += xi * LOAD(y2, i);
        if (count > 3)
            s3 += xi * LOAD(y3, i);
    }
    SUM a0 = coarsen_across(s0), a1 = coarsen_across(s1), a2 = coarsen_across(s2), a3 = coarsen_across(s3);
    REST(i, first, last) {
        const SUM xi = x[i];
        a0 += xi * y0[i];
        a1 += xi * y1[i];
        a2 += xi * y2[i];
        a3 += xi * y3[i];
    }
    for (uint k = 0; k < count; k++) {
        const SUM total = coarsen_tree(shared, k == 0 ? a0 : k == 1 ? a1 : k == 2 ? a2 : a3);
        if (get_local_id(0) == 0)
            partial[k * get_num_groups(0) + get_group_id(0)] = total;
    }
}

// x0·y0 and the sum of |x0 y0|, .. x2·y2, of which the first `count` pairs are computed
//                                                                       Host: Vector::dot_magnitudes for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_dot_magnitudes(const ulong n, const uint count, __global const REAL *restrict x0, __global const REAL *restrict y0,
                            __global const REAL *restrict x1, __global const REAL *restrict y1, __global const REAL *restrict x2,
                            __global const REAL *restrict y2, __global SUM *restrict partial) {
    __local SUM shared[WIDTH];
    const size_t first = FIRST(n), last = LAST(n);
    PACK v0 = 0, v1 = 0, v2 = 0, m0 = 0, m1 = 0, m2 = 0;
#define MEET(x, y, i, value, magnitude) \
    { \
        const PACK t = LOAD(x, i) * LOAD(y, i); \
        value += t; \
        magnitude += fabs(t); \
    }
    PACKS(i, first, last) {
        MEET(x0, y0, i, v0, m0)
        if (count > 1)
            MEET(x1, y1, i, v1, m1)
        if (count > 2)
            MEET(x2, y2, i, v2, m2)
    }
#undef MEET
    SUM a0 = coarsen_across(v0), a1 = coarsen_across(v1), a2 = coarsen_across(v2);
    SUM b0 = coarsen_across(m0), b1 = coarsen_across(m1), b2 = coarsen_across(m2);
    REST(i, first, last) {
        const SUM t0 = (SUM)x0[i] * y0[i], t1 = (SUM)x1[i] * y1[i], t2 = (SUM)x2[i] * y2[i];
        a0 += t0;
        b0 += fabs(t0);
        a1 += t1;
        b1 += fabs(t1);
        a2 += t2;
        b2 += fabs(t2);
    }
    for (uint k = 0; k < 2 * count; k++) {
        const SUM part = k == 0 ? a0 : k == 1 ? b0 : k == 2 ? a1 : k == 3 ? b1 : k == 4 ? a2 : b2;
        const SUM total = coarsen_tree(shared, part);
        if (get_local_id(0) == 0)
            partial[k * get_num_groups(0) + get_group_id(0)] = total;
    }
}

// x += a p, r -= a q, r·r                                               Host: Vector::cg_update for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_cg_update(const ulong n, __global const REAL *restrict slots, const uint a, __global const REAL *restrict p,
                     __global const REAL *restrict q, __global REAL *restrict x, __global REAL *restrict r, __global SUM *restrict partial) {
    __local SUM shared[WIDTH];
    const REAL factor = slots[a];
    const size_t first = FIRST(n), last = LAST(n);
    PACK squares = 0;
    PACKS(i, first, last) {
        PUT(GET(x, i) + factor * GET(p, i), x, i);
        const ENTRIES t = GET(r, i) - factor * GET(q, i);
        PUT(t, r, i);
        const PACK as_sum = JOIN(convert_, PACK)(t);
        squares += as_sum * as_sum;
    }
    SUM rr = coarsen_across(squares);
    REST(i, first, last) {
        x[i] += factor * p[i];
        const REAL t = r[i] - factor * q[i];
        r[i] = t;
        rr += (SUM)t * t;
    }
    rr = coarsen_tree(shared, rr);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = rr;
}
