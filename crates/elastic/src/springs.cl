// Springs, with the data k and L.

READS(2, 2, 0);

// n and the length of a spring; if both ends coincide, n = 0.           Host: springs::along
REAL coarsen_spring(REAL (*x)[3], REAL *n) {
    REAL d[3];
    for (uint k = 0; k < 3; k++)
        d[k] = x[0][k] - x[1][k];
    const REAL length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    for (uint k = 0; k < 3; k++)
        n[k] = length > 0 ? d[k] / length : 0;
    return length;
}

//                                                                       Host: Element::energy of Vec<Spring>
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL n[3];
    const REAL length = coarsen_spring(x, n), half_k = (REAL)0.5 * data[0], change = length - data[1];
    energy[0] = half_k * change * change;
    energy[1] = half_k * fabs(change) * (length + data[1]);
}

//                                                                       Host: Element::gradient of Vec<Spring>
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL n[3];
    const REAL length = coarsen_spring(x, n), pull = data[0] * (length - data[1]);
    for (uint k = 0; k < 3; k++) {
        g[0][k] = pull * n[k];
        g[1][k] = -pull * n[k];
    }
}

//                                                                       Host: Element::add_hessian of Vec<Spring>
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[6]) {
    REAL n[3];
    const REAL length = coarsen_spring(x, n), turning = data[0] * (1 - data[1] / length);
    const REAL across =
        curvature == CONSTANT ? data[0] : curvature == EXACT && length > 0 ? turning : fmax(turning, (REAL)0);
    for (uint row = 0; row < 6; row++)
        for (uint column = 0; column < 6; column++) {
            const uint p = row % 3, q = column % 3;
            const REAL block = (data[0] - across) * n[p] * n[q] + (p == q ? across : 0);
            h[row][column] = row / 3 == column / 3 ? block : -block;
        }
}
