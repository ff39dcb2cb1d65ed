//! The coarse space (§5.2): levels, the maps between them, and the index of every inverse.

mod numbering;

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Cancel, Error, parallel};
use coarsen_sparse::{Pattern, SparseError};

use crate::domains::{Domains, NONE};
use crate::links::Links;
use crate::options::Coarse;
use crate::packed;

pub use numbering::{Couplings, Numbering};

/// The data of multilevel domains that does not depend on values, as plain lists that a device can copy.
///
/// Level 0 is the finest. A level has nodes, and domains of a few connected nodes; domain d of a level is
/// node d of the next level. Nodes without couplings (constraints) are in no domain. Vectors of coarse levels
/// have `block` unknowns per node, in the numbering of their level.
///
/// ```
/// use coarsen_backend::Cpu;
/// let p = coarsen_problems::poisson2d(20)?;
/// let m = coarsen_schwarz::Schwarz::multilevel().build(p.system(), &Cpu::new())?;
/// let plan = m.plan();
/// assert_eq!(plan.nodes(0), 400);
/// assert_eq!(plan.nodes(1), plan.domains(0));
/// let first = plan.members(0, 0);
/// assert!(first.len() <= 32 && first.iter().all(|&i| plan.domain_of(0, i as usize) == Some(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    block: usize,
    pub(crate) domain_levels: Vec<DomainLevel>,
    left_out: Vec<u32>,
    /// For each level except the finest, the node to which each node of the finest level belongs: map_(l).
    maps: Vec<Vec<u32>>,
    /// Whether the level after the last level with domains is solved as one system.
    top: bool,
}

/// A level with domains.
#[derive(Clone, Debug)]
pub(crate) struct DomainLevel {
    pub(crate) domains: Domains,
    /// The start of the inverse of each domain, and the end of the last inverse.
    pub(crate) offsets: Vec<usize>,
    /// The pattern of the matrix of the next level.
    pub(crate) coarse: Arc<Pattern>,
    /// The numbers 0, 1, 2, ... of all domains.
    pub(crate) all: Vec<u32>,
    pub(crate) nodes: usize,
}

impl DomainLevel {
    /// Returns the number of values of the inverses.
    pub(crate) fn values(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }
}

/// The limits at which the addition of levels ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The maximal number of nodes of a domain.
    pub(crate) domain: usize,
    /// The maximal number of levels with domains.
    pub(crate) levels: usize,
    /// The solver of the coarsest level.
    pub(crate) top: Coarse,
}

impl Plan {
    /// Adds levels until every component is one domain, there are `limits.levels` levels, or the next level
    /// is solved as one system.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set, and [`SparseError::TooLarge`].
    pub(crate) fn new(
        block: usize,
        links: Links,
        order: &[u32],
        coupled: &[bool],
        limits: Limits,
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
        let left_out = (0..coupled.len() as u32).filter(|&i| !coupled[i as usize]).collect();
        let mut plan = Self { block, domain_levels: Vec::new(), left_out, maps: Vec::new(), top: false };
        let (mut links, mut order, mut free) = (links, order.to_vec(), coupled.to_vec());
        while plan.domain_levels.len() < limits.levels.max(1) {
            let domains = Domains::grow(&links, &order, &free, limits.domain, cancel)?;
            let count = domains.count();
            let whole = count == order.len() || count <= 1 || links.nodes() == 0;
            let coarse_links = links.coarsen(&domains);
            let apart = (0..count).all(|d| coarse_links.columns(d).is_empty());
            plan.push(domains, &coarse_links)?;
            if whole || apart {
                break;
            }
            let domain_level = &plan.domain_levels[plan.domain_levels.len() - 1];
            if limits.top.takes(&domain_level.coarse, block, plan.values()) {
                plan.top = true;
                break;
            }
            (links, order, free) = (coarse_links, (0..count as u32).collect(), vec![true; count]);
        }
        if !plan.top {
            plan.maps.pop(); // unused beyond the last level
        }
        Ok(plan)
    }

    /// Returns one level whose domains are ranges of nodes without couplings between them. `starts` contains
    /// the first node of each domain, then the end of the last domain.
    pub(crate) fn apart(block: usize, starts: &[u32]) -> Result<Self, SparseError> {
        let domains = Domains::stretches(starts);
        let mut plan =
            Self { block, domain_levels: Vec::new(), left_out: Vec::new(), maps: Vec::new(), top: false };
        plan.push(domains, &Links::none(starts.len() - 1))?;
        plan.maps.clear();
        Ok(plan)
    }

    fn push(&mut self, domains: Domains, coarse: &Links) -> Result<(), SparseError> {
        let map = match self.maps.last() {
            None => (0..domains.size()).map(|i| domains.of(i)).collect(),
            Some(below) => {
                below.iter().map(|&i| if i == NONE { NONE } else { domains.of(i as usize) }).collect()
            }
        };
        let mut offsets = vec![0];
        for d in 0..domains.count() {
            offsets.push(offsets[d] + packed::length(domains.nodes(d).len() * self.block));
        }
        let (count, nodes) = (domains.count(), domains.size());
        let coarse = Arc::new(pattern(coarse, count)?);
        self.maps.push(map);
        self.domain_levels.push(DomainLevel {
            domains,
            offsets,
            coarse,
            all: (0..count as u32).collect(),
            nodes,
        });
        Ok(())
    }

