// A box with round edges: its lowest and its highest corner, and the radius.

#define SHAPE 7

// How far x is beyond each side, and the length of what is positive of it, 0 inside. Host: Cuboid::beyond, Cuboid::outside
REAL coarsen_beyond(__global const REAL *s, const REAL *x, REAL *beyond) {
    REAL out[3];
    for (uint k = 0; k < 3; k++) {
        beyond[k] = fmax(s[k] - x[k], x[k] - s[3 + k]);
        out[k] = fmax(beyond[k], (REAL)0);
    }
    return coarsen_norm3(out);
}

//                                                                       Host: Cuboid::distance
REAL coarsen_distance(__global const REAL *s, const REAL *x) {
    REAL beyond[3], inside = -INFINITY;
    const REAL outside = coarsen_beyond(s, x, beyond);
    for (uint k = 0; k < 3; k++)
        inside = isnan(inside) || isnan(beyond[k]) ? (REAL)NAN : fmax(inside, beyond[k]);
    return (inside > 0 ? outside : inside) - s[6];
}

//                                                                       Host: Cuboid::normal
void coarsen_normal(__global const REAL *s, const REAL *x, REAL *n) {
    REAL beyond[3];
    const REAL outside = coarsen_beyond(s, x, beyond);
    uint nearest = 0;
    for (uint k = 1; k < 3; k++)
        nearest = beyond[k] > beyond[nearest] ? k : nearest;
    for (uint k = 0; k < 3; k++) {
        const REAL from = x[k] - (REAL)0.5 * (s[k] + s[3 + k]), side = isnan(from) ? from : copysign((REAL)1, from);
        n[k] = outside > 0 ? fmax(beyond[k], (REAL)0) / outside * side : k == nearest ? side : 0;
    }
}

//                                                                       Host: Cuboid::curvature
void coarsen_curvature(__global const REAL *s, const REAL *x, REAL (*h)[3]) {
    REAL units[2][3], beyond[3];
    const REAL outside = coarsen_beyond(s, x, beyond);
    coarsen_normal(s, x, units[0]);
    coarsen_turning(units, 1, outside, h);
    for (uint p = 0; p < 3; p++)
        for (uint q = 0; q < 3; q++)
            if (!(beyond[p] > 0 && beyond[q] > 0))
                h[p][q] = 0;
}

//                                                                       Host: Cuboid::magnitude
REAL coarsen_magnitude(__global const REAL *s, const REAL *x) {
    REAL low[3], high[3];
    coarsen_load3(s, low);
    coarsen_load3(s + 3, high);
    return coarsen_size3(x) + coarsen_norm3(low) + coarsen_norm3(high) + s[6];
}
