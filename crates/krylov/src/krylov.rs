//! The trait of all Krylov methods, and their `solve`.

use std::ops::ControlFlow;

use coarsen_core::{Error, LinearOperator, Monitor, Preconditioner, Real, Report, Stop, Vector};

/// An iterative method for A x = b; object-safe.
///
/// On entry x is the starting guess, on return the solution. At the iteration limit, or if a monitor stops
/// the solve, x is the last iterate (for `BiCgStab`, `Minres` and `Richardson` the iterate of smallest
/// residual). For every other outcome, including divergence, x is the best finite iterate found. x contains
/// NaN only if the guess did. The residual in the report is recomputed from x.
///
/// A method keeps its vectors after the first solve. A later solve with the same size and layout allocates
/// nothing. Outside a thread pool this does not hold for loops over more than eight times
/// [`THRESHOLD`](coarsen_core::parallel::THRESHOLD) entries: each of these loops enters the pool, and rayon
/// allocates 1.5 KB every 63 times. To avoid this, wrap the program in
/// [`threads`](coarsen_core::parallel::threads).
///
/// b may have any magnitude. If ‖b‖₂² overflows or underflows, x and b are divided by a power of two during
/// the solve. This costs a vector and a few passes and loses no accuracy. Monitors then receive no x. If the
/// scaled residual of the guess cannot be squared, the guess is replaced by zeros.
///
/// A program needs this trait for monitors and for code that takes any method. Each method has its own `solve`, which
/// also takes slices.
///
/// ```
/// use coarsen_krylov::{Cg, History, Identity, Krylov, Stop, from_fn};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![4.0 * x[0] + x[1], x[0] + 3.0 * x[1]]);
/// let (b, mut x, mut history) = (vec![1.0, 2.0], vec![0.0; 2], History::default());
/// let mut method: Box<dyn Krylov<Vec<f64>>> = Box::new(Cg::new(Stop::relative(1e-12)));
/// let report = method.solve_with(&a, &mut Identity, &b, &mut x, &mut |it| history.record(it))?.converged()?;
/// assert_eq!(history.relative.len(), report.iterations + 1);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub trait Krylov<V: Vector> {
    /// Solves A x = b with preconditioner M from the guess x; `monitor` is called at every convergence check.
    ///
    /// If b = 0, the result is x = 0 in 0 iterations. An exact guess is returned in 0 iterations.
    /// [`Report::outcome`] states how the solve ended.
    ///
    /// # Errors
    /// Before anything is written: [`Error::NotSquare`], [`Error::Shape`], [`Error::Layout`],
    /// [`Error::Parameter`] for the stopping rule and the fields of the method, [`Error::Preconditioner`] for
    /// a kind that the method cannot use, and [`Error::NotFinite`] with the index of the first NaN or
    /// infinity in b or x, if it can be found. Later only [`Error::Device`] and [`Error::Memory`].
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error>;

    /// [`solve_with`](Self::solve_with) without a monitor.
    ///
    /// # Errors
    /// As [`solve_with`](Self::solve_with).
    fn solve(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
    ) -> Result<Report<V::Real>, Error> {
        self.solve_with(a, m, b, x, &mut |_| ControlFlow::Continue(()))
    }

    /// The stopping rule, for changes between solves (such as the forcing terms of an inexact Newton method).
    fn stop_mut(&mut self) -> &mut Stop<V::Real>;

    /// Sets the tolerance for √(rᵀM⁻¹r) relative to its first value, tested in every iteration in addition to the stopping
    /// rule; `None`, the default, removes the test. Returns whether the method has this test: `Cg` and `FlexibleCg` have it.
    ///
    /// *Use* in inner solves of Newton's method if the residual has stiff and soft parts, which M balances:
    /// Wang et al. 2020 (HOT), §5.3. A solve that ends by this test is `Converged`. *Cost* a synchronisation per
    /// iteration.
    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        let _ = tolerance;
        false
    }
}

impl<V: Vector, K: Krylov<V> + ?Sized> Krylov<V> for Box<K> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        (**self).solve_with(a, m, b, x, monitor)
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        (**self).stop_mut()
    }

    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        (**self).stop_in_preconditioner(tolerance)
    }
}

