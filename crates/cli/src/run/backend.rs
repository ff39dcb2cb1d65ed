//! Backends of the command, and the preconditioners that they support.

use coarsen::auto::{self, Built, Levels, Precond};
use coarsen::backend::{Backend, Cpu, Setup, SetupError};
use coarsen::schwarz::SchwarzBackend;
use coarsen::sparse::{Bsr, System};
use coarsen::{Error, LinearOperator, Real};

use crate::arguments::domains::Form;
use crate::arguments::{Given, Precision};

/// The parameters of the command line.
pub(crate) struct Parameters {
    /// Those of all preconditioners except multilevel Schwarz.
    pub(crate) named: auto::Parameters,
    /// [`Precond::Schwarz`].
    pub(crate) domains: Form,
}

impl Parameters {
    /// The parameters for the precision that is asked for.
    pub(crate) fn of(given: &Given, precision: Precision) -> Self {
        let double = precision == Precision::F64;
        let named = auto::Parameters {
            aggregation: given.aggregation.parameters(),
            ruge_stueben: given.classical.parameters(),
            skinning: given.skinning.parameters(),
            overlapping: given.overlap.parameters(false, double),
            restricted: given.overlap.parameters(true, double),
            ..auto::Parameters::default()
        };
        Self { named, domains: given.domains.parameters(double) }
    }
}

/// A backend at which the command can solve.
pub(crate) trait SolveBackend: Backend {
    /// The text after the name of the backend in the report.
    fn remark(&self) -> Option<String> {
        None
    }

    /// A preconditioner of the system.
    fn build(
        &self,
        precond: Precond,
        parameters: &Parameters,
        system: System<'_, f64>,
    ) -> Result<Built<Self::Vector>, SetupError>;

    /// The system's matrix in the precision of the vectors.
    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Self::Vector> + 'a>, Error>;
}

impl<V: Real, S: Real> SolveBackend for Cpu<V, S> {
    fn build(
        &self,
        precond: Precond,
        parameters: &Parameters,
        system: System<'_, f64>,
    ) -> Result<Built<Vec<V>>, SetupError> {
        match precond {
            Precond::Schwarz => domains(&parameters.domains, system, self),
            _ => parameters.named.build(precond, system, self),
        }
    }

    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Vec<V>> + 'a>, Error> {
        Ok(if V::NAME == f64::NAME { Box::new(a) } else { Box::new(a.to::<V>()) })
    }
}

/// Multilevel domains whose inverses are computed on the host.
pub(crate) fn domains<B: SchwarzBackend>(
    form: &Form,
    system: System<'_, f64>,
    backend: &B,
) -> Result<Built<B::Vector>, SetupError> {
    let schwarz = match form {
        Form::Additive(schwarz) => schwarz,
        Form::Multiplicative(multigrid) => {
            let built = multigrid.build_from(system, backend)?;
            let levels = Levels::of(&built);
            return Ok((Box::new(built), Some(levels)));
        }
    };
    let built = schwarz.build_from(system, backend)?;
    let plan = built.plan();
    let levels = Levels {
        count: plan.levels() + usize::from(plan.top_nodes() > 0),
        operator_complexity: 1.0 + plan.values() as f64 / system.matrix.nnz().max(1) as f64,
        table: built.to_string(),
        ..Levels::default()
    };
    Ok((Box::new(built), Some(levels)))
}
