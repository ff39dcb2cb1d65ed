//! Extreme eigenvalues by the Lanczos process: of the Lanczos matrix of conjugate gradients, and the largest of D⁻¹A by
//! the generalized Lanczos method.
//!
//! D⁻¹A is not symmetric, but A x = λ D x is a symmetric pencil. Lanczos in the inner product of D⁻¹ needs
//! two short recurrences and no factorisation of D (van der Vorst 1982). Symbols: `v` is the Lanczos vector,
//! `z` = D⁻¹ v, `gamma` = (v, D⁻¹ v)^½ the length of v, `delta` the diagonal entry of the Lanczos matrix.
//!
//! # Certainty
//!
//! The k-th Lanczos vector is p(D⁻¹A) of the first, with a polynomial p of degree k that the Lanczos matrix determines. It
//! has length 1, and so has its component along the eigenvector u of the largest eigenvalue λ at most. If the first
//! vector has a component of size c along u, then |p(λ)| ≤ 1 / c. Above the roots of p, |p| grows, so λ is at most the t
//! at which |p(t)| = 1 / c (1) (van Dorsselaer, Hochstenbach & van der Vorst 2001, SIAM J. Matrix Anal. Appl. 22(3)).
//!
//! c must not be small by construction, for example because u lives where D is large. With random numbers h,
//!
//! > v = A h + s h,  s = ‖A h‖ / ‖h‖ in the norm of D⁻¹                                   (2)
//!
//! has the component h · w along u, with w = λ D^½ u + s D^-½ u for u of length 1 in the variable D^½ x. As the two terms
//! of w have the product λ s, ‖w‖ ≥ 2 (λ s)^½ (3) whatever D is. A projection of n independent numbers, each uniform in
//! \[−1, 1\], is smaller than ε ‖w‖ with a probability of at most √2 ε (Ball 1986), so c ≥ 2 ε (λ s)^½ / γ (4) except with
//! that probability, where γ is the length of v. s depends on h as well; for many unknowns it hardly varies, and it is
//! treated as fixed.

use std::mem;
use std::ops::Range;

use coarsen_core::parallel::{LEAF, each, worth};
use coarsen_core::{Dot, Error, LinearOperator, Preconditioner, Real, Scalar, SplitMix64, Vector};
use num_traits::zero;

use crate::convergence_test::round_off;
use crate::solve::{Workspace, check_shapes};

/// An estimate of the spectral radius of D⁻¹A for symmetric A and symmetric positive definite D.
///
/// Lanczos approaches the largest eigenvalue from below, so the estimate is multiplied by `safety`. Chebyshev
/// smoothing and the damping of a prolongation need a tight upper bound. Ten steps find the eigenvalue within
/// a few per cent. The power method would need more steps, since its convergence factor is the ratio of the
/// two largest eigenvalues. Stiff contacts and slivers of a mesh have eigenvectors localised on a few nodes,
/// and the start vector has small components along them. So further steps follow while a step raises the
/// estimate by more than a twelfth. They also follow while the increments decrease so slowly that all
/// remaining increments together would exceed this limit. This rule can fail; where a radius that is too small
/// is a fault, set `margin`.
/// *Cost* `steps` applications of A and D⁻¹, up to 4 `steps` while the estimate rises or the margin is not certain (14
/// to 20 on sheets of cloth), and with a margin one more; at most 1024 steps; 2 synchronisations per step; 4 vectors. The vectors
/// are kept, so that a second estimate allocates nothing. *Reference* Tamstorf, Jones & McCormick 2015, §7 and §11 (ten
/// steps); van der Vorst 1982; van Dorsselaer, Hochstenbach & van der Vorst 2001 (margin).
///
/// ```
/// use coarsen_krylov::{Identity, SpectralRadius, from_fn, start_vector};
/// let n = 100;
/// let chain = from_fn(n, move |x: &Vec<f64>, y: &mut Vec<f64>| {
///     (0..n).for_each(|i| y[i] = 2.0 * x[i] - x.get(i + 1).unwrap_or(&0.0) - if i > 0 { x[i - 1] } else { 0.0 });
/// });
/// let radius = SpectralRadius::default().estimate(&chain, &mut Identity, &start_vector(n))?;
/// assert!((3.99..4.4).contains(&radius)); // 4 at most, times 1.1
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct SpectralRadius<V: Vector = Vec<f64>> {
    /// The least number of Lanczos steps, at least 1; 10 by default. 1 and 2 have the same effect as 3, since
    /// three estimates are needed to extrapolate.
    pub steps: usize,
    /// The factor applied to the estimate, at least 1; 1.1 by default.
    pub safety: f64,
    /// A known upper bound of the radius, infinity by default. The iteration ends when the estimate times
    /// `safety` reaches it, and the result is the bound. A bound below the estimate times `safety` times `margin` needs
    /// no steps for the margin.
    pub ceiling: f64,
    /// For positive semidefinite A, the radius is less than `margin` times the result, except for a share of 10⁻⁴ of all
    /// start vectors with entries between −1 and 1, and as far as round-off permits. At least 1; infinity, the default,
    /// for no such promise. Steps follow until it holds, and the result is raised if it does not hold after the last
    /// step.
    pub margin: f64,
    workspace: Workspace<V, 4>,
    lanczos: Tridiagonal,
}

