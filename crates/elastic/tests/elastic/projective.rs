//! The local and the global step of Projective Dynamics together are one step x − A⁻¹ ∇f with the constant
//! curvature.
//!
//! > E = Σ_c w/2 ‖D_c x − p_c‖²,    p_c the nearest admissible shape    (1)
//! > (M/h² + Σ w DᵀD) x⁺ = M/h² y + Σ w Dᵀp(x)    (2)
//!
//! For a tetrahedron, D x = F, p is the rotation nearest to F, and w = 2 μ V. For a spring, D x = x_i − x_j,
//! p has the length at rest, and w = k. The matrix, its right-hand side and the rotations are computed here
//! in another way than in the library. Bouaziz et al. 2014, "Projective dynamics", ACM TOG 33(4), Eq. 10;
//! springs: Liu et al. 2013.

use coarsen_core::Objective;
use coarsen_elastic::{Arap, Curvature, ImplicitEuler, Lame, Potential, Spring, Springs, Tetrahedra};
use coarsen_mesh::Mesh;

/// The weight w, the nodes with their rows of D (one entry per column of p), and p(x).
struct Term {
    weight: f64,
    rows: Vec<(usize, Vec<f64>)>,
    shape: Vec<[f64; 3]>,
}

/// Solves A x = b for a dense A by Gaussian elimination with row exchanges.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let share = a[i][k] / a[k][k];
            (k..n).for_each(|j| a[i][j] -= share * a[k][j]);
            b[i] -= share * b[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

/// Solves (2) for the nodes with M/h² in `inertia`. Each other node stays at its y.
fn global(terms: &[Term], inertia: &[Option<f64>], y: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let n = y.len();
    let (mut a, mut b) = (vec![vec![0.0; n]; n], vec![[0.0; 3]; n]);
    for Term { weight, rows, shape } in terms {
        for (i, left) in rows {
            for (j, right) in rows {
                a[*i][*j] += weight * left.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
            }
            for (entry, column) in left.iter().zip(shape) {
                (0..3).for_each(|k| b[*i][k] += weight * entry * column[k]);
            }
        }
    }
    for i in 0..n {
        if let Some(inertia) = inertia[i] {
            a[i][i] += inertia;
            (0..3).for_each(|k| b[i][k] += inertia * y[i][k]);
        } else {
            a[i].fill(0.0);
            (a[i][i], b[i]) = (1.0, y[i]);
        }
    }
    let columns = [0, 1, 2].map(|k| solve(a.clone(), b.iter().map(|b| b[k]).collect()));
    (0..n).map(|i| [0, 1, 2].map(|k| columns[k][i])).collect()
}

fn cofactor(a: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let at = |i: usize, j: usize| a[i % 3][j % 3];
    [0, 1, 2]
        .map(|i| [0, 1, 2].map(|j| at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 1, j + 2) * at(i + 2, j + 1)))
}

fn determinant(a: [[f64; 3]; 3]) -> f64 {
    (0..3).map(|j| a[0][j] * cofactor(a)[0][j]).sum()
}

/// Returns 2 μ V, ∇N_a, and the columns of the rotation nearest to F, computed by R ← (R + R⁻ᵀ) / 2.
fn rotation(mu: f64, corners: [u32; 4], rest: &[[f64; 3]], x: &[[f64; 3]]) -> Term {
    let corners = corners.map(|c| c as usize);
    let edges = |x: &[[f64; 3]]| [1, 2, 3].map(|a| [0, 1, 2].map(|k| x[corners[a]][k] - x[corners[0]][k]));
    let (dm, ds) = (edges(rest), edges(x)); // transposed
    let six = determinant(dm);
    let inner = cofactor(dm).map(|row| row.map(|v| v / six));
    let outer = [0, 1, 2].map(|k| -(inner[0][k] + inner[1][k] + inner[2][k]));
    let mut r = [0, 1, 2].map(|i| [0, 1, 2].map(|j| (0..3).map(|a| ds[a][i] * inner[a][j]).sum::<f64>()));
    assert!(determinant(r) > 0.1, "the state inverts an element");
    for _ in 0..30 {
        let (cofactor, determinant) = (cofactor(r), determinant(r));
        r = [0, 1, 2].map(|i| [0, 1, 2].map(|j| 0.5 * (r[i][j] + cofactor[i][j] / determinant)));
    }
    let gradients = [outer, inner[0], inner[1], inner[2]];
    Term {
        weight: 2.0 * mu * six / 6.0,
        rows: (0..4).map(|a| (corners[a], gradients[a].to_vec())).collect(),
        shape: [0, 1, 2].map(|j| [0, 1, 2].map(|i| r[i][j])).to_vec(),
    }
}

