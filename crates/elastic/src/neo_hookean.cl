// Stable neo-Hookean elasticity.

// mu, lambda and alpha of (14)                                          Host: neo_hookean::parameters
void coarsen_neo_hookean(__global const REAL *moduli, REAL *of) {
    of[0] = (REAL)4 / 3 * moduli[1];
    of[1] = moduli[0] + (REAL)5 / 6 * moduli[1];
    of[2] = 1 + (REAL)0.75 * of[0] / of[1];
}

//                                                                       Host: StableNeoHookean::energy
void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy) {
    REAL of[3];
    coarsen_neo_hookean(moduli, of);
    const REAL mu = of[0], lambda = of[1], j = coarsen_determinant(f) - 1, i = coarsen_excess(f);
    energy[0] = (REAL)0.5 * mu * (i - log1p((REAL)0.25 * i)) + ((REAL)0.5 * lambda * j - (REAL)0.75 * mu) * j;
    energy[1] = mu * coarsen_square(f) + (lambda * fabs(j) + mu) * coarsen_products(f);
}

//                                                                       Host: StableNeoHookean::stress
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]) {
    REAL of[3], c[3][3];
    coarsen_neo_hookean(moduli, of);
    const REAL shear = of[0] * (1 - 1 / (coarsen_square(f) + 1));
    const REAL pressure = of[1] * (coarsen_determinant(f) - of[2]);
    coarsen_cofactor(f, c);
    for (uint e = 0; e < 9; e++)
        p[e / 3][e % 3] = shear * f[e / 3][e % 3] + pressure * c[e / 3][e % 3];
}

//                                                                       Host: StableNeoHookean::modes
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]) {
    REAL of[3];
    coarsen_neo_hookean(moduli, of);
    const REAL mu = of[0], lambda = of[1], i1 = coarsen_square(f) + 1;
    const REAL shear = mu * (1 - 1 / i1), pressure = lambda * (s[0] * s[1] * s[2] - of[2]);
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
