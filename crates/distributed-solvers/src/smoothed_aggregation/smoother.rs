//! Chebyshev smoothing of degree 2 over ranks: x ← x + p(D⁻¹A) D⁻¹ (b − A x).
//!
//! | symbol | here | |
//! |---|---|---|
//! | D | `d` | the diagonal blocks |
//! | β | `radius` | a bound of ρ(D⁻¹A) |
//! | p | `polynomial` | that of one address space |
//! | d₀, d₁ | `step` | corrections |
//! | | `scratch` | for a step |
//!
//! Numbers at line ends are the line numbers of Saad 2003, Algorithm 12.1, with D⁻¹r instead of r.

use std::sync::Arc;

use coarsen_backend::{Backend, DenseBlocks};
use coarsen_core::{Preconditioner, PreconditionerKind, SplitMix64, Vector};
use coarsen_distributed::{Communicator, DistError, GlobalRows, Partition, RankBackend, agree, pack, unpack};
use coarsen_krylov::SpectralRadius;
use coarsen_relax::Chebyshev as Polynomial;

/// p of degree 2 on \[β / 10, β\].
fn polynomial() -> Polynomial {
    Polynomial { degree: 2, ratio: 10.0, ..Polynomial::default() }
}

pub(crate) struct Chebyshev<C: Communicator, S: RankBackend<C>> {
    d: Diagonal<C, S>,
    pub(crate) radius: f64,
    step: S::Vector,
    scratch: S::Vector,
}

/// D⁻¹ on the backend of each rank.
struct Diagonal<C: Communicator, S: RankBackend<C>> {
    partition: Arc<Partition<C>>,
    inverses: <S::Local as Backend>::Blocks,
}

impl<C: Communicator, S: RankBackend<C>> Diagonal<C, S> {
    /// z = a D⁻¹ r + b z.
    fn apply_add(&self, a: f64, r: &S::Vector, b: f64, z: &mut S::Vector) {
        S::change(z, |z| S::Local::apply_blocks(&self.inverses, a, S::own(r), b, z));
    }
}

impl<C: Communicator, S: RankBackend<C>> Preconditioner<S::Vector> for Diagonal<C, S> {
    fn apply(&mut self, r: &S::Vector, z: &mut S::Vector) {
        self.apply_add(1.0, r, 0.0, z);
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.partition.layout().unknowns())
    }
}

impl<C: Communicator, S: RankBackend<C>> Chebyshev<C, S> {
    /// The bound of ρ(D⁻¹A) of a level, from the inverses of its diagonal blocks. All ranks call it.
    pub(crate) fn new(
        backend: &S,
        partition: &Arc<Partition<C>>,
        a: &S::Matrix,
        rows: &GlobalRows<f64>,
        inverses: &DenseBlocks<f64>,
        (steps, safety): (usize, f64),
    ) -> Result<Self, DistError> {
        let there = backend.local().blocks(inverses).map_err(|error| DistError::Setup(error.into()));
        let mut d = Diagonal { partition: partition.clone(), inverses: agree(partition.comm(), there)? };
        let start = backend.vector(partition, &start_vector(partition))?;
        let mut estimate = SpectralRadius::default();
        (estimate.steps, estimate.safety) = (steps, safety);
        estimate.margin = 1.0 + 1.0 / polynomial().ratio;
        estimate.ceiling = largest_row_sum(partition.comm(), rows)?;
        let radius = estimate.estimate(a, &mut d, &start).map_err(|error| DistError::Setup(error.into()));
        let radius = agree(partition.comm(), radius)?;
        Ok(Self { d, radius, step: backend.zeros(partition)?, scratch: backend.zeros(partition)? })
    }

    /// x ≈ A⁻¹ b from x = 0.
    pub(crate) fn start(&mut self, a: &S::Matrix, b: &S::Vector, x: &mut S::Vector) {
        let (first, later) = polynomial().factors(self.radius);
        self.d.apply_add(first, b, 0.0, &mut self.step); // 2
        x.copy(&self.step); // 4
        later.for_each(|factors| self.relax(a, factors, b, x)); // 5, 7, 4
    }

    /// Improves x.
    pub(crate) fn smooth(&mut self, a: &S::Matrix, b: &S::Vector, x: &mut S::Vector) {
        let (first, later) = polynomial().factors(self.radius);
        self.relax(a, [first, 0.0], b, x); // 1, 2, 4
        later.for_each(|factors| self.relax(a, factors, b, x)); // 5, 7, 4
    }

    fn relax(&mut self, a: &S::Matrix, factors: [f64; 2], b: &S::Vector, x: &mut S::Vector) {
        S::relax(a, &self.d.inverses, factors, b, x, [&mut self.step, &mut self.scratch]);
    }
}

/// The own entries of [`coarsen_krylov::start_vector`] of all unknowns, so that the bound does not depend on ranks.
fn start_vector<C: Communicator>(partition: &Partition<C>) -> Vec<f64> {
    let b = partition.layout().block();
    let first = partition.first() as usize * b;
    (first..first + partition.count() * b).map(|i| SplitMix64::at(i as u64).number()).collect()
}

/// maxᵢ Σⱼ |aᵢⱼ| / |aᵢᵢ| over all ranks, a bound of ρ(D⁻¹A) of scalars; infinity for blocks.
fn largest_row_sum<C: Communicator>(comm: &C, rows: &GlobalRows<f64>) -> Result<f64, DistError> {
    if rows.block() != (1, 1) {
        return Ok(f64::INFINITY);
    }
    let of_row = |k: usize| {
        let diagonal = rows.row(k).find(|(j, _)| *j == rows.first() + k as u64).map_or(0.0, |(_, v)| v[0]);
        rows.row(k).map(|(_, v)| v[0].abs()).sum::<f64>() / diagonal.abs()
    };
    let mut bytes = Vec::new();
    pack([(0..rows.count()).map(of_row).fold(0.0, f64::max)], &mut bytes);
    let all = comm.all_gather(&bytes)?;
    let largest = all.iter().filter_map(|part| unpack::<f64>(part).next()).fold(0.0, f64::max);
    Ok(if largest > 0.0 { largest } else { f64::INFINITY })
}
