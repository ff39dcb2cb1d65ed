//! A level on the ranks, and the V-cycle.

use std::sync::Arc;

use coarsen_backend::DenseBlocks;
use coarsen_core::LinearOperator;
use coarsen_distributed::{Communicator, DistError, GlobalRows, Partition, RankBackend, agree};

use super::galerkin::Transfer;
use super::gathered::Gathered;
use super::smoother::Chebyshev;
use super::step::{LevelRows, Step};

/// Matrices and vectors on the backend S of each rank; `transfer` is on the host, for updates.
pub(crate) struct Level<C: Communicator, S: RankBackend<C>> {
    partition: Arc<Partition<C>>,
    a: S::Matrix,
    smoother: Chebyshev<C, S>,
    p: S::Matrix,
    transposed: S::Matrix,
    pub(crate) transfer: Transfer<C>,
    residual: S::Vector,
    coarse_b: S::Vector,
    coarse_x: S::Vector,
}

/// The inverses of the diagonal blocks of a level. All ranks call it.
pub(crate) fn inverses<C: Communicator>(
    partition: &Partition<C>,
    rows: &GlobalRows<f64>,
) -> Result<DenseBlocks<f64>, DistError> {
    agree(partition.comm(), rows.inverse_diagonal("smoothed aggregation"))
}

impl<C: Communicator, S: RankBackend<C>> Level<C, S> {
    /// The matrix of a level and its smoother.
    pub(crate) fn smoothed(
        backend: &S,
        here: &LevelRows<'_, C>,
        inverses: &DenseBlocks<f64>,
        estimate: (usize, f64),
    ) -> Result<(S::Matrix, Chebyshev<C, S>), DistError> {
        let a = backend.matrix(&here.partition, &here.partition, &here.rows)?;
        let smoother = Chebyshev::new(backend, &here.partition, &a, &here.rows, inverses, estimate)?;
        Ok((a, smoother))
    }

    /// A level of `partition`, and the rows of the coarser one.
    pub(crate) fn new(
        backend: &S,
        partition: &Arc<Partition<C>>,
        a: S::Matrix,
        smoother: Chebyshev<C, S>,
        step: Step<C>,
    ) -> Result<(Self, LevelRows<'static, C>), DistError> {
        let Step { coarse, p, transposed, transfer } = step;
        let level = Self {
            partition: partition.clone(),
            p: backend.matrix(partition, &coarse.partition, &p)?,
            transposed: backend.matrix(&coarse.partition, partition, &transposed)?,
            residual: backend.zeros(partition)?,
            coarse_b: backend.zeros(&coarse.partition)?,
            coarse_x: backend.zeros(&coarse.partition)?,
            transfer,
            a,
            smoother,
        };
        Ok((level, coarse))
    }

    /// The division of the rows.
    pub(crate) fn partition(&self) -> &Arc<Partition<C>> {
        &self.partition
    }

    /// New values of this level. All ranks call it.
    pub(crate) fn renew(
        &mut self,
        backend: &S,
        rows: &GlobalRows<f64>,
        inverses: &DenseBlocks<f64>,
        estimate: (usize, f64),
    ) -> Result<(), DistError> {
        S::set_values(&mut self.a, rows)?;
        self.smoother = Chebyshev::new(backend, &self.partition, &self.a, rows, inverses, estimate)?;
        Ok(())
    }
}

/// x ≈ A⁻¹ b from x = 0.
pub(crate) fn cycle<C: Communicator, S: RankBackend<C>>(
    levels: &mut [Level<C, S>],
    bottom: &mut Gathered,
    b: &S::Vector,
    x: &mut S::Vector,
) {
    let Some((level, coarser)) = levels.split_first_mut() else { return bottom.solve::<C, S>(b, x) };
    level.smoother.start(&level.a, b, x);
    level.a.residual(b, x, &mut level.residual);
    level.transposed.apply(&level.residual, &mut level.coarse_b);
    cycle(coarser, bottom, &level.coarse_b, &mut level.coarse_x);
    S::add_product(&level.p, &level.coarse_x, x, &mut level.residual);
    level.smoother.smooth(&level.a, b, x);
}
