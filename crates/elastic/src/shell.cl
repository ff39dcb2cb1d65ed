// Bending by the angles of hinges, with the data: k w, the angle at rest.

READS(4, 2, 0);

#define STIFFNESS data[0]
#define REST data[1]

// theta                                                                 Host: shell::angle
REAL coarsen_angle(REAL (*x)[3]) {
    REAL e[3], a[3], b[3], first[3], second[3], both[3];
    coarsen_sub3(x[1], x[0], e);
    coarsen_sub3(x[2], x[0], a);
    coarsen_sub3(x[3], x[0], b);
    coarsen_cross3(e, a, first);
    coarsen_cross3(b, e, second);
    coarsen_cross3(first, second, both);
    const REAL length = sqrt(coarsen_dot3(e, e));
    return atan2(length > 0 ? -coarsen_dot3(both, e) / length : 0, coarsen_dot3(first, second));
}

// The difference of an angle to that at rest                            Host: shell::between
REAL coarsen_between(__global const REAL *data, const REAL theta) {
    const REAL turn = (REAL)6.28318530717958647692, bend = theta - REST;
    return bend - turn * round(bend / turn);
}

// What the derivatives of theta share                                   Host: Slopes
typedef struct {
    REAL edge[3], arms[2][3], square, normals[2][3], squares[2], feet[2], tips[2][3];
} coarsen_slopes;

// 0 for triangles that have collapsed                                   Host: Slopes::of
uint coarsen_slopes_of(REAL (*x)[3], coarsen_slopes *of) {
    coarsen_sub3(x[1], x[0], of->edge);
    coarsen_sub3(x[2], x[0], of->arms[0]);
    coarsen_sub3(x[3], x[0], of->arms[1]);
    coarsen_cross3(of->edge, of->arms[0], of->normals[0]);
    coarsen_cross3(of->arms[1], of->edge, of->normals[1]);
    of->square = coarsen_dot3(of->edge, of->edge);
    for (uint i = 0; i < 2; i++) {
        of->squares[i] = coarsen_dot3(of->normals[i], of->normals[i]);
        of->feet[i] = coarsen_dot3(of->arms[i], of->edge) / of->square;
        for (uint k = 0; k < 3; k++)
            of->tips[i][k] = sqrt(of->square) * of->normals[i][k] / of->squares[i];
    }
    return !(of->square == 0 || of->squares[0] == 0 || of->squares[1] == 0);
}

// The gradient of theta                                                 Host: Slopes::gradient
void coarsen_angle_gradient(const coarsen_slopes *of, REAL (*g)[3]) {
    for (uint k = 0; k < 3; k++) {
        g[0][k] = -((1 - of->feet[0]) * of->tips[0][k] + (1 - of->feet[1]) * of->tips[1][k]);
        g[1][k] = -(of->feet[0] * of->tips[0][k] + of->feet[1] * of->tips[1][k]);
        g[2][k] = of->tips[0][k];
        g[3][k] = of->tips[1][k];
    }
}

//                                                                       Host: shell::gradient
void coarsen_turning(REAL (*x)[3], REAL (*g)[3]) {
    coarsen_slopes of;
    if (coarsen_slopes_of(x, &of))
        coarsen_angle_gradient(&of, g);
    else
        for (uint k = 0; k < 12; k++)
            g[k / 3][k % 3] = 0;
}

//                                                                       Host: Element::energy of Vec<Angle>
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    const REAL theta = coarsen_angle(x), bend = coarsen_between(data, theta);
    REAL g[4][3], moved = 0;
    coarsen_turning(x, g);
    for (uint k = 0; k < 12; k++)
        moved += fabs(g[k / 3][k % 3] * x[k / 3][k % 3]);
    energy[0] = STIFFNESS * ((REAL)0.5 * bend * bend);
    energy[1] = STIFFNESS * (fabs(bend) * (moved + fabs(theta) + fabs(REST)));
}

//                                                                       Host: Element::gradient of Vec<Angle>
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    const REAL moment = STIFFNESS * coarsen_between(data, coarsen_angle(x));
    coarsen_turning(x, g);
    for (uint k = 0; k < 12; k++)
        g[k / 3][k % 3] *= moment;
}

