// Co-rotational linear elasticity.

//                                                                       Host: CoRotational::energy
void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy) {
    const REAL lambda = moduli[0], mu = moduli[1];
    REAL u[3][3], v[3][3], s[3], squares = 0;
    coarsen_svd(f, u, s, v);
    const REAL strain = s[0] + s[1] + s[2] - 3;
    energy[1] = 0;
    for (uint k = 0; k < 3; k++) {
        squares += (s[k] - 1) * (s[k] - 1);
        energy[1] += (2 * mu * fabs(s[k] - 1) + fabs(lambda * strain)) * (fabs(s[k]) + 1);
    }
    energy[0] = mu * squares + (REAL)0.5 * lambda * strain * strain;
}

//                                                                       Host: CoRotational::stress
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]) {
    const REAL lambda = moduli[0], mu = moduli[1];
    REAL u[3][3], v[3][3], s[3], r[3][3];
    coarsen_svd(f, u, s, v);
    coarsen_svd_rotation(u, v, r);
    const REAL strain = s[0] + s[1] + s[2] - 3;
    for (uint e = 0; e < 9; e++)
        p[e / 3][e % 3] = 2 * mu * (f[e / 3][e % 3] - r[e / 3][e % 3]) + lambda * strain * r[e / 3][e % 3];
}

//                                                                       Host: CoRotational::modes
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]) {
    const REAL lambda = moduli[0], mu = moduli[1], push = 2 * lambda * (s[0] + s[1] + s[2] - 3) - 4 * mu;
    for (uint i = 0; i < 3; i++) {
        symmetric[i] = 2 * mu;
        antisymmetric[i] = 2 * mu + push / coarsen_other_two(s, i);
        for (uint j = 0; j < 3; j++)
            stretch[i][j] = lambda + (i == j ? 2 * mu : 0);
    }
}
