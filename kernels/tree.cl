// Partial sums: ranges of entries for groups, packs of LANES entries for items, a binary tree inside a group.
// Under PoCL on a processor a group of 256 items takes 3.3 times as long for an inner product (cloth:200 in
// double).

#if LANES == 8
#define PACK JOIN(SUM, 8)
#define LOAD(p, i) JOIN(convert_, PACK)(vload8(0, (p) + (i)))
#else
#define PACK SUM
#define LOAD(p, i) ((SUM)(p)[i])
#endif

// LANES entries of a vector, in the type of the vector.
#if LANES == 8
#define ENTRIES JOIN(REAL, 8)
#define GET(p, i) vload8(0, (p) + (i))
#define PUT(v, p, i) vstore8(v, 0, (p) + (i))
#else
#define ENTRIES REAL
#define GET(p, i) (p)[i]
#define PUT(v, p, i) (p)[i] = (v)
#endif

// The number of entries per group out of n: whole packs for all items, so that a processor reads memory in
// order.
#define STRETCH ((size_t)WIDTH * LANES)
#define SHARE(n) (((n) + get_num_groups(0) * STRETCH - 1) / (get_num_groups(0) * STRETCH) * STRETCH)
#define FIRST(n) min((size_t)(n), get_group_id(0) * SHARE(n))
#define LAST(n) min((size_t)(n), (get_group_id(0) + 1) * SHARE(n))
// The packs of an item between two entries.
#define PACKS(i, first, last) \
    for (size_t i = (first) + LANES * get_local_id(0); i + LANES <= (last); i += STRETCH)
// The remaining entries, fewer than a pack.
#define REST(i, first, last) \
    for (size_t i = (first) + ((last) - (first)) / LANES * LANES + get_local_id(0); i < (last); i += WIDTH)

// The sum over a pack.                                                  Host: Pack::sum
SUM coarsen_across(const PACK v) {
#if LANES == 8
    const JOIN(SUM, 4) h = v.lo + v.hi;
    const JOIN(SUM, 2) q = h.lo + h.hi;
    return q.lo + q.hi;
#else
    return v;
#endif
}

// The sum of v over the work group, for its item 0.                     Host: parallel::tree
SUM coarsen_tree(__local SUM *shared, const SUM v) {
    const uint item = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[item] = v;
    for (uint half_width = WIDTH / 2; half_width > 0; half_width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_width)
            shared[item] += shared[item + half_width];
    }
    return shared[0];
}