// sign P_i [v], the derivative of a tip                                 Host: Slopes::turning
void coarsen_tip_along(const coarsen_slopes *of, const uint i, const REAL *v, REAL (*m)[3]) {
    const REAL sign = i == 0 ? 1 : -1, length = sqrt(of->square), square = of->squares[i];
    for (uint q = 0; q < 3; q++) {
        REAL unit[3], d[3];
        for (uint k = 0; k < 3; k++)
            unit[k] = k == q;
        coarsen_cross3(v, unit, d);
        const REAL share = 2 * coarsen_dot3(of->normals[i], d) / square;
        for (uint k = 0; k < 3; k++)
            m[k][q] = sign * length * (d[k] - share * of->normals[i][k]) / square;
    }
}

//                                                                       Host: Element::add_hessian of Vec<Angle>
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[12]) {
    coarsen_slopes of;
    const uint regular = coarsen_slopes_of(x, &of);
    REAL g[4][3];
    coarsen_angle_gradient(&of, g);
#pragma unroll 1 // h does not fit into registers
    for (uint row = 0; row < 12; row++) {
        const REAL left = STIFFNESS * g[row / 3][row % 3];
        for (uint column = 0; column < 12; column++)
            h[row][column] = regular ? left * g[column / 3][column % 3] : 0;
    }
    if (!regular || curvature != EXACT)
        return;
    const REAL moment = STIFFNESS * coarsen_between(data, coarsen_angle(x)), length = sqrt(of.square);
    // lower[i][j] is the derivative of the gradient of corner i + 1 by corner j + 1, relative to corner 0.
    REAL lower[3][3][3][3], turned[3][3];
    for (uint k = 0; k < 81; k++)
        lower[k / 27][k / 9 % 3][k / 3 % 3][k % 3] = 0;
    for (uint i = 0; i < 2; i++) {
        coarsen_tip_along(&of, i, of.edge, lower[i + 1][i + 1]);
        coarsen_tip_along(&of, i, of.arms[i], turned);
        for (uint k = 0; k < 9; k++)
            lower[i + 1][0][k / 3][k % 3] =
                of.normals[i][k / 3] * of.edge[k % 3] / (length * of.squares[i]) - turned[k / 3][k % 3];
    }
    for (uint k = 0; k < 9; k++) {
        const uint p = k / 3, q = k % 3;
        REAL terms[2];
        for (uint i = 0; i < 2; i++) {
            const REAL turn = (of.arms[i][q] - 2 * of.feet[i] * of.edge[q]) / of.square;
            terms[i] = of.tips[i][p] * turn + of.feet[i] * lower[i + 1][0][p][q];
        }
        lower[0][0][p][q] = -(terms[0] + terms[1]);
    }
#pragma unroll 1
    for (uint k = 0; k < 9; k++) {
        const uint p = k / 3, q = k % 3;
        REAL sums[3], flipped[3];
        for (uint i = 0; i < 3; i++) {
            sums[i] = flipped[i] = 0;
            for (uint j = 0; j < 3; j++) {
                const REAL own = i == j  ? (REAL)0.5 * (lower[i][i][p][q] + lower[i][i][q][p])
                                 : i > j ? lower[i][j][p][q]
                                         : lower[j][i][q][p];
                const REAL other = i == j  ? (REAL)0.5 * (lower[i][i][q][p] + lower[i][i][p][q])
                                   : i > j ? lower[i][j][q][p]
                                           : lower[j][i][p][q];
                sums[i] += own;
                flipped[i] += other;
                h[3 * i + 3 + p][3 * j + 3 + q] += moment * own;
            }
            const REAL balance = moment * sums[i];
            h[3 * i + 3 + p][q] -= balance;
            h[q][3 * i + 3 + p] -= balance;
        }
        h[p][q] += moment * (REAL)0.5 * (sums[0] + sums[1] + sums[2] + (flipped[0] + flipped[1] + flipped[2]));
    }
}
