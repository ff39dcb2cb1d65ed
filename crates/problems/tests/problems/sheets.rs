//! Cloth, garments and soft bodies: held vertices, bending, springs, and motions without forces.

use coarsen_core::LinearOperator;
use coarsen_elastic::Hinge;
use coarsen_mesh::vector::{cross, dot, sub};
use coarsen_problems::{Material, Problem, ProblemError, cloth, garment, pinned, random_vector, softcube};
use coarsen_sparse::Bsr;

#[test]
fn held_rows_are_identities() {
    let (n, a) = (5, cloth(5, 0.01).unwrap().matrix);
    for i in (0..n).chain(n * (n - 1)..n * n) {
        assert_eq!(a.pattern().row(i), [i as u32]);
        assert_eq!(a.row(i).next().map(|(_, v)| v), Some(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0][..]));
    }
    for i in n..n * (n - 1) {
        assert!(a.pattern().row(i).iter().all(|&j| (n..n * (n - 1)).contains(&(j as usize))));
    }
}

/// (u, v) of n x n vertices, v fastest, and the triangles of all cells, whose diagonals alternate as on a chessboard.
fn sheet(n: usize) -> (Vec<[f64; 2]>, Vec<[u32; 3]>) {
    let h = 1.0 / (n - 1) as f64;
    let rest = (0..n * n).map(|i| [(i / n) as f64 * h, (i % n) as f64 * h]).collect();
    let cell = |c: usize| {
        let (i, j) = (c / (n - 1), c % (n - 1));
        let [a, b, c, d] = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(|[i, j]| (i * n + j) as u32);
        if (i + j).is_multiple_of(2) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
    };
    (rest, (0..(n - 1) * (n - 1)).flat_map(cell).collect())
}

/// 3 k / (A₀ + A₁) c₂ c₃ of Bergou et al. with k = 5e-5 N m, for the corners of a hinge.
fn of_tips([x0, x1, x2, x3]: [[f64; 3]; 4]) -> f64 {
    let twice = |p, q, r| {
        let n = cross(sub(q, p), sub(r, p));
        dot(n, n).sqrt()
    };
    let cotangent = |p, q, r| dot(sub(q, p), sub(r, p)) / twice(p, q, r);
    let [c01, c02] = [x2, x3].map(|tip| cotangent(x0, x1, tip));
    let [c03, c04] = [x2, x3].map(|tip| cotangent(x1, x0, tip));
    let areas = 0.5 * (twice(x0, x1, x2) + twice(x0, x1, x3));
    3.0 * 5e-5 / areas * ((-c01 - c03) * (-c02 - c04))
}

