// Continuous detection of one pair by additive conservative advancement.

#define SHARE 0.1 // of the first distance above the one that is kept, where a step ends
#define BOLD 0.9 // the share of a bound that is taken at once
#define KEPT 0.9 // the share of their distance that pairs near the least distance keep
#define LOST fmax((REAL)1e-9, 8 * (REAL)EPSILON) // the share that they may lose by round-off
#define MOST 10000

//                                                                       Host: distance::gap
REAL coarsen_pair_distance(const bool edges, REAL (*x)[3]) {
    const coarsen_gap_of gap = coarsen_gap(edges, x);
    return gap.distance;
}

// Whether planes show that a pair is farther apart than r.              Host: apart::beyond
bool coarsen_beyond(const bool edges, REAL (*x)[3], const REAL r) {
    REAL d[3], e[3], from[3], n[3];
    coarsen_sub3(edges ? x[1] : x[2], edges ? x[0] : x[1], d);
    coarsen_sub3(x[3], edges ? x[2] : x[1], e);
    coarsen_sub3(x[0], edges ? x[2] : x[1], from);
    coarsen_cross3(d, e, n);
    const REAL square = coarsen_dot3(n, n), high = coarsen_dot3(n, from);
    return square > (REAL)1e-6 * coarsen_dot3(d, d) * coarsen_dot3(e, e) && high * high > ((REAL)1 + (REAL)1e-6) * r * r * square &&
           isfinite(high);
}

//                                                                       Host: advance::impact_before
REAL coarsen_distance_at(const bool edges, REAL (*x)[3], REAL (*p)[3], const REAL t) {
    REAL moved[4][3];
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++)
            moved[a][k] = x[a][k] + t * p[a][k];
    return coarsen_pair_distance(edges, moved);
}

// Advances until distances fall below `least`; infinity if they do not until `last`. Host: advance::impact_before
REAL coarsen_advance(const bool edges, REAL (*x)[3], REAL (*p)[3], const REAL speed, const REAL distance, const REAL min_distance,
                     const REAL least, const bool strict, const REAL last) {
    const REAL start = distance - min_distance;
    if (start > speed * last || (!strict && (REAL)(1 - SHARE) * start > speed * last))
        return INFINITY;
    if (!isfinite(start) || isnan(speed) || start <= 0)
        return 0;
    REAL t = 0, advance = (REAL)(1 - SHARE) * start / speed;
    for (uint step = 0; step < MOST; step++) {
        const REAL next = fmin(t + advance, last), ahead = coarsen_distance_at(edges, x, p, next);
        if (ahead < least && (strict || t > 0))
            return t;
        if (next >= last)
            return isnan(ahead) ? t : INFINITY;
        t = next;
        advance = (REAL)BOLD * (ahead - min_distance) / speed;
        if (!(advance > (REAL)EPSILON * t))
            return t;
    }
    return t;
}

// A time until `last` before which a pair may move; infinity if it may move until `last`. Host: advance::impact_before
REAL coarsen_time_of_impact(const bool edges, REAL (*x)[3], REAL (*p)[3], const REAL min_distance, const REAL clear,
                            const REAL last) {
    REAL own[4][3], most[2] = {0, 0};
    for (uint k = 0; k < 3; k++) {
        const REAL mean = (REAL)0.25 * (p[0][k] + p[1][k] + p[2][k] + p[3][k]);
        for (uint a = 0; a < 4; a++)
            own[a][k] = p[a][k] - mean;
    }
    for (uint a = 0; a < 4; a++) {
        const uint second = a >= (edges ? 2 : 1);
        most[second] = fmax(most[second], coarsen_norm3(own[a]));
    }
    const REAL speed = most[0] + most[1];
    if (coarsen_beyond(edges, x, min_distance + speed * last))
        return INFINITY;
    const REAL distance = coarsen_distance_at(edges, x, own, 0), low = (REAL)KEPT * distance;
    const REAL least = fmin(min_distance + (REAL)SHARE * (distance - min_distance), clear);
    const REAL first = coarsen_advance(edges, x, own, speed, distance, min_distance, least, false, last);
    if (!(first < INFINITY && low < min_distance))
        return first;
    const REAL kept = (1 - LOST) * fmin(min_distance, distance);
    const REAL other = coarsen_advance(edges, x, own, speed, distance, low, kept, true, last);
    return fmax(first, other);
}
