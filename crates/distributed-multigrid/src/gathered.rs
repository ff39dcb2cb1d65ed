//! The coarsest level of the ranks, gathered on rank 0 and solved there by multigrid of a single rank.

use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Class, Preconditioner};
use coarsen_distributed::{CommError, Communicator, DistError, DistVector, agree, pack, unpack};
use coarsen_multigrid::{Hierarchy, Multigrid, SmoothedAggregation};
use coarsen_sparse::{Bsr, NearKernel, System};

use crate::step::LevelRows;

/// The rank that solves.
const ROOT: usize = 0;

/// The solver on rank 0; the other ranks only send and receive.
pub(crate) struct Gathered {
    solver: Option<Hierarchy>,
    b: Vec<f64>,
    x: Vec<f64>,
    pub(crate) levels: usize,
    /// The class of the solver.
    pub(crate) class: Class,
    pub(crate) entries: u64,
}

impl Gathered {
    /// All ranks call it.
    pub(crate) fn new<C: Communicator>(
        recipe: &Multigrid<SmoothedAggregation>,
        level: &LevelRows<C>,
    ) -> Result<Self, DistError> {
        let comm = level.on.comm();
        let mut kernel = Vec::new();
        pack(level.near_kernel.values().iter().copied(), &mut kernel);
        let matrix = level.rows.collect(&level.on, level.on.layout().rows())?;
        let kernel = comm.gather(ROOT, &kernel)?;
        let built = matrix.zip(kernel).map(|(a, kernel)| build(recipe, level, &a, &kernel)).transpose();
        let solver = agree(comm, built)?;
        let mut about = Vec::new();
        if let Some(solver) = &solver {
            pack([solver.levels() as u64, Preconditioner::<Vec<f64>>::class(solver) as u64], &mut about);
        }
        comm.broadcast(ROOT, &mut about)?;
        let n = level.on.layout().unknowns();
        let mut entries = [(level.rows.columns().len() * level.rows.block().0 * level.rows.block().1) as f64];
        comm.all_reduce(&mut entries)?;
        let levels = unpack::<u64>(&about).next().unwrap_or(1) as usize;
        let known = [Class::Symmetric, Class::Linear].into_iter();
        let class =
            unpack::<u64>(&about).nth(1).and_then(|told| known.clone().find(|class| *class as u64 == told));
        let class = class.unwrap_or(Class::Variable);
        Ok(Self { solver, b: vec![0.0; n], x: vec![0.0; n], levels, class, entries: entries[0] as u64 })
    }

    /// x ≈ A⁻¹ b; x is NaN if the ranks cannot communicate.
    pub(crate) fn solve<C: Communicator>(&mut self, b: &DistVector<C>, x: &mut DistVector<C>) {
        if self.exchange(b, x).is_err() {
            x.own_mut().fill(f64::NAN); // `sync` of the vector returns the error
        }
    }

    fn exchange<C: Communicator>(
        &mut self,
        b: &DistVector<C>,
        x: &mut DistVector<C>,
    ) -> Result<(), CommError> {
        b.partition().collect(b.own(), &mut self.b)?;
        if let Some(solver) = &mut self.solver {
            solver.apply(&self.b, &mut self.x);
        }
        b.partition().distribute(&mut self.x, x.own_mut())
    }
}

/// The hierarchy of the whole level, on rank 0.
fn build<C: Communicator>(
    recipe: &Multigrid<SmoothedAggregation>,
    level: &LevelRows<C>,
    a: &Bsr<f64>,
    kernel: &[Vec<u8>],
) -> Result<Hierarchy, DistError> {
    let kernel: Vec<f64> = kernel.iter().flat_map(|part| unpack::<f64>(part)).collect();
    let kernel = NearKernel::from_rows(level.near_kernel.vectors(), kernel);
    let kernel = kernel.map_err(|error| DistError::Setup(error.into()))?;
    let system = System { near_kernel: Some(&kernel), ..System::from(a) };
    Ok(recipe.build_from(system, &Cpu::new())?)
}
