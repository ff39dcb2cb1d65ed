//! One level that is divided among the ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | chunk | `chunk` | this number of consecutive nodes of the global order |
//! | S_d, (S_d A S_dᵀ)⁻¹ | `domains` | domains inside chunks, and their inverses |
//! | r, z | | residual and correction of this rank, on its backend |
//! | C r, Cᵀ z | `restrict`, `prolong` | sums over the domains of this rank, on the host |

use std::sync::Arc;

use coarsen_core::Preconditioner;
use coarsen_distributed::{
    CommError, Communicator, DistError, DistVector, Entries, GlobalRows, Layout, Partition, RankBackend,
    Redistribution, agree,
};
use coarsen_schwarz::{self as schwarz, Schwarz, SchwarzBackend, Subdomains};
use coarsen_sparse::{Bsr, Pattern, SparseError};

use super::coarse::{Supernodes, sizes};

/// The own rows of a level.
pub(crate) struct LevelRows<C: Communicator> {
    pub(crate) partition: Arc<Partition<C>>,
    pub(crate) rows: GlobalRows<f64>,
    /// For each own unknown, the sum of its diagonal entries on the finest level; empty on the finest level.
    pub(crate) sizes: Vec<f64>,
}

/// A level that is divided among the ranks, with its domains on the backend S of each rank.
pub(crate) struct Level<C: Communicator, S: RankBackend<C, Local: SchwarzBackend>> {
    /// Whole chunks for each rank.
    partition: Arc<Partition<C>>,
    /// From the partition of the vectors, if it is another one.
    moved: Option<Moved<C, S>>,
    chunk: u64,
    domains: Subdomains<f64, S::Local>,
    /// The next level; `None` if its nodes are not coupled.
    next: Option<Next<C>>,
    /// The number of values of all inverses of all ranks.
    pub(crate) values: usize,
}

/// Vectors of whole chunks, and the moves to them.
struct Moved<C: Communicator, S: RankBackend<C>> {
    /// For sizes, which are on the host at every backend.
    of_host: Redistribution<C>,
    redistribution: S::Redistribution,
    r: S::Vector,
    z: S::Vector,
}

/// The result of an update.
pub(crate) enum LevelUpdate<C: Communicator> {
    /// The rows of the next level.
    Next(LevelRows<C>),
    /// There is no next level.
    Last,
    /// The pattern or the nodes in domains are others; nothing has changed.
    Other,
}

struct Next<C: Communicator> {
    partition: Arc<Partition<C>>,
    supernodes: Supernodes,
}

/// Each rank has the chunks that begin in its rows; `None` if these are its rows.
fn whole_chunks<C: Communicator>(
    partition: &Arc<Partition<C>>,
    chunk: u64,
) -> Result<Option<Arc<Partition<C>>>, DistError> {
    let layout = partition.layout();
    let start =
        |rank: usize| layout.range(rank).start.div_ceil(chunk).saturating_mul(chunk).min(layout.rows());
    let starts = (0..layout.ranks()).map(start).chain([layout.rows()]).collect();
    let chunks = Layout::new(starts, layout.block())?;
    if (0..layout.ranks()).all(|rank| chunks.range(rank) == layout.range(rank)) {
        return Ok(None);
    }
    Partition::new(partition.comm().clone(), chunks).map(Some)
}

/// What the chunks of this rank consist of.
struct Part {
    rows: GlobalRows<f64>,
    sizes: Vec<f64>,
    /// The couplings inside chunks.
    inside: Bsr<f64>,
    /// Whether each node has any coupling.
    coupled: Vec<bool>,
}

