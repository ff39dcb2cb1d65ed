//! The hierarchy over ranks, and its V-cycle.

use coarsen_smoothed_aggregation::tamstorf;
use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use coarsen_backend::Reused;
use coarsen_core::{Preconditioner, PreconditionerKind, Vector};
use coarsen_distributed::{
    CommError, Communicator, DistError, GlobalRows, Host, Partition, RankBackend, agree, check_equal,
};
use coarsen_multigrid::{CoarseningEnd, Multigrid};
use coarsen_smoothed_aggregation::SmoothedAggregation;
use coarsen_sparse::NearKernel;

use super::gathered::Gathered;
use super::level::{Level, cycle, inverses};
use super::step::{LevelRows, coarsen};

/// The parameters of smoothed aggregation over ranks.
///
/// ```
/// use coarsen_core::{Stop, Vector};
/// use coarsen_distributed::{DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// use coarsen_distributed_solvers::DistMultigrid;
/// use coarsen_krylov::Cg;
/// let problem = coarsen_problems::poisson2d(40)?;
/// let partition = Partition::new(SelfComm, Layout::even(1600, 1, 1)?)?;
/// let rows = GlobalRows::of(&problem.matrix, 0..1600)?;
/// let mut m = DistMultigrid::default().build(&partition, &rows, None)?;
/// let a = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo)?;
/// let b = partition.vector(vec![1.0; 1600])?;
/// let mut x = b.like()?;
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistMultigrid {
    /// The coarsening, and the parameters of the gathered level. Levels on ranks are smoothed by Chebyshev of degree 2,
    /// which needs no order of the rows, and visited in a V-cycle.
    pub multigrid: Multigrid<SmoothedAggregation>,
    /// A level with at most this number of scalar unknowns is gathered on rank 0. A level at which coarsening ends, since the next
    /// one would be hardly smaller or too dense, and the last of `multigrid.levels`, are gathered whatever their size.
    pub gather_below: usize,
    /// A coarse level has on average at least this number of scalar unknowns on each rank that has any of it, or is on one
    /// rank: where ranks have less, groups of consecutive ranks of one size give their rows to the first of the group. Fewer ranks send fewer messages where there is
    /// little to compute, and their aggregates are larger. 0 keeps all ranks.
    pub share: usize,
}

impl Default for DistMultigrid {
    /// The parameters of Tamstorf 2015; levels up to 1000 unknowns are gathered, others have on average 1000 unknowns per rank or more.
    fn default() -> Self {
        Self { multigrid: tamstorf(), gather_below: 1000, share: 1000 }
    }
}

/// The preconditioner: one V-cycle over the levels. Those on the ranks are on the backend S of each rank.
///
/// `Display` prints a table of the levels.
pub struct DistHierarchy<C: Communicator, S: RankBackend<C> = Host> {
    parameters: DistMultigrid,
    backend: S,
    partition: Arc<Partition<C>>,
    near_kernel: NearKernel,
    /// The offsets and columns of the own rows of the finest level.
    pattern: (Vec<usize>, Vec<u64>),
    levels: Vec<Level<C, S>>,
    bottom: Gathered,
    kind: PreconditionerKind,
    table: Vec<Line>,
    ended: Option<CoarseningEnd>,
}

/// A level in the table.
#[derive(Clone, Copy)]
struct Line {
    unknowns: usize,
    entries: u64,
    /// The number of ranks that have any of its rows.
    ranks: usize,
}

impl Line {
    fn of<C: Communicator>(partition: &Partition<C>, entries: u64) -> Self {
        let layout = partition.layout();
        let ranks = (0..layout.ranks()).filter(|&rank| layout.count(rank) > 0).count();
        Self { unknowns: layout.unknowns(), entries, ranks }
    }
}

impl DistMultigrid {
    /// Builds the hierarchy of a square symmetric positive definite matrix, of which every rank has its own rows. The
    /// near-kernel has the own rows too; without one, it is one constant per unknown of a block. All ranks call it, with the
    /// same parameters, and either all or none with a near-kernel.
    ///
    /// *Cost* as on one rank, divided by the ranks, plus a gather of the parameters, the rows of A, P and Q of ghosts and the entries of PᵀAP at
    /// borders. *Memory* two more copies of the own rows during setup; one and their pattern after.
    ///
    /// # Errors
    /// On every rank: [`CommError::Disagree`] if ranks pass different parameters, or near-kernels of different numbers of vectors;
    /// errors of the diagonal blocks, of the near-kernel and of communication.
    pub fn build<C: Communicator>(
        &self,
        partition: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
        near_kernel: Option<&NearKernel>,
    ) -> Result<DistHierarchy<C>, DistError> {
        self.build_at(partition, rows, near_kernel, &Host::default())
    }

