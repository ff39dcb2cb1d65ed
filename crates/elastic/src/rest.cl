// Tetrahedra at rest, with the data: gradients of the four shape functions, volume.

#define VOLUME data[12]

// F                                                                     Host: Shape::deformation
void coarsen_deformation(__global const REAL *data, REAL (*x)[3], REAL (*f)[3]) {
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++) {
            REAL sum = 0;
            for (uint a = 1; a < 4; a++)
                sum += (x[a][i] - x[0][i]) * data[3 * a + j];
            f[i][j] = sum;
        }
}

// row · the gradient of shape function a                                Host: vector::dot
REAL coarsen_along(const REAL *row, __global const REAL *data, const uint a) {
    return row[0] * data[3 * a] + row[1] * data[3 * a + 1] + row[2] * data[3 * a + 2];
}

// V P times the gradients                                               Host: Shape::forces
void coarsen_forces(__global const REAL *data, REAL (*p)[3], REAL (*g)[3]) {
    for (uint a = 0; a < 4; a++)
        for (uint k = 0; k < 3; k++)
            g[a][k] = VOLUME * coarsen_along(p[k], data, a);
}

// h += V times the products of the gradients times the weight           Host: Shape::add_laplacian
void coarsen_add_laplacian(__global const REAL *data, const REAL weight, REAL (*h)[12]) {
    for (uint ab = 0; ab < 16; ab++) {
        const uint a = ab / 4, b = ab % 4;
        const REAL own[3] = {data[3 * a], data[3 * a + 1], data[3 * a + 2]};
        for (uint k = 0; k < 3; k++)
            h[3 * a + k][3 * b + k] += VOLUME * weight * coarsen_along(own, data, b);
    }
}
