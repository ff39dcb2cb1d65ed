// Cloth whose stiffness depends on the direction of the largest strain and on this strain, with the data of triangle.cl. Common
// are the strains, and for each of three directions and each strain C, the integral up to it and C' after
// it, four numbers each.

#define SAMPLES (COMMON / 37u)
READS(3, 7, SAMPLES > 0 ? 37 * SAMPLES : 37);

#define SAMPLE(direction, k) (common + SAMPLES + 12 * ((direction) * SAMPLES + (k)))

// c += w b                                                              Host: Orthotropic::add
void coarsen_add_stiffness(REAL *c, const REAL w, const REAL *b) {
    for (uint k = 0; k < 4; k++)
        c[k] += w * b[k];
}

//                                                                       Host: Orthotropic::times
void coarsen_stress(const REAL *c, const REAL *p, REAL *s) {
    s[0] = c[0] * p[0] + c[1] * p[1];
    s[1] = c[1] * p[0] + c[2] * p[1];
    s[2] = c[3] * p[2];
}

//                                                                       Host: Orthotropic::half
REAL coarsen_half(const REAL *c, const REAL *p) {
    REAL s[3];
    coarsen_stress(c, p, s);
    return (REAL)0.5 * coarsen_dot3(p, s);
}

// The mean C of a direction, and its derivatives                        Host: PlanarStiffness::mean
void coarsen_mean(__global const REAL *common, const uint direction, const REAL lambda, REAL *mean, REAL *first, REAL *second) {
    uint next = 0;
    while (next < SAMPLES && common[next] < lambda)
        next++;
    __global const REAL *sample = SAMPLE(direction, next == 0 ? 0 : next - 1);
    const REAL start = common[next == 0 ? 0 : next - 1];
    const REAL squares = (REAL)0.5 * (lambda * lambda - start * start);
    const REAL cubes = (lambda * lambda * lambda - start * start * start) / 3;
    for (uint k = 0; k < 4; k++) {
        const REAL own = sample[k], slope = sample[8 + k];
        REAL integral = sample[4 + k];
        integral += squares * own;
        integral += (cubes - start * squares) * slope;
        mean[k] = next == 0 ? own : 2 / (lambda * lambda) * integral;
        first[k] = next == 0 ? 0 : 2 / lambda * (own + (lambda - start) * slope) + -2 / lambda * mean[k];
        second[k] = next == 0 ? 0 : 2 / lambda * slope + -3 / lambda * first[k];
    }
}

// E of a strain and its derivatives                                     Host: PlanarStiffness::at
void coarsen_planar(__global const REAL *common, const REAL *p, REAL *energy, REAL *stress, REAL (*hessian)[3]) {
    const REAL of_d[3] = {(REAL)0.5, (REAL)-0.5, 0}, of_s[3] = {0, 0, (REAL)0.5}, of_m[3] = {(REAL)0.5, (REAL)0.5, 0};
    const REAL d = coarsen_dot3(of_d, p), s = coarsen_dot3(of_s, p), m = coarsen_dot3(of_m, p), rounded = (REAL)1e-3;
    const REAL r = sqrt(d * d + s * s + rounded * rounded), lambda = m + r - rounded, t = d / r;
    REAL grad_r[3], grad_t[3], grad_l[3];
    for (uint i = 0; i < 3; i++) {
        grad_r[i] = (d * of_d[i] + s * of_s[i]) / r;
        grad_t[i] = (of_d[i] - t * grad_r[i]) / r;
        grad_l[i] = of_m[i] + grad_r[i];
    }
    const REAL above = fmax(t, (REAL)0), below = fmax(-t, (REAL)0);
    REAL c[4] = {0, 0, 0, 0}, c_l[4] = {0, 0, 0, 0}, c_ll[4] = {0, 0, 0, 0}, c_t[4] = {0, 0, 0, 0};
    REAL c_tl[4] = {0, 0, 0, 0}, c_tt[4] = {0, 0, 0, 0};
    for (uint direction = 0; direction < 3; direction++) {
        const REAL w = direction == 0 ? above * above : direction == 1 ? 1 - t * t : below * below;
        const REAL w_t = direction == 0 ? 2 * above : direction == 1 ? -2 * t : -2 * below;
        const REAL w_tt = direction == 0 ? (t > 0 ? 2 : 0) : direction == 1 ? -2 : t < 0 ? 2 : 0;
        REAL mean[4], first[4], second[4];
        coarsen_mean(common, direction, lambda, mean, first, second);
        coarsen_add_stiffness(c, w, mean);
        coarsen_add_stiffness(c_l, w, first);
        coarsen_add_stiffness(c_ll, w, second);
        coarsen_add_stiffness(c_t, w_t, mean);
        coarsen_add_stiffness(c_tl, w_t, first);
        coarsen_add_stiffness(c_tt, w_tt, mean);
    }
    const REAL by_t = coarsen_half(c_t, p), by_l = coarsen_half(c_l, p);
    const REAL tt = coarsen_half(c_tt, p), tl = coarsen_half(c_tl, p), ll = coarsen_half(c_ll, p);
    REAL pull[3], along_t[3], along_l[3];
    coarsen_stress(c, p, pull);
    coarsen_stress(c_t, p, along_t);
    coarsen_stress(c_l, p, along_l);
    *energy = coarsen_half(c, p);
    for (uint i = 0; i < 3; i++)
        stress[i] = pull[i] + by_t * grad_t[i] + by_l * grad_l[i];
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++) {
            const REAL hess_r = (of_d[i] * of_d[j] + of_s[i] * of_s[j] - grad_r[i] * grad_r[j]) / r;
            const REAL hess_t = -(grad_t[i] * grad_r[j] + grad_t[j] * grad_r[i] + t * hess_r) / r;
            const REAL fixed = i == j ? c[i == 0 ? 0 : i + 1] : i + j == 1 ? c[1] : 0;
            hessian[i][j] = fixed + (along_t[i] * grad_t[j] + along_t[j] * grad_t[i]) +
                            (along_l[i] * grad_l[j] + along_l[j] * grad_l[i]) + tt * (grad_t[i] * grad_t[j]) +
                            tl * (grad_t[i] * grad_l[j] + grad_t[j] * grad_l[i]) + ll * (grad_l[i] * grad_l[j]) +
                            by_t * hess_t + by_l * hess_r;
        }
}

