// Prefix sums of a list, and a stable sort by digits, both without atomic operations: every item counts its
// own entries, counts are summed, and the sums give every item the positions of its entries. Sums above UINT_MAX
// are UINT_MAX, so that a total that no index holds exceeds every capacity. Build options define
//   CHUNK  the number of entries per item

// sums[k] = the sum of chunk k                                          Host: morton::sort
__kernel void coarsen_scan_sums(const uint count, __global const uint *list, __global uint *sums) {
    const uint k = get_global_id(0), begin = k * CHUNK;
    if (begin >= count)
        return;
    uint sum = 0;
    for (uint i = begin; i < min(count, begin + CHUNK); i++)
        sum = add_sat(sum, list[i]);
    sums[k] = sum;
}

// Exclusive prefix sums of `count` entries in place, by one group, followed by the total. Host: morton::sort
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void coarsen_scan_group(const uint count, __global uint *sums) {
    __local uint shared[64];
    const uint t = get_local_id(0), each = (count + 63) / 64, begin = min(count, t * each), end = min(count, begin + each);
    uint sum = 0;
    for (uint i = begin; i < end; i++)
        sum = add_sat(sum, sums[i]);
    shared[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = 0;
    for (uint i = 0; i < t; i++)
        before = add_sat(before, shared[i]);
    for (uint i = begin; i < end; i++) {
        const uint v = sums[i];
        sums[i] = before;
        before = add_sat(before, v);
    }
    if (t == 63)
        sums[count] = before;
}

// Exclusive prefix sums of a list in place, from the sums of chunks, then the total. Host: morton::sort
__kernel void coarsen_scan_entries(const uint count, __global const uint *sums, __global uint *list) {
    const uint k = get_global_id(0), begin = k * CHUNK;
    if (begin >= count)
        return;
    uint before = sums[k];
    for (uint i = begin; i < min(count, begin + CHUNK); i++) {
        const uint v = list[i];
        list[i] = before;
        before = add_sat(before, v);
    }
    if (begin + CHUNK >= count)
        list[count] = before;
}

#define DIGITS 64
#define DIGIT(key, shift) ((uint)((key) >> (shift)) % DIGITS)
#define SORTED 64 // keys per item

// The number of times that each digit occurs in the keys of an item: counts[digit items + item].
// Host: morton::sort
__kernel void coarsen_sort_count(const uint n, const uint items, const uint shift, __global const uint *order,
                                 __global const ulong *keys, __global uint *counts) {
    const uint item = get_global_id(0);
    if (item >= items)
        return;
    uint found[DIGITS];
    for (uint d = 0; d < DIGITS; d++)
        found[d] = 0;
    for (uint k = item * SORTED; k < min(n, (item + 1) * SORTED); k++)
        found[DIGIT(keys[order[k]], shift)]++;
    for (uint d = 0; d < DIGITS; d++)
        counts[d * items + item] = found[d];
}

// Moves every key to the position given by the prefix sums of counts.   Host: morton::sort
__kernel void coarsen_sort_move(const uint n, const uint items, const uint shift, __global const uint *order,
                                __global const ulong *keys, __global const uint *counts, __global uint *to) {
    const uint item = get_global_id(0);
    if (item >= items)
        return;
    uint next[DIGITS];
    for (uint d = 0; d < DIGITS; d++)
        next[d] = counts[d * items + item];
    for (uint k = item * SORTED; k < min(n, (item + 1) * SORTED); k++) {
        const uint i = order[k];
        to[next[DIGIT(keys[i], shift)]++] = i;
    }
}
