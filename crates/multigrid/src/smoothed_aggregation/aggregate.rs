//! Aggregates of strongly connected nodes.
//!
//! Pass 1 is Algorithm 1 of Tamstorf 2015; step numbers at line ends are its own. Pass 2 is the alternative named beside
//! Algorithm 2: each left-over node joins the aggregate it is most strongly connected to. Pass 3 dissolves aggregates of one or two
//! nodes into a neighbour, since they cannot hold the rotations of a rigid body. All in the order of the nodes: deterministic.

use coarsen_sparse::{Graph, Pattern};

const NONE: u32 = u32::MAX;

/// The smallest aggregate that holds six rigid-body modes.
const SMALLEST: usize = 3;

/// The aggregate of each node, `u32::MAX` for special ones, and how many there are.
pub(super) fn aggregate(
    pattern: &Pattern,
    weights: &[f64],
    strong: &Graph,
    special: &[bool],
) -> (Vec<u32>, usize) {
    let n = strong.nodes();
    let mut of = vec![NONE; n]; // 2
    let mut count = 0; // 3
    let free = |i: usize| !special[i];
    let neighbours = |i: usize| strong.neighbours(i).iter().map(|&j| j as usize).filter(|&j| free(j)); // 5
    for i in (0..n).filter(|&i| free(i)) {
        if of[i] == NONE && neighbours(i).next().is_some() && neighbours(i).all(|j| of[j] == NONE) {
            of[i] = count; // 6, 7
            neighbours(i).for_each(|j| of[j] = count); // 7
            count += 1; // 8
        }
    }
    // Pass 2, seen from pass 1 only, so that chains do not grow in one direction.
    let first = of.clone();
    for i in (0..n).filter(|&i| free(i) && first[i] == NONE) {
        of[i] = strongest(pattern, weights, i, &|j| strong.has_edge(i, j) && first[j] != NONE)
            .map_or(NONE, |j| first[j]);
    }
    // Nodes without a strong free neighbour, a coupling with which they could join an aggregate, or no neighbour at all.
    for i in (0..n).filter(|&i| free(i)) {
        if of[i] == NONE {
            let joined = strongest(pattern, weights, i, &|j| free(j) && of[j] != NONE).map(|j| of[j]);
            of[i] = joined.unwrap_or(count);
            count += u32::from(joined.is_none());
        }
    }
    dissolve_small(pattern, weights, &mut of, count)
}

/// The node j ≠ i with the largest weight in row i among those that `eligible` allows; the first of equals.
fn strongest(
    pattern: &Pattern,
    weights: &[f64],
    i: usize,
    eligible: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for k in pattern.range(i) {
        let j = pattern.indices()[k] as usize;
        if j != i && weights[k] > best.map_or(0.0, |b| b.1) && eligible(j) {
            best = Some((j, weights[k]));
        }
    }
    best.map(|b| b.0)
}

/// Pass 3: an aggregate below [`SMALLEST`] joins, whole, the one that its strongest outward coupling leads to.
fn dissolve_small(pattern: &Pattern, weights: &[f64], of: &mut [u32], count: u32) -> (Vec<u32>, usize) {
    let mut members = vec![Vec::new(); count as usize];
    (0..of.len()).filter(|&i| of[i] != NONE).for_each(|i| members[of[i] as usize].push(i));
    for own in 0..count {
        if members[own as usize].len() >= SMALLEST {
            continue;
        }
        let mut best: Option<(u32, f64)> = None;
        for k in members[own as usize].iter().flat_map(|&i| pattern.range(i)) {
            let other = of[pattern.indices()[k] as usize];
            if other != NONE && other != own && weights[k] > best.map_or(0.0, |b| b.1) {
                best = Some((other, weights[k]));
            }
        }
        if let Some((other, _)) = best {
            let moved = std::mem::take(&mut members[own as usize]);
            moved.iter().for_each(|&i| of[i] = other);
            members[other as usize].extend(moved);
        }
    }
    let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
    // Close the gaps that dissolved aggregates leave.
    let mut next = 0;
    let new: Vec<u32> = sizes
        .iter()
        .map(|&size| {
            let own = next;
            next += u32::from(size > 0);
            own
        })
        .collect();
    let of = of.iter().map(|&g| if g == NONE { NONE } else { new[g as usize] }).collect();
    (of, next as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_sparse::{Bsr, Strength, assembly};

    fn chain(n: u32) -> Bsr<f64> {
        let entries: Vec<_> = (0..n)
            .flat_map(|i| {
                let right = (i + 1 < n).then_some([(i, i + 1, -1.0), (i + 1, i, -1.0)]);
                std::iter::once((i, i, 2.0)).chain(right.into_iter().flatten())
            })
            .collect();
        assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
    }

    fn run(a: &Bsr<f64>, special: &[bool]) -> (Vec<u32>, usize) {
        let strength = Strength::SpectralRadius { theta: 0.48 };
        aggregate(a.pattern(), &strength.weights(a).unwrap(), &strength.graph(a).unwrap(), special)
    }

    #[test]
    fn a_chain_falls_apart_evenly() {
        let (of, count) = run(&chain(9), &[false; 9]);
        assert_eq!((of, count), (vec![0, 0, 0, 0, 0, 1, 1, 1, 1], 2));
    }

    #[test]
    fn special_nodes_separate_and_nobody_is_lost() {
        let mut special = [false; 12];
        special[5] = true;
        let (of, count) = run(&chain(12), &special);
        assert_eq!(of[5], NONE);
        assert!(of.iter().enumerate().all(|(i, &g)| (g == NONE) == (i == 5)));
        for g in 0..count as u32 {
            assert!(of.iter().filter(|&&o| o == g).count() >= SMALLEST, "{of:?}");
        }
    }

    #[test]
    fn lonely_nodes_stay_alone() {
        let (of, count) = run(&Bsr::identity(3, 1).unwrap(), &[false, true, false]);
        assert_eq!((of, count), (vec![0, NONE, 1], 2));
    }
}
