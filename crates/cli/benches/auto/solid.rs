//! Finite elements on a mapped grid of hexahedra, linear or quadratic: elasticity, or diffusion.
//!
//! > K_ab = ∫ λ g_a g_bᵀ + μ g_b g_aᵀ + μ (g_a · g_b) I,    g_a = ∇N_a    (1)
//! > k_ab = ∫ E g_a · g_b    (2)
//!
//! The integrals use Gauss points, 2 or 3 per direction. The nodes of the first layer, x = 0, are fixed.

use coarsen::sparse::Bsr;
use coarsen::sparse::assembly::from_blocks;

/// A body of mapped cells.
pub(crate) struct Solid<'a> {
    /// The order of the elements: 1 for 8 nodes, 2 for 27.
    pub(crate) order: usize,
    pub(crate) cells: [usize; 3],
    /// The map from the unit cube to space.
    pub(crate) map: &'a dyn Fn([f64; 3]) -> [f64; 3],
    /// Young's modulus of a cell as a function of its number; for diffusion, the conductivity.
    pub(crate) young: &'a dyn Fn(usize) -> f64,
    /// Poisson's ratio, below 1/2; `None` for diffusion.
    pub(crate) poisson: Option<f64>,
}

impl Solid<'_> {
    /// The number of nodes in each direction.
    fn nodes(&self) -> [usize; 3] {
        self.cells.map(|n| self.order * n + 1)
    }

    /// The stiffness matrix, in blocks of 3 or 1.
    pub(crate) fn matrix(&self) -> Bsr<f64> {
        let [nx, ny, nz] = self.nodes();
        let size = if self.poisson.is_some() { 3 } else { 1 };
        let number = |[i, j, k]: [usize; 3]| ((i - 1) * ny + j) * nz + k;
        let (mut places, mut values) = (Vec::new(), Vec::new());
        let [cx, cy, cz] = self.cells;
        for cell in 0..cx * cy * cz {
            let corner = [cell / (cy * cz), cell / cz % cy, cell % cz].map(|c| c * self.order);
            let per = self.order + 1;
            let local: Vec<[usize; 3]> = (0..per.pow(3))
                .map(|a| [corner[0] + a / (per * per), corner[1] + a / per % per, corner[2] + a % per])
                .collect();
            let k = self.element(&local, (self.young)(cell), size);
            let free = |a: usize| (local[a][0] > 0).then(|| number(local[a]) as u32);
            for a in 0..local.len() {
                for b in 0..local.len() {
                    if let (Some(i), Some(j)) = (free(a), free(b)) {
                        places.push((i, j));
                        values.extend_from_slice(&k[(a * local.len() + b) * size * size..][..size * size]);
                    }
                }
            }
        }
        let nodes = (nx - 1) * ny * nz;
        from_blocks((nodes, nodes), (size, size), &places, &values).expect("elements fit their grid")
    }

    /// The blocks of an element, (1) or (2).
    fn element(&self, local: &[[usize; 3]], young: f64, size: usize) -> Vec<f64> {
        let (count, whole) = (local.len(), self.nodes());
        let unit = |node: [usize; 3]| std::array::from_fn(|d| node[d] as f64 / (whole[d] - 1) as f64);
        let points: Vec<[f64; 3]> = local.iter().map(|&node| (self.map)(unit(node))).collect();
        let nu = self.poisson.unwrap_or(0.0);
        let (lambda, mu) = (young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), young / (2.0 * (1.0 + nu)));
        let mut k = vec![0.0; count * count * size * size];
        let gauss = gauss(self.order);
        for g in 0..gauss.len().pow(3) {
            let at = [g / (gauss.len() * gauss.len()), g / gauss.len() % gauss.len(), g % gauss.len()]
                .map(|g| gauss[g]);
            let weight: f64 = at.iter().map(|(_, w)| w).product();
            let shapes = at.map(|(x, _)| shapes(self.order, x));
            let slopes: Vec<[f64; 3]> = (0..count).map(|a| slope(&shapes, self.order, a)).collect();
            let mut jacobian = [[0.0; 3]; 3];
            for (point, slope) in points.iter().zip(&slopes) {
                for (r, row) in jacobian.iter_mut().enumerate() {
                    row.iter_mut().zip(slope).for_each(|(j, s)| *j += point[r] * s);
                }
            }
            let (inverse, det) = inverse(&jacobian);
            assert!(det > 0.0, "an element is turned inside out: {det}");
            let gradient = |s: &[f64; 3]| std::array::from_fn(|d| (0..3).map(|e| inverse[e][d] * s[e]).sum());
            let gradients: Vec<[f64; 3]> = slopes.iter().map(gradient).collect();
            for a in 0..count {
                for b in a..count {
                    let (p, q) = (gradients[a], gradients[b]);
                    let dot: f64 = p.iter().zip(&q).map(|(p, q)| p * q).sum();
                    let block = &mut k[(a * count + b) * size * size..][..size * size];
                    for (e, value) in block.iter_mut().enumerate() {
                        let (i, j) = (e / size, e % size);
                        *value += weight
                            * det
                            * match self.poisson {
                                None => young * dot,
                                Some(_) => {
                                    lambda * p[i] * q[j]
                                        + mu * p[j] * q[i]
                                        + if i == j { mu * dot } else { 0.0 }
                                }
                            };
                    }
                }
            }
        }
        for a in 0..count {
            for b in 0..a {
                for e in 0..size * size {
                    k[(a * count + b) * size * size + e] =
                        k[(b * count + a) * size * size + e % size * size + e / size];
                }
            }
        }
        k
    }
}

/// Points and weights on (0, 1).
fn gauss(order: usize) -> Vec<(f64, f64)> {
    let on_unit = |(x, w): (f64, f64)| (0.5 + 0.5 * x, 0.5 * w);
    let (two, three) = (1.0 / 3.0_f64.sqrt(), 0.6_f64.sqrt());
    match order {
        1 => [(-two, 1.0), (two, 1.0)].map(on_unit).to_vec(),
        _ => [(-three, 5.0 / 9.0), (0.0, 8.0 / 9.0), (three, 5.0 / 9.0)].map(on_unit).to_vec(),
    }
}

/// The values of Lagrange's polynomials on (0, 1) at x, and their slopes.
fn shapes(order: usize, x: f64) -> Vec<(f64, f64)> {
    match order {
        1 => vec![(1.0 - x, -1.0), (x, 1.0)],
        _ => vec![
            (2.0 * (x - 0.5) * (x - 1.0), 4.0 * x - 3.0),
            (4.0 * x * (1.0 - x), 4.0 - 8.0 * x),
            (2.0 * x * (x - 0.5), 4.0 * x - 1.0),
        ],
    }
}

/// The gradient of the shape function of node a in the unit cell.
fn slope(shapes: &[Vec<(f64, f64)>; 3], order: usize, a: usize) -> [f64; 3] {
    let per = order + 1;
    let [x, y, z] = [a / (per * per), a / per % per, a % per];
    let [x, y, z] = [shapes[0][x], shapes[1][y], shapes[2][z]];
    [x.1 * y.0 * z.0, x.0 * y.1 * z.0, x.0 * y.0 * z.1]
}

fn inverse(m: &[[f64; 3]; 3]) -> ([[f64; 3]; 3], f64) {
    let minor = |r: usize, c: usize| {
        let [r1, r2, c1, c2] = [(r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3];
        m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
    };
    let det = (0..3).map(|c| m[0][c] * minor(0, c)).sum::<f64>();
    (std::array::from_fn(|r| std::array::from_fn(|c| minor(c, r) / det)), det)
}
