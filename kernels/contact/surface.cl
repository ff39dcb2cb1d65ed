// A surface of triangles, and what every kernel of its contact is given; see crates/contact/src/cloth. Nodes are numbered as those of
// elements: free nodes, then held ones. Queries are vertices, then edges; parts are triangles, then edges.
//
//   vertex[q]        the node of a vertex
//   corners          three nodes for each triangle, then two for each edge
//   boxes[6 k ..]    the lowest and the highest coordinates of node k, or, from `nodes` on, of a part
//   pairs[2 k ..]    a query and a part whose boxes overlap: a vertex and a triangle, or two edges
//   missing[0]       whether pairs are missing: a position is not finite, or a list is too small
//   outside[0]       whether a node has left its box; outside[1] whether its position is not finite
//   status[0 .. 2]   the most entries of cells, pairs and touches that were found since the host has read them
//   status[3]        whether a node had left its box in an evaluation since then
// Items that write the same number are not ordered.

#define NONE UINT_MAX

#define SURFACE \
    const uint nodes, const uint free, const uint vertices, const uint triangles, const uint edges, __global const uint *vertex, \
        __global const uint *corners
#define PARTS (triangles + edges)
#define QUERIES (vertices + edges)

// The first of the two nodes of an edge.
#define EDGE(e) (corners + 3 * (size_t)triangles + 2 * (size_t)(e))

// The position of a node.                                               Host: Nodes::at
void coarsen_position(const uint free, const uint node, __global const REAL *positions, __global const REAL *held, REAL *x) {
    __global const REAL *from = node < free ? positions + 3 * (size_t)node : held + 3 * (size_t)(node - free);
    for (uint k = 0; k < 3; k++)
        x[k] = from[k];
}

// The four nodes of a pair; whether it is one of edges.                 Host: Pair::nodes
bool coarsen_pair(const uint vertices, const uint triangles, __global const uint *vertex, __global const uint *corners,
                  const uint query, const uint part, uint *node) {
    const bool edges = query >= vertices;
    if (edges) {
        for (uint a = 0; a < 2; a++) {
            node[a] = EDGE(query - vertices)[a];
            node[2 + a] = EDGE(part - triangles)[a];
        }
    } else {
        node[0] = vertex[query];
        for (uint a = 0; a < 3; a++)
            node[1 + a] = corners[3 * (size_t)part + a];
    }
    return edges;
}

// The largest k below n with starts[k] <= at: the list to which an entry belongs.
uint coarsen_list_of(const uint n, __global const uint *starts, const uint at) {
    uint first = 0, last = n;
    while (first < last) {
        const uint mid = first + (last - first) / 2;
        if (starts[mid] <= at)
            first = mid + 1;
        else
            last = mid;
    }
    return first - 1;
}

// The first of n sorted keys that is not below `key`.
uint coarsen_first_of(const uint n, __global const uint *order, __global const ulong *keys, const ulong key) {
    uint first = 0, last = n;
    while (first < last) {
        const uint mid = first + (last - first) / 2;
        if (keys[order[mid]] < key)
            first = mid + 1;
        else
            last = mid;
    }
    return first;
}
