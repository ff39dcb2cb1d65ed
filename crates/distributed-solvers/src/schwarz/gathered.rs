//! The coarsest level of the ranks, gathered on rank 0 and solved there.

use std::sync::Arc;

use coarsen_backend::{Cpu, SetupError};
use coarsen_distributed::{CommError, Communicator, DistError, Partition, agree, pack, unpack};
use coarsen_schwarz::{Level, LevelSolver, Schwarz};
use coarsen_sparse::Bsr;

use super::level::LevelRows;

/// The solver on rank 0; the other ranks only send and receive.
pub(crate) struct Gathered<C: Communicator> {
    parameters: Schwarz,
    partition: Arc<Partition<C>>,
    solver: Option<LevelSolver<f64, f64, f64>>,
    /// The matrix on rank 0, for updates.
    matrix: Option<Bsr<f64>>,
    /// The values of the inverses of finer levels.
    finer: usize,
    b: Vec<f64>,
    x: Vec<f64>,
    /// The number of levels with domains; 0 for a factor.
    pub(crate) levels: usize,
}

/// Builds the solver of a whole level.
fn build(
    parameters: &Schwarz,
    a: &Bsr<f64>,
    sizes: &[f64],
    finer: usize,
) -> Result<LevelSolver<f64, f64, f64>, SetupError> {
    let coupled = vec![true; a.pattern().rows()];
    parameters.build_coarse(&Level { matrix: a, coupled: &coupled, sizes }, finer, &Cpu::new())
}

impl<C: Communicator> Gathered<C> {
    /// `finer` is the number of values of the inverses of finer levels. All ranks call it.
    pub(crate) fn new(parameters: &Schwarz, level: &LevelRows<C>, finer: usize) -> Result<Self, DistError> {
        let (partition, n) = (&level.partition, level.partition.layout().unknowns());
        let matrix = level.rows.collect(partition, partition.layout().rows())?;
        let sizes = collect(partition, &level.sizes)?;
        let built = matrix.as_ref().map(|a| build(parameters, a, &sizes, finer)).transpose();
        let solver = agree(partition.comm(), built.map_err(DistError::from))?;
        let levels = levels(partition.comm(), solver.as_ref())?;
        let (b, x) = (vec![0.0; n], vec![0.0; n]);
        Ok(Self {
            parameters: *parameters,
            partition: partition.clone(),
            solver,
            matrix,
            finer,
            b,
            x,
            levels,
        })
    }

    /// New values of the same pattern. A factor that fails is replaced by domains; domains stay, even if a factor were
    /// possible again. All ranks call it.
    pub(crate) fn update(&mut self, level: &LevelRows<C>) -> Result<(), DistError> {
        let values = level.rows.collect_values(&self.partition)?;
        let sizes = collect(&self.partition, &level.sizes)?;
        let here = self.solver.as_mut().zip(self.matrix.as_mut()).zip(values);
        let done = here.map_or(Ok(()), |((solver, a), values)| {
            a.values_mut().copy_from_slice(&values);
            let coupled = vec![true; a.pattern().rows()];
            match solver.update(&Level { matrix: a, coupled: &coupled, sizes: &sizes }) {
                Err(SetupError::Coarsest { .. }) => {
                    *solver = build(&self.parameters, a, &sizes, self.finer)?;
                    Ok(())
                }
                done => done,
            }
        });
        agree(self.partition.comm(), done.map_err(DistError::from))?;
        self.levels = levels(self.partition.comm(), self.solver.as_ref())?;
        Ok(())
    }

    /// Collects b on rank 0, which solves and sends its part of x to every rank.
    pub(crate) fn begin(&mut self, b: &[f64], x: &mut [f64]) -> Result<(), CommError> {
        self.partition.collect(b, &mut self.b)?;
        if let Some(solver) = &mut self.solver {
            solver.apply(&self.b, &mut self.x);
            self.partition.comm().worked(solver.values());
            self.partition.distribute(&mut self.x, x)?;
        }
        Ok(())
    }

    /// Receives x on the other ranks.
    pub(crate) fn end(&mut self, x: &mut [f64]) -> Result<(), CommError> {
        if self.solver.is_none() {
            self.partition.distribute(&mut self.x, x)?;
        }
        Ok(())
    }
}

/// The number of levels with domains on rank 0, on every rank.
fn levels<C: Communicator>(
    comm: &C,
    solver: Option<&LevelSolver<f64, f64, f64>>,
) -> Result<usize, CommError> {
    let mut about = Vec::new();
    pack(solver.map(|solver| solver.levels() as u64), &mut about);
    comm.broadcast(0, &mut about)?;
    Ok(unpack::<u64>(&about).next().unwrap_or_default() as usize)
}

/// The sizes of all ranks, on rank 0.
fn collect<C: Communicator>(partition: &Partition<C>, own: &[f64]) -> Result<Vec<f64>, CommError> {
    let mut all = vec![0.0; partition.layout().unknowns()];
    partition.collect(own, &mut all)?;
    Ok(all)
}
