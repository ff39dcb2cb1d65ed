//! One level that is divided among the ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | chunk | `chunk` | this number of consecutive nodes of the global order |
//! | S_d, (S_d A S_dᵀ)⁻¹ | `domains` | domains inside chunks, and their inverses |
//! | r, z | `r`, `z` | residual and correction of the chunks of this rank |
//! | C r, C z | `coarse_r`, `coarse_z` | of the domains of this rank |

use std::sync::Arc;

use coarsen_backend::Cpu;
use coarsen_core::Preconditioner;
use coarsen_distributed::{
    CommError, Communicator, DistError, Entries, GlobalRows, Layout, Partition, Relayout, agree,
};
use coarsen_schwarz::{self as schwarz, Schwarz, Subdomains};
use coarsen_sparse::{Bsr, Pattern, SparseError};

use crate::coarse::{Supernodes, sizes};

/// The own rows of a level.
pub(crate) struct LevelRows<C: Communicator> {
    pub(crate) on: Arc<Partition<C>>,
    pub(crate) rows: GlobalRows<f64>,
    /// For each own unknown, the sum of its diagonal entries on the finest level; empty on the finest level.
    pub(crate) sizes: Vec<f64>,
}

/// A level that is divided among the ranks.
pub(crate) struct Level<C: Communicator> {
    /// Whole chunks for each rank.
    on: Arc<Partition<C>>,
    /// From the partition of the vectors, if it is another one.
    relayout: Option<Relayout<C>>,
    chunk: u64,
    domains: Subdomains<f64, Cpu>,
    /// The next level; `None` if its nodes are not coupled.
    next: Option<Next<C>>,
    r: Vec<f64>,
    z: Vec<f64>,
    pub(crate) coarse_r: Vec<f64>,
    pub(crate) coarse_z: Vec<f64>,
    /// The number of values of all inverses of all ranks.
    pub(crate) values: usize,
}

/// The result of an update.
pub(crate) enum Followed<C: Communicator> {
    /// The rows of the next level.
    Next(LevelRows<C>),
    /// There is no next level.
    Last,
    /// The pattern or the nodes in domains are others; nothing has changed.
    Other,
}

struct Next<C: Communicator> {
    on: Arc<Partition<C>>,
    supernodes: Supernodes,
}

/// Each rank has the chunks that begin in its rows.
fn whole_chunks<C: Communicator>(
    on: &Arc<Partition<C>>,
    chunk: u64,
) -> Result<(Arc<Partition<C>>, Option<Relayout<C>>), DistError> {
    let layout = on.layout();
    let start =
        |rank: usize| layout.range(rank).start.div_ceil(chunk).saturating_mul(chunk).min(layout.rows());
    let starts = (0..layout.ranks()).map(start).chain([layout.rows()]).collect();
    let chunks = Layout::new(starts, layout.block())?;
    if (0..layout.ranks()).all(|rank| chunks.range(rank) == layout.range(rank)) {
        return Ok((on.clone(), None));
    }
    let to = Partition::new(on.comm().clone(), chunks)?;
    let relayout = Relayout::new(on, &to)?;
    Ok((to, Some(relayout)))
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
        relayout: Option<&Relayout<C>>,
        chunk: u64,
    ) -> Result<Self, DistError> {
        let (mut rows, mut sizes) = (None, fine.sizes.clone());
        if let Some(relayout) = relayout {
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
                relayout.forward(&fine.sizes, &mut sizes)?;
            }
        }
        let rows = rows.unwrap_or_else(|| fine.rows.clone());
        let checked = finite(&rows).and_then(|()| inside(&rows, chunk)).map_err(DistError::from);
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

