//! The lists of a plan in device memory, as defined in `kernels/schwarz/lists.cl`.

use coarsen_core::{Error, Real};
use coarsen_schwarz::{Numbering, Plan};

use crate::DeviceBackend;
use crate::driver::Type;
use crate::memory::Buffer;

/// A [`Numbering`] in device memory: levels, domains and maps.
///
/// The nodes of the level that is solved as one system, if any, are the first coarse nodes. So the entries of
/// this level are at the start of coarse vectors.
pub(crate) struct Lists {
    /// The number of nodes of the finest level.
    pub(crate) fine: usize,
    /// For each coarse level from finer to coarser, its first node and its end node, counted from the first
    /// coarse node.
    pub(crate) levels: Vec<[usize; 2]>,
    /// The number of nodes of the level that is solved as one system; 0 if there is no such level.
    pub(crate) top: usize,
    /// The number of domains of the finest level, and the number of domains of all coarse levels.
    pub(crate) domains: [usize; 2],
    /// The number of domains of every level.
    pub(crate) level_domains: Vec<usize>,
    /// The number of tiles along a side of the largest inverse.
    pub(crate) tiles: usize,
    /// The number of values of all inverses.
    pub(crate) values: usize,
    pub(crate) order: Buffer,
    pub(crate) ranges: Buffer,
    pub(crate) offsets: Buffer,
    pub(crate) parent: Buffer,
    pub(crate) children: Buffer,
}

/// Rounds a number of tiles up, so that few variants of the kernels are compiled.
fn few(tiles: usize) -> usize {
    tiles.next_multiple_of(if tiles > 16 { 16 } else { 4 })
}

/// The number of values of a tile.
pub(crate) const TILE: usize = 64;
/// The side length of a tile.
pub(crate) const SIDE: usize = 8;

impl Lists {
    pub(crate) fn new<T: Real>(
        backend: &DeviceBackend<T>,
        plan: &Plan,
        host: &Numbering,
    ) -> Result<Self, Error> {
        let mut queue = backend.queue();
        let mut upload = |list: &[u32]| queue.list(list);
        let fine_domains = plan.domains(0);
        Ok(Self {
            fine: plan.nodes(0),
            levels: host.levels.clone(),
            top: plan.top_nodes(),
            domains: [fine_domains, host.offsets.len() - fine_domains],
            level_domains: (0..plan.levels()).map(|level| plan.domains(level)).collect(),
            tiles: few(host.largest.div_ceil(SIDE)),
            values: plan.values(),
            order: upload(&host.order)?,
            ranges: upload(&host.ranges)?,
            offsets: upload(&host.offsets)?,
            parent: upload(&host.parent)?,
            children: upload(&host.children)?,
        })
    }

    /// Allocates lists for up to `capacities[k]` nodes on level k, in domains of `domain` nodes with `block`
    /// unknowns per node.
    pub(crate) fn with_capacity<T: Real>(
        backend: &DeviceBackend<T>,
        capacities: &[usize],
        domain: usize,
        block: usize,
    ) -> Result<Self, Error> {
        let (fine, nodes) = (capacities[0], capacities.iter().sum::<usize>());
        let level_domains: Vec<usize> = capacities.iter().map(|nodes| nodes.div_ceil(domain)).collect();
        let domains: usize = level_domains.iter().sum();
        let side = (domain * block).div_ceil(SIDE);
        let mut levels = Vec::new();
        let mut first = 0;
        for &nodes in &capacities[1..] {
            levels.push([first, first + nodes]);
            first += nodes;
        }
        let mut queue = backend.queue();
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        Ok(Self {
            fine,
            levels,
            top: 0,
            domains: [level_domains[0], domains - level_domains[0]],
            level_domains,
            tiles: few(side),
            values: domains * side * (side + 1) / 2 * TILE,
            order: list(nodes)?,
            ranges: list(2 * domains)?,
            offsets: list(domains)?,
            parent: list(nodes)?,
            children: list(2 * (nodes - fine))?,
        })
    }

    /// Returns the number of nodes of all coarse levels.
    pub(crate) fn coarse(&self) -> usize {
        self.levels.iter().map(|level| level[1]).max().unwrap_or(0)
    }
}
