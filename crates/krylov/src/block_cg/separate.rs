//! Columns with their own search directions: k recurrences of conjugate gradients in lockstep.
//!
//! | symbol | here | |
//! |---|---|---|
//! | r | `w` | residuals, one vector per column |
//! | z | `z` | M⁻¹ r |
//! | p | `s` | search directions |
//! | A p | `q` | |
//! | (r, z) | `rho` | |
//! | (A p, p) | `curvature` | |
//! | (r, r) | `rr` | |
//!
//! Numbers at line ends follow Saad 2003, Algorithm 9.1, as in `cg.rs`.

use std::mem;

use coarsen_core::{Dot, LinearOperator, Outcome, Preconditioner, Real, Scalar, Vector};
use num_traits::Float;

use super::{BlockCg, Column, Observe};
use crate::convergence_test::round_off;

/// The number of columns whose scalars are read with one synchronisation.
const TOGETHER: usize = 8;

/// The number of scalars of a column that a convergence check reads.
const SCALARS: usize = 5;

/// The scalars of a column in an iteration.
pub(super) struct Scalars<S> {
    rho: Dot<S>,
    curvature: Dot<S>,
    rr: S,
}

impl<V: Vector> BlockCg<V> {
    /// Runs the recurrences from the residuals in W until each has ended. `active` has the column of each residual.
    pub(super) fn run_separate(
        &mut self,
        (a, m): (&dyn LinearOperator<V>, &mut dyn Preconditioner<V>),
        x: &mut [V],
        mut active: Vec<usize>,
        columns: &mut [Column],
        observe: &mut Observe<'_>,
    ) {
        let k = active.len();
        let unit = self.w[0].scalar(round_off());
        m.apply_many(&self.w[..k], &mut self.z[..k]); // 1
        let mut scalars = mem::take(&mut self.scalars);
        scalars.clear();
        for ((r, z), p) in self.w[..k].iter().zip(&self.z).zip(&mut self.s) {
            let rho = r.dot_magnitude(z);
            p.copy(z); // 1
            scalars.push(Scalars { curvature: rho.clone(), rr: rho.value.clone(), rho });
        }
        for step in 1.. {
            let k = active.len();
            a.apply_many(&self.s[..k], &mut self.q[..k]);
            let vectors = self.w.iter_mut().zip(&self.s).zip(&self.q);
            for ((of, &j), ((r, p), q)) in scalars.iter_mut().zip(&active).zip(vectors) {
                of.curvature = p.dot_magnitude(q); // 3
                let alpha = of.rho.value.over(&of.curvature.value, &of.curvature.round_off(&unit)); // 3
                of.rr = V::cg_update(&mut x[j], r, &alpha, p, q); // 4, 5
                columns[j].iterations += 1;
            }
            let last = active.iter().any(|&j| columns[j].iterations >= self.stop.max_iterations);
            if last || step % self.stop.check_every == 0 {
                self.check(x, &mut active, columns, &mut scalars, observe);
                if active.is_empty() {
                    self.scalars = scalars;
                    return;
                }
            }
            let k = active.len();
            m.apply_many(&self.w[..k], &mut self.z[..k]); // 6
            let vectors = self.w.iter().zip(&self.z).zip(&mut self.s);
            for (of, ((r, z), p)) in scalars.iter_mut().zip(vectors) {
                let next = r.dot_magnitude(z); // 6
                let beta = next.value.over(&of.rho.value, &of.rho.round_off(&unit)); // 7
                // Deviation: as in `cg.rs`, p is kept after a step with α = 0.
                let alive = of.curvature.value.over(&of.curvature.value, &of.curvature.round_off(&unit)); // 1 or 0
                p.axpby(&alive, z, &beta); // 8
                of.rho = next;
            }
        }
    }

    /// A convergence check of all active columns. Columns whose recurrence has ended leave `active`, and their vectors
    /// and scalars move behind those of the others.
    fn check(
        &mut self,
        x: &[V],
        active: &mut Vec<usize>,
        columns: &mut [Column],
        scalars: &mut Vec<Scalars<V::Scalar>>,
        observe: &mut Observe<'_>,
    ) {
        for (some, active) in scalars.chunks(TOGETHER).zip(active.chunks(TOGETHER)) {
            let value = |at: usize| {
                let of = &some[(at / SCALARS).min(some.len() - 1)];
                let Dot { value, magnitude } = &of.curvature;
                [&of.rr, &of.rho.value, &of.rho.magnitude, value, magnitude][at % SCALARS]
            };
            let values = V::wait_for::<{ SCALARS * TOGETHER }>(std::array::from_fn(value));
            for (values, &j) in values.chunks_exact(SCALARS).zip(active) {
                let dot = |at: usize| Dot { value: values[at], magnitude: values[at + 1] };
                columns[j].seen = values[0].sqrt().as_f64();
                columns[j].end = columns[j].ended([dot(1), dot(3)]);
            }
        }
        let stopped = self.observed(columns, observe);
        for c in (0..active.len()).rev() {
            let (j, last) = (active[c], active.len() - 1);
            let limit = columns[j].iterations >= self.stop.max_iterations;
            let end = columns[j].end.or_else(|| match stopped {
                true => Some(Outcome::Stopped),
                false => limit.then_some(Outcome::IterationLimit),
            });
            columns[j].end = end;
            if end.is_none() {
                let seen = columns[j].seen;
                columns[j].keep(&x[j], &mut self.safe[j], seen);
                continue;
            }
            active.swap_remove(c);
            scalars.swap_remove(c);
            for vectors in [&mut self.w, &mut self.s] {
                vectors.swap(c, last);
            }
        }
    }
}

impl Column {
    /// Returns why the recurrence ends, if it does, for ‖r‖ in `seen`: the tests of `Cg`.
    fn ended<T: Real>(&self, [rho, curvature]: [Dot<T>; 2]) -> Option<Outcome> {
        let positive = [(Outcome::IndefinitePreconditioner, rho), (Outcome::IndefiniteOperator, curvature)];
        if !self.seen.is_finite() || positive.iter().any(|(_, dot)| !dot.value.is_finite()) {
            return Some(Outcome::NotFinite);
        }
        if self.seen <= self.threshold.max(T::EPSILON.as_f64() * self.truth) {
            return Some(Outcome::Converged);
        }
        if self.seen > self.initial / T::EPSILON.as_f64() {
            return Some(Outcome::Diverged);
        }
        let (negative, dot) = positive.iter().find(|(_, dot)| dot.value <= dot.round_off(&round_off()))?;
        Some(if dot.value < -dot.round_off(&round_off()) { *negative } else { Outcome::Breakdown })
    }
}
