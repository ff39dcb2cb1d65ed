//! Bending of cloth, by hinges and by angles.

use coarsen_elastic::{Bending, BodyError, Hinge, Potential, Shell};

/// The triangles of a grid of n x n vertices, with all diagonals in the same direction.
fn grid(n: u32) -> Vec<[u32; 3]> {
    let cell = |c: u32| {
        let a = c / (n - 1) * n + c % (n - 1);
        [[a, a + n, a + n + 1], [a, a + n + 1, a + 1]]
    };
    (0..(n - 1) * (n - 1)).flat_map(cell).collect()
}

fn at(n: u32) -> impl Fn(u32) -> [f64; 3] {
    move |i| [f64::from(i / n) / 4.0, f64::from(i % n) / 4.0, 0.0]
}

/// A square folded about its diagonal by an angle θ is refused, and a flat one in any plane is not.
#[test]
fn curved_cloth_is_refused() {
    let triangles = [[0, 1, 2], [1, 0, 3]];
    let folded = |angle: f64| {
        let (sin, cos) = angle.sin_cos();
        let points = [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-1.0, 1.3, 0.0], [0.7 * cos, 0.4, 0.7 * sin]];
        let (s, c) = 0.4_f64.sin_cos();
        points.map(|[x, y, z]| [c * x - s * y + 3.0, s * x + c * y, z + 5.0])
    };
    let bending = |rest: &[[f64; 3]; 4]| Bending::new(2.0, &triangles, rest, &[false; 4], rest);
    for angle in [2e-2, 0.3, 1.6, 3.0] {
        let refused = bending(&folded(angle)).err();
        let Some(BodyError::Folded { edge: [0, 1], angle: found }) = refused else {
            panic!("{angle}: {refused:?}")
        };
        assert!((found - angle).abs() < 1e-9, "{found} for {angle}");
    }
    let rest = folded(0.0);
    let energy = bending(&rest).unwrap().energy(rest.as_flattened()).value;
    assert!(energy < 1e-24, "{energy:e}");
    let rounded = folded(0.0).map(|x| x.map(|c| (c * 1e3).round() / 1e3)); // as in a file
    assert!(bending(&rounded).is_ok());
}

/// By Euler's formula 25 vertices and 32 triangles have 56 edges; 16 of them are the boundary.
#[test]
fn one_hinge_for_each_inner_edge() {
    assert_eq!(Hinge::all(&grid(5), at(5), 1.0).len(), 56 - 16);
    let twice = [[0, 1, 2], [0, 1, 2]];
    assert!(Hinge::all(&twice, at(5), 1.0).is_empty());
}

/// k Q of a hinge.
fn matrix(hinge: &Hinge) -> [[f64; 4]; 4] {
    std::array::from_fn(|a| std::array::from_fn(|b| hinge.stiffness(a, b)))
}

/// A flat sheet has no bending energy in any pose, because Q has constants, u and v in its kernel.
#[test]
fn flat_sheets_are_not_bent() {
    for hinge in Hinge::all(&grid(5), at(5), 1.0) {
        let corners = hinge.corners.map(at(5));
        for row in matrix(&hinge) {
            let size = row.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            let moment = |f: &dyn Fn([f64; 3]) -> f64| (0..4).map(|a| row[a] * f(corners[a])).sum::<f64>();
            let moments = [moment(&|_| 1.0), moment(&|p| p[0]), moment(&|p| p[1])];
            assert!(moments.iter().all(|m| m.abs() <= 1e-14 * size), "{moments:?}");
        }
    }
}

/// A square is folded about its diagonal. All angles at this edge are 45 degrees, so c = (2, 2, −2, −2)
/// and A₀ + A₁ = h².
#[test]
fn the_diagonal_of_a_square() {
    let hinges = Hinge::all(&grid(5), at(5), 5e-5);
    let diagonal = hinges.iter().find(|h| h.corners[..2].iter().all(|i| [0, 6].contains(i))).unwrap();
    let c = [2.0, 2.0, -2.0, -2.0];
    for (a, b) in (0..16).map(|ab| (ab / 4, ab % 4)) {
        assert!((diagonal.stiffness(a, b) / (c[a] * c[b] * 5e-5 * 16.0) - 1.0).abs() < 1e-14, "{a} {b}");
    }
}

/// The energy of a sheet bent to w = (κ₁ s² + κ₂ t²)/2, with the s axis at some angles, in units of k/2 per area. A window
/// of the size `[a, b]`, which the triangles repeat, is counted by the middles of edges.
fn bent(
    [k1, k2]: [f64; 2],
    (rest, triangles): (&[[f64; 3]], &[[u32; 3]]),
    [a, b]: [f64; 2],
    degrees: [f64; 3],
) -> [f64; 3] {
    let hinges = Hinge::all(triangles, |i| rest[i as usize], 1.0);
    let inside = |hinge: &&Hinge| {
        let [p, q] = [0, 1].map(|k| rest[hinge.corners[k] as usize]);
        (0..2).all(|k| (1.01..1.01 + [a, b][k]).contains(&(0.5 * (p[k] + q[k]))))
    };
    degrees.map(|angle| {
        let (sin, cos) = angle.to_radians().sin_cos();
        let height = |v: u32| {
            let [x, y, _] = rest[v as usize];
            0.5 * (k1 * (cos * x + sin * y).powi(2) + k2 * (cos * y - sin * x).powi(2))
        };
        let energy = |hinge: &Hinge| {
            let (k, heights) = (matrix(hinge), hinge.corners.map(height));
            (0..16).map(|ab| k[ab / 4][ab % 4] * heights[ab / 4] * heights[ab % 4]).sum::<f64>()
        };
        hinges.iter().filter(inside).map(energy).sum::<f64>() / (a * b)
    })
}

