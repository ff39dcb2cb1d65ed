//! Places for the command, and the preconditioners that they support.

use coarsen::backend::{Backend, Cpu, Setup, SetupError};
use coarsen::multigrid::{Coarsening, Multigrid, NarrowHierarchy, SmootherRecipe};
use coarsen::relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
use coarsen::schwarz::Place;
use coarsen::sparse::{Bsr, System};
use coarsen::{Error, Identity, LinearOperator, Preconditioner, Real};

use super::job::{Grids, Job};
use crate::arguments::Precond;
use crate::arguments::domains::Form;

/// The relaxation factor of `--precond ssor`. It must be below 2; 1 is Gauss-Seidel, and 1.2 to 1.7 is best
/// on model problems.
pub(crate) const OVER_RELAXATION: f64 = 1.3;

/// A preconditioner, and its levels if it has several.
pub(crate) type Built<V> = (Box<dyn Preconditioner<V>>, Option<Grids>);

/// A place at which the command can solve.
pub(crate) trait Stage: Backend {
    /// The text after the name of the place in the report.
    fn remark(&self) -> Option<String> {
        None
    }

    /// Checks before the setup whether a job fits into memory.
    fn check_room(&self, _: &Job<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// A preconditioner of the system.
    fn build(&self, precond: Precond, job: &Job<'_>) -> Result<Built<Self::Vector>, SetupError>;

    /// The system's matrix in the precision of the vectors.
    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Operator<'a, Self>, Error>;
}

/// The given matrix, or a converted copy.
pub(crate) enum Operator<'a, B: Backend> {
    Given(&'a dyn LinearOperator<B::Vector>),
    Made(Box<dyn LinearOperator<B::Vector>>),
}

impl<B: Backend> Operator<'_, B> {
    pub(crate) fn get(&self) -> &dyn LinearOperator<B::Vector> {
        match self {
            Self::Given(a) => *a,
            Self::Made(a) => &**a,
        }
    }
}

impl<V: Real, S: Real> Stage for Cpu<V, S> {
    fn build(&self, precond: Precond, job: &Job<'_>) -> Result<Built<Vec<V>>, SetupError> {
        Ok(match precond {
            Precond::Sa if V::NAME != S::NAME => {
                return narrow(job, |system| job.aggregation.build_narrow(system));
            }
            Precond::Skinning if V::NAME != S::NAME => {
                return narrow(job, |system| job.skinning.build_narrow(system));
            }
            Precond::Mas => return domains(&job.domains, job.system, self),
            Precond::Ic0 => (Box::new(Ic0::default().build_from(job.system, self)?), None),
            Precond::Ilu0 => (Box::new(Ilu0.build_from(job.system, self)?), None),
            Precond::As | Precond::Ras => {
                let recipe = job.overlap.recipe(precond == Precond::Ras, job.double);
                (Box::new(recipe.build_from(job.system, self)?), None)
            }
            other => return anywhere(other, job, self),
        })
    }

    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Operator<'a, Self>, Error> {
        Ok(if V::NAME == f64::NAME { Operator::Given(a) } else { Operator::Made(Box::new(a.to::<V>())) })
    }
}

/// Builds a preconditioner that works at any place;
/// [`Stages::builds`](crate::decision::places::Stages::builds) excludes all other preconditioners.
pub(crate) fn anywhere<B: Backend>(
    precond: Precond,
    job: &Job<'_>,
    on: &B,
) -> Result<Built<B::Vector>, SetupError> {
    let system = job.system;
    let ssor = GaussSeidel { omega: OVER_RELAXATION, ..GaussSeidel::default() };
    let one_level: Box<dyn Preconditioner<B::Vector>> = match precond {
        Precond::Sa => return hierarchy(&job.aggregation, system, on),
        Precond::Skinning => return hierarchy(&job.skinning, system, on),
        Precond::Jacobi => Box::new(Jacobi::default().build_from(system, on)?),
        Precond::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, on)?),
        Precond::Gs => Box::new(GaussSeidel::default().build_from(system, on)?),
        Precond::Ssor => Box::new(ssor.build_from(system, on)?),
        Precond::Chebyshev => Box::new(Chebyshev::default().build_from(system, on)?),
        Precond::Auto
        | Precond::None
        | Precond::Mas
        | Precond::As
        | Precond::Ras
        | Precond::Ic0
        | Precond::Ilu0 => Box::new(Identity),
    };
    Ok((one_level, None))
}

fn hierarchy<B: Backend, C, S>(
    recipe: &Multigrid<C, S>,
    system: System<'_, f64>,
    on: &B,
) -> Result<Built<B::Vector>, SetupError>
where
    C: Coarsening<f64> + 'static,
    S: SmootherRecipe<f64, B> + 'static,
{
    let built = recipe.build_from(system, on)?;
    let grids = Grids::of(&built);
    Ok((Box::new(built), Some(grids)))
}

/// A hierarchy that is computed and applied in f32, for vectors in f64.
fn narrow<V: Real, C: Coarsening<f32> + 'static>(
    job: &Job<'_>,
    build: impl FnOnce(System<'_, f32>) -> Result<NarrowHierarchy<C>, SetupError>,
) -> Result<Built<Vec<V>>, SetupError> {
    let System { positions, near_kernel, links, .. } = job.system;
    let matrix = job.time("f32 copy", || job.system.matrix.to::<f32>());
    let built = build(System { positions, near_kernel, links, ..System::from(&matrix) })?;
    let grids = Grids::of(built.get());
    Ok((Box::new(built), Some(grids)))
}

/// Multilevel domains whose inverses are computed on the host.
pub(crate) fn domains<B: Place>(
    recipe: &Form,
    system: System<'_, f64>,
    on: &B,
) -> Result<Built<B::Vector>, SetupError> {
    let schwarz = match recipe {
        Form::Additive(schwarz) => schwarz,
        Form::Multiplicative(recipe) => return hierarchy(recipe, system, on),
    };
    let built = schwarz.build_from(system, on)?;
    let plan = built.plan();
    let grids = Grids {
        levels: plan.levels() + usize::from(plan.top_nodes() > 0),
        operator_complexity: 1.0 + plan.values() as f64 / system.matrix.nnz().max(1) as f64,
        table: built.to_string(),
    };
    Ok((Box::new(built), Some(grids)))
}
