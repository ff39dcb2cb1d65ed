// Rows of a matrix as parameters, and where their blocks are. See matrix.cl for the layout of blocks and for SLICE.

#define ROWS const uint width, __global const uint *offsets, __global const uint *lengths, __global const uint *columns

// The rows of a range and their values, stored in STORED.
#define MATRIX const ulong row_offset, const ulong n, ROWS, __global const STORED *values

// The start of row i of a range, its lane, and its number of blocks.
#if SLICE == 1
#define BASE(i) ((size_t)offsets[i])
#define LANE(i) 0
#define COUNT(i) (offsets[(i) + 1] - offsets[i])
#else
#define BASE(i) (width ? (i) / SLICE * width : (size_t)offsets[(i) / SLICE])
#define LANE(i) ((i) % SLICE)
#define COUNT(i) lengths[i]
#endif
