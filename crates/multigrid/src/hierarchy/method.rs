//! The coarsening and the smoothing of a hierarchy as one object, so that the type of a hierarchy does not name them.

use std::any::Any;
use std::ops::{Deref, DerefMut};

use coarsen_backend::{Backend, SetupError, Smoother};
use coarsen_core::Real;
use coarsen_sparse::{Bsr, GalerkinPlan};

use crate::{Coarse, Coarsening, Grid, Multigrid, SmootherParameters};

/// The state of a step, of the type [`Coarsening::State`].
pub(super) type State = dyn Any + Send;

/// A [`Coarse`] whose state may have any type.
pub(super) struct Step<T: Real>(Box<dyn AnyCoarse<T>>);

trait AnyCoarse<T: Real>: Any + Send {
    fn get(&self) -> &Coarse<T, State>;
    fn get_mut(&mut self) -> &mut Coarse<T, State>;
    fn copy(&self) -> Step<T>;
}

impl<T: Real, X: Clone + Send + 'static> AnyCoarse<T> for Coarse<T, X> {
    fn get(&self) -> &Coarse<T, State> {
        self
    }

    fn get_mut(&mut self) -> &mut Coarse<T, State> {
        self
    }

    fn copy(&self) -> Step<T> {
        Step(Box::new(self.clone()))
    }
}

impl<T: Real> Step<T> {
    /// Returns the step of a method with states of type `X`.
    fn of<X: 'static>(&mut self) -> &mut Coarse<T, X> {
        let any: &mut dyn Any = &mut *self.0;
        any.downcast_mut().expect("a step belongs to the method that made it")
    }
}

impl<T: Real> Clone for Step<T> {
    fn clone(&self) -> Self {
        self.0.copy()
    }
}

impl<T: Real> Deref for Step<T> {
    type Target = Coarse<T, State>;

    fn deref(&self) -> &Coarse<T, State> {
        self.0.get()
    }
}

impl<T: Real> DerefMut for Step<T> {
    fn deref_mut(&mut self) -> &mut Coarse<T, State> {
        self.0.get_mut()
    }
}

/// The functions of [`Coarsening`] and [`SmootherParameters`] for states of any type.
pub(super) trait Method<T: Real, B: Backend>: Send {
    fn coarsen(&self, fine: &Grid<'_, T>, above: Option<&State>) -> Result<Option<Step<T>>, SetupError>;

    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&State>,
        coarse: &mut Step<T>,
    ) -> Result<(), SetupError>;

    fn product(
        &self,
        a: &Bsr<T>,
        coarse: &mut Step<T>,
        plan: &mut GalerkinPlan<T>,
        into: Option<Bsr<T>>,
    ) -> Result<Bsr<T>, SetupError>;

    fn add_term(&self, a: &mut Bsr<T>, above: &State) -> Result<(), SetupError>;

    fn changed(&self, first: Option<&State>) -> Box<dyn Method<T, B>>;

    fn copy(&self) -> Box<dyn Method<T, B>>;

    fn name(&self) -> &'static str;

    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError>;
}

fn own<X: 'static>(state: &State) -> &X {
    state.downcast_ref().expect("a state belongs to the method that made it")
}

impl<T: Real, B: Backend, C: Coarsening<T>, S: SmootherParameters<B, T>> Method<T, B> for Multigrid<C, S> {
    fn coarsen(&self, fine: &Grid<'_, T>, above: Option<&State>) -> Result<Option<Step<T>>, SetupError> {
        let coarse = self.coarsening.coarsen(fine, above.map(own))?;
        Ok(coarse.map(|coarse| Step(Box::new(coarse))))
    }

    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&State>,
        coarse: &mut Step<T>,
    ) -> Result<(), SetupError> {
        self.coarsening.refresh(fine, above.map(own), coarse.of())
    }

    fn product(
        &self,
        a: &Bsr<T>,
        coarse: &mut Step<T>,
        plan: &mut GalerkinPlan<T>,
        into: Option<Bsr<T>>,
    ) -> Result<Bsr<T>, SetupError> {
        self.coarsening.product(a, coarse.of(), plan, into)
    }

    fn add_term(&self, a: &mut Bsr<T>, above: &State) -> Result<(), SetupError> {
        self.coarsening.add_term(a, own(above))
    }

    fn changed(&self, first: Option<&State>) -> Box<dyn Method<T, B>> {
        Box::new(Self { coarsening: self.coarsening.changed(first.map(own)), ..self.clone() })
    }

    fn copy(&self) -> Box<dyn Method<T, B>> {
        Box::new(self.clone())
    }

    fn name(&self) -> &'static str {
        self.coarsening.name()
    }

    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError> {
        self.smoothing.smoother(grid, backend)
    }
}
