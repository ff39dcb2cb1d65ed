//! The Hessian from particles on coarser grids, for `lbfgs-gmg` and `pn-gmg-pcg`.
//!
//! Each coarser grid has twice the spacing, its own B-splines, nodes and constraints. Nodes are interpolated from
//! the coarser nodes around them by hats, and the weights of nodes that a collider holds are dropped; so rows of P at
//! boundaries do not sum to 1, and the coarse matrices are no Galerkin products. *Reference* Wang et al. 2020 (HOT),
//! §1.1 and §7.3: the baseline with which they compare node embedding. Friction is known at the nodes of the finest grid only, and
//! coarse matrices have none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use coarsen::backend::SetupError;
use coarsen::multigrid::{Coarse, Coarsening, Coarsest, Grid as Level, JacobiCg, Multigrid, Smoothing};
use coarsen::prelude::GaussSeidel;
use coarsen::sparse::{Bsr, OwnedSystem, Pattern, Prolongation, SparseError, SystemAt};
use coarsen::{Dot, Objective};

use mpm::collider::Obstacle;
use mpm::constraints::{Constraints, NodeConstraint};
use mpm::energy::{Given, Hessian, Increment, Stiffness};
use mpm::fault::StepError;
use mpm::grid::{Grid, Nodes};
use mpm::particles::{Body, IDENTITY, Matrix, Particle, mul};

use crate::moment::Step;

/// The coarse matrices of the last system, from the finest to the coarsest.
type Matrices = Arc<Mutex<Vec<Bsr<f64>>>>;

/// Coarsening to grids on which particles are integrated again.
#[derive(Clone, Debug)]
pub(crate) struct Quadrature {
    prolongations: Arc<[Prolongation<f64>]>,
    matrices: Matrices,
}

/// The objective of a step whose Hessian is assembled on coarser grids too.
pub(crate) struct Rediscretised<'b, 'a> {
    f: &'b mut Increment<'a>,
    levels: Vec<Part>,
    matrices: Matrices,
    /// The stiffness of the particles at the z of the last system, and that z.
    stiffness: Vec<Stiffness>,
    assembled: Vec<f64>,
}

/// A coarser grid.
struct Part {
    grid: Grid,
    nodes: Nodes,
    constraints: Constraints,
    particles: Vec<Particle>,
    /// The number of each particle on the finest grid.
    order: Vec<u32>,
    bodies: Vec<Body>,
    dt: f64,
    hessian: Hessian,
}

impl Part {
    /// The grid with spacing `dx`. `time` is that of the step.
    fn new(given: &Given<'_>, dx: f64, obstacles: &[Obstacle], time: f64) -> Result<Self, StepError> {
        let mut particles = given.particles.to_vec();
        particles.iter_mut().zip(0..).for_each(|(particle, number)| particle.body = number);
        let grid = Grid::around(&mut particles, dx)?;
        let order: Vec<u32> = particles.iter().map(|particle| particle.body).collect();
        for (particle, &number) in particles.iter_mut().zip(&order) {
            particle.body = given.particles[number as usize].body;
        }
        let (bodies, dt) = (given.bodies.to_vec(), given.dt);
        let nodes = Nodes::from_particles(&grid, &particles, &bodies);
        let constraints = Constraints::new(&nodes, obstacles, [time, dt], given.gravity);
        let hessian = Hessian::new(&grid, &nodes, &constraints)?;
        Ok(Self { grid, nodes, constraints, particles, order, bodies, dt, hessian })
    }

    /// Computes the Hessian on this grid from the stiffness of the particles on the finest one.
    fn assemble(&mut self, stiffness: &[Stiffness]) -> &Bsr<f64> {
        let Self { grid, nodes, constraints, particles, order, bodies, dt, hessian } = self;
        hessian.stiffness.clear();
        hessian.stiffness.extend(order.iter().map(|&p| stiffness[p as usize]));
        let given = Given { grid, nodes, particles, bodies, constraints, dt: *dt, gravity: [0.0; 3] };
        hessian.assemble(&given, &[]);
        &hessian.system.matrix
    }
}

impl<'b, 'a> Rediscretised<'b, 'a> {
    /// Returns the objective of a step on `levels` grids, and the coarsening to the coarser ones.
    ///
    /// *Cost* of a system: one more gather for each grid, each with all particles.
    pub(crate) fn new(
        f: &'b mut Increment<'a>,
        levels: usize,
        Step { given, obstacles, time }: Step<'a>,
    ) -> Result<(Self, Multigrid<Quadrature>), StepError> {
        let mut parts = Vec::new();
        let mut transfers = Vec::new();
        for level in 1..levels {
            let dx = given.grid.dx * f64::from(1 << level);
            let part = Part::new(&given, dx, obstacles, time)?;
            let fine = parts
                .last()
                .map_or((given.nodes, given.constraints), |above: &Part| (&above.nodes, &above.constraints));
            transfers.push(transfer(fine, (&part.nodes, &part.constraints), 0.5 * dx)?);
            parts.push(part);
        }
        let matrices = Matrices::default();
        let quadrature = Quadrature { prolongations: transfers.into(), matrices: matrices.clone() };
        let known = GaussSeidel { symmetric: true, ..GaussSeidel::default() };
        let smoothing = Smoothing::SymmetricGaussSeidel(known);
        let coarsest = Coarsest::Iterative(JacobiCg::default());
        let parameters =
            Multigrid { levels, coarse_size: 0, smoothing, coarsest, ..Multigrid::of(quadrature) };
        Ok((Self { f, levels: parts, matrices, stiffness: Vec::new(), assembled: Vec::new() }, parameters))
    }
}