    /// As [`build`](Self::build), with the levels on the ranks on a backend of each rank, such as a device. The structure is
    /// made on the host.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), and errors of the backend.
    pub fn build_at<C: Communicator, S: RankBackend<C>>(
        &self,
        partition: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
        near_kernel: Option<&NearKernel>,
        backend: &S,
    ) -> Result<DistHierarchy<C, S>, DistError> {
        let what = "the parameters of multigrid or the number of vectors of its near-kernel";
        check_equal(partition.comm(), what, &self.bytes(near_kernel))?;
        let near_kernel = agree(partition.comm(), kernel(partition, near_kernel))?;
        let (given, pattern) = (near_kernel.clone(), (rows.offsets().to_vec(), rows.columns().to_vec()));
        let finest = Cow::Borrowed(rows);
        let mut here =
            LevelRows { partition: partition.clone(), rows: finest, near_kernel, depth: 0, filtered: true };
        let (mut levels, mut table, mut ended) = (Vec::new(), Vec::new(), None);
        let coarsening = &self.multigrid.coarsening;
        let mut stored = entries(&here)?;
        let (finest, mut all) = (stored, stored);
        while here.partition.layout().unknowns() > self.gather_below
            && levels.len() + 1 < self.multigrid.levels
        {
            let at = |error: DistError| error.on_level(here.depth);
            let inverses = inverses(&here.partition, &here.rows).map_err(at)?;
            let (a, smoother) = Level::smoothed(backend, &here, &inverses, self.estimate()).map_err(at)?;
            let known = (smoother.radius, &inverses);
            let step = match coarsen(coarsening, &here, known, self.share).map_err(at)? {
                ControlFlow::Continue(step) => step,
                ControlFlow::Break(bound) => {
                    ended = bound;
                    break;
                }
            };
            let next = entries(&step.coarse)?;
            all += next;
            ended = CoarseningEnd::dense(all as usize, finest as usize);
            if ended.is_some() {
                break;
            }
            table.push(Line::of(&here.partition, stored));
            stored = next;
            let (level, coarse) = Level::new(backend, &here.partition, a, smoother, step)?;
            levels.push(level);
            here = coarse;
        }
        let bottom =
            Gathered::new(&self.multigrid, &here, stored).map_err(|error| error.on_level(here.depth))?;
        table.push(Line { ranks: 1, ..Line::of(&here.partition, bottom.entries) });
        let kind = kind(&bottom, levels.len());
        let (parameters, backend, partition, near_kernel) =
            (*self, backend.clone(), partition.clone(), given);
        Ok(DistHierarchy {
            parameters,
            backend,
            partition,
            near_kernel,
            pattern,
            levels,
            bottom,
            kind,
            table,
            ended,
        })
    }

    /// What all ranks pass alike. The text has all fields, and numbers with all digits.
    fn bytes(&self, near_kernel: Option<&NearKernel>) -> Vec<u8> {
        format!("{self:?} {:?}", near_kernel.map(NearKernel::vectors)).into_bytes()
    }

    /// The number of Lanczos steps and the factor of safety of the bound of ρ(D⁻¹A).
    fn estimate(&self) -> (usize, f64) {
        (self.multigrid.coarsening.lanczos_steps, self.multigrid.coarsening.safety)
    }
}

fn kind(bottom: &Gathered, divided: usize) -> PreconditionerKind {
    match bottom.kind {
        PreconditionerKind::Linear if bottom.levels == 1 && divided > 0 => PreconditionerKind::Symmetric, // up to round-off
        kind => kind,
    }
}

/// The near-kernel of the own rows.
fn kernel<C: Communicator>(
    partition: &Partition<C>,
    given: Option<&NearKernel>,
) -> Result<NearKernel, DistError> {
    let (b, n) = (partition.layout().block(), partition.count() * partition.layout().block());
    match given {
        Some(given) if given.size() == n => Ok(given.clone()),
        Some(given) => {
            Err(DistError::Length { what: "the rows of the near-kernel", expected: n, found: given.size() })
        }
        None => NearKernel::constants(n, b).map_err(|error| DistError::Setup(error.into())),
    }
}

/// The number of stored scalars of a level on all ranks.
fn entries<C: Communicator>(level: &LevelRows<'_, C>) -> Result<u64, DistError> {
    let mut all = [(level.rows.columns().len() * level.rows.block().0 * level.rows.block().1) as f64];
    level.partition.comm().all_reduce(&mut all)?;
    Ok(all[0] as u64)
}

