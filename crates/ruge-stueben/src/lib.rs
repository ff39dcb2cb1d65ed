//! Classical algebraic multigrid: a subset of the unknowns is the coarse grid.
//!
//! | symbol | here |
//! |---|---|
//! | Sᵢ | the unknowns on which i depends strongly, `strong` |
//! | Sᵢᵀ | the unknowns that depend strongly on i, `influences` |
//! | C, F | the coarse unknowns, all other unknowns |
//! | λᵢ | the priority of i for C: \|Sᵢᵀ ∩ U\| + 2 \|Sᵢᵀ ∩ F\|, where U is the undecided unknowns |
//! | α, β | the factors in the weights of negative and positive couplings |
//!
//! *Reference* Ruge & Stüben 1987, "Algebraic multigrid", in: Multigrid Methods, SIAM, §4.6; direct
//! interpolation: Stüben 2001, "An introduction to algebraic multigrid", in: Trottenberg et al., "Multigrid",
//! §A.7.2, eqs. (A.7.5) to (A.7.9).

mod interpolation;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Cancel, Error, Real};
use coarsen_sparse::{Bsr, Buckets, Pattern, SparseError};

/// What a program on this crate alone needs.
pub use coarsen_multigrid as multigrid;
use coarsen_multigrid::{Coarse, Coarsening, Grid, Multigrid};

use interpolation::weights;
pub use interpolation::{Interpolation, interpolation, splitting};

/// Returns classical algebraic multigrid with θ = 1/4, direct interpolation and Gauss-Seidel, forward before and
/// backward after the coarse correction.
pub fn ruge_stueben() -> Multigrid<RugeStueben> {
    Multigrid::of(RugeStueben::default())
}

/// Classical algebraic multigrid: the splitting of Ruge and Stüben, and interpolation from it.
///
/// *Use* for scalar problems whose matrix is close to an M-matrix: diffusion with jumps, anisotropy, graphs.
/// *Not* for elasticity, because this method interpolates each unknown without regard to the nodes, and *not*
/// if constraints couple nodes. For both use smoothed aggregation. *Cost* of a
/// level: a few passes over A in parallel, and O(nnz log n) on one thread to order unknowns by λ. Coarse matrices are
/// larger than with aggregation; the operator complexity is 2 to 3 on grids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RugeStueben {
    /// Unknown i depends strongly on j if |aᵢⱼ| is at least this fraction of the largest |aᵢₖ| of its row.
    pub theta: f64,
    /// The weights of P. `Classical` adds the second pass of the splitting, so that coarse grids are larger.
    pub interpolation: Interpolation,
}

impl Default for RugeStueben {
    /// Returns θ = 1/4 and direct interpolation.
    fn default() -> Self {
        Self { theta: 0.25, interpolation: Interpolation::Direct }
    }
}

/// The set to which an unknown belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Undecided,
    Coarse,
    Fine,
}

impl<T: Real> Coarsening<T> for RugeStueben {
    /// The coarse number of each unknown of C, `u32::MAX` for unknowns of F; and S, empty for direct interpolation, whose
    /// updates do not use it.
    type State = (Vec<u32>, Arc<Pattern>);

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        _: Option<&Self::State>,
    ) -> Result<Option<Coarse<T, Self::State>>, SetupError> {
        let (a, n) = (fine.a, fine.a.pattern().rows());
        if a.block() != (1, 1) {
            let (what, found) = ("unknowns of a node, for Ruge-Stueben coarsening", a.block().0);
            return Err(Error::Shape { what, expected: 1, found }.into());
        }
        if !(0.0..=1.0).contains(&self.theta) {
            let (name, range) = ("RugeStueben::theta", "0 to 1");
            return Err(Error::Parameter { name, value: self.theta, range }.into());
        }
        let strong = self.strong(a)?;
        SetupError::unless_cancelled(fine.cancel)?;
        let coarse = splitting(&strong, self.interpolation == Interpolation::Classical, fine.cancel)?;
        SetupError::unless_cancelled(fine.cancel)?;
        if !coarse.contains(&true) {
            return Ok(None);
        }
        let p = interpolation(a, &strong, &coarse, self.interpolation, fine.cancel)?;
        let positions = fine.positions.map(|x| (0..n).filter(|&i| coarse[i]).map(|i| x[i]).collect());
        let kept = if self.interpolation == Interpolation::Direct { Pattern::diagonal(0)? } else { strong };
        let state_bytes = 4 * (n + kept.len()) + size_of_val(kept.offsets());
        Ok(Some(Coarse { positions, state_bytes, ..Coarse::new(p, (numbers(&coarse), Arc::new(kept))) }))
    }

    /// Computes new weights on the pattern of P, for the old splitting and the old strong couplings.
    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        _: Option<&Self::State>,
        coarse: &mut Coarse<T, Self::State>,
    ) -> Result<(), SetupError> {
        let ((numbers, strong), p) = (&coarse.state, &mut coarse.prolongation);
        let values = weights(fine.a, strong, numbers, p.pattern(), self.interpolation, fine.cancel)?;
        p.values_mut().copy_from_slice(&values);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "ruge-stueben"
    }
}

