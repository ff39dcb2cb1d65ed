// Boxes of nodes and of parts, around a displacement if nodes move, and the side of cells. Cells have twice the mean extent of parts,
// or a sixth of the largest, so that no part covers more than 8 of them along an axis. A part much larger than the others thus makes
// cells large: every query then compares the boxes of all parts in a cell, at worst of all parts.

// The boxes of all nodes, grown by a margin.                            Host: SweptBounds::path
__kernel void coarsen_contact_nodes(const uint nodes, const uint free, __global const REAL *positions, __global const REAL *held,
                                    __global const REAL *along, const uint moves, const REAL margin, __global REAL *boxes,
                                    __global uint *missing) {
    const uint i = get_global_id(0);
    if (i >= nodes)
        return;
    REAL from[3];
    coarsen_position(free, i, positions, held, from);
    for (uint k = 0; k < 3; k++) {
        const REAL to = moves && i < free ? from[k] + along[3 * (size_t)i + k] : from[k];
        boxes[6 * (size_t)i + k] = fmin(from[k], to) - margin;
        boxes[6 * (size_t)i + 3 + k] = fmax(from[k], to) + margin;
        if (!isfinite(from[k]) || !isfinite(to))
            missing[0] = 1;
    }
}

// The boxes of all parts.                                               Host: blocks::around
__kernel void coarsen_contact_parts(SURFACE, __global REAL *boxes) {
    const uint p = get_global_id(0);
    if (p >= PARTS)
        return;
    __global const uint *own = p < triangles ? corners + 3 * (size_t)p : EDGE(p - triangles);
    __global REAL *to = boxes + 6 * ((size_t)nodes + p);
    for (uint k = 0; k < 6; k++) {
        REAL bound = boxes[6 * (size_t)own[0] + k];
        for (uint a = 1; a < (p < triangles ? 3 : 2); a++) {
            const REAL other = boxes[6 * (size_t)own[a] + k];
            bound = k < 3 ? fmin(bound, other) : fmax(bound, other);
        }
        to[k] = bound;
    }
}

// The inverse of the side of a cell, by one group.                      Host: hash::typical
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void coarsen_contact_cell(const uint nodes, const uint parts, __global const REAL *boxes, __global REAL *inverse) {
    __local SUM sums[64];
    __local SUM longest[64];
    const uint item = get_local_id(0);
    SUM sum = 0, most = 0;
    for (uint p = item; p < parts; p += 64) {
        __global const REAL *own = boxes + 6 * ((size_t)nodes + p);
        const SUM extent = fmax(fmax((SUM)own[3] - own[0], (SUM)own[4] - own[1]), (SUM)own[5] - own[2]);
        sum += extent;
        most = fmax(most, extent);
    }
    sums[item] = sum;
    longest[item] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        for (uint t = 1; t < 64; t++) {
            sum += sums[t];
            most = fmax(most, longest[t]);
        }
        const SUM side = fmax(2 * sum / parts, most / 6);
        *inverse = side > 0 ? (REAL)(1 / side) : 1;
    }
}
