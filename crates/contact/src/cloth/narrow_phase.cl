// The energy of a pair that is near. An element has its kind (0 for none, 1 for a vertex and a triangle, 2 for edges, NaN if pairs
// are missing) and the squared lengths of its edges at rest. For all: those of the barrier, the thickness and the distance that is kept.

READS(4, 3, 5);

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

//                                                                       Host: ClothContact::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    coarsen_touch_of touch;
    energy[0] = energy[1] = isnan(data[0]) ? NAN : 0;
    if (isnan(data[0]) || !coarsen_touch(data, common, x, &touch))
        return;
    REAL terms = 0;
    for (uint a = 0; a < 4; a++)
        terms += fabs(touch.gap.weights[a]) * (fabs(x[a][0]) + fabs(x[a][1]) + fabs(x[a][2]));
    energy[0] = touch.share * touch.potential[0];
    energy[1] = touch.share * (fabs(touch.potential[1]) * terms);
}

//                                                                       Host: ClothContact::slopes
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    coarsen_touch_of touch;
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = isnan(data[0]) ? NAN : 0;
    if (isnan(data[0]) || !coarsen_touch(data, common, x, &touch))
        return;
    REAL turning[2][3] = {{0, 0, 0}, {0, 0, 0}};
    const bool soft = touch.crossing < 1;
    if (soft) {
        REAL d[3], e[3], n[3];
        coarsen_sub3(x[1], x[0], d);
        coarsen_sub3(x[3], x[2], e);
        coarsen_cross3(d, e, n);
        coarsen_cross3(e, n, turning[0]);
        coarsen_cross3(n, d, turning[1]);
    }
    const REAL slope = 2 * (1 - touch.crossing) / touch.soft;
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++) {
            const REAL along = touch.share * touch.potential[1] * touch.gap.weights[a] * touch.normal[k];
            const REAL own = 2 * slope * turning[a / 2][k];
            g[a][k] = along + (soft ? touch.potential[0] * (a % 2 == 0 ? -own : own) : 0);
        }
}

// The same for each curvature.                                          Host: ClothContact::add_contacts
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[12]) {
    coarsen_touch_of touch;
    if (isnan(data[0]))
        h[0][0] = NAN;
    if (isnan(data[0]) || !coarsen_touch(data, common, x, &touch) || touch.share == 0)
        return;
    const REAL k = touch.potential[2] * touch.share;
    for (uint row = 0; row < 12; row++)
        for (uint column = 0; column < 12; column++)
            h[row][column] = touch.gap.weights[row / 3] * touch.gap.weights[column / 3] * (k * touch.normal[row % 3] * touch.normal[column % 3]);
}
