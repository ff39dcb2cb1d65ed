//! The coarse matrix Pᵀ A P, planned once and computed whenever values change.
//!
//! Two row-wise products: Q = A P by fine rows, then Pᵀ Q by coarse rows, with the blocks of P read through a transpose
//! plan. Storing Q costs memory (fine rows times the coarse neighbours of each), but every product of the first stage is
//! then computed once, and both stages are lists of dense products without search, atomics or scratch per thread.
//!
//! | symbol | what | blocks |
//! |---|---|---|
//! | A | fine matrix | b x b |
//! | P | prolongation | b x k |
//! | Q | A P | b x k |
//! | A_c | Pᵀ A P | k x k |

use std::sync::Arc;

use coarsen_core::Real;

use super::Operand;
use crate::{Bsr, Pattern, ProductPlan, SparseError, TransposePlan, fits};

/// Pᵀ A P for one pattern of A and one of P.
///
/// *Use* for every level of a Galerkin hierarchy: [`build`](Self::build) once, [`update`](Self::update) at new values of A
/// or P. Each entry of A_c is one sum in a fixed order: the same bits at any thread count, and for unchanged values.
/// Entries (I, J) and (J, I) are summed in different orders, so the A_c of a symmetric A is symmetric to round-off of
/// its terms, not bit for bit.
/// *Cost* 2 b² k operations a block product of A P and 2 b k² one of Pᵀ Q. *Memory* the values and pattern of Q, the
/// pattern of A_c, 4 bytes a block product, 12 a block of P.
///
/// *Reference* Briggs, Henson & McCormick 2000, "A multigrid tutorial", 2nd edition, ch. 8: the coarse operator by the
/// Galerkin condition.
///
/// ```
/// use coarsen_sparse::{GalerkinPlan, assembly};
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let p = assembly::from_triplets(2, 1, &[(0, 0, 1.0), (1, 0, 1.0)])?;
/// let mut plan = GalerkinPlan::new(&a, &p)?;
/// let mut coarse = plan.build(&a, &p)?;
/// assert_eq!(coarse.values(), [2.0]);
/// plan.update(&a, &p, &mut coarse)?; // after new values: no allocation
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GalerkinPlan<T> {
    fine: Arc<Pattern>,
    transpose: TransposePlan, // of P
    first: ProductPlan,       // Q = A P
    second: ProductPlan,      // A_c = Pᵀ Q
    q: Bsr<T>,
}

impl<T: Real> GalerkinPlan<T> {
    /// The symbolic phase, for the patterns and block sizes of A and P; values are not looked at.
    ///
    /// # Errors
    /// [`SparseError::Shape`] unless A is square, in square blocks, and P has its rows and blocks of as many rows.
    pub fn new(a: &Bsr<T>, p: &Bsr<T>) -> Result<Self, SparseError> {
        let (b, k) = p.block();
        fits::sizes([
            ("Galerkin product, block columns of A", a.pattern().rows(), a.pattern().columns()),
            ("Galerkin product, columns of a block of A", a.block().0, a.block().1),
            ("Galerkin product, block rows of P", a.pattern().rows(), p.pattern().rows()),
            ("Galerkin product, rows of a block of P", a.block().0, b),
        ])?;
        let transpose = TransposePlan::new(p.pattern())?;
        let first = ProductPlan::new(a.pattern(), p.pattern())?;
        let second = ProductPlan::new(transpose.pattern(), first.pattern())?;
        let q = Bsr::zeros(first.pattern().clone(), (b, k))?;
        Ok(Self { fine: a.pattern().clone(), transpose, first, second, q })
    }

    /// The pattern of A_c.
    pub fn pattern(&self) -> &Arc<Pattern> {
        self.second.pattern()
    }

