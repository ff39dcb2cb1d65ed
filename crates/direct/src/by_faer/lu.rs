//! A = L U with row exchanges, for unsymmetric A and for symmetric A that LDLᵀ cannot handle.
//!
//! Aᵀ is factored, because its columns are the rows of A, which are stored: Pr Aᵀ Pc = L U. The column
//! ordering Pc is an approximate minimum degree ordering of A Aᵀ, which bounds the fill for every choice of
//! pivots. Pr is the order of partial pivoting. Solves use the transpose. Zero diagonals need no special
//! treatment.
//!
//! *Reference* Davis, Gilbert, Larimore and Ng 2004, "A column approximate minimum degree ordering
//! algorithm"; Demmel, Eisenstat, Gilbert, Li and Liu 1999, "A supernodal approach to sparse partial
//! pivoting".

use std::sync::OnceLock;

use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::lu::{LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::linalg::qr::{col_etree, column_counts_ata, postorder};
use faer::{Conj, MatMut, Par, Spec};

use super::columns::{Columns, Part};
use super::memory::reserve;
use super::products;
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Pivots};
use crate::refine::dependent_row;

/// Aᵀ by columns, its ordering, and L and U once they are computed.
pub(crate) struct Lu {
    transpose: Columns,
    symbolic: SymbolicLu<usize>,
    numeric: NumericLu<usize, f64>,
    scratch: MemBuffer,
    /// The bounds of the entries and operations, once they are asked for.
    bound: OnceLock<(usize, f64)>,
}

impl Lu {
    /// Orders A; computes no numbers yet.
    pub(crate) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let transpose = Columns::new(a, Part::Transpose);
        let symbolic = factorize_symbolic_lu(transpose.structure(), LuSymbolicParams::default())
            .map_err(|_| DirectError::Memory { bytes: 4 * transpose.bytes() })?;
        let (numeric, scratch) = (NumericLu::new(), MemBuffer::new(StackReq::EMPTY));
        Ok(Self { transpose, symbolic, numeric, scratch, bound: OnceLock::new() })
    }
}

impl Lu {
    /// Bounds the entries of L and U, and the operations, for every choice of pivots: in row k of U there are at most the
    /// entries of column k of the Cholesky factor of A Aᵀ, and in column k of L at most as many as rows of Aᵀ begin in
    /// the subtree of k and were not pivots before.
    fn bound(&self) -> (usize, f64) {
        let (n, structure) = (self.transpose.size(), self.transpose.structure());
        let (starts, rows) = self.transpose.turned();
        let [mut tree, mut post, mut across, mut first] = std::array::from_fn(|_| vec![0; n]);
        let order = Some(self.symbolic.col_perm());
        let mut scratch = MemBuffer::new(StackReq::new::<usize>(6 * n));
        let stack = MemStack::new(&mut scratch);
        let tree = col_etree(structure, order, &mut tree, stack);
        postorder(&mut post, tree, stack);
        let turned = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
        column_counts_ata(&mut across, &mut first, turned, order, tree, &post, stack);
        let mut down = vec![0_usize; n];
        first.iter().filter(|&&k| k < n).for_each(|&k| down[k] += 1);
        for (j, parent) in tree.into_inner().iter().enumerate() {
            if let Ok(parent) = usize::try_from(*parent) {
                down[parent] += down[j].saturating_sub(1);
            }
        }
        let counts = || down.iter().zip(&across);
        (
            counts().map(|(l, u)| (l + u).saturating_sub(1)).sum(),
            counts().map(|(&l, &u)| 2.0 * (l * u) as f64).sum(),
        )
    }
}

impl Factorization for Lu {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        self.transpose.refill(a);
        products::reserve()?; // faer decides whether L and U have dense blocks
        let request = self
            .symbolic
            .factorize_numeric_lu_scratch::<f64>(Par::Seq, Spec::default())
            .or(self.symbolic.solve_transpose_in_place_scratch::<f64>(1, Par::Seq));
        reserve(&mut Vec::new(), 0, &mut self.scratch, request)?;
        let stack = MemStack::new(&mut self.scratch);
        let matrix = self.transpose.matrix();
        match self.symbolic.factorize_numeric_lu(&mut self.numeric, matrix, Par::Seq, stack, Spec::default())
        {
            Ok(_) => Ok(Pivots { inertia: None, weakest: None }),
            Err(LuError::SymbolicSingular { index }) => {
                // Zero pivots before this one used up rows, so it may be an independent row that has none left.
                let order = self.symbolic.col_perm().arrays().0;
                let row = dependent_row(a).unwrap_or(order[index.min(order.len() - 1)]);
                Err(DirectError::Singular { row, residual: f64::INFINITY })
            }
            Err(LuError::Generic(_)) => Err(DirectError::Memory { bytes: 4 * self.transpose.bytes() }),
        }
    }

    fn solve(&mut self, x: &mut [f64]) {
        let n = x.len();
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        let stack = MemStack::new(&mut self.scratch);
        let factors = LuRef::new_unchecked(&self.symbolic, &self.numeric);
        factors.solve_transpose_in_place_with_conj(Conj::No, x, Par::Seq, stack);
    }

    fn solve_transpose(&mut self, x: &mut [f64]) {
        let n = x.len();
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        let stack = MemStack::new(&mut self.scratch);
        let factors = LuRef::new_unchecked(&self.symbolic, &self.numeric);
        factors.solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
    }

    fn stats(&self) -> FactorStats {
        let &(nnz, flops) = self.bound.get_or_init(|| self.bound());
        let bytes = self.transpose.bytes() + 16 * nnz;
        FactorStats { nnz, bytes, products: products::buffer(), flops }
    }
}
