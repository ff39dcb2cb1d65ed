//! Couplings inside domains: what every node gathers, on the host and in device memory.

use coarsen_core::{Error, Real};
use coarsen_schwarz::Plan;

use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::NONE;
use crate::schwarz::lists::HostLists;
use crate::{DeviceMatrix, OnDevice};

/// What every position gathers: see `kernels/schwarz/numbers.cl`.
pub(crate) struct Gathered {
    pub(crate) own: Buffer,
    pub(crate) starts: Buffer,
    pub(crate) inner: Buffer,
    /// Which nodes have no couplings.
    pub(crate) alone: Buffer,
}

impl Gathered {
    /// Moves couplings to a place.
    pub(crate) fn new<T: Real>(on: &OnDevice<T>, from: &Couplings) -> Result<Self, Error> {
        let mut queue = on.queue();
        let mut list = |list: &[u32]| queue.list(list);
        let [own, starts, inner, alone] = [&from.own, &from.starts, &from.inner, &from.alone];
        Ok(Self { own: list(own)?, starts: list(starts)?, inner: list(inner)?, alone: list(alone)? })
    }

    /// Room for the couplings of so many blocks between so many positions.
    pub(crate) fn room<T: Real>(
        on: &OnDevice<T>,
        nodes: usize,
        positions: usize,
        blocks: usize,
    ) -> Result<Self, Error> {
        let mut queue = on.queue();
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        let (own, alone) = (list(nodes)?, list(nodes)?);
        Ok(Self { own, starts: list(positions + 1)?, inner: list(2 * blocks)?, alone })
    }
}

/// Couplings inside domains, on the host.
pub(crate) struct Couplings {
    /// The slot of the diagonal block of each node.
    pub(crate) own: Vec<u32>,
    /// Where the couplings of each position begin.
    pub(crate) starts: Vec<u32>,
    /// The slot of each, and the other position.
    pub(crate) inner: Vec<u32>,
    /// 1 for every node in no domain.
    pub(crate) alone: Vec<u32>,
}

impl Couplings {
    /// Gives every block to the level on which one domain holds both its nodes; the diagonal is stored for every node.
    pub(crate) fn of<V: Real, S: Real>(plan: &Plan, lists: &HostLists, a: &DeviceMatrix<V, S>) -> Self {
        let mut position = vec![NONE; lists.parent.len()];
        lists.order.iter().enumerate().for_each(|(p, &i)| position[i as usize] = p as u32);
        let pattern = a.pattern();
        let own = (0..pattern.rows())
            .map(|i| {
                let at = pattern.row(i).binary_search(&(i as u32));
                at.map_or(NONE, |k| a.slot(i, k) as u32)
            })
            .collect();
        // The position that a block is gathered at, and the other one.
        let place = |i: usize, j: usize| {
            let (mut s, mut t) = (i, j);
            for level in 0..plan.levels() {
                let first = lists.first[level];
                let (d, e) = (plan.domain_of(level, s)?, plan.domain_of(level, t)?);
                if d == e {
                    let (p, q) = (position[first + s], position[first + t]);
                    return (q < p).then_some((p as usize, q));
                }
                (s, t) = (d, e);
            }
            None
        };
        let blocks = |found: &mut dyn FnMut(usize, u32, usize)| {
            for i in 0..pattern.rows() {
                for (k, &j) in pattern.row(i).iter().enumerate().filter(|(_, j)| **j as usize != i) {
                    if let Some((p, q)) = place(i, j as usize) {
                        found(p, q, a.slot(i, k));
                    }
                }
            }
        };
        let mut starts = vec![0; lists.order.len() + 1];
        blocks(&mut |p, _, _| starts[p + 1] += 1);
        (1..starts.len()).for_each(|p| starts[p] += starts[p - 1]);
        let mut next = starts.clone();
        let mut inner = vec![0; 2 * starts[starts.len() - 1] as usize];
        blocks(&mut |p, q, slot| {
            inner[2 * next[p] as usize..][..2].copy_from_slice(&[slot as u32, q]);
            next[p] += 1;
        });
        let mut alone = vec![0; pattern.rows()];
        plan.left_out().iter().for_each(|&i| alone[i as usize] = 1);
        Self { own, starts, inner, alone }
    }
}
