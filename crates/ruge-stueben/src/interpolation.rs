//! The splitting into coarse and fine unknowns, and interpolation, for any strength of connection.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::parallel::{self, tree};
use coarsen_core::{Cancel, Error, Real};
use coarsen_sparse::{BlockRows, Bsr, Pattern};

use crate::{Side, numbers, split};

/// How fine unknowns are interpolated from the coarse unknowns on which they depend strongly, Cᵢ.
///
/// *Reference* direct: Stüben 2001, §A.7.2. Classical: Ruge & Stüben 1987, (4.9); De Sterck, Falgout, Nolting & Yang 2008,
/// "Distance-two interpolation for parallel algebraic multigrid", Numer. Linear Algebra Appl. 15, (8) and (9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interpolation {
    /// Couplings to other unknowns are distributed over Cᵢ as a whole.
    Direct,
    /// A strong coupling to a fine unknown k is distributed over Cᵢ by the couplings of k; weak couplings are added to the
    /// diagonal. Needs the second pass of the splitting, so that k depends on Cᵢ.
    Classical,
    /// As `Classical`, but a strong coupling to a fine unknown without a coupling to Cᵢ counts as weak, and couplings of k with
    /// the sign of its diagonal are ignored. Needs no second pass.
    Modified,
}

/// Returns whether each unknown is coarse. Row i of `strong` has the unknowns on which i depends strongly, without i.
///
/// With `second_pass`, two fine unknowns that depend on each other also have a common coarse unknown. *Cost* O(m log n) for m
/// strong couplings, on one thread because each choice depends on those before it; the second pass merges the rows of each
/// pair of fine unknowns.
///
/// # Errors
/// [`Error::NotSquare`] for a pattern that is not square, [`SetupError::Cancelled`] once `cancel` is set.
pub fn splitting(
    strong: &Pattern,
    second_pass: bool,
    cancel: Option<&Cancel>,
) -> Result<Vec<bool>, SetupError> {
    let (rows, columns) = (strong.rows(), strong.columns());
    if rows != columns {
        return Err(Error::NotSquare { rows, columns }.into());
    }
    let mut coarse: Vec<bool> = split(strong, cancel)?.iter().map(|side| *side == Side::Coarse).collect();
    if second_pass {
        for i in 0..rows {
            SetupError::unless_cancelled(cancel)?;
            second(strong, i, &mut coarse);
        }
    }
    Ok(coarse)
}

/// Makes the fine unknown i or one of its strong neighbours coarse, if a strong fine neighbour shares no coarse unknown with it.
fn second(strong: &Pattern, i: usize, coarse: &mut [bool]) {
    if coarse[i] {
        return;
    }
    let mut made = None;
    for &j in strong.row(i) {
        let j = j as usize;
        let share = |&k: &u32| coarse[k as usize] && strong.find(j, k as usize).is_some();
        if coarse[j] || strong.row(i).iter().any(share) {
            continue;
        }
        if let Some(other) = made {
            // Two neighbours would become coarse: i does instead.
            coarse[other] = false;
            coarse[i] = true;
            return;
        }
        coarse[j] = true;
        made = Some(j);
    }
}

/// Returns P: the identity for coarse unknowns, and the weights of `by` for the others.
///
/// `strong` is as for [`splitting`], and `coarse` its result. *Cost* one pass over A for `Direct`; the others look up every
/// coupling of every strong fine neighbour. Parallel over rows, with the same bits for any number of threads.
///
/// # Errors
/// [`Error::Shape`] unless A has 1x1 blocks, and `strong` and `coarse` belong to as many unknowns;
/// [`SetupError::NotPositive`] for a row without a positive diagonal (`Direct`); [`SetupError::ZeroDiagonal`] for a row whose
/// diagonal and weak couplings add up to zero; [`SetupError::Cancelled`] once `cancel` is set.
pub fn interpolation<T: Real>(
    a: &Bsr<T>,
    strong: &Pattern,
    coarse: &[bool],
    by: Interpolation,
    cancel: Option<&Cancel>,
) -> Result<Bsr<T>, SetupError> {
    let n = a.pattern().rows();
    for (what, expected, found) in [
        ("unknowns of a node, for Ruge-Stueben coarsening", 1, a.block().0 * a.block().1),
        ("rows of strong couplings", n, strong.rows()),
        ("columns of strong couplings", n, strong.columns()),
        ("unknowns of a splitting", n, coarse.len()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found }.into());
        }
    }
    let (numbers, count) = (&numbers(coarse)[..], coarse.iter().filter(|c| **c).count());
    let columns = |i: usize| {
        let (own, fine) = (coarse[i].then_some(numbers[i]), !coarse[i]);
        let strong = strong.row(i).iter().map(|&j| j as usize).filter(move |&j| fine && coarse[j]);
        let stored = move |&j: &usize| by != Interpolation::Direct || a.pattern().find(i, j).is_some();
        own.into_iter().chain(strong.filter(stored).map(move |j| numbers[j]))
    };
    let pattern = Pattern::from_rows(n, count, 4 * strong.len(), columns)?;
    let values = weights(a, strong, numbers, &pattern, by, cancel)?;
    Ok(Bsr::new(Arc::new(pattern), (1, 1), values)?)
}

