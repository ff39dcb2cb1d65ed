//! Systems on grids and networks: entries by hand, and motions without forces.

use coarsen_core::LinearOperator;
use coarsen_problems::{anisotropic2d, elasticity3d, graph, jump3d, poisson2d, poisson3d};

#[test]
fn points_are_coupled_with_their_neighbours() {
    let a = poisson2d(3).unwrap().matrix;
    assert_eq!(a.pattern().row(4), [1, 3, 4, 5, 7]);
    assert_eq!(a.row(4).map(|(_, v)| v[0]).collect::<Vec<_>>(), [-1.0, -1.0, 4.0, -1.0, -1.0]);
    assert_eq!(a.pattern().row(2), [1, 2, 5]); // no coupling between ends of lines
    let a = poisson3d(3).unwrap().matrix;
    assert_eq!(a.pattern().row(13), [4, 10, 12, 13, 14, 16, 22]);
    assert_eq!(a.get(13, 13), 6.0);
    assert_eq!(poisson3d(1).unwrap().matrix.values(), [6.0]);
}

/// Sines are eigenvectors: A u = 4 Σ sin²(π h / 2) u.
#[test]
fn sines_are_eigenvectors() {
    for (p, dimension) in [(poisson2d(7).unwrap(), 2), (poisson3d(7).unwrap(), 3)] {
        let sine = |x: &[f64; 3]| {
            x.iter().take(dimension).map(|x| (std::f64::consts::PI * x).sin()).product::<f64>()
        };
        let u: Vec<f64> = p.positions.iter().map(sine).collect();
        let mut y = vec![0.0; u.len()];
        p.matrix.apply(&u, &mut y);
        let lambda = dimension as f64 * 4.0 * (std::f64::consts::PI / 16.0).sin().powi(2);
        assert!(u.iter().zip(&y).all(|(u, y)| (lambda * u - y).abs() < 1e-14));
    }
}

/// Bilinear elements on squares: with the tensor k the stencil is k_xx L ⊗ M + k_yy M ⊗ L − 2 k_xy D ⊗ D, where L, M and D
/// are the Laplacian, the mass and the difference of linear elements in one dimension. Rows sum to zero. At 60 degrees
/// couplings along (1, 1) and y are strong; couplings along (1, −1) and x are positive.
#[test]
fn rotated_diffusion_has_its_stencil() {
    let (epsilon, (sin, cos)) = (1e-3, std::f64::consts::FRAC_PI_3.sin_cos());
    let (xx, yy, xy) =
        (cos * cos + epsilon * sin * sin, epsilon * cos * cos + sin * sin, (1.0 - epsilon) * cos * sin);
    let (mass, laplacian, difference) =
        ([1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0], [-1.0, 2.0, -1.0], [-0.5, 0.0, 0.5]);
    let a = anisotropic2d(5).unwrap().matrix;
    let found = |p: usize, q: usize| a.get(12, 5 * (1 + p) + 1 + q);
    let mut sum = 0.0;
    for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
        let straight = xx * laplacian[p] * mass[q] + yy * mass[p] * laplacian[q];
        let expected = straight - 2.0 * xy * difference[p] * difference[q];
        assert!((found(p, q) - expected).abs() < 1e-15, "{p} {q}: {} {expected}", found(p, q));
        sum += found(p, q);
    }
    assert!(f64::abs(sum) < 1e-15);
    assert!(found(0, 0) < -0.38 && found(0, 2) > 0.04 && found(1, 0) < -0.41 && found(0, 1) > 0.08);
}

