//! S C S for the contact part C of a system, block by block.
//!
//! The block of nodes i and j gives the blocks S_ki C_ij S_jl for all nodes k of the group of i and l of the
//! group of j. A node without constraints is its own group, with S = I. A group whose constraints determine
//! all its unknowns has S = 0, and its blocks are left out.

use coarsen_core::Real;
use coarsen_sparse::{BlockRows, Contacts, SparseError};

use super::factor::Factors;
use super::groups::NONE;

/// The filtered contact, with the memory to compute the next one.
#[derive(Clone, Debug)]
pub(super) struct FilteredContact<T> {
    /// S C S.
    pub(super) set: Contacts<T>,
    /// During an update, the next S C S; afterwards the last one.
    other: Contacts<T>,
    /// The places of C, now and before. Rows of S C S may have the same columns with other pairs in C.
    pub(super) pairs: [Vec<(u32, u32)>; 2],
    /// The start of the results of each block of C, and the end of the last.
    bounds: Vec<usize>,
    places: Vec<(u32, u32)>,
    values: Vec<T>,
}

impl<T: Real> FilteredContact<T> {
    /// No contact between `nodes` nodes of b unknowns.
    pub(super) fn new(nodes: usize, b: usize) -> Result<Self, SparseError> {
        let none = Contacts::new(nodes, b)?;
        let (bounds, places, values) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { set: none.clone(), other: none, pairs: [Vec::new(), Vec::new()], bounds, places, values })
    }

    /// Computes the next S C S, with the S of `f`. On error, nothing changes.
    pub(super) fn prepare(&mut self, contact: Option<&Contacts<T>>, f: &Factors) -> Result<(), SparseError> {
        let (b, nodes) = (f.block, f.groups.of.len());
        if (self.other.nodes(), self.other.block()) != (nodes, b) {
            self.other = Contacts::new(nodes, b)?;
        }
        let (blocks, given) = contact.map_or((&[][..], &[][..]), |c| (c.places(), c.values()));
        self.bounds.clear();
        self.bounds.push(0);
        self.places.clear();
        for (i, j) in blocks {
            let columns = f.kept(j);
            self.places.extend(f.kept(i).iter().flat_map(|&k| columns.iter().map(move |&l| (k, l))));
            self.bounds.push(self.places.len());
        }
        self.values.clear();
        self.values.resize(self.places.len() * b * b, T::zero());
        let (bounds, places) = (&self.bounds, &self.places);
        let work = 4 * self.values.len() * b * b;
        BlockRows::new(bounds, b * b, &mut self.values).for_each(work, |e, out| {
            let targets = &places[bounds[e]..bounds[e + 1]];
            let from = &given[e * b * b..(e + 1) * b * b];
            for (block, &(k, l)) in out.chunks_exact_mut(b * b).zip(targets) {
                f.sandwich((k, blocks[e].0), from, (blocks[e].1, l), block);
            }
        });
        self.other.replace(&self.places, &self.values)
    }

    /// Makes the next S C S, which is that of `contact`, the current one.
    pub(super) fn commit(&mut self, contact: Option<&Contacts<T>>) {
        std::mem::swap(&mut self.set, &mut self.other);
        let [now, before] = &mut self.pairs;
        std::mem::swap(now, before);
        now.clear();
        now.extend_from_slice(contact.map_or(&[], |contact| contact.places()));
    }
}

impl Factors {
    /// Whether S = 0 at a node, since the constraints of its group determine all unknowns.
    #[inline]
    pub(super) fn is_held(&self, node: usize) -> bool {
        let g = self.groups.of[node];
        g != NONE && self.rank(g as usize) == self.groups.nodes(g as usize).len() * self.block
    }

    /// The nodes k with S_ki ≠ 0: the group of i, node i alone without constraints, none if S = 0.
    #[inline]
    fn kept<'a>(&'a self, i: &'a u32) -> &'a [u32] {
        match self.groups.of[*i as usize] {
            NONE => std::slice::from_ref(i),
            _ if self.is_held(*i as usize) => &[],
            g => self.groups.nodes(g as usize),
        }
    }

    /// S_ki C_ij S_jl for a block C_ij, computed in `f64` and rounded once.
    fn sandwich<T: Real>(&self, (k, i): (u32, u32), c: &[T], (j, l): (u32, u32), out: &mut [T]) {
        let b = self.block;
        if self.groups.of[i as usize] == NONE && self.groups.of[j as usize] == NONE {
            out.copy_from_slice(c);
            return;
        }
        for (row, out) in out.chunks_exact_mut(b).enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                let mut sum = 0.0;
                for (r, c) in c.chunks_exact(b).enumerate() {
                    let left = self.entry((k, row), (i, r));
                    if left != 0.0 {
                        let right = |(s, c): (usize, &T)| c.as_f64() * self.entry((j, s), (l, column));
                        sum += left * c.iter().enumerate().map(right).sum::<f64>();
                    }
                }
                *out = T::from_f64(sum);
            }
        }
    }

    /// The entry of S for unknown r of node i and unknown c of node j, in the same group.
    fn entry(&self, (i, r): (u32, usize), (j, c): (u32, usize)) -> f64 {
        let identity = f64::from(u8::from((i, r) == (j, c)));
        let g = self.groups.of[i as usize];
        if g == NONE {
            return identity;
        }
        let [row, column] =
            [(i, r), (j, c)].map(|(i, r)| self.groups.place[i as usize] as usize * self.block + r);
        identity - self.basis(g as usize).map(|q| q[row] * q[column]).sum::<f64>()
    }
}