impl RugeStueben {
    /// Returns the pattern whose rows are Sᵢ.
    fn strong<T: Real>(&self, a: &Bsr<T>) -> Result<Pattern, SparseError> {
        let row = |i: usize| {
            let others = || a.row(i).filter(move |(j, _)| *j != i).map(|(j, v)| (j as u32, v[0].abs()));
            let largest = others().fold(T::zero(), |m, (_, v)| m.max(v));
            let enough = T::from_f64(self.theta) * largest;
            others().filter(move |&(_, v)| v > T::zero() && v >= enough).map(|(j, _)| j)
        };
        Pattern::from_rows(a.pattern().rows(), a.pattern().columns(), 2 * a.nnz(), row)
    }
}

/// The coarse number of each unknown of C; `u32::MAX` for unknowns of F.
fn numbers(coarse: &[bool]) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; coarse.len()];
    (0..coarse.len()).filter(|&i| coarse[i]).zip(0..).for_each(|(i, number)| numbers[i] = number);
    numbers
}

/// Splits unknowns into C and F by the first pass: the unknown of largest λ joins C, the unknowns that depend
/// on it join F, and λ grows for the unknowns on which the new F unknowns depend.
fn split(strong: &Pattern, cancel: Option<&Cancel>) -> Result<Vec<Side>, SetupError> {
    let n = strong.rows();
    let mut buckets = Buckets::new(n);
    strong.indices().iter().for_each(|&j| buckets.count(j as usize));
    let mut influences = vec![0; buckets.sum_up()];
    for i in 0..n {
        strong.row(i).iter().for_each(|&j| influences[buckets.place(j as usize)] = i as u32);
    }
    let starts = buckets.into_starts();
    let influences = |i: u32| &influences[starts[i as usize]..starts[i as usize + 1]];
    let mut lambda: Vec<usize> = starts.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let mut sides = vec![Side::Undecided; n];
    // The largest λ first, then the smallest number. An entry with another λ than that of its unknown is out of date.
    let mut queue: BinaryHeap<(usize, Reverse<u32>)> =
        lambda.iter().zip(0..).map(|(&l, i)| (l, Reverse(i))).collect();
    while let Some((useful, Reverse(i))) = queue.pop() {
        SetupError::unless_cancelled(cancel)?;
        if sides[i as usize] != Side::Undecided || lambda[i as usize] != useful {
            continue;
        }
        if useful == 0 {
            sides[i as usize] = Side::Fine; // no unknown of U or F depends on it
            continue;
        }
        sides[i as usize] = Side::Coarse;
        let mut change = |j: u32, by: isize, sides: &[Side]| {
            if sides[j as usize] == Side::Undecided {
                let lambda = &mut lambda[j as usize];
                *lambda = lambda.saturating_add_signed(by);
                queue.push((*lambda, Reverse(j)));
            }
        };
        for &j in influences(i) {
            if sides[j as usize] == Side::Undecided {
                sides[j as usize] = Side::Fine;
                strong.row(j as usize).iter().for_each(|&k| change(k, 1, &sides));
            }
        }
        strong.row(i as usize).iter().for_each(|&j| change(j, -1, &sides));
    }
    Ok(sides)
}
