//! Reordering of nodes whose neighbours are far away in memory.
//!
//! In a random order, a product waits for memory at every entry of x, and aggregation and Galerkin products
//! at every row. With a million unknowns they take five to ten times as long. The reordering costs as much as
//! a few products. Results are written in the order and scale of the input.

use std::borrow::Cow;

use coarsen::sparse::{Bsr, Graph, NearKernel, Permutation};

/// The number of unknowns up to which all data fit into a cache.
const SMALL: usize = 20_000;

/// The mean distance of an entry from the diagonal, relative to the number of unknowns, above which an order
/// counts as scattered. Random orders have 1/3.
const FAR: f64 = 0.1;

/// The reverse Cuthill-McKee order of a matrix whose entries are scattered; `None` for other matrices.
pub(crate) fn order(a: &Bsr<f64>) -> Option<Permutation> {
    let n = a.shape().0;
    if n <= SMALL || spread(a) <= FAR * n as f64 {
        return None;
    }
    Permutation::new(Graph::of(a.pattern()).ok()?.reverse_cuthill_mckee()).ok()
}

/// The number of rows, at equal distances, from which the mean distance is estimated.
const SAMPLED: usize = 16_384;

/// The mean distance of an entry from the diagonal, in unknowns.
pub(crate) fn spread(a: &Bsr<f64>) -> f64 {
    let pattern = a.pattern();
    let (mut sum, mut entries) = (0, 0);
    for i in (0..pattern.rows()).step_by((pattern.rows() / SAMPLED).max(1)) {
        sum += pattern.row(i).iter().map(|&j| (j as usize).abs_diff(i)).sum::<usize>();
        entries += pattern.row(i).len();
    }
    (sum * a.block().0) as f64 / entries.max(1) as f64
}

/// A vector in the order of the reordered matrix, `size` numbers for each node.
pub(crate) fn arranged<'a, X: Copy + Send + Sync>(
    order: Option<&Permutation>,
    size: usize,
    x: &'a [X],
) -> Cow<'a, [X]> {
    let Some(order) = order else { return Cow::Borrowed(x) };
    let mut y = x.to_vec();
    order.apply(size, x, &mut y);
    Cow::Owned(y)
}

/// The inverse of `arranged`: a vector in the order of the input.
pub(crate) fn restored(order: Option<&Permutation>, size: usize, x: Vec<f64>) -> Vec<f64> {
    let Some(order) = order else { return x };
    let mut y = x.clone();
    order.apply_inverse(size, &x, &mut y);
    y
}

/// `arranged` for the vectors of a near-kernel or null space.
pub(crate) fn arranged_modes<'a>(
    order: Option<&Permutation>,
    size: usize,
    modes: &'a NearKernel,
) -> Result<Cow<'a, NearKernel>, coarsen::Error> {
    let k = modes.vectors();
    Ok(match order {
        Some(_) => {
            Cow::Owned(NearKernel::from_rows(k, arranged(order, size * k, modes.values()).into_owned())?)
        }
        None => Cow::Borrowed(modes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::problems::poisson2d;

    #[test]
    fn entries_far_from_the_diagonal_are_seen() {
        assert_eq!(spread(&poisson2d(3).unwrap().matrix), (12.0 + 3.0 * 12.0) / 33.0);
    }

    #[test]
    fn scattered_nodes_come_together_and_go_back() {
        let a = poisson2d(150).unwrap().matrix;
        assert_eq!(order(&a), None);
        let n = a.shape().0;
        let shuffled =
            Permutation::new((0..n as u32).map(|i| (u64::from(i) * 7919 % n as u64) as u32).collect())
                .unwrap();
        let scattered = a.permute(&shuffled).unwrap();
        let order = order(&scattered).unwrap();
        assert!(spread(&scattered.permute(&order).unwrap()) < 200.0);
        let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
        assert_eq!(restored(Some(&order), 1, arranged(Some(&order), 1, &x).into_owned()), x);
    }
}