/// The number of rows of P per task.
const LEAF: usize = 128;

/// Returns the values of P on its pattern, whose row i defines Cᵢ. Direct interpolation does not use `strong`.
pub(crate) fn weights<T: Real>(
    a: &Bsr<T>,
    strong: &Pattern,
    numbers: &[u32],
    pattern: &Pattern,
    by: Interpolation,
    cancel: Option<&Cancel>,
) -> Result<Vec<T>, SetupError> {
    let mut values = vec![T::zero(); pattern.len()];
    let leaf = |rows: BlockRows<'_, T>| {
        let mut done = SetupError::unless_cancelled(cancel);
        rows.in_order(|i, weights| {
            let row = pattern.row(i);
            let at = |j: usize| row.binary_search(&numbers[j]).ok();
            if done.is_err() {
                return;
            }
            if numbers[i] != u32::MAX {
                weights.fill(T::one());
            } else if by == Interpolation::Direct {
                done = direct(a, i, at, weights);
            } else {
                done = classical(a, i, strong, numbers, at, by == Interpolation::Modified, weights);
            }
        });
        done
    };
    let rows = BlockRows::new(pattern.offsets(), 1, &mut values);
    tree(rows, LEAF, parallel::worth(4 * a.nnz()), &leaf, &Result::and)?;
    Ok(values)
}

/// The weights of the fine unknown i: −α aᵢⱼ / aᵢᵢ for negative couplings and −β aᵢⱼ / aᵢᵢ for positive couplings. `at(j)` is
/// the place of j in Cᵢ.
fn direct<T: Real>(
    a: &Bsr<T>,
    i: usize,
    at: impl Fn(usize) -> Option<usize>,
    weights: &mut [T],
) -> Result<(), SetupError> {
    let (mut diagonal, mut all, mut some) = (T::zero(), [T::zero(); 2], [T::zero(); 2]);
    for (j, v) in a.row(i) {
        let (v, sign) = (v[0], usize::from(v[0] > T::zero()));
        if j == i {
            diagonal = v;
            continue;
        }
        all[sign] += v;
        if let Some(k) = at(j) {
            some[sign] += v;
            weights[k] = v;
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
    for v in weights {
        *v = -ratio[usize::from(*v > T::zero())] * (*v / diagonal);
    }
    Ok(())
}

/// The weights of the fine unknown i: wᵢⱼ = −(aᵢⱼ + Σₖ aᵢₖ aₖⱼ / Σₗ aₖₗ) / (aᵢᵢ + Σ weak aᵢₘ) for j and l in Cᵢ and k strong and
/// fine. `at(j)` is the place of j in Cᵢ.
fn classical<T: Real>(
    a: &Bsr<T>,
    i: usize,
    strong: &Pattern,
    numbers: &[u32],
    at: impl Fn(usize) -> Option<usize>,
    modified: bool,
    weights: &mut [T],
) -> Result<(), SetupError> {
    let mut diagonal = T::zero();
    for (j, v) in a.row(i) {
        at(j).into_iter().for_each(|place| weights[place] = v[0]);
    }
    for (k, v) in a.row(i) {
        let is_strong = k != i && strong.find(i, k).is_some();
        if is_strong && numbers[k] != u32::MAX {
            continue;
        }
        let is_common = |&j: &u32| at(j as usize).is_some();
        if !is_strong || modified && !strong.row(k).iter().any(is_common) {
            diagonal += v[0];
            continue;
        }
        let sign = a.get(k, k).signum();
        let shares = || {
            let taken = a.row(k).filter(|(_, w)| !(modified && w[0].signum() == sign));
            taken.filter_map(|(j, w)| Some((at(j)?, w[0])))
        };
        let total: T = shares().map(|(_, share)| share).sum();
        if !total.is_zero() {
            shares().for_each(|(place, share)| weights[place] += v[0] * share / total);
        }
    }
    if diagonal.is_zero() && !weights.is_empty() {
        return Err(SetupError::ZeroDiagonal { row: i, method: "ruge-stueben" });
    }
    weights.iter_mut().for_each(|weight| *weight = -*weight / diagonal);
    Ok(())
}
