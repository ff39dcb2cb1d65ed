// Friction with a shape. Numbers for all, after those of the shape: the coefficient, the time step, the slip below which friction is
// softer, and the motion of the solid: a point, the rate and the drift. The numbers of an element, which the start of a step
// renews: for an edge its number ε; the force, the anchor, the normal, and for an edge the weight of its second end.

#ifdef RENEWED

READS(CORNERS, CORNERS == 1 ? 7 : 9, 15 + SHAPE);

#define OF_FRICTION (common + 3 + SHAPE)
#define GRIP (data + CORNERS - 1)

// What the shape presses at the start of a step.                        Host: Friction::renew
void coarsen_element_renew(__global REAL *data, __global const REAL *common, REAL (*x)[3]) {
    __global const REAL *own = OF_FRICTION;
    REAL point[3], n[3], p[3], share = 1;
    GRIP[0] = 0;
#if CORNERS == 1
    for (uint k = 0; k < 3; k++)
        point[k] = x[0][k];
    coarsen_potential(common, coarsen_distance(OF_SHAPE, point), p);
    coarsen_normal(OF_SHAPE, point, n);
#else
    coarsen_dip_of dip;
    if (!coarsen_dip(data[0], common, x, &dip))
        return;
    for (uint k = 0; k < 3; k++) {
        point[k] = dip.point[k];
        n[k] = dip.normal[k];
        p[k] = dip.potential[k];
    }
    share = dip.share;
    GRIP[7] = dip.weights[1];
#endif
    const REAL force = share * fabs(p[1]) * coarsen_norm3(n);
    if (!(force > 0))
        return;
    GRIP[0] = own[0] * force;
    for (uint k = 0; k < 3; k++) {
        const uint next = (k + 1) % 3, last = (k + 2) % 3;
        const REAL turned = own[6 + next] * (point[last] - own[3 + last]) - own[6 + last] * (point[next] - own[3 + next]);
        GRIP[1 + k] = point[k] + own[1] * (own[9 + k] + turned);
        GRIP[4 + k] = n[k];
    }
}

// The slip of a point and its length; the weights of the ends of an edge. Host: Friction::slip
REAL coarsen_slip(__global const REAL *data, REAL (*x)[3], REAL *slip, REAL *weights) {
    REAL n[3];
    coarsen_load3(GRIP + 4, n);
#if CORNERS == 1
    weights[0] = 1;
    for (uint k = 0; k < 3; k++)
        slip[k] = x[0][k] - GRIP[1 + k];
#else
    weights[0] = 1 - GRIP[7];
    weights[1] = GRIP[7];
    for (uint k = 0; k < 3; k++)
        slip[k] = weights[0] * x[0][k] + weights[1] * x[1][k] - GRIP[1 + k];
#endif
    const REAL along = coarsen_dot3(slip, n);
    for (uint k = 0; k < 3; k++)
        slip[k] -= along * n[k];
    return coarsen_norm3(slip);
}

//                                                                       Host: Friction::energy
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL slip[3], weights[2], terms[3], anchor[3];
    energy[0] = energy[1] = 0;
    if (GRIP[0] == 0)
        return;
    const REAL length = coarsen_slip(data, x, slip, weights);
    coarsen_friction_terms(length, OF_FRICTION[2], terms);
    coarsen_load3(GRIP + 1, anchor);
    energy[0] = GRIP[0] * terms[0];
    energy[1] = GRIP[0] * (terms[1] * length * (coarsen_size3(anchor) + length));
}

//                                                                       Host: Friction::add_gradient
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL slip[3], weights[2], terms[3];
    const REAL length = coarsen_slip(data, x, slip, weights);
    coarsen_friction_terms(length, OF_FRICTION[2], terms);
    for (uint a = 0; a < CORNERS; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = GRIP[0] == 0 ? 0 : weights[a] * (GRIP[0] * terms[1] * slip[k]);
}

//                                                                       Host: friction::curved
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[3 * CORNERS]) {
    REAL slip[3], weights[2], terms[3], n[3];
    if (GRIP[0] == 0)
        return;
    const REAL length = coarsen_slip(data, x, slip, weights);
    coarsen_friction_terms(length, OF_FRICTION[2], terms);
    coarsen_load3(GRIP + 4, n);
    for (uint row = 0; row < 3 * CORNERS; row++)
        for (uint column = 0; column < 3 * CORNERS; column++) {
            const uint p = row % 3, q = column % 3;
            const REAL across = (p == q ? 1 : 0) - n[p] * n[q];
            const REAL u = length > 0 ? slip[p] / length : 0, v = length > 0 ? slip[q] / length : 0;
            const REAL exact = GRIP[0] * (terms[2] * u * v + terms[1] * (across - u * v));
            h[row][column] = weights[row / 3] * weights[column / 3] * (curvature == EXACT ? exact : GRIP[0] * terms[1] * across);
        }
}

#endif
