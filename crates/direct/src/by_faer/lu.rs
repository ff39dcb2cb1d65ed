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

use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::lu::{LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::{Conj, MatMut, Par, Spec};

use super::columns::{Columns, Part};
use super::products;
use super::room::room;
use crate::DirectError;
use crate::factorization::{Factorization, Figures, Pivots};
use crate::refine::dependent_row;

/// Aᵀ by columns, its ordering, and L and U once they are computed.
pub(crate) struct Lu {
    transpose: Columns,
    symbolic: SymbolicLu<usize>,
    numeric: NumericLu<usize, f64>,
    scratch: MemBuffer,
}

impl Lu {
    /// Orders A; computes no numbers yet.
    pub(crate) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let transpose = Columns::new(a, Part::Transpose);
        let symbolic = factorize_symbolic_lu(transpose.structure(), LuSymbolicParams::default())
            .map_err(|_| DirectError::Memory { bytes: 4 * transpose.bytes() })?;
        Ok(Self { transpose, symbolic, numeric: NumericLu::new(), scratch: MemBuffer::new(StackReq::EMPTY) })
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
        room(&mut Vec::new(), 0, &mut self.scratch, request)?;
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

    fn figures(&self) -> Figures {
        Figures { nnz: None, bytes: self.transpose.bytes(), products: products::buffer(), flops: None }
    }
}