    /// Returns the number of unknowns per node.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Returns the number of levels with domains.
    pub fn levels(&self) -> usize {
        self.domain_levels.len()
    }

    /// Returns the number of nodes of a level; level `levels()` is the level solved as one system, if any.
    pub fn nodes(&self, level: usize) -> usize {
        self.domain_levels.get(level).map_or_else(|| self.top_nodes(), |domain_level| domain_level.nodes)
    }

    /// Returns the number of domains of a level.
    pub fn domains(&self, level: usize) -> usize {
        self.domain_levels[level].domains.count()
    }

    /// Returns the nodes of a domain.
    pub fn members(&self, level: usize, domain: usize) -> &[u32] {
        self.domain_levels[level].domains.nodes(domain)
    }

    /// Returns the domain of a node, which is its supernode on the next level.
    pub fn domain_of(&self, level: usize, node: usize) -> Option<usize> {
        Some(self.domain_levels[level].domains.of(node)).filter(|&d| d != NONE).map(|d| d as usize)
    }

    /// Returns the start of the packed inverse of each domain of a level, and the end of the last inverse.
    pub fn offsets(&self, level: usize) -> &[usize] {
        &self.domain_levels[level].offsets
    }

    /// Returns the nodes in no domain, which are solved by their diagonal blocks.
    pub fn left_out(&self) -> &[u32] {
        &self.left_out
    }

    /// Returns the number of nodes of the level solved as one system; 0 if there is no such level.
    pub fn top_nodes(&self) -> usize {
        if self.top {
            self.domain_levels.last().map_or(0, |domain_level| domain_level.domains.count())
        } else {
            0
        }
    }

    /// Returns the node of a level to which node i of the finest level belongs: map_(l).
    pub fn map(&self, level: usize, node: usize) -> Option<usize> {
        match level {
            0 => (self.domain_levels[0].domains.of(node) != NONE).then_some(node),
            _ => Some(self.maps[level - 1][node]).filter(|&s| s != NONE).map(|s| s as usize),
        }
    }

    /// Lists, for every level, the domains that contain at least one of these nodes of the finest level, in the memory of
    /// earlier lists.
    ///
    /// # Errors
    /// [`Error::Shape`] for a node that does not exist.
    pub(crate) fn touched(&self, nodes: &[u32], lists: &mut Vec<Vec<u32>>) -> Result<(), Error> {
        if let Some(&i) = nodes.iter().find(|&&i| i as usize >= self.nodes(0)) {
            return Err(Error::Shape {
                what: "touched block rows",
                expected: self.nodes(0),
                found: i as usize + 1,
            });
        }
        lists.resize(self.levels(), Vec::new());
        for (level, domain_level) in self.domain_levels.iter().enumerate() {
            let (finer, rest) = lists.split_at_mut(level);
            let (from, list) = (finer.last().map_or(nodes, |list| list), &mut rest[0]);
            list.clear();
            list.extend(from.iter().map(|&i| domain_level.domains.of(i as usize)).filter(|&d| d != NONE));
            list.sort_unstable();
            list.dedup();
        }
        Ok(())
    }

    /// Returns [`map`](Self::map) as a list, for coarse levels.
    pub(crate) fn maps(&self, level: usize) -> &[u32] {
        &self.maps[level - 1]
    }

    /// Returns the number of rows of the largest inverse of a level, in whole tiles.
    pub(crate) fn rows(&self, level: usize) -> usize {
        packed::side(self.domain_levels[level].domains.largest() * self.block) * packed::SIDE
    }

    /// Returns the number of values of all inverses.
    pub fn values(&self) -> usize {
        self.domain_levels.iter().map(DomainLevel::values).sum()
    }

    /// Returns the size of lists and maps in bytes.
    pub fn bytes(&self) -> usize {
        let domain_level = |f: &DomainLevel| {
            f.domains.bytes()
                + 8 * (f.offsets.len() + f.coarse.offsets().len())
                + 4 * (f.all.len() + f.coarse.len())
        };
        self.domain_levels.iter().map(domain_level).sum::<usize>()
            + 4 * self.maps.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether the domains of a level are worth several threads.
    pub(crate) fn worth(&self, level: usize) -> bool {
        parallel::worth(self.domain_levels[level].values())
    }
}

/// Returns the pattern of C A Cᵀ: links and the diagonal.
fn pattern(links: &Links, count: usize) -> Result<Pattern, SparseError> {
    let mut offsets = Vec::with_capacity(count + 1);
    let mut indices = Vec::new();
    offsets.push(0);
    for d in 0..count {
        let columns = links.columns(d);
        let below = columns.partition_point(|&e| (e as usize) < d);
        indices.extend_from_slice(&columns[..below]);
        indices.push(d as u32);
        indices.extend_from_slice(&columns[below..]);
        offsets.push(indices.len());
    }
    Pattern::new(count, offsets, indices)
}
