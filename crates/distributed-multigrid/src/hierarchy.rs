//! The hierarchy over ranks, and its V-cycle.

use std::fmt;
use std::sync::Arc;

use coarsen_backend::Reused;
use coarsen_core::{Class, LinearOperator, Preconditioner, Vector};
use coarsen_distributed::{
    CommError, Communicator, DistError, DistMatrix, DistVector, GlobalRows, Partition, Spmv, agree,
};
use coarsen_multigrid::{Multigrid, SmoothedAggregation};
use coarsen_sparse::NearKernel;

use crate::galerkin::Transfer;
use crate::gathered::Gathered;
use crate::smoother::Chebyshev;
use crate::step::{LevelRows, Step, coarsen};

/// The recipe of smoothed aggregation over ranks.
///
/// ```
/// use coarsen_core::{Stop, Vector};
/// use coarsen_distributed::{DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// use coarsen_distributed_multigrid::DistMultigrid;
/// use coarsen_krylov::{Cg, Krylov};
/// let problem = coarsen_problems::poisson2d(40)?;
/// let on = Partition::new(SelfComm, Layout::even(1600, 1, 1)?)?;
/// let rows = GlobalRows::of(&problem.matrix, 0..1600)?;
/// let mut m = DistMultigrid::default().build(&on, &rows, None)?;
/// let a = DistMatrix::new(&on, &on, &rows, Spmv::Halo)?;
/// let b = on.vector(vec![1.0; 1600])?;
/// let mut x = b.like()?;
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistMultigrid {
    /// The coarsening, and the recipe of the gathered level. Levels on ranks are smoothed by Chebyshev of degree 2,
    /// which needs no order of the rows, and visited in a V-cycle.
    pub multigrid: Multigrid<SmoothedAggregation>,
    /// A level with at most this number of scalar unknowns is gathered on rank 0. A level that cannot be coarsened,
    /// and the last of `multigrid.levels`, are gathered whatever their size.
    pub gather_below: usize,
    /// A coarse level has on average at least this number of scalar unknowns on each rank that has any of it, or is on one
    /// rank: where ranks have less, groups of consecutive ranks of one size give their rows to the first of the group. Fewer ranks send fewer messages where there is
    /// little to compute, and their aggregates are larger. 0 keeps all ranks.
    pub share: usize,
}

impl Default for DistMultigrid {
    /// The recipe of Tamstorf 2015; levels up to 1000 unknowns are gathered, others have on average 1000 unknowns per rank or more.
    fn default() -> Self {
        Self { multigrid: Multigrid::tamstorf(), gather_below: 1000, share: 1000 }
    }
}

/// The preconditioner: one V-cycle over the levels.
///
/// `Display` prints a table of the levels.
pub struct DistHierarchy<C: Communicator> {
    recipe: DistMultigrid,
    near_kernel: NearKernel,
    /// The offsets and columns of the own rows of the finest level.
    pattern: (Vec<usize>, Vec<u64>),
    levels: Vec<Level<C>>,
    bottom: Gathered,
    like: DistVector<C>,
    class: Class,
    table: Vec<Line>,
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
    fn of<C: Communicator>(on: &Partition<C>, entries: u64) -> Self {
        let layout = on.layout();
        let ranks = (0..layout.ranks()).filter(|&rank| layout.count(rank) > 0).count();
        Self { unknowns: layout.unknowns(), entries, ranks }
    }
}

struct Level<C: Communicator> {
    a: DistMatrix<C>,
    smoother: Chebyshev<C>,
    p: DistMatrix<C>,
    transposed: DistMatrix<C>,
    transfer: Transfer<C>,
    residual: DistVector<C>,
    correction: DistVector<C>,
    coarse_b: DistVector<C>,
    coarse_x: DistVector<C>,
}