/// Checks the blocks of free vertices that only a hinge couples, as its tips, to the last bit: the systems of the papers are
/// those of their constants.
fn check_tips(
    matrix: &Bsr<f64>,
    dt: f64,
    rest: &[[f64; 3]],
    triangles: &[[u32; 3]],
    held: &dyn Fn(u32) -> bool,
) {
    let hinges = Hinge::all(triangles, |i| rest[i as usize], 1.0);
    let mut compared = 0;
    for hinge in &hinges {
        let [_, _, x2, x3] = hinge.corners;
        let both = |h: &&Hinge| h.corners.contains(&x2) && h.corners.contains(&x3);
        if held(x2) || held(x3) || hinges.iter().filter(both).count() > 1 {
            continue;
        }
        let expected = dt * dt * of_tips(hinge.corners.map(|i| rest[i as usize]));
        let found = matrix.get(3 * x2 as usize, 3 * x3 as usize);
        assert_eq!(found.to_bits(), expected.to_bits(), "{found:e} {expected:e}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn bending_is_that_of_the_papers() {
    let (n, dt) = (21, 0.01);
    let (rest, triangles) = sheet(n);
    let rest: Vec<[f64; 3]> = rest.iter().map(|&[u, v]| [u, v, 0.0]).collect();
    let held = |i: u32| !(n..n * (n - 1)).contains(&(i as usize));
    check_tips(&cloth(n, dt).unwrap().matrix, dt, &rest, &triangles, &held);
    // A garment is curved at rest.
    let waves: Vec<[f64; 3]> = rest.iter().map(|&[u, v, _]| [u, v, 0.1 * (5.0 * u).sin()]).collect();
    let p = garment(&file("waves", &waves, &triangles), 0, dt, 0.0).unwrap();
    check_tips(&p.matrix, dt, &p.positions, &triangles, &|_| false);
}

/// Away from the bars K annihilates translations c, so A c = M c, with the mass 0.2 h² of the cells
/// around a vertex.
#[test]
fn translations_feel_only_mass() {
    let n = 9;
    let p = cloth(n, 0.01).unwrap();
    for axis in 0..3 {
        let mut y = vec![0.0; 3 * n * n];
        p.matrix.apply(&p.near_kernel.column(axis), &mut y);
        let total: f64 = (3 * n..n * (n - 3)) // two vertices away from either bar
            .map(|i| {
                let (v, scale) = (&y[3 * i..3 * i + 3], p.matrix.get(3 * i, 3 * i));
                assert!((0..3).all(|a| a == axis || v[a].abs() < 1e-13 * scale));
                v[axis]
            })
            .sum();
        let expected = 0.2 * 3.0 / 8.0; // three of the eight lines of cells
        assert!((total - expected).abs() < 1e-10, "axis {axis}: {total} for {expected}");
    }
}

#[test]
fn shares_are_kept_and_vertices_drawn_once() {
    for (share, expected) in [(0.0, 0), (0.1, 10), (1.0, 99)] {
        let p = pinned(11, 0.01, share).unwrap();
        let filtered = p.prefilter().unwrap().unwrap();
        let density = filtered.density();
        assert_eq!((density.filtered, density.groups, density.dependent), (expected, expected, 0));
        assert_eq!(density.rank, (0..expected).map(|k| 3 - k % 3).sum::<usize>());
        assert_eq!(p.matrix, cloth(11, 0.01).unwrap().matrix);
    }
    for share in [-0.1, 1.1, f64::NAN] {
        assert!(matches!(pinned(11, 0.01, share), Err(ProblemError::Share { .. })));
    }
}

/// A Wavefront file of a mesh; its name, as `garment` takes it.
fn file(name: &str, positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> String {
    let mut text = String::new();
    positions.iter().for_each(|[x, y, z]| text += &format!("v {x} {y} {z}\n"));
    triangles.iter().for_each(|t| text += &format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1));
    let file =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_{name}.obj", std::process::id()));
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// The mean of all edges, 1, 3 and √10, is the unit of the reach, whichever corner of a triangle comes first. Two layers
/// have the distances 1.5 between vertices above each other, and √3.25 across the edge of length 1.
#[test]
fn springs_reach_as_far_as_the_mean_of_all_edges() {
    let layer = |z: f64| [[0.0, 0.0, z], [1.0, 0.0, z], [0.0, 3.0, z]];
    let positions = [layer(0.0), layer(1.5)].concat();
    let mean = (4.0 + 10.0_f64.sqrt()) / 3.0;
    let (upright, across) = (vec![[0, 3], [1, 4], [2, 5]], vec![[0, 3], [0, 4], [1, 3], [1, 4], [2, 5]]);
    for first in 0..3 {
        let triangles = [0, 3].map(|at| [0, 1, 2].map(|k| at + (k + first) % 3));
        let file = file(&format!("layers_{first}"), &positions, &triangles);
        for (length, joined) in [
            (1.5 * (1.0 - 1e-9), vec![]),
            (1.5 * (1.0 + 1e-9), upright.clone()),
            (3.25_f64.sqrt() * (1.0 - 1e-9), upright.clone()),
            (3.25_f64.sqrt() * (1.0 + 1e-9), across.clone()),
            (mean, across.clone()),
        ] {
            let a = garment(&file, 0, 0.1, length / mean).unwrap().matrix;
            let pairs = (0..9).map(|k| [k / 3, 3 + k % 3]);
            let found: Vec<[usize; 2]> = pairs.filter(|&[i, j]| a.pattern().find(i, j).is_some()).collect();
            assert_eq!(found, joined, "{length}");
        }
    }
}

#[test]
fn a_reach_outside_its_range_is_named() {
    for found in [-1.0, 1e-4, 5.0, f64::NAN] {
        let error = garment("no.obj", 0, 0.1, found).unwrap_err();
        assert!(matches!(error, ProblemError::Value { option: "contact", .. }), "{error}");
        assert!(error.to_string().contains("0 or between 0.001 and 4"), "{error}");
    }
}

/// For a flat square of two triangles, rigid motions in the plane and tilts cause only inertial forces.
#[test]
fn a_square_by_hand() {
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let Problem { matrix: a, positions: x, .. } =
        garment(&file("square", &corners, &[[0, 1, 2], [0, 2, 3]]), 0, 1.0, 0.0).unwrap();
    assert_eq!([1, 3].map(|k| (x[k][0] - x[0][0], x[k][1] - x[0][1])), [(1.5, 0.0), (0.0, 1.5)]);
    let force = |motion: &dyn Fn([f64; 3]) -> [f64; 3]| {
        let u: Vec<f64> = x.iter().flat_map(|&p| motion(p)).collect();
        let mut f = vec![0.0; 12];
        a.apply(&u, &mut f);
        f
    };
    let mass = |i: usize| 2.25 * if i.is_multiple_of(2) { 0.2 / 3.0 } else { 0.1 / 3.0 };
    for axis in 0..3 {
        let f = force(&|_| std::array::from_fn(|k| if k == axis { 1.0 } else { 0.0 }));
        for (k, f) in f.iter().enumerate() {
            let expected = if k % 3 == axis { mass(k / 3) } else { 0.0 };
            assert!((f - expected).abs() < 1e-10, "{axis} {k}: {f}");
        }
    }
    // A rotation in the plane causes only inertial forces.
    let f = force(&|p| [-p[1], p[0], 0.0]);
    for (i, p) in x.iter().enumerate() {
        assert!((f[3 * i] + mass(i) * p[1]).abs() < 1e-9 && (f[3 * i + 1] - mass(i) * p[0]).abs() < 1e-9);
    }
    // A tilt causes no bending force.
    let f = force(&|p| [0.0, 0.0, p[0]]);
    assert!(x.iter().enumerate().all(|(i, p)| (f[3 * i + 2] - mass(i) * p[0]).abs() < 1e-12));
    assert!(a.asymmetric_pair(1e-12).is_none());
}

#[test]
fn rigid_motions_of_a_linear_body_cost_only_mass() {
    let p = softcube(3, 1e3, Material::Linear, &|_, _| 1.0).unwrap();
    let total = 1000.0; // kg
    for mode in 0..6 {
        let u = p.near_kernel.column(mode);
        let mut f = vec![0.0; u.len()];
        p.matrix.apply(&u, &mut f);
        let energy: f64 = u.iter().zip(&f).map(|(u, f)| u * f).sum();
        let size: f64 = u.iter().map(|u| u * u).sum::<f64>();
        assert!(energy > 0.0 && energy < total * size, "mode {mode}: {energy}");
    }
    assert!(p.matrix.asymmetric_pair(1e-10).is_none());
}

#[test]
fn bent_bodies_are_positive_definite() {
    let p = softcube(4, 0.01, Material::NeoHookean, &|e, _| if e.is_multiple_of(2) { 1.0 } else { 100.0 })
        .unwrap();
    for seed in 0..5 {
        let x = random_vector(p.matrix.shape().0, seed);
        let mut y = x.clone();
        p.matrix.apply(&x, &mut y);
        assert!(x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() > 0.0);
    }
}
