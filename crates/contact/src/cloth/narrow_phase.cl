// A pair that is near. An element has its kind (0 for none, 1 for a vertex and a triangle, 2 for edges, NaN if pairs are missing) and
// the squared lengths of its edges at rest. For all: those of the barrier, the thickness and the distance that is kept.

#define THICKNESS (common[3])
#define MIN_DISTANCE (common[4])

// Host: Touch
typedef struct {
    coarsen_gap_of gap;
    REAL normal[3], share, crossing, soft, potential[3];
} coarsen_touch_of;

// Whether a pair is near.                                               Host: Touch::of
bool coarsen_touch(__global const REAL *data, __global const REAL *common, REAL (*x)[3], coarsen_touch_of *touch) {
    if (data[0] == 0)
        return false;
    const bool edges = data[0] == 2;
    touch->gap = coarsen_gap(edges, x);
    const REAL distance = touch->gap.distance;
    if (!(distance < THICKNESS && distance > 0))
        return false;
    touch->crossing = touch->soft = 1;
    if (edges) {
        REAL d[3], e[3], n[3];
        coarsen_sub3(x[1], x[0], d);
        coarsen_sub3(x[3], x[2], e);
        coarsen_cross3(d, e, n);
        touch->soft = (REAL)1e-3 * data[1] * data[2];
        touch->crossing = coarsen_dot3(n, n) / touch->soft;
    }
    const REAL c = touch->crossing;
    touch->share = c < 1 ? (2 - c) * c : 1;
    for (uint k = 0; k < 3; k++)
        touch->normal[k] = touch->gap.vector[k] / distance;
    coarsen_potential(common, distance - MIN_DISTANCE, touch->potential);
    return true;
}
