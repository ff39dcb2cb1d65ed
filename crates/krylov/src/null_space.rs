//! Singular systems: the null space is projected out.

use coarsen_core::{
    Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real, Report, Stop, Vector,
};
use num_traits::{Float, one, zero};

use crate::Krylov;
use crate::krylov::inherent_solve;
use crate::scaling::{self, Scaled, Size};
use crate::solve::{Workspace, check};

/// An orthonormal basis N of the null space of a singular A. Aᵀ must have the same null space, as for
/// symmetric A.
///
/// ```
/// use coarsen_krylov::NullSpace;
/// let rigid = NullSpace::new(vec![vec![1.0, 0.0, 1.0, 0.0], vec![0.0, 2.0, 0.0, 2.0]])?;
/// let mut x = vec![1.0, 2.0, 3.0, 6.0];
/// rigid.project(&mut x);
/// assert!(x.iter().zip([-1.0, -2.0, 1.0, 2.0]).all(|(x, y): (&f64, f64)| (x - y).abs() < 1e-14));
/// # Ok::<(), coarsen_krylov::NullSpaceError>(())
/// ```
pub struct NullSpace<V> {
    vectors: Vec<V>,
}

impl<V: Vector> NullSpace<V> {
    /// The constant vector, of the size and layout of `like`: the null space of pure Neumann problems and graph Laplacians.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory cannot be allocated.
    pub fn constants(like: &V) -> Result<Self, Error> {
        let mut v = like.like()?;
        v.fill(V::Real::from_f64((v.size() as f64).sqrt().recip()));
        Ok(Self { vectors: vec![v] })
    }

    /// The span of `vectors`, orthonormalised by two passes of classical Gram–Schmidt.
    ///
    /// # Errors
    /// [`NullSpaceError::Dependent`] if a vector is within √EPSILON of the span of the previous vectors,
    /// [`NullSpaceError::Length`], [`NullSpaceError::NotFinite`], [`NullSpaceError::Core`] (with
    /// [`Error::Layout`] if layouts differ).
    pub fn new(vectors: Vec<V>) -> Result<Self, NullSpaceError> {
        let mut space = Self { vectors: Vec::with_capacity(vectors.len()) };
        for (vector, mut v) in vectors.into_iter().enumerate() {
            if let Some(first) = space.vectors.first().filter(|first| first.size() != v.size()) {
                return Err(NullSpaceError::Length { vector, expected: first.size(), found: v.size() });
            }
            if space.vectors.first().is_some_and(|first| !first.same_layout(&v)) {
                return Err(Error::Layout { what: "a vector of the null space" }.into());
            }
            let mut n = v.like()?;
            let mut before = v.norm();
            if !scaling::is_ordinary(before * before) {
                match scaling::fit(&v, before * before, &mut n) {
                    Size::Power(_) => v.copy(&n), // spans the same line
                    Size::NotFinite => return Err(NullSpaceError::NotFinite { vector }),
                    Size::Zero => return Err(NullSpaceError::Dependent { vector, share: 0.0 }),
                }
                before = v.norm();
            }
            space.project(&mut v);
            let share = v.norm() / before;
            if share <= V::Real::EPSILON.sqrt() {
                return Err(NullSpaceError::Dependent { vector, share: share.as_f64() });
            }
            space.project(&mut v);
            n.scaled(&v.scalar(v.norm().recip()), &v);
            space.vectors.push(n);
        }
        Ok(space)
    }

    /// The orthonormal basis.
    pub fn vectors(&self) -> &[V] {
        &self.vectors
    }

    /// x −= N Nᵀ x. *Cost* one reduction for all vectors of N, two passes over them; no synchronisation.
    pub fn project(&self, x: &mut V) {
        self.project_by(x, &mut Vec::new());
    }

    /// Projects x as [`project`](Self::project) does, and sets `shares` to −Nᵀ x.
    fn project_by(&self, x: &mut V, shares: &mut Vec<V::Scalar>) {
        shares.clear();
        if self.vectors.is_empty() {
            return;
        }
        x.dots_with(&self.vectors, shares);
        shares.iter_mut().for_each(|share| *share = -share.clone());
        x.axpys(shares, &self.vectors);
    }

