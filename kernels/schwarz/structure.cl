// The structure of multilevel domains on the device (Wu, Wang, Wang 2022, §5): NODES consecutive nodes on a
// Morton curve form a domain, and its connected parts are nodes of the next level. Counts stay on the device.
// Buffers have the usual sizes; a level that does not fit is left out and reported. Build options
// define, in addition to the options of lists.cl,
//   NODES  the number of nodes in a domain, at most 32
//
//   counts[l]             the number of nodes of level l
//   totals[l]             the number of couplings inside the domains of the levels below l
//   begins[s], ends[2 e]  the start of the couplings of node s; the slot of coupling e, NONE for a contact, and its
//                         other node
//   position[i]           the position of node i
//   lacking               a level whose capacity is exceeded, and the number of its nodes; otherwise 0
//
// A level has as many positions as nodes, so both begin at number `first`. Nodes without couplings
// (constraints) come last on the curve, or keep their number if there are no positions; they are in domains,
// but in no node of a coarse level.

#define LEVEL \
    const uint level, const uint first, const uint capacity, __global const uint *counts

// The smallest and largest coordinates of the points of a group.        Host: morton::codes
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void coarsen_schwarz_box(const uint n, __global const REAL *points, __global REAL *box) {
    __local REAL low[64 * 3], high[64 * 3];
    const uint t = get_local_id(0);
    for (uint a = 0; a < 3; a++) {
        REAL least = INFINITY, most = -INFINITY;
        for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
            least = fmin(least, points[3 * (size_t)i + a]);
            most = fmax(most, points[3 * (size_t)i + a]);
        }
        low[3 * t + a] = least;
        high[3 * t + a] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 3) {
        REAL least = INFINITY, most = -INFINITY;
        for (uint k = 0; k < 64; k++) {
            least = fmin(least, low[3 * k + t]);
            most = fmax(most, high[3 * k + t]);
        }
        box[6 * get_group_id(0) + t] = least;
        box[6 * get_group_id(0) + 3 + t] = most;
    }
}

// Merges `groups` boxes into the first.                                 Host: morton::codes
__kernel void coarsen_schwarz_whole_box(const uint groups, __global REAL *box) {
    for (uint g = 1; g < groups; g++)
        for (uint a = 0; a < 3; a++) {
            box[a] = fmin(box[a], box[6 * g + a]);
            box[3 + a] = fmax(box[3 + a], box[6 * g + 3 + a]);
        }
}

// Spreads the 20 bits of v to every third bit.                          Host: morton::spread
ulong coarsen_spread(ulong v) {
    v = (v | v << 32) & 0x001f00000000ffffUL;
    v = (v | v << 16) & 0x001f0000ff0000ffUL;
    v = (v | v << 8) & 0x100f00f00f00f00fUL;
    v = (v | v << 4) & 0x10c30c30c30c30c3UL;
    return (v | v << 2) & 0x1249249249249249UL;
}

// Morton codes of 60 bits from cubic cells, and a higher bit for nodes without couplings. Host: morton::codes
__kernel void coarsen_schwarz_codes(const uint n, __global const REAL *points, __global const REAL *box,
                                    __global const uint *alone, __global ulong *codes) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const REAL side = fmax(fmax(box[3] - box[0], box[4] - box[1]), box[5] - box[2]);
    ulong code = 0;
    for (uint a = 0; a < 3; a++) {
        const REAL t = (points[3 * (size_t)i + a] - box[a]) / side;
        // NaN, if all points are equal, becomes cell 0.
        const ulong cell = t > 0 ? min((ulong)(t * 1048576), (ulong)1048575) : 0;
        code |= coarsen_spread(cell) << a;
    }
    codes[i] = code | (ulong)alone[i] << 60;
}

// The slot of the diagonal block of a node, and whether all other blocks of its row are zero. Host: Links::of
__kernel void coarsen_schwarz_alike(const uint n, ROWS, __global const VALUES *values TOUCHING,
                                    __global uint *own, __global uint *alone) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint coupled = 0, diagonal = NONE;
    for (uint k = 0; k < COUNT(i); k++) {
        const uint slot = FIRST_SLOT(i) + k * SLICE;
        if (columns[slot] == i)
            diagonal = slot;
        else
            for (uint e = 0; e < AREA; e++)
                coupled |= ENTRY(slot, e) != 0;
    }
#ifdef CONTACT
    for (uint k = touch_starts[i]; k < touch_starts[i + 1]; k++)
        for (uint e = 0; e < AREA && touch_places[k] != i; e++)
            coupled |= TOUCH(k, e) != 0;
#endif
    own[i] = diagonal;
    alone[i] = !coupled;
}

