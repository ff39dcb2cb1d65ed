//! The incremental potential (1) of `energy/mod.rs` written again for dual numbers, node by node and without tiles: its
//! slopes are exact, and those of the program agree with them up to round-off.
//!
//! | symbol | here | |
//! |---|---|---|
//! | Δv = S z + given | `Again::velocities` | of all nodes |
//! | R | `rotation` | by Newton's iteration for the polar decomposition, not from singular values |
//! | P = 2 μ (F − R) + λ (J − 1) cof F | `Again::elastic` | of the fixed co-rotated energy, *Stomakhin et al. 2012* |
//! | J φ(‖s‖) | `Again::friction` | of `energy/friction.rs` |

use std::collections::BTreeMap;

use coarsen::contact::friction::STICKING_SPEED;
use coarsen::optimize::{Dual, check_gradient_by_duals, check_hessian_by_duals};
use coarsen::sparse::SystemAt;
use mpm::constraints::{Grip, NodeConstraint};
use mpm::particles::{Particle, apply};
use mpm::weights::{NODES, Weights, corner};

use super::DX;
use super::energy::{DT, GRAVITY, Step};

type D = Dual<f64>;
type M = [[D; 3]; 3];

fn c(v: f64) -> D {
    Dual::constant(v)
}

fn of(entry: impl Fn(usize, usize) -> D) -> M {
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

fn dot(a: [D; 3], b: [D; 3]) -> D {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// ∂ det A / ∂A.
fn cofactor(a: &M) -> M {
    let at = |i: usize, j: usize| a[i % 3][j % 3];
    of(|i, j| at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 1, j + 2) * at(i + 2, j + 1))
}

/// The rotation nearest to F for det F > 0, by R ← (R + R⁻ᵀ) / 2 (Higham 1986).
fn rotation(f: &M) -> M {
    let mut r = *f;
    for _ in 0..30 {
        let cofactor = cofactor(&r);
        let determinant = dot(r[0], cofactor[0]);
        r = of(|i, j| c(0.5) * (r[i][j] + cofactor[i][j] / determinant));
    }
    r
}

/// E and ∇E of a step for dual numbers.
struct Again<'a> {
    step: &'a Step,
    /// The number of the node at each place of the grid.
    numbers: BTreeMap<[i32; 3], usize>,
}

impl<'a> Again<'a> {
    fn new(step: &'a Step) -> Self {
        let place = |x: &[f64; 3]| x.map(|x| (x / DX).round() as i32);
        let numbers = step.nodes.positions.iter().enumerate().map(|(i, x)| (place(x), i)).collect();
        Self { step, numbers }
    }

    /// v of all nodes.
    fn velocities(&self, z: &[D]) -> Vec<[D; 3]> {
        let Step { nodes, constraints, .. } = self.step;
        let of = |(node, constraint): (usize, &NodeConstraint)| {
            let (before, slot) = (nodes.velocities[node].map(c), constraints.slot[node] as usize);
            match constraint {
                NodeConstraint::Free => std::array::from_fn(|k| before[k] + z[3 * slot + k]),
                NodeConstraint::Slip { free, given } => std::array::from_fn(|k| {
                    let along = dot(free[k].map(c), [z[3 * slot], z[3 * slot + 1], z[3 * slot + 2]]);
                    before[k] + along + c(given[k])
                }),
                NodeConstraint::Fixed(v) => v.map(c),
            }
        };
        constraints.by_node.iter().enumerate().map(of).collect()
    }

    /// Returns E at z up to a constant, and writes ∇E.
    fn energy(&self, z: &[D], gradient: &mut [D]) -> D {
        let Step { nodes, particles, constraints, .. } = self.step;
        let v = self.velocities(z);
        let mut slopes = vec![[c(0.0); 3]; nodes.len()]; // ∂E/∂v
        let mut energy = c(0.0);
        for &node in &constraints.free {
            let node = node as usize;
            let (mass, before) = (c(nodes.masses[node]), nodes.velocities[node]);
            for k in 0..3 {
                let gap = v[node][k] - c(before[k] + DT * GRAVITY[k]);
                energy += c(0.5) * mass * gap * gap;
                slopes[node][k] += mass * gap;
            }
        }
        particles.iter().for_each(|particle| energy += self.elastic(particle, &v, &mut slopes));
        energy += self.friction(&v, &mut slopes);
        for (slot, &node) in constraints.free.iter().enumerate() {
            let slope = slopes[node as usize];
            let free = match &constraints.by_node[node as usize] {
                NodeConstraint::Slip { free, .. } => free.map(|row| dot(row.map(c), slope)), // S is symmetric
                _ => slope,
            };
            gradient[3 * slot..3 * slot + 3].copy_from_slice(&free);
        }
        energy
    }