    /// Projects b in place. Returns the squared norms of b, of its null-space part, of the remainder and of
    /// x.
    fn split(&self, b: &mut V, x: &V, shares: &mut Vec<V::Scalar>) -> [V::Real; 4] {
        let bb = b.dot(b);
        self.project_by(b, shares);
        let part = shares.iter().fold(b.scalar(zero()), |sum, share| sum + share.clone() * share.clone());
        self.project_by(b, shares); // twice, against round-off
        V::wait_for([&bb, &part, &b.dot(b), &x.dot(x)])
    }
}

/// Any method for symmetric singular systems. The right-hand side, the preconditioned residuals and the
/// solution are kept orthogonal to the null space.
///
/// Solves A x = b − N Nᵀ b and returns the solution orthogonal to the null space, which is the shortest
/// solution. If ‖Nᵀ b‖ alone keeps ‖b − A x‖ above the tolerance, the solve ends as
/// [`Inconsistent`](Outcome::Inconsistent) once the projected system is solved. If N is not in the null space
/// of A, the solve ends as [`Stagnated`](Outcome::Stagnated). Residuals in the report refer to b; monitors
/// receive ‖r‖ / ‖b − N Nᵀ b‖.
/// *Use* for pure Neumann problems, unconstrained bodies and graph Laplacians. *Not* if A is unsymmetric and its null
/// space differs from that of Aᵀ.
/// After an error x is unchanged.
/// *Cost* per application of M: one reduction and two passes over the null-space vectors. Per solve: one more
/// residual, one more reduction of x and a copy of x; 2 more vectors.
/// *Reference* Kaasschieter 1988, "Preconditioned conjugate gradients for solving singular systems".
///
/// ```
/// use coarsen_krylov::{Cg, Identity, NullSpace, Outcome, Projected, from_fn};
/// let pair = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![x[0] - x[1], x[1] - x[0]]);
/// let (b, mut x) = (vec![1.0, -1.0], vec![5.0, 3.0]);
/// let mut method = Projected::new(Cg::default(), NullSpace::constants(&b)?);
/// method.solve(&pair, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] - 0.5).abs() < 1e-12 && (x[1] + 0.5).abs() < 1e-12);
/// let report = method.solve(&pair, &mut Identity, &vec![3.0, 1.0], &mut x)?;
/// assert_eq!(report.outcome, Outcome::Inconsistent);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct Projected<V: Vector, K> {
    /// The method that solves the projected system. Its stopping rule applies to the whole system.
    pub method: K,
    /// The null space of A.
    pub null_space: NullSpace<V>,
    workspace: Workspace<V, 2>,
    /// For a b whose square overflows or underflows.
    scaled: Workspace<V, 1>,
    shares: Vec<V::Scalar>,
}

impl<V: Vector, K: Krylov<V>> Projected<V, K> {
    /// Combines a method with the null space that is projected out.
    pub fn new(method: K, null_space: NullSpace<V>) -> Self {
        let (workspace, scaled) = (Workspace::new(), Workspace::new());
        Self { method, null_space, workspace, scaled, shares: Vec::new() }
    }

    /// Solves a system whose b·b overflows or underflows, divided by a power of two. If b is 0 or an entry of b or x
    /// is not finite, the method itself gives the result.
    fn solve_scaled(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        let mut workspace = std::mem::replace(&mut self.scaled, Workspace::new());
        let ([guess], [r, _], scaled) = workspace.with_residual(b)?;
        guess.copy(x);
        let system = Scaled::new(a, b, x, r, scaled)?;
        let solved = if system.power == 1.0 {
            x.copy(guess);
            self.method.solve_with(a, m, b, x, monitor)
        } else {
            let stop = *self.method.stop_mut();
            *self.method.stop_mut() = scaling::scaled_stop(stop, system.power);
            let mut monitor = scaling::unscaling(monitor, system.power);
            let solved = self.solve_with(a, m, system.b, x, &mut monitor).inspect_err(|_| x.copy(guess));
            *self.method.stop_mut() = stop;
            solved.map(|report| system.restore(a, x, r, report))
        };
        self.scaled = workspace;
        solved
    }
}

inherent_solve!(Projected, K);

