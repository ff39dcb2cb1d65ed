//! One tetrahedron compared, up to round-off, with the same energies written for dual numbers. Rotations are
//! computed by Newton's iteration for the polar decomposition, not from singular values.

use coarsen_elastic::{
    Arap, BaraffWitkin, BodyError, CoRotational, Curvature, Density, Energy, Fibers, FixedCoRotated,
    ImplicitEuler, Lame, NeoHookean, Potential, StVenantKirchhoff, StableNeoHookean, Tetrahedra,
};
use coarsen_mesh::Mesh;

use super::duals::{D, c, check};

type M = [[D; 3]; 3];

const REST: [[f64; 3]; 4] = [[0.1, 0.0, -0.2], [1.0, 0.2, 0.1], [0.3, 0.9, 0.0], [0.2, -0.1, 0.8]];
const LAME: Lame = Lame { lambda: 2e3, mu: 3e3 };
const FIBERS: Fibers = Fibers { stretch: 5e3, shear: 2e3 };
/// Orthonormal axes.
const AXES: [[f64; 3]; 3] = [[0.6, 0.64, 0.48], [-0.8, 0.48, 0.36], [0.0, -0.6, 0.8]];

fn of(entry: impl Fn(usize, usize) -> D) -> M {
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

fn identity(i: usize, j: usize) -> D {
    c(if i == j { 1.0 } else { 0.0 })
}

/// AᵀB.
fn product(a: &M, b: &M) -> M {
    of(|i, j| a[0][i] * b[0][j] + a[1][i] * b[1][j] + a[2][i] * b[2][j])
}

/// ∂ det A / ∂A.
fn cofactor(a: &M) -> M {
    let at = |i: usize, j: usize| a[i % 3][j % 3];
    of(|i, j| at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 1, j + 2) * at(i + 2, j + 1))
}

fn determinant(a: &M) -> D {
    let cofactor = cofactor(a);
    a[0][0] * cofactor[0][0] + a[0][1] * cofactor[0][1] + a[0][2] * cofactor[0][2]
}

fn square(a: &M) -> D {
    a.as_flattened().iter().fold(c(0.0), |sum, &v| sum + v * v)
}

/// The rotation nearest to F for det F > 0, by R ← (R + R⁻ᵀ) / 2 (Higham 1986).
fn rotation(f: &M) -> M {
    let mut r = *f;
    for _ in 0..30 {
        let (cofactor, determinant) = (cofactor(&r), determinant(&r));
        r = of(|i, j| c(0.5) * (r[i][j] + cofactor[i][j] / determinant));
    }
    r
}

/// ψ and P of [`Arap`].
fn arap(f: &M) -> (D, M) {
    let r = rotation(f);
    let gap = of(|i, j| f[i][j] - r[i][j]);
    (c(LAME.mu) * square(&gap), gap.map(|row| row.map(|v| c(2.0 * LAME.mu) * v)))
}

fn fixed_corotated(f: &M) -> (D, M) {
    let ((energy, stress), cofactor) = (arap(f), cofactor(f));
    let growth = determinant(f) - c(1.0);
    let pressure = c(LAME.lambda) * growth;
    (energy + c(0.5) * pressure * growth, of(|i, j| stress[i][j] + pressure * cofactor[i][j]))
}

fn st_venant_kirchhoff(f: &M) -> (D, M) {
    let cauchy = product(f, f);
    let e = of(|i, j| c(0.5) * (cauchy[i][j] - identity(i, j)));
    let trace = e[0][0] + e[1][1] + e[2][2];
    let pull = of(|i, j| c(2.0 * LAME.mu) * e[i][j] + c(LAME.lambda) * trace * identity(i, j));
    let transposed = of(|i, j| f[j][i]);
    (c(LAME.mu) * square(&e) + c(0.5 * LAME.lambda) * trace * trace, product(&transposed, &pull))
}

/// ψ and P of [`BaraffWitkin`]; the rows of `axes` are the axes.
fn baraff_witkin(f: &M, axes: &[[f64; 3]; 3]) -> (D, M) {
    let w = axes.map(|e| f.map(|row| row[0] * c(e[0]) + row[1] * c(e[1]) + row[2] * c(e[2])));
    let dot = |a: &[D; 3], b: &[D; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let (mut energy, mut stress) = (c(0.0), of(|_, _| c(0.0)));
    for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
        // This loop visits each shear twice.
        let length = dot(&w[i], &w[i]).sqrt();
        let (excess, shear) = (length - c(1.0), dot(&w[i], &w[j]));
        energy += if i == j {
            c(0.5 * FIBERS.stretch) * excess * excess
        } else {
            c(0.25 * FIBERS.shear) * shear * shear
        };
        for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
            let slope = if i == j {
                c(FIBERS.stretch) * excess / length * w[i][p]
            } else {
                c(FIBERS.shear) * shear * w[j][p]
            };
            stress[p][q] += slope * c(axes[i][q]);
        }
    }
    (energy, stress)
}

