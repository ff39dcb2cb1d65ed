// Fixed co-rotated elasticity.

//                                                                       Host: fixed_corotated::energy
void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy) {
    const REAL lambda = moduli[0], mu = moduli[1], growth = coarsen_determinant(f) - 1;
    REAL r[3][3], stretch = 0, terms = 0;
    coarsen_rotation(f, r);
    for (uint e = 0; e < 9; e++) {
        const REAL own = f[e / 3][e % 3], other = r[e / 3][e % 3], gap = own - other;
        stretch += gap * gap;
        terms += fabs(gap) * (fabs(own) + fabs(other));
    }
    energy[0] = mu * stretch + (REAL)0.5 * lambda * growth * growth;
    energy[1] = 2 * mu * terms + fabs(lambda * growth) * (coarsen_products(f) + 1);
}

//                                                                       Host: fixed_corotated::stress
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]) {
    const REAL mu = moduli[1], pressure = moduli[0] * (coarsen_determinant(f) - 1);
    REAL r[3][3], c[3][3];
    coarsen_rotation(f, r);
    coarsen_cofactor(f, c);
    for (uint e = 0; e < 9; e++)
        p[e / 3][e % 3] = 2 * mu * (f[e / 3][e % 3] - r[e / 3][e % 3]) + pressure * c[e / 3][e % 3];
}

//                                                                       Host: FixedCoRotated::modes
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]) {
    const REAL lambda = moduli[0], mu = moduli[1], pressure = lambda * (s[0] * s[1] * s[2] - 1);
    const REAL around[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
    for (uint i = 0; i < 3; i++) {
        symmetric[i] = 2 * mu - pressure * s[i];
        antisymmetric[i] = 2 * mu - 4 * mu / coarsen_other_two(s, i) + pressure * s[i];
        for (uint j = 0; j < 3; j++)
            stretch[i][j] = lambda * around[i] * around[j] + (i == j ? 2 * mu : pressure * s[3 - i - j]);
    }
}