/// Under unit strain in x, with the stresses σ_xx = λ + 2 μ and σ_yy = σ_zz = λ, the force on a node is σ h² / 4 for each
/// face of an element on the surface, and 0 inside.
#[test]
fn forces_under_uniform_strain() {
    let (n, young) = (4, 1e5);
    let h = 1.0 / n as f64;
    let (lambda, mu) = (young * 0.3 / (1.3 * 0.4), young / 2.6);
    let p = elasticity3d(n, 1.0).unwrap();
    let u: Vec<f64> = p.positions.iter().flat_map(|x| [x[0], 0.0, 0.0]).collect();
    let mut force = vec![0.0; u.len()];
    p.matrix.apply(&u, &mut force);
    for (x, force) in p.positions.iter().zip(force.chunks_exact(3)) {
        let side = x.map(|x| if x == 0.0 { -1.0 } else { f64::from(u8::from(x == 1.0)) });
        for k in 0..3 {
            let faces = [1, 2].map(|d| if side[(k + d) % 3] == 0.0 { 2.0 } else { 1.0 });
            let stress = if k == 0 { lambda + 2.0 * mu } else { lambda };
            let expected = side[k] * stress * h * h / 4.0 * faces[0] * faces[1];
            assert!((force[k] - expected).abs() < 1e-14 * young, "{x:?}: {force:?}");
        }
    }
}

/// Rigid motions cause no forces at nodes without a held neighbour.
#[test]
fn rigid_motions_cost_nothing_away_from_the_wall() {
    for jump in [1.0, 1e4] {
        let p = elasticity3d(5, jump).unwrap();
        let scale = p.matrix.diagonal().iter().fold(0.0_f64, |m, d| m.max(*d));
        for mode in 0..6 {
            let mut f = vec![0.0; p.matrix.shape().0];
            p.matrix.apply(&p.near_kernel.column(mode), &mut f);
            let (wall, free) = f.split_at(3 * 36);
            assert!(free.iter().all(|f| f.abs() < 1e-13 * scale), "mode {mode}");
            assert!(wall.iter().any(|f| f.abs() > 1e-2 * scale), "mode {mode}");
        }
    }
}

/// With a single block the coefficient is constant, and the matrix is k times the 7-point Laplacian with
/// the boundary half a cell away.
#[test]
fn one_block_is_a_scaled_laplacian() {
    let a = jump3d(8).unwrap().matrix;
    let k = 10_f64.powf(6.0 * 0.625_095_466_604_667);
    let near = |x: f64, y: f64| (x / (k * y) - 1.0).abs() < 1e-14;
    let inside = 8 * 8 * 3 + 8 * 3 + 3;
    assert!(near(a.get(inside, inside), 6.0) && near(a.get(inside, inside + 1), -1.0));
    assert!(near(a.get(0, 0), 9.0) && near(a.get(0, 64), -1.0));
}

/// In a block all couplings are −k; a face between two blocks has the harmonic mean of both k.
#[test]
fn faces_carry_harmonic_means() {
    let a = jump3d(16).unwrap().matrix;
    let index = |[x, y, z]: [usize; 3]| (x * 16 + y) * 16 + z;
    let coupling = |z: usize| -a.get(index([2, 3, z]), index([2, 3, z + 1]));
    let [before, face, after] = [6, 7, 8].map(coupling);
    assert!(before != after);
    assert!((face / (2.0 / (1.0 / before + 1.0 / after)) - 1.0).abs() < 1e-14);
}

/// The edges equal the edges found by testing all pairs of points.
#[test]
fn close_points_are_joined() {
    for n in [1, 2, 5, 300] {
        let p = graph(n).unwrap();
        let r2 = 8.0 / (std::f64::consts::PI * n as f64);
        for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let [x, y] = [0, 1].map(|k| p.positions[i][k] - p.positions[j][k]);
            if x * x + y * y < r2 * (1.0 - 1e-14) {
                assert_eq!(p.matrix.get(i, j), -1.0);
            }
        }
    }
}

#[test]
fn networks_are_connected_and_shifted() {
    let n = 2000;
    let a = graph(n).unwrap().matrix;
    let (mut reached, mut front) = (vec![false; n], vec![0]);
    while let Some(i) = front.pop() {
        if !std::mem::replace(&mut reached[i], true) {
            front.extend(a.row(i).map(|(j, _)| j));
        }
    }
    assert!(reached.iter().all(|&r| r));
    for i in 0..n {
        let sum: f64 = a.row(i).map(|(_, v)| v[0]).sum();
        assert!((sum - 1e-4).abs() < 1e-13);
    }
    let degree = a.nnz() as f64 / n as f64 - 1.0;
    assert!((7.0..10.0).contains(&degree), "mean degree {degree}");
}
