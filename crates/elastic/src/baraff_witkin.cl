// Baraff-Witkin tetrahedra, with the data of rest.cl, whose gradients are in the frame of the axes, k and k'.

READS(4, 15, 0);

#define STRETCH data[13]
#define SHEAR data[14]

// w_i                                                                   Host: Shape::deformation
void coarsen_fibers(__global const REAL *data, REAL (*x)[3], REAL (*w)[3]) {
    REAL f[3][3];
    coarsen_deformation(data, x, f);
    for (uint e = 0; e < 9; e++)
        w[e % 3][e / 3] = f[e / 3][e % 3];
}

// w / |w|, or 0 for w = 0; returns |w|.                                 Host: baraff_witkin::direction
REAL coarsen_fiber(const REAL *w, REAL *unit) {
    const REAL length = sqrt(coarsen_dot3(w, w));
    for (uint k = 0; k < 3; k++)
        unit[k] = length > 0 ? w[k] / length : 0;
    return length;
}

//                                                                       Host: Fibers::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL w[3][3];
    coarsen_fibers(data, x, w);
    energy[0] = energy[1] = 0;
    for (uint i = 0; i < 3; i++) {
        const uint j = (i + 1) % 3;
        const REAL length = sqrt(coarsen_dot3(w[i], w[i])), excess = length - 1, shear = coarsen_dot3(w[i], w[j]);
        const REAL products = fabs(w[i][0] * w[j][0]) + fabs(w[i][1] * w[j][1]) + fabs(w[i][2] * w[j][2]);
        energy[0] += (REAL)0.5 * (STRETCH * excess * excess + SHEAR * shear * shear);
        energy[1] += STRETCH * fabs(excess) * (length + 1);
        energy[1] += 2 * SHEAR * fabs(shear) * products;
    }
    energy[0] *= VOLUME;
    energy[1] *= VOLUME;
}

//                                                                       Host: Fibers::slopes
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL w[3][3], p[3][3]; // row i of w and column i of p are those of axis i
    coarsen_fibers(data, x, w);
    for (uint i = 0; i < 3; i++) {
        REAL unit[3];
        const REAL length = coarsen_fiber(w[i], unit);
        for (uint k = 0; k < 3; k++)
            p[k][i] = STRETCH * (length - 1) * unit[k];
    }
    for (uint i = 0; i < 3; i++) {
        const uint j = (i + 1) % 3;
        const REAL shear = SHEAR * coarsen_dot3(w[i], w[j]);
        for (uint k = 0; k < 3; k++) {
            p[k][i] += shear * w[j][k];
            p[k][j] += shear * w[i][k];
        }
    }
    coarsen_forces(data, p, g);
}

// c += k q q^T                                                          Host: elements::add_outer
void coarsen_add_shear(const REAL k, const REAL *q, REAL (*c)[9]) {
    for (uint row = 0; row < 9; row++) {
        const REAL left = k * q[row];
        for (uint column = 0; column < 9; column++)
            c[row][column] += left * q[column];
    }
}

// c[3 i + p][3 j + q]                                                   Host: Fibers::curvature
void coarsen_fiber_curvature(__global const REAL *data, REAL (*w)[3], const uint exact, REAL (*c)[9]) {
    for (uint i = 0; i < 3; i++) {
        REAL unit[3];
        const REAL length = coarsen_fiber(w[i], unit), tension = STRETCH * (1 - 1 / length);
        const REAL across = exact && length > 0 ? tension : fmax(tension, (REAL)0);
        for (uint p = 0; p < 3; p++)
            for (uint column = 0; column < 9; column++) {
                const uint q = column % 3;
                const REAL along = unit[p] * unit[q];
                c[3 * i + p][column] = column / 3 == i ? STRETCH * along + across * ((p == q ? 1 : 0) - along) : 0;
            }
    }
    for (uint i = 0; i < 3; i++) {
        const uint j = (i + 1) % 3;
        const REAL s = coarsen_dot3(w[i], w[j]), squares = coarsen_dot3(w[i], w[i]) + coarsen_dot3(w[j], w[j]);
        const REAL most = (REAL)0.5 * (squares + sqrt(squares * squares + 12 * s * s));
        REAL q[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, sum[3], normal[3];
        for (uint k = 0; k < 3; k++) {
            q[3 * i + k] = exact ? w[j][k] : most * w[j][k] + s * w[i][k];
            q[3 * j + k] = exact ? w[i][k] : most * w[i][k] + s * w[j][k];
        }
        const REAL square = coarsen_dot3(q + 3 * i, q + 3 * i) + coarsen_dot3(q + 3 * j, q + 3 * j);
        if (exact || square > 0)
            coarsen_add_shear(exact ? SHEAR : SHEAR * most / square, q, c);
        const REAL turn = SHEAR * s;
        for (uint k = 0; k < 3; k++)
            sum[k] = w[i][k] + copysign((REAL)1, s) * w[j][k];
        coarsen_fiber(sum, normal);
        for (uint e = 0; e < 9; e++) {
            const uint a = e / 3, b = e % 3;
            const REAL across = (REAL)0.5 * SHEAR * ((a == b ? 1 : 0) - normal[a] * normal[b]);
            if (exact) {
                c[3 * i + a][3 * j + b] += a == b ? turn : 0;
                c[3 * j + a][3 * i + b] += a == b ? turn : 0;
            } else if (s != 0) {
                c[3 * i + a][3 * i + b] += fabs(s) * across;
                c[3 * j + a][3 * j + b] += fabs(s) * across;
                c[3 * i + a][3 * j + b] += s * across;
                c[3 * j + a][3 * i + b] += s * across;
            }
        }
    }
}

//                                                                       Host: Element::add_hessian of Fibrous
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[12]) {
    if (curvature == CONSTANT) {
        coarsen_add_laplacian(data, fmax(STRETCH, 2 * SHEAR), h);
        return;
    }
    REAL w[3][3], c[9][9];
    coarsen_fibers(data, x, w);
    coarsen_fiber_curvature(data, w, curvature == EXACT, c);
#pragma unroll 1 // h and c do not fit into registers
    for (uint row = 0; row < 12; row++) {
        const uint a = row / 3, p = row % 3;
        const REAL n[3] = {VOLUME * data[3 * a], VOLUME * data[3 * a + 1], VOLUME * data[3 * a + 2]};
        for (uint q = 0; q < 3; q++) {
            REAL left[3];
            for (uint j = 0; j < 3; j++)
                left[j] = n[0] * c[p][3 * j + q] + n[1] * c[3 + p][3 * j + q] + n[2] * c[6 + p][3 * j + q];
            for (uint b = 0; b < 4; b++)
                h[row][3 * b + q] = coarsen_along(left, data, b);
        }
    }
}
