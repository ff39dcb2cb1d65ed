// Neo-Hookean elasticity with the logarithm of J.

//                                                                       Host: NeoHookean::energy
void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy) {
    const REAL lambda = moduli[0], mu = moduli[1], i = coarsen_excess(f), j = coarsen_determinant(f) - 1;
    const REAL log_j = log1p(j);
    const uint valid = j > -1;
    energy[0] = valid ? (REAL)0.5 * mu * i - mu * log_j + (REAL)0.5 * lambda * log_j * log_j : INFINITY;
    energy[1] = valid ? mu * coarsen_square(f) + (fabs(lambda * log_j) + mu) * coarsen_products(f) / (1 + j) : 0;
}

//                                                                       Host: NeoHookean::stress
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]) {
    const REAL lambda = moduli[0], mu = moduli[1], j = coarsen_determinant(f), pressure = (lambda * log(j) - mu) / j;
    REAL c[3][3];
    coarsen_cofactor(f, c);
    for (uint e = 0; e < 9; e++)
        p[e / 3][e % 3] = mu * f[e / 3][e % 3] + pressure * c[e / 3][e % 3];
}

//                                                                       Host: NeoHookean::modes
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]) {
    const REAL lambda = moduli[0], mu = moduli[1], push = mu - lambda * log(coarsen_determinant(f));
    for (uint i = 0; i < 3; i++) {
        const REAL pair = s[(i + 1) % 3] * s[(i + 2) % 3];
        symmetric[i] = mu + push / pair;
        antisymmetric[i] = mu - push / pair;
        for (uint j = 0; j < 3; j++)
            stretch[i][j] = (lambda + (i == j ? push : 0)) / (s[i] * s[j]) + (i == j ? mu : 0);
    }
}
