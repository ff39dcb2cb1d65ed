// Sums over vectors in two launches, bitwise the same in every run.
//
// First each of G work groups sums its range into partial[k G + group], for up to six sums k; G depends only
// on the length. Then coarsen_total adds the G partial sums in one group.

// x·y0 .. x·y3, of which the first `count` are computed                 Twin: Vector::dots for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_dots(const ulong n, const uint count, __global const REAL *x, __global const REAL *y0,
                  __global const REAL *y1, __global const REAL *y2, __global const REAL *y3,
                  __global SUM *partial) {
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
    SUM s[4] = {coarsen_across(s0), coarsen_across(s1), coarsen_across(s2), coarsen_across(s3)};
    REST(i, first, last) {
        const SUM xi = x[i];
        s[0] += xi * y0[i];
        s[1] += xi * y1[i];
        s[2] += xi * y2[i];
        s[3] += xi * y3[i];
    }
    for (uint k = 0; k < count; k++) {
        const SUM total = coarsen_tree(shared, s[k]);
        if (get_local_id(0) == 0)
            partial[k * get_num_groups(0) + get_group_id(0)] = total;
    }
}

// x·y and the sum of |x y|                                              Twin: Vector::dot_magnitude for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_dot_magnitude(const ulong n, __global const REAL *x, __global const REAL *y, __global SUM *partial) {
    __local SUM shared[WIDTH];
    const size_t first = FIRST(n), last = LAST(n);
    PACK values = 0, magnitudes = 0;
    PACKS(i, first, last) {
        const PACK t = LOAD(x, i) * LOAD(y, i);
        values += t;
        magnitudes += fabs(t);
    }
    SUM value = coarsen_across(values), magnitude = coarsen_across(magnitudes);
    REST(i, first, last) {
        const SUM t = (SUM)x[i] * y[i];
        value += t;
        magnitude += fabs(t);
    }
    value = coarsen_tree(shared, value);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = value;
    magnitude = coarsen_tree(shared, magnitude);
    if (get_local_id(0) == 0)
        partial[get_num_groups(0) + get_group_id(0)] = magnitude;
}

// x0·y0 and the sum of |x0 y0|, .. x2·y2, of which the first `count` pairs are computed; bitwise equal to
// coarsen_dot_magnitude.                                                Twin: Vector::dot_magnitudes for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_dot_magnitudes(const ulong n, const uint count, __global const REAL *x0, __global const REAL *y0,
                            __global const REAL *x1, __global const REAL *y1, __global const REAL *x2,
                            __global const REAL *y2, __global SUM *partial) {
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
    SUM s[6] = {coarsen_across(v0), coarsen_across(m0), coarsen_across(v1), coarsen_across(m1), coarsen_across(v2),
                coarsen_across(m2)};
    REST(i, first, last) {
        const SUM t[3] = {(SUM)x0[i] * y0[i], (SUM)x1[i] * y1[i], (SUM)x2[i] * y2[i]};
        for (uint k = 0; k < 3; k++) {
            s[2 * k] += t[k];
            s[2 * k + 1] += fabs(t[k]);
        }
    }
    for (uint k = 0; k < 2 * count; k++) {
        const SUM total = coarsen_tree(shared, s[k]);
        if (get_local_id(0) == 0)
            partial[k * get_num_groups(0) + get_group_id(0)] = total;
    }
}

// x += a p, r -= a q, r·r                                               Twin: Vector::cg_update for Vec
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_advance(const ulong n, __global const REAL *slots, const uint a, __global const REAL *p,
                     __global const REAL *q, __global REAL *x, __global REAL *r, __global SUM *partial) {
    __local SUM shared[WIDTH];
    const REAL factor = slots[a];
    const size_t first = FIRST(n), last = LAST(n);
    PACK squares = 0;
    PACKS(i, first, last) {
        PUT(GET(x, i) + factor * GET(p, i), x, i);
        const ENTRIES t = GET(r, i) - factor * GET(q, i);
        PUT(t, r, i);
        const PACK wide = JOIN(convert_, PACK)(t);
        squares += wide * wide;
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

// Sums `groups` partial sums each into the first `count` slots, by one group. Twin: parallel::tree
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_total(const uint groups, const uint count, __global const SUM *partial, __global REAL *slots,
                   const uint out0, const uint out1, const uint out2, const uint out3, const uint out4,
                   const uint out5) {
    __local SUM shared[WIDTH];
    const uint out[6] = {out0, out1, out2, out3, out4, out5};
    for (uint k = 0; k < count; k++) {
        SUM s = 0;
        for (uint g = get_local_id(0); g < groups; g += WIDTH)
            s += partial[k * groups + g];
        s = coarsen_tree(shared, s);
        if (get_local_id(0) == 0)
            slots[out[k]] = s;
    }
}