impl Part {
    fn new<C: Communicator>(
        fine: &LevelRows<C>,
        to: &Arc<Partition<C>>,
        redistribution: Option<&Redistribution<C>>,
        chunk: u64,
    ) -> Result<Self, DistError> {
        let (mut rows, mut sizes) = (None, fine.sizes.clone());
        if let Some(redistribution) = redistribution {
            let (first, b) = (fine.rows.first(), to.layout().block());
            let mut entries = Entries::new(to, to.layout().rows(), b);
            for k in 0..fine.rows.count() {
                for (j, block) in fine.rows.row(k) {
                    entries.add(first + k as u64, j, block)?;
                }
            }
            rows = Some(entries.finish()?);
            // Sizes are empty on the finest level only, on all ranks.
            let mut has = [fine.sizes.len() as f64];
            to.comm().all_reduce(&mut has)?;
            if has[0] > 0.0 {
                sizes = vec![0.0; to.count() * b];
                redistribution.forward(&fine.sizes, &mut sizes)?;
            }
        }
        let rows = rows.unwrap_or_else(|| fine.rows.clone());
        let checked = rows.check_finite().and_then(|()| inside(&rows, chunk)).map_err(DistError::from);
        let inside = agree(to.comm(), checked)?;
        let is_coupled = |k: usize| {
            let i = rows.first() + k as u64;
            !sizes.is_empty() || rows.row(k).any(|(j, block)| j != i && block.iter().any(|v| *v != 0.0))
        };
        let coupled = (0..rows.count()).map(is_coupled).collect();
        Ok(Self { rows, sizes, inside, coupled })
    }

    fn level(&self) -> schwarz::Level<'_, f64> {
        schwarz::Level { matrix: &self.inside, coupled: &self.coupled, sizes: &self.sizes }
    }
}

/// The couplings between nodes of the same chunk, with own numbers of rows and columns.
fn inside(rows: &GlobalRows<f64>, chunk: u64) -> Result<Bsr<f64>, SparseError> {
    let (first, count) = (rows.first(), rows.count());
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for k in 0..count {
        let of = (first + k as u64) / chunk;
        for (j, block) in rows.row(k).filter(|(j, _)| j / chunk == of) {
            indices.push((j - first) as u32); // this rank has the whole chunk
            values.extend_from_slice(block);
        }
        offsets.push(indices.len());
    }
    Bsr::new(Arc::new(Pattern::new(count, offsets, indices)?), rows.block(), values)
}

impl<C: Communicator, S: RankBackend<C>> Moved<C, S> {
    fn new(backend: &S, from: &Arc<Partition<C>>, to: &Arc<Partition<C>>) -> Result<Self, DistError> {
        let (of_host, redistribution) = (Redistribution::new(from, to)?, backend.redistribution(from, to)?);
        Ok(Self { of_host, redistribution, r: backend.zeros(to)?, z: backend.zeros(to)? })
    }
}

impl<C: Communicator, S: RankBackend<C, Local: SchwarzBackend>> Level<C, S> {
    /// The domains of a level, and the rows of the next one, if there is one. All ranks call it.
    pub(crate) fn new(
        parameters: &Schwarz,
        chunk: u64,
        fine: &LevelRows<C>,
        backend: &S,
    ) -> Result<(Self, Option<LevelRows<C>>), DistError> {
        let chunks = whole_chunks(&fine.partition, chunk)?;
        let moved = chunks.as_ref().map(|to| Moved::new(backend, &fine.partition, to)).transpose()?;
        let partition = chunks.unwrap_or_else(|| fine.partition.clone());
        let part = Part::new(fine, &partition, moved.as_ref().map(|moved| &moved.of_host), chunk)?;
        let (b, first) =
            (partition.layout().block(), partition.first() as usize * partition.layout().block());
        let built = parameters.build_level(&part.level(), backend.local());
        let domains = agree(partition.comm(), built.map_err(|error| DistError::of_rows(error, first, b)))?;
        let count = domains.plan().domains(0);
        let mut values = [domains.plan().values() as f64];
        partition.comm().all_reduce(&mut values)?;
        let mut level = Self { partition, moved, chunk, next: None, values: values[0] as usize, domains };
        let coarse_partition = Partition::of_counts(level.partition.comm().clone(), count, b)?;
        if coarse_partition.layout().rows() == level.partition.layout().rows() {
            return Ok((level, None));
        }
        let begin = coarse_partition.first();
        let supernodes = Supernodes::new(&level.partition, &part.rows, level.domains.plan(), begin)?;
        let coarse = level.coarse(&part, &supernodes, &coarse_partition)?;
        let mut coupled = [(coarse.rows.columns().len() - coarse.rows.count()) as f64];
        level.partition.comm().all_reduce(&mut coupled)?;
        if coupled[0] == 0.0 {
            return Ok((level, None));
        }
        level.next = Some(Next { partition: coarse_partition, supernodes });
        Ok((level, Some(coarse)))
    }