// The number of couplings of a node of the finest level.                Host: Links::of
__kernel void coarsen_schwarz_degrees(const uint n, ROWS, __global const VALUES *values TOUCHING,
                                      __global const uint *alone, __global uint *begins) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint count = 0;
    for (uint k = 0; k < COUNT(i) && !alone[i]; k++) {
        const uint j = columns[FIRST_SLOT(i) + k * SLICE];
        count += j != i && !alone[j];
    }
#ifdef CONTACT
    for (uint k = touch_starts[i]; k < touch_starts[i + 1] && !alone[i]; k++)
        count += touch_places[k] != i && !alone[touch_places[k]];
#endif
    begins[i] = count;
}

// The couplings of a node. A contact has no slot, since other contacts may follow.  Host: Links::of
__kernel void coarsen_schwarz_couplings(const uint n, ROWS, __global const VALUES *values TOUCHING,
                                        __global const uint *alone, __global const uint *begins,
                                        __global uint *ends) {
    const uint i = get_global_id(0);
    if (i >= n || alone[i])
        return;
    uint at = begins[i];
    for (uint k = 0; k < COUNT(i); k++) {
        const uint slot = FIRST_SLOT(i) + k * SLICE, j = columns[slot];
        if (j != i && !alone[j]) {
            ends[2 * at] = slot;
            ends[2 * at + 1] = j;
            at++;
        }
    }
#ifdef CONTACT
    for (uint k = touch_starts[i]; k < touch_starts[i + 1]; k++) {
        const uint j = touch_places[k];
        if (j != i && !alone[j]) {
            ends[2 * at] = NONE;
            ends[2 * at + 1] = j;
            at++;
        }
    }
#endif
}

// Sets all lists to empty.                                              Host: Plan::new
__kernel void coarsen_schwarz_empty(const uint n, const uint nodes, const uint coarse, const uint domains,
                                    const uint levels, __global uint *parent, __global uint *children,
                                    __global uint *ranges, __global uint *counts, __global uint *totals,
                                    __global uint *lacking) {
    const uint i = get_global_id(0);
    if (i < nodes)
        parent[i] = NONE;
    if (i < 2 * coarse)
        children[i] = 0;
    if (i < 2 * domains)
        ranges[i] = 0;
    if (i <= levels) {
        counts[i] = i ? 0 : n;
        totals[i] = 0;
    }
    if (i < 2)
        lacking[i] = 0;
}

// The ranks of the nodes of a level along the curve; nodes of coarse levels are numbered in this order.
// Host: Domains::grow
__kernel void coarsen_schwarz_ranks(LEVEL, __global const uint *curve, __global uint *rank) {
    const uint k = get_global_id(0);
    if (k < counts[level])
        rank[level ? k : curve[k]] = k;
}

// One domain per group: finds its connected parts by squaring the matrix of inner couplings until it contains
// all paths, and makes the nodes of each part adjacent. parts[p] is the part of the node at position p within
// its domain, NONE for a node without couplings; `tally` receives the number of parts. Host: Domains::grow
__kernel __attribute__((reqd_work_group_size(NODES, 1, 1)))
void coarsen_schwarz_split(LEVEL, __global const uint *curve, __global const uint *rank,
                           __global const uint *begins, __global const uint *ends, __global const uint *alone,
                           __global uint *order, __global uint *position, __global uint *parts,
                           __global uint *tally) {
    __local uint reached[NODES], next[NODES], label[NODES];
    const uint d = get_group_id(0), t = get_local_id(0), n = counts[level], k = d * NODES + t;
    const uint here = k < n, i = here ? (level ? k : curve[k]) : 0;
    const uint coupled = here && (level || !alone[i]);
    uint mask = 1u << t;
    if (coupled)
        for (uint e = begins[i]; e < begins[i + 1]; e++) {
            const uint j = rank[ends[2 * e + 1]];
            if (j / NODES == d)
                mask |= 1u << j % NODES;
        }
    reached[t] = mask;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint round = 0; round < 5; round++) {
        uint all = reached[t];
        for (uint j = 0; j < NODES; j++)
            if (reached[t] >> j & 1)
                all |= reached[j];
        next[t] = all;
        barrier(CLK_LOCAL_MEM_FENCE);
        reached[t] = next[t];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    // A part is named by its first node; missing and uncoupled nodes come last.
    const uint lowest = reached[t] & -reached[t];
    label[t] = here ? (coupled ? 31 - clz(lowest) : NODES) : NODES + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint place = 0, part = 0, all_parts = 0;
    for (uint j = 0; j < NODES; j++) {
        place += label[j] < label[t] || (label[j] == label[t] && j < t);
        all_parts += label[j] == j;
        part += label[j] == j && j < label[t];
    }
    if (here) {
        const uint p = first + d * NODES + place;
        order[p] = first + i;
        position[first + i] = p;
        parts[p] = coupled ? part : NONE;
    }
    if (t == 0 && d * NODES < capacity)
        tally[2 * capacity + d] = all_parts;
}

