// Contact of nodes and of edges with a solid, and friction with it. Each shape defines the number SHAPE of its own numbers s, and
// its distance, normal, curvature and magnitude: see shape.rs. All shapes are convex, with distances that are exact outside.

//                                                                       Host: vector::dot
REAL coarsen_dot3(const REAL *a, const REAL *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

//                                                                       Host: vector::norm
REAL coarsen_norm3(const REAL *a) {
    return sqrt(coarsen_dot3(a, a));
}

//                                                                       Host: shape::size
REAL coarsen_size3(const REAL *a) {
    return fabs(a[0]) + fabs(a[1]) + fabs(a[2]);
}

void coarsen_load3(__global const REAL *from, REAL *to) {
    for (uint k = 0; k < 3; k++)
        to[k] = from[k];
}

// The Hessian of the distance rho to a point (one unit vector) or a line (two). Host: shape::across
void coarsen_turning(REAL (*units)[3], const uint count, const REAL rho, REAL (*h)[3]) {
    const REAL inverse = rho > 0 ? 1 / rho : 0;
    for (uint p = 0; p < 3; p++)
        for (uint q = 0; q < 3; q++) {
            REAL along = units[0][p] * units[0][q];
            if (count == 2)
                along += units[1][p] * units[1][q];
            h[p][q] = inverse * ((p == q ? 1 : 0) - along);
        }
}