/// The estimate has not converged if the last step, or all remaining steps together, raise it by more than
/// this factor. Measured factors: on sheets, bodies and jumps 1.04 to 1.07 in the fourth step and half as
/// much in each later step; with stiff springs anywhere 1.2 to 1.5 in the fourth and fifth step; on a garment
/// with slivers 1.05 from the fourth to the tenth step.
const RISE: f64 = 13.0 / 12.0;

/// The estimate has also converged if the last step raises it by less than this fraction.
const LITTLE: f64 = 0.005;

/// The largest number of steps, as a multiple of `steps`.
const LONGEST: usize = 4;

/// ε in (4).
const UNLIKELY: f64 = 7e-5;

/// The range of (v, D⁻¹ v), and what it needs.
const POSITIVE: &str =
    "positive: A must be symmetric, and D (its diagonal blocks) symmetric positive definite";

/// The factor by which a bound is raised until it is certain.
const RAISE: f64 = 1.02;

impl<V: Vector> Default for SpectralRadius<V> {
    fn default() -> Self {
        let (workspace, lanczos) = (Workspace::new(), Tridiagonal::default());
        let [ceiling, margin] = [f64::INFINITY; 2];
        Self { steps: 10, safety: 1.1, ceiling, margin, workspace, lanczos }
    }
}

impl<V: Vector> SpectralRadius<V> {
    /// Computes the estimate. The start vector should have a component along every eigenvector (see
    /// [`start_vector`]).
    ///
    /// # Errors
    /// [`Error::NotSquare`], [`Error::Shape`]; [`Error::Parameter`] for an invalid field, if D is not
    /// positive definite, or if the radius is 0 or not finite (A is zero or contains NaN).
    pub fn estimate(
        &mut self,
        a: &dyn LinearOperator<V>,
        d: &mut dyn Preconditioner<V>,
        start: &V,
    ) -> Result<V::Real, Error> {
        let refuse = |name, value, range| Err(Error::Parameter { name, value, range });
        check_shapes(a, d, &[("the start vector", start.size())])?;
        if self.steps == 0 {
            return refuse("SpectralRadius::steps", 0.0, "1 or more");
        }
        if !(self.safety >= 1.0 && self.safety.is_finite()) {
            return refuse("SpectralRadius::safety", self.safety, "1 or more");
        }
        if self.ceiling.is_nan() || self.ceiling <= 0.0 {
            return refuse("SpectralRadius::ceiling", self.ceiling, "above 0");
        }
        if self.margin.is_nan() || self.margin < 1.0 {
            return refuse("SpectralRadius::margin", self.margin, "1 or more");
        }
        let (raise, steps) = (self.margin * self.safety, self.steps.min(KEPT));
        self.lanczos.clear();
        let [v, v0, z, q] = self.workspace.like(start)?;
        let number = |value: f64| start.scalar(V::Real::from_f64(value));

        v.copy(start);
        v0.fill(zero());
        let mut gamma = match length::<V>(&d.apply_dot(v, z)) {
            gamma if gamma > 0.0 => gamma,
            gamma => return refuse("the length of the start vector in D⁻¹", gamma, POSITIVE),
        };
        let mut least = 0.0; // c / λ^½ in (4)
        if self.margin.is_finite() {
            a.apply(v, q);
            let s = length::<V>(&d.apply_dot(q, z)) / gamma;
            if s > 0.0 {
                v.axpby(&number(1.0), q, &number(s)); // 2
                gamma = length::<V>(&d.apply_dot(v, z));
                least = 2.0 * UNLIKELY * s.sqrt() / gamma;
            } else {
                d.apply(v, z);
            }
        }
        let mut gamma0 = 1.0;
        let mut found = [0.0; 3]; // the last three estimates
        let mut exhausted = false;
        for step in 1..=steps.saturating_mul(LONGEST).min(KEPT) {
            let delta = a.apply_dot(z, q).value.read().as_f64() / (gamma * gamma);
            self.lanczos.push(delta, gamma);
            v0.axpby(&number(1.0 / gamma), q, &number(-gamma / gamma0));
            v0.axpy(&number(-delta / gamma), v);
            mem::swap(v, v0); // v = A z − (δ/γ) v − (γ/γ₀) v₀, z of length 1
            mem::swap(z, q);
            (gamma0, gamma) = (gamma, length::<V>(&d.apply_dot(v, z)));
            if gamma.is_nan() {
                return refuse("(v, D⁻¹ v) of a Lanczos vector v", gamma, POSITIVE);
            }
            exhausted = gamma <= V::Real::EPSILON.as_f64() * delta.abs(); // the Krylov space is exhausted
            if step + 2 < steps && !exhausted && self.ceiling == f64::INFINITY {
                continue;
            }
            let now = self.lanczos.extremes(WIDTH).map_or(f64::NAN, |[low, high]| high.max(-low));
            found = [found[1], found[2], now];
            let enough = now * self.safety >= self.ceiling;
            let done = match self.ceiling <= raise * now || self.margin.is_infinite() {
                true => settled(found),
                false => is_certain(&self.lanczos, raise * now, gamma, least),
            };
            if exhausted || enough || (step >= steps && done) {
                break;
            }
        }
        let radius = found[2];
        if !(radius > 0.0 && radius.is_finite()) {
            return refuse("the spectral radius of D⁻¹A", radius, "above 0 and finite; check A");
        }
        let mut bound = radius * self.safety;
        while self.margin * bound < self.ceiling
            && self.margin.is_finite()
            && !exhausted
            && !is_certain(&self.lanczos, self.margin * bound, gamma, least)
        {
            bound *= RAISE;
        }
        if bound == f64::INFINITY {
            return refuse("the bound of the spectral radius of D⁻¹A", bound, "finite; check A and D");
        }
        Ok(V::Real::from_f64(bound.min(self.ceiling)))
    }
}

