//! The recipe over ranks, and the preconditioner that it builds.

use std::fmt;
use std::sync::Arc;

use coarsen_backend::{Reused, SetupError};
use coarsen_core::{Class, Error, Preconditioner, Vector};
use coarsen_distributed::{CommError, Communicator, DistError, DistVector, GlobalRows, Partition, agree};
use coarsen_schwarz::Schwarz;

use crate::gathered::Gathered;
use crate::level::{Followed, Level, LevelRows};

/// The recipe of multilevel additive Schwarz over ranks.
///
/// *Use* as [`Schwarz`] on one rank: for systems that change in every step. The nodes should be in an order in which
/// neighbours are near each other, such as Morton order. *Cost* of an application: one pass over the inverses of this
/// rank, one gather and one distribution of the gathered level, and messages between ranks where a chunk or a
/// domain meets the border of a rank. *Reference* Wu, Wang, Wang 2022, §5 to §7.
///
/// ```
/// use coarsen_core::{Stop, Vector};
/// use coarsen_distributed::{DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// use coarsen_distributed_schwarz::DistSchwarz;
/// use coarsen_krylov::{Cg, Krylov};
/// let problem = coarsen_problems::poisson2d(40)?;
/// let on = Partition::new(SelfComm, Layout::even(1600, 1, 1)?)?;
/// let rows = GlobalRows::of(&problem.matrix, 0..1600)?;
/// let mut m = DistSchwarz::default().build(&on, &rows)?;
/// let a = DistMatrix::new(&on, &on, &rows, Spmv::Halo)?;
/// let b = on.vector(vec![1.0; 1600])?;
/// let mut x = b.like()?;
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 100, "{report}"); // in natural order
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistSchwarz {
    /// Domains, levels, precisions, and the solver of the gathered level. Its `order`, `weights` and `refresh` are not
    /// used: the order is the global one, weights are 1, and domains are kept.
    pub schwarz: Schwarz,
    /// The number of consecutive nodes among which domains grow. A rank solves whole chunks, so there should be several
    /// for each rank; a chunk of fewer than `schwarz.domain` nodes limits domains.
    pub chunk: usize,
    /// A coarse level with at most this number of scalar unknowns is gathered on rank 0.
    pub gather_below: usize,
}

impl Default for DistSchwarz {
    /// Domains of 32 nodes, chunks of 1024 nodes; coarse levels up to 40,000 unknowns are gathered.
    fn default() -> Self {
        Self { schwarz: Schwarz::multilevel(), chunk: 1024, gather_below: 40_000 }
    }
}

/// The preconditioner over ranks. Its bits do not depend on the number of ranks and on the layout.
///
/// `Display` prints a table of the levels.
pub struct DistSubdomains<C: Communicator> {
    recipe: DistSchwarz,
    offsets: Vec<usize>,
    columns: Vec<u64>,
    levels: Vec<Level<C>>,
    bottom: Option<Gathered<C>>,
    like: DistVector<C>,
    gathered: u64,
}

impl DistSchwarz {
    /// Builds the preconditioner of a square symmetric positive definite matrix, of which every rank has its own rows.
    /// All ranks call it.
    ///
    /// *Cost* as on one rank, divided by the ranks, and rows of chunks that begin on another rank.
    ///
    /// # Errors
    /// On every rank: parameters out of range, rows that do not fit the partition, values that are not finite,
    /// diagonal entries that are not positive; errors of communication.
    pub fn build<C: Communicator>(
        &self,
        on: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
    ) -> Result<DistSubdomains<C>, DistError> {
        agree(on.comm(), self.check(on, rows))?;
        let recipe = |left: usize| Schwarz { levels: left, ..self.schwarz };
        let mut here = LevelRows { on: on.clone(), rows: rows.clone(), sizes: Vec::new() };
        let (mut levels, mut bottom, mut values, mut gathered) = (Vec::new(), None, 0, 0);
        loop {
            let (level, next) = Level::new(&self.schwarz, self.chunk as u64, &here)?;
            values += level.values;
            levels.push(level);
            let Some(next) = next.filter(|_| levels.len() < self.schwarz.levels) else { break };
            let unknowns = next.on.layout().unknowns();
            if unknowns <= self.gather_below {
                bottom = Some(Gathered::new(&recipe(self.schwarz.levels - levels.len()), &next, values)?);
                gathered = next.on.layout().rows();
                break;
            }
            here = next;
        }
        let like = on.vector(vec![0.0; on.count() * on.layout().block()])?;
        let (offsets, columns) = (rows.offsets().to_vec(), rows.columns().to_vec());
        Ok(DistSubdomains { recipe: *self, offsets, columns, levels, bottom, like, gathered })
    }

