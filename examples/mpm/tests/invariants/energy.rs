//! The incremental potential and its derivatives.

use std::collections::BTreeMap;

use coarsen::Objective;
use coarsen::elastic::{Density, FixedCoRotated};
use coarsen::node_embedding::Embedded;
use coarsen::optimize::{check_gradient, check_hessian};
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use coarsen_core::SplitMix64;
use mpm::collider::{Collider, Kind, Obstacle};
use mpm::constraints::Constraints;
use mpm::energy::{Given, Increment};
use mpm::grid::{Grid, Nodes};
use mpm::particles::{Body, Matrix, Particle, apply, mul_transposed};
use mpm::shape::Shape;

use super::{DX, bodies, cloud};

pub(super) const DT: f64 = 0.01;
pub(super) const GRAVITY: [f64; 3] = [0.0, -9.8, 1.0];

/// A step: a wall that slips, a ball that holds, and free nodes.
pub(super) struct Step {
    pub(super) particles: Vec<Particle>,
    pub(super) bodies: Vec<Body>,
    grid: Grid,
    pub(super) nodes: Nodes,
    pub(super) constraints: Constraints,
}

impl Step {
    pub(super) fn new(count: usize, size: f64, seed: u64) -> Self {
        Self::of(cloud(count, size, seed))
    }

    fn of(mut particles: Vec<Particle>) -> Self {
        let bodies = bodies();
        let grid = Grid::around(&mut particles, DX).unwrap();
        let nodes = Nodes::from_particles(&grid, &particles, &bodies);
        let wall = Shape::Plane { point: [-1.5 * DX, 0.0, 0.0], normal: [1.0, 0.3, 0.0] };
        let ball = Shape::Sphere { centre: [2.0 * DX; 3], radius: 1.5 * DX };
        let rough = Collider { friction: 0.5, ..Collider::new(wall, Kind::Slip) };
        let colliders = [rough, Collider::new(ball, Kind::Sticky)];
        let mut constraints =
            Constraints::new(&nodes, &Obstacle::all(&colliders, DX).unwrap(), [0.0, DT], GRAVITY);
        assert!(!constraints.grips.is_empty());
        constraints.grips.iter_mut().for_each(|grip| grip.most = 0.3);
        Self { particles, bodies, grid, nodes, constraints }
    }

    fn given(&self) -> Given<'_> {
        let Self { particles, bodies, grid, nodes, constraints } = self;
        Given { grid, nodes, particles, bodies, constraints, dt: DT, gravity: GRAVITY }
    }

    pub(super) fn objective(&self) -> Increment<'_> {
        Increment::new(self.given()).unwrap()
    }

    /// A vector in the free directions.
    pub(super) fn vector(&self, f: &Increment<'_>, seed: u64) -> Vec<f64> {
        let z = SplitMix64::new(seed).numbers(f.size());
        let free = |(slot, &node): (usize, &u32)| {
            let z: [f64; 3] = z[3 * slot..3 * slot + 3].try_into().unwrap();
            match &self.constraints.by_node[node as usize] {
                mpm::constraints::NodeConstraint::Slip { free, .. } => mpm::particles::apply(free, z),
                _ => z,
            }
        };
        self.constraints.free.iter().enumerate().flat_map(free).collect()
    }
}

#[test]
fn the_gradient_is_that_of_the_value() {
    for (seed, size) in [(1, 0.05), (2, 0.4)] {
        let step = Step::new(300, size, seed);
        let kinds = step.constraints.by_node.iter().map(std::mem::discriminant);
        assert_eq!(kinds.collect::<std::collections::HashSet<_>>().len(), 3, "free, slip and fixed nodes");
        let mut f = step.objective();
        let (z, d) = (step.vector(&f, 5), step.vector(&f, 6));
        let found = check_gradient(&mut f, &z, &d).unwrap();
        assert!(found.error < 1e-8, "{found:?}");
    }
}