/// Whether no eigenvalue is larger than t (1), if t is larger than all Ritz values; `next` is the length of the next
/// Lanczos vector.
fn is_certain(lanczos: &Tridiagonal, t: f64, next: f64, least: f64) -> bool {
    least * t.sqrt() * lanczos.polynomial(t, next) >= 1.0
}

/// Whether an estimate has converged, from its last three values. If increments decrease by the factor q, all
/// remaining increments add up to q / (1 − q) times the last increment.
fn settled([first, second, third]: [f64; 3]) -> bool {
    let (before, last) = (second - first, third - second);
    let rest = last * last / (before - last);
    let shrinking = before > last && rest <= (RISE - 1.0) * third;
    first > 0.0 && third <= RISE * second && (shrinking || last <= LITTLE * third)
}

/// (v, D⁻¹ v)^½; 0 if it is only round-off, NaN if D is not positive definite.
fn length<V: Vector>(dot: &Dot<V::Scalar>) -> f64 {
    let [value, magnitude] = V::wait_for([&dot.value, &dot.magnitude]).map(Real::as_f64);
    if value.abs() <= round_off::<V::Real>().as_f64() * magnitude { 0.0 } else { value.sqrt() }
}

/// A vector with a component along every relevant eigenvector: n pseudorandom numbers between −1 and 1, the
/// same in every run.
///
/// Constant and smooth vectors are poor start vectors, since the eigenvectors of the largest eigenvalues
/// oscillate.
pub fn start_vector<T: Real>(n: usize) -> Vec<T> {
    let mut start = vec![T::zero(); n];
    let leaf = |(range, start): (Range<usize>, &mut [T])| {
        start.iter_mut().zip(range).for_each(|(v, i)| *v = T::from_f64(SplitMix64::at(i as u64).number()));
    };
    each((0..n, &mut start[..]), LEAF, worth(n), &leaf);
    start
}

/// The number of rows that are stored. Later rows change the extreme eigenvalues little.
pub(crate) const KEPT: usize = 1024;

/// The largest number of passes, each of two bisections.
const PASSES: usize = 32;

/// The points of an interval that a pass counts.
const POINTS: usize = 3;

/// The relative width at which bisection ends. Six digits are more than the accuracy of the estimate.
pub(crate) const WIDTH: f64 = 1e-6;

/// The same for monitors, which ask again and again.
pub(crate) const MONITORED: f64 = 1e-3;