impl<C: Communicator, S: RankBackend<C>> DistHierarchy<C, S> {
    /// Computes the hierarchy for new values: coarse matrices, smoothers and the gathered level; prolongations are
    /// kept. If the pattern of any rank has changed, everything is built again with the same near-kernel. All ranks
    /// call it.
    ///
    /// *Cost* the Galerkin products, an estimate of ρ(D⁻¹A) and the plans of products and messages on every level, which
    /// are made again. So an update allocates, unlike one on one rank.
    ///
    /// # Errors
    /// The errors of the build. After values that are not finite, or diagonal blocks that are not positive on any level, the
    /// hierarchy is as before; after other errors, build again.
    pub fn update(&mut self, rows: &GlobalRows<f64>) -> Result<Reused, DistError> {
        if self.has_pattern(rows)? {
            self.renew(rows)?;
            return Ok(Reused::Structure);
        }
        let partition = self.partition.clone();
        agree(partition.comm(), rows.check(&partition, &partition))?;
        *self = self.parameters.build_at(&partition, rows, Some(&self.near_kernel), &self.backend)?;
        Ok(Reused::Nothing)
    }

    /// As [`update`](Self::update) where [`has_pattern`](Self::has_pattern) has said that the pattern is the same on all ranks;
    /// it is not asked again. All ranks call it.
    ///
    /// # Errors
    /// Those of [`update`](Self::update), and on all ranks [`DistError::Value`] or [`DistError::Elsewhere`] if rows have another
    /// pattern.
    pub fn renew(&mut self, rows: &GlobalRows<f64>) -> Result<(), DistError> {
        let partition = self.partition.clone();
        let (what, range) =
            ("the number of entries of a renewed matrix, or their places", "those of the build");
        let found = rows.columns().len() as u64;
        let same = self.is_like(rows).then_some(()).ok_or(DistError::Value { what, found, range });
        let finite = || rows.check_finite().map_err(DistError::from);
        agree(partition.comm(), rows.check(&partition, &partition).and(same).and_then(|()| finite()))?;
        // Values that are refused are found before anything changes.
        let (mut coarse, mut diagonals) = (Vec::new(), Vec::new());
        for level in &self.levels {
            let here = coarse.last().unwrap_or(rows);
            diagonals.push(inverses(level.partition(), here)?);
            coarse.push(level.transfer.product(here)?);
        }
        self.bottom.update(&partition, coarse.last().unwrap_or(rows))?;
        let finer = [rows].into_iter().chain(&coarse);
        for ((level, rows), inverses) in self.levels.iter_mut().zip(finer).zip(&diagonals) {
            level.renew(&self.backend, rows, inverses, self.parameters.estimate())?;
        }
        self.kind = kind(&self.bottom, self.levels.len());
        Ok(())
    }

    /// Whether the rows of all ranks have the pattern for which the hierarchy was built, so that an update keeps its
    /// prolongations. All ranks call it. *Use* to build with a new near-kernel where an update would build with the old one.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn has_pattern(&self, rows: &GlobalRows<f64>) -> Result<bool, CommError> {
        let mut other = [f64::from(u8::from(!self.is_like(rows)))];
        self.partition.comm().all_reduce(&mut other)?;
        Ok(other[0] == 0.0)
    }

    /// Whether the rows of this rank have the pattern for which the hierarchy was built.
    fn is_like(&self, rows: &GlobalRows<f64>) -> bool {
        (rows.offsets(), rows.columns()) == (&self.pattern.0, &self.pattern.1)
    }

    /// The number of levels, those of the gathered one included.
    pub fn levels(&self) -> usize {
        self.levels.len() + self.bottom.levels
    }

    /// The number of levels that are divided among the ranks.
    pub fn divided(&self) -> usize {
        self.levels.len()
    }

    /// The number of ranks that have any rows of a level, for each level that is divided, and 1 for the gathered one.
    pub fn ranks(&self) -> Vec<usize> {
        self.table.iter().map(|line| line.ranks).collect()
    }

    /// The stored scalars of the divided levels and of the gathered one, divided by those of the finest.
    pub fn operator_complexity(&self) -> f64 {
        let all: u64 = self.table.iter().map(|line| line.entries).sum();
        all as f64 / self.table[0].entries.max(1) as f64
    }
}

impl<C: Communicator, S: RankBackend<C>> Preconditioner<S::Vector> for DistHierarchy<C, S> {
    fn apply(&mut self, r: &S::Vector, z: &mut S::Vector) {
        assert!(
            S::partition(r).is_same(&self.partition) && z.same_layout(r),
            "apply: vectors of other layouts"
        );
        cycle(&mut self.levels, &mut self.bottom, r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.partition.layout().unknowns())
    }
}

impl<C: Communicator, S: RankBackend<C>> fmt::Display for DistHierarchy<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level     unknowns      entries  where")?;
        for (level, Line { unknowns, entries, ranks }) in self.table.iter().enumerate() {
            let location = match ranks {
                _ if level == self.levels.len() => "rank 0".to_owned(),
                ranks if *ranks == self.table[0].ranks => "all ranks".to_owned(),
                1 => "1 rank".to_owned(),
                ranks => format!("{ranks} ranks"),
            };
            writeln!(f, "{level:>5} {unknowns:>12} {entries:>12}  {location}")?;
        }
        if let Some(ended) = &self.ended {
            writeln!(f, "coarsening over ranks ends here: {ended}")?;
        }
        Ok(())
    }
}
