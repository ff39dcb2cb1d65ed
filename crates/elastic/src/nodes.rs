//! Free nodes, and the positions of held nodes.

use std::sync::Arc;

use coarsen_sparse::{Pattern, assembly};

use crate::BodyError;

/// The slot of a held node.
pub(crate) const HELD: u32 = u32::MAX;

/// The numbers of free nodes and the positions of held nodes.
///
/// The unknowns x of an energy are the positions of the free nodes, in the order of the mesh.
///
/// ```
/// use coarsen_elastic::Nodes;
/// let nodes = Nodes::new(&[true, false], &[[5.0; 3], [0.0; 3]])?;
/// assert_eq!((nodes.slot(0), nodes.slot(1)), (None, Some(0)));
/// assert_eq!([0, 1].map(|node| nodes.at(node, &[1.0, 2.0, 3.0])), [[5.0; 3], [1.0, 2.0, 3.0]]);
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Nodes {
    /// The number of each node among the free nodes, or [`HELD`].
    pub(crate) slots: Vec<u32>,
    /// The positions of all nodes; entries of free nodes are not used.
    held: Vec<[f64; 3]>,
    pub(crate) free: usize,
}

impl Nodes {
    /// Returns nodes at `positions`. The nodes with `held` stay there.
    ///
    /// # Errors
    /// [`BodyError::Length`] for lists of different lengths, [`BodyError::Held`] if no node is free.
    pub fn new(held: &[bool], positions: &[[f64; 3]]) -> Result<Self, BodyError> {
        if held.len() != positions.len() {
            let (expected, found) = (positions.len(), held.len());
            return Err(BodyError::Length { what: "held nodes", expected, found });
        }
        let mut free = 0;
        let slot = |held: &bool| {
            free += u32::from(!held);
            if *held { HELD } else { free - 1 }
        };
        let slots = held.iter().map(slot).collect();
        if free == 0 {
            return Err(BodyError::Held);
        }
        Ok(Self { slots, held: positions.to_vec(), free: free as usize })
    }

    /// The number of all nodes.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// The number of free nodes.
    pub fn free(&self) -> usize {
        self.free
    }

    /// The number of a node among the free nodes; `None` for a held node.
    #[inline]
    pub fn slot(&self, node: u32) -> Option<usize> {
        let slot = self.slots[node as usize];
        (slot != HELD).then_some(slot as usize)
    }

    /// Moves the held nodes; `positions` has one entry per node of the mesh. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.held.copy_from_slice(positions);
    }

    /// Moves the held nodes to where those of `other` are. *Panics* for another number of nodes.
    pub fn hold_as(&mut self, other: &Self) {
        self.hold(&other.held);
    }

    /// The position of a node, given the positions x of the free nodes.
    #[inline]
    pub fn at(&self, node: u32, x: &[f64]) -> [f64; 3] {
        match self.slots[node as usize] {
            HELD => self.held[node as usize],
            slot => {
                let k = 3 * slot as usize;
                [x[k], x[k + 1], x[k + 2]]
            }
        }
    }

    /// Returns the entries of the free nodes in a list of all nodes.
    pub fn gather(&self, all: &[[f64; 3]]) -> Vec<f64> {
        self.slots.iter().zip(all).filter(|(slot, _)| **slot != HELD).flat_map(|(_, p)| *p).collect()
    }

    /// The displacement of a node, given the displacements d of the free nodes; zero for a held node.
    #[inline]
    pub(crate) fn along(&self, node: u32, d: &[f64]) -> [f64; 3] {
        match self.slots[node as usize] {
            HELD => [0.0; 3],
            slot => {
                let k = 3 * slot as usize;
                [d[k], d[k + 1], d[k + 2]]
            }
        }
    }

    /// Returns the block pattern of elements with K nodes, and the positions of the K x K blocks of each
    /// element. The position is `usize::MAX` for a block of a held node.
    pub(crate) fn pattern<const K: usize>(
        &self,
        elements: &[[u32; K]],
    ) -> Result<(Arc<Pattern>, Vec<[[usize; K]; K]>), BodyError> {
        let slot = |i: u32| self.slots[i as usize];
        let free = |p: &(u32, u32)| p.0 != HELD && p.1 != HELD;
        let diagonal = (0..self.free as u32).map(|i| (i, i));
        let pairs = |e: &[u32; K]| {
            let e = *e;
            (0..K * K).map(move |ab| (slot(e[ab / K]), slot(e[ab % K])))
        };
        let places = elements.iter().flat_map(pairs).filter(free);
        let pattern = pattern_of(self.free, diagonal.chain(places))?;
        let find = |p: (u32, u32)| {
            if free(&p) { pattern.find(p.0 as usize, p.1 as usize).unwrap_or(usize::MAX) } else { usize::MAX }
        };
        let blocks = |e: &[u32; K]| e.map(|i| e.map(|j| find((slot(i), slot(j)))));
        let blocks = elements.iter().map(blocks).collect();
        Ok((pattern, blocks))
    }
}

/// Returns the square pattern of n rows with these entries, which may be in any order and may contain
/// duplicates.
pub(crate) fn pattern_of(
    n: usize,
    places: impl Iterator<Item = (u32, u32)>,
) -> Result<Arc<Pattern>, BodyError> {
    let entries: Vec<(u32, u32, f64)> = places.map(|(i, j)| (i, j, 0.0)).collect();
    Ok(assembly::from_triplets(n, n, &entries)?.pattern().clone())
}
