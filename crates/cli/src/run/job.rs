//! One system to solve.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Instant;

use coarsen::Real;
use coarsen::backend::Backend;
use coarsen::direct::Analysis;
use coarsen::multigrid::{Coarsening, Hierarchy, Multigrid, Skinning, SmoothedAggregation, SmootherRecipe};
use coarsen::sparse::{Bsr, NearKernel, Permutation, System};

use super::progress::Progress;
use crate::arguments::domains::Form;
use crate::arguments::overlap::Overlap;
use crate::arguments::{Given, Method, Precision, Precond};
use crate::input::looks::{Looks, Mark};
use crate::input::ready::Ready;
use crate::input::renumber;

/// One system and the method to solve it.
#[derive(Clone)]
pub(crate) struct Job<'a> {
    /// The matrix in blocks, and additional data.
    pub(crate) system: System<'a, f64>,
    /// The matrix as it was read, for the residual. All vectors of the job are in its order.
    pub(crate) original: &'a Bsr<f64>,
    /// The order of the nodes in `system` and `null_space`, if it differs from the input.
    pub(crate) order: Option<&'a Permutation>,
    pub(crate) b: &'a [f64],
    pub(crate) x0: Option<&'a [f64]>,
    pub(crate) method: Method,
    /// The preconditioners to try; the first that can be set up is used.
    pub(crate) preconds: Vec<Precond>,
    /// The recipe of [`Precond::Sa`].
    pub(crate) aggregation: Multigrid<SmoothedAggregation>,
    /// The recipe of [`Precond::Skinning`].
    pub(crate) skinning: Multigrid<Skinning>,
    /// The recipe of [`Precond::Mas`].
    pub(crate) domains: Form,
    /// The recipe of [`Precond::As`], and its restricted form for [`Precond::Ras`].
    pub(crate) overlap: Overlap,
    /// Whether 64 bits throughout are asked for, also in the inverses of domains.
    pub(crate) double: bool,
    pub(crate) null_space: Option<NearKernel>,
    /// Whether A maps the constants on at least one component to zero.
    pub(crate) floats: bool,
    pub(crate) tolerance: f64,
    pub(crate) max_iterations: usize,
    pub(crate) progress: &'a Progress,
    /// The start of the setup, when the matrix was parsed.
    pub(crate) begun: Instant,
    /// The start of this attempt; later than `begun` if other attempts came before.
    pub(crate) since: Cell<Mark>,
    /// Times of the analysis steps. The report lists them separately from setup and solve.
    pub(crate) looks: &'a RefCell<Looks>,
    /// The deadline.
    pub(crate) deadline: Option<Instant>,
    /// The ordering of the matrix of `system`, until the factor takes it.
    pub(crate) ordered: &'a Cell<Option<Analysis>>,
}

impl<'a> Job<'a> {
    /// Creates a job whose method is set later; `precision` is the precision asked for.
    pub(crate) fn of(
        ready: &'a Ready<'_>,
        given: &Given,
        precision: Precision,
        progress: &'a Progress,
    ) -> Self {
        let (positions, near_kernel) = (ready.positions.as_deref(), ready.near_kernel.as_deref());
        Self {
            system: System { positions, near_kernel, ..(&*ready.matrix).into() },
            original: &ready.input.matrix,
            order: ready.order.as_ref(),
            b: &ready.input.b,
            x0: ready.input.x0.as_deref(),
            method: Method::Cg,
            preconds: vec![Precond::None],
            aggregation: given.aggregation.recipe(),
            skinning: given.skinning.recipe(),
            domains: given.domains.recipe(precision == Precision::F64),
            overlap: given.overlap.clone(),
            double: precision == Precision::F64,
            null_space: ready.null_space.clone(),
            floats: ready.diagnosis.values.as_ref().is_some_and(|values| values.floating > 0),
            tolerance: given.tol,
            max_iterations: given.max_iterations,
            progress,
            begun: ready.parsed,
            deadline: None,
            since: Cell::new(ready.looks.borrow().mark()),
            looks: &ready.looks,
            ordered: &ready.ordered,
        }
    }

    /// A vector in the order of `system`.
    pub(crate) fn arranged<'v>(&self, x: &'v [f64]) -> Cow<'v, [f64]> {
        renumber::arranged(self.order, self.system.matrix.block().0, x)
    }

    /// A vector in the order of the input.
    pub(crate) fn restored(&self, x: Vec<f64>) -> Vec<f64> {
        renumber::restored(self.order, self.system.matrix.block().0, x)
    }

    /// Runs an analysis step and records its time.
    pub(crate) fn time<R>(&self, step: &'static str, f: impl FnOnce() -> R) -> R {
        self.looks.borrow_mut().time(step, f)
    }

    /// Starts a new attempt.
    pub(crate) fn again(&self) {
        self.since.set(self.looks.borrow().mark());
    }
}

/// The data of a hierarchy of grids for a report.
#[derive(Clone, Debug)]
pub(crate) struct Grids {
    pub(crate) levels: usize,
    pub(crate) operator_complexity: f64,
    /// One line per level.
    pub(crate) table: String,
}

impl Grids {
    pub(crate) fn of<T: Real, B: Backend, C: Coarsening<T>, S>(built: &Hierarchy<T, B, C, S>) -> Self
    where
        S: SmootherRecipe<T, B>,
    {
        let (levels, operator_complexity) = (built.levels(), built.operator_complexity());
        Self { levels, operator_complexity, table: built.to_string() }
    }
}