fn at_length(spring: &Spring, x: &[[f64; 3]]) -> Term {
    let [i, j] = spring.ends.map(|e| e as usize);
    let d = [0, 1, 2].map(|k| x[i][k] - x[j][k]);
    let length = d.iter().map(|d| d * d).sum::<f64>().sqrt();
    let shape = vec![d.map(|d| d * spring.length / length)];
    Term { weight: spring.stiffness, rows: vec![(i, vec![1.0]), (j, vec![-1.0])], shape }
}

/// Returns x − A⁻¹ ∇f(x) with the constant curvature.
fn newton<P: Potential>(f: &mut ImplicitEuler<P>, x: &[f64]) -> Vec<f64> {
    f.curvature = Curvature::Constant;
    let n = x.len();
    let mut g = vec![0.0; n];
    f.gradient(&x.to_vec(), &mut g);
    let a = f.hessian(x);
    let dense = (0..n).map(|i| (0..n).map(|j| a.get(i, j)).collect()).collect();
    solve(dense, g).iter().zip(x).map(|(d, x)| x - d).collect()
}

const H: f64 = 0.05;

/// A bar on a wall, bent and shaken: its mesh, positions, velocities, and whether each node is held.
fn bar() -> (Mesh, Vec<[f64; 3]>, Vec<[f64; 3]>, Vec<bool>) {
    let mesh = Mesh::bar([2, 1, 1], 0.5);
    let held = mesh.positions.iter().map(|p| p[0] == 0.0).collect();
    let shaken = |p: &[f64; 3]| {
        let [x, y, z] = *p;
        let noise = |k: f64| 0.04 * (7.0 * x + 5.0 * y + 3.0 * z + k).sin();
        let (s, c) = (0.5 * x).sin_cos();
        if x == 0.0 {
            *p
        } else {
            [1.2 * x + noise(0.0), c * y - s * z + noise(1.0), s * y + c * z + noise(2.0)]
        }
    };
    let x: Vec<[f64; 3]> = mesh.positions.iter().map(shaken).collect();
    let v = x.iter().map(|p| [p[1], -p[2], 0.3 + p[0]]).collect();
    (mesh, x, v, held)
}

/// Compares both kinds of step. `terms` computes the projections for the positions of all nodes.
fn compare<P: Potential>(potential: P, terms: impl Fn(&[[f64; 3]]) -> Vec<Term>, masses: &[f64]) {
    let (_, x, v, held) = bar();
    let free = |all: &[[f64; 3]]| -> Vec<f64> {
        all.iter().zip(&held).filter(|(_, held)| !**held).flat_map(|(p, _)| *p).collect()
    };
    let mut f = ImplicitEuler::new(potential, masses, H).unwrap();
    f.begin(&free(&x), &free(&v), [0.0, -9.81, 0.0]).unwrap();
    let mut inertia = masses.iter().map(|m| m / (H * H));
    let inertia: Vec<Option<f64>> =
        held.iter().map(|held| if *held { None } else { inertia.next() }).collect();
    let fall = [0.0, -9.81 * H * H, 0.0];
    let ahead = |i: usize| [0, 1, 2].map(|k| if held[i] { x[i][k] } else { x[i][k] + H * v[i][k] + fall[k] });
    let y: Vec<[f64; 3]> = (0..x.len()).map(ahead).collect();
    // The second step starts where the first step ends.
    let (mut one, mut all) = (free(&x), x.clone());
    for step in 0..2 {
        one = newton(&mut f, &one);
        all = global(&terms(&all), &inertia, &y);
        let gap = one.iter().zip(free(&all)).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(gap < 1e-10, "step {step}: {gap:e}");
    }
    let moved = one.iter().zip(free(&x)).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(moved > 0.01, "{moved:e}");
}

#[test]
fn arap_is_projective_dynamics() {
    let (mesh, _, _, held) = bar();
    let mu = |e: usize| 10.0 + e as f64;
    let solid = Tetrahedra::new(Arap, &mesh, &held, |e| Lame { lambda: 0.0, mu: mu(e) }).unwrap();
    let masses = solid.masses(1.0);
    let terms = |x: &[[f64; 3]]| {
        let corners = mesh.tetrahedra.iter().enumerate();
        corners.map(|(e, &corners)| rotation(mu(e), corners, &mesh.positions, x)).collect()
    };
    compare(solid, terms, &masses);
}

#[test]
fn springs_are_projective_dynamics() {
    let (mesh, _, _, held) = bar();
    let edges = mesh.tetrahedra.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[3]], [t[3], t[0]]]);
    let spring = |(k, ends): (usize, [u32; 2])| Spring { ends, stiffness: 5.0 + k as f64, length: 0.4 };
    let springs: Vec<Spring> = edges.enumerate().map(spring).collect();
    let net = Springs::new(springs.clone(), &held, &mesh.positions).unwrap();
    let terms = |x: &[[f64; 3]]| springs.iter().map(|spring| at_length(spring, x)).collect();
    compare(net, terms, &[0.1; 8]);
}
