// Contact with a shape, whose numbers follow those of the potential: 1 for a barrier and 0 for a penalty, the stiffness and the
// reach. An element is a node, or an edge with its number ε.

#define OF_SHAPE (common + 3)

#ifndef RENEWED
READS(CORNERS, CORNERS == 1 ? 0 : 1, 3 + SHAPE);
#endif

// For a barrier.                                                        Host: ContactPotential::max_step
REAL coarsen_potential_step(const REAL distance, const REAL rate) {
    return rate < 0 ? (REAL)0.9 * distance / -rate : INFINITY;
}

#if CORNERS == 1

#ifndef RENEWED

//                                                                       Host: Obstacle::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL p[3];
    coarsen_potential(common, coarsen_distance(OF_SHAPE, x[0]), p);
    energy[0] = p[0];
    energy[1] = p[0] == 0 ? 0 : fabs(p[1]) * coarsen_magnitude(OF_SHAPE, x[0]);
}

//                                                                       Host: Obstacle::add_gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL p[3], n[3];
    coarsen_potential(common, coarsen_distance(OF_SHAPE, x[0]), p);
    coarsen_normal(OF_SHAPE, x[0], n);
    for (uint k = 0; k < 3; k++)
        g[0][k] = p[1] == 0 ? 0 : p[1] * n[k];
}

//                                                                       Host: Obstacle::stiffness
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[3]) {
    REAL p[3], n[3], turning[3][3] = {{0}};
    coarsen_potential(common, coarsen_distance(OF_SHAPE, x[0]), p);
    if (!(p[2] > 0))
        return;
    coarsen_normal(OF_SHAPE, x[0], n);
    if (curvature == EXACT)
        coarsen_curvature(OF_SHAPE, x[0], turning);
    for (uint row = 0; row < 3; row++)
        for (uint column = 0; column < 3; column++)
            h[row][column] = p[2] * (n[row] * n[column]) + p[1] * turning[row][column];
}

#ifdef BOUNDED

//                                                                       Host: Obstacle::max_step
REAL coarsen_element_max_step(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*d)[3]) {
    REAL n[3];
    coarsen_normal(OF_SHAPE, x[0], n);
    return fmax(coarsen_potential_step(coarsen_distance(OF_SHAPE, x[0]), coarsen_dot3(n, d[0])), (REAL)0); // 0 for NaN
}

#endif

#endif

#else

// The point of an edge that is nearest to the shape, its distance, and its weight of the second end. Host: edges::nearest
REAL coarsen_nearest(__global const REAL *s, REAL (*x)[3], REAL *point, REAL *share) {
    REAL along[3], n[3], h[3][3], low = 0, high = 1, at = (REAL)0.5;
    for (uint k = 0; k < 3; k++)
        along[k] = x[1][k] - x[0][k];
    coarsen_normal(s, x[0], n);
    const bool rises = coarsen_dot3(n, along) >= 0;
    coarsen_normal(s, x[1], n);
    const bool falls = coarsen_dot3(n, along) <= 0;
    if (rises || falls)
        at = rises ? 0 : 1;
    for (uint step = 0; step < 60 && !rises && !falls; step++) {
        for (uint k = 0; k < 3; k++)
            point[k] = (1 - at) * x[0][k] + at * x[1][k];
        coarsen_normal(s, point, n);
        coarsen_curvature(s, point, h);
        const REAL down = coarsen_dot3(n, along);
        if (down < 0)
            low = at;
        else
            high = at;
        REAL bend = 0;
        for (uint k = 0; k < 3; k++)
            bend += along[k] * coarsen_dot3(h[k], along);
        const REAL newton = at - down / bend, next = newton >= low && newton <= high ? newton : (REAL)0.5 * (low + high);
        const REAL change = fabs(next - at);
        at = next;
        if (change <= fmax((REAL)1e-13, (REAL)EPSILON))
            break;
    }
    for (uint k = 0; k < 3; k++)
        point[k] = (1 - at) * x[0][k] + at * x[1][k];
    *share = at;
    return coarsen_distance(s, point);
}

// A bound of the distance of an edge from below.                        Host: Obstacle::is_near
REAL coarsen_least_distance(__global const REAL *s, REAL (*x)[3]) {
    REAL middle[3], along[3];
    for (uint k = 0; k < 3; k++) {
        middle[k] = (REAL)0.5 * (x[0][k] + x[1][k]);
        along[k] = x[1][k] - x[0][k];
    }
    return coarsen_distance(s, middle) - (REAL)0.5 * coarsen_norm3(along);
}

