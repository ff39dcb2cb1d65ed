//! 3x3 matrices: singular values, the nearest rotation, eigensystems, and the first root of a cubic.

use coarsen_core::SplitMix64;
use coarsen_elastic::{
    Arap, Density, FixedCoRotated, Lame, NeoHookean, Potential, StVenantKirchhoff, Svd, Tetrahedra,
};
use coarsen_mesh::Mesh;

pub(super) type Matrix = [[f64; 3]; 3];

pub(super) const ONE: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

pub(super) fn of(entry: impl Fn(usize, usize) -> f64) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

fn diagonal(d: [f64; 3]) -> Matrix {
    of(|i, j| if i == j { d[i] } else { 0.0 })
}

fn random(random: &mut SplitMix64) -> Matrix {
    std::array::from_fn(|_| std::array::from_fn(|_| random.number()))
}

pub(super) fn mul(a: &Matrix, b: &Matrix) -> Matrix {
    of(|i, j| (0..3).map(|k| a[i][k] * b[k][j]).sum())
}

fn transpose(a: &Matrix) -> Matrix {
    of(|i, j| a[j][i])
}

pub(super) fn square(a: &Matrix) -> f64 {
    a.as_flattened().iter().map(|v| v * v).sum()
}

pub(super) fn determinant([a, b, c]: &Matrix) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
}

fn close(a: &Matrix, b: &Matrix, tolerance: f64) {
    assert!(square(&of(|i, j| a[i][j] - b[i][j])).sqrt() < tolerance, "{a:?} {b:?}");
}

fn check(a: &Matrix) {
    let Svd { u, sigma, v } = Svd::of(a);
    let scale = square(a).sqrt().max(1e-300);
    close(&mul(&u, &transpose(&u)), &ONE, 1e-14);
    close(&mul(&v, &transpose(&v)), &ONE, 1e-14);
    assert!((determinant(&u) - 1.0).abs() < 1e-13 && (determinant(&v) - 1.0).abs() < 1e-13);
    let scaled = u.map(|row| std::array::from_fn(|k| row[k] * sigma[k]));
    close(&mul(&scaled, &transpose(&v)), a, 1e-14 * scale);
    assert!(sigma[0] >= sigma[1] && sigma[1] >= sigma[2].abs() - 1e-14 * scale, "{sigma:?}");
}

#[test]
fn any_matrix_is_two_rotations_and_a_stretch() {
    let mut numbers = SplitMix64::new(5);
    for _ in 0..500 {
        check(&random(&mut numbers));
    }
    for a in [
        [[0.0; 3]; 3],
        ONE,
        [ONE[0], ONE[0], ONE[0]],
        [ONE[1], ONE[0], ONE[2]],
        [[1e-9, 0.0, 0.0], ONE[1], [0.0, 0.0, -3.0]],
        diagonal([2.0, 0.0, 0.0]),
    ] {
        check(&a);
    }
}

/// Sums of two singular values are divisors of the eigenvalues 2 μ − 4 μ / (σᵢ + σⱼ) of three twists; a sum below 1e-8
/// counts as 1e-8.
#[test]
fn twists_at_vanishing_sums_have_a_finite_curvature() {
    let twists = |sigma: [f64; 3]| -> [f64; 3] {
        let modes = Arap.modes(Lame { lambda: 0.0, mu: 0.5 }, &diagonal(sigma));
        [3, 4, 5].map(|k| modes.values[k])
    };
    let expected = |sums: [f64; 3]| sums.map(|sum| 1.0 - 2.0 / sum);
    assert_eq!(twists([3.0, 2.0, -1.0]), expected([1.0, 2.0, 5.0]));
    assert_eq!(twists([0.0; 3]), expected([1e-8; 3]));
    assert_eq!(twists([1.0, 0.5, -0.5]), expected([1e-8, 0.5, 1.5]));
}

/// With S = λ tr(E) I + 2 μ E the derivative of P = F S along D is D S + F (λ tr(E') I + 2 μ E'), 2 E' = FᵀD + DᵀF. The
/// modes of stretching come from an eigenproblem without a closed form.
#[test]
fn modes_are_an_orthonormal_eigensystem() {
    let Lame { lambda, mu } = Lame { lambda: 2.0, mu: 3.0 };
    let law = |e: &Matrix| of(|i, j| 2.0 * mu * e[i][j] + lambda * (e[0][0] + e[1][1] + e[2][2]) * ONE[i][j]);
    let mut numbers = SplitMix64::new(6);
    for _ in 0..200 {
        let f = random(&mut numbers);
        let modes = StVenantKirchhoff.modes(Lame { lambda, mu }, &f);
        let inner = |a: &Matrix, b: &Matrix| -> f64 {
            a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| a * b).sum()
        };
        for (k, l) in (0..81).map(|kl| (kl / 9, kl % 9)) {
            let product = inner(&modes.matrices[k], &modes.matrices[l]);
            assert!((product - f64::from(u8::from(k == l))).abs() < 1e-13, "{k} {l}: {product}");
        }
        let products = mul(&transpose(&f), &f);
        let s = law(&of(|i, j| 0.5 * (products[i][j] - ONE[i][j])));
        let size = modes.values.iter().fold(1.0_f64, |most, v| most.max(v.abs()));
        for d in (0..9).map(|k| of(|i, j| f64::from(u8::from(3 * i + j == k)))) {
            let (fd, ds) = (mul(&transpose(&f), &d), mul(&d, &s));
            let fs = mul(&f, &law(&of(|i, j| 0.5 * (fd[i][j] + fd[j][i]))));
            let found = of(|i, j| {
                let term =
                    |k: usize| modes.values[k] * inner(&modes.matrices[k], &d) * modes.matrices[k][i][j];
                (0..9).map(term).sum()
            });
            close(&found, &of(|i, j| ds[i][j] + fs[i][j]), 1e-13 * size);
        }
    }
}

