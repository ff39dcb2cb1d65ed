// Row-major 3x3 matrices, and their signed singular values. EPSILON and TINY, the round-off and the smallest normal number of
// REAL, are build options.

//                                                                       Host: mat3::cofactor
void coarsen_cofactor(REAL (*a)[3], REAL (*c)[3]) {
    coarsen_cross3(a[1], a[2], c[0]);
    coarsen_cross3(a[2], a[0], c[1]);
    coarsen_cross3(a[0], a[1], c[2]);
}

//                                                                       Host: mat3::determinant
REAL coarsen_determinant(REAL (*a)[3]) {
    REAL c[3];
    coarsen_cross3(a[1], a[2], c);
    return coarsen_dot3(a[0], c);
}

// The sum of the magnitudes of the terms of det A.                      Host: mat3::products
REAL coarsen_products(REAL (*a)[3]) {
    REAL c[3][3], sum = 0;
    coarsen_cofactor(a, c);
    for (uint e = 0; e < 9; e++)
        sum += fabs(c[e / 3][e % 3] * a[e / 3][e % 3]);
    return sum;
}

//                                                                       Host: mat3::square
REAL coarsen_square(REAL (*a)[3]) {
    return coarsen_dot3(a[0], a[0]) + coarsen_dot3(a[1], a[1]) + coarsen_dot3(a[2], a[2]);
}

// The square minus 3, without cancellation near I.                      Host: mat3::excess
REAL coarsen_excess(REAL (*a)[3]) {
    REAL sum = 0;
    for (uint p = 0; p < 3; p++)
        for (uint q = 0; q < 3; q++)
            sum += p == q ? (a[p][p] - 1) * (a[p][p] + 1) : a[p][q] * a[p][q];
    return sum;
}

//                                                                       Host: mat3::rotate
void coarsen_rotate(REAL *x, REAL *y, const REAL c, const REAL s) {
    for (uint k = 0; k < 3; k++) {
        const REAL old = x[k];
        x[k] = c * old - s * y[k];
        y[k] = s * old + c * y[k];
    }
}

void coarsen_unit3(REAL (*a)[3]) {
    for (uint k = 0; k < 9; k++)
        a[k / 3][k % 3] = k % 4 == 0;
}

// The direction of the part of b that is orthogonal to `to`.            Host: mat3::direction
void coarsen_direction(const REAL *b, const REAL *to, REAL *d) {
    const REAL along = coarsen_dot3(b, to);
    for (uint k = 0; k < 3; k++)
        d[k] = b[k] - along * to[k];
    REAL length = sqrt(coarsen_dot3(d, d));
    if (!(length > (REAL)EPSILON * sqrt(coarsen_dot3(b, b)) && length > (REAL)TINY)) {
        uint least = 0;
        for (uint k = 1; k < 3; k++)
            if (fabs(to[k]) < fabs(to[least]))
                least = k;
        const uint none = coarsen_dot3(to, to) == 0;
        REAL unit[3];
        for (uint k = 0; k < 3; k++)
            unit[k] = k == (none ? 0 : least);
        coarsen_cross3(to, unit, d);
        for (uint k = 0; k < 3; k++)
            d[k] = none ? unit[k] : d[k];
        length = sqrt(coarsen_dot3(d, d));
    }
    for (uint k = 0; k < 3; k++)
        d[k] /= length;
}