/// Returns V ψ(F) of the tetrahedron, and adds V P ∇N_a to g. The ∇N_a are computed from areas of faces.
fn body(density: impl Fn(&M) -> (D, M), x: &[D], g: &mut [D]) -> D {
    let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let mut f = of(|_, _| c(0.0));
    let mut hats = [[0.0; 3]; 4];
    let mut volume = 0.0;
    for a in 0..4 {
        let [p, q, r] = [1, 2, 3].map(|k| REST[(a + k) % 4]);
        let normal = cross(sub(q, p), sub(r, p));
        let height = sub(REST[a], p);
        let six: f64 = (0..3).map(|k| normal[k] * height[k]).sum(); // signed by the direction of the normal
        (hats[a], volume) = (normal.map(|n| n / six), six.abs() / 6.0);
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            f[i][j] += x[3 * a + i] * c(hats[a][j]);
        }
    }
    let (energy, stress) = density(&f);
    for (a, i, j) in (0..36).map(|k| (k / 9, k / 3 % 3, k % 3)) {
        g[3 * a + i] += c(volume * hats[a][j]) * stress[i][j];
    }
    c(volume) * energy
}

fn mesh() -> Mesh {
    Mesh { positions: REST.to_vec(), tetrahedra: vec![[0, 1, 2, 3]], ..Mesh::default() }
}

#[test]
fn solids_agree_with_dual_numbers() {
    let held = [false; 4];
    // Stretched and sheared; compressed so that the Hessians are indefinite; inverted and stretched.
    let deformations = [
        [[1.4, 0.3, -0.2], [0.1, 0.9, 0.4], [-0.3, 0.2, 1.3]],
        [[0.5, 0.1, 0.2], [-0.1, 0.6, 0.1], [0.1, -0.2, 0.4]],
        [[-1.2, 0.2, 0.1], [0.3, -0.8, 0.2], [0.1, 0.3, 1.5]],
    ];
    for f in deformations {
        let x: Vec<f64> = REST
            .iter()
            .flat_map(|p| f.map(|row: [f64; 3]| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + 0.3))
            .collect();
        let solid = Tetrahedra::new(Arap, &mesh(), &held, |_| LAME).unwrap();
        check(solid, |x, g| body(arap, x, g), &x);
        let solid = Tetrahedra::new(FixedCoRotated, &mesh(), &held, |_| LAME).unwrap();
        check(solid, |x, g| body(fixed_corotated, x, g), &x);
        let solid = Tetrahedra::new(StVenantKirchhoff, &mesh(), &held, |_| LAME).unwrap();
        check(solid, |x, g| body(st_venant_kirchhoff, x, g), &x);
        let solid = BaraffWitkin::new(&mesh(), &held, |_| FIBERS).unwrap();
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        check(solid, |x, g| body(|f| baraff_witkin(f, &axes), x, g), &x);
        let solid = BaraffWitkin::along(&mesh(), &held, |_| FIBERS, |_| AXES).unwrap();
        check(solid, |x, g| body(|f| baraff_witkin(f, &AXES), x, g), &x);
    }
}

/// Invalid meshes are refused for both kinds of tetrahedra.
#[test]
fn meshes_with_faults_are_refused() {
    let refused = |mesh: &Mesh| {
        let held = vec![false; mesh.positions.len()];
        let one = Tetrahedra::new(Arap, mesh, &held, |_| LAME).err();
        let other = BaraffWitkin::new(mesh, &held, |_| FIBERS).err();
        assert_eq!(one, other);
        one
    };
    assert_eq!(refused(&mesh()), None);
    let with = |corners: [u32; 4]| Mesh { tetrahedra: vec![[0, 1, 2, 3], corners], ..mesh() };
    let inverted = refused(&with([0, 1, 3, 2]));
    assert!(matches!(inverted, Some(BodyError::Degenerate { index: 1, measure, .. }) if measure < 0.0));
    assert!(matches!(refused(&with([0, 1, 2, 2])), Some(BodyError::Degenerate { index: 1, .. })));
    assert!(matches!(refused(&with([0, 1, 2, 4])), Some(BodyError::Node { index: 1, node: 4, .. })));
    let mut loose = mesh();
    loose.positions.push([0.0; 3]);
    assert!(matches!(refused(&loose), Some(BodyError::Loose { node: 4 })));
}