//                                                                       Host: Anisotropic::at
void coarsen_anisotropic(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*w)[3], REAL *energy,
                         REAL *stress, REAL (*hessian)[3]) {
    coarsen_columns(data, x, w);
    const REAL u = coarsen_dot3(w[0], w[0]) - 1, v = coarsen_dot3(w[1], w[1]) - 1;
    REAL p[3];
    p[0] = (REAL)0.5 * u;
    p[1] = (REAL)0.5 * v;
    p[2] = coarsen_dot3(w[0], w[1]);
    coarsen_planar(common, p, energy, stress, hessian);
}

//                                                                       Host: Element::energy of Anisotropic
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL w[2][3], density, stress[3], hessian[3][3], products = 0;
    coarsen_anisotropic(data, common, x, w, &density, stress, hessian);
    for (uint k = 0; k < 3; k++)
        products += fabs(w[0][k] * w[1][k]);
    energy[0] = AREA * density;
    energy[1] = AREA * (fabs(stress[0]) * (coarsen_dot3(w[0], w[0]) + 1) + fabs(stress[1]) * (coarsen_dot3(w[1], w[1]) + 1) +
                        2 * fabs(stress[2]) * products);
}

// The columns of the derivative by F of the strains with these weights  Host: Element::gradient of Anisotropic
void coarsen_by_strain(REAL (*w)[3], const REAL a, const REAL b, const REAL c, REAL (*columns)[3]) {
    for (uint k = 0; k < 3; k++) {
        columns[0][k] = a * w[0][k] + c * w[1][k];
        columns[1][k] = b * w[1][k] + c * w[0][k];
    }
}

//                                                                       Host: Element::gradient of Anisotropic
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL w[2][3], density, stress[3], hessian[3][3], columns[2][3];
    coarsen_anisotropic(data, common, x, w, &density, stress, hessian);
    coarsen_by_strain(w, stress[0], stress[1], stress[2], columns);
    coarsen_spread(data, columns, g);
    for (uint e = 0; e < 9; e++)
        g[e / 3][e % 3] *= AREA;
}

//                                                                       Host: Element::add_hessian of Anisotropic
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[9]) {
    if (curvature == CONSTANT) {
        __global const REAL *at_rest = SAMPLE(1, 0);
        coarsen_add_columns_of_unit(data, fmax(fmax(at_rest[0], at_rest[2]) + fabs(at_rest[1]), 2 * at_rest[3]), h);
        return;
    }
    REAL w[2][3], density, stress[3], hessian[3][3], columns[2][3], values[3], vectors[3][3];
    coarsen_anisotropic(data, common, x, w, &density, stress, hessian);
    coarsen_eigen(hessian, values, vectors);
#pragma unroll 1
    for (uint k = 0; k < 3; k++) {
        coarsen_by_strain(w, vectors[k][0], vectors[k][1], vectors[k][2], columns);
        coarsen_add_columns(data, curvature == EXACT ? values[k] : fmax(values[k], (REAL)0), columns, h);
    }
    // The eigenvalues of (a c; c b).                                    Host: anisotropic_membrane::eigen2
    const REAL difference = (REAL)0.5 * (stress[0] - stress[1]), root = hypot(difference, stress[2]);
    const REAL angle = (REAL)0.5 * atan2(stress[2], difference), mean = (REAL)0.5 * (stress[0] + stress[1]);
#pragma unroll 1
    for (uint k = 0; k < 6; k++) {
        const uint p = k % 3;
        const REAL value = k < 3 ? mean + root : mean - root;
        for (uint e = 0; e < 3; e++) {
            columns[0][e] = (k < 3 ? cos(angle) : -sin(angle)) * (e == p);
            columns[1][e] = (k < 3 ? sin(angle) : cos(angle)) * (e == p);
        }
        coarsen_add_columns(data, curvature == EXACT ? value : fmax(value, (REAL)0), columns, h);
    }
}