/// What touches no collider starts in free fall, which lowers E by ½ Σ m ‖Δt g‖²; the rest starts from 0.
#[test]
fn nodes_without_contact_start_in_free_fall() {
    let mut particles = cloud(300, 0.05, 1);
    let far = cloud(200, 0.05, 2).into_iter().map(|p| Particle { x: [p.x[0] + 3.0, p.x[1], p.x[2]], ..p });
    particles.extend(far);
    let step = Step::of(particles);
    let mut f = step.objective();
    let z = f.start();
    let mut mass = 0.0;
    for (&node, z) in step.constraints.free.iter().zip(z.as_chunks::<3>().0) {
        let falls = step.nodes.positions[node as usize][0] > 1.5;
        assert_eq!(*z, if falls { GRAVITY.map(|g| DT * g) } else { [0.0; 3] });
        mass += if falls { step.nodes.masses[node as usize] } else { 0.0 };
    }
    let square = GRAVITY.iter().map(|g| (DT * g).powi(2)).sum::<f64>();
    let fall = f.value(&vec![0.0; z.len()]).value - f.value(&z).value;
    assert!((fall / (0.5 * mass * square) - 1.0).abs() < 1e-9, "{fall}");
}

/// Without projection the Hessian is the derivative of the gradient, in the free directions.
#[test]
fn the_hessian_is_that_of_the_gradient() {
    for (seed, size) in [(1, 0.05), (2, 0.4)] {
        let step = Step::new(300, size, seed);
        let (mut f, mut again) = (step.objective(), step.objective());
        again.project(false);
        let [z, d, e] = [5, 6, 7].map(|seed| step.vector(&f, seed));
        let system = again.system_at(&z).unwrap();
        let found = check_hessian(&mut f, system, &z, [&d, &e]).unwrap();
        assert!(found.error < 1e-6, "{found:?}");
    }
}

/// The projected stiffness of friction M is that of a parabola above D: D(z + d) ≤ D(z) + ∇D·d + ½ d·M d, also for
/// steps that turn a slide around or end it. D and M are the differences to a step without friction.
#[test]
fn projected_friction_lies_above_friction() {
    let rough = Step::new(300, 0.05, 1);
    let mut smooth = Step::new(300, 0.05, 1);
    smooth.constraints.grips.clear();
    let (mut with, mut without) = (rough.objective(), smooth.objective());
    let size = with.size();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for seed in 5..9 {
        let z = rough.vector(&with, seed);
        let mut g = [vec![0.0; size], vec![0.0; size]];
        with.gradient(&z, &mut g[0]);
        without.gradient(&z, &mut g[1]);
        let velocities = Increment::velocities_of(&rough.given(), &z);
        for share in [-2.0, -1.0, -0.999, 1.0] {
            let mut d = vec![0.0; size];
            for grip in &rough.constraints.grips {
                let node = grip.node as usize;
                let mpm::constraints::NodeConstraint::Slip { free, .. } = &rough.constraints.by_node[node]
                else {
                    panic!()
                };
                let at = 3 * rough.constraints.slot[node] as usize;
                let slide = mpm::particles::apply(free, velocities[node]);
                d[at..at + 3].copy_from_slice(&slide.map(|v| share * v));
            }
            let ahead: Vec<f64> = z.iter().zip(&d).map(|(z, d)| z + d).collect();
            let rise = with.value(&ahead).value - without.value(&ahead).value - with.value(&z).value
                + without.value(&z).value;
            let mut product = [vec![0.0; size], vec![0.0; size]];
            with.system_at(&z).unwrap().apply(&d, &mut product[0]);
            without.system_at(&z).unwrap().apply(&d, &mut product[1]);
            let [slope, curvature] = [&g, &product].map(|[with, without]| dot(&d, with) - dot(&d, without));
            assert!(rise <= slope + 0.5 * curvature + 1e-9, "{share}: {rise} {slope} {curvature}");
        }
    }
}

/// The least and the largest eigenvalue by power iteration.
fn spectrum(a: &Bsr<f64>) -> [f64; 2] {
    let n = a.shape().0;
    let power = |shift: f64| {
        let (mut x, mut y) = (SplitMix64::new(3).numbers(n), vec![0.0; n]);
        let mut value = 0.0;
        for _ in 0..2000 {
            let size = x.norm();
            x.iter_mut().for_each(|x| *x /= size);
            a.apply(&x, &mut y);
            value = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            x.iter_mut().zip(&y).for_each(|(x, y)| *x = y - shift * *x);
        }
        value
    };
    let most = power(0.0);
    [power(most), most]
}

