//! Preconditioners by name, and what a solve builds on a backend.

use std::ops::ControlFlow;

use coarsen_backend::{Backend, Cpu, Prepared, Setup, SetupError};
use coarsen_core::{Error, Identity, LinearOperator, Real, Vector, parallel};
use coarsen_multigrid::{F32Hierarchy, Hierarchy, LevelSize, Multigrid, SetupStep};
use coarsen_relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
use coarsen_ruge_stueben::{RugeStueben, ruge_stueben};
use coarsen_schwarz::{AdditiveSchwarz, Schwarz};
use coarsen_skinning::{Skinning, skinning};
use coarsen_smoothed_aggregation::{SmoothedAggregation, smoothed_aggregation};
use coarsen_sparse::{Bsr, System};

use crate::Precond;

/// The relaxation factor of [`Precond::Ssor`]; 1.2 to 1.7 is best on model problems, and 1 is Gauss-Seidel.
const OVER_RELAXATION: f64 = 1.3;

/// The operator and the preconditioners of [`Plan::solve`](crate::Plan::solve) on a backend. A program with another backend, or
/// with other parameters of its preconditioners, makes its own.
pub struct Builder<'a, B: Backend> {
    /// The backend of the vectors.
    pub backend: &'a B,
    /// Returns the matrix as an operator on these vectors.
    pub operator: &'a dyn Fn(&Bsr<f64>) -> Result<Box<dyn LinearOperator<B::Vector> + '_>, Error>,
    /// Builds a preconditioner of a matrix without contact; `true` asks for storage in f32.
    pub build: &'a dyn Fn(Precond, bool, &Bsr<f64>) -> Result<Built<B::Vector>, SetupError>,
}

/// A function that is called at every iteration of all methods, with the number of iterations so far and the relative
/// residual. `Break` ends the solve.
pub type Observer<'a> = dyn FnMut(usize, f64) -> ControlFlow<()> + 'a;

/// A preconditioner, and its levels if it is a hierarchy.
pub type Built<V> = (Box<dyn Prepared<V, f64> + Send>, Option<Levels>);

/// The levels of a preconditioner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Their number.
    pub count: usize,
    /// The entries of the matrices of all levels, divided by the entries of A.
    pub operator_complexity: f64,
    /// A table, one line for each level.
    pub table: String,
    /// The sizes of all levels of a multigrid hierarchy, from the finest.
    pub sizes: Vec<LevelSize>,
    /// The steps of the setup of a multigrid hierarchy.
    pub steps: Vec<SetupStep>,
}

/// The parameters of the preconditioners that have some.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// [`Precond::SmoothedAggregation`].
    pub aggregation: Multigrid<SmoothedAggregation>,
    /// [`Precond::RugeStueben`].
    pub ruge_stueben: Multigrid<RugeStueben>,
    /// [`Precond::Skinning`].
    pub skinning: Multigrid<Skinning>,
    /// [`Precond::Schwarz`].
    pub schwarz: Schwarz,
    /// [`Precond::OverlappingSchwarz`].
    pub overlapping: AdditiveSchwarz,
    /// [`Precond::RestrictedSchwarz`].
    pub restricted: AdditiveSchwarz,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            aggregation: smoothed_aggregation(),
            ruge_stueben: ruge_stueben(),
            skinning: skinning(),
            schwarz: Schwarz::multilevel(),
            overlapping: AdditiveSchwarz::overlapping(),
            restricted: AdditiveSchwarz::restricted(),
        }
    }
}