/// k is the modulus of a plate on equilateral triangles, in every direction; on others the table of the module holds.
#[test]
fn cylinders_have_the_modulus_of_a_plate() {
    let near = |found: [f64; 3], expected: [f64; 3]| {
        assert!((0..3).all(|k| (found[k] - expected[k]).abs() < 1e-9), "{found:?} for {expected:?}");
    };
    // Rows of a lattice of equilateral triangles, shifted by a half of the side to and fro.
    let (n, side) = (14, 0.5);
    let at = |v: u32| {
        let (i, j) = (v % n, v / n);
        [side * (f64::from(i) + 0.5 * f64::from(j % 2)), side * 0.75_f64.sqrt() * f64::from(j), 0.0]
    };
    let rest: Vec<[f64; 3]> = (0..n * n).map(at).collect();
    let cell = |c: u32| {
        let (i, j) = (c % (n - 1), c / (n - 1));
        let [a, b, c, d] = [j * n + i, j * n + i + 1, (j + 1) * n + i, (j + 1) * n + i + 1];
        if j % 2 == 0 { [[a, b, c], [b, d, c]] } else { [[a, d, c], [a, b, d]] }
    };
    let equilateral: Vec<[u32; 3]> = (0..(n - 1) * (n - 1)).flat_map(cell).collect();
    let window = [4.0 * side, 4.0 * side * 0.75_f64.sqrt()];
    for (curvatures, expected) in [([1.0, 0.0], 1.0), ([1.0, 1.0], 4.0 / 3.0), ([1.0, -1.0], 8.0 / 3.0)] {
        near(bent(curvatures, (&rest, &equilateral), window, [0.0, 17.0, 45.0]), [expected; 3]);
    }

    let rest: Vec<[f64; 3]> = (0..n * n).map(at_square).collect();
    let squares = |along: fn(u32, u32) -> bool| -> Vec<[u32; 3]> {
        let cell = |c: u32| {
            let (i, j) = (c % (n - 1), c / (n - 1));
            let [a, b, c, d] = [j * n + i, j * n + i + 1, (j + 1) * n + i, (j + 1) * n + i + 1];
            if along(i, j) { [[a, b, d], [a, d, c]] } else { [[a, b, c], [b, d, c]] }
        };
        (0..(n - 1) * (n - 1)).flat_map(cell).collect()
    };
    let directions = [0.0, 45.0, 135.0];
    near(bent([1.0, 0.0], (&rest, &squares(|i, j| (i + j) % 2 == 0)), [2.0; 2], directions), [1.0, 1.5, 1.5]);
    near(bent([1.0, 0.0], (&rest, &squares(|_, _| true)), [2.0; 2], directions), [1.0, 3.0, 1.0]);

    // A vertex in the middle of each square.
    let middles = (0..n * n).map(|v| at_square(v).map(|x| x + 0.25)).map(|[x, y, _]| [x, y, 0.0]);
    let rest: Vec<[f64; 3]> = rest.iter().copied().chain(middles).collect();
    let four = |c: u32| {
        let (i, j) = (c % (n - 1), c / (n - 1));
        let [a, b, c, d] = [j * n + i, j * n + i + 1, (j + 1) * n + i, (j + 1) * n + i + 1];
        let m = n * n + a;
        [[a, b, m], [b, d, m], [d, c, m], [c, a, m]]
    };
    let crossed: Vec<[u32; 3]> = (0..(n - 1) * (n - 1)).flat_map(four).collect();
    near(bent([1.0, 0.0], (&rest, &crossed), [2.0; 2], directions), [1.5, 1.0, 1.0]);
}

/// Bending by angles has the same modulus: on a cylinder of radius R only the 12 inner edges along its axis are bent, by h/R.
#[test]
fn shells_have_the_modulus_of_a_plate() {
    let (radius, rest) = (0.4_f64, (0..25).map(at(5)).collect::<Vec<_>>());
    let around =
        |&[s, t, _]: &[f64; 3]| [radius * (s / radius).sin(), t, radius * (1.0 - (s / radius).cos())];
    let bent: Vec<[f64; 3]> = rest.iter().map(around).collect();
    let mut shell = Shell::new(2.0, &grid(5), &rest, &[false; 25], &rest).unwrap();
    let expected = 0.5 * 2.0 / (radius * radius) * 0.75; // the area between the middles of the outer cells
    let found = shell.energy(bent.as_flattened()).value;
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} for {expected}");
}

/// A vertex of a grid of squares with sides of 1/2.
fn at_square(v: u32) -> [f64; 3] {
    [0.5 * f64::from(v % 14), 0.5 * f64::from(v / 14), 0.0]
}