impl Objective<Vec<f64>> for Rediscretised<'_, '_> {
    fn value(&mut self, z: &Vec<f64>) -> Dot<f64> {
        self.f.value(z)
    }
    fn gradient(&mut self, z: &Vec<f64>, g: &mut Vec<f64>) {
        self.f.gradient(z, g);
    }
}

impl SystemAt for Rediscretised<'_, '_> {
    /// The system at z with projected modes, and the matrices of the coarser grids.
    fn system_at(&mut self, z: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        if self.assembled != z || z.is_empty() {
            self.f.stiffness(z, true, &mut self.stiffness);
            let mut matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
            for (level, part) in self.levels.iter_mut().enumerate() {
                let matrix = part.assemble(&self.stiffness);
                match matrices.get_mut(level) {
                    Some(last) => last.values_mut().copy_from_slice(matrix.values()),
                    None => matrices.push(matrix.clone()),
                }
            }
            self.assembled = z.to_vec();
        }
        self.f.system_at(z)
    }
}

/// The coarse nodes along an axis around a place, and their weights.
fn along(place: i32) -> &'static [(i32, f64)] {
    if place & 1 == 0 { &[(0, 1.0)] } else { &[(0, 0.5), (1, 0.5)] }
}

/// P between the free nodes of a grid with spacing `dx` and those of the next coarser one: hats, with S P S where
/// nodes slip.
fn transfer(
    (fine, on_fine): (&Nodes, &Constraints),
    (coarse, on_coarse): (&Nodes, &Constraints),
    dx: f64,
) -> Result<Prolongation<f64>, SparseError> {
    let place = |x: [f64; 3], dx: f64| x.map(|x| (x / dx).round() as i32);
    let slots = on_coarse.free.iter().zip(0..);
    let known: HashMap<[i32; 3], u32> =
        slots.map(|(&node, slot)| (place(coarse.positions[node as usize], 2.0 * dx), slot)).collect();
    let free = |constraints: &Constraints, slot: u32| match &constraints.by_node
        [constraints.free[slot as usize] as usize]
    {
        NodeConstraint::Slip { free, .. } => *free,
        _ => IDENTITY,
    };
    let slips = on_fine.slips || on_coarse.slips;
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for (&node, slot) in on_fine.free.iter().zip(0..) {
        let at = place(fine.positions[node as usize], dx);
        let [xs, ys, zs] = at.map(along);
        let mut row = Vec::with_capacity(8);
        for (&(i, u), &(j, v), &(k, w)) in
            xs.iter().flat_map(|x| ys.iter().flat_map(move |y| zs.iter().map(move |z| (x, y, z))))
        {
            let around = [(at[0] >> 1) + i, (at[1] >> 1) + j, (at[2] >> 1) + k];
            row.extend(known.get(&around).map(|&column| (column, u * v * w)));
        }
        row.sort_unstable_by_key(|&(column, _)| column);
        for (column, weight) in row {
            columns.push(column);
            if slips {
                let block: Matrix = mul(&free(on_fine, slot), &free(on_coarse, column));
                values.extend(block.as_flattened().iter().map(|entry| weight * entry));
            } else {
                values.push(weight);
            }
        }
        offsets.push(columns.len());
    }
    let pattern = Arc::new(Pattern::new(on_coarse.free.len(), offsets, columns)?);
    if slips {
        return Ok(Bsr::new(pattern, (3, 3), values)?.into());
    }
    Prolongation::weights(Bsr::new(pattern, (1, 1), values)?, 3)
}

impl Quadrature {
    fn matrix(&self, level: usize) -> Result<Bsr<f64>, SetupError> {
        let matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        let (what, expected) = ("the number of coarser grids of the last system", level + 1);
        let missing = coarsen::Error::Shape { what, expected, found: matrices.len() };
        matrices.get(level).cloned().ok_or(SetupError::Core(missing))
    }
}

impl Coarsening<f64> for Quadrature {
    /// The number of the next coarser grid.
    type State = usize;

    fn coarsen(
        &self,
        _: &Level<'_, f64>,
        above: Option<&usize>,
    ) -> Result<Option<Coarse<f64, usize>>, SetupError> {
        let level = above.map_or(0, |above| above + 1);
        let Some(p) = self.prolongations.get(level) else { return Ok(None) };
        Ok(Some(Coarse { matrix: Some(self.matrix(level)?), ..Coarse::new(p.clone(), level) }))
    }

    fn refresh(
        &self,
        _: &Level<'_, f64>,
        _: Option<&usize>,
        coarse: &mut Coarse<f64, usize>,
    ) -> Result<(), SetupError> {
        coarse.matrix = Some(self.matrix(coarse.state)?);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "particle quadrature"
    }
}