impl Parameters {
    /// Builds a preconditioner on the CPU. Where it is stored in f32 for vectors in f64, a hierarchy is computed and applied in
    /// f32.
    ///
    /// ```
    /// use coarsen_auto::{Parameters, Precond};
    /// use coarsen_backend::Cpu;
    /// let a = coarsen_problems::poisson2d(20)?.matrix;
    /// let (_, levels) = Parameters::default().build(Precond::SmoothedAggregation, (&a).into(), &Cpu::mixed())?;
    /// assert_eq!(levels.unwrap().count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the preconditioner.
    pub fn build<V: Real, S: Real>(
        &self,
        precond: Precond,
        system: System<'_, f64>,
        backend: &Cpu<V, S>,
    ) -> Result<Built<Vec<V>>, SetupError> {
        let system = with_used(precond, system);
        parallel::enter(system.matrix.nnz(), || match precond {
            Precond::SmoothedAggregation if V::NAME != S::NAME => in_f32(self.aggregation.build_f32(system)?),
            Precond::RugeStueben if V::NAME != S::NAME => in_f32(self.ruge_stueben.build_f32(system)?),
            Precond::Skinning if V::NAME != S::NAME => in_f32(self.skinning.build_f32(system)?),
            Precond::Schwarz => one_level(self.schwarz.build_from(system, backend)?),
            Precond::OverlappingSchwarz => one_level(self.overlapping.build_from(system, backend)?),
            Precond::RestrictedSchwarz => one_level(self.restricted.build_from(system, backend)?),
            Precond::Ic0 => one_level(Ic0::default().build_from(system, backend)?),
            Precond::Ilu0 => one_level(Ilu0.build_from(system, backend)?),
            _ => self.build_on(precond, system, backend),
        })
    }

    /// Builds a preconditioner on any backend: a hierarchy, Jacobi, Gauss-Seidel or Chebyshev. All others give the identity.
    ///
    /// # Errors
    /// Those of the preconditioner.
    pub fn build_on<B: Backend>(
        &self,
        precond: Precond,
        system: System<'_, f64>,
        backend: &B,
    ) -> Result<Built<B::Vector>, SetupError> {
        let system = with_used(precond, system);
        match precond {
            Precond::SmoothedAggregation => hierarchy(self.aggregation.build_from(system, backend)?),
            Precond::RugeStueben => hierarchy(self.ruge_stueben.build_from(system, backend)?),
            Precond::Skinning => hierarchy(self.skinning.build_from(system, backend)?),
            Precond::Jacobi => one_level(Jacobi::default().build_from(system, backend)?),
            Precond::L1Jacobi => {
                one_level(Jacobi { l1: true, ..Jacobi::default() }.build_from(system, backend)?)
            }
            Precond::BlockJacobi => one_level(BlockJacobi::default().build_from(system, backend)?),
            Precond::GaussSeidel => one_level(GaussSeidel::default().build_from(system, backend)?),
            Precond::Ssor => {
                let ssor = GaussSeidel { omega: OVER_RELAXATION, ..GaussSeidel::default() };
                one_level(ssor.build_from(system, backend)?)
            }
            Precond::Chebyshev => one_level(Chebyshev::default().build_from(system, backend)?),
            _ => one_level(Identity),
        }
    }
}

/// The system without positions where the hierarchy would only copy them: those of scalars have no rotations.
fn with_used(precond: Precond, system: System<'_, f64>) -> System<'_, f64> {
    let is_algebraic = matches!(precond, Precond::SmoothedAggregation | Precond::RugeStueben);
    let positions = system.positions.filter(|_| !is_algebraic || system.matrix.block() != (1, 1));
    System { positions, ..system }
}

fn one_level<V: Vector>(built: impl Prepared<V, f64> + Send + 'static) -> Result<Built<V>, SetupError> {
    Ok((Box::new(built), None))
}

fn hierarchy<B: Backend>(built: Hierarchy<f64, B>) -> Result<Built<B::Vector>, SetupError> {
    let levels = Levels::of(&built);
    Ok((Box::new(built), Some(levels)))
}

fn in_f32<V: Real>(built: F32Hierarchy) -> Result<Built<Vec<V>>, SetupError> {
    let levels = Levels::of(built.get());
    Ok((Box::new(built), Some(levels)))
}

impl Levels {
    /// Those of a multigrid hierarchy.
    pub fn of<T: Real, B: Backend>(built: &Hierarchy<T, B>) -> Self {
        let (count, operator_complexity) = (built.levels(), built.operator_complexity());
        let (sizes, steps) = (built.level_sizes(), built.setup_steps().into());
        Self { count, operator_complexity, table: built.to_string(), sizes, steps }
    }
}
