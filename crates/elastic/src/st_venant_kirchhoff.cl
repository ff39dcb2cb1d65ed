// St. Venant-Kirchhoff elasticity.

// E and S, by (1) and (2)                                               Host: st_venant_kirchhoff::strain, pull
void coarsen_green(__global const REAL *moduli, REAL (*f)[3], REAL (*e)[3], REAL (*s)[3]) {
    REAL d[3][3];
    for (uint i = 0; i < 3; i++)
        for (uint k = 0; k < 3; k++)
            d[i][k] = f[k][i] - (i == k ? 1 : 0);
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++)
            e[i][j] = (REAL)0.5 * (d[i][j] + d[j][i] + coarsen_dot3(d[i], d[j]));
    const REAL pressure = moduli[0] * (e[0][0] + e[1][1] + e[2][2]);
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++)
            s[i][j] = 2 * moduli[1] * e[i][j] + (i == j ? pressure : 0);
}

//                                                                       Host: StVenantKirchhoff::energy
void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy) {
    REAL e[3][3], s[3][3];
    coarsen_green(moduli, f, e, s);
    energy[0] = energy[1] = 0;
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++) {
            const REAL products = fabs(f[0][i] * f[0][j]) + fabs(f[1][i] * f[1][j]) + fabs(f[2][i] * f[2][j]);
            energy[0] += (REAL)0.5 * s[i][j] * e[i][j];
            energy[1] += fabs(s[i][j]) * (products + (i == j ? 1 : 0));
        }
}

//                                                                       Host: StVenantKirchhoff::stress
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]) {
    REAL e[3][3], s[3][3];
    coarsen_green(moduli, f, e, s);
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++)
            p[i][j] = coarsen_dot3(f[i], s[j]);
}

//                                                                       Host: StVenantKirchhoff::modes
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]) {
    const REAL lambda = moduli[0], mu = moduli[1], p = (REAL)0.5 * lambda * (coarsen_square(f) - 3) - mu;
    for (uint i = 0; i < 3; i++) {
        const REAL a = s[(i + 1) % 3], b = s[(i + 2) % 3];
        symmetric[i] = p + mu * (a * a + a * b + b * b);
        antisymmetric[i] = p + mu * (a * a - a * b + b * b);
        for (uint j = 0; j < 3; j++)
            stretch[i][j] = lambda * s[i] * s[j] + (i == j ? p + 3 * mu * s[i] * s[i] : 0);
    }
}
