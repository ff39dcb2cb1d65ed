// Friction of pairs, whose list and numbers the start of a step renews: the numbers of a pair that is near, the force, the normal, the
// weights of the four nodes, and the point between them. For all, after the numbers of contact: the coefficient, and the slip below
// which friction is softer.

READS(4, 14, 7);

#define FORCE (data[3])
#define NORMAL (data + 4)
#define WEIGHTS (data + 7)
#define START (data + 11)

// The sum of weighted positions.                                        Host: ClothFriction::between
void coarsen_between(__global const REAL *weights, REAL (*x)[3], REAL *sum) {
    for (uint k = 0; k < 3; k++) {
        sum[k] = 0;
        for (uint a = 0; a < 4; a++)
            sum[k] += weights[a] * x[a][k];
    }
}

//                                                                       Host: ClothFriction::take
void coarsen_element_renew(__global REAL *data, __global const REAL *common, REAL (*x)[3]) {
    coarsen_touch_of touch;
    REAL start[3];
    FORCE = isnan(data[0]) ? NAN : 0;
    if (isnan(data[0]) || !coarsen_touch(data, common, x, &touch))
        return;
    FORCE = common[5] * (touch.share * fabs(touch.potential[1]));
    for (uint a = 0; a < 4; a++)
        WEIGHTS[a] = touch.gap.weights[a];
    coarsen_between(WEIGHTS, x, start);
    for (uint k = 0; k < 3; k++) {
        NORMAL[k] = touch.normal[k];
        START[k] = start[k];
    }
}

// The slip of a pair and its length.                                    Host: ClothFriction::slip
REAL coarsen_slip(__global const REAL *data, REAL (*x)[3], REAL *slip) {
    REAL n[3];
    coarsen_between(WEIGHTS, x, slip);
    for (uint k = 0; k < 3; k++) {
        slip[k] -= START[k];
        n[k] = NORMAL[k];
    }
    const REAL along = coarsen_dot3(slip, n);
    for (uint k = 0; k < 3; k++)
        slip[k] -= along * n[k];
    return coarsen_norm3(slip);
}

//                                                                       Host: ClothFriction::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL slip[3], terms[3], size = 0;
    energy[0] = energy[1] = data[0] == 0 ? 0 : FORCE;
    if (energy[0] == 0 || isnan(energy[0]))
        return;
    const REAL length = coarsen_slip(data, x, slip);
    coarsen_friction_terms(length, common[6], terms);
    for (uint a = 0; a < 4; a++)
        size += fabs(x[a][0]) + fabs(x[a][1]) + fabs(x[a][2]);
    energy[0] = FORCE * terms[0];
    energy[1] = FORCE * (terms[1] * length * size);
}

//                                                                       Host: ClothFriction::add_gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL slip[3], terms[3];
    const REAL force = data[0] == 0 ? 0 : FORCE;
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = force;
    if (force == 0 || isnan(force))
        return;
    const REAL length = coarsen_slip(data, x, slip);
    coarsen_friction_terms(length, common[6], terms);
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = WEIGHTS[a] * (force * terms[1]) * slip[k];
}

//                                                                       Host: friction::curved
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature, REAL (*h)[12]) {
    REAL slip[3], terms[3], k[3][3];
    const REAL force = data[0] == 0 ? 0 : FORCE;
    h[0][0] = force;
    if (force == 0 || isnan(force))
        return;
    const REAL length = coarsen_slip(data, x, slip);
    coarsen_friction_terms(length, common[6], terms);
    for (uint p = 0; p < 3; p++)
        for (uint q = 0; q < 3; q++) {
            const REAL across = (p == q ? 1 : 0) - NORMAL[p] * NORMAL[q];
            const REAL u = length > 0 ? slip[p] / length : 0, v = length > 0 ? slip[q] / length : 0;
            const REAL exact = force * (terms[2] * u * v + terms[1] * (across - u * v));
            k[p][q] = curvature == EXACT ? exact : force * terms[1] * across;
        }
    for (uint row = 0; row < 12; row++)
        for (uint column = 0; column < 12; column++)
            h[row][column] = WEIGHTS[row / 3] * WEIGHTS[column / 3] * k[row % 3][column % 3];
}
