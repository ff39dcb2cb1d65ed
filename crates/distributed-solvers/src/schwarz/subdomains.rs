//! The parameters over ranks, and the preconditioner that it builds.

use std::fmt;
use std::sync::Arc;

use coarsen_backend::{Backend, Reused, SetupError};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Vector};
use coarsen_distributed::{
    CommError, Communicator, DistError, DistVector, GlobalRows, Host, Partition, RankBackend, agree,
    check_equal,
};
use coarsen_schwarz::{Schwarz, SchwarzBackend};

use super::gathered::Gathered;
use super::level::{Level, LevelRows, LevelUpdate};

/// The parameters of multilevel additive Schwarz over ranks.
///
/// *Use* as [`Schwarz`] on one rank: for systems that change in every step. The nodes should be in an order in which
/// neighbours are near each other, such as Morton order. *Cost* of an application: one pass over the inverses of this
/// rank, one gather and one distribution of the gathered level, and messages between ranks where a chunk or a
/// domain meets the border of a rank. *Reference* Wu, Wang, Wang 2022, §5 to §7.
///
/// ```
/// use coarsen_core::{Stop, Vector};
/// use coarsen_distributed::{DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// use coarsen_distributed_solvers::DistSchwarz;
/// use coarsen_krylov::Cg;
/// let problem = coarsen_problems::poisson2d(40)?;
/// let partition = Partition::new(SelfComm, Layout::even(1600, 1, 1)?)?;
/// let rows = GlobalRows::of(&problem.matrix, 0..1600)?;
/// let mut m = DistSchwarz::default().build(&partition, &rows)?;
/// let a = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo)?;
/// let b = partition.vector(vec![1.0; 1600])?;
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

/// The preconditioner over ranks. On the host, its bits do not depend on the number of ranks and on the layout. On other
/// backends, operators on different ranks agree up to round-off.
///
/// The finest level is on the backend S of each rank. Coarser levels have a thirty-second of the nodes and are on the host.
/// `Display` prints a table of the levels.
pub struct DistSubdomains<C: Communicator, S: RankBackend<C, Local: SchwarzBackend> = Host> {
    parameters: DistSchwarz,
    backend: S,
    partition: Arc<Partition<C>>,
    offsets: Vec<usize>,
    columns: Vec<u64>,
    finest: Level<C, S>,
    coarser: Vec<Level<C, Host>>,
    /// The residual and the correction of each level below the finest, the gathered one included.
    below: Vec<[DistVector<C>; 2]>,
    bottom: Option<Gathered<C>>,
}

impl DistSchwarz {
    /// Builds the preconditioner of a square symmetric positive definite matrix, of which every rank has its own rows.
    /// All ranks call it, with the same parameters.
    ///
    /// *Cost* as on one rank, divided by the ranks, a gather of the parameters, and rows of chunks that begin on another
    /// rank.
    ///
    /// # Errors
    /// On every rank: [`CommError::Disagree`] if ranks pass different parameters; parameters out of range, rows that do not
    /// fit the partition, values that are not finite, diagonal entries that are not positive; errors of communication.
    pub fn build<C: Communicator>(
        &self,
        partition: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
    ) -> Result<DistSubdomains<C>, DistError> {
        self.build_at(partition, rows, &Host::default())
    }

    /// As [`build`](Self::build), with the finest level on a backend of each rank, such as a device. The setup runs on the host.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), and errors of the backend.
    pub fn build_at<C: Communicator, S: RankBackend<C, Local: SchwarzBackend>>(
        &self,
        partition: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
        backend: &S,
    ) -> Result<DistSubdomains<C, S>, DistError> {
        // The text has all fields, and numbers with all digits.
        check_equal(
            partition.comm(),
            "the parameters of multilevel Schwarz",
            format!("{self:?}").as_bytes(),
        )?;
        agree(partition.comm(), self.check(partition, rows))?;
        let (limit, chunk) = (self.schwarz.levels, self.chunk as u64);
        let fine = LevelRows { partition: partition.clone(), rows: rows.clone(), sizes: Vec::new() };
        let (finest, mut next) = Level::new(&self.schwarz, chunk, &fine, backend)?;
        let (mut coarser, mut below, mut bottom, mut values) = (Vec::new(), Vec::new(), None, finest.values);
        while let Some(here) = next.filter(|_| coarser.len() + 1 < limit) {
            let zeros =
                || here.partition.vector(vec![0.0; here.partition.count() * here.partition.layout().block()]);
            below.push([zeros()?, zeros()?]);
            if here.partition.layout().unknowns() <= self.gather_below {
                let parameters = Schwarz { levels: limit - 1 - coarser.len(), ..self.schwarz };
                let gathered = Gathered::new(&parameters, &here, values);
                bottom = Some(gathered.map_err(|error| error.on_level(below.len()))?);
                break;
            }
            let level: Level<C, Host>;
            let coarse = Level::new(&self.schwarz, chunk, &here, &Host::default());
            (level, next) = coarse.map_err(|error| error.on_level(below.len()))?;
            values += level.values;
            coarser.push(level);
        }
        let (offsets, columns) = (rows.offsets().to_vec(), rows.columns().to_vec());
        let (parameters, backend, partition) = (*self, backend.clone(), partition.clone());
        Ok(DistSubdomains {
            parameters,
            backend,
            partition,
            offsets,
            columns,
            finest,
            coarser,
            below,
            bottom,
        })
    }

    fn check<C: Communicator>(
        &self,
        partition: &Partition<C>,
        rows: &GlobalRows<f64>,
    ) -> Result<(), DistError> {
        if self.chunk == 0 {
            let error = Error::Parameter { name: "DistSchwarz::chunk", value: 0.0, range: "1 or more" };
            return Err(SetupError::from(error).into());
        }
        self.schwarz.validate(partition.layout().block())?;
        rows.check(partition, partition)
    }
}

