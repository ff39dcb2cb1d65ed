// The step to the first flat tetrahedron.

REAL coarsen_cubic(const REAL *c, const REAL a) {
    return ((c[3] * a + c[2]) * a + c[1]) * a + c[0];
}

// The last step before the change of sign between low and high.         Host: cubic::halve
REAL coarsen_halve(const REAL *c, REAL low, REAL high) {
    for (;;) {
        const REAL middle = (REAL)0.5 * (low + high);
        if (middle <= low || middle >= high)
            return low;
        if (coarsen_cubic(c, middle) > 0)
            low = middle;
        else
            high = middle;
    }
}

//                                                                       Host: cubic::first_root
REAL coarsen_first_root(const REAL *c) {
    if (!(c[0] > 0))
        return 0;
    const REAL a = 3 * c[3], q = c[2] * c[2] - a * c[1];
    const REAL root = -(c[2] + copysign(sqrt(fmax(q, (REAL)0)), c[2])), zeros[2] = {root / a, c[1] / root};
    const uint first = !(zeros[0] <= zeros[1]);
    REAL low = 0;
    for (uint k = 0; k < 2 && !(q < 0); k++) {
        const REAL zero = zeros[k == 0 ? first : 1 - first];
        if (!(isfinite(zero) && zero > 0))
            continue;
        if (coarsen_cubic(c, zero) <= 0)
            return coarsen_halve(c, low, zero);
        low = zero;
    }
    const REAL leading = c[3] != 0 ? c[3] : c[2] != 0 ? c[2] : c[1];
    if (leading >= 0)
        return INFINITY;
    REAL high = 2 * low + 1;
    while (coarsen_cubic(c, high) > 0) {
        low = high;
        high *= 2;
    }
    return coarsen_halve(c, low, high);
}

//                                                                       Host: Element::max_step of Solid<D>
REAL coarsen_element_max_step(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*d)[3]) {
    REAL f[3][3], along[3][3], of_f[3][3], of_along[3][3];
    coarsen_deformation(data, x, f);
    coarsen_deformation(data, d, along);
    coarsen_cofactor(f, of_f);
    coarsen_cofactor(along, of_along);
    REAL c[4] = {coarsen_determinant(f), 0, 0, coarsen_determinant(along)};
    for (uint i = 0; i < 3; i++) {
        c[1] += coarsen_dot3(of_f[i], along[i]);
        c[2] += coarsen_dot3(f[i], of_along[i]);
    }
    return (REAL)0.9 * coarsen_first_root(c);
}
