//! A = L B Lᵀ for symmetric A, definite or indefinite: B has blocks of order 1 and 2.
//!
//! P A Pᵀ = L B Lᵀ, where P is an approximate minimum degree ordering. Inside each dense supernode, the
//! pivoting of Bunch and Kaufman changes the order further. Pivots cannot leave their supernode, so stability
//! is not guaranteed. The caller therefore checks the factor with a trial solve and uses LU if this check
//! fails.
//!
//! *Reference* Bunch and Kaufman 1977, "Some stable methods for calculating inertia and solving symmetric
//! linear systems"; Schenk and Gärtner 2006 for pivoting inside supernodes.

use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::perm::PermRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{IntranodeLbltRef, SymbolicCholesky, SymbolicCholeskyRaw, supernodal};
use faer::{Conj, MatMut, Par, Side, Spec};

use super::cholesky::figures;
use super::columns::{Columns, Part, analyse};
use super::products;
use super::room::room;
use crate::DirectError;
use crate::factorization::{Factorization, Figures, Pivots, Signs};

/// Always chooses supernodes, since the entrywise variant does not pivot.
const SUPERNODES: SupernodalThreshold = SupernodalThreshold(-1.0);

/// The lower triangle of A, the structure of L, and L and B once they are computed.
pub(crate) struct Ldlt {
    lower: Columns,
    /// max |aᵢⱼ| of each row, to which its pivot is compared.
    sizes: Vec<f64>,
    symbolic: SymbolicCholesky<usize>,
    /// L, with the diagonal of B in place of the unit diagonal of L.
    l: Vec<f64>,
    /// The off-diagonal entries of B: b_{k+1,k} at k for a block of order 2, otherwise 0.
    below: Vec<f64>,
    order: Vec<usize>,
    inverse: Vec<usize>,
    scratch: MemBuffer,
}

impl Ldlt {
    /// Orders A and determines the structure of L; computes no numbers yet.
    pub(crate) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let lower = Columns::new(a, Part::Lower);
        let symbolic = analyse(a, &lower, SUPERNODES)?;
        let n = lower.size();
        Ok(Self {
            sizes: vec![0.0; n],
            below: vec![0.0; n],
            order: vec![0; n],
            inverse: vec![0; n],
            lower,
            symbolic,
            l: Vec::new(),
            scratch: MemBuffer::new(StackReq::EMPTY),
        })
    }

    /// Signs and sizes of the eigenvalues of the blocks of B.
    fn pivots(&self) -> Pivots {
        let mut signs = Signs::default();
        let fill = self.symbolic.perm().map(|p| p.arrays().0);
        let row = |k: usize| fill.map_or(self.order[k], |fill| fill[self.order[k]]);
        if let SymbolicCholeskyRaw::Supernodal(s) = self.symbolic.raw() {
            let order = PermRef::new_checked(&self.order, &self.inverse, self.order.len());
            let factor = supernodal::SupernodalIntranodeLbltRef::new(s, &self.l, &self.below, order);
            for node in (0..s.n_supernodes()).map(|s| factor.supernode(s)) {
                let (start, b) = (node.start(), node.val());
                let mut j = 0;
                while j < b.ncols() {
                    let k = start + j;
                    if self.below[k] == 0.0 {
                        signs.one(row(k), b[(j, j)], &self.sizes);
                        j += 1;
                    } else {
                        let block = [b[(j, j)], self.below[k], b[(j + 1, j + 1)]];
                        signs.two([row(k), row(k + 1)], block, &self.sizes);
                        j += 2;
                    }
                }
            }
        }
        signs.pivots()
    }
}

impl Factorization for Ldlt {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        self.lower.refill(a);
        self.lower.sizes(&mut self.sizes);
        products::reserve()?;
        let request = self
            .symbolic
            .factorize_numeric_intranode_lblt_scratch::<f64>(Par::Seq, Spec::default())
            .or(self.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        room(&mut self.l, self.symbolic.len_val(), &mut self.scratch, request)?;
        self.symbolic.factorize_numeric_intranode_lblt(
            &mut self.l,
            &mut self.below,
            &mut self.order,
            &mut self.inverse,
            self.lower.matrix(),
            Side::Lower,
            Par::Seq,
            MemStack::new(&mut self.scratch),
            Spec::default(),
        );
        Ok(self.pivots())
    }

    fn solve(&mut self, x: &mut [f64]) {
        let n = x.len();
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        let order = PermRef::new_checked(&self.order, &self.inverse, n);
        let factor = IntranodeLbltRef::new(&self.symbolic, &self.l, &self.below, order);
        factor.solve_in_place_with_conj(Conj::No, x, Par::Seq, MemStack::new(&mut self.scratch));
    }

    fn figures(&self) -> Figures {
        figures(&self.symbolic, &self.lower, 32 * self.order.len())
    }
}
