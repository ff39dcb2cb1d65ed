//! Transfers by weights and identities, without the blocks of P.
//!
//! | symbol | what |
//! |---|---|
//! | w | the m weights between a fine and a coarse node; 1 for identities |
//! | d | the number of unknowns of a fine node; a coarse node has m d unknowns |
//!
//! x_i += Σ_J Σ_a w_iJ[a] x_J[a], and r_J[a] = Σᵢ w_iJ[a] r_i, each for d unknowns.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Error, Real, compiled};
use coarsen_sparse::{Pattern, Prolongation, TransposePlan};

use super::{Cpu, columns_of};
use crate::range::same_length;
use crate::{SetupError, Transfer, check_range};

/// The number of nodes per leaf of a parallel loop.
const LEAF: usize = 512;

/// W ⊗ I_d and its transpose.
pub(super) struct WeightTransfer<S> {
    /// The weights of every fine node.
    down: Side<S>,
    /// The weights of every coarse node.
    up: Side<S>,
    copies: usize,
}

/// The weights of P or of Pᵀ, row by row.
struct Side<S> {
    pattern: Arc<Pattern>,
    /// The blocks of m weights; empty if P consists of identities.
    weights: Vec<S>,
    m: usize,
}

impl<S: Real> Side<S> {
    /// Returns the weights of entry `at`.
    #[inline(always)]
    fn of<'a>(&'a self, at: usize, one: &'a [S; 1]) -> &'a [S] {
        if self.weights.is_empty() { one } else { &self.weights[at * self.m..(at + 1) * self.m] }
    }
}

impl<S: Real> WeightTransfer<S> {
    /// Returns `None` if P has whole blocks.
    pub(super) fn new<T: Real>(
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> Result<Option<Self>, SetupError> {
        if p.matrix().is_some() {
            return Ok(None);
        }
        let (copies, k) = p.block();
        let side =
            |pattern: &Arc<Pattern>| Side { pattern: pattern.clone(), weights: Vec::new(), m: k / copies };
        let mut made = Self { down: side(p.pattern()), up: side(transpose.pattern()), copies };
        made.fill(p, transpose)?;
        Ok(Some(made))
    }

    fn fill<T: Real>(&mut self, p: &Prolongation<T>, transpose: &TransposePlan) -> Result<(), SetupError> {
        check_range::<T, S>("the weights of the prolongation", p.values())?;
        let (values, m) = (p.values(), self.down.m);
        self.down.weights.clear();
        self.down.weights.extend(values.iter().map(|v| v.to::<S>()));
        self.up.weights.clear();
        if !values.is_empty() {
            let source = transpose.source().iter();
            self.up.weights.extend(
                source.flat_map(|&at| &values[at as usize * m..(at as usize + 1) * m]).map(|v| v.to::<S>()),
            );
        }
        Ok(())
    }
}

impl<T: Real, V: Real, S: Real> Transfer<T, Cpu<V, S>> for WeightTransfer<S> {
    fn prolong_add(&self, coarse: &Vec<V>, x: &mut Vec<V>) {
        PROLONG.of::<Prolong<S, V>>()(self, coarse, x);
    }

    fn restrict(&self, r: &Vec<V>, coarse: &mut Vec<V>) {
        RESTRICT.of::<Restrict<S, V>>()(self, r, coarse);
    }

    fn set_values(&mut self, p: &Prolongation<T>, transpose: &TransposePlan) -> Result<(), SetupError> {
        same_length("weights of the prolongation", self.down.weights.len(), p.values().len())?;
        if !Pattern::same(p.pattern(), &self.down.pattern) {
            return Err(Error::Pattern { what: "the prolongation given to a transfer" }.into());
        }
        self.fill(p, transpose)
    }

    fn bytes(&self) -> usize {
        (self.down.weights.len() + self.up.weights.len()) * size_of::<S>()
    }
}

compiled!(PROLONG: Prolong<S, V> = fn(&WeightTransfer<S>, &[V], &mut [V]), prolong);

compiled!(RESTRICT: Restrict<S, V> = fn(&WeightTransfer<S>, &[V], &mut [V]), restrict);

fn prolong<S: Real, V: Real>(of: &WeightTransfer<S>, coarse: &[V], x: &mut [V]) {
    let side = &of.down;
    // Interleaved columns are further copies of all unknowns.
    let d = of.copies * columns_of(x, side.pattern.rows() * of.copies);
    let k = d * side.m;
    assert!(
        x.len() == side.pattern.rows() * d && coarse.len() == side.pattern.columns() * k,
        "prolong_add: lengths"
    );
    let one = [S::one()];
    let leaf = |(nodes, x): (Range<usize>, Groups<&mut [V]>)| {
        for (i, x) in nodes.zip(x.0.chunks_exact_mut(d)) {
            for at in side.pattern.range(i) {
                let coarse = &coarse[side.pattern.indices()[at] as usize * k..][..k];
                for (w, coarse) in side.of(at, &one).iter().zip(coarse.chunks_exact(d)) {
                    x.iter_mut().zip(coarse).for_each(|(x, &c)| *x += w.to::<V>() * c);
                }
            }
        }
    };
    each(
        (0..side.pattern.rows(), Groups(x, d)),
        LEAF,
        parallel::worth_product(side.pattern.len() * k),
        &leaf,
    );
}

fn restrict<S: Real, V: Real>(of: &WeightTransfer<S>, r: &[V], coarse: &mut [V]) {
    let side = &of.up;
    let d = of.copies * columns_of(r, side.pattern.columns() * of.copies);
    let k = d * side.m;
    assert!(
        r.len() == side.pattern.columns() * d && coarse.len() == side.pattern.rows() * k,
        "restrict: lengths"
    );
    let one = [S::one()];
    let leaf = |(nodes, coarse): (Range<usize>, Groups<&mut [V]>)| {
        for (j, coarse) in nodes.zip(coarse.0.chunks_exact_mut(k)) {
            coarse.fill(V::zero());
            for at in side.pattern.range(j) {
                let r = &r[side.pattern.indices()[at] as usize * d..][..d];
                for (w, coarse) in side.of(at, &one).iter().zip(coarse.chunks_exact_mut(d)) {
                    coarse.iter_mut().zip(r).for_each(|(c, &r)| *c += w.to::<V>() * r);
                }
            }
        }
    };
    each(
        (0..side.pattern.rows(), Groups(coarse, k)),
        LEAF,
        parallel::worth_product(side.pattern.len() * k),
        &leaf,
    );
}
