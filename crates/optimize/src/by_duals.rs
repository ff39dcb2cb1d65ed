//! Checks of derivatives by dual numbers.

use coarsen_core::{Error, LinearOperator, Objective, Real, Vector};

use crate::{Disagreement, Dual};

/// Compares ∇f(x)·d, up to round-off, with the slope along d of `again`, the same function for dual numbers.
///
/// ```
/// use coarsen_optimize::{Dual, Rosenbrock, check_gradient_by_duals};
/// let again = |x: &[Dual<f64>]| {
///     let [one, hundred] = [1.0, 100.0].map(Dual::constant);
///     let (bend, rest) = (x[1] - x[0] * x[0], one - x[0]);
///     hundred * bend * bend + rest * rest
/// };
/// let found = check_gradient_by_duals(&mut Rosenbrock, again, &vec![-1.2, 1.0], &vec![0.3, -0.2])?;
/// assert!(found.error < 1e-14);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] if x and d differ in length.
pub fn check_gradient_by_duals<T, F>(
    f: &mut F,
    again: impl FnOnce(&[Dual<T>]) -> Dual<T>,
    x: &Vec<T>,
    d: &Vec<T>,
) -> Result<Disagreement<T>, Error>
where
    T: Real,
    F: Objective<Vec<T>> + ?Sized,
{
    check_length(x, d)?;
    let mut g = x.like()?;
    f.gradient(x, &mut g);
    Ok(Disagreement::exact(g.dot(d), again(&Dual::along(x, d)).slope))
}

/// Compares eᵀ H d, up to round-off, with the inner product of e and the slopes of the gradient along d.
/// `again` computes the gradient for dual numbers.
///
/// # Errors
/// [`Error::NotSquare`], [`Error::Shape`] if sizes differ.
pub fn check_hessian_by_duals<T: Real>(
    hessian: &dyn LinearOperator<Vec<T>>,
    again: impl FnOnce(&[Dual<T>], &mut [Dual<T>]),
    x: &Vec<T>,
    [d, e]: [&Vec<T>; 2],
) -> Result<Disagreement<T>, Error> {
    check_length(x, d)?;
    check_length(x, e)?;
    let (rows, columns) = hessian.shape();
    if rows != columns {
        return Err(Error::NotSquare { rows, columns });
    }
    if rows != x.len() {
        return Err(Error::Shape { what: "the Hessian", expected: x.len(), found: rows });
    }
    let mut hd = x.like()?;
    hessian.apply(d, &mut hd);
    let mut gradient = vec![Dual::default(); x.len()];
    again(&Dual::along(x, d), &mut gradient);
    let slopes: Vec<T> = gradient.iter().map(|g| g.slope).collect();
    Ok(Disagreement::exact(hd.dot(e), slopes.dot(e)))
}

fn check_length<T: Real>(x: &[T], d: &[T]) -> Result<(), Error> {
    if d.len() != x.len() {
        return Err(Error::Shape { what: "the direction of a check", expected: x.len(), found: d.len() });
    }
    Ok(())
}
