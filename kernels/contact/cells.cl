// Parts in the cells of a grid: an entry for each cell that a part covers, sorted by bucket. Key 2 b is of the triangles in bucket b, key
// 2 b + 1 of the edges; entries of one key are in the order of parts.

// The cells of a box.                                                   Host: Grid::cells
typedef struct {
    int low[3], high[3];
} coarsen_cells;

//                                                                       Host: Grid::coordinate
int coarsen_coordinate(const REAL x, const REAL inverse) {
    return (int)fmin(fmax(floor(x * inverse), (REAL)-1e9), (REAL)1e9);
}

coarsen_cells coarsen_cells_of(__global const REAL *box, const REAL inverse) {
    coarsen_cells cells;
    for (uint k = 0; k < 3; k++) {
        cells.low[k] = coarsen_coordinate(box[k], inverse);
        cells.high[k] = coarsen_coordinate(box[3 + k], inverse);
    }
    return cells;
}

// The number of cells along an axis.
#define CELLS(cells, k) ((uint)((cells).high[k] - (cells).low[k]) + 1)

//                                                                       Host: Grid::bucket
uint coarsen_bucket(const int i, const int j, const int k, const uint shift) {
    const uint mixed = (uint)i * 73856093u ^ (uint)j * 19349663u ^ (uint)k * 83492791u;
    return (mixed * 0x9e3779b1u) >> shift;
}

// The number of cells of each part.                                     Host: SpatialHash::count_cells
__kernel void coarsen_contact_count_cells(const uint nodes, const uint parts, __global const REAL *boxes,
                                          __global const REAL *inverse, __global const uint *missing, __global uint *counts) {
    const uint p = get_global_id(0);
    if (p >= parts)
        return;
    const coarsen_cells cells = coarsen_cells_of(boxes + 6 * ((size_t)nodes + p), *inverse);
    counts[p] = missing[0] ? 0 : CELLS(cells, 0) * CELLS(cells, 1) * CELLS(cells, 2);
}

// The part and the key of every entry; entries beyond the last come after all buckets. Host: SpatialHash::sort
__kernel void coarsen_contact_cells(const uint capacity, const uint nodes, const uint triangles, const uint parts, const uint shift,
                                    __global const REAL *boxes, __global const REAL *inverse, __global const uint *starts,
                                    __global uint *owners, __global ulong *keys, __global uint *missing, __global uint *status) {
    const uint k = get_global_id(0), total = starts[parts];
    if (k >= capacity)
        return;
    if (k == 0) {
        status[0] = max(status[0], total);
        if (total > capacity)
            missing[0] = 1;
    }
    keys[k] = (ulong)2 << (32 - shift);
    if (k >= total)
        return;
    const uint p = coarsen_list_of(parts, starts, k), own = k - starts[p];
    const coarsen_cells cells = coarsen_cells_of(boxes + 6 * ((size_t)nodes + p), *inverse);
    const uint rows = CELLS(cells, 2), layers = CELLS(cells, 1) * rows;
    const int i = cells.low[0] + (int)(own / layers), j = cells.low[1] + (int)(own % layers / rows);
    const uint bucket = coarsen_bucket(i, j, cells.low[2] + (int)(own % rows), shift);
    owners[k] = p;
    keys[k] = 2 * (ulong)bucket + (p < triangles ? 0 : 1);
}

// The first entry of every key, and the end of the last.                Host: Buckets
__kernel void coarsen_contact_buckets(const uint capacity, const uint keyed, __global const uint *order,
                                      __global const ulong *keys, __global uint *begins) {
    const uint key = get_global_id(0);
    if (key <= keyed)
        begins[key] = coarsen_first_of(capacity, order, keys, key);
}