/// The rotation nearest to F, from P = 2 μ (F − R).
fn rotation(f: &Matrix) -> Matrix {
    let p = FixedCoRotated.stress(Lame { lambda: 0.0, mu: 0.5 }, f);
    of(|i, j| f[i][j] - p[i][j])
}

/// Random stretches and turns, small ones, reflections and flat matrices: R is that of the singular values, also where
/// det F is less than 1e-3 of ‖F‖³.
#[test]
fn the_rotation_is_that_of_the_singular_values() {
    let mut numbers = SplitMix64::new(7);
    let (mut regular, mut others) = (0, 0);
    for k in 0..600 {
        let scale = [1e-9, 1e-3, 0.3, 3.0][k % 4];
        let noise = random(&mut numbers);
        let f = of(|i, j| ONE[i][j] + scale * noise[i][j]);
        let (r, svd) = (rotation(&f), Svd::of(&f));
        let known = mul(&svd.u, &transpose(&svd.v));
        *if determinant(&f) > 1e-3 * square(&f).powf(1.5) { &mut regular } else { &mut others } += 1;
        // The rotation is badly conditioned where the two smallest singular values cancel.
        let tolerance = 1e-14 / (svd.sigma[1] + svd.sigma[2]).min(1.0);
        for (x, y) in r.as_flattened().iter().zip(known.as_flattened()) {
            assert!((x - y).abs() < tolerance, "{f:?}: {r:?} {known:?}");
        }
    }
    assert!(regular > 400 && others > 50, "{regular} {others}");
}

#[test]
fn rotations_of_nan_end() {
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        rotation(&diagonal([bad, 1.0, 1.0]));
    }
}

/// A turn by 90 degrees and a stretch of its axes.
#[test]
fn a_rotation_by_hand() {
    let r = rotation(&[[0.0, -2.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 1.5]]);
    let known = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    for (x, y) in r.as_flattened().iter().zip(known.as_flattened()) {
        assert!((x - y).abs() < 1e-15, "{r:?}");
    }
}

/// The first root of det(F + α D) for the corner of a cube that is deformed by F and moves by D.
fn first_root(f: Matrix, d: Matrix) -> f64 {
    let positions = [&[[0.0; 3]][..], &ONE].concat();
    let mesh = Mesh { positions, tetrahedra: vec![[0, 1, 2, 3]], ..Mesh::default() };
    let mut corner = Tetrahedra::new(NeoHookean, &mesh, &[false; 4], |_| Lame::new(1.0, 0.3)).unwrap();
    let moved = |m: &Matrix| [&[[0.0; 3]][..], &transpose(m)].concat();
    corner.max_step(moved(&f).as_flattened(), moved(&d).as_flattened()) / 0.9
}

#[test]
fn the_step_to_a_flat_element_is_the_first_root_of_a_cubic() {
    let close = |f: Matrix, d: Matrix, root: f64, tolerance: f64| {
        let found = first_root(f, d);
        assert!((found - root).abs() < tolerance, "{found} {root}");
    };
    close(diagonal([1.0, 2.0, 3.0]), diagonal([-1.0; 3]), 1.0, 1e-12); // (1 - x)(2 - x)(3 - x)
    close(ONE, diagonal([-1.0, -2.0, 0.0]), 0.5, 1e-12); // (1 - x)(1 - 2x)
    close(ONE, diagonal([-0.25, 0.0, 0.0]), 4.0, 1e-12);
    let cycle = [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]];
    close(diagonal([2.0; 3]), cycle, 2.0, 1e-12); // 8 - x³
    close(ONE, diagonal([-1.0, -1.0, 0.0]), 1.0, 1e-7); // double root
    let turn = |x: f64, z: f64| [[0.0, 1.0, 0.0], [-1.0, x, 0.0], [0.0, 0.0, z]];
    // 1, 1 + x², 1 + x + x² + x³ and 1 - x + x².
    for none in [[[0.0; 3]; 3], turn(0.0, 0.0), turn(0.0, 1.0), turn(-1.0, 0.0)] {
        assert_eq!(first_root(ONE, none), f64::INFINITY);
    }
    assert_eq!(first_root(diagonal([0.0, 1.0, 1.0]), diagonal([1.0, 0.0, 0.0])), 0.0);
}
