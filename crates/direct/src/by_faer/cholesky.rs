//! A = L Lᵀ for symmetric positive definite A, and −A = L Lᵀ for negative definite A.
//!
//! P A Pᵀ = L Lᵀ with an approximate minimum degree ordering P. L is computed in dense supernodes if it is
//! dense enough for them, otherwise entry by entry. No pivoting is needed: the factorisation is backward
//! stable for every positive definite matrix, and it fails if and only if A is not positive definite to
//! working precision.
//!
//! *Reference* Davis 2006, "Direct Methods for Sparse Linear Systems", chapter 4; George and Liu 1981.

use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, SymbolicCholeskyRaw, supernodal};
use faer::{Conj, MatMut, Par, Side, Spec};

use super::columns::{Columns, Part, analyse};
use super::memory::reserve;
use super::products;
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Inertia, Pivots};

/// The lower triangle of ±A, the structure of L, and L once it is computed.
pub(crate) struct Cholesky {
    lower: Columns,
    negative: bool,
    symbolic: SymbolicCholesky<usize>,
    l: Vec<f64>,
    scratch: MemBuffer,
}

impl Cholesky {
    /// Orders A and determines the structure of L; computes no numbers yet.
    pub(crate) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let lower = Columns::new(a, Part::Lower);
        let symbolic = analyse(a, &lower, SupernodalThreshold::AUTO)?;
        let (l, scratch) = (Vec::new(), MemBuffer::new(StackReq::EMPTY));
        Ok(Self { lower, negative: false, symbolic, l, scratch })
    }

    /// The pivots L_kk² relative to a_kk: the share of a_kk that remains after the elimination of the rows
    /// before k.
    fn pivots(&self) -> Pivots {
        let n = self.lower.size();
        let mut weakest = (0, f64::INFINITY);
        let order = self.symbolic.perm().map(|p| p.arrays().0);
        diagonal(&self.symbolic, &self.l, |k, l| {
            let row = order.map_or(k, |order| order[k]);
            let ratio = l * l / self.lower.diagonal(row);
            if ratio < weakest.1 {
                weakest = (row, ratio);
            }
        });
        Pivots { inertia: Some(Inertia::definite(n, self.negative)), weakest: Some(weakest) }
    }
}

impl Factorization for Cholesky {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        self.lower.refill(a);
        self.negative = self.lower.size() > 0 && (0..self.lower.size()).all(|i| self.lower.diagonal(i) < 0.0);
        if self.negative {
            self.lower.negate();
        }
        if let Some(row) = (0..self.lower.size()).find(|&i| self.lower.diagonal(i) <= 0.0) {
            return Err(DirectError::NotPositiveDefinite { row });
        }
        if is_supernodal(&self.symbolic) {
            products::reserve()?;
        }
        let request = self
            .symbolic
            .factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default())
            .or(self.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        reserve(&mut self.l, self.symbolic.len_val(), &mut self.scratch, request)?;
        let stack = MemStack::new(&mut self.scratch);
        let (matrix, settings) = (self.lower.matrix(), Default::default());
        let done = self.symbolic.factorize_numeric_llt(
            &mut self.l,
            matrix,
            Side::Lower,
            settings,
            Par::Seq,
            stack,
            Spec::default(),
        );
        match done {
            Ok(_) => Ok(self.pivots()),
            Err(LltError::NonPositivePivot { index }) => {
                // The entrywise factorisation numbers pivots from 1, the supernodal factorisation from 0.
                let k =
                    index - usize::from(matches!(self.symbolic.raw(), SymbolicCholeskyRaw::Simplicial(_)));
                let row = self.symbolic.perm().map_or(k, |p| p.arrays().0[k]);
                Err(DirectError::NotPositiveDefinite { row })
            }
        }
    }

    fn solve(&mut self, x: &mut [f64]) {
        if self.negative {
            x.iter_mut().for_each(|x| *x = -*x);
        }
        let n = x.len();
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        let stack = MemStack::new(&mut self.scratch);
        LltRef::new(&self.symbolic, &self.l).solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
    }

    fn stats(&self) -> FactorStats {
        stats(&self.symbolic, &self.lower)
    }
}

/// Whether L consists of dense blocks.
fn is_supernodal(symbolic: &SymbolicCholesky<usize>) -> bool {
    matches!(symbolic.raw(), SymbolicCholeskyRaw::Supernodal(_))
}

/// Calls `f(k, L_kk)` for every column of L.
fn diagonal(symbolic: &SymbolicCholesky<usize>, l: &[f64], mut f: impl FnMut(usize, f64)) {
    match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(s) => {
            s.col_ptr()[..s.ncols()].iter().enumerate().for_each(|(k, &first)| f(k, l[first]));
        }
        SymbolicCholeskyRaw::Supernodal(s) => {
            let factor = supernodal::SupernodalLltRef::new(s, l);
            for node in (0..s.n_supernodes()).map(|s| factor.supernode(s)) {
                (0..node.val().ncols()).for_each(|j| f(node.start() + j, node.val()[(j, j)]));
            }
        }
    }
}

/// The numbers of entries of L, of bytes, and of multiplications and additions. A column of L with c entries needs c²
/// operations.
fn stats(symbolic: &SymbolicCholesky<usize>, lower: &Columns) -> FactorStats {
    let (mut nnz, mut flops, mut indices) = (0, 0.0, 0);
    match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(s) => {
            for ends in s.col_ptr().windows(2) {
                let c = (ends[1] - ends[0]) as f64;
                (nnz, flops) = (nnz + ends[1] - ends[0], flops + c * c);
            }
            indices += s.row_idx().len() + 2 * s.ncols();
        }
        SymbolicCholeskyRaw::Supernodal(s) => {
            for k in 0..s.n_supernodes() {
                let (width, below) =
                    (s.supernode_end()[k] - s.supernode_begin()[k], s.supernode(k).pattern().len());
                for c in (1..=width).map(|j| below + j) {
                    (nnz, flops) = (nnz + c, flops + (c * c) as f64);
                }
            }
            indices += s.row_idx().len() + 4 * s.n_supernodes();
        }
    }
    let permutation = 2 * symbolic.nrows();
    FactorStats {
        nnz,
        bytes: 8 * (symbolic.len_val() + indices + permutation) + lower.bytes(),
        products: if is_supernodal(symbolic) { products::buffer() } else { 0 },
        flops,
    }
}