impl DistMultigrid {
    /// Builds the hierarchy of a square symmetric positive definite matrix, of which every rank has its own rows. The
    /// near-kernel has the own rows too; without one, it is one constant per unknown of a block. All ranks call it.
    ///
    /// *Cost* as on one rank, divided by the ranks, plus the rows of A, P and Q of ghosts and the entries of PᵀAP at
    /// borders. *Memory* two more copies of the own rows during setup, one after.
    ///
    /// # Errors
    /// On every rank: errors of the diagonal blocks, of the near-kernel and of communication.
    pub fn build<C: Communicator>(
        &self,
        on: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
        near_kernel: Option<&NearKernel>,
    ) -> Result<DistHierarchy<C>, DistError> {
        let near_kernel = agree(on.comm(), kernel(on, near_kernel))?;
        let (given, pattern) = (near_kernel.clone(), (rows.offsets().to_vec(), rows.columns().to_vec()));
        let mut here =
            LevelRows { on: on.clone(), rows: rows.clone(), near_kernel, depth: 0, filtered: true };
        let (mut levels, mut table) = (Vec::new(), Vec::new());
        while here.on.layout().unknowns() > self.gather_below && levels.len() + 1 < self.multigrid.levels {
            let a = DistMatrix::new(&here.on, &here.on, &here.rows, Spmv::Halo)?;
            let coarsening = &self.multigrid.coarsening;
            let smoother = Chebyshev::new(&a, &here.rows, coarsening.lanczos_steps, coarsening.safety)?;
            let Some(step) = coarsen(coarsening, &here, smoother.radius, self.share)? else { break };
            table.push(Line::of(&here.on, entries(&here)?));
            let (level, coarse) = Level::new(a, smoother, step)?;
            levels.push(level);
            here = coarse;
        }
        let bottom = Gathered::new(&self.multigrid, &here)?;
        table.push(Line { ranks: 1, ..Line::of(&here.on, bottom.entries) });
        let class = class(&bottom, levels.len());
        let like = on.vector(vec![0.0; on.count() * on.layout().block()])?;
        Ok(DistHierarchy { recipe: *self, near_kernel: given, pattern, levels, bottom, like, class, table })
    }
}

/// The class of the cycle.
fn class(bottom: &Gathered, divided: usize) -> Class {
    match bottom.class {
        Class::Linear if bottom.levels == 1 && divided > 0 => Class::Symmetric, // up to round-off
        class => class,
    }
}

/// The near-kernel of the own rows.
fn kernel<C: Communicator>(on: &Partition<C>, given: Option<&NearKernel>) -> Result<NearKernel, DistError> {
    let (b, n) = (on.layout().block(), on.count() * on.layout().block());
    match given {
        Some(given) if given.size() == n => Ok(given.clone()),
        Some(given) => {
            Err(DistError::Length { what: "the rows of the near-kernel", expected: n, found: given.size() })
        }
        None => NearKernel::constants(n, b).map_err(|error| DistError::Setup(error.into())),
    }
}

/// The number of stored scalars of a level on all ranks.
fn entries<C: Communicator>(level: &LevelRows<C>) -> Result<u64, DistError> {
    let mut all = [(level.rows.columns().len() * level.rows.block().0 * level.rows.block().1) as f64];
    level.on.comm().all_reduce(&mut all)?;
    Ok(all[0] as u64)
}

impl<C: Communicator> Level<C> {
    fn new(
        a: DistMatrix<C>,
        smoother: Chebyshev<C>,
        step: Step<C>,
    ) -> Result<(Self, LevelRows<C>), DistError> {
        let Step { coarse, p, transposed, transfer } = step;
        let fine = a.rows().clone();
        let vector = |on: &Arc<Partition<C>>| on.vector(vec![0.0; on.count() * on.layout().block()]);
        let level = Self {
            p: DistMatrix::new(&fine, &coarse.on, &p, Spmv::Halo)?,
            transposed: DistMatrix::new(&coarse.on, &fine, &transposed, Spmv::Halo)?,
            residual: vector(&fine)?,
            correction: vector(&fine)?,
            coarse_b: vector(&coarse.on)?,
            coarse_x: vector(&coarse.on)?,
            transfer,
            a,
            smoother,
        };
        Ok((level, coarse))
    }
}

impl<C: Communicator> Level<C> {
    /// New values of this level; returns those of the coarser one. All ranks call it.
    fn update(
        &mut self,
        rows: &GlobalRows<f64>,
        recipe: &DistMultigrid,
    ) -> Result<GlobalRows<f64>, DistError> {
        let SmoothedAggregation { lanczos_steps, safety, .. } = recipe.multigrid.coarsening;
        self.a.set_values(rows)?;
        self.smoother = Chebyshev::new(&self.a, rows, lanczos_steps, safety)?;
        self.transfer.product(rows)
    }
}

