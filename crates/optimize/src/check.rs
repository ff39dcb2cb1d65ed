//! Checks of gradients and Hessians by finite differences.

use coarsen_core::{Error, LinearOperator, Objective, Real, Scalar, Vector};

/// The difference between a derivative and its finite-difference approximation.
///
/// It is the smallest difference over all step sizes tried, because long steps have truncation errors and
/// short steps have round-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disagreement<T> {
    /// The smallest relative error found; infinite if the derivative or all finite differences hold NaN or infinity.
    pub error: T,
    /// The step with the smallest error; 0 for dual numbers.
    pub step: T,
    /// The tested derivative along d.
    pub given: T,
    /// The finite difference.
    pub measured: T,
}

/// Compares ∇f(x)·d with fourth-order differences of f, with steps from 2⁻² to 2⁻²⁶ times d.
///
/// A correct gradient in `f64` gives an error below 1e-9, in `f32` below 1e-3, unless f is rough at x. A
/// wrong gradient gives the relative error of ∇f·d. If ∇f·d is only round-off, as at a minimiser, the check
/// is inconclusive. Choose a random d with the length of a typical step. A random d is not orthogonal to the
/// error. *Cost*: 4 values per step size, 1 gradient; 2 vectors. *Reference* Nocedal & Wright 2006, §8.1.
///
/// ```
/// use coarsen_optimize::{Rosenbrock, check_gradient};
/// let found = check_gradient(&mut Rosenbrock, &vec![-1.2, 1.0], &vec![0.3, -0.2])?;
/// assert!(found.error < 1e-10);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] if x and d differ in length, [`Error::Device`] if vectors cannot be allocated.
pub fn check_gradient<V, F>(f: &mut F, x: &V, d: &V) -> Result<Disagreement<V::Real>, Error>
where
    V: Vector,
    F: Objective<V> + ?Sized,
{
    let [mut at, mut g] = [like(x, d)?, x.like()?];
    f.gradient(x, &mut g);
    let given = g.dot(d).read();
    Ok(compare(given, |h| {
        let mut value = |t: V::Real| {
            at.copy(x);
            at.axpy(&x.scalar(t), d);
            f.value(&at).value.read()
        };
        stencil(&mut value, h)
    }))
}

/// Compares eᵀ H d with differences of ∇f(x)·e along d, for an operator H that should be the Hessian of f at
/// x.
///
/// With random e ≠ d the check finds every error of a symmetric H. A projected Hessian fails this check.
/// *Cost*: 4 gradients per step size; 2 vectors.
///
/// # Errors
/// [`Error::NotSquare`], [`Error::Shape`] if sizes differ, [`Error::Device`] if vectors cannot be allocated.
pub fn check_hessian<V, F>(
    f: &mut F,
    hessian: &dyn LinearOperator<V>,
    x: &V,
    [d, e]: [&V; 2],
) -> Result<Disagreement<V::Real>, Error>
where
    V: Vector,
    F: Objective<V> + ?Sized,
{
    let [mut at, mut g] = [like(x, d)?, like(x, e)?];
    let (rows, columns) = hessian.shape();
    if rows != columns {
        return Err(Error::NotSquare { rows, columns });
    }
    if rows != x.size() {
        return Err(Error::Shape { what: "the Hessian", expected: x.size(), found: rows });
    }
    hessian.apply(d, &mut g);
    let given = g.dot(e).read();
    Ok(compare(given, |h| {
        let mut slope = |t: V::Real| {
            at.copy(x);
            at.axpy(&x.scalar(t), d);
            f.gradient(&at, &mut g);
            g.dot(e).read()
        };
        stencil(&mut slope, h)
    }))
}

impl<T: Real> Disagreement<T> {
    /// Returns the disagreement of two numbers that should be equal; infinite unless both are finite.
    pub(crate) fn exact(given: T, measured: T) -> Self {
        let size = given.abs().max(measured.abs());
        let error = match given.is_finite() && measured.is_finite() {
            true if size.is_zero() => T::zero(),
            true => (given - measured).abs() / size,
            false => T::infinity(),
        };
        Self { error, step: T::zero(), given, measured }
    }
}

/// Returns a vector like x, or an error if d has another layout.
fn like<V: Vector>(x: &V, d: &V) -> Result<V, Error> {
    if d.size() != x.size() {
        return Err(Error::Shape { what: "the direction of a check", expected: x.size(), found: d.size() });
    }
    x.like()
}

/// Returns the fourth-order approximation of φ′(0): (8 (φ(h) − φ(−h)) − (φ(2h) − φ(−2h))) / 12 h.
fn stencil<T: Real>(phi: &mut impl FnMut(T) -> T, h: T) -> T {
    let two = h + h;
    let (near, far) = (phi(h) - phi(-h), phi(two) - phi(-two));
    (T::from_f64(8.0) * near - far) / (T::from_f64(12.0) * h)
}

/// Returns the disagreement at the step size with the best agreement.
fn compare<T: Real>(given: T, mut difference: impl FnMut(T) -> T) -> Disagreement<T> {
    let mut best = Disagreement { error: T::infinity(), step: T::zero(), given, measured: T::nan() };
    for k in 1..=13 {
        let step = T::from_f64(2.0).powi(-2 * k);
        let measured = difference(step);
        let found = Disagreement::exact(given, measured);
        if found.error < best.error {
            best = Disagreement { step, ..found };
        }
    }
    best
}
