// A half-space, with the normal and the offset.

#define SHAPE 4

//                                                                       Host: Plane::distance
REAL coarsen_distance(__global const REAL *s, const REAL *x) {
    return s[0] * x[0] + s[1] * x[1] + s[2] * x[2] - s[3];
}

//                                                                       Host: Plane::normal
void coarsen_normal(__global const REAL *s, const REAL *x, REAL *n) {
    coarsen_load3(s, n);
}

//                                                                       Host: Plane::curvature
void coarsen_curvature(__global const REAL *s, const REAL *x, REAL (*h)[3]) {
    for (uint p = 0; p < 3; p++)
        for (uint q = 0; q < 3; q++)
            h[p][q] = 0;
}

//                                                                       Host: Plane::magnitude
REAL coarsen_magnitude(__global const REAL *s, const REAL *x) {
    const REAL terms[3] = {s[0] * x[0], s[1] * x[1], s[2] * x[2]};
    return coarsen_size3(terms) + fabs(s[3]);
}