/// x ≈ A⁻¹ b from x = 0.
fn cycle<C: Communicator>(
    levels: &mut [Level<C>],
    bottom: &mut Gathered,
    b: &DistVector<C>,
    x: &mut DistVector<C>,
) {
    let Some((level, coarser)) = levels.split_first_mut() else { return bottom.solve(b, x) };
    level.smoother.start(&level.a, b, x);
    level.a.residual(b, x, &mut level.residual);
    level.transposed.apply(&level.residual, &mut level.coarse_b);
    cycle(coarser, bottom, &level.coarse_b, &mut level.coarse_x);
    level.p.apply(&level.coarse_x, &mut level.correction);
    x.axpby(&1.0.into(), &level.correction, &1.0.into());
    level.smoother.smooth(&level.a, b, x);
}

impl<C: Communicator> DistHierarchy<C> {
    /// Computes the hierarchy for new values: coarse matrices, smoothers and the gathered level; prolongations are
    /// kept. If the pattern of any rank has changed, everything is built again with the same near-kernel. All ranks
    /// call it.
    ///
    /// *Cost* the Galerkin products, an estimate of ρ(D⁻¹A) and the plans of products and messages on every level, which
    /// are made again. So an update allocates, unlike one on one rank.
    ///
    /// # Errors
    /// The errors of the build. After an error, build again.
    pub fn update(&mut self, rows: &GlobalRows<f64>) -> Result<Reused, DistError> {
        let on = self.like.partition().clone();
        if self.has_pattern(rows)? {
            self.renew(rows)?;
            return Ok(Reused::Structure);
        }
        agree(on.comm(), rows.check(&on, &on))?;
        *self = self.recipe.build(&on, rows, Some(&self.near_kernel))?;
        Ok(Reused::Nothing)
    }

    /// As [`update`](Self::update) where [`has_pattern`](Self::has_pattern) has said that the pattern is the same on all ranks;
    /// it is not asked again. All ranks call it.
    ///
    /// # Errors
    /// Those of [`update`](Self::update), and on all ranks [`DistError::Value`] or [`DistError::Elsewhere`] if rows have another
    /// pattern. After an error, build again.
    pub fn renew(&mut self, rows: &GlobalRows<f64>) -> Result<(), DistError> {
        let on = self.like.partition().clone();
        let (what, range) =
            ("the number of entries of a renewed matrix, or their places", "those of the build");
        let found = rows.columns().len() as u64;
        let same = self.is_like(rows).then_some(()).ok_or(DistError::Value { what, found, range });
        agree(on.comm(), rows.check(&on, &on).and(same))?;
        let mut coarse = None;
        for level in &mut self.levels {
            coarse = Some(level.update(coarse.as_ref().unwrap_or(rows), &self.recipe)?);
        }
        self.bottom.update(&on, coarse.as_ref().unwrap_or(rows))?;
        self.class = class(&self.bottom, self.levels.len());
        Ok(())
    }

    /// Whether the rows of all ranks have the pattern for which the hierarchy was built, so that an update keeps its
    /// prolongations. All ranks call it. *Use* to build with a new near-kernel where an update would build with the old one.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn has_pattern(&self, rows: &GlobalRows<f64>) -> Result<bool, CommError> {
        let mut other = [f64::from(u8::from(!self.is_like(rows)))];
        self.like.partition().comm().all_reduce(&mut other)?;
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

impl<C: Communicator> Preconditioner<DistVector<C>> for DistHierarchy<C> {
    fn apply(&mut self, r: &DistVector<C>, z: &mut DistVector<C>) {
        assert!(r.same_layout(&self.like) && z.same_layout(r), "apply: vectors of other layouts");
        cycle(&mut self.levels, &mut self.bottom, r, z);
    }

    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.like.size())
    }
}

impl<C: Communicator> fmt::Display for DistHierarchy<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level     unknowns      entries  where")?;
        for (level, Line { unknowns, entries, ranks }) in self.table.iter().enumerate() {
            let place = match ranks {
                _ if level == self.levels.len() => "rank 0".to_owned(),
                ranks if *ranks == self.table[0].ranks => "all ranks".to_owned(),
                1 => "1 rank".to_owned(),
                ranks => format!("{ranks} ranks"),
            };
            writeln!(f, "{level:>5} {unknowns:>12} {entries:>12}  {place}")?;
        }
        Ok(())
    }
}