/// Two densities have no lower bound with λ < 0, though small strains have positive energy: the energy of the
/// first falls without bound where an element becomes flat, that of the second where it grows.
#[test]
fn moduli_without_a_lower_bound_are_refused() {
    fn refused(density: impl Density, lambda: f64) -> Option<BodyError> {
        Tetrahedra::new(density, &mesh(), &[false; 4], |_| Lame { lambda, mu: 3e3 }).err()
    }
    let negative = Lame { lambda: -1e3, mu: 3e3 };
    let diagonal = |x: f64, y: f64, z: f64| [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]];
    let flat = |z: f64| NeoHookean.energy(negative, &diagonal(1.0, 1.0, z)).value;
    assert!(flat(0.99) > 0.0 && flat(1e-9) < -5e4 && flat(1e-12) < 1.5 * flat(1e-9));
    let grown = |s: f64| FixedCoRotated.energy(negative, &diagonal(s, s, s)).value;
    assert!(grown(1.01) > 0.0 && grown(10.0) < -1e8 && grown(20.0) < 2.0 * grown(10.0));
    for refused in [refused(NeoHookean, -1e3), refused(FixedCoRotated, -1e3)] {
        let expected = BodyError::Unbounded { index: 0, lambda: -1e3, mu: 3e3 };
        assert_eq!(refused, Some(expected));
    }
    for accepted in [
        refused(NeoHookean, 0.0),
        refused(FixedCoRotated, 0.0),
        refused(Arap, -1e3),
        refused(CoRotational, -1e3),
        refused(StVenantKirchhoff, -1e3),
        refused(StableNeoHookean, -1e3),
    ] {
        assert_eq!(accepted, None);
    }
}

/// With k = 2 μ and k' = μ, fibers along any axes are as-rigid-as-possible elasticity for small strains: the
/// same Hessian at rest, constant matrix, characteristic forces and masses.
#[test]
fn fibers_of_two_mu_and_mu_are_as_rigid_as_possible() {
    let (mesh, held) = (Mesh::bar([2, 1, 1], 0.5), [false; 12]);
    let fibers = |e: usize| Fibers { stretch: 2.0 * (1.0 + e as f64), shear: 1.0 + e as f64 };
    let woven = BaraffWitkin::along(&mesh, &held, fibers, |_| AXES).unwrap();
    let solid = Tetrahedra::new(Arap, &mesh, &held, |e| Lame { lambda: 0.0, mu: 1.0 + e as f64 }).unwrap();
    let close = |a: &[f64], b: &[f64]| {
        let size = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(size > 0.0 && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13 * size));
    };
    close(&woven.masses(3.0), &solid.masses(3.0));
    assert!((woven.masses(3.0).iter().sum::<f64>() - 0.75).abs() < 1e-14); // 3 kg/m³ times 1/4 m³
    let mut one = ImplicitEuler::equilibrium(woven).unwrap();
    let mut other = ImplicitEuler::equilibrium(solid).unwrap();
    close(&one.characteristic(), &other.characteristic());
    let x = mesh.positions.as_flattened();
    for curvature in [Curvature::Exact, Curvature::Projected, Curvature::Constant] {
        (one.curvature, other.curvature) = (curvature, curvature);
        close(one.hessian(x).values(), other.hessian(x).values());
    }
    // The constant matrix bounds the stretches, with k, and the shears, with 2 k'.
    for (stretch, shear) in [(6.0, 1.0), (1.0, 3.0)] {
        let woven = BaraffWitkin::along(&mesh, &held, |_| Fibers { stretch, shear }, |_| AXES).unwrap();
        let solid = Tetrahedra::new(Arap, &mesh, &held, |_| Lame { lambda: 0.0, mu: 3.0 }).unwrap();
        let mut one = ImplicitEuler::equilibrium(woven).unwrap();
        let mut other = ImplicitEuler::equilibrium(solid).unwrap();
        (one.curvature, other.curvature) = (Curvature::Constant, Curvature::Constant);
        close(one.hessian(x).values(), other.hessian(x).values());
    }
    let Energy { value, magnitude } = one.potential.energy(x);
    assert!(value < 1e-28 && magnitude < 1e-13, "{value:e} {magnitude:e}");
}