    fn coarse(
        &self,
        part: &Part,
        supernodes: &Supernodes,
        partition: &Arc<Partition<C>>,
    ) -> Result<LevelRows<C>, DistError> {
        let plan = self.domains.plan();
        let rows = agree(partition.comm(), supernodes.project(&part.rows, plan))?;
        Ok(LevelRows { partition: partition.clone(), rows, sizes: sizes(&part.rows, &part.sizes, plan) })
    }

    /// The inverses for new values, and the new values of the next level. All ranks call it. No rank changes anything unless
    /// all have checked their values.
    pub(crate) fn update(&mut self, fine: &LevelRows<C>) -> Result<LevelUpdate<C>, DistError> {
        let moved = self.moved.as_ref().map(|moved| &moved.of_host);
        let part = Part::new(fine, &self.partition, moved, self.chunk)?;
        let mut other = [f64::from(u8::from(!self.domains.serves_level(&part.level())))];
        self.partition.comm().all_reduce(&mut other)?;
        if other[0] > 0.0 {
            return Ok(LevelUpdate::Other);
        }
        let (b, first) = (
            self.partition.layout().block(),
            self.partition.first() as usize * self.partition.layout().block(),
        );
        let checked = self.domains.check_level(&part.level());
        agree(self.partition.comm(), checked.map_err(|error| DistError::of_rows(error, first, b)))?;
        let done = self.domains.renew_level(&part.level());
        agree(self.partition.comm(), done.map_err(|error| DistError::of_rows(error, first, b)))?;
        let Some(next) = &self.next else { return Ok(LevelUpdate::Last) };
        self.coarse(&part, &next.supernodes, &next.partition).map(LevelUpdate::Next)
    }

    /// The number of nodes and of domains of all ranks.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.partition.layout().rows(), self.next.as_ref().map_or(0, |next| next.partition.layout().rows())]
    }

    /// Takes the residual to the chunks, and sums it over domains for the next level, if there is one.
    pub(crate) fn restrict(
        &mut self,
        r: &S::Vector,
        coarse: Option<&mut DistVector<C>>,
    ) -> Result<(), CommError> {
        let r = match &mut self.moved {
            Some(moved) => {
                S::forward(&moved.redistribution, r, &mut moved.r)?;
                &moved.r
            }
            None => r,
        };
        if let Some(coarse) = coarse {
            self.domains.restrict(S::own(r), coarse.own_mut());
        }
        Ok(())
    }

    /// z = Σ_d S_dᵀ (S_d A S_dᵀ)⁻¹ S_d r; needs no other rank, and does not wait for a device. Vectors of whole chunks are
    /// used in place of r and z, if they are others.
    pub(crate) fn solve(&mut self, r: &S::Vector, z: &mut S::Vector) {
        let (r, z) = match &mut self.moved {
            Some(Moved { r, z, .. }) => (&*r, z),
            None => (r, z),
        };
        S::change(z, |z| self.domains.apply(S::own(r), z));
        self.partition.comm().worked(self.domains.plan().values());
    }

    /// Adds the correction of the next level, and returns the sum.
    pub(crate) fn prolong(
        &mut self,
        coarse: Option<&DistVector<C>>,
        z: &mut S::Vector,
    ) -> Result<(), CommError> {
        let here = match &mut self.moved {
            Some(moved) => &mut moved.z,
            None => &mut *z,
        };
        if let Some(coarse) = coarse {
            S::change(here, |z| self.domains.prolong(coarse.own(), z));
        }
        match &self.moved {
            Some(moved) => S::back(&moved.redistribution, &moved.z, z),
            None => Ok(()),
        }
    }
}
