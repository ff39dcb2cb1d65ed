// Energies that are sums over elements, see crates/elastic/src/elements.rs. Build options define
//   CORNERS  the number of nodes of an element
//   DATA     the number of numbers of an element
//   EPSILON  the round-off of REAL
//   TINY     its smallest normal number
//   COMMON   the number of numbers that all elements read
//   BOUNDED  if elements bound steps
//   RENEWED  if numbers of elements are computed at the start of a step
//   EMPTY    if there are no elements, whose DATA is then not known
// The source of an energy defines the functions of one element, and is compiled after this file.
//
//   elements[e CORNERS + a]  corner a of element e: a free node, or the number of free nodes plus an index of held
//   blocks[e CORNERS^2 + ab] the block of corners a and b among those of the energy, NONE for a held node
//   around[starts[i]] ..     the corners e CORNERS + a at free node i, in order
//   common                   what all elements read
// Forces are written by elements and added by nodes, so that nothing depends on the order of items.

#define NONE UINT_MAX
#define EXACT 1
#define CONSTANT 2

// A source states what it reads: the corners and the numbers of an element, and the numbers of all. A kernel with others does not
// compile.
#ifdef EMPTY
#define READS(corners, own, all) typedef char coarsen_numbers_fit[CORNERS == (corners) && COMMON == (all) ? 1 : -1]
#else
#define READS(corners, own, all) \
    typedef char coarsen_numbers_fit[CORNERS == (corners) && DATA == (own) && COMMON == (all) ? 1 : -1]
#endif

// energy[0] is the value and energy[1] the magnitude.                   Host: Element::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy);
//                                                                       Host: Element::gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]);
// h[3 a + p][3 b + q], zeros before; the curvature is EXACT, CONSTANT or else projected. Host: Element::add_hessian
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[3 * CORNERS]);

#ifdef BOUNDED
// The largest known step along d.                                       Host: Element::max_step
REAL coarsen_element_max_step(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*d)[3]);
#else
#define coarsen_element_max_step(data, common, x, d) INFINITY
#endif

#ifdef RENEWED
// Writes numbers of an element at the start of a step.                  Host: Potential::renew
void coarsen_element_renew(__global REAL *data, __global const REAL *common, REAL (*x)[3]);
#else
#define coarsen_element_renew(data, common, x)
#endif

// The positions of the corners of an element.                           Host: Nodes::at
void coarsen_corners(__global const uint *element, const uint free, __global const REAL *positions, __global const REAL *held,
                     REAL (*x)[3]) {
    for (uint a = 0; a < CORNERS; a++) {
        const uint node = element[a];
        __global const REAL *from = node < free ? positions + 3 * (size_t)node : held + 3 * (size_t)(node - free);
        for (uint k = 0; k < 3; k++)
            x[a][k] = from[k];
    }
}

// The displacements of the corners of an element.                       Host: Nodes::along
void coarsen_displacements(__global const uint *element, const uint free, __global const REAL *displacements, REAL (*d)[3]) {
    for (uint a = 0; a < CORNERS; a++)
        for (uint k = 0; k < 3; k++)
            d[a][k] = element[a] < free ? displacements[3 * (size_t)element[a] + k] : 0;
}

#define ELEMENTS \
    const ulong n, const uint free, __global const uint *elements, __global const REAL *positions, \
        __global const REAL *held, __global const REAL *data, __global const REAL *common
#define CORNERS_OF(e, x) coarsen_corners(elements + (e) * CORNERS, free, positions, held, x)

// The energy and its magnitude.                                         Host: Elements::sum_energy
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_elements_energy(ELEMENTS, __global SUM *partial) {
    __local SUM shared[WIDTH];
    SUM value = 0, magnitude = 0;
    const size_t last = LAST(n);
    for (size_t e = FIRST(n) + get_local_id(0); e < last; e += WIDTH) {
        REAL x[CORNERS][3], energy[2];
        CORNERS_OF(e, x);
        coarsen_element_energy(data + e * DATA, common, x, energy);
        value += energy[0];
        magnitude += energy[1];
    }
    value = coarsen_tree(shared, value);
    magnitude = coarsen_tree(shared, magnitude);
    if (get_local_id(0) == 0) {
        partial[get_group_id(0)] = value;
        partial[get_num_groups(0) + get_group_id(0)] = magnitude;
    }
}

