// Pins, with the data k and the point.

READS(1, 4, 0);

//                                                                       Host: Attachments::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    energy[0] = energy[1] = 0;
    for (uint k = 0; k < 3; k++) {
        const REAL point = data[1 + k], gap = x[0][k] - point;
        energy[0] += data[0] * ((REAL)0.5 * gap * gap);
        energy[1] += data[0] * (fabs(gap) * (fabs(x[0][k]) + fabs(point)));
    }
}

//                                                                       Host: Attachments::add_gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    for (uint k = 0; k < 3; k++)
        g[0][k] = data[0] * (x[0][k] - data[1 + k]);
}

//                                                                       Host: Attachments::add_hessian
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[3]) {
    for (uint row = 0; row < 3; row++)
        for (uint column = 0; column < 3; column++)
            h[row][column] = row == column ? data[0] : 0;
}
