// A cylinder with hemispherical ends: the start and the direction of the axis, its length, and the radius.

#define SHAPE 8

//                                                                       Host: Capsule::magnitude
REAL coarsen_magnitude(__global const REAL *s, const REAL *x) {
    REAL start[3];
    coarsen_load3(s, start);
    return coarsen_size3(x) + coarsen_size3(start) + s[6] + s[7];
}

// Whether p is the projection of x on the axis; outward is x - p.       Host: Capsule::outward
bool coarsen_outward(__global const REAL *s, const REAL *x, REAL *outward) {
    REAL from[3], axis[3];
    coarsen_load3(s + 3, axis);
    for (uint k = 0; k < 3; k++)
        from[k] = x[k] - s[k];
    const REAL along = coarsen_dot3(from, axis), t = along < 0 ? 0 : along > s[6] ? s[6] : along;
    for (uint k = 0; k < 3; k++)
        outward[k] = from[k] - t * axis[k];
    if (coarsen_norm3(outward) <= 8 * (REAL)EPSILON * coarsen_magnitude(s, x))
        outward[0] = outward[1] = outward[2] = 0;
    return t == along;
}

//                                                                       Host: Capsule::distance
REAL coarsen_distance(__global const REAL *s, const REAL *x) {
    REAL outward[3];
    coarsen_outward(s, x, outward);
    return coarsen_norm3(outward) - s[7];
}

//                                                                       Host: Capsule::normal
void coarsen_normal(__global const REAL *s, const REAL *x, REAL *n) {
    coarsen_outward(s, x, n);
    REAL rho = coarsen_norm3(n);
    if (rho == 0) {
        // The cross product of the axis and the coordinate axis that is least parallel to it.
        uint least = 0;
        for (uint k = 1; k < 3; k++)
            least = fabs(s[3 + k]) < fabs(s[3 + least]) ? k : least;
        const uint next = (least + 1) % 3, last = (least + 2) % 3;
        n[next] = s[3 + last];
        n[last] = -s[3 + next];
        rho = coarsen_norm3(n);
    }
    for (uint k = 0; k < 3; k++)
        n[k] /= rho;
}

//                                                                       Host: Capsule::curvature
void coarsen_curvature(__global const REAL *s, const REAL *x, REAL (*h)[3]) {
    REAL units[2][3];
    const bool beside = coarsen_outward(s, x, units[0]);
    const REAL rho = coarsen_norm3(units[0]);
    coarsen_normal(s, x, units[0]);
    coarsen_load3(s + 3, units[1]);
    coarsen_turning(units, beside ? 2 : 1, rho, h);
}
