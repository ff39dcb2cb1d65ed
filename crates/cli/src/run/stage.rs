//! Places for the command, and the preconditioners that they support.

use coarsen::auto::{Built, Kind, Levels, OVER_RELAXATION, in_f32};
use coarsen::backend::{Backend, Cpu, Prepared, Setup, SetupError};
use coarsen::multigrid::{Coarsening, Hierarchy, Multigrid, SmootherRecipe};
use coarsen::relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
use coarsen::schwarz::Place;
use coarsen::skinning::Skinning;
use coarsen::smoothed_aggregation::SmoothedAggregation;
use coarsen::sparse::{Bsr, System};
use coarsen::{Error, Identity, LinearOperator, Real, Vector};

use crate::arguments::domains::Form;
use crate::arguments::overlap::Overlap;
use crate::arguments::{Given, Precision};

/// The recipes of the command line.
pub(crate) struct Recipes {
    /// [`Kind::SmoothedAggregation`].
    pub(crate) aggregation: Multigrid<SmoothedAggregation>,
    /// [`Kind::Skinning`].
    pub(crate) skinning: Multigrid<Skinning>,
    /// [`Kind::Schwarz`].
    pub(crate) domains: Form,
    /// [`Kind::OverlappingSchwarz`], and its restricted form for [`Kind::RestrictedSchwarz`].
    pub(crate) overlap: Overlap,
    /// Whether 64 bits throughout are asked for, also in the inverses of domains.
    pub(crate) double: bool,
}

impl Recipes {
    /// The recipes for the precision that is asked for.
    pub(crate) fn of(given: &Given, precision: Precision) -> Self {
        let double = precision == Precision::F64;
        Self {
            aggregation: given.aggregation.recipe(),
            skinning: given.skinning.recipe(),
            domains: given.domains.recipe(double),
            overlap: given.overlap.clone(),
            double,
        }
    }
}

/// A place at which the command can solve.
pub(crate) trait Stage: Backend {
    /// The text after the name of the place in the report.
    fn remark(&self) -> Option<String> {
        None
    }

    /// A preconditioner of the system.
    fn build(
        &self,
        kind: Kind,
        recipes: &Recipes,
        system: System<'_, f64>,
    ) -> Result<Built<Self::Vector>, SetupError>;

    /// The system's matrix in the precision of the vectors.
    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Self::Vector> + 'a>, Error>;
}

impl<V: Real, S: Real> Stage for Cpu<V, S> {
    fn build(
        &self,
        kind: Kind,
        recipes: &Recipes,
        system: System<'_, f64>,
    ) -> Result<Built<Vec<V>>, SetupError> {
        match kind {
            Kind::SmoothedAggregation if V::NAME != S::NAME => {
                in_f32(system, |system| recipes.aggregation.build_narrow(system))
            }
            Kind::Skinning if V::NAME != S::NAME => {
                in_f32(system, |system| recipes.skinning.build_narrow(system))
            }
            Kind::Schwarz => domains(&recipes.domains, system, self),
            Kind::Ic0 => one_level(Ic0::default().build_from(system, self)?),
            Kind::Ilu0 => one_level(Ilu0.build_from(system, self)?),
            Kind::OverlappingSchwarz | Kind::RestrictedSchwarz => {
                let recipe = recipes.overlap.recipe(kind == Kind::RestrictedSchwarz, recipes.double);
                one_level(recipe.build_from(system, self)?)
            }
            other => anywhere(other, recipes, system, self),
        }
    }

    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Vec<V>> + 'a>, Error> {
        Ok(if V::NAME == f64::NAME { Box::new(a) } else { Box::new(a.to::<V>()) })
    }
}

/// Builds a preconditioner that works at any place;
/// [`Stages::builds`](crate::decision::places::Stages::builds) excludes all other preconditioners.
pub(crate) fn anywhere<B: Backend>(
    kind: Kind,
    recipes: &Recipes,
    system: System<'_, f64>,
    on: &B,
) -> Result<Built<B::Vector>, SetupError> {
    let ssor = GaussSeidel { omega: OVER_RELAXATION, ..GaussSeidel::default() };
    match kind {
        Kind::SmoothedAggregation => hierarchy(&recipes.aggregation, system, on),
        Kind::Skinning => hierarchy(&recipes.skinning, system, on),
        Kind::Jacobi => one_level(Jacobi::default().build_from(system, on)?),
        Kind::L1Jacobi => one_level(Jacobi { l1: true, ..Jacobi::default() }.build_from(system, on)?),
        Kind::BlockJacobi => one_level(BlockJacobi::default().build_from(system, on)?),
        Kind::GaussSeidel => one_level(GaussSeidel::default().build_from(system, on)?),
        Kind::Ssor => one_level(ssor.build_from(system, on)?),
        Kind::Chebyshev => one_level(Chebyshev::default().build_from(system, on)?),
        Kind::Identity
        | Kind::Schwarz
        | Kind::OverlappingSchwarz
        | Kind::RestrictedSchwarz
        | Kind::Ic0
        | Kind::Ilu0 => one_level(Identity),
    }
}

/// A preconditioner without levels.
pub(crate) fn one_level<V: Vector>(built: impl Prepared<V, f64> + 'static) -> Result<Built<V>, SetupError> {
    Ok(Built { preconditioner: Box::new(built), levels: None })
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
    let built: Hierarchy<f64, B, C, S> = recipe.build_from(system, on)?;
    let levels = Levels {
        count: built.levels(),
        operator_complexity: built.operator_complexity(),
        table: built.to_string(),
    };
    Ok(Built { preconditioner: Box::new(built), levels: Some(levels) })
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
    let levels = Levels {
        count: plan.levels() + usize::from(plan.top_nodes() > 0),
        operator_complexity: 1.0 + plan.values() as f64 / system.matrix.nnz().max(1) as f64,
        table: built.to_string(),
    };
    Ok(Built { preconditioner: Box::new(built), levels: Some(levels) })
}
