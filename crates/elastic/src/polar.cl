// The rotation nearest to F, by Newton's method, or by singular values where F is nearly singular. Host: polar::rotation
void coarsen_rotation(REAL (*f)[3], REAL (*r)[3]) {
    REAL turned[3][3], size = coarsen_square(f);
    coarsen_cofactor(f, turned);
    REAL det = coarsen_dot3(f[0], turned[0]);
    const uint regular = det >= (REAL)1e-3 * size * sqrt(size);
    for (uint e = 0; e < 9; e++)
        r[e / 3][e % 3] = f[e / 3][e % 3];
    for (uint iteration = 0; regular && iteration < 12; iteration++) {
        const REAL over = (REAL)0.5 / det;
        REAL change = 0;
        for (uint i = 0; i < 3; i++)
            for (uint j = 0; j < 3; j++) {
                const REAL next = (REAL)0.5 * r[i][j] + over * turned[i][j];
                change += (next - r[i][j]) * (next - r[i][j]);
                r[i][j] = next;
            }
        if (change <= (REAL)EPSILON)
            return;
        coarsen_cofactor(r, turned);
        det = coarsen_dot3(r[0], turned[0]);
    }
    REAL u[3][3], v[3][3], s[3];
    coarsen_svd(f, u, s, v);
    coarsen_svd_rotation(u, v, r);
}
