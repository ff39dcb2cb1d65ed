// Stable neo-Hookean elasticity, with the moduli mu, lambda and alpha of (14).

//                                                                       Twin: StableNeoHookean::energy
void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy) {
    const REAL mu = moduli[0], lambda = moduli[1], j = coarsen_determinant(f) - 1;
    REAL c[3][3], i = 0, products = 0;
    coarsen_cofactor(f, c);
    for (uint p = 0; p < 3; p++)
        for (uint q = 0; q < 3; q++) {
            i += p == q ? (f[p][p] - 1) * (f[p][p] + 1) : f[p][q] * f[p][q];
            products += fabs(c[p][q] * f[p][q]);
        }
    energy[0] = (REAL)0.5 * mu * (i - log1p((REAL)0.25 * i)) + ((REAL)0.5 * lambda * j - (REAL)0.75 * mu) * j;
    energy[1] = mu * coarsen_square(f) + (lambda * fabs(j) + mu) * products;
}

//                                                                       Twin: StableNeoHookean::stress
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]) {
    const REAL shear = moduli[0] * (1 - 1 / (coarsen_square(f) + 1));
    const REAL pressure = moduli[1] * (coarsen_determinant(f) - moduli[2]);
    REAL c[3][3];
    coarsen_cofactor(f, c);
    for (uint e = 0; e < 9; e++)
        p[e / 3][e % 3] = shear * f[e / 3][e % 3] + pressure * c[e / 3][e % 3];
}

//                                                                       Twin: StableNeoHookean::modes
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]) {
    const REAL mu = moduli[0], lambda = moduli[1], i1 = coarsen_square(f) + 1;
    const REAL shear = mu * (1 - 1 / i1), pressure = lambda * (s[0] * s[1] * s[2] - moduli[2]);
    const REAL around[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
    for (uint i = 0; i < 3; i++) {
        symmetric[i] = shear - pressure * s[i];
        antisymmetric[i] = shear + pressure * s[i];
        for (uint j = 0; j < 3; j++) {
            const REAL common = lambda * around[i] * around[j] + 2 * mu * s[i] * s[j] / (i1 * i1);
            stretch[i][j] = common + (i == j ? shear : pressure * s[3 - i - j]);
        }
    }
}
