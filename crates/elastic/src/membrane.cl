// Cloth with threads, with the data of triangle.cl; k, c and k' are common.

READS(3, 7, 3);

#define STRETCH common[0]
#define COUPLING common[1]
#define SHEAR common[2]

//                                                                       Host: Stretched::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL w[2][3];
    coarsen_columns(data, x, w);
    const REAL a = sqrt(coarsen_dot3(w[0], w[0])), b = sqrt(coarsen_dot3(w[1], w[1]));
    const REAL u = a - 1, v = b - 1, s = coarsen_dot3(w[0], w[1]);
    energy[0] = AREA * ((REAL)0.5 * STRETCH * (u * u + v * v) + COUPLING * u * v + (REAL)0.5 * SHEAR * s * s);
    energy[1] = AREA * ((STRETCH * fabs(u) + fabs(COUPLING) * fabs(v)) * (a + 1) +
                        (STRETCH * fabs(v) + fabs(COUPLING) * fabs(u)) * (b + 1) + 2 * SHEAR * fabs(s) * a * b);
}

// w / |w|, or 0 for w = 0; returns |w|.                                 Host: membrane::unit
REAL coarsen_thread(const REAL *w, REAL *unit) {
    const REAL length = sqrt(coarsen_dot3(w, w));
    for (uint k = 0; k < 3; k++)
        unit[k] = length > 0 ? w[k] / length : 0;
    return length;
}

//                                                                       Host: Stretched::gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL w[2][3], unit[2][3];
    coarsen_columns(data, x, w);
    const REAL u = coarsen_thread(w[0], unit[0]) - 1, v = coarsen_thread(w[1], unit[1]) - 1;
    const REAL s = coarsen_dot3(w[0], w[1]);
    const REAL pulls[2] = {STRETCH * u + COUPLING * v, STRETCH * v + COUPLING * u};
    for (uint k = 0; k < 3; k++) {
        const REAL of_u = pulls[0] * unit[0][k] + SHEAR * s * w[1][k], of_v = pulls[1] * unit[1][k] + SHEAR * s * w[0][k];
        for (uint a = 0; a < 3; a++)
            g[a][k] = AREA * (data[2 * a] * of_u + data[2 * a + 1] * of_v);
    }
}

// The bracket of (3) divided by k, and w / |w|                          Host: Stretched::curvature
void coarsen_thread_curvature(__global const REAL *common, const REAL *w, const REAL *other, const uint exact, REAL *unit,
                              REAL (*h)[3]) {
    const REAL length = coarsen_thread(w, unit), excess = sqrt(coarsen_dot3(other, other)) - 1;
    const REAL across = length > 0 ? 1 - 1 / length + COUPLING / STRETCH * excess / length : 0;
    const REAL tension = exact ? across : fmax(across, (REAL)0);
    for (uint e = 0; e < 9; e++) {
        const REAL p = unit[e / 3] * unit[e % 3];
        h[e / 3][e % 3] = p + tension * ((e / 3 == e % 3 ? 1 : 0) - p);
    }
}

//                                                                       Host: Curved::stiffness
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[9]) {
    REAL w[2][3], unit[2][3], along[2][3][3], d[3][3];
    coarsen_columns(data, x, w);
    coarsen_thread_curvature(common, w[0], w[1], curvature == EXACT, unit[0], along[0]);
    coarsen_thread_curvature(common, w[1], w[0], curvature == EXACT, unit[1], along[1]);
    for (uint a = 0; a < 3; a++)
        for (uint k = 0; k < 3; k++)
            d[a][k] = data[2 * a] * w[1][k] + data[2 * a + 1] * w[0][k];
    const REAL turn = curvature == EXACT ? SHEAR * coarsen_dot3(w[0], w[1]) : 0;
    const REAL bound = AREA * fmax(STRETCH + fabs(COUPLING), 2 * SHEAR);
    for (uint ab = 0; ab < 9; ab++) {
        const uint a = ab / 3, b = ab % 3;
        const REAL uu = data[2 * a] * data[2 * b], vv = data[2 * a + 1] * data[2 * b + 1];
        const REAL uv = data[2 * a] * data[2 * b + 1], vu = data[2 * a + 1] * data[2 * b];
        for (uint e = 0; e < 9; e++) {
            const uint p = e / 3, q = e % 3;
            REAL k = STRETCH * AREA * uu * along[0][p][q] + STRETCH * AREA * vv * along[1][p][q] +
                     SHEAR * AREA * (d[a][p] * d[b][q]);
            if (COUPLING != 0)
                k += COUPLING * AREA * uv * (unit[0][p] * unit[1][q]) + COUPLING * AREA * vu * (unit[1][p] * unit[0][q]);
            if (turn != 0 && p == q)
                k += turn * AREA * (uv + vu);
            if (curvature == CONSTANT)
                k = p == q ? bound * (uu + vv) : 0;
            h[3 * a + p][3 * b + q] = k;
        }
    }
}
