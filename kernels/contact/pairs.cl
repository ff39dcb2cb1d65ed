// Candidates: a query and a part whose boxes overlap, in the order of queries and then of parts. Counted, summed up and gathered, each
// pair in the first cell that both boxes cover.

#define GRID \
    const uint shift, __global const REAL *boxes, __global const REAL *inverse, __global const uint *order, \
        __global const uint *owners, __global const uint *begins

// Whether a pair has no common node, and a free one.                    Host: Topology::vertex_face, Topology::edge_edge
bool coarsen_can_touch(SURFACE, const uint query, const uint part) {
    uint node[4];
    if (coarsen_pair(vertices, triangles, vertex, corners, query, part, node)) {
        if (part - triangles <= query - vertices || node[0] == node[2] || node[0] == node[3] || node[1] == node[2] ||
            node[1] == node[3])
            return false;
    } else if (node[0] == node[1] || node[0] == node[2] || node[0] == node[3])
        return false;
    return node[0] < free || node[1] < free || node[2] < free || node[3] < free;
}

//                                                                       Host: Aabb::overlaps
bool coarsen_overlap(__global const REAL *a, __global const REAL *b) {
    bool all = true;
    for (uint k = 0; k < 3; k++)
        all = all && a[k] <= b[3 + k] && b[k] <= a[3 + k];
    return all;
}

// The number of parts that a query finds; the pairs are written from `to` on, unless it is 0. Host: SpatialHash::query_from
uint coarsen_query(SURFACE, GRID, const uint query, __global uint *to) {
    const uint kind = query < vertices ? 0 : 1;
    __global const REAL *box = boxes + 6 * (size_t)(kind == 0 ? vertex[query] : nodes + triangles + (query - vertices));
    const coarsen_cells own = coarsen_cells_of(box, *inverse);
    uint found = 0;
    for (int i = own.low[0]; i <= own.high[0]; i++)
        for (int j = own.low[1]; j <= own.high[1]; j++)
            for (int k = own.low[2]; k <= own.high[2]; k++) {
                const uint key = 2 * coarsen_bucket(i, j, k, shift) + kind;
                uint last = NONE;
                for (uint at = begins[key]; at < begins[key + 1]; at++) {
                    const uint part = owners[order[at]];
                    // Entries of one part in the same bucket are adjacent.
                    if (part == last)
                        continue;
                    last = part;
                    __global const REAL *other = boxes + 6 * ((size_t)nodes + part);
                    if (!coarsen_overlap(box, other))
                        continue;
                    const coarsen_cells its = coarsen_cells_of(other, *inverse);
                    if (i != max(own.low[0], its.low[0]) || j != max(own.low[1], its.low[1]) || k != max(own.low[2], its.low[2]))
                        continue;
                    if (!coarsen_can_touch(nodes, free, vertices, triangles, edges, vertex, corners, query, part))
                        continue;
                    if (to) {
                        to[2 * (size_t)found] = query;
                        to[2 * (size_t)found + 1] = part;
                    }
                    found++;
                }
            }
    return found;
}

// Sorts n pairs of one query by part: Shell 1959.
void coarsen_sort_parts(const uint n, __global uint *pairs) {
    for (uint gap = n / 2; gap > 0; gap /= 2)
        for (uint at = gap; at < n; at++) {
            const uint part = pairs[2 * (size_t)at + 1];
            uint slot = at;
            for (; slot >= gap && pairs[2 * (size_t)(slot - gap) + 1] > part; slot -= gap)
                pairs[2 * (size_t)slot + 1] = pairs[2 * (size_t)(slot - gap) + 1];
            pairs[2 * (size_t)slot + 1] = part;
        }
}

//                                                                       Host: BroadPhase::search
__kernel void coarsen_contact_count_pairs(SURFACE, GRID, __global const uint *missing, __global uint *counts) {
    const uint q = get_global_id(0);
    if (q >= QUERIES)
        return;
    counts[q] = missing[0] ? 0
                        : coarsen_query(nodes, free, vertices, triangles, edges, vertex, corners, shift, boxes, inverse, order,
                                        owners, begins, q, 0);
}

//                                                                       Host: BroadPhase::search
__kernel void coarsen_contact_pairs(const uint capacity, SURFACE, GRID, __global const uint *starts, __global uint *pairs,
                                    __global uint *missing, __global uint *status) {
    const uint q = get_global_id(0);
    if (q >= QUERIES)
        return;
    const uint total = starts[QUERIES];
    if (q == 0) {
        status[1] = max(status[1], total);
        if (total > capacity)
            missing[0] = 1;
    }
    if (total > capacity || starts[q] == starts[q + 1])
        return;
    __global uint *to = pairs + 2 * (size_t)starts[q];
    const uint found = coarsen_query(nodes, free, vertices, triangles, edges, vertex, corners, shift, boxes, inverse, order, owners,
                                     begins, q, to);
    coarsen_sort_parts(found, to);
}
