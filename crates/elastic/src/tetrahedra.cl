// A density on tetrahedra, with the data of rest.cl, the weight of the constant matrix, and the moduli lambda and mu.
// The density defines
//   coarsen_density_energy  the value and the magnitude for F
//   coarsen_density_stress  P for F
//   coarsen_density_modes   the derivatives of psi by the singular values, as Modes::new takes them

READS(4, 16, 0);

#define MODULI (data + 14)

void coarsen_density_energy(__global const REAL *moduli, REAL (*f)[3], REAL *energy);
void coarsen_density_stress(__global const REAL *moduli, REAL (*f)[3], REAL (*p)[3]);
void coarsen_density_modes(__global const REAL *moduli, REAL (*f)[3], const REAL *s, REAL *symmetric, REAL *antisymmetric,
                           REAL (*stretch)[3]);

//                                                                       Host: Element::energy of Solid<D>
void coarsen_element_energy(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL *energy) {
    REAL f[3][3];
    coarsen_deformation(data, x, f);
    coarsen_density_energy(MODULI, f, energy);
    energy[0] *= VOLUME;
    energy[1] *= VOLUME;
}

//                                                                       Host: Element::gradient of Solid<D>
void coarsen_element_gradient(__global const REAL *data, __global const REAL *common, REAL (*x)[3], REAL (*g)[3]) {
    REAL f[3][3], p[3][3];
    coarsen_deformation(data, x, f);
    coarsen_density_stress(MODULI, f, p);
    coarsen_forces(data, p, g);
}

// h += weight w w^T with w = Q times the gradients, where Q is none for a weight of 0. Host: Shape::add_modes
void coarsen_add_mode(__global const REAL *data, const REAL value, const uint curvature, REAL (*q)[3], REAL (*h)[12]) {
    const REAL weight = VOLUME * (curvature == EXACT ? value : fmax(value, (REAL)0));
    REAL w[12];
    if (weight == 0)
        return;
    for (uint row = 0; row < 12; row++)
        w[row] = coarsen_along(q[row % 3], data, row / 3);
#pragma unroll 1 // h does not fit into registers
    for (uint row = 0; row < 12; row++) {
        const REAL left = weight * w[row];
        for (uint column = 0; column < 12; column++)
            h[row][column] += left * w[column];
    }
}

//                                                                       Host: Element::add_hessian of Solid<D>, Modes::new
void coarsen_element_hessian(__global const REAL *data, __global const REAL *common, REAL (*x)[3], const uint curvature,
                             REAL (*h)[12]) {
    if (curvature == CONSTANT) {
        coarsen_add_laplacian(data, data[13], h);
        return;
    }
    REAL f[3][3], u[3][3], v[3][3], s[3], symmetric[3], antisymmetric[3], stretch[3][3], values[3], vectors[3][3], q[3][3];
    coarsen_deformation(data, x, f);
    coarsen_svd(f, u, s, v);
    coarsen_density_modes(MODULI, f, s, symmetric, antisymmetric, stretch);
    for (uint mode = 0; mode < 6; mode++) {
        const uint k = mode % 3, i = (k + 1) % 3, j = (k + 2) % 3;
        for (uint e = 0; e < 9; e++) {
            const REAL ij = u[i][e / 3] * v[j][e % 3], ji = u[j][e / 3] * v[i][e % 3];
            q[e / 3][e % 3] = (mode < 3 ? ij + ji : ij - ji) * (REAL)0.70710678118654752440;
        }
        coarsen_add_mode(data, mode < 3 ? symmetric[k] : antisymmetric[k], curvature, q, h);
    }
    coarsen_eigen(stretch, values, vectors);
    for (uint k = 0; k < 3; k++) {
        for (uint e = 0; e < 9; e++) {
            REAL sum = 0;
            for (uint i = 0; i < 3; i++)
                sum += vectors[k][i] * (u[i][e / 3] * v[i][e % 3]);
            q[e / 3][e % 3] = sum;
        }
        coarsen_add_mode(data, values[k], curvature, q, h);
    }
}
