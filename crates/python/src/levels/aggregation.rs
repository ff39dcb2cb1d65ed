//! Aggregates of strongly connected nodes.
//!
//! *Reference* Vaněk, Mandel & Brezina 1996, §5.1, Algorithm 2.

use super::blocks::Sparse;

/// No aggregate.
const NONE: i32 = -1;

/// Returns the aggregate of each node, −1 for nodes without a neighbour, and the node from which each aggregate grew.
///
/// Pass 1: a node and its neighbours, if none of them has an aggregate. Pass 2: a left-over node joins its first neighbour of
/// pass 1. Pass 3: a left-over node and its left-over neighbours.
pub(crate) fn standard(c: &Sparse) -> (Vec<i32>, Vec<i32>) {
    let n = c.pattern().rows();
    let neighbours = |i: usize| c.pattern().row(i).iter().map(|&j| j as usize).filter(move |&j| j != i);
    let (mut of, mut roots) = (vec![NONE; n], Vec::new());
    for i in 0..n {
        if of[i] == NONE && neighbours(i).next().is_some() && neighbours(i).all(|j| of[j] == NONE) {
            grow(i, neighbours(i), &mut of, &mut roots);
        }
    }
    let first = of.clone();
    for i in 0..n {
        if of[i] == NONE
            && let Some(j) = neighbours(i).find(|&j| first[j] != NONE)
        {
            of[i] = first[j];
        }
    }
    for i in 0..n {
        if of[i] == NONE && neighbours(i).next().is_some() {
            grow(i, neighbours(i), &mut of, &mut roots);
        }
    }
    (of, roots)
}

/// As [`standard`], but every node in order becomes an aggregate with its left-over neighbours; none is left out.
pub(crate) fn naive(c: &Sparse) -> (Vec<i32>, Vec<i32>) {
    let n = c.pattern().rows();
    let (mut of, mut roots) = (vec![NONE; n], Vec::new());
    for i in 0..n {
        if of[i] == NONE {
            grow(i, c.pattern().row(i).iter().map(|&j| j as usize), &mut of, &mut roots);
        }
    }
    (of, roots)
}

/// Makes node i and its left-over neighbours an aggregate.
fn grow(i: usize, neighbours: impl Iterator<Item = usize>, of: &mut [i32], roots: &mut Vec<i32>) {
    let number = roots.len() as i32;
    roots.push(i as i32);
    of[i] = number;
    neighbours.for_each(|j| {
        if of[j] == NONE {
            of[j] = number;
        }
    });
}