/// The Lanczos matrix T: symmetric and tridiagonal, it grows row by row, up to `KEPT` rows.
///
/// Its extreme eigenvalues are found by Sturm sequences: the number of eigenvalues below s is the number of negative
/// pivots of T − s I = L D Lᵀ (Golub & Van Loan 2013, §8.4). Bisection that uses this count needs no memory. Each
/// pivot waits for a division, so the middle and both quarters of the interval of each end are counted at once: a
/// pass bisects both intervals twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tridiagonal {
    /// T_jj and T_{j,j−1}² (0 for j = 0) for each row j.
    rows: Vec<(f64, f64)>,
    /// ρ = rᵀz and pᵀAp of the last step of conjugate gradients.
    last: (f64, f64),
}

impl Tridiagonal {
    /// Removes all rows and keeps the memory, which the first call allocates.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.rows.reserve_exact(KEPT);
    }

    /// Adds the row with diagonal entry `alpha`, coupled to the previous row by `beta`.
    pub(crate) fn push(&mut self, alpha: f64, beta: f64) {
        if self.rows.len() < KEPT {
            let square = if self.rows.is_empty() { 0.0 } else { beta * beta };
            self.rows.push((alpha, square));
        }
    }

    /// Adds the row of one step of conjugate gradients with ρ = rᵀz and pᵀAp (Saad 2003, §6.7.3).
    ///
    /// A step with a value that is not positive is omitted, because the process ends there.
    pub(crate) fn push_step(&mut self, rho: f64, curvature: f64) {
        let (rho0, curvature0) = std::mem::replace(&mut self.last, (rho, curvature));
        if !(rho > 0.0 && curvature > 0.0) {
            return;
        }
        if self.rows.is_empty() {
            return self.push(curvature / rho, 0.0);
        }
        let (inverse_alpha, beta) = (curvature0 / rho0, rho / rho0);
        self.push(curvature / rho + beta * inverse_alpha, beta.sqrt() * inverse_alpha);
    }

    /// p(t), where p(A) maps the first Lanczos vector of length 1 to the one after the last row, whose coupling to the
    /// last row is `next`. Positive for all t above the largest eigenvalue, and infinite if it is too large for f64.
    pub(crate) fn polynomial(&self, t: f64, next: f64) -> f64 {
        let (mut before, mut now) = (0.0, 1.0);
        for (j, &(diagonal, square)) in self.rows.iter().enumerate() {
            let couple = self.rows.get(j + 1).map_or(next, |row| row.1.sqrt());
            (before, now) = (now, ((t - diagonal) * now - square.sqrt() * before) / couple);
            if !now.is_finite() {
                return f64::INFINITY;
            }
        }
        now
    }

    /// The number of eigenvalues below each s.
    fn below<const N: usize>(&self, s: [f64; N]) -> [usize; N] {
        // Without a root for each row, because it waits for the same unit as the divisions.
        let below_zero = |square: f64| -f64::EPSILON * square.sqrt().max(f64::MIN_POSITIVE / f64::EPSILON);
        let (mut counts, mut pivots) = ([0; N], [1.0_f64; N]);
        for &(diagonal, square) in &self.rows {
            for (pivot, s) in pivots.iter_mut().zip(s) {
                *pivot = diagonal - s - square / *pivot;
            }
            if pivots.contains(&0.0) {
                pivots
                    .iter_mut()
                    .filter(|pivot| **pivot == 0.0)
                    .for_each(|pivot| *pivot = below_zero(square));
            }
            counts.iter_mut().zip(pivots).for_each(|(count, pivot)| *count += usize::from(pivot < 0.0));
        }
        counts
    }
}

/// An interval with the eigenvalue at an end of the spectrum.
#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn middle(self) -> f64 {
        self.low + 0.5 * (self.high - self.low)
    }

    fn is_narrow(self, width: f64) -> bool {
        self.high - self.low <= width * self.middle().abs()
    }

    fn halves(self) -> [Self; 2] {
        let middle = self.middle();
        [Self { low: self.low, high: middle }, Self { low: middle, high: self.high }]
    }

    /// The first quarter, the middle and the last quarter.
    fn points(self) -> [f64; POINTS] {
        let [lower, upper] = self.halves();
        [lower.middle(), self.middle(), upper.middle()]
    }

    /// The interval after two bisections, or one or none if it is narrow then: it has the k-th smallest eigenvalue, for the
    /// numbers of eigenvalues below the points.
    fn bisected(self, k: usize, counts: &[usize], width: f64) -> Self {
        if self.is_narrow(width) {
            return self;
        }
        let upper = usize::from(counts[1] <= k);
        let half = self.halves()[upper];
        if half.is_narrow(width) {
            return half;
        }
        half.halves()[usize::from(counts[2 * upper] <= k)]
    }
}

