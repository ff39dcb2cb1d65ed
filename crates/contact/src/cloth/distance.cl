// The nearest points of a vertex and a triangle, or of two edges.

//                                                                       Host: vector::dot
REAL coarsen_dot3(const REAL *a, const REAL *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

//                                                                       Host: vector::norm
REAL coarsen_norm3(const REAL *a) {
    return sqrt(coarsen_dot3(a, a));
}

//                                                                       Host: vector::cross
void coarsen_cross3(const REAL *a, const REAL *b, REAL *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

//                                                                       Host: vector::sub
void coarsen_sub3(const REAL *a, const REAL *b, REAL *c) {
    for (uint k = 0; k < 3; k++)
        c[k] = a[k] - b[k];
}

// The weights of the four nodes, the vector from the second part to the first, and its length. Host: Gap
typedef struct {
    REAL weights[4], vector[3], distance;
} coarsen_gap_of;

// Barycentric coordinates of the nearest point of a triangle.           Host: triangle::nearest
void coarsen_nearest_in_triangle(const REAL *x, const REAL *a, const REAL *b, const REAL *c, REAL *w) {
    REAL ab[3], ac[3], from[3];
    coarsen_sub3(b, a, ab);
    coarsen_sub3(c, a, ac);
    coarsen_sub3(x, a, from);
    const REAL d1 = coarsen_dot3(ab, from), d2 = coarsen_dot3(ac, from);
    coarsen_sub3(x, b, from);
    const REAL d3 = coarsen_dot3(ab, from), d4 = coarsen_dot3(ac, from);
    coarsen_sub3(x, c, from);
    const REAL d5 = coarsen_dot3(ab, from), d6 = coarsen_dot3(ac, from);
    const REAL va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    w[0] = w[1] = w[2] = 0;
    if (d1 <= 0 && d2 <= 0)
        w[0] = 1;
    else if (d3 >= 0 && d4 <= d3)
        w[1] = 1;
    else if (d6 >= 0 && d5 <= d6)
        w[2] = 1;
    else if (vc <= 0 && d1 >= 0 && d3 <= 0) {
        w[1] = d1 / (d1 - d3);
        w[0] = 1 - w[1];
    } else if (vb <= 0 && d2 >= 0 && d6 <= 0) {
        w[2] = d2 / (d2 - d6);
        w[0] = 1 - w[2];
    } else if (va <= 0 && d4 >= d3 && d5 >= d6) {
        w[2] = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        w[1] = 1 - w[2];
    } else {
        w[1] = vb / (va + vb + vc);
        w[2] = vc / (va + vb + vc);
        w[0] = 1 - w[1] - w[2];
    }
}

// From differences to the first node, which keep all digits far from the origin. Host: distance::gap
coarsen_gap_of coarsen_gap_with(REAL (*x)[3], const REAL w0, const REAL w1, const REAL w2, const REAL w3) {
    coarsen_gap_of gap = {{w0, w1, w2, w3}, {0, 0, 0}, 0};
    for (uint k = 0; k < 3; k++)
        gap.vector[k] = w1 * (x[1][k] - x[0][k]) + w2 * (x[2][k] - x[0][k]) + w3 * (x[3][k] - x[0][k]);
    gap.distance = coarsen_norm3(gap.vector);
    return gap;
}

// The position of the nearest point of a segment, from 0 to 1.          Host: distance::along
REAL coarsen_along(const REAL *p, const REAL *a, const REAL *b) {
    REAL edge[3], from[3];
    coarsen_sub3(b, a, edge);
    coarsen_sub3(p, a, from);
    const REAL square = coarsen_dot3(edge, edge), at = coarsen_dot3(from, edge) / square;
    return !(square > 0) ? 0 : at < 0 ? 0 : at > 1 ? 1 : at;
}

// The positions of the nearest points of two segments; whether these are nearly parallel. Host: distance::between_lines
bool coarsen_between_lines(REAL (*x)[3], REAL *first, REAL *second) {
    REAL d[3], e[3], from[3], sine[3], point[3];
    coarsen_sub3(x[1], x[0], d);
    coarsen_sub3(x[3], x[2], e);
    coarsen_sub3(x[0], x[2], from);
    const REAL dd = coarsen_dot3(d, d), ee = coarsen_dot3(e, e), de = coarsen_dot3(d, e);
    const REAL along_d = coarsen_dot3(d, from), along_e = coarsen_dot3(e, from);
    coarsen_cross3(d, e, sine);
    const REAL squares = coarsen_dot3(sine, sine);
    const bool parallel = squares <= (REAL)1e-6 * dd * ee;
    const REAL at = (de * along_e - along_d * ee) / squares, start = parallel ? (REAL)0.5 : at < 0 ? 0 : at > 1 ? 1 : at;
    for (uint k = 0; k < 3; k++)
        point[k] = x[0][k] + start * d[k];
    *second = coarsen_along(point, x[2], x[3]);
    for (uint k = 0; k < 3; k++)
        point[k] = x[2][k] + *second * e[k];
    *first = coarsen_along(point, x[0], x[1]);
    return parallel;
}

// The nearest points of a pair.                                         Host: distance::gap
coarsen_gap_of coarsen_gap(const bool edges, REAL (*x)[3]) {
    if (!edges) {
        REAL w[3];
        coarsen_nearest_in_triangle(x[0], x[1], x[2], x[3], w);
        return coarsen_gap_with(x, 1, -w[0], -w[1], -w[2]);
    }
    REAL s, t;
    const bool parallel = coarsen_between_lines(x, &s, &t);
    coarsen_gap_of best = coarsen_gap_with(x, 1 - s, s, t - 1, -t);
    for (uint end = 0; end < 4 && parallel; end++) {
        const REAL at = end / 2;
        s = end % 2 == 0 ? at : coarsen_along(x[2 + end / 2], x[0], x[1]);
        t = end % 2 == 0 ? coarsen_along(x[end / 2], x[2], x[3]) : at;
        const coarsen_gap_of other = coarsen_gap_with(x, 1 - s, s, t - 1, -t);
        if (other.distance < best.distance)
            best = other;
    }
    return best;
}