// The number of couplings of every node with earlier positions of its domain, and with nodes out of its
// domain: tally[k] and tally[capacity + k] for position first + k. Host: Couplings::of
__kernel void coarsen_schwarz_tally(LEVEL, __global const uint *order, __global const uint *position,
                                    __global const uint *begins, __global const uint *ends,
                                    __global uint *tally) {
    const uint k = get_global_id(0);
    if (k >= capacity)
        return;
    uint inside = 0, out = 0;
    if (k < counts[level]) {
        const uint i = order[first + k] - first;
        for (uint e = begins[i]; e < begins[i + 1]; e++) {
            const uint q = position[first + ends[2 * e + 1]] - first;
            inside += q / NODES == k / NODES && q < k && ends[2 * e] != NONE;
            out += q / NODES != k / NODES;
        }
    }
    tally[k] = inside;
    tally[capacity + k] = out;
}

// Whether there is a next level: it needs several domains, couplings between them, and a capacity for all their
// parts. A level that is not requested has no capacity, and is not reported as lacking. Host: Plan::new
__kernel void coarsen_schwarz_decide(const uint level, const uint capacity, const uint domains, const uint next_capacity,
                                     __global const uint *tally, __global uint *counts,
                                     __global uint *totals, __global uint *lacking) {
    const uint inside = tally[capacity], out = tally[2 * capacity] - inside;
    const uint parts = tally[2 * capacity + domains] - tally[2 * capacity];
    totals[level + 1] = totals[level] + inside;
    const uint coarser = out > 0 && parts < counts[level];
    counts[level + 1] = coarser && parts <= next_capacity ? parts : 0;
    if (coarser && next_capacity > 0 && parts > next_capacity) {
        lacking[0] = level + 1;
        lacking[1] = parts;
    }
}

// Domains, parents and children; couplings inside domains; couplings between domains, which become couplings
// of the next level. One position per item. Host: Plan::new, Couplings::of
__kernel void coarsen_schwarz_link(LEVEL, const uint first_domain, const uint fine, const uint above,
                                   __global const uint *totals, __global const uint *tally,
                                   __global const uint *order, __global const uint *position,
                                   __global const uint *parts, __global const uint *begins,
                                   __global const uint *ends, __global uint *parent, __global uint *children,
                                   __global uint *ranges, __global uint *tiles, __global uint *starts,
                                   __global uint *inner, __global uint *next_begins,
                                   __global uint *next_ends) {
    const uint k = get_global_id(0);
    if (k >= capacity)
        return;
    const uint n = counts[level], next = counts[level + 1], before = totals[level];
    const uint d = k / NODES, side = (NODES * BLOCK + SIDE - 1) / SIDE;
    starts[first + k] = before + tally[k];
    if (k + 1 == capacity)
        starts[first + capacity] = before + tally[capacity];
    if (k % NODES == 0) {
        ranges[2 * (first_domain + d)] = k < n ? first + k : 0;
        ranges[2 * (first_domain + d) + 1] = k < n ? first + min(n, k + NODES) : 0;
        tiles[first_domain + d] = (first_domain + d) * (side * (side + 1) / 2);
    }
    if (k >= n)
        return;
    const uint p = first + k, i = order[p] - first, part = parts[p];
    const uint parts_before = tally[2 * capacity + d] - tally[2 * capacity];
    const uint s = parts_before + part;
    if (next && part != NONE) {
        parent[first + i] = above + s;
        if (k % NODES == 0 || parts[p - 1] != part) {
            uint end = k + 1;
            while (end < n && end % NODES && parts[first + end] == part)
                end++;
            children[2 * (above + s - fine)] = p;
            children[2 * (above + s - fine) + 1] = first + end;
            next_begins[s] = tally[capacity + k] - tally[capacity];
            if (s + 1 == next)
                next_begins[next] = tally[2 * capacity] - tally[capacity];
        }
    }
    uint at = before + tally[k], out = tally[capacity + k] - tally[capacity];
    for (uint e = begins[i]; e < begins[i + 1]; e++) {
        const uint slot = ends[2 * e], q = position[first + ends[2 * e + 1]], other = q - first;
        if (other / NODES == d && other < k && slot != NONE) {
            inner[2 * at] = slot;
            inner[2 * at + 1] = q;
            at++;
        } else if (other / NODES != d && next) {
            next_ends[2 * out] = slot;
            next_ends[2 * out + 1] = tally[2 * capacity + other / NODES] - tally[2 * capacity] + parts[q];
            out++;
        }
    }
}
