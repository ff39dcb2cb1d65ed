// Triangles of flat cloth, with the data: gradients of the three shape functions in (u, v), area.

#define AREA data[6]

// w_u and w_v                                                           Host: Triangle::columns
void coarsen_columns(__global const REAL *data, REAL (*x)[3], REAL (*w)[3]) {
    for (uint s = 0; s < 2; s++)
        for (uint k = 0; k < 3; k++)
            w[s][k] = data[2 + s] * (x[1][k] - x[0][k]) + data[4 + s] * (x[2][k] - x[0][k]);
}

// M times the gradients, for a matrix M with the columns w              Host: Triangle::spread
void coarsen_spread(__global const REAL *data, REAL (*w)[3], REAL (*g)[3]) {
    for (uint a = 0; a < 3; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = data[2 * a] * w[0][k] + data[2 * a + 1] * w[1][k];
}

// h += area weight q q^T, where q is M times the gradients              Host: elements::add_outer
void coarsen_add_columns(__global const REAL *data, const REAL weight, REAL (*w)[3], REAL (*h)[9]) {
    REAL q[3][3];
    coarsen_spread(data, w, q);
#pragma unroll 1 // h does not fit into registers
    for (uint row = 0; row < 9; row++) {
        const REAL left = AREA * weight * q[row / 3][row % 3];
        for (uint column = 0; column < 9; column++)
            h[row][column] += left * q[column / 3][column % 3];
    }
}

// h += area weight times the products of the gradients, as six matrices M of one entry
void coarsen_add_columns_of_unit(__global const REAL *data, const REAL weight, REAL (*h)[9]) {
    for (uint k = 0; k < 6; k++) {
        REAL w[2][3];
        for (uint e = 0; e < 6; e++)
            w[e / 3][e % 3] = e == k;
        coarsen_add_columns(data, weight, w, h);
    }
}
