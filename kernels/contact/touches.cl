// The pairs that are near at some positions, as elements of four nodes, in the order of candidates; and at each node the corners of
// these elements. The numbers of an element begin with 0 for none, 1 for a vertex and a triangle, 2 for edges, and with the squared
// lengths of the edges at rest. If pairs are missing, the first element has NaN and the free node 0 four times, so that energy,
// gradient and Hessian are NaN.

// The distance of a pair.                                               Host: distance::gap
REAL coarsen_pair_distance(const bool edges, REAL (*x)[3]);

// Whether a node has left its box, without the half of the thickness.   Host: SweptBounds::holds
__kernel void coarsen_contact_inside(const uint free, __global const REAL *positions, __global const REAL *boxes, const REAL half_width,
                                     __global uint *outside) {
    const uint i = get_global_id(0);
    if (i >= free)
        return;
    for (uint k = 0; k < 3; k++) {
        const REAL x = positions[3 * (size_t)i + k];
        if (!isfinite(x))
            outside[1] = 1;
        else if (x < boxes[6 * (size_t)i + k] + half_width || x > boxes[6 * (size_t)i + 3 + k] - half_width)
            outside[0] = 1;
    }
}

// Whether each candidate is near.                                       Host: Touch::of
__kernel void coarsen_contact_near(const uint capacity, SURFACE, __global const REAL *positions, __global const REAL *held,
                                   __global const uint *starts, __global const uint *pairs, const REAL thickness,
                                   __global const uint *missing, __global uint *is_near) {
    const uint k = get_global_id(0);
    if (k >= capacity)
        return;
    is_near[k] = 0;
    if (k >= starts[QUERIES] || missing[0])
        return;
    uint node[4];
    REAL x[4][3];
    const bool of_edges = coarsen_pair(vertices, triangles, vertex, corners, pairs[2 * (size_t)k], pairs[2 * (size_t)k + 1], node);
    for (uint a = 0; a < 4; a++)
        coarsen_position(free, node[a], positions, held, x[a]);
    const REAL distance = coarsen_pair_distance(of_edges, x);
    is_near[k] = distance < thickness && distance > 0;
}

// The elements, the nodes of their blocks from block `first` on, and the key of each corner: its free node.
// Host: narrow_phase::touches, ContactHessian::push
__kernel void coarsen_contact_touches(const uint capacity, const uint numbers, const uint first, SURFACE, __global const REAL *rest,
                                      const uint candidates, __global const uint *pairs, __global const uint *before,
                                      __global const uint *missing, __global const uint *outside, __global uint *status,
                                      __global uint *elements, __global REAL *data, __global uint *blocks, __global ulong *keys) {
    const uint e = get_global_id(0), total = before[candidates];
    if (e >= capacity)
        return;
    if (e == 0) {
        status[2] = max(status[2], total);
        status[3] |= outside[0] && !outside[1] && !missing[0];
    }
    uint node[4] = {0, 0, 0, 0};
    REAL own[3] = {0, 0, 0};
    const bool unknown = e == 0 && (missing[0] || outside[0] || outside[1] || total > capacity), there = unknown || e < total;
    if (unknown)
        own[0] = NAN;
    else if (there) {
        const uint k = coarsen_list_of(candidates, before, e), query = pairs[2 * (size_t)k], part = pairs[2 * (size_t)k + 1];
        own[0] = 1;
        if (coarsen_pair(vertices, triangles, vertex, corners, query, part, node)) {
            own[0] = 2;
            own[1] = rest[query - vertices];
            own[2] = rest[part - triangles];
        }
    }
    for (uint a = 0; a < 3; a++)
        data[numbers * (size_t)e + a] = own[a];
    for (uint a = 0; a < 4; a++) {
        elements[4 * (size_t)e + a] = node[a];
        keys[4 * (size_t)e + a] = there && node[a] < free ? node[a] : free;
        for (uint b = 0; b < 4; b++) {
            const bool is_free = there && node[a] < free && node[b] < free;
            __global uint *block = blocks + 2 * (first + 16 * (size_t)e + 4 * a + b);
            block[0] = is_free ? node[a] : NONE;
            block[1] = is_free ? node[b] : NONE;
        }
    }
}

// The first corner at every node, and the end of the last.              Host: DeviceElements::new
__kernel void coarsen_contact_around(const uint entries, const uint free, __global const uint *order, __global const ulong *keys,
                                     __global uint *starts) {
    const uint i = get_global_id(0);
    if (i <= free)
        starts[i] = coarsen_first_of(entries, order, keys, i);
}