impl Tridiagonal {
    /// The smallest and the largest eigenvalue; `None` without rows, or if a row is not finite.
    ///
    /// Accurate to the relative `width`. *Cost* 20 to 64 bisections for six digits, in half as many passes of six
    /// independent divisions per row.
    pub(crate) fn extremes(&self, width: f64) -> Option<[f64; 2]> {
        let n = self.rows.len();
        let couple = |j: usize| self.rows.get(j).map_or(0.0, |row| row.1.sqrt());
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (j, row) in self.rows.iter().enumerate() {
            let radius = couple(j) + couple(j + 1); // by Gershgorin's theorem
            low = low.min(row.0 - radius);
            high = high.max(row.0 + radius);
        }
        let finite = self.rows.iter().all(|row| row.0.is_finite() && row.1.is_finite());
        if n == 0 || !finite {
            return None;
        }
        let mut ends = [Interval { low, high }; 2];
        for _ in 0..PASSES {
            if ends.iter().all(|end| end.is_narrow(width)) {
                break;
            }
            let points = ends.map(Interval::points);
            let counts: [usize; 2 * POINTS] =
                self.below(std::array::from_fn(|i| points[i / POINTS][i % POINTS]));
            let (first, last) = counts.split_at(POINTS);
            ends = [ends[0].bisected(0, first, width), ends[1].bisected(n - 1, last, width)];
        }
        Some(ends.map(Interval::middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Estimates for domains of 16 nodes, from the fourth step on.
    #[test]
    fn steps_that_do_not_shrink_are_not_the_last() {
        let sheet = [1.829, 1.877, 1.904];
        let garment = [1.976, 2.073, 2.170, 2.283, 2.407, 2.528, 2.661];
        let coarser = [1.875, 1.988, 2.751];
        assert!(settled(sheet));
        assert!(garment.windows(3).all(|w| !settled([w[0], w[1], w[2]])) && !settled(coarser));
        assert!(settled([2.751, 2.751, 2.751]) && settled([2.864, 2.872, 2.880]));
        assert!(!settled([0.0, 1.9, 1.91]) && !settled([1.0, 1.0, f64::NAN]));
    }

    #[test]
    fn eigenvalues_of_second_differences_are_found() {
        let mut t = Tridiagonal::default();
        let n = 50;
        for _ in 0..n {
            t.push(2.0, -1.0);
        }
        let exact = |k: f64| 2.0 - 2.0 * (std::f64::consts::PI * k / 51.0).cos();
        for width in [WIDTH, MONITORED] {
            let [low, high] = t.extremes(width).unwrap();
            assert!((low / exact(1.0) - 1.0).abs() < width && (high / exact(50.0) - 1.0).abs() < width);
        }
        assert_eq!(t.below([2.0, -1.0, 5.0]), [n / 2, 0, n]);
    }

    /// The eigenvalues of [[a, b], [b, c]]: of either sign, clustered, and of very different sizes.
    #[test]
    fn eigenvalues_of_two_rows_are_exact() {
        for (a, b, c) in
            [(2.0, 1.0, 2.0), (-2.0, 1.0, -3.0), (1.0, 1e-9, 1.0), (1e-12, 0.0, 1.0), (0.0, 0.0, 0.0)]
        {
            let mut t = Tridiagonal::default();
            t.push(a, 0.0);
            t.push(c, b);
            let (mean, radius) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
            let far = if mean < 0.0 { mean - radius } else { mean + radius };
            let near = if far == 0.0 { 0.0 } else { (a * c - b * b) / far };
            for (found, exact) in t.extremes(WIDTH).unwrap().into_iter().zip([near.min(far), near.max(far)]) {
                assert!((found - exact).abs() <= 1e-6 * exact.abs(), "{found} {exact}: {a} {b} {c}");
            }
        }
    }

    #[test]
    fn empty_and_infinite_tridiagonals_have_no_extremes() {
        let mut t = Tridiagonal::default();
        assert_eq!(t.extremes(WIDTH), None);
        t.push(3.0, 9.0);
        assert_eq!(t.extremes(WIDTH).map(|e| e.map(|v| v.round())), Some([3.0, 3.0]));
        t.push(f64::INFINITY, 1.0);
        assert_eq!(t.extremes(WIDTH), None);
    }

    #[test]
    fn steps_that_are_not_positive_are_left_out() {
        for step in [(1.0, -1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, 0.0)] {
            let mut t = Tridiagonal::default();
            t.push_step(1.0, 2.0);
            t.push_step(step.0, step.1);
            assert_eq!(t.rows, [(2.0, 0.0)], "{step:?}");
        }
    }
}
