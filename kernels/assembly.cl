// A matrix from a stream of blocks, in the five steps of P-Cloth (Li et al. 2020, §3.2.2). Entries are sorted
// by row and column, stably, so that the entries of one block are adjacent in the order of the stream. The
// first of them represents the block, and each block gathers its entries. Counts stay on the device, and
// nothing is written to a target whose capacity is too small. Build options define
//   STORED  the type of values of the target
//   BLOCK   the number of rows and columns of a block
//   SLICE   the number of rows in a slice of the target, see matrix.cl
//
//   keys[k]      row and column of entry k of the stream as one number, nodes * nodes for no entry
//   order[p]     the entry at position p of the sorted stream
//   heads[p]     the number of blocks that begin before position p; last the number of all blocks
//   starts[i]    the number of blocks in the rows before row i; last the number of all blocks
//   found[0]     the number of blocks; found[1] the largest number in one row
//   slots[u]     the slot of block u in the target, NONE beyond the capacity
//   lacking[0]   whether the target has no slot for some block
// An entry is block k of the stream at a position (PER = 1), or, with PER = 16, one of the 16 pairs of nodes
// of a contact. Missing nodes of a contact are NONE.

#define AREA (BLOCK * BLOCK)
#define NONE UINT_MAX
#define CONTACT_PAIRS 16

// Row and column of every entry.                                        Host: Fill::count
__kernel void coarsen_assembly_keys(const uint capacity, const uint count, const uint per, const uint nodes,
                                    __global const uint *list, __global ulong *keys) {
    const uint k = get_global_id(0);
    if (k >= capacity)
        return;
    uint row = NONE, column = NONE;
    if (k / per < count && per == 1) {
        row = list[2 * k];
        column = list[2 * k + 1];
    } else if (k / per < count) {
        row = list[4 * (k / CONTACT_PAIRS) + k % CONTACT_PAIRS / 4];
        column = list[4 * (k / CONTACT_PAIRS) + k % 4];
    }
    const uint there = row != NONE && column != NONE;
    keys[k] = there ? (ulong)row * nodes + column : (ulong)nodes * nodes;
}

// Whether an entry is the first of its block.                           Host: Bucket::merge
__kernel void coarsen_assembly_heads(const uint capacity, const uint nodes, __global const uint *order,
                                     __global const ulong *keys, __global uint *heads) {
    const uint p = get_global_id(0);
    if (p >= capacity)
        return;
    const ulong key = keys[order[p]];
    heads[p] = key < (ulong)nodes * nodes && (p == 0 || key != keys[order[p - 1]]);
}

// The number of blocks before each row.                                 Host: Bucket::sort
__kernel void coarsen_assembly_rows(const uint capacity, const uint nodes, __global const uint *order,
                                    __global const ulong *keys, __global const uint *heads,
                                    __global uint *starts) {
    const uint i = get_global_id(0);
    if (i > nodes)
        return;
    uint first = 0, last = capacity;
    while (first < last) {
        const uint mid = first + (last - first) / 2;
        if (keys[order[mid]] < (ulong)i * nodes)
            first = mid + 1;
        else
            last = mid;
    }
    starts[i] = heads[first];
}

// The number of blocks and the largest number in a row, by one group.   Host: Fill::compact
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void coarsen_assembly_found(const uint nodes, __global const uint *starts, __global uint *found) {
    __local uint shared[64];
    uint most = 0;
    for (uint i = get_local_id(0); i < nodes; i += 64)
        most = max(most, starts[i + 1] - starts[i]);
    shared[get_local_id(0)] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint t = 1; t < 64; t++)
            most = max(most, shared[t]);
        found[0] = starts[nodes];
        found[1] = most;
    }
}

// Rows and columns of a target of up to `blocks` blocks, and `width` blocks per row; if these do not suffice,
// only the counts are written. Slices of one row store pointers, other slices row lengths.
// Host: Targets::fill
__kernel void coarsen_assembly_place(const uint capacity, const uint nodes, const uint blocks, const uint width,
                                     __global const uint *order, __global const ulong *keys,
                                     __global const uint *heads, __global const uint *starts,
                                     __global const uint *found, __global uint *slots, __global uint *rows,
                                     __global uint *columns, __global uint *status) {
    const uint at = get_global_id(0);
    if (at < 2)
        status[at] = found[at];
    const uint fits = found[0] <= blocks && found[1] <= width;
    if (at <= nodes && fits) {
#if SLICE == 1
        rows[at] = starts[at];
#else
        if (at < nodes)
            rows[at] = starts[at + 1] - starts[at];
#endif
    }
    if (at >= capacity || heads[at + 1] == heads[at])
        return;
    const ulong key = keys[order[at]];
    const uint u = heads[at], i = (uint)(key / nodes);
#if SLICE == 1
    const uint slot = u;
#else
    const uint slot = (i / SLICE * width + (u - starts[i])) * SLICE + i % SLICE;
#endif
    slots[u] = fits ? slot : NONE;
    if (fits)
        columns[slot] = (uint)(key % nodes);
}

// The slots of the blocks of a stream in a matrix whose pattern has these blocks. Host: Assembly::new
__kernel void coarsen_assembly_find(const uint capacity, const uint nodes, ROWS, __global const uint *order,
                                    __global const ulong *keys, __global const uint *heads,
                                    __global uint *slots, __global uint *lacking) {
    const uint at = get_global_id(0);
    if (at >= capacity || heads[at + 1] == heads[at])
        return;
    const ulong key = keys[order[at]];
    const uint i = (uint)(key / nodes), j = (uint)(key % nodes);
    const uint base = (uint)BASE(i), count = COUNT(i);
    uint found = NONE;
    for (uint k = 0; k < count; k++) {
        const uint slot = (base + k) * SLICE + LANE(i);
        if (columns[slot] == j)
            found = slot;
    }
    slots[heads[at]] = found;
    if (found == NONE)
        *lacking = 1; // all items write the same value
}

// Values: each item sums one entry of the block that begins at position p.
// Host: Targets::fill, Assembly::fill
__kernel void coarsen_assembly_sum(const uint capacity, const uint per, const uint nodes, __global const uint *order,
                                   __global const ulong *keys, __global const uint *heads,
                                   __global const uint *slots, __global const REAL *weights,
                                   __global const REAL *stream, __global STORED *values) {
    const size_t item = get_global_id(0);
    const uint p = (uint)(item / AREA), e = item % AREA;
    if (item / AREA >= capacity || heads[p + 1] == heads[p])
        return;
    const uint slot = slots[heads[p]];
    if (slot == NONE)
        return;
    const ulong key = keys[order[p]];
    REAL sum = 0;
    for (uint q = p; q < capacity && keys[order[q]] == key; q++) {
        const uint k = order[q];
        const REAL v = stream[(size_t)(k / per) * AREA + e];
        if (per == 1)
            sum += v;
        else
            sum += weights[4 * (k / CONTACT_PAIRS) + k % CONTACT_PAIRS / 4] * weights[4 * (k / CONTACT_PAIRS) + k % 4] * v;
    }
    values[((size_t)(slot / SLICE) * AREA + e) * SLICE + slot % SLICE] = (STORED)sum;
}

// values = 0, lacking = 0                                               Host: Assembly::fill
__kernel void coarsen_assembly_clear(const ulong count, __global STORED *values, __global uint *lacking) {
    const size_t k = get_global_id(0);
    if (k < count)
        values[k] = 0;
    if (k == 0)
        *lacking = 0;
}
