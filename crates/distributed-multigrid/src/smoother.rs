//! Chebyshev smoothing of degree 2 over ranks: x ← x + p(D⁻¹A) D⁻¹ (b − A x).
//!
//! | symbol | here | |
//! |---|---|---|
//! | D | `d` | the diagonal blocks |
//! | \[α, β\] | `radius` | β is a bound of ρ(D⁻¹A), α = β / 10 |
//! | θ, δ, σ₁ | | (β + α)/2, (β − α)/2, θ/δ |
//! | ρ₁, ρ₂ | `rho`, `next` | |
//! | d₀, d₁ | `step` | corrections |
//!
//! Numbers at line ends are the line numbers of Saad 2003, Algorithm 12.1, with D⁻¹r instead of r.

use coarsen_core::{LinearOperator, Preconditioner, SplitMix64, Vector};
use coarsen_distributed::{
    Communicator, DistBlockJacobi, DistError, DistMatrix, DistVector, GlobalRows, Partition, agree, pack,
    unpack,
};
use coarsen_krylov::SpectralRadius;

/// β / α.
const RATIO: f64 = 10.0;

pub(crate) struct Chebyshev<C: Communicator> {
    d: DistBlockJacobi<C>,
    pub(crate) radius: f64,
    step: DistVector<C>,
    residual: DistVector<C>,
    scaled: DistVector<C>,
}

impl<C: Communicator> Chebyshev<C> {
    /// D⁻¹ and the bound of ρ(D⁻¹A) of a level. All ranks call it.
    pub(crate) fn new(
        a: &DistMatrix<C>,
        rows: &GlobalRows<f64>,
        steps: usize,
        safety: f64,
    ) -> Result<Self, DistError> {
        let on = a.rows();
        let mut d = DistBlockJacobi::new(a, 1.0)?;
        let start = on.vector(start_vector(on))?;
        let mut estimate = SpectralRadius::default();
        (estimate.steps, estimate.safety) = (steps, safety);
        estimate.margin = 1.0 + 1.0 / RATIO;
        estimate.ceiling = largest_row_sum(on.comm(), rows)?;
        let radius = estimate.estimate(a, &mut d, &start).map_err(|error| DistError::Setup(error.into()));
        let radius = agree(on.comm(), radius)?;
        let new = || on.vector(vec![0.0; on.count() * on.layout().block()]);
        Ok(Self { d, radius, step: new()?, residual: new()?, scaled: new()? })
    }

    /// x ≈ A⁻¹ b from x = 0.
    pub(crate) fn start(&mut self, a: &DistMatrix<C>, b: &DistVector<C>, x: &mut DistVector<C>) {
        self.d.apply(b, &mut self.scaled);
        self.first(x, true);
        self.second(a, b, x);
    }

    /// Improves x.
    pub(crate) fn smooth(&mut self, a: &DistMatrix<C>, b: &DistVector<C>, x: &mut DistVector<C>) {
        self.correction(a, b, x);
        self.first(x, false);
        self.second(a, b, x);
    }

    /// θ and δ.
    fn interval(&self) -> [f64; 2] {
        let (beta, alpha) = (self.radius, self.radius / RATIO);
        [0.5 * (beta + alpha), 0.5 * (beta - alpha)]
    }

    /// D⁻¹ (b − A x).
    fn correction(&mut self, a: &DistMatrix<C>, b: &DistVector<C>, x: &DistVector<C>) {
        a.residual(b, x, &mut self.residual);
        self.d.apply(&self.residual, &mut self.scaled);
    }

    fn first(&mut self, x: &mut DistVector<C>, from_zero: bool) {
        let [theta, _] = self.interval();
        self.step.axpby(&(1.0 / theta).into(), &self.scaled, &0.0.into()); // 2
        x.axpby(&1.0.into(), &self.step, &if from_zero { 0.0 } else { 1.0 }.into()); // 4
    }

    fn second(&mut self, a: &DistMatrix<C>, b: &DistVector<C>, x: &mut DistVector<C>) {
        let [theta, delta] = self.interval();
        let sigma = theta / delta; // 1
        let rho = 1.0 / sigma; // 2
        let next = 1.0 / (2.0 * sigma - rho); // 6
        self.correction(a, b, x); // 5
        self.step.axpby(&(2.0 * next / delta).into(), &self.scaled, &(next * rho).into()); // 7
        x.axpby(&1.0.into(), &self.step, &1.0.into()); // 4
    }
}

/// The own entries of [`coarsen_krylov::start_vector`] of all unknowns, so that the bound does not depend on ranks.
fn start_vector<C: Communicator>(on: &Partition<C>) -> Vec<f64> {
    let b = on.layout().block();
    let first = on.first() as usize * b;
    (first..first + on.count() * b).map(|i| SplitMix64::at(i as u64).number()).collect()
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
