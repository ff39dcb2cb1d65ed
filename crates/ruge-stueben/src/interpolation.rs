//! The splitting into coarse and fine unknowns, and interpolation, for any strength of connection.

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, assembly};

use crate::{Side, interpolate, numbers, split};

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
    /// the sign of its diagonal are ignored.
    Modified,
}

/// Returns whether each unknown is coarse. `strong[i]` lists the unknowns on which i depends strongly, sorted and without i.
///
/// With `second_pass`, two fine unknowns that depend on each other also have a common coarse unknown. *Cost* O(m log n) for m
/// strong couplings; the second pass merges the lists of each pair of fine unknowns.
///
/// # Errors
/// [`Error::Shape`] for an unknown that does not exist.
pub fn splitting(strong: &[Vec<u32>], second_pass: bool) -> Result<Vec<bool>, Error> {
    check(strong, strong.len())?;
    let mut coarse: Vec<bool> = split(strong).iter().map(|side| *side == Side::Coarse).collect();
    if second_pass {
        for i in 0..strong.len() {
            second(strong, i, &mut coarse);
        }
    }
    Ok(coarse)
}

/// Makes the fine unknown i or one of its strong neighbours coarse, if a strong fine neighbour shares no coarse unknown with it.
fn second(strong: &[Vec<u32>], i: usize, coarse: &mut [bool]) {
    if coarse[i] {
        return;
    }
    let mut made = None;
    for &j in &strong[i] {
        let j = j as usize;
        let share = |k: &&u32| coarse[**k as usize] && strong[j].binary_search(k).is_ok();
        if coarse[j] || strong[i].iter().find(share).is_some() {
            continue;
        }
        if let Some(other) = made {
            // Two neighbours would become coarse: i does instead.
            coarse[other as usize] = false;
            coarse[i] = true;
            return;
        }
        coarse[j] = true;
        made = Some(j as u32);
    }
}

/// Returns P: the identity for coarse unknowns, and the weights of `by` for the others.
///
/// `strong` is as for [`splitting`], and `coarse` its result. *Cost* one pass over A for `Direct`; the others look up every
/// coupling of every strong fine neighbour.
///
/// # Errors
/// [`Error::Shape`] unless A has 1x1 blocks and one row for each list, and for an unknown that does not exist;
/// [`SetupError::NotPositive`] for a row without a positive diagonal (`Direct`); [`SetupError::ZeroDiagonal`] for a row whose
/// diagonal and weak couplings add up to zero.
pub fn interpolation<T: Real>(
    a: &Bsr<T>,
    strong: &[Vec<u32>],
    coarse: &[bool],
    by: Interpolation,
) -> Result<Bsr<T>, SetupError> {
    let n = a.pattern().rows();
    for (what, expected, found) in [
        ("unknowns of a node, for Ruge-Stueben coarsening", 1, a.block().0 * a.block().1),
        ("lists of strong couplings", n, strong.len()),
        ("unknowns of a splitting", n, coarse.len()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found }.into());
        }
    }
    check(strong, n)?;
    let (numbers, count) = (numbers(coarse), coarse.iter().filter(|c| **c).count());
    let mut entries = Vec::new();
    for i in 0..n {
        if coarse[i] {
            entries.push((i as u32, numbers[i], T::one()));
        } else if by == Interpolation::Direct {
            let used = |j: usize| coarse[j] && strong[i].binary_search(&(j as u32)).is_ok();
            interpolate(a, i, used, |j, weight| entries.push((i as u32, numbers[j], weight)))?;
        } else {
            let weights = classical(a, i, strong, coarse, by == Interpolation::Modified)?;
            entries.extend(weights.into_iter().map(|(j, weight)| (i as u32, numbers[j], weight)));
        }
    }
    Ok(assembly::from_triplets(n, count, &entries)?)
}

/// The weights of the fine unknown i: wᵢⱼ = −(aᵢⱼ + Σₖ aᵢₖ aₖⱼ / Σₗ aₖₗ) / (aᵢᵢ + Σ weak aᵢₘ) for j and l in Cᵢ and k strong and
/// fine.
fn classical<T: Real>(
    a: &Bsr<T>,
    i: usize,
    strong: &[Vec<u32>],
    coarse: &[bool],
    modified: bool,
) -> Result<Vec<(usize, T)>, SetupError> {
    let own: Vec<usize> = strong[i].iter().map(|&j| j as usize).filter(|&j| coarse[j]).collect();
    let mut sums: Vec<T> = own.iter().map(|&j| a.get(i, j)).collect();
    let mut diagonal = T::zero();
    let mut shares = vec![T::zero(); own.len()];
    for (k, v) in a.row(i) {
        let is_strong = k != i && strong[i].binary_search(&(k as u32)).is_ok();
        if !is_strong {
            diagonal += v[0];
            continue;
        }
        if coarse[k] {
            continue;
        }
        if modified && !own.iter().any(|&j| strong[k].binary_search(&(j as u32)).is_ok()) {
            diagonal += v[0]; // no common coarse unknown
            continue;
        }
        shares.fill(T::zero());
        let sign = a.get(k, k).signum();
        for (j, w) in a.row(k) {
            if let Ok(at) = own.binary_search(&j)
                && !(modified && w[0].signum() == sign)
            {
                shares[at] = w[0];
            }
        }
        let total: T = shares.iter().copied().sum();
        if !total.is_zero() {
            sums.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += v[0] * *share / total);
        }
    }
    if diagonal.is_zero() && !own.is_empty() {
        return Err(SetupError::ZeroDiagonal { row: i, method: "ruge-stueben" });
    }
    Ok(own.into_iter().zip(sums).map(|(j, sum)| (j, -sum / diagonal)).collect())
}

fn check(strong: &[Vec<u32>], n: usize) -> Result<(), Error> {
    let largest = strong.iter().filter_map(|list| list.last()).max();
    match largest {
        Some(&j) if j as usize >= n => {
            let what = "unknowns, the largest number in a list of strong couplings";
            Err(Error::Shape { what, expected: n, found: j as usize + 1 })
        }
        _ => Ok(()),
    }
}
