// A ball, with the centre and the radius.

#define SHAPE 4

// x - c, and its length.
REAL coarsen_outward(__global const REAL *s, const REAL *x, REAL *outward) {
    for (uint k = 0; k < 3; k++)
        outward[k] = x[k] - s[k];
    return coarsen_norm3(outward);
}

//                                                                       Host: Sphere::distance
REAL coarsen_distance(__global const REAL *s, const REAL *x) {
    REAL outward[3];
    return coarsen_outward(s, x, outward) - s[3];
}

//                                                                       Host: Sphere::normal
void coarsen_normal(__global const REAL *s, const REAL *x, REAL *n) {
    const REAL rho = coarsen_outward(s, x, n);
    for (uint k = 0; k < 3; k++)
        n[k] = rho == 0 ? k == 1 : n[k] / rho;
}

//                                                                       Host: Sphere::curvature
void coarsen_curvature(__global const REAL *s, const REAL *x, REAL (*h)[3]) {
    REAL units[2][3];
    const REAL rho = coarsen_outward(s, x, units[0]);
    coarsen_normal(s, x, units[0]);
    coarsen_turning(units, 1, rho, h);
}

//                                                                       Host: Sphere::magnitude
REAL coarsen_magnitude(__global const REAL *s, const REAL *x) {
    REAL centre[3];
    coarsen_load3(s, centre);
    return coarsen_size3(x) + coarsen_size3(centre) + s[3];
}