// The forces of every element on its corners.                           Host: Elements::sum_gradient
__kernel void coarsen_elements_forces(ELEMENTS, __global REAL *forces) {
    const size_t e = get_global_id(0);
    if (e >= n)
        return;
    REAL x[CORNERS][3], g[CORNERS][3];
    CORNERS_OF(e, x);
    coarsen_element_gradient(data + e * DATA, common, x, g);
    for (uint a = 0; a < CORNERS; a++)
        for (uint k = 0; k < 3; k++)
            forces[3 * (e * CORNERS + a) + k] = g[a][k];
}

// g += the forces at each free node                                     Host: Elements::sum_gradient
__kernel void coarsen_elements_gather(const uint free, __global const uint *starts, __global const uint *around,
                                      __global const REAL *forces, __global REAL *g) {
    const uint i = get_global_id(0);
    if (i >= free)
        return;
    for (uint k = 0; k < 3; k++) {
        REAL sum = g[3 * (size_t)i + k];
        for (uint at = starts[i]; at < starts[i + 1]; at++)
            sum += forces[3 * (size_t)around[at] + k];
        g[3 * (size_t)i + k] = sum;
    }
}

// The blocks of the Hessian of every element, from block `first` of a stream on. Host: Elements::sum_hessian
__kernel void coarsen_elements_hessian(ELEMENTS, __global const uint *blocks, const uint curvature, const uint first,
                                       __global REAL *stream) {
    const size_t e = get_global_id(0);
    if (e >= n)
        return;
    REAL x[CORNERS][3], h[3 * CORNERS][3 * CORNERS];
    CORNERS_OF(e, x);
    for (uint row = 0; row < 3 * CORNERS; row++)
        for (uint column = 0; column < 3 * CORNERS; column++)
            h[row][column] = 0;
    coarsen_element_hessian(data + e * DATA, common, x, curvature, h);
    for (uint ab = 0; ab < CORNERS * CORNERS; ab++) {
        const uint block = blocks[e * CORNERS * CORNERS + ab];
        if (block == NONE)
            continue;
        const uint row = 3 * (ab / CORNERS), column = 3 * (ab % CORNERS);
        for (uint k = 0; k < 9; k++)
            stream[9 * ((size_t)first + block) + k] = h[row + k / 3][column + k % 3];
    }
}

// The numbers of every element at the start of a step.                  Host: Potential::renew
__kernel void coarsen_elements_renew(const ulong n, const uint free, __global const uint *elements, __global const REAL *positions,
                                     __global const REAL *held, __global REAL *data, __global const REAL *common) {
    const size_t e = get_global_id(0);
    if (e >= n)
        return;
    REAL x[CORNERS][3];
    CORNERS_OF(e, x);
    coarsen_element_renew(data + e * DATA, common, x);
}

// The bound of the step along d of every element.                       Host: Elements::max_step
__kernel void coarsen_elements_bounds(ELEMENTS, __global const REAL *along, __global REAL *bounds) {
    const size_t e = get_global_id(0);
    if (e >= n)
        return;
    REAL x[CORNERS][3], d[CORNERS][3];
    CORNERS_OF(e, x);
    coarsen_displacements(elements + e * CORNERS, free, along, d);
    bounds[e] = coarsen_element_max_step(data + e * DATA, common, x, d);
}

// The least bound, by one group.                                        Host: Elements::max_step
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void coarsen_elements_max_step(const ulong n, __global const REAL *bounds, __global SUM *partial) {
    __local SUM shared[WIDTH];
    const uint item = get_local_id(0);
    SUM least = INFINITY;
    for (size_t e = item; e < n; e += WIDTH)
        least = fmin(least, (SUM)bounds[e]);
    shared[item] = least;
    for (uint half_width = WIDTH / 2; half_width > 0; half_width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_width)
            shared[item] = fmin(shared[item], shared[item + half_width]);
    }
    if (item == 0)
        partial[0] = shared[0];
}
