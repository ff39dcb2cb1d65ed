// Lists of multilevel domains, read by all kernels of the domains. Nodes of all levels have one numbering,
// the finest level first, so that node `first` of level 1 is number FINE; levels follow each other. A
// position is an index into the list of the nodes of all domains. Build options define
//   STORED  the type of packed inverses
//   BLOCK   the number of unknowns per node
//   TILES   the number of tiles of 8 x 8 along a side of the largest inverse
// and, if a matrix is read,
//   VALUES  the type of its values
//   SLICE   the number of rows in a slice, see matrix.cl
//
//   order[p]      the node at position p
//   ranges[2 d]   the first position of domain d, and the position after its last
//   offsets[d]    the start of its inverse, in tiles
//   parent[i]     the node of the next level that contains node i, or NONE
//   children[2 s] for node FINE + s, the first position of its children, and the position after their last

#define SIDE 8
#define TILE 64
#define NONE UINT_MAX
#define AREA (BLOCK * BLOCK)

// The index, in tiles, of tile (i, j), i >= j, of a matrix with n tiles along a side.
// Host: packed::tile_number
uint coarsen_tile(const uint n, const uint i, const uint j) {
    return j * (2 * n + 1 - j) / 2 + (i - j);
}

#ifdef SLICE
// Entry e of the block in a slot.
#define ENTRY(slot, e) ((SUM)values[((size_t)((slot) / SLICE) * AREA + (e)) * SLICE + (slot) % SLICE])

// The first slot of row i of a matrix in slices; see rows.cl.
#define FIRST_SLOT(i) ((uint)BASE(i) * SLICE + LANE(i))

// With the option CONTACT, block k of row i of a contact part, touch_starts[i] <= k < touch_starts[i + 1], is at column
// touch_places[k]; see matrix.cl.
#ifdef CONTACT
#define TOUCHING \
    , __global const uint *touch_starts, __global const uint *touch_places, __global const VALUES *touch_values
#define TOUCH(k, e) touch_values[(size_t)(k) * AREA + (e)]
#else
#define TOUCHING
#endif
#endif
