//! The first root of a cubic.

/// Returns the smallest α > 0 with c₀ + c₁ α + c₂ α² + c₃ α³ = 0, rounded down. Without such an α the result
/// is ∞, for c₀ ≤ 0 it is 0.
///
/// A cubic is monotone between its extrema, so bisection finds a change of sign between two extrema.
pub(crate) fn first_root(c: [f64; 4]) -> f64 {
    let at = |a: f64| ((c[3] * a + c[2]) * a + c[1]) * a + c[0];
    if c[0].is_nan() || c[0] <= 0.0 {
        return 0.0;
    }
    let mut low = 0.0;
    for high in extrema(c) {
        if at(high) <= 0.0 {
            return halve(at, low, high);
        }
        low = high;
    }
    // Beyond the last extremum a root exists only if the leading coefficient is negative.
    let Some(&leading) = c[1..].iter().rev().find(|c| **c != 0.0) else { return f64::INFINITY };
    if leading > 0.0 {
        return f64::INFINITY;
    }
    let mut high = 2.0 * low + 1.0;
    while at(high) > 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    halve(at, low, high)
}

/// Returns the positive zeros of the derivative in increasing order.
fn extrema(c: [f64; 4]) -> impl Iterator<Item = f64> {
    let (a, half, b) = (3.0 * c[3], c[2], c[1]); // a x² + 2 half x + b
    let q = half * half - a * b;
    let root = -(half + q.max(0.0).sqrt().copysign(half));
    let mut zeros = if q < 0.0 { [f64::NAN; 2] } else { [root / a, b / root] };
    zeros.sort_unstable_by(f64::total_cmp);
    zeros.into_iter().filter(|z| z.is_finite() && *z > 0.0)
}

/// Returns the last α before the change of sign of `at` between `low`, where it is positive, and `high`.
fn halve(at: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return low;
        }
        if at(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}
