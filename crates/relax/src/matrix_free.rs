//! Jacobi and Chebyshev for an operator without a matrix.
//!
//! | symbol | here |
//! |---|---|
//! | D⁻¹ | `inverse`, from the diagonal given by the caller |
//! | α, β, θ, δ, σ₁, ρₖ, dₖ | as in `chebyshev` |
//! | rₖ | `residual` |
//!
//! Step numbers at line ends are the line numbers of Saad 2003, Algorithm 12.1, with D⁻¹ r instead of r.

use coarsen_backend::{Backend, SetupError, Smoother};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_krylov::{SpectralRadius, start_vector};
use num_traits::{one, zero};

use crate::checks;
use crate::{Chebyshev, Jacobi, Scaling};

/// The preconditioner z = ω D⁻¹ r, made by [`Jacobi::matrix_free`].
pub struct DiagonalScaling<V: Vector> {
    inverse: V,
}

impl Jacobi {
    /// Returns Jacobi for an operator without a matrix, from the diagonal of the operator. For `l1`, pass the
    /// sums of absolute values of each row instead.
    ///
    /// M⁻¹ = ω D⁻¹. *Memory* a vector. *Cost* 3 vector passes per application.
    ///
    /// ```
    /// use coarsen_backend::Cpu;
    /// use coarsen_core::{Stop, from_fn};
    /// use coarsen_krylov::Cg;
    /// use coarsen_relax::Jacobi;
    /// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| (y[0], y[1]) = (2.0 * x[0], 8.0 * x[1]));
    /// let mut m = Jacobi::default().matrix_free(&[2.0, 8.0], &Cpu::new())?;
    /// let mut x = vec![0.0; 2];
    /// let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &vec![1.0, 1.0], &mut x)?.converged()?;
    /// assert_eq!(report.iterations, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SetupError::NotPositive`] with a row whose entry is not positive or not finite; [`Error::Range`] if
    /// a reciprocal is out of the range of the vectors.
    pub fn matrix_free<B: Backend>(
        &self,
        diagonal: &[B::Real],
        backend: &B,
    ) -> Result<DiagonalScaling<B::Vector>, SetupError> {
        checks::omega("Jacobi::omega", self.omega)?;
        Ok(DiagonalScaling { inverse: backend.vector(&inverse(diagonal, self.omega, "jacobi")?)? })
    }
}

impl<V: Vector> Preconditioner<V> for DiagonalScaling<V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        z.hadamard(&r.scalar(one()), &self.inverse, r, &r.scalar(zero()));
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverse.size())
    }
}

/// The preconditioner z = p(D⁻¹A) D⁻¹ r for an operator without a matrix, made by [`Chebyshev::matrix_free`].
pub struct MatrixFreeChebyshev<'a, V: Vector> {
    a: &'a (dyn LinearOperator<V> + Sync),
    inverse: DiagonalScaling<V>,
    parameters: Chebyshev,
    radius: f64,
    d: V,
    residual: V,
}

