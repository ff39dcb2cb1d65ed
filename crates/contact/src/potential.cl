// The potential of a distance. Numbers for all: 1 for a barrier and 0 for a penalty, the stiffness and the reach.

// phi, phi' and phi''                                                   Host: ContactPotential::at
void coarsen_potential(__global const REAL *common, const REAL distance, REAL *p) {
    const REAL k = common[1];
    p[0] = p[1] = p[2] = 0;
    if (common[0] == 0) {
        if (distance >= 0)
            return;
        p[0] = (REAL)0.5 * k * distance * distance;
        p[1] = k * distance;
        p[2] = k;
        return;
    }
    const REAL r = common[2], d = distance / r;
    if (d >= 1)
        return;
    if (!(d > 0)) {
        p[0] = INFINITY;
        p[1] = p[2] = NAN;
        return;
    }
    const REAL gap = d - 1, log_d = log(d);
    p[0] = -k * gap * gap * log_d;
    p[1] = k * (-gap * (2 * log_d + gap / d)) / r;
    p[2] = k * (-2 * log_d - gap / d * (4 - gap / d)) / (r * r);
}
