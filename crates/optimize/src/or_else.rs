//! A direction with a fallback.

use coarsen_core::Vector;

use crate::{DescentError, Direction, Proposal};

/// The first direction, with the second direction as a fallback.
///
/// The fallback is used for one step if the first direction is refused or does not descend, or if its line
/// search fails. Both directions learn from every step. Chains can be nested: `OrElse::new(newton,
/// OrElse::new(lbfgs, Gradient::steepest()))`. *Use* for Hessians that may be indefinite far from the
/// solution. *Reference*: the fallback list of PolySolve.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, Gradient, Lbfgs, OrElse, Rosenbrock};
/// let mut chain = OrElse::new(Lbfgs::scaled(4), Gradient::steepest());
/// let mut x = vec![-1.2, 1.0];
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-8));
/// descent.minimize(&mut Rosenbrock, &mut chain, &mut x)?.converged()?;
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct OrElse<A, B> {
    /// The direction that is tried first.
    pub first: A,
    /// The direction that is tried if the first direction fails.
    pub second: B,
    fallen: bool,
}

impl<A, B> OrElse<A, B> {
    /// Chains two directions.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second, fallen: false }
    }
}

impl<V: Vector, F: ?Sized, A: Direction<V, F>, B: Direction<V, F>> Direction<V, F> for OrElse<A, B> {
    fn propose(&mut self, f: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        if self.fallen { self.second.propose(f, x, g, d) } else { self.first.propose(f, x, g, d) }
    }

    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        self.fallen = false; // the last descent may have failed
        self.first.prepare(x)?;
        self.second.prepare(x)
    }

    fn learn(&mut self, s: &V, y: &V, alpha: V::Real) {
        if std::mem::take(&mut self.fallen) {
            self.first.learn_from_other(s, y);
            self.second.learn(s, y, alpha);
        } else {
            self.first.learn(s, y, alpha);
            self.second.learn_from_other(s, y);
        }
    }

    fn learn_from_other(&mut self, s: &V, y: &V) {
        self.fallen = false;
        self.first.learn_from_other(s, y);
        self.second.learn_from_other(s, y);
    }

    fn forget(&mut self) {
        self.fallen = false;
        self.first.forget();
        self.second.forget();
    }

    fn fall_back(&mut self) -> bool {
        if self.fallen {
            return self.second.fall_back();
        }
        self.fallen = !self.first.fall_back();
        true
    }

    fn inner_iterations(&self) -> usize {
        self.first.inner_iterations() + self.second.inner_iterations()
    }

    fn refresh(&mut self, f: &mut F, x: &V) -> Result<bool, DescentError> {
        let first = self.first.refresh(f, x)?;
        self.fallen &= !first; // the first direction has changed since it failed
        Ok(self.second.refresh(f, x)? || first)
    }
}
