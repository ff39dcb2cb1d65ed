// The energy of pairs that are near.

READS(4, 3, 5);

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
            h[row][column] = touch.gap.weights[row / 3] * touch.gap.weights[column / 3] *
                             (k * touch.normal[row % 3] * touch.normal[column % 3]);
}
