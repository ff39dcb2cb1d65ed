// Where the blocks of a contact part meet in multilevel domains: on each level on which the two nodes of a block are
// different nodes of one domain, the block is part of the matrix of this domain. On finer levels their domains differ, on
// coarser ones they are one node. Domains are chosen with contacts of an earlier step, so that two nodes may be in one
// domain but in different parts of it: they then meet on several levels. No atomic operation: entries are sorted by
// position, so that every run gives the same bits. See lists.cl and numbers.cl for the other lists.
//
//   home[p]       the domain of position p
//   position[i]   the position of node i, or NONE
//   keys[e]       for entry e = level CAPACITY + block, the later position of the two nodes, or `nodes`
//   other[e]      the earlier position

#define NONE UINT_MAX

// The position of every node, and the domain of every position.         Host: Plan::couplings
__kernel void coarsen_schwarz_locate(const uint domains, __global const uint *ranges, __global const uint *order,
                                     __global uint *home, __global uint *position) {
    const uint d = get_global_id(0);
    if (d >= domains)
        return;
    for (uint p = ranges[2 * d]; p < ranges[2 * d + 1]; p++) {
        home[p] = d;
        position[order[p]] = p;
    }
}

// The entries of the contact blocks of a row of the finest level, most of which are in no domain; items also clear the entries of
// blocks that do not exist.                                             Host: DomainContacts::sort
__kernel void coarsen_schwarz_meet(const uint fine, const uint capacity, const uint levels, const uint nodes,
                                   __global const uint *touch_starts, __global const uint *touch_places,
                                   __global const uint *parent, __global const uint *home,
                                   __global const uint *position, __global ulong *keys, __global uint *other,
                                   __global uint *met_own) {
    const uint i = get_global_id(0);
    if (i >= touch_starts[fine] && i < capacity)
        for (uint level = 0; level < levels; level++)
            keys[level * capacity + i] = nodes;
    if (i >= fine)
        return;
    uint own = NONE;
    for (uint k = touch_starts[i]; k < touch_starts[i + 1]; k++) {
        uint s = i, t = touch_places[k];
        if (s == t)
            own = k;
        for (uint level = 0; level < levels; level++) {
            const uint p = s == t ? NONE : position[s], q = s == t ? NONE : position[t];
            const uint meets = p != NONE && q != NONE && home[p] == home[q] && q < p;
            keys[level * capacity + k] = meets ? p : nodes;
            if (meets)
                other[level * capacity + k] = q;
            // Nodes in no domain, and without a node of the next level, meet no more.
            const uint above = p != NONE && q != NONE && parent[s] != NONE && parent[t] != NONE;
            s = above ? parent[s] : 0;
            t = above ? parent[t] : 0;
        }
    }
    met_own[i] = own;
}

// The entries of each position, and where they begin.                   Host: DomainContacts::sort
__kernel void coarsen_schwarz_gather(const uint entries, const uint capacity, const uint nodes,
                                     __global const uint *sorted, __global const ulong *keys,
                                     __global const uint *other, __global uint *met_starts, __global uint *met) {
    const uint at = get_global_id(0);
    if (at < entries) {
        const uint e = sorted[at];
        met[2 * at] = e % capacity;
        met[2 * at + 1] = other[e];
    }
    if (at <= nodes) {
        uint low = 0, high = entries;
        while (low < high) {
            const uint middle = (low + high) / 2;
            if (keys[sorted[middle]] < at)
                low = middle + 1;
            else
                high = middle;
        }
        met_starts[at] = low;
    }
}

// Marks the rows with a contact block.                                  Host: Contacts::touched_since
__kernel void coarsen_schwarz_touched(const uint fine, __global const uint *touch_starts, __global uint *marks) {
    const uint i = get_global_id(0);
    if (i < fine && touch_starts[i + 1] > touch_starts[i])
        marks[i] = 1;
}