/// A right-hand side or a solution: a vector of any kind, or a slice of numbers on the host.
///
/// Methods work on vectors, so a slice is copied: `b` once per solve, `x` before and after it, to memory that the
/// method keeps. A vector is not copied.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a vector nor a slice",
    note = "pass `&b[..]` for an array, and `b` for a `b` that is a reference already"
)]
pub trait AsVector {
    /// The vector type: itself, or `Vec<T>` for a slice.
    type Vector: Vector;

    /// The vector itself, or a copy in `memory`.
    fn as_vector<'a>(&'a self, memory: &'a mut Option<Self::Vector>) -> &'a Self::Vector;

    /// Calls `f` with the vector, or with a copy in `memory` that is copied back.
    fn with_vector<R>(
        &mut self,
        memory: &mut Option<Self::Vector>,
        f: impl FnOnce(&mut Self::Vector) -> R,
    ) -> R;
}

impl<V: Vector> AsVector for V {
    type Vector = V;

    fn as_vector<'a>(&'a self, _: &'a mut Option<V>) -> &'a V {
        self
    }

    fn with_vector<R>(&mut self, _: &mut Option<V>, f: impl FnOnce(&mut V) -> R) -> R {
        f(self)
    }
}

impl<T: Real> AsVector for [T] {
    type Vector = Vec<T>;

    fn as_vector<'a>(&'a self, memory: &'a mut Option<Vec<T>>) -> &'a Vec<T> {
        let copy = memory.get_or_insert_default();
        copy.clear();
        copy.extend_from_slice(self);
        copy
    }

    fn with_vector<R>(&mut self, memory: &mut Option<Vec<T>>, f: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let copy = memory.get_or_insert_default();
        copy.clear();
        copy.extend_from_slice(self);
        let result = f(copy);
        self.copy_from_slice(copy);
        result
    }
}

/// `solve` of a method with a `workspace`, so that a program imports no trait.
macro_rules! inherent_solve {
    ($method:ident $(, $inner:ident)?) => {
        impl<V: coarsen_core::Vector $(, $inner: $crate::Krylov<V>)?> $method<V $(, $inner)?> {
            /// Solves A x = b with preconditioner M from the guess x: [`Krylov::solve_with`](crate::Krylov::solve_with)
            /// without a monitor. b and x are vectors, or slices of host vectors.
            ///
            /// *Cost* for slices: three copies.
            ///
            /// # Errors
            /// As [`Krylov::solve_with`](crate::Krylov::solve_with).
            pub fn solve<B, X>(
                &mut self,
                a: &dyn coarsen_core::LinearOperator<V>,
                m: &mut dyn coarsen_core::Preconditioner<V>,
                b: &B,
                x: &mut X,
            ) -> Result<coarsen_core::Report<V::Real>, coarsen_core::Error>
            where
                B: $crate::AsVector<Vector = V> + ?Sized,
                X: $crate::AsVector<Vector = V> + ?Sized,
            {
                let mut slices = std::mem::take(&mut self.workspace.slices);
                let [b_copy, x_copy] = &mut slices;
                let b = b.as_vector(b_copy);
                let report = x.with_vector(x_copy, |x| $crate::Krylov::solve(self, a, m, b, x));
                self.workspace.slices = slices;
                report
            }
        }
    };
}

/// [`inherent_solve`], and the constructors of a method with its default parameters.
macro_rules! solve_and_new {
    ($method:ident { $($field:ident: $value:expr),* }) => {
        $crate::krylov::inherent_solve!($method);

        impl<V: coarsen_core::Vector> $method<V> {
            /// The method with a stopping rule and the default parameters; vectors are allocated at the first solve.
            pub fn new(stop: coarsen_core::Stop<V::Real>) -> Self {
                Self { stop, $($field: $value,)* workspace: Workspace::new() }
            }
        }

        impl<V: coarsen_core::Vector> Default for $method<V> {
            fn default() -> Self {
                Self::new(coarsen_core::Stop::default())
            }
        }
    };
}

pub(crate) use {inherent_solve, solve_and_new};
