//! The lists of a plan in device memory; `kernels/schwarz/lists.cl` says what each holds.

use coarsen_core::{Error, Real};
use coarsen_schwarz::Plan;

use crate::OnDevice;
use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::NONE;

/// Levels, domains and maps, numbered through.
///
/// The level that is solved as one system, where there is one, comes first among the coarse ones, so that it begins where their vectors do.
pub(crate) struct Lists {
    /// Nodes of the finest level.
    pub(crate) fine: usize,
    /// For every coarse level from the finer to the coarser, its first node and the one after its last, from the first coarse one on.
    pub(crate) levels: Vec<[usize; 2]>,
    /// Nodes of the level that is solved as one system.
    pub(crate) top: usize,
    /// Domains of the finest level, and of all others.
    pub(crate) domains: [usize; 2],
    /// Domains of every level.
    pub(crate) level_domains: Vec<usize>,
    /// Tiles along a side of the largest inverse.
    pub(crate) tiles: usize,
    /// Values of all inverses.
    pub(crate) values: usize,
    pub(crate) order: Buffer,
    pub(crate) ranges: Buffer,
    pub(crate) offsets: Buffer,
    pub(crate) parent: Buffer,
    pub(crate) children: Buffer,
}

/// The same lists on the host.
pub(crate) struct HostLists {
    pub(crate) first: Vec<usize>,
    pub(crate) levels: Vec<[usize; 2]>,
    pub(crate) order: Vec<u32>,
    pub(crate) ranges: Vec<u32>,
    pub(crate) offsets: Vec<u32>,
    pub(crate) parent: Vec<u32>,
    pub(crate) children: Vec<u32>,
    pub(crate) tiles: usize,
}

/// Kernels are compiled for few numbers of tiles.
fn few(tiles: usize) -> usize {
    tiles.next_multiple_of(if tiles > 16 { 16 } else { 4 })
}

/// Values of a tile, and rows of it.
const TILE: usize = 64;
const SIDE: usize = 8;

impl HostLists {
    /// Numbers the nodes of a plan through.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where `u32` cannot name all nodes or tiles.
    pub(crate) fn of(plan: &Plan) -> Result<Self, Error> {
        let (fine, top, last) = (plan.nodes(0), plan.top_nodes(), plan.levels());
        // The number of the first node of each level.
        let mut first = vec![0];
        let mut next = fine + top;
        for level in 1..last {
            first.push(next);
            next += plan.nodes(level);
        }
        first.push(fine);
        let tiles_of = |level: usize| plan.offsets(level).last().map_or(0, |end| end / TILE);
        let most = next.max((0..last).map(tiles_of).sum());
        if most >= NONE as usize {
            return Err(Error::TooLarge { what: "domains of a device", count: most, limit: NONE as usize });
        }
        let mut lists = Self {
            levels: (1..last).map(|l| [first[l] - fine, first[l] - fine + plan.nodes(l)]).collect(),
            order: Vec::new(),
            ranges: Vec::new(),
            offsets: Vec::new(),
            parent: vec![NONE; next],
            children: vec![0; 2 * (next - fine)],
            tiles: 1,
            first,
        };
        if top > 0 {
            lists.levels.push([0, top]);
        }
        for level in 0..last {
            let before: usize = (0..level).map(tiles_of).sum();
            for d in 0..plan.domains(level) {
                let (begin, members) = (lists.order.len() as u32, plan.members(level, d));
                lists.order.extend(members.iter().map(|&i| i + lists.first[level] as u32));
                let end = lists.order.len() as u32;
                lists.ranges.extend([begin, end]);
                lists.offsets.push((before + plan.offsets(level)[d] / TILE) as u32);
                lists.tiles = lists.tiles.max((members.len() * plan.block()).div_ceil(SIDE));
                if level + 1 < last || top > 0 {
                    let above = lists.first[level + 1] + d;
                    lists.children[2 * (above - fine)..][..2].copy_from_slice(&[begin, end]);
                    members.iter().for_each(|&i| {
                        lists.parent[lists.first[level] + i as usize] = above as u32;
                    });
                }
            }
        }
        lists.tiles = few(lists.tiles);
        Ok(lists)
    }
}

impl Lists {
    /// Moves the lists of a plan to a place.
    pub(crate) fn new<T: Real>(on: &OnDevice<T>, plan: &Plan, host: &HostLists) -> Result<Self, Error> {
        let mut queue = on.queue();
        let mut upload = |list: &[u32]| queue.list(list);
        let fine_domains = plan.domains(0);
        Ok(Self {
            fine: plan.nodes(0),
            levels: host.levels.clone(),
            top: plan.top_nodes(),
            domains: [fine_domains, host.offsets.len() - fine_domains],
            level_domains: (0..plan.levels()).map(|level| plan.domains(level)).collect(),
            tiles: host.tiles,
            values: plan.values(),
            order: upload(&host.order)?,
            ranges: upload(&host.ranges)?,
            offsets: upload(&host.offsets)?,
            parent: upload(&host.parent)?,
            children: upload(&host.children)?,
        })
    }

    /// Room for levels of up to so many nodes in domains of `domain`, in blocks of `block` unknowns.
    pub(crate) fn room<T: Real>(
        on: &OnDevice<T>,
        rooms: &[usize],
        domain: usize,
        block: usize,
    ) -> Result<Self, Error> {
        let (fine, nodes) = (rooms[0], rooms.iter().sum::<usize>());
        let level_domains: Vec<usize> = rooms.iter().map(|room| room.div_ceil(domain)).collect();
        let domains: usize = level_domains.iter().sum();
        let side = (domain * block).div_ceil(SIDE);
        let mut levels = Vec::new();
        let mut first = 0;
        for &room in &rooms[1..] {
            levels.push([first, first + room]);
            first += room;
        }
        let mut queue = on.queue();
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

    /// Coarse nodes of all levels.
    pub(crate) fn coarse(&self) -> usize {
        self.levels.iter().map(|level| level[1]).max().unwrap_or(0)
    }
}
