//! A smoother and a number of steps for each level.

use coarsen_backend::{Backend, NumericBackend, Reused, SetupError, Smoother, SmootherFacts};
use coarsen_core::{Error, LinearOperator, PreconditionerKind, Real};
use coarsen_sparse::Bsr;

use crate::{Grid, SmootherParameters, Smoothing};

/// A smoother for each level, with the number of its steps before and after the coarse correction.
///
/// *Use* for settings such as those of Xian, Tong & Liu 2019, Table 1. Its entry "direct/J(10)/J(5)/J(5)",
/// from coarse to fine, means damped block Jacobi on three levels with 5, 5 and 10 steps, from fine to
/// coarse. The symmetric GS(3) of that table costs as much as `GaussSeidel` with `sweeps: 6`, which sweeps
/// forward before the coarse correction and backward after it. *Cost* of a step: one product with the matrix
/// of the level.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Preconditioner;
/// use coarsen_multigrid::{Multigrid, PerLevel, Smoothing};
/// let p = coarsen_problems::Problem::parse("poisson2d:20", &Default::default())?;
/// let jacobi = Smoothing::DampedJacobi(Default::default());
/// let smoothing = PerLevel { steps: vec![(jacobi, 5), (jacobi, 10)] };
/// let mut m = Multigrid::geometric([20, 20, 1]).smoothed_by(smoothing).build(p.system(), &Cpu::new())?;
/// let mut z = vec![0.0; 400];
/// m.apply(&vec![1.0; 400], &mut z);
/// assert!(z.iter().all(|z| z.is_finite()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PerLevel {
    /// The smoother of each level and the number of its steps, at least 1, from fine to coarse. The last
    /// entry is used for all coarser levels too.
    pub steps: Vec<(Smoothing, usize)>,
}

impl<T: Real, B: Backend> SmootherParameters<B, T> for PerLevel {
    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError> {
        let Some(&(smoothing, steps)) = self.steps.get(grid.depth).or(self.steps.last()) else {
            return Err(out_of_range("PerLevel::steps (levels)"));
        };
        match steps {
            0 => Err(out_of_range("PerLevel::steps")),
            1 => smoothing.smoother(grid, backend),
            _ => Ok(Box::new(Repeated { step: smoothing.smoother(grid, backend)?, steps, back: 0 })),
        }
    }
}

fn out_of_range(name: &'static str) -> SetupError {
    Error::Parameter { name, value: 0.0, range: "1 or more" }.into()
}

/// Several steps of a smoother as one smoother.
pub(crate) struct Repeated<T: Real, B: Backend> {
    step: Box<dyn Smoother<B, T>>,
    steps: usize,
    /// The number of transposed steps that follow the steps.
    back: usize,
}

impl<T: Real, B: Backend> Repeated<T, B> {
    /// Returns a step followed by its transpose, before and after the coarse correction.
    pub(crate) fn symmetric_sweep(step: impl Smoother<B, T> + 'static) -> Self {
        Self { step: Box::new(step), steps: 1, back: 1 }
    }
}

impl<T: Real, B: Backend> Smoother<B, T> for Repeated<T, B> {
    fn operator(&self) -> Option<&dyn LinearOperator<B::Vector>> {
        self.step.operator()
    }

    fn kind(&self) -> PreconditionerKind {
        self.step.kind()
    }

    fn pre_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.step.pre_smooth(a, b, x);
        (1..self.steps).for_each(|_| self.step.smooth(a, b, x));
        (0..self.back).for_each(|_| self.step.post_smooth(a, b, x));
    }

    fn smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        (0..self.steps).for_each(|_| self.step.smooth(a, b, x));
        (0..self.back).for_each(|_| self.step.post_smooth(a, b, x));
    }

    fn post_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        (0..self.back).for_each(|_| self.step.smooth(a, b, x)); // a step and its transpose are symmetric
        (0..self.steps).for_each(|_| self.step.post_smooth(a, b, x));
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        self.step.prepare(a)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.step.commit(a)
    }

    fn bytes(&self) -> usize {
        self.step.bytes()
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        self.step.matrix()
    }

    fn interleaves(&self) -> bool {
        self.step.interleaves()
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        self.step.facts()
    }

    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        self.step.update_on_device(fill)
    }
}
