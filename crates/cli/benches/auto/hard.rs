//! Hard systems, generated from a seed, so that runs can use different systems.

use std::f64::consts::PI;

use coarsen::sparse::Bsr;
use coarsen::sparse::assembly::from_blocks;

use crate::curl::{curl, gram, uniform};
use crate::solid::Solid;

/// A hard system: a function that generates it from a seed, and the memory limit of a factor in MiB if it is
/// below the default.
pub(crate) struct Hard {
    pub(crate) name: &'static str,
    pub(crate) make: fn(u64) -> Bsr<f64>,
    pub(crate) memory: Option<u32>,
}

const fn hard(name: &'static str, make: fn(u64) -> Bsr<f64>) -> Hard {
    Hard { name, make, memory: None }
}

/// All hard systems: shells, slivers, beams of quadratic bricks, contact, curls, jumps, nearly incompressible
/// solids. The last three systems have a low memory limit.
pub(crate) const ALL: [Hard; 20] = [
    hard("shell-roof", |seed| shell(seed, 1, [100, 100, 1], 0.01)),
    hard("shell-quadratic", |seed| shell(seed, 2, [30, 30, 1], 0.01)),
    hard("shell-thin", |seed| shell(seed, 1, [60, 60, 1], 0.001)),
    hard("plate", |seed| plate(seed, 250)),
    hard("slivers-elastic", |seed| slivers(seed, Some(0.3), [20, 20, 40])),
    hard("slivers-diffusion", |seed| slivers(seed, None, [30, 30, 30])),
    hard("beam-quadratic", |seed| beam(seed, [60, 6, 6])),
    hard("beam-slender", |seed| beam(seed, [100, 3, 3])),
    hard("rotor-quadratic", rotor),
    hard("contact-8", |seed| stack(seed, 8, 10, 1e4)),
    hard("contact-16", |seed| stack(seed, 16, 12, 1e6)),
    hard("curl-4", |seed| curl(seed, 22, 1e-4)),
    hard("curl-2", |seed| curl(seed, 30, 1e-2)),
    hard("jumps-diffusion", |seed| jumps(seed, None, 40)),
    hard("jumps-elastic", |seed| jumps(seed, Some(0.3), 14)),
    hard("incompressible", |seed| incompressible(seed, 1, 26, 0.4999)),
    hard("incompressible-quadratic", |seed| incompressible(seed, 2, 9, 0.499)),
    Hard { name: "large-elastic", make: |seed| jumps(seed, Some(0.3), 36), memory: Some(512) },
    Hard { name: "large-diffusion", make: |seed| jumps(seed, None, 70), memory: Some(512) },
    Hard { name: "large-contact", make: |seed| stack(seed, 20, 14, 1e5), memory: Some(256) },
];

/// A curved roof, one element thick.
fn shell(seed: u64, order: usize, cells: [usize; 3], thickness: f64) -> Bsr<f64> {
    let u = uniform(3, seed);
    let (angle, lift) = (0.3 + u[0], 0.2 * u[1]);
    let map = move |[x, y, z]: [f64; 3]| {
        let (r, t) = (1.0 + thickness * z, angle * (y - 0.5));
        [x, r * t.sin(), r * t.cos() + lift * x * x]
    };
    Solid { order, cells, map: &map, young: &|_| 1.0, poisson: Some(0.3) }.matrix()
}

/// The biharmonic operator on a grid whose bending stiffness varies: D² = Lᵀ S L.
fn plate(seed: u64, n: usize) -> Bsr<f64> {
    let stiff: Vec<f64> = uniform(n * n, seed).iter().map(|u| 10_f64.powf(u - 0.5)).collect();
    // A row of L: the point and its neighbours inside the grid. Outside, the edge is clamped.
    let row = |i: usize| {
        let (x, y) = (i / n, i % n);
        let near = [
            (x > 0).then(|| i - n),
            (x + 1 < n).then(|| i + n),
            (y > 0).then(|| i - 1),
            (y + 1 < n).then(|| i + 1),
        ];
        let mut row = vec![(i, 4.0)];
        row.extend(near.into_iter().flatten().map(|j| (j, -1.0)));
        row
    };
    gram(n * n, (0..n * n).map(|i| (row(i), stiff[i])), &vec![0.0; n * n])
}

/// A block of flat, long and sheared cells.
fn slivers(seed: u64, poisson: Option<f64>, cells: [usize; 3]) -> Bsr<f64> {
    let u = uniform(6, seed);
    let map = move |[x, y, z]: [f64; 3]| {
        let wave = 0.02 * (2.0 * PI * (3.0 * y + u[0])).sin() * (2.0 * PI * (2.0 * x + u[1])).sin();
        // Cells grow by a factor of e^4 to the far end, and are sheared.
        [
            x + (1.0 + u[2]) * y,
            0.05 * y,
            2.0 * ((4.0 * z).exp() - 1.0) / (4.0_f64.exp() - 1.0) + wave * z * (1.0 - z) + u[3] * x,
        ]
    };
    Solid { order: 1, cells, map: &map, young: &|_| 1.0, poisson }.matrix()
}

