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

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

/// What a program on this crate alone needs.
pub use coarsen_multigrid as multigrid;
use coarsen_multigrid::{Coarse, Coarsening, Grid, Multigrid};

pub use interpolation::{Interpolation, interpolation, splitting};

/// Returns classical algebraic multigrid with θ = 1/4 and Gauss-Seidel, forward before and backward after
/// the coarse correction.
pub fn ruge_stueben() -> Multigrid<RugeStueben> {
    Multigrid::of(RugeStueben::default())
}

/// Classical algebraic multigrid: the first pass of Ruge and Stüben, and direct interpolation.
///
/// *Use* for scalar problems whose matrix is close to an M-matrix: diffusion with jumps, anisotropy, graphs.
/// *Not* for elasticity, because this method interpolates each unknown without regard to the nodes, and *not*
/// if constraints couple nodes. For both use smoothed aggregation. *Cost* of a
/// level: four passes over A, and O(nnz log n) to order unknowns by λ. Coarse matrices are larger than with
/// aggregation; the operator complexity is 2 to 3 on grids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RugeStueben {
    /// Unknown i depends strongly on j if |aᵢⱼ| is at least this fraction of the largest |aᵢₖ| of its row.
    pub theta: f64,
}

impl Default for RugeStueben {
    /// Returns θ = 1/4.
    fn default() -> Self {
        Self { theta: 0.25 }
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
    /// The coarse number of each unknown of C; `u32::MAX` for unknowns of F.
    type State = Vec<u32>;

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        _: Option<&Vec<u32>>,
    ) -> Result<Option<Coarse<T, Vec<u32>>>, SetupError> {
        let (a, n) = (fine.a, fine.a.pattern().rows());
        if a.block() != (1, 1) {
            let (what, found) = ("unknowns of a node, for Ruge-Stueben coarsening", a.block().0);
            return Err(Error::Shape { what, expected: 1, found }.into());
        }
        if !(0.0..=1.0).contains(&self.theta) {
            let (name, range) = ("RugeStueben::theta", "0 to 1");
            return Err(Error::Parameter { name, value: self.theta, range }.into());
        }
        let strong = self.strong(a);
        SetupError::unless_cancelled(fine.cancel)?;
        let coarse = splitting(&strong, false)?;
        SetupError::unless_cancelled(fine.cancel)?;
        if !coarse.contains(&true) {
            return Ok(None);
        }
        let p = interpolation(a, &strong, &coarse, Interpolation::Direct)?;
        let positions = fine.positions.map(|x| (0..n).filter(|&i| coarse[i]).map(|i| x[i]).collect());
        Ok(Some(Coarse { positions, ..Coarse::new(p, numbers(&coarse)) }))
    }

    /// Computes new weights on the pattern of P.
    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        _: Option<&Vec<u32>>,
        coarse: &mut Coarse<T, Vec<u32>>,
    ) -> Result<(), SetupError> {
        let (numbers, mut p) = (&coarse.state, coarse.prolongation.clone());
        for i in (0..numbers.len()).filter(|&i| numbers[i] == u32::MAX) {
            let range = p.pattern().range(i);
            let pattern = p.pattern().clone();
            let columns = &pattern.indices()[range.clone()];
            let at = |j: usize| columns.binary_search(&numbers[j]).ok();
            interpolate(
                fine.a,
                i,
                |j| at(j).is_some(),
                |j, weight| {
                    at(j).into_iter().for_each(|k| p.values_mut()[range.start + k] = weight);
                },
            )?;
        }
        coarse.prolongation = p;
        Ok(())
    }

    fn name(&self) -> &'static str {
        "ruge-stueben"
    }
}

impl RugeStueben {
    /// Returns Sᵢ of every unknown.
    fn strong<T: Real>(&self, a: &Bsr<T>) -> Vec<Vec<u32>> {
        let row = |i: usize| {
            let others = || a.row(i).filter(move |(j, _)| *j != i).map(|(j, v)| (j as u32, v[0].abs()));
            let largest = others().fold(T::zero(), |m, (_, v)| m.max(v));
            let enough = T::from_f64(self.theta) * largest;
            others().filter(|&(_, v)| v > T::zero() && v >= enough).map(|(j, _)| j).collect()
        };
        (0..a.pattern().rows()).map(row).collect()
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
fn split(strong: &[Vec<u32>]) -> Vec<Side> {
    let n = strong.len();
    let mut influences = vec![Vec::new(); n];
    strong.iter().zip(0..).for_each(|(list, i)| list.iter().for_each(|&j| influences[j as usize].push(i)));
    let mut lambda: Vec<usize> = influences.iter().map(Vec::len).collect();
    let mut sides = vec![Side::Undecided; n];
    // The largest λ first, then the smallest number. An entry with another λ than that of its unknown is out of date.
    let mut queue: BinaryHeap<(usize, Reverse<u32>)> =
        lambda.iter().zip(0..).map(|(&l, i)| (l, Reverse(i))).collect();
    while let Some((useful, Reverse(i))) = queue.pop() {
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
        for &j in &influences[i as usize] {
            if sides[j as usize] == Side::Undecided {
                sides[j as usize] = Side::Fine;
                strong[j as usize].iter().for_each(|&k| change(k, 1, &sides));
            }
        }
        strong[i as usize].iter().for_each(|&j| change(j, -1, &sides));
    }
    sides
}

/// Computes row i of P from the couplings that `used` selects, and passes it to `add`. The weights are −α aᵢⱼ
/// / aᵢᵢ for negative couplings and −β aᵢⱼ / aᵢᵢ for positive couplings.
fn interpolate<T: Real>(
    a: &Bsr<T>,
    i: usize,
    used: impl Fn(usize) -> bool,
    mut add: impl FnMut(usize, T),
) -> Result<(), SetupError> {
    let (mut diagonal, mut all, mut some) = (T::zero(), [T::zero(); 2], [T::zero(); 2]);
    for (j, v) in a.row(i) {
        let (v, sign) = (v[0], usize::from(v[0] > T::zero()));
        if j == i {
            diagonal = v;
            continue;
        }
        all[sign] += v;
        if used(j) {
            some[sign] += v;
        }
    }
    if !(diagonal > T::zero() && diagonal.is_finite()) {
        let (method, diagonal) = ("ruge-stueben", diagonal.as_f64());
        return Err(SetupError::NotPositive { method, row: i, diagonal });
    }
    if some[1].is_zero() {
        diagonal += all[1]; // no positive coupling is used: all are added to aᵢᵢ
    }
    let ratio = [0, 1].map(|s| if some[s].is_zero() { T::zero() } else { all[s] / some[s] });
    for (j, v) in a.row(i).filter(|(j, _)| *j != i && used(*j)) {
        add(j, -ratio[usize::from(v[0] > T::zero())] * (v[0] / diagonal));
    }
    Ok(())
}