// A contact of an edge: its nearest point is not an end.                Host: Dip
typedef struct {
    REAL weights[2], point[3], normal[3], share, turning[2][3], potential[3];
} coarsen_dip_of;

// Whether there is one.                                                 Host: Obstacle::dip
bool coarsen_dip(const REAL soft, __global const REAL *common, REAL (*x)[3], coarsen_dip_of *dip) {
    coarsen_potential(common, coarsen_least_distance(OF_SHAPE, x), dip->potential);
    if (dip->potential[0] == 0 && dip->potential[1] == 0)
        return false;
    const REAL gap = coarsen_nearest(OF_SHAPE, x, dip->point, dip->weights + 1);
    dip->weights[0] = 1 - dip->weights[1];
    REAL nearer[2];
    for (uint a = 0; a < 2; a++)
        nearer[a] = fmax(coarsen_distance(OF_SHAPE, x[a]) - gap, (REAL)0);
    const REAL sum = nearer[0] + nearer[1], c = nearer[0] * nearer[1] / (soft * sum);
    if (sum == 0 || c == 0 || dip->weights[0] == 0 || dip->weights[1] == 0)
        return false;
    dip->share = c < 1 ? (2 - c) * c : 1;
    coarsen_normal(OF_SHAPE, dip->point, dip->normal);
    coarsen_potential(common, gap, dip->potential);
    REAL rates[2], slope[3];
    for (uint a = 0; a < 2; a++) {
        const REAL other = nearer[1 - a] / sum;
        rates[a] = other * other / soft;
    }
    for (uint a = 0; a < 2; a++) {
        coarsen_normal(OF_SHAPE, x[a], slope);
        for (uint k = 0; k < 3; k++) {
            const REAL both = (rates[0] + rates[1]) * dip->weights[a] * dip->normal[k];
            dip->turning[a][k] = c < 1 ? 2 * (1 - c) * (rates[a] * slope[k] - both) : 0;
        }
    }
    return true;
}

#ifndef RENEWED

//                                                                       Host: Obstacle::edge_energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    coarsen_dip_of dip;
    energy[0] = energy[1] = 0;
    if (!coarsen_dip(data[0], common, x, &dip))
        return;
    energy[0] = dip.share * dip.potential[0];
    energy[1] = dip.share * (fabs(dip.potential[1]) * coarsen_magnitude(OF_SHAPE, dip.point));
}

//                                                                       Host: Obstacle::add_edge_gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    coarsen_dip_of dip;
    const bool acts = coarsen_dip(data[0], common, x, &dip) && !(dip.potential[0] == 0 && dip.potential[1] == 0);
    for (uint a = 0; a < 2; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = acts ? dip.weights[a] * (dip.share * dip.potential[1] * dip.normal[k]) + dip.potential[0] * dip.turning[a][k] : 0;
}

//                                                                       Host: Obstacle::add_edge_contacts
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[6]) {
    coarsen_dip_of dip;
    if (!coarsen_dip(data[0], common, x, &dip))
        return;
    const REAL bend = dip.share * dip.potential[2];
    if (!(bend > 0))
        return;
    for (uint row = 0; row < 6; row++)
        for (uint column = 0; column < 6; column++)
            h[row][column] =
                dip.weights[row / 3] * dip.weights[column / 3] * (bend * (dip.normal[row % 3] * dip.normal[column % 3]));
}

#ifdef BOUNDED

//                                                                       Host: Obstacle::edge_step
REAL coarsen_element_max_step(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*d)[3]) {
    const REAL far = coarsen_least_distance(OF_SHAPE, x), rate = -fmax(coarsen_norm3(d[0]), coarsen_norm3(d[1]));
    const REAL rough = far > 0 ? coarsen_potential_step(far, rate) : 0;
    if (rough >= 16)
        return rough;
    REAL point[3], n[3], share, least = INFINITY;
    const REAL gap = coarsen_nearest(OF_SHAPE, x, point, &share);
    coarsen_normal(OF_SHAPE, point, n);
    for (uint a = 0; a < 2; a++) {
        REAL from[3];
        for (uint k = 0; k < 3; k++)
            from[k] = x[a][k] - point[k];
        const REAL above = gap + fmax(coarsen_dot3(n, from), (REAL)0);
        least = fmin(least, fmax(coarsen_potential_step(above, coarsen_dot3(n, d[a])), (REAL)0));
    }
    return least;
}

#endif

#endif

#endif