impl<V: Vector, K: Krylov<V>> Krylov<V> for Projected<V, K> {
    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        self.method.stop_in_preconditioner(tolerance)
    }

    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        let stop = *self.method.stop_mut();
        check("Projected", PreconditionerKind::Variable, &stop, a, m, b, x)?;
        let (space, shares) = (&self.null_space, &mut self.shares);
        if let Some(n) = space.vectors.first().filter(|n| n.size() != b.size()) {
            return Err(Error::Shape { what: "the null space", expected: b.size(), found: n.size() });
        }
        if space.vectors.first().is_some_and(|n| !n.same_layout(b)) {
            return Err(Error::Layout { what: "the null space" });
        }
        let [load, r] = self.workspace.like(b)?;
        load.copy(b);
        let [bb, part, rest, xx] = space.split(load, x, shares);
        if !scaling::is_ordinary(bb) || (!xx.is_finite() && !scaling::is_finite(x, r)) {
            return self.solve_scaled(a, m, b, x, monitor);
        }

        // The residual of the projected system and the null-space part of b together must be within the
        // threshold. If this is impossible, the projected system is solved to half of the threshold.
        let threshold = stop.threshold(bb.sqrt());
        let square = threshold * threshold;
        let within = (square - part).max(square / V::Real::from_f64(4.0)).sqrt();
        *self.method.stop_mut() = Stop { relative: zero(), absolute: within, ..stop };
        r.copy(x); // for an error
        space.project_by(x, shares);
        let solved = self.method.solve_with(a, &mut Orthogonal { m, space, shares }, load, x, monitor);
        *self.method.stop_mut() = stop;
        let solved = solved.inspect_err(|_| x.copy(r))?;
        space.project_by(x, shares);

        a.residual(b, x, r);
        let residual = r.norm();
        let outcome = match solved.outcome {
            _ if !residual.is_finite() => Outcome::NotFinite,
            _ if residual <= threshold => Outcome::Converged,
            Outcome::Converged if part > square * V::Real::from_f64(0.75) => Outcome::Inconsistent,
            Outcome::Converged => Outcome::Stagnated, // A N ≠ 0: N is not the null space of A
            other => other,
        };
        let [size, rest] = [bb, rest].map(|square| if square > zero() { square.sqrt() } else { one() });
        Ok(Report {
            outcome,
            initial_residual: (solved.initial_residual * rest).hypot(part.sqrt()) / size,
            true_residual: residual / size,
            tolerance: threshold / size,
            ..solved
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        self.method.stop_mut()
    }
}

/// A preconditioner whose results are orthogonal to the null space.
struct Orthogonal<'a, V: Vector> {
    m: &'a mut dyn Preconditioner<V>,
    space: &'a NullSpace<V>,
    shares: &'a mut Vec<V::Scalar>,
}

impl<V: Vector> Preconditioner<V> for Orthogonal<'_, V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        self.m.apply(r, z);
        self.space.project_by(z, self.shares);
    }

    fn kind(&self) -> PreconditionerKind {
        self.m.kind()
    }

    fn size(&self) -> Option<usize> {
        self.m.size()
    }
}

/// The reason why vectors cannot span a null space.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NullSpaceError {
    /// A vector that is zero or in the span of the previous vectors.
    #[error(
        "vector {vector} of the null space depends on the previous vectors: only {share:.1e} of its length is orthogonal to them; remove it, or choose rotations about the centre of mass"
    )]
    Dependent {
        /// The index of the vector.
        vector: usize,
        /// The fraction of its length that is orthogonal to the previous vectors.
        share: f64,
    },
    /// A vector whose length differs from that of the first vector.
    #[error(
        "vector {vector} of the null space: found size {found}, expected {expected}; all vectors have one entry per unknown"
    )]
    Length {
        /// The index of the vector.
        vector: usize,
        /// The size of the first vector.
        expected: usize,
        /// The size of this vector.
        found: usize,
    },
    /// NaN or infinity.
    #[error("vector {vector} of the null space holds NaN or infinity; check the code that computed it")]
    NotFinite {
        /// The index of the vector.
        vector: usize,
    },
    /// Memory for the basis cannot be allocated.
    #[error(transparent)]
    Core(#[from] Error),
}

coarsen_core::debug_as_display!(NullSpaceError);