    /// A_c as a new matrix.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn build(&mut self, a: &Bsr<T>, p: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
        let k = self.q.block().1;
        let mut coarse = Bsr::zeros(self.second.pattern().clone(), (k, k))?;
        self.update(a, p, &mut coarse)?;
        Ok(coarse)
    }

    /// Writes the values of A_c into `coarse`, which an earlier [`build`](Self::build) made. No allocation.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A, P or `coarse` has another pattern than the plan, [`SparseError::Shape`] if it has
    /// other block sizes; nothing is written then.
    pub fn update(&mut self, a: &Bsr<T>, p: &Bsr<T>, coarse: &mut Bsr<T>) -> Result<(), SparseError> {
        let (b, k) = self.q.block();
        fits::patterns([
            ("A, given to a GalerkinPlan,", &self.fine, a.pattern()),
            ("P, given to a GalerkinPlan,", self.transpose.of(), p.pattern()),
            ("the coarse matrix given to a GalerkinPlan", self.second.pattern(), coarse.pattern()),
        ])?;
        fits::sizes([
            ("Galerkin product, rows of a block of A", b, a.block().0),
            ("Galerkin product, columns of a block of A", b, a.block().1),
            ("Galerkin product, rows of a block of P", b, p.block().0),
            ("Galerkin product, columns of a block of P", k, p.block().1),
            ("Galerkin product, rows of a coarse block", k, coarse.block().0),
            ("Galerkin product, columns of a coarse block", k, coarse.block().1),
        ])?;
        self.first.run(&Operand::plain(a), p, &mut self.q); // Q = A P
        self.second.run(&Operand::transposed(p, &self.transpose), &self.q, coarse); // A_c = Pᵀ Q
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{multiply, random};
    use coarsen_core::parallel;

    const SIZES: [(usize, usize); 6] = [(1, 1), (3, 3), (3, 6), (6, 6), (2, 3), (6, 1)];

    /// M + Mᵀ, so that (i, j) and (j, i) agree bit for bit.
    fn symmetric(n: usize, b: usize, seed: u64) -> Bsr<f64> {
        let m = random::matrix(n, n, (b, b), 3, seed);
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for half in [&m, &m.transpose().unwrap()] {
            for i in 0..n {
                for (j, block) in half.row(i) {
                    places.push((i as u32, j as u32));
                    values.extend_from_slice(block);
                }
            }
        }
        crate::assembly::from_blocks(n, n, (b, b), &places, &values).unwrap()
    }

    #[test]
    fn it_equals_the_explicit_triple_product() {
        for (seed, (b, k)) in (1..).zip(SIZES) {
            let (a, p) =
                (random::matrix(30, 30, (b, b), 4, seed), random::matrix(30, 9, (b, k), 2, seed + 9));
            let mut plan = GalerkinPlan::new(&a, &p).unwrap();
            let coarse = plan.build(&a, &p).unwrap();
            let explicit = multiply(&p.transpose().unwrap(), &multiply(&a, &p).unwrap()).unwrap();
            assert_eq!(coarse, explicit, "{b} {k}");
            let dense = |i: usize, j: usize| {
                let column = |l: usize| (0..30 * b).map(|m| a.get(l, m) * p.get(m, j)).sum::<f64>();
                (0..30 * b).filter(|&l| p.get(l, i) != 0.0).map(|l| p.get(l, i) * column(l)).sum::<f64>()
            };
            for (i, j) in [(0, 0), (k, 2 * k), (9 * k - 1, 3 * k), (4 * k, 9 * k - 1)] {
                assert!((coarse.get(i, j) - dense(i, j)).abs() < 1e-12, "{b} {k}");
            }
        }
    }

    #[test]
    fn symmetric_matrices_stay_symmetric_to_round_off() {
        for (seed, (b, k)) in (1..).zip(SIZES) {
            let (a, p) = (symmetric(40, b, seed), random::matrix(40, 12, (b, k), 3, seed + 9));
            let coarse = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
            let n = coarse.shape().0;
            let largest = coarse.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for i in 0..n {
                for j in 0..i {
                    let gap = (coarse.get(i, j) - coarse.get(j, i)).abs();
                    assert!(gap <= 1e-13 * largest, "{b} {k}: {gap:e} of {largest:e}");
                }
            }
        }
    }

    #[test]
    fn the_same_values_give_the_same_bits_and_new_ones_follow() {
        let (mut a, p) = (symmetric(60, 3, 1), random::matrix(60, 15, (3, 6), 2, 2));
        let mut plan = GalerkinPlan::new(&a, &p).unwrap();
        let first = plan.build(&a, &p).unwrap();
        let mut coarse = first.clone();
        plan.update(&a, &p, &mut coarse).unwrap();
        assert_eq!(coarse, first);
        a.values_mut().iter_mut().for_each(|v| *v *= -4.0);
        plan.update(&a, &p, &mut coarse).unwrap();
        assert!(coarse.values().iter().zip(first.values()).all(|(c, f)| *c == -4.0 * f));
        assert_eq!(coarse, GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap());
    }

    #[test]
    fn threads_do_not_change_bits() {
        let (a, p) = (random::matrix(4000, 4000, (3, 3), 6, 3), random::matrix(4000, 300, (3, 6), 2, 4));
        let run = || GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
        let one = parallel::threads(1, run).unwrap();
        for n in [2, 7] {
            assert_eq!(one, parallel::threads(n, run).unwrap());
        }
    }

    #[test]
    fn other_patterns_and_shapes_are_refused() {
        let (a, other) = (random::matrix(8, 8, (2, 2), 2, 1), random::matrix(8, 8, (2, 2), 2, 2));
        let p = random::matrix(8, 3, (2, 3), 1, 3);
        let mut plan = GalerkinPlan::new(&a, &p).unwrap();
        let mut coarse = plan.build(&a, &p).unwrap();
        let before = coarse.clone();
        assert!(matches!(plan.update(&other, &p, &mut coarse), Err(SparseError::Pattern { .. })));
        let mut narrow = Bsr::zeros(plan.pattern().clone(), (1, 1)).unwrap();
        assert!(matches!(plan.update(&a, &p, &mut narrow), Err(SparseError::Shape { .. })));
        assert_eq!(coarse, before);
        for p in [random::matrix(7, 3, (2, 3), 1, 3), random::matrix(8, 3, (3, 3), 1, 3)] {
            assert!(matches!(GalerkinPlan::new(&a, &p), Err(SparseError::Shape { .. })));
        }
    }
}
