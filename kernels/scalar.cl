// Slots: `slots` holds every scalar of a queue.

// The result of an operation on three slots, see coarsen_scalars.
REAL coarsen_scalar(const uint code, const REAL x, const REAL y, const REAL z) {
    switch (code) {
    case 4:
        return -x;
    case 5:
        return x + y;
    case 6:
        return x * y;
    case 7:
        return x / y;
    case 8:
        return y > z && !isnan(x) ? x / y : 0;
    default:
        return isnan(x) || x <= y ? x : y;
    }
}

// Operations on slots, pending until a kernel needs one of them, `count` in order, by one group. Operation k is the words
// 2 k and 2 k + 1: 8 bits of its code, 28 each of the slots `out` and a; 32 each of b and c.
//   0 .. 3  the sum of b partial sums from entry c of p0 .. p3 on
//   4 .. 7  -a, a + b, a b, a / b
//   8       a / b if b > c, otherwise 0; also 0 if any of them is NaN
//   9       the smaller of a and b; NaN if one of them is NaN
//   10      the number with the bits of the second word                Host: Scalar for f64, parallel::tree
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_scalars(__global REAL *slots, __global const SUM *p0, __global const SUM *p1, __global const SUM *p2,
                     __global const SUM *p3, const uint count, const ulong w0, const ulong w1, const ulong w2,
                     const ulong w3, const ulong w4, const ulong w5, const ulong w6, const ulong w7, const ulong w8,
                     const ulong w9, const ulong w10, const ulong w11, const ulong w12, const ulong w13,
                     const ulong w14, const ulong w15, const ulong w16, const ulong w17, const ulong w18,
                     const ulong w19, const ulong w20, const ulong w21, const ulong w22, const ulong w23) {
    __local SUM shared[WIDTH];
    const ulong words[24] = {w0,  w1,  w2,  w3,  w4,  w5,  w6,  w7,  w8,  w9,  w10, w11,
                             w12, w13, w14, w15, w16, w17, w18, w19, w20, w21, w22, w23};
    for (uint k = 0; k < count; k++) {
        const ulong first = words[2 * k], second = words[2 * k + 1];
        const uint code = (uint)(first >> 56), out = (uint)(first >> 28) & 0xfffffff, a = (uint)first & 0xfffffff;
        const uint b = (uint)(second >> 32), c = (uint)second;
        REAL v = 0;
        if (code < 4) {
            __global const SUM *partial = code == 0 ? p0 : code == 1 ? p1 : code == 2 ? p2 : p3;
            SUM s = 0;
            for (uint g = get_local_id(0); g < b; g += WIDTH)
                s += partial[c + g];
            v = coarsen_tree(shared, s);
        } else if (code == 10) {
            const union {
                ulong bits;
                REAL v;
            } number = {second};
            v = number.v;
        } else if (get_local_id(0) == 0)
            v = coarsen_scalar(code, slots[a], slots[b], slots[c]);
        if (get_local_id(0) == 0)
            slots[out] = v;
    }
}