    fn check<C: Communicator>(&self, on: &Partition<C>, rows: &GlobalRows<f64>) -> Result<(), DistError> {
        if self.chunk == 0 {
            let error = Error::Parameter { name: "DistSchwarz::chunk", value: 0.0, range: "1 or more" };
            return Err(SetupError::from(error).into());
        }
        self.schwarz.validate(on.layout().block())?;
        rows.check(on, on)
    }
}

impl<C: Communicator> DistSubdomains<C> {
    /// Computes the preconditioner for new values. If the pattern of any rank has changed, or a node has lost or gained
    /// all its couplings, everything is built again. All ranks call it.
    ///
    /// Domains are those of the first values, so that M can differ from that of a build. *Cost* the inverses and the
    /// coarse matrices. Rows that change their rank and coarse rows are put together again, so an update allocates,
    /// unlike one on one rank. A gathered level whose factor fails is divided into domains.
    ///
    /// # Errors
    /// The errors of the build. After an error, build again.
    pub fn update(&mut self, rows: &GlobalRows<f64>) -> Result<Reused, DistError> {
        let on = self.like.partition().clone();
        let same = (rows.offsets(), rows.columns()) == (&self.offsets, &self.columns);
        let mut other = [f64::from(u8::from(!same))];
        on.comm().all_reduce(&mut other)?;
        agree(on.comm(), self.recipe.check(&on, rows))?;
        if other[0] == 0.0 && self.follow(&on, rows)? {
            return Ok(Reused::Structure);
        }
        *self = self.recipe.build(&on, rows)?;
        Ok(Reused::Nothing)
    }

    /// Whether the structure served.
    fn follow(&mut self, on: &Arc<Partition<C>>, rows: &GlobalRows<f64>) -> Result<bool, DistError> {
        let mut here = LevelRows { on: on.clone(), rows: rows.clone(), sizes: Vec::new() };
        for level in &mut self.levels {
            match level.update(&here)? {
                Followed::Next(next) => here = next,
                Followed::Last => return Ok(true),
                Followed::Other => return Ok(false),
            }
        }
        if let Some(bottom) = &mut self.bottom {
            bottom.update(&here)?;
        }
        Ok(true)
    }

    /// The number of levels, those of the gathered one included.
    pub fn levels(&self) -> usize {
        self.levels.len() + self.bottom.as_ref().map_or(0, |bottom| bottom.levels.max(1))
    }

    /// The number of levels that are divided among the ranks.
    pub fn divided(&self) -> usize {
        self.levels.len()
    }

    fn correct(&mut self, r: &[f64], z: &mut [f64]) -> Result<(), CommError> {
        let (last, levels) = (self.levels.len() - 1, &mut self.levels);
        levels[0].restrict(r)?;
        for k in 1..levels.len() {
            let (finer, coarser) = levels.split_at_mut(k);
            coarser[0].restrict(&finer[k - 1].coarse_r)?;
        }
        if let Some(bottom) = &mut self.bottom {
            let Level { coarse_r, coarse_z, .. } = &mut levels[last];
            bottom.begin(coarse_r, coarse_z)?;
        }
        levels.iter_mut().for_each(Level::solve);
        if let Some(bottom) = &mut self.bottom {
            bottom.end(&mut levels[last].coarse_z)?;
        }
        for k in (1..levels.len()).rev() {
            let (finer, coarser) = levels.split_at_mut(k);
            coarser[0].prolong(k < last || self.bottom.is_some(), &mut finer[k - 1].coarse_z)?;
        }
        levels[0].prolong(last > 0 || self.bottom.is_some(), z)
    }
}

impl<C: Communicator> Preconditioner<DistVector<C>> for DistSubdomains<C> {
    fn apply(&mut self, r: &DistVector<C>, z: &mut DistVector<C>) {
        assert!(r.same_layout(&self.like) && z.same_layout(r), "apply: vectors of other layouts");
        if self.correct(r.own(), z.own_mut()).is_err() {
            z.own_mut().fill(f64::NAN); // `sync` of the vector returns the error
        }
    }

    /// Inverses and their sum are symmetric and positive definite.
    fn class(&self) -> Class {
        Class::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.like.size())
    }
}

impl<C: Communicator> fmt::Display for DistSubdomains<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level        nodes      inverses  where")?;
        for (level, of) in self.levels.iter().enumerate() {
            writeln!(f, "{level:>5} {:>12} {:>13}  all ranks", of.counts()[0], of.values)?;
        }
        if let Some(bottom) = &self.bottom {
            let how = if bottom.levels == 0 { "a factor" } else { "domains" };
            writeln!(f, "{:>5} {:>12} {how:>13}  rank 0", self.levels.len(), self.gathered)?;
        }
        Ok(())
    }
}
