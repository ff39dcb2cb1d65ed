// Co-rotational cloth, with the data of triangle.cl; mu and lambda are common.

READS(3, 7, 2);

#define MU common[0]
#define LAMBDA common[1]

// w / |w|; returns whether w is not 0.                                  Host: corotational_membrane::unit
uint coarsen_unit_of(const REAL *w, REAL *unit) {
    const REAL length = sqrt(coarsen_dot3(w, w));
    for (uint k = 0; k < 3; k++)
        unit[k] = w[k] / length;
    return length > 0;
}

// sigma_i, u_i and v_i                                                  Host: Polar::of
void coarsen_polar(REAL (*f)[3], REAL *sigma, REAL (*u)[3], REAL (*v)[2]) {
    const REAL a = coarsen_dot3(f[0], f[0]), b = coarsen_dot3(f[1], f[1]), c = coarsen_dot3(f[0], f[1]);
    const REAL angle = isfinite(a + b) ? (REAL)0.5 * atan2(2 * c, a - b) : NAN;
    const REAL s = sin(angle);
    v[0][0] = v[1][1] = cos(angle);
    v[0][1] = s;
    v[1][0] = -s;
    REAL turned[2][3], left[3], axis[3], other[3];
    for (uint i = 0; i < 2; i++)
        for (uint k = 0; k < 3; k++)
            turned[i][k] = v[i][0] * f[0][k] + v[i][1] * f[1][k];
    if (!coarsen_unit_of(turned[0], u[0]))
        for (uint k = 0; k < 3; k++)
            u[0][k] = k == 0;
    const REAL along = coarsen_dot3(u[0], turned[1]);
    uint least = 0;
    for (uint k = 0; k < 3; k++) {
        left[k] = turned[1][k] - along * u[0][k];
        least = fabs(u[0][k]) < fabs(u[0][least]) ? k : least;
    }
    for (uint k = 0; k < 3; k++)
        axis[k] = k == least;
    coarsen_cross3(u[0], axis, other);
    if (!coarsen_unit_of(left, u[1]))
        coarsen_unit_of(other, u[1]);
    for (uint i = 0; i < 2; i++)
        sigma[i] = coarsen_dot3(u[i], turned[i]);
}

// The columns of the sum of weights_ij u_i v_j^T                        Host: Polar::mode
void coarsen_polar_mode(const REAL w00, const REAL w01, const REAL w10, const REAL w11, REAL (*u)[3], REAL (*v)[2],
                        REAL (*columns)[3]) {
    for (uint s = 0; s < 2; s++)
        for (uint p = 0; p < 3; p++)
            columns[s][p] = w00 * u[0][p] * v[0][s] + w01 * u[0][p] * v[1][s] + w10 * u[1][p] * v[0][s] + w11 * u[1][p] * v[1][s];
}

//                                                                       Host: Rotated::pulls
REAL coarsen_pull(__global const REAL *common, const REAL *sigma, const uint i) {
    return 2 * MU * (sigma[i] - 1) + LAMBDA * (sigma[0] + sigma[1] - 2);
}

//                                                                       Host: Element::energy of Rotated
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL f[2][3], sigma[2], u[2][3], v[2][2];
    coarsen_columns(data, x, f);
    coarsen_polar(f, sigma, u, v);
    const REAL a = sigma[0], b = sigma[1], strain = a + b - 2;
    energy[0] = AREA * (MU * ((a - 1) * (a - 1) + (b - 1) * (b - 1)) + (REAL)0.5 * LAMBDA * (strain * strain));
    energy[1] = AREA * (fabs(coarsen_pull(common, sigma, 0)) * (a + 1) + fabs(coarsen_pull(common, sigma, 1)) * (b + 1));
}

//                                                                       Host: Element::gradient of Rotated
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL f[2][3], sigma[2], u[2][3], v[2][2], stress[2][3];
    coarsen_columns(data, x, f);
    coarsen_polar(f, sigma, u, v);
    coarsen_polar_mode(coarsen_pull(common, sigma, 0), 0, 0, coarsen_pull(common, sigma, 1), u, v, stress);
    coarsen_spread(data, stress, g);
    for (uint e = 0; e < 9; e++)
        g[e / 3][e % 3] *= AREA;
}

//                                                                       Host: Element::add_hessian of Rotated
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[9]) {
    if (curvature == CONSTANT) {
        coarsen_add_columns_of_unit(data, 2 * (MU + fmax(LAMBDA, (REAL)0)), h);
        return;
    }
    REAL f[2][3], sigma[2], u[2][3], v[2][2], n[3], w[2][3];
    coarsen_columns(data, x, f);
    coarsen_polar(f, sigma, u, v);
    const REAL sum = sigma[0] + sigma[1], half_root = (REAL)0.70710678118654752440;
    const REAL twist = 2 * (MU + LAMBDA) * (1 - 2 / sum);
    coarsen_polar_mode(1, 0, 0, 0, u, v, w);
    coarsen_add_columns(data, 2 * MU, w, h);
    coarsen_polar_mode(0, 0, 0, 1, u, v, w);
    coarsen_add_columns(data, 2 * MU, w, h);
    coarsen_polar_mode(1, 0, 0, 1, u, v, w);
    coarsen_add_columns(data, LAMBDA, w, h);
    coarsen_polar_mode(0, half_root, half_root, 0, u, v, w);
    coarsen_add_columns(data, 2 * MU, w, h);
    if (sum > 0) {
        coarsen_polar_mode(0, half_root, -half_root, 0, u, v, w);
        coarsen_add_columns(data, curvature == EXACT ? twist : fmax(twist, (REAL)0), w, h);
    }
    coarsen_cross3(u[0], u[1], n);
    for (uint i = 0; i < 2; i++)
        if (sigma[i] > 0) {
            const REAL value = coarsen_pull(common, sigma, i) / sigma[i];
            for (uint e = 0; e < 6; e++)
                w[e / 3][e % 3] = n[e % 3] * v[i][e / 3];
            coarsen_add_columns(data, curvature == EXACT ? value : fmax(value, (REAL)0), w, h);
        }
}
