// Bending of flat cloth, with the data: c of the four corners, k / (A0 + A1).

READS(4, 5, 0);

#define SCALE data[4]

// The sum of c_a x_a                                                    Host: Hinge::bend
void coarsen_bend(__global const REAL *data, REAL (*x)[3], REAL *bend) {
    for (uint k = 0; k < 3; k++)
        bend[k] = data[0] * x[0][k] + data[1] * x[1][k] + data[2] * x[2][k] + data[3] * x[3][k];
}

//                                                                       Host: Element::energy of Vec<Hinge>
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL bend[3], magnitude = 0;
    coarsen_bend(data, x, bend);
    for (uint k = 0; k < 3; k++) {
        REAL terms = 0;
        for (uint a = 0; a < 4; a++)
            terms += fabs(data[a] * x[a][k]);
        magnitude += fabs(bend[k]) * terms;
    }
    energy[0] = SCALE * ((REAL)0.5 * coarsen_dot3(bend, bend));
    energy[1] = SCALE * magnitude;
}

//                                                                       Host: Element::gradient of Vec<Hinge>
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL bend[3];
    coarsen_bend(data, x, bend);
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = SCALE * data[a] * bend[k];
}

//                                                                       Host: Hinge::stiffness
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[12]) {
    for (uint row = 0; row < 12; row++)
        for (uint column = 0; column < 12; column++)
            h[row][column] = row % 3 == column % 3 ? SCALE * (data[row / 3] * data[column / 3]) : 0;
}
