//! The pairs of L-BFGS.

use coarsen_core::{Error, Real, Vector};

/// s, y and ρ = 1 / (y, s) of one step.
pub(super) struct Pair<V: Vector> {
    pub(super) s: V,
    pub(super) y: V,
    pub(super) rho: V::Real,
}

/// At most `window` pairs; a new pair replaces the oldest.
pub(super) struct Pairs<V: Vector> {
    window: usize,
    stored: Vec<Pair<V>>,
    oldest: usize,
    count: usize,
    /// (s_a, y_b) at index a · window + b, where a and b are numbers of slots in use.
    products: Vec<V::Real>,
}

/// The number of inner products per reduction.
const BATCH: usize = 8;

impl<V: Vector> Pairs<V> {
    pub(super) fn new(window: usize) -> Self {
        let products = vec![V::Real::from_f64(0.0); window * window];
        Self { window, stored: Vec::with_capacity(window), oldest: 0, count: 0, products }
    }

    /// Allocates all pairs of vectors like x; pairs of another layout are removed, and their memory is kept.
    pub(super) fn prepare(&mut self, x: &V) -> Result<(), Error> {
        if self.stored.first().is_some_and(|pair| !pair.s.same_layout(x)) {
            self.clear();
            let mut old = std::mem::take(&mut self.stored); // dropped after an error
            old.iter_mut().flat_map(|pair| [&mut pair.s, &mut pair.y]).try_for_each(|v| v.renew_like(x))?;
            self.stored = old;
        }
        while self.stored.len() < self.window {
            self.stored.push(Pair { s: x.like()?, y: x.like()?, rho: V::Real::from_f64(0.0) });
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn window(&self) -> usize {
        self.window
    }

    /// Pair a; pair 0 is the oldest.
    pub(super) fn get(&self, a: usize) -> &Pair<V> {
        &self.stored[self.slot(a)]
    }

    /// (s_a, y_b), computed by [`multiply`](Self::multiply).
    pub(super) fn product(&self, a: usize, b: usize) -> V::Real {
        self.products[self.slot(a) * self.window + self.slot(b)]
    }

    /// Removes all pairs and keeps their memory.
    pub(super) fn clear(&mut self) {
        (self.oldest, self.count) = (0, 0);
    }

    /// Whether memory for pairs is allocated.
    pub(super) fn is_prepared(&self) -> bool {
        self.window > 0 && self.stored.len() == self.window
    }

    /// Stores a copy of a pair. Memory must already be allocated.
    pub(super) fn push(&mut self, s: &V, y: &V, rho: V::Real) {
        let slot = self.slot(self.count);
        let pair = &mut self.stored[slot];
        pair.s.copy(s);
        pair.y.copy(y);
        pair.rho = rho;
        if self.count == self.window {
            self.oldest = self.slot(1);
        } else {
            self.count += 1;
        }
    }

    /// Computes the inner products of the newest pair with all pairs.
    pub(super) fn multiply(&mut self) {
        let newest = self.count - 1;
        let mut dots = [V::Real::from_f64(0.0); BATCH];
        for first in (0..self.count).step_by(BATCH) {
            self.dots(&self.get(newest).s, first, |pair| &pair.y, &mut dots);
            for b in first..self.count.min(first + BATCH) {
                let place = self.slot(newest) * self.window + self.slot(b);
                self.products[place] = dots[b - first];
            }
            self.dots(&self.get(newest).y, first, |pair| &pair.s, &mut dots);
            for a in first..self.count.min(first + BATCH) {
                let place = self.slot(a) * self.window + self.slot(newest);
                self.products[place] = dots[a - first];
            }
        }
    }

    /// Computes v · `of`(pair) for pair `first` and up to seven more pairs, by one reduction.
    pub(super) fn dots(&self, v: &V, first: usize, of: impl Fn(&Pair<V>) -> &V, into: &mut [V::Real; BATCH]) {
        let with: [&V; BATCH] = std::array::from_fn(|k| of(self.get((first + k).min(self.count - 1))));
        let dots = v.dots(with);
        *into = V::wait_for(dots.each_ref());
    }

    /// Computes v · `of`(pair) for all pairs, by one reduction per eight pairs.
    pub(super) fn all_dots(&self, v: &V, of: impl Fn(&Pair<V>) -> &V, into: &mut [V::Real]) {
        let mut dots = [V::Real::from_f64(0.0); BATCH];
        for first in (0..self.count).step_by(BATCH) {
            self.dots(v, first, &of, &mut dots);
            let end = self.count.min(first + BATCH);
            into[first..end].copy_from_slice(&dots[..end - first]);
        }
    }

    fn slot(&self, a: usize) -> usize {
        (self.oldest + a) % self.window
    }
}
