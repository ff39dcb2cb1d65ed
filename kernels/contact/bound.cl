// The largest step along a displacement before any pair touches.

// A time until `last` before which a pair of nodes at x may move along p; infinity if it may move until `last`. Host: advance::impact_before
REAL coarsen_time_of_impact(const bool edges, REAL (*x)[3], REAL (*p)[3], const REAL min_distance, const REAL clear,
                            const REAL last);

// The time until which all nodes stay in their boxes: at least 1, at most `longest`; by one group. Host: SweptBounds::covered
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void coarsen_contact_last(const uint free, __global const REAL *along, const REAL slack, const REAL longest, __global REAL *last) {
    __local REAL shared[64];
    const uint item = get_local_id(0);
    REAL most = 0;
    for (size_t k = item; k < 3 * (size_t)free; k += 64)
        most = fmax(most, fabs(along[k]));
    shared[item] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        for (uint t = 1; t < 64; t++)
            most = fmax(most, shared[t]);
        *last = fmin(1 + slack / most, longest);
    }
}

// The bound of every candidate.                                         Host: ClothContact::sweep
__kernel void coarsen_contact_bounds(const uint capacity, SURFACE, __global const REAL *positions, __global const REAL *held,
                                     __global const REAL *along, __global const uint *starts, __global const uint *pairs,
                                     const REAL min_distance, const REAL clear, __global const REAL *last,
                                     __global const uint *missing, __global REAL *bounds) {
    const uint k = get_global_id(0);
    if (k >= capacity)
        return;
    bounds[k] = INFINITY;
    if (k >= starts[QUERIES] || missing[0])
        return;
    uint node[4];
    REAL x[4][3], p[4][3];
    const bool of_edges = coarsen_pair(vertices, triangles, vertex, corners, pairs[2 * (size_t)k], pairs[2 * (size_t)k + 1], node);
    for (uint a = 0; a < 4; a++) {
        coarsen_position(free, node[a], positions, held, x[a]);
        for (uint c = 0; c < 3; c++)
            p[a][c] = node[a] < free ? along[3 * (size_t)node[a] + c] : 0;
    }
    // Advances depend on the end of the motion. So a longer motion has only the say on times after 1.
    REAL t = coarsen_time_of_impact(of_edges, x, p, min_distance, clear, 1);
    if (!(t < INFINITY)) {
        t = coarsen_time_of_impact(of_edges, x, p, min_distance, clear, *last);
        t = t < INFINITY ? fmax(t, (REAL)1) : t;
    }
    bounds[k] = t;
}

// The least bound, not above `last`; NaN if pairs are missing. By one group. Host: sweep::first_impact
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_contact_least(const uint n, __global const REAL *bounds, __global const REAL *last, __global const uint *missing,
                           __global SUM *partial) {
    __local SUM shared[WIDTH];
    const uint item = get_local_id(0);
    SUM least = *last;
    for (uint k = item; k < n; k += WIDTH)
        least = fmin(least, (SUM)bounds[k]);
    shared[item] = least;
    for (uint half_width = WIDTH / 2; half_width > 0; half_width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_width)
            shared[item] = fmin(shared[item], shared[item + half_width]);
    }
    if (item == 0)
        partial[0] = missing[0] ? NAN : shared[0];
}
