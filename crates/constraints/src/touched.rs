//! The block rows of a filtered system that changed with the constraints and the contact pairs.

use coarsen_sparse::{Pattern, differing_rows};

use super::factor::Factors;
use super::groups::{NONE, refill};

/// The touched rows, with the memory to find them.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    /// The rows, increasing.
    pub(super) rows: Vec<u32>,
    /// Whether S changed at a node.
    changed: Vec<bool>,
    /// Whether a row is touched.
    marked: Vec<bool>,
}

impl Touched {
    /// All of n rows.
    pub(super) fn all(&mut self, n: usize) {
        self.rows.clear();
        self.rows.extend(0..n as u32);
    }

    /// The rows that differ between S E S + S C S before and now, if E and the values of lasting pairs are the
    /// same. `factors` and the places of C, `pairs`, are those before and those now; `a` is the pattern of E.
    pub(super) fn find(&mut self, a: &Pattern, factors: [&Factors; 2], pairs: [&[(u32, u32)]; 2]) {
        let [old, new] = factors;
        let Self { rows, changed, marked } = self;
        refill(changed, a.rows(), false);
        refill(marked, a.rows(), false);
        let mut any = false;
        for (one, other) in [(old, new), (new, old)] {
            for g in (0..one.groups.count()).filter(|&g| !same(one, g, other)) {
                any = true;
                one.groups.nodes(g).iter().for_each(|&i| changed[i as usize] = true);
            }
        }
        // A row of a held node is σ I, whatever its neighbours do.
        let still = |i: usize| old.is_held(i) && new.is_held(i);
        if any {
            for (i, mark) in marked.iter_mut().enumerate() {
                *mark = changed[i] || (a.row(i).iter().any(|&j| changed[j as usize]) && !still(i));
            }
            for &(i, j) in pairs.iter().flat_map(|places| places.iter()) {
                marked[i as usize] |= changed[j as usize] && !still(i as usize);
            }
        }
        differing_rows(pairs, |i| marked[i as usize] |= !still(i as usize));
        // The row of a node depends on the rows of E and C of all nodes of its group.
        for g in (0..new.groups.count()).filter(|&g| new.groups.has_several_nodes(g)) {
            let nodes = new.groups.nodes(g);
            if nodes.iter().any(|&i| marked[i as usize]) {
                nodes.iter().for_each(|&i| marked[i as usize] = true);
            }
        }
        rows.clear();
        rows.extend((0..a.rows() as u32).filter(|&i| marked[i as usize]));
    }
}

/// Whether group g of `one` is also a group of `other`, with the same S.
fn same(one: &Factors, g: usize, other: &Factors) -> bool {
    let nodes = one.groups.nodes(g);
    match other.groups.of[nodes[0] as usize] {
        NONE => false,
        h => other.groups.nodes(h as usize) == nodes && one.basis(g).eq(other.basis(h as usize)),
    }
}