impl Chebyshev {
    /// Returns the polynomial for an operator without a matrix, from its products and its diagonal.
    ///
    /// A must be symmetric positive definite, which is not checked. The spectral radius of D⁻¹A is estimated
    /// by Lanczos from products with A, until it is certain that the polynomial is positive, except for the share of start
    /// vectors that [`SpectralRadius::margin`](coarsen_krylov::SpectralRadius::margin) names; `Cg` then reports an
    /// indefinite preconditioner. *Use* for stencils, products of operators, and matrices stored elsewhere. *Not* if a
    /// matrix is available: [`Setup::build`](coarsen_backend::Setup) works on blocks, and reads A and vectors in one
    /// pass. *Memory* three vectors. *Cost* one product more than `lanczos_steps`, and up to four times that number, in
    /// setup; m − 1 products per application, with 7 vector passes for each product.
    ///
    /// ```
    /// use coarsen_backend::Cpu;
    /// use coarsen_core::{Stop, from_fn};
    /// use coarsen_krylov::Cg;
    /// use coarsen_relax::Chebyshev;
    /// let n = 200; // second differences
    /// let a = from_fn(n, move |x: &Vec<f64>, y: &mut Vec<f64>| {
    ///     let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    ///     (0..n).for_each(|i| y[i] = 2.0 * x[i] - at(i.wrapping_sub(1)) - at(i + 1));
    /// });
    /// let mut m = Chebyshev::default().matrix_free(&a, &[2.0; 200], &Cpu::new())?;
    /// let (b, mut x) = (vec![1.0; n], vec![0.0; n]);
    /// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
    /// assert!(report.iterations < 60); // 100 without
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Jacobi::matrix_free`] and of [`SpectralRadius::estimate`]; [`Error::Shape`] for a
    /// diagonal of another length; [`SetupError::HostOnly`] for SPAI-0, which requires the entries of A.
    pub fn matrix_free<'a, B: Backend>(
        &self,
        a: &'a (dyn LinearOperator<B::Vector> + Sync),
        diagonal: &[B::Real],
        backend: &B,
    ) -> Result<MatrixFreeChebyshev<'a, B::Vector>, SetupError> {
        self.validate()?;
        if self.scaling == Scaling::Spai0 {
            return Err(SetupError::HostOnly { method: "spai0" });
        }
        let (rows, columns) = a.shape();
        if rows != columns {
            return Err(Error::NotSquare { rows, columns }.into());
        }
        if diagonal.len() != rows {
            let (what, found) = ("the diagonal of the operator", diagonal.len());
            return Err(Error::Shape { what, expected: rows, found }.into());
        }
        let mut inverse = DiagonalScaling { inverse: backend.vector(&inverse(diagonal, 1.0, "chebyshev")?)? };
        let mut spectrum = SpectralRadius::default();
        (spectrum.steps, spectrum.safety) = (self.lanczos_steps, self.safety);
        spectrum.margin = 1.0 + 1.0 / self.ratio;
        let start = backend.vector(&start_vector::<B::Real>(rows))?;
        let radius = match rows {
            0 => 1.0,
            _ => spectrum.estimate(a, &mut inverse, &start)?.as_f64(),
        };
        Ok(MatrixFreeChebyshev { a, inverse, parameters: *self, radius, residual: start.like()?, d: start })
    }
}

impl<V: Vector> MatrixFreeChebyshev<'_, V> {
    /// Returns β, an upper estimate of the spectrum of D⁻¹A.
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl<V: Vector> MatrixFreeChebyshev<'_, V> {
    /// Applies the polynomial for A x = b, from x = 0 or from the given x.
    fn iterate(&mut self, a: &dyn LinearOperator<V>, b: &V, x: &mut V, from_zero: bool) {
        let number = |v: f64| b.scalar(V::Real::from_f64(v));
        let ((first, later), d) = (self.parameters.factors(self.radius), &mut self.d);
        if from_zero {
            d.hadamard(&number(first), &self.inverse.inverse, b, &number(0.0)); // 2
            x.copy(d); // 4
        } else {
            a.residual(b, x, &mut self.residual);
            d.hadamard(&number(first), &self.inverse.inverse, &self.residual, &number(0.0)); // 2
            x.axpy(&number(1.0), d); // 4
        }
        for [omega, beta] in later {
            a.residual(b, x, &mut self.residual); // 5
            d.hadamard(&number(omega), &self.inverse.inverse, &self.residual, &number(beta)); // 7
            x.axpy(&number(1.0), d); // 4
        }
    }
}

impl<V: Vector> Preconditioner<V> for MatrixFreeChebyshev<'_, V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        self.iterate(self.a, r, z, true);
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverse.inverse.size())
    }
}

/// Uses the polynomial as the smoother of a finest level without a matrix.
impl<T: Real, B: Backend> Smoother<B, T> for MatrixFreeChebyshev<'_, B::Vector> {
    fn pre_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.iterate(a, b, x, true);
    }

    fn smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.iterate(a, b, x, false);
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn bytes(&self) -> usize {
        3 * self.d.size() * size_of::<B::Real>()
    }
}

/// Returns ω / dᵢ for every row.
fn inverse<T: Real>(diagonal: &[T], omega: f64, method: &'static str) -> Result<Vec<T>, SetupError> {
    let one = |(row, d): (usize, &T)| {
        if !(*d > T::zero() && d.is_finite()) {
            return Err(SetupError::NotPositive { row, diagonal: d.as_f64(), method });
        }
        let value = omega / d.as_f64();
        let stored = T::from_f64(value);
        if !stored.is_finite() || stored.is_zero() {
            return Err(Error::Range { what: "the inverted diagonal", value, storage: T::NAME }.into());
        }
        Ok(stored)
    };
    diagonal.iter().enumerate().map(one).collect()
}