/// A beam of 27-node bricks, slightly bent and twisted.
fn beam(seed: u64, cells: [usize; 3]) -> Bsr<f64> {
    let u = uniform(3, seed);
    let (length, twist) = (cells[0] as f64 / cells[1] as f64, u[0]);
    let map = move |[x, y, z]: [f64; 3]| {
        let (c, s) = ((twist * x).cos(), (twist * x).sin());
        let (y, z) = (y - 0.5, z - 0.5);
        [length * x, c * y - s * z + u[1] * x * x, s * y + c * z]
    };
    Solid { order: 2, cells, map: &map, young: &|_| 1.0, poisson: Some(0.3) }.matrix()
}

/// Three quarters of a ring of 27-node bricks whose stiffness alternates.
fn rotor(seed: u64) -> Bsr<f64> {
    let u = uniform(64, seed);
    let map = |[x, y, z]: [f64; 3]| {
        let (angle, r) = (1.5 * PI * x, 1.0 + 0.3 * y);
        [r * angle.sin(), r * angle.cos(), 0.3 * z]
    };
    let young = move |cell: usize| 10_f64.powf(3.0 * u[cell / 16 % 64]);
    Solid { order: 2, cells: [60, 4, 4], map: &map, young: &young, poisson: Some(0.3) }.matrix()
}

/// A stack of soft and hard cubes, joined by stiff springs between pairs of nodes; only the first cube is
/// fixed to the ground.
fn stack(seed: u64, cubes: usize, n: usize, stiffness: f64) -> Bsr<f64> {
    let u = uniform(cubes, seed);
    let free = |young: f64| {
        let map = |[x, y, z]: [f64; 3]| [1.2 * x, y, z];
        Solid { order: 1, cells: [n; 3], map: &map, young: &|_| young, poisson: Some(0.35) }.matrix()
    };
    let one = free(1.0);
    let nodes = one.pattern().rows();
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (cube, u) in u.iter().enumerate() {
        let young = 10_f64.powf(3.0 * u);
        for i in 0..nodes {
            for (j, block) in one.row(i) {
                places.push(((cube * nodes + i) as u32, (cube * nodes + j) as u32));
                values.extend(block.iter().map(|v| young * v));
            }
        }
    }
    // Faces of (n + 1)² nodes: the last layer of a cube meets the first layer of the next cube, at random
    // points, along random normals.
    let face = (n + 1) * (n + 1);
    for cube in 1..cubes {
        let picks = uniform(5 * face, seed + cube as u64);
        for pick in picks.chunks_exact(5) {
            let at = |u: f64| (u * face as f64) as usize % face;
            let pair = [(cube - 1) * nodes + nodes - face + at(pick[0]), cube * nodes + at(pick[1])];
            let normal = [1.0, 0.5 * (pick[2] - 0.5), 0.5 * (pick[3] - 0.5)];
            let spring = stiffness * 10_f64.powf(2.0 * pick[4] - 1.0);
            for (s, &i) in pair.iter().enumerate() {
                for (t, &j) in pair.iter().enumerate() {
                    places.push((i as u32, j as u32));
                    let sign = if s == t { spring } else { -spring };
                    values.extend((0..9).map(|e| sign * (normal[e / 3] * normal[e % 3])));
                }
            }
        }
    }
    from_blocks((cubes * nodes, cubes * nodes), (3, 3), &places, &values).expect("blocks of the stack")
}

/// A cube whose cells are soft or 10^10 times as hard, at random.
fn jumps(seed: u64, poisson: Option<f64>, n: usize) -> Bsr<f64> {
    let u = uniform(n * n * n, seed);
    let young = move |cell: usize| if u[cell] < 0.3 { 1e10 } else { 1.0 };
    Solid { order: 1, cells: [n; 3], map: &|x| x, young: &young, poisson }.matrix()
}

/// A nearly incompressible block.
fn incompressible(seed: u64, order: usize, n: usize, poisson: f64) -> Bsr<f64> {
    let u = uniform(3, seed);
    let map = move |[x, y, z]: [f64; 3]| [x, (1.0 + u[0]) * y + 0.2 * u[1] * x * x, z + 0.1 * u[2] * x];
    Solid { order, cells: [n; 3], map: &map, young: &|_| 1.0, poisson: Some(poisson) }.matrix()
}