// Row k of u and of v is column k of U and of V.                        Host: Svd::of
void coarsen_svd(REAL (*a)[3], REAL (*u)[3], REAL *sigma, REAL (*v)[3]) {
    REAL b[3][3], turned[3][3], lengths[3];
    coarsen_unit3(turned);
    for (uint k = 0; k < 9; k++)
        b[k % 3][k / 3] = a[k / 3][k % 3];
    for (uint sweep = 0, rotated = 1; sweep < 20 && rotated; sweep++) {
        rotated = 0;
        for (uint pair = 0; pair < 3; pair++) {
            const uint p = pair == 2, q = pair == 0 ? 1 : 2;
            const REAL pp = coarsen_dot3(b[p], b[p]), qq = coarsen_dot3(b[q], b[q]), pq = coarsen_dot3(b[p], b[q]);
            if (fabs(pq) <= (REAL)EPSILON * sqrt(pp * qq))
                continue;
            rotated = 1;
            const REAL zeta = (qq - pp) / (2 * pq);
            const REAL t = copysign((REAL)1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
            const REAL c = 1 / sqrt(1 + t * t);
            coarsen_rotate(b[p], b[q], c, c * t);
            coarsen_rotate(turned[p], turned[q], c, c * t);
        }
    }
    uint order[3] = {0, 1, 2}, swaps = 0;
    for (uint k = 0; k < 3; k++)
        lengths[k] = sqrt(coarsen_dot3(b[k], b[k]));
    for (uint i = 1; i < 3; i++)
        for (uint j = i; j > 0 && lengths[order[j]] > lengths[order[j - 1]]; j--) {
            const uint other = order[j];
            order[j] = order[j - 1];
            order[j - 1] = other;
            swaps++;
        }
    for (uint k = 0; k < 9; k++)
        v[k / 3][k % 3] = turned[order[k / 3]][k % 3];
    if (coarsen_determinant(v) < 0)
        for (uint k = 0; k < 3; k++)
            v[2][k] = -v[2][k];
    const REAL none[3] = {0, 0, 0};
    coarsen_direction(b[order[0]], none, u[0]);
    coarsen_direction(b[order[1]], u[0], u[1]);
    coarsen_cross3(u[0], u[1], u[2]);
    sigma[0] = lengths[order[0]];
    sigma[1] = coarsen_dot3(b[order[1]], u[1]);
    sigma[2] = (swaps % 2 ? -1 : 1) * coarsen_dot3(b[order[2]], u[2]);
}

// Eigenvalues, and eigenvectors as rows of q; a is overwritten.         Host: mat3::eigen
void coarsen_eigen(REAL (*a)[3], REAL *values, REAL (*q)[3]) {
    coarsen_unit3(q);
    for (uint sweep = 0; sweep < 20; sweep++) {
        const REAL off = a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2];
        if (off <= (REAL)EPSILON * (REAL)EPSILON * coarsen_square(a))
            break;
        for (uint pair = 0; pair < 3; pair++) {
            const uint i = pair == 2, j = pair == 0 ? 1 : 2;
            if (a[i][j] == 0)
                continue;
            const REAL theta = (a[j][j] - a[i][i]) / (2 * a[i][j]);
            const REAL t = theta == 0 ? 1 : copysign((REAL)1, theta) / (fabs(theta) + sqrt(1 + theta * theta));
            const REAL c = 1 / sqrt(1 + t * t), s = c * t;
            coarsen_rotate(a[i], a[j], c, s);
            for (uint k = 0; k < 3; k++) {
                const REAL old = a[k][i];
                a[k][i] = c * old - s * a[k][j];
                a[k][j] = s * old + c * a[k][j];
            }
            coarsen_rotate(q[i], q[j], c, s);
        }
    }
    for (uint k = 0; k < 3; k++)
        values[k] = a[k][k];
}

// U V^T                                                                 Host: mat3::mul_transposed
void coarsen_svd_rotation(REAL (*u)[3], REAL (*v)[3], REAL (*r)[3]) {
    for (uint e = 0; e < 9; e++)
        r[e / 3][e % 3] = u[0][e / 3] * v[0][e % 3] + u[1][e / 3] * v[1][e % 3] + u[2][e / 3] * v[2][e % 3];
}

// The sum of the other two singular values, as a divisor.               Host: Svd::sums
REAL coarsen_other_two(const REAL *sigma, const uint k) {
    return fmax(sigma[(k + 1) % 3] + sigma[(k + 2) % 3], (REAL)1e-8);
}