    /// V ψ(F) of a particle, F = (I + Δt Σ v ∇wᵀ) Fⁿ; adds Δt V P Fⁿᵀ ∇w to the slopes.
    fn elastic(&self, particle: &Particle, v: &[[D; 3]], slopes: &mut [[D; 3]]) -> D {
        let body = &self.step.bodies[particle.body as usize];
        let weights = Weights::at(particle.x, DX);
        let around = |k: usize| {
            let corner = corner(k);
            let place = std::array::from_fn(|axis| weights.base[axis] + corner[axis] as i32);
            (self.numbers[&place], weights.gradient(corner))
        };
        let mut growth = of(|i, j| c(if i == j { 1.0 } else { 0.0 }));
        for (node, slope) in (0..NODES).map(around) {
            for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
                growth[i][j] += c(DT * slope[j]) * v[node][i];
            }
        }
        let before = particle.f.map(|row| row.map(c));
        let f = of(|i, j| dot(growth[i], [before[0][j], before[1][j], before[2][j]]));
        let (r, cofactor) = (rotation(&f), cofactor(&f));
        let (mu, lambda) = (c(body.lame.mu), c(body.lame.lambda));
        let excess = dot(f[0], cofactor[0]) - c(1.0); // J − 1
        assert!(excess.value > -0.99, "the polar decomposition here is that of det F > 0");
        let mut density = c(0.5) * lambda * excess * excess;
        let mut stress = of(|i, j| lambda * excess * cofactor[i][j]);
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            let gap = f[i][j] - r[i][j];
            density += mu * gap * gap;
            stress[i][j] += c(2.0) * mu * gap;
        }
        let force = of(|i, j| c(DT * body.volume) * dot(stress[i], before[j]));
        for (node, slope) in (0..NODES).map(around) {
            (0..3).for_each(|i| slopes[node][i] += dot(force[i], slope.map(c)));
        }
        c(body.volume) * density
    }

    /// Σ J φ(‖s‖), up to a constant for each node that slides; adds J φ' s/‖s‖ to the slopes.
    fn friction(&self, v: &[[D; 3]], slopes: &mut [[D; 3]]) -> D {
        let mut energy = c(0.0);
        for grip in &self.step.constraints.grips {
            let (node, most, (slip, speed)) = (grip.node as usize, c(grip.most), self.slip(grip, v));
            let share = speed / c(STICKING_SPEED);
            let slides = speed.value >= STICKING_SPEED;
            let slope = if slides { c(1.0) } else { c(2.0) * share - share * share }; // φ'
            energy += most
                * if slides { speed } else { c(STICKING_SPEED) * share * share * (c(1.0) - share / c(3.0)) };
            (0..3).for_each(|k| slopes[node][k] += most * slope * slip[k] / speed);
        }
        energy
    }

    /// s and ‖s‖ of a node with friction.
    fn slip(&self, grip: &Grip, v: &[[D; 3]]) -> ([D; 3], D) {
        let (v, n) = (v[grip.node as usize], grip.normal.map(c));
        let gap: [D; 3] = std::array::from_fn(|k| v[k] - c(grip.velocity[k]));
        let along = dot(gap, n);
        let slip: [D; 3] = std::array::from_fn(|k| gap[k] - along * n[k]);
        (slip, dot(slip, slip).sqrt())
    }
}

/// The increments that stop all nodes that rub: their velocity is that of the collider.
fn stopping(step: &Step, size: usize) -> Vec<f64> {
    let (mut z, Step { nodes, constraints, .. }) = (vec![0.0; size], step);
    for grip in &constraints.grips {
        let (node, slot) = (grip.node as usize, constraints.slot[grip.node as usize] as usize);
        let gap = std::array::from_fn(|k| grip.velocity[k] - nodes.velocities[node][k]);
        if let NodeConstraint::Slip { free, .. } = &constraints.by_node[node] {
            z[3 * slot..3 * slot + 3].copy_from_slice(&apply(free, gap));
        }
    }
    z
}

/// ∇E and, without projection, ∇²E in the free directions: where all nodes slide on the wall and where all stick, near
/// rotations and where Hessians of particles are indefinite.
#[test]
fn derivatives_agree_with_dual_numbers() {
    for (seed, size) in [(1, 0.05), (3, 0.2)] {
        let step = Step::new(100, size, seed);
        let (mut f, mut second) = (step.objective(), step.objective());
        second.project(false);
        let again = Again::new(&step);
        let [random, d, e] = [5, 6, 7].map(|seed| step.vector(&f, seed));
        let still = stopping(&step, random.len());
        for (scale, sticks) in [(1.0, false), (1e-4, true)] {
            let z: Vec<f64> = still.iter().zip(&random).map(|(s, z)| s + scale * z).collect();
            let values: Vec<D> = z.iter().map(|&z| c(z)).collect();
            let v = again.velocities(&values);
            assert!(
                step.constraints
                    .grips
                    .iter()
                    .all(|grip| (again.slip(grip, &v).1.value < STICKING_SPEED) == sticks)
            );
            let mut unused = vec![c(0.0); z.len()];
            let found = check_gradient_by_duals(&mut f, |z| again.energy(z, &mut unused), &z, &d).unwrap();
            assert!(found.error < 1e-11, "{found:?}");
            let system = second.system_at(&z).unwrap();
            let gradient = |z: &[D], g: &mut [D]| _ = again.energy(z, g);
            let found = check_hessian_by_duals(&system.matrix, gradient, &z, [&d, &e]).unwrap();
            assert!(found.error < 1e-11, "{found:?}");
        }
    }
}