impl<C: Communicator, S: RankBackend<C, Local: SchwarzBackend>> DistSubdomains<C, S> {
    /// Computes the preconditioner for new values. If the pattern of any rank has changed, or a node has lost or gained
    /// all its couplings, everything is built again. All ranks call it.
    ///
    /// Domains are those of the first values, so that M can differ from that of a build. *Cost* the inverses and the
    /// coarse matrices. Rows that change their rank and coarse rows are put together again, so an update allocates,
    /// unlike one on one rank. A gathered level whose factor fails is divided into domains.
    ///
    /// # Errors
    /// The errors of the build. After values that a build refuses, the preconditioner is as before; after an error of
    /// communication or of a backend, and after sums of values that overflow, build again.
    pub fn update(&mut self, rows: &GlobalRows<f64>) -> Result<Reused, DistError> {
        let partition = self.partition.clone();
        let same = (rows.offsets(), rows.columns()) == (&self.offsets, &self.columns);
        let mut other = [f64::from(u8::from(!same))];
        partition.comm().all_reduce(&mut other)?;
        agree(partition.comm(), self.parameters.check(&partition, rows))?;
        if other[0] == 0.0 && self.update_levels(&partition, rows)? {
            return Ok(Reused::Structure);
        }
        *self = self.parameters.build_at(&partition, rows, &self.backend)?;
        Ok(Reused::Nothing)
    }

    /// Whether the structure served.
    fn update_levels(
        &mut self,
        partition: &Arc<Partition<C>>,
        rows: &GlobalRows<f64>,
    ) -> Result<bool, DistError> {
        let fine = LevelRows { partition: partition.clone(), rows: rows.clone(), sizes: Vec::new() };
        let mut update = self.finest.update(&fine)?;
        for level in &mut self.coarser {
            let LevelUpdate::Next(here) = update else { break };
            update = level.update(&here)?;
        }
        match (update, &mut self.bottom) {
            (LevelUpdate::Other, _) => return Ok(false),
            (LevelUpdate::Next(here), Some(bottom)) => bottom.update(&here)?,
            _ => (),
        }
        Ok(true)
    }

    /// The number of levels, those of the gathered one included.
    pub fn levels(&self) -> usize {
        self.divided() + self.bottom.as_ref().map_or(0, |bottom| bottom.levels.max(1))
    }

    /// The number of levels that are divided among the ranks.
    pub fn divided(&self) -> usize {
        1 + self.coarser.len()
    }

    /// z = M⁻¹ r. Rank 0 answers the other ranks before it solves its own domains; a backend beside the host solves them
    /// while the host restricts coarser levels.
    fn correct(&mut self, r: &S::Vector, z: &mut S::Vector) -> Result<(), CommError> {
        let Self { backend, finest, coarser, below, bottom, .. } = self;
        let beside = backend.local().is_remote();
        finest.restrict(r, below.first_mut().map(|[r, _]| r))?;
        if beside {
            finest.solve(r, z);
            backend.start();
        }
        for (k, level) in coarser.iter_mut().enumerate() {
            let (here, next) = below.split_at_mut(k + 1);
            level.restrict(&here[k][0], next.first_mut().map(|[r, _]| r))?;
        }
        if let (Some(bottom), Some([r, z])) = (&mut *bottom, below.last_mut()) {
            bottom.begin(r.own(), z.own_mut())?;
        }
        if !beside {
            finest.solve(r, z);
        }
        coarser.iter_mut().zip(&mut *below).for_each(|(level, [r, z])| level.solve(r, z));
        if let (Some(bottom), Some([_, z])) = (bottom, below.last_mut()) {
            bottom.end(z.own_mut())?;
        }
        for (k, level) in coarser.iter_mut().enumerate().rev() {
            let (here, next) = below.split_at_mut(k + 1);
            level.prolong(next.first().map(|[_, z]| z), &mut here[k][1])?;
        }
        finest.prolong(below.first().map(|[_, z]| z), z)
    }
}

impl<C: Communicator, S: RankBackend<C, Local: SchwarzBackend>> Preconditioner<S::Vector>
    for DistSubdomains<C, S>
{
    fn apply(&mut self, r: &S::Vector, z: &mut S::Vector) {
        assert!(
            S::partition(r).is_same(&self.partition) && z.same_layout(r),
            "apply: vectors of other layouts"
        );
        if self.correct(r, z).is_err() {
            z.fill(f64::NAN); // `sync` of the vector returns the error
        }
    }

    /// Inverses and their sum are symmetric and positive definite.
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.partition.layout().unknowns())
    }
}

impl<C: Communicator, S: RankBackend<C, Local: SchwarzBackend>> fmt::Display for DistSubdomains<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level        nodes      inverses  where")?;
        let counts = |level: &Level<C, Host>| (level.counts()[0], level.values);
        let levels = [(self.finest.counts()[0], self.finest.values)].into_iter();
        for (level, (nodes, values)) in levels.chain(self.coarser.iter().map(counts)).enumerate() {
            writeln!(f, "{level:>5} {nodes:>12} {values:>13}  all ranks")?;
        }
        if let (Some(bottom), Some([r, _])) = (&self.bottom, self.below.last()) {
            let how = if bottom.levels == 0 { "a factor" } else { "domains" };
            let nodes = r.partition().layout().rows();
            writeln!(f, "{:>5} {nodes:>12} {how:>13}  rank 0", self.divided())?;
        }
        Ok(())
    }
}
