//! The coarsest level of the ranks, gathered on rank 0 and solved there by multigrid of a single rank.

use coarsen_backend::{Cpu, Setup, Update};
use coarsen_core::{Preconditioner, PreconditionerKind, Vector};
use coarsen_distributed::{
    CommError, Communicator, DistError, GlobalRows, Partition, RankBackend, agree, pack, unpack,
};
use coarsen_multigrid::{Hierarchy, Multigrid};
use coarsen_smoothed_aggregation::SmoothedAggregation;
use coarsen_sparse::{Bsr, NearKernel, System};

use super::step::LevelRows;

/// The rank that solves.
const ROOT: usize = 0;

/// A cycle of the gathered levels costs about as much as this number of products with their finest matrix.
const PRODUCTS: usize = 7;

/// The solver on rank 0; the other ranks only send and receive.
pub(crate) struct Gathered {
    solver: Option<Hierarchy>,
    /// The matrix and the near-kernel on rank 0, for updates.
    system: Option<(Bsr<f64>, NearKernel)>,
    /// The whole vectors, and the entries of this rank.
    b: Vec<f64>,
    x: Vec<f64>,
    own: Vec<f64>,
    pub(crate) levels: usize,
    /// The kind of the solver.
    pub(crate) kind: PreconditionerKind,
    pub(crate) entries: u64,
}

impl Gathered {
    /// All ranks call it.
    pub(crate) fn new<C: Communicator>(
        parameters: &Multigrid<SmoothedAggregation>,
        level: &LevelRows<'_, C>,
        entries: u64,
    ) -> Result<Self, DistError> {
        let comm = level.partition.comm();
        let mut kernel = Vec::new();
        pack(level.near_kernel.values().iter().copied(), &mut kernel);
        let matrix = level.rows.collect(&level.partition, level.partition.layout().rows())?;
        let (kernel, vectors) = (comm.gather(ROOT, &kernel)?, level.near_kernel.vectors());
        let built = matrix.zip(kernel).map(|(a, kernel)| build(parameters, vectors, a, &kernel)).transpose();
        let (solver, system) = agree(comm, built)?.unzip();
        let (n, of_rank) =
            (level.partition.layout().unknowns(), level.partition.count() * level.partition.layout().block());
        let (levels, kind) = about(comm, solver.as_ref())?;
        let (b, x, own) = (vec![0.0; n], vec![0.0; n], vec![0.0; of_rank]);
        Ok(Self { solver, system, b, x, own, levels, kind, entries })
    }

    /// New values of the same pattern. All ranks call it.
    pub(crate) fn update<C: Communicator>(
        &mut self,
        partition: &Partition<C>,
        rows: &GlobalRows<f64>,
    ) -> Result<(), DistError> {
        let values = rows.collect_values(partition)?;
        let here = self.solver.as_mut().zip(self.system.as_mut()).zip(values);
        let done = here.map(|((solver, (a, kernel)), values)| {
            a.values_mut().copy_from_slice(&values);
            solver.update_from(System { near_kernel: Some(kernel), ..System::from(&*a) })
        });
        agree(partition.comm(), done.transpose().map_err(DistError::from))?;
        (self.levels, self.kind) = about(partition.comm(), self.solver.as_ref())?;
        Ok(())
    }

    /// x ≈ A⁻¹ b; x is NaN if the ranks cannot communicate.
    pub(crate) fn solve<C: Communicator, S: RankBackend<C>>(&mut self, b: &S::Vector, x: &mut S::Vector) {
        if self.exchange::<C, S>(b, x).is_err() {
            x.fill(f64::NAN); // `sync` of the vector returns the error
        }
    }

    fn exchange<C: Communicator, S: RankBackend<C>>(
        &mut self,
        b: &S::Vector,
        x: &mut S::Vector,
    ) -> Result<(), CommError> {
        let partition = S::partition(b);
        S::read(b, &mut self.own)?;
        partition.collect(&self.own, &mut self.b)?;
        if let Some(solver) = &mut self.solver {
            solver.apply(&self.b, &mut self.x);
            partition.comm().worked(PRODUCTS * self.entries as usize);
        }
        partition.distribute(&mut self.x, &mut self.own)?;
        S::write(&self.own, x)
    }
}

/// The number of levels and the kind of the solver, on every rank.
fn about<C: Communicator>(
    comm: &C,
    solver: Option<&Hierarchy>,
) -> Result<(usize, PreconditionerKind), CommError> {
    let mut about = Vec::new();
    if let Some(solver) = solver {
        pack([solver.levels() as u64, Preconditioner::<Vec<f64>>::kind(solver) as u64], &mut about);
    }
    comm.broadcast(ROOT, &mut about)?;
    let levels = unpack::<u64>(&about).next().unwrap_or(1) as usize;
    let told = unpack::<u64>(&about).nth(1);
    let known = [PreconditionerKind::Symmetric, PreconditionerKind::Linear]
        .into_iter()
        .find(|kind| Some(*kind as u64) == told);
    Ok((levels, known.unwrap_or(PreconditionerKind::Variable)))
}

/// The hierarchy of the whole level on rank 0, and its system.
fn build(
    parameters: &Multigrid<SmoothedAggregation>,
    vectors: usize,
    a: Bsr<f64>,
    kernel: &[Vec<u8>],
) -> Result<(Hierarchy, (Bsr<f64>, NearKernel)), DistError> {
    let kernel: Vec<f64> = kernel.iter().flat_map(|part| unpack::<f64>(part)).collect();
    let kernel = NearKernel::from_rows(vectors, kernel);
    let kernel = kernel.map_err(|error| DistError::Setup(error.into()))?;
    let system = System { near_kernel: Some(&kernel), ..System::from(&a) };
    let solver = parameters.build_from(system, &Cpu::new())?;
    Ok((solver, (a, kernel)))
}