/// Refuses NaN and infinity, with the row and column of the whole matrix.
fn finite(rows: &GlobalRows<f64>) -> Result<(), SparseError> {
    let (r, c) = rows.block();
    for k in 0..rows.count() {
        for (j, block) in rows.row(k) {
            if let Some(at) = block.iter().position(|v| !v.is_finite()) {
                let row = (rows.first() as usize + k) * r + at / c;
                return Err(SparseError::NotFinite { row, column: j as usize * c + at % c });
            }
        }
    }
    Ok(())
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

impl<C: Communicator> Level<C> {
    /// The domains of a level, and the rows of the next one, if there is one. All ranks call it.
    pub(crate) fn new(
        recipe: &Schwarz,
        chunk: u64,
        fine: &LevelRows<C>,
    ) -> Result<(Self, Option<LevelRows<C>>), DistError> {
        let (on, relayout) = whole_chunks(&fine.on, chunk)?;
        let part = Part::new(fine, &on, relayout.as_ref(), chunk)?;
        let (b, first) = (on.layout().block(), on.first() as usize * on.layout().block());
        let built = recipe.build_level(&part.level(), &Cpu::new());
        let domains = agree(on.comm(), built.map_err(|error| DistError::of_rows(error, first, b)))?;
        let count = domains.plan().domains(0);
        let mut values = [domains.plan().values() as f64];
        on.comm().all_reduce(&mut values)?;
        let zeros = |nodes: usize| vec![0.0; nodes * b];
        let mut level = Self {
            relayout,
            chunk,
            next: None,
            r: zeros(on.count()),
            z: zeros(on.count()),
            coarse_r: zeros(count),
            coarse_z: zeros(count),
            values: values[0] as usize,
            domains,
            on,
        };
        let coarse_on = Partition::of_counts(level.on.comm().clone(), count, level.on.layout().block())?;
        if coarse_on.layout().rows() == level.on.layout().rows() {
            return Ok((level, None));
        }
        let begin = coarse_on.first();
        let supernodes = Supernodes::new(&level.on, &part.rows, &level.domains, begin)?;
        let coarse = level.coarse(&part, &supernodes, &coarse_on)?;
        let mut coupled = [(coarse.rows.columns().len() - coarse.rows.count()) as f64];
        level.on.comm().all_reduce(&mut coupled)?;
        if coupled[0] == 0.0 {
            return Ok((level, None));
        }
        level.next = Some(Next { on: coarse_on, supernodes });
        Ok((level, Some(coarse)))
    }

    fn coarse(
        &self,
        part: &Part,
        supernodes: &Supernodes,
        on: &Arc<Partition<C>>,
    ) -> Result<LevelRows<C>, DistError> {
        let rows = agree(on.comm(), supernodes.project(&part.rows, &self.domains))?;
        Ok(LevelRows { on: on.clone(), rows, sizes: sizes(&part.rows, &part.sizes, &self.domains) })
    }

    /// The inverses for new values, and the new values of the next level. All ranks call it.
    pub(crate) fn update(&mut self, fine: &LevelRows<C>) -> Result<Followed<C>, DistError> {
        let part = Part::new(fine, &self.on, self.relayout.as_ref(), self.chunk)?;
        let mut other = [f64::from(u8::from(!self.domains.serves_level(&part.level())))];
        self.on.comm().all_reduce(&mut other)?;
        if other[0] > 0.0 {
            return Ok(Followed::Other);
        }
        let (b, first) = (self.on.layout().block(), self.on.first() as usize * self.on.layout().block());
        let done = self.domains.update_level(&part.level());
        agree(self.on.comm(), done.map_err(|error| DistError::of_rows(error, first, b)))?;
        let Some(next) = &self.next else { return Ok(Followed::Last) };
        self.coarse(&part, &next.supernodes, &next.on).map(Followed::Next)
    }

    /// The number of nodes and of domains of all ranks.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.on.layout().rows(), self.next.as_ref().map_or(0, |next| next.on.layout().rows())]
    }

    /// Takes the residual, and sums it over domains.
    pub(crate) fn restrict(&mut self, r: &[f64]) -> Result<(), CommError> {
        match &self.relayout {
            Some(relayout) => relayout.forward(r, &mut self.r)?,
            None => self.r.copy_from_slice(r),
        }
        let (plan, b) = (self.domains.plan(), self.on.layout().block());
        for (d, sum) in self.coarse_r.chunks_exact_mut(b).enumerate() {
            sum.fill(0.0);
            for &i in plan.members(0, d) {
                let node = &self.r[i as usize * b..(i as usize + 1) * b];
                sum.iter_mut().zip(node).for_each(|(s, &v)| *s += v);
            }
        }
        Ok(())
    }

    /// z = Σ_d S_dᵀ (S_d A S_dᵀ)⁻¹ S_d r; needs no other rank.
    pub(crate) fn solve(&mut self) {
        self.domains.apply(&self.r, &mut self.z);
        self.on.comm().worked(self.domains.plan().values());
    }

    /// Adds the correction of the next level, and returns the sum.
    pub(crate) fn prolong(&mut self, coarser: bool, z: &mut [f64]) -> Result<(), CommError> {
        let (plan, b) = (self.domains.plan(), self.on.layout().block());
        if coarser {
            for (d, correction) in self.coarse_z.chunks_exact(b).enumerate() {
                for &i in plan.members(0, d) {
                    let node = &mut self.z[i as usize * b..(i as usize + 1) * b];
                    node.iter_mut().zip(correction).for_each(|(z, &c)| *z += c);
                }
            }
        }
        match &self.relayout {
            Some(relayout) => relayout.back(&self.z, z),
            None => {
                z.copy_from_slice(&self.z);
                Ok(())
            }
        }
    }
}
