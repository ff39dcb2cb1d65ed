//! The interval and the choice of the next trial: Moré & Thuente 1994, §4.

use coarsen_core::Real;

use super::GROW;

/// A point of φ, or of ψ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<T> {
    pub(super) alpha: T,
    pub(super) value: T,
    pub(super) slope: T,
}

/// The interval I between α_l and α_u, in either order, and whether it is known to contain a minimiser.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval<T> {
    pub(super) low: Point<T>,
    pub(super) high: Point<T>,
    pub(super) bracketed: bool,
}

impl<T: Real> Interval<T> {
    pub(super) fn at(p: Point<T>) -> Self {
        Self { low: p, high: p, bracketed: false }
    }

    /// The ends in increasing order.
    pub(super) fn ends(&self) -> [T; 2] {
        let (a, b) = (self.low.alpha, self.high.alpha);
        [a.min(b), a.max(b)]
    }

    /// The bounds of the trial after α.
    pub(super) fn reach(&self, alpha: T, most: T) -> [T; 2] {
        if self.bracketed {
            return self.ends();
        }
        let [least, farthest] =
            GROW.map(|factor| (alpha + T::from_f64(factor) * (alpha - self.low.alpha)).min(most));
        [if self.low.alpha.is_zero() { T::zero() } else { least }, farthest]
    }

    /// Calls `f` with ψ(α) = φ(α) − c α in place of φ.
    pub(super) fn tilted(&mut self, c: T, f: impl FnOnce(&mut Self, Point<T>) -> T, p: Point<T>) -> T {
        let tilt = |p: Point<T>, c: T| Point { value: p.value - c * p.alpha, slope: p.slope - c, ..p };
        (self.low, self.high) = (tilt(self.low, c), tilt(self.high, c));
        let alpha = f(self, tilt(p, c));
        (self.low, self.high) = (tilt(self.low, -c), tilt(self.high, -c));
        alpha
    }

    /// Updates the interval with trial p and returns the next trial, which is between `least` and `most`
    /// until a minimiser is bracketed.
    pub(super) fn next(&mut self, p: Point<T>, [least, most]: [T; 2]) -> T {
        let l = self.low;
        let (half, beyond) = (T::from_f64(0.5), p.alpha > l.alpha);
        let nearer = |a: T, b: T, to: T| if (a - to).abs() < (b - to).abs() { a } else { b };
        let farther = |a: T, b: T, from: T| if (a - from).abs() > (b - from).abs() { a } else { b };
        let opposite = p.slope * l.slope < T::zero();

        let alpha = if p.value > l.value {
            // Case 1: higher than α_l
            self.bracketed = true;
            let (c, q) = (cubic(l, p), quadratic(l, p));
            if (c - l.alpha).abs() < (q - l.alpha).abs() { c } else { c + (q - c) * half }
        } else if opposite {
            // Case 2: lower, with a slope of the other sign
            self.bracketed = true;
            farther(cubic(p, l), secant(l, p), p.alpha)
        } else if p.slope.abs() < l.slope.abs() {
            // Case 3: lower, with a smaller slope of the same sign
            let c = cubic_forward(l, p).unwrap_or(if beyond { most } else { least });
            let s = secant(l, p);
            if self.bracketed {
                let bound = p.alpha + T::from_f64(super::SHRINK) * (self.high.alpha - p.alpha);
                let next = nearer(c, s, p.alpha);
                if beyond { next.min(bound) } else { next.max(bound) }
            } else {
                farther(c, s, p.alpha).max(least).min(most)
            }
        } else if self.bracketed {
            // Case 4: lower, with a slope of the same sign that is not smaller
            cubic(p, self.high)
        } else if beyond {
            most
        } else {
            least
        };
        // The next interval (§2, updating algorithm).
        if p.value > l.value {
            self.high = p;
        } else {
            if opposite {
                self.high = l;
            }
            self.low = p;
        }
        alpha
    }
}

/// Returns γ and θ of the cubic through two points; γ is 0 if the cubic has no real minimiser.
fn discriminant<T: Real>(a: Point<T>, b: Point<T>) -> (T, T) {
    let theta = T::from_f64(3.0) * (a.value - b.value) / (b.alpha - a.alpha) + a.slope + b.slope;
    let s = theta.abs().max(a.slope.abs()).max(b.slope.abs());
    let square = (theta / s).powi(2) - (a.slope / s) * (b.slope / s);
    (s * square.max(T::zero()).sqrt(), theta)
}

/// Returns the minimiser of the cubic through values and slopes of a and b; a is the lower point.
fn cubic<T: Real>(a: Point<T>, b: Point<T>) -> T {
    let (gamma, theta) = discriminant(a, b);
    let gamma = if b.alpha < a.alpha { -gamma } else { gamma };
    let p = (gamma - a.slope) + theta;
    let q = ((gamma - a.slope) + gamma) + b.slope;
    a.alpha + p / q * (b.alpha - a.alpha)
}

/// Returns the minimiser of the cubic through l and p if it lies beyond p as seen from l.
fn cubic_forward<T: Real>(l: Point<T>, p: Point<T>) -> Option<T> {
    let (gamma, theta) = discriminant(l, p);
    let gamma = if p.alpha > l.alpha { -gamma } else { gamma };
    let r = ((gamma - p.slope) + theta) / ((gamma + (l.slope - p.slope)) + gamma);
    (r < T::zero() && gamma != T::zero()).then(|| p.alpha + r * (l.alpha - p.alpha))
}

/// Returns the minimiser of the parabola through both values and the slope at l.
fn quadratic<T: Real>(l: Point<T>, p: Point<T>) -> T {
    let chord = (l.value - p.value) / (p.alpha - l.alpha);
    l.alpha + l.slope / (chord + l.slope) / T::from_f64(2.0) * (p.alpha - l.alpha)
}

/// Returns the zero of the line through both slopes.
fn secant<T: Real>(l: Point<T>, p: Point<T>) -> T {
    p.alpha + p.slope / (p.slope - l.slope) * (l.alpha - p.alpha)
}