/// Projected Hessians are symmetric to the bit and positive definite, where the exact one is indefinite.
#[test]
fn projected_hessians_are_definite() {
    let step = Step::new(120, 0.6, 4);
    let mut f = step.objective();
    let z = vec![0.0; f.size()];
    let projected = f.system_at(&z).unwrap().matrix.clone();
    assert_eq!(projected.asymmetric_pair(0.0), None);
    f.project(false);
    let exact = f.system_at(&z).unwrap().matrix.clone();
    let ([least, most], [exact_least, _]) = (spectrum(&projected), spectrum(&exact));
    assert!(least > 0.0 && exact_least < -1e-3 * most, "{least} {exact_least} {most}");
}

/// The weights of a node of the finest grid at the nodes of the next coarser level, from those of a level.
fn coarser(weights: &BTreeMap<[i32; 3], f64>) -> BTreeMap<[i32; 3], f64> {
    let mut sum = BTreeMap::new();
    for (i, u) in weights {
        for k in 0..8 {
            let j: [i32; 3] = std::array::from_fn(|d| i[d].div_euclid(2) + (k >> d & 1));
            let w: f64 = (0..3).map(|d| 1.0 - (0.5 * f64::from(i[d]) - f64::from(j[d])).abs()).product();
            if w > 0.0 {
                *sum.entry(j).or_default() += u * w;
            }
        }
    }
    sum
}

/// Coarse matrices are those that the particles give with composed weights, Wang et al. 2020, Eq. 8: the stiffness as
/// Σ_p V Δt² ∂²ψ/∂F² with Σ_i w_ij ∇ω_ip, and lumped masses as R M P.
#[test]
fn embedded_levels_are_those_of_the_particles() {
    let mut particles = cloud(80, 0.2, 7);
    particles.iter_mut().for_each(|p| (p.v, p.c) = ([0.0; 3], Default::default())); // so that F = Fⁿ at z = 0
    let bodies = bodies();
    let grid = Grid::around(&mut particles, DX).unwrap();
    let nodes = Nodes::from_particles(&grid, &particles, &bodies);
    let constraints = Constraints::new(&nodes, &[], [0.0, DT], GRAVITY);
    let (particles, bodies) = (&particles[..], &bodies[..]);
    let given = Given {
        grid: &grid,
        nodes: &nodes,
        particles,
        bodies,
        constraints: &constraints,
        dt: DT,
        gravity: GRAVITY,
    };
    let mut f = Increment::new(given).unwrap();
    let z = vec![0.0; f.size()];
    let system = f.system_at(&z).unwrap().system();
    let m = node_embedding(DX).build_from(system, &Cpu::new()).unwrap();
    let places: Vec<[i32; 3]> = nodes.positions.iter().map(|x| x.map(|c| (c / DX).round() as i32)).collect();
    let number: BTreeMap<[i32; 3], usize> = places.iter().copied().zip(0..).collect();
    let mut embedded: Vec<_> = places.iter().map(|place| BTreeMap::from([(*place, 1.0)])).collect();
    for level in 1..3 {
        embedded = embedded.iter().map(coarser).collect();
        let mut expected = BTreeMap::<_, Matrix>::new();
        for (mass, weights) in nodes.masses.iter().zip(&embedded) {
            for ((j, u), (l, v)) in weights.iter().flat_map(|j| weights.iter().map(move |l| (j, l))) {
                let block = expected.entry((*j, *l)).or_default();
                (0..3).for_each(|k| block[k][k] += mass * u * v);
            }
        }
        for (particle, weights) in particles.iter().zip(&grid.weights) {
            let mut gradients = BTreeMap::<[i32; 3], [f64; 3]>::new();
            for corner in (0..27).map(mpm::weights::corner) {
                let place = std::array::from_fn(|d| weights.base[d] + corner[d] as i32);
                for (j, w) in &embedded[number[&place]] {
                    let sum = gradients.entry(*j).or_default();
                    (0..3).for_each(|d| sum[d] += w * weights.gradient(corner)[d]);
                }
            }
            let body = &bodies[particle.body as usize];
            let modes = FixedCoRotated.modes(body.lame, &particle.f);
            for (value, mode) in modes.values.iter().zip(&modes.matrices) {
                let (scale, q) = (DT * DT * body.volume * value.max(0.0), mul_transposed(mode, &particle.f));
                let along: Vec<_> = gradients.iter().map(|(j, g)| (j, apply(&q, *g))).collect();
                for ((j, g), (l, h)) in along.iter().flat_map(|j| along.iter().map(move |l| (j, l))) {
                    let block = expected.entry((**j, **l)).or_default();
                    (0..9).for_each(|e| block[e / 3][e % 3] += scale * g[e / 3] * h[e % 3]);
                }
            }
        }
        let (found, nodes) = (m.matrix(level).unwrap(), m.state::<Embedded>(level - 1).unwrap().nodes());
        assert_eq!(found.pattern().len(), expected.len());
        let most = found.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for row in 0..found.pattern().rows() {
            for (at, &column) in found.pattern().range(row).zip(found.pattern().row(row)) {
                let block = expected[&(nodes[row], nodes[column as usize])];
                let off = found.values()[9 * at..9 * at + 9].iter().zip(block.as_flattened());
                let off = off.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
                assert!(off <= 1e-11 * most, "level {level}: {off:e} of {most:e}");
            }
        }
    }
}

