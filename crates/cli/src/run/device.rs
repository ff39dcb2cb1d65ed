//! An OpenCL device as a backend of the command.

use coarsen::auto::{Built, Levels, Precond};
use coarsen::backend::{Backend, Setup, SetupError};
use coarsen::opencl::{DeviceSchwarz, DeviceSubdomains, OpenCl};
use coarsen::schwarz::{Coarse, Repair, Schwarz, Weights};
use coarsen::sparse::{Bsr, System};
use coarsen::{Error, LinearOperator, Real};

use super::backend::{Parameters, SolveBackend, domains};
use crate::arguments::domains::Form;

/// An estimate of the bytes of a hierarchy, as a multiple of the bytes of its matrix. Transfers, coarser
/// levels, diagonal blocks and vectors take as much as the matrix.
const HIERARCHY: u64 = 3;

impl<V: Real, S: Real> SolveBackend for OpenCl<V, S> {
    fn remark(&self) -> Option<String> {
        Some(format!("on {}", self.device()))
    }

    fn build(
        &self,
        precond: Precond,
        parameters: &Parameters,
        system: System<'_, f64>,
    ) -> Result<Built<Self::Vector>, SetupError> {
        self.check_memory(needed(self, system.matrix, precond, &parameters.domains))?;
        match (precond, &parameters.domains) {
            (Precond::Schwarz, Form::Additive(schwarz))
                if !matches!(schwarz.coarse, Coarse::Exact { .. }) && schwarz.weights == Weights::Ones =>
            {
                computed_on_device(schwarz, system, self)
            }
            // These forms need the host: a factor, computed weights and smoothed aggregation.
            (Precond::Schwarz, form) => domains(form, system, self),
            (other, _) => parameters.named.build_on(other, system, self),
        }
    }

    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Self::Vector> + 'a>, Error> {
        Ok(Box::new(self.plain().matrix(a)?))
    }
}

/// The number of bytes of the matrix, of a dozen vectors, and of the preconditioner.
fn needed<V: Real, S: Real>(backend: &OpenCl<V, S>, a: &Bsr<f64>, precond: Precond, form: &Form) -> u64 {
    let inner = backend.matrix_bytes(a);
    let domains = |schwarz: &Schwarz| backend.domain_bytes(schwarz, a);
    let preconditioner = match (precond, form) {
        (Precond::SmoothedAggregation | Precond::RugeStueben | Precond::Skinning, _) => HIERARCHY * inner,
        (Precond::Schwarz, Form::Additive(schwarz)) => domains(schwarz),
        (Precond::Schwarz, Form::Multiplicative(over)) => {
            HIERARCHY * inner + domains(&over.smoothing.domains.schwarz)
        }
        (Precond::GaussSeidel | Precond::Ssor | Precond::Chebyshev, _) => inner,
        _ => 0,
    };
    let vectors = 12 * a.shape().0 * size_of::<V>();
    backend.plain().matrix_bytes(a) + preconditioner + vectors as u64
}

/// Multilevel domains whose inverses are computed on the device, with domains on the coarsest level too.
fn computed_on_device<V: Real, S: Real>(
    schwarz: &Schwarz,
    system: System<'_, f64>,
    backend: &OpenCl<V, S>,
) -> Result<Built<<OpenCl<V, S> as Backend>::Vector>, SetupError> {
    let built =
        DeviceSchwarz { schwarz: *schwarz, ..DeviceSchwarz::default() }.build_from(system, backend)?;
    let nodes = built.nodes()?;
    let levels = Levels {
        count: nodes.len(),
        operator_complexity: 1.0 + built.values() as f64 / system.matrix.nnz().max(1) as f64,
        table: table(&built, &nodes, schwarz.domain)?,
        ..Levels::default()
    };
    Ok((Box::new(built), Some(levels)))
}

/// One line per level.
fn table<V: Real, S: Real>(
    built: &DeviceSubdomains<V, S>,
    nodes: &[usize],
    domain: usize,
) -> Result<String, Error> {
    let repairs = built.repairs()?;
    let lines = nodes.iter().enumerate().map(|(level, nodes)| {
        let repaired = |what| repairs.iter().filter(|r| r.0 == level && r.2 == what).count();
        let [shifted, diagonal] = [Repair::Shifted, Repair::BlockDiagonal].map(repaired);
        format!("{level:>5} {nodes:>9} {shifted:>9} {diagonal:>9}\n")
    });
    let head = format!(
        "multilevel additive schwarz computed on the device, domains of {domain} nodes on every level\n{:>5} {:>9} {:>9} {:>9}\n",
        "level", "nodes", "shifted", "diagonal"
    );
    Ok(lines.fold(head, |text, line| text + &line))
}
