// Vectors of three numbers.

//                                                                       Host: vector::dot
REAL coarsen_dot3(const REAL *a, const REAL *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

//                                                                       Host: vector::cross
void coarsen_cross3(const REAL *a, const REAL *b, REAL *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// a - b                                                                 Host: vector::sub
void coarsen_sub3(const REAL *a, const REAL *b, REAL *c) {
    for (uint k = 0; k < 3; k++)
        c[k] = a[k] - b[k];
}