/// Value, gradient and Hessian have the same bits with any number of threads.
#[test]
fn threads_do_not_change_bits() {
    let compute = || {
        let step = Step::new(3000, 0.2, 8);
        let mut f = step.objective();
        let z = step.vector(&f, 5);
        let mut g = vec![0.0; z.len()];
        f.gradient(&z, &mut g);
        let value = f.value(&z).value;
        (value.to_bits(), g, f.system_at(&z).unwrap().matrix.values().to_vec())
    };
    let [one, two, seven] = [1, 2, 7].map(|count| threads(count, compute).unwrap());
    assert!(one == two && one == seven);
}

/// The Hessian of a row has a block for every pair of nodes that share a particle, and no other.
#[test]
fn the_pattern_has_the_pairs_that_share_a_particle() {
    let step = Step::new(60, 0.1, 9);
    let mut f = step.objective();
    let mut pairs = std::collections::BTreeSet::new();
    for weights in &step.grid.weights {
        let slots: Vec<u32> = (0..27)
            .filter_map(|k| {
                let at: [i32; 3] =
                    std::array::from_fn(|a| weights.base[a] + mpm::weights::corner(k)[a] as i32);
                let same = |x: &[f64; 3]| (0..3).all(|a| (x[a] / DX).round() as i32 == at[a]);
                let node = step.nodes.positions.iter().position(same)?;
                Some(step.constraints.slot[node]).filter(|slot| *slot != u32::MAX)
            })
            .collect();
        slots.iter().for_each(|&i| slots.iter().for_each(|&j| _ = pairs.insert((i, j))));
    }
    let zeros = vec![0.0; f.size()];
    let pattern = f.system_at(&zeros).unwrap().matrix.pattern();
    let found: Vec<(u32, u32)> =
        (0..pattern.rows()).flat_map(|i| pattern.row(i).iter().map(move |&j| (i as u32, j))).collect();
    assert_eq!(found, pairs.into_iter().collect::<Vec<_>>());
}

/// Two materials, a wall along which nodes slip and a ball that holds: Gauss-Seidel takes at most two thirds of the
/// iterations of block Jacobi to the same residual. In the norms of the preconditioners, in which Newton's method
/// stops, it may take more (Table 3 on chain, `benches/papers/hot.md`).
#[test]
fn gauss_seidel_takes_fewer_iterations_than_block_jacobi() {
    let step = Step::new(3000, 0.2, 8);
    let mut f = step.objective();
    f.project(true);
    let z = vec![0.0; f.size()];
    let mut b = z.clone();
    f.gradient(&z, &mut b);
    assert_eq!(f.positions().len(), f.size() / 3);
    let system = f.system_at(&z).unwrap();
    let iterations = |m: &mut dyn Preconditioner<Vec<f64>>| {
        let mut x = z.clone();
        let report = Cg::new(Stop::relative(1e-6)).solve(&system.matrix, m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    };
    let jacobi = iterations(&mut BlockJacobi::default().build(system.system(), &Cpu::new()).unwrap());
    let sweeps = iterations(&mut GaussSeidel::default().build(system.system(), &Cpu::new()).unwrap());
    assert!(jacobi > 10 && 3 * sweeps <= 2 * jacobi, "{sweeps} of {jacobi}");
}
