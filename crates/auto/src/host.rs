//! Preconditioners on the CPU by kind.

use coarsen_backend::{Cpu, Prepared, Reused, Setup, SetupError, Update};
use coarsen_core::{Class, Error, LinearOperator, Narrow, Preconditioner, Real};
use coarsen_multigrid::{Coarsening, Hierarchy, Multigrid, NarrowHierarchy};
use coarsen_relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
use coarsen_schwarz::{AdditiveSchwarz, Schwarz};
use coarsen_skinning::skinning;
use coarsen_smoothed_aggregation::smoothed_aggregation;
use coarsen_sparse::{Bsr, System};

use crate::Kind;
use crate::problem::{Builder, Built, Levels};

/// The relaxation factor of [`Kind::Ssor`]. It must be below 2; 1 is Gauss-Seidel, and 1.2 to 1.7 is best
/// on model problems.
pub const OVER_RELAXATION: f64 = 1.3;

/// Builds preconditioners on the CPU with their default options.
///
/// ```
/// use coarsen_auto::{Builder, Host, Kind};
/// let a = coarsen_problems::poisson2d(20)?.matrix;
/// let built = Host.build(Kind::SmoothedAggregation, true, (&a).into())?;
/// assert_eq!(built.levels.unwrap().count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl Builder for Host {
    type Vector = Vec<f64>;

    fn vector(&self, values: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(values.to_vec())
    }

    fn read(&self, vector: &Vec<f64>, into: &mut [f64]) -> Result<(), Error> {
        into.copy_from_slice(vector);
        Ok(())
    }

    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<Vec<f64>> + 'a>, Error> {
        Ok(Box::new(a))
    }

    fn build(
        &self,
        kind: Kind,
        single: bool,
        system: System<'_, f64>,
    ) -> Result<Built<Vec<f64>>, SetupError> {
        let aggregation = smoothed_aggregation();
        let skinning = skinning();
        match (kind, single) {
            (Kind::SmoothedAggregation, true) => in_f32(system, |system| aggregation.build_narrow(system)),
            (Kind::Skinning, true) => in_f32(system, |system| skinning.build_narrow(system)),
            (Kind::SmoothedAggregation, false) => hierarchy(&aggregation, system),
            (Kind::Skinning, false) => hierarchy(&skinning, system),
            (Kind::Schwarz, _) => plain(Schwarz::multilevel().build_from(system, &Cpu::new())),
            (Kind::OverlappingSchwarz, _) => {
                plain(AdditiveSchwarz::overlapping().build_from(system, &Cpu::new()))
            }
            (Kind::RestrictedSchwarz, _) => {
                plain(AdditiveSchwarz::restricted().build_from(system, &Cpu::new()))
            }
            (kind, true) => one_level(kind, system, &Cpu::mixed()),
            (kind, false) => one_level(kind, system, &Cpu::new()),
        }
    }
}

fn plain<P: Prepared<Vec<f64>, f64> + 'static>(
    built: Result<P, SetupError>,
) -> Result<Built<Vec<f64>>, SetupError> {
    Ok(Built { preconditioner: Box::new(built?), levels: None })
}

fn hierarchy<C: Coarsening<f64> + 'static>(
    recipe: &Multigrid<C>,
    system: System<'_, f64>,
) -> Result<Built<Vec<f64>>, SetupError> {
    let built = recipe.build_from(system, &Cpu::new())?;
    let levels = Some(levels(&built));
    Ok(Built { preconditioner: Box::new(built), levels })
}

fn levels<T: Real, C: Coarsening<T>>(built: &Hierarchy<T, Cpu<T>, C>) -> Levels {
    let (count, operator_complexity) = (built.levels(), built.operator_complexity());
    Levels { count, operator_complexity, table: built.to_string() }
}

fn one_level<S: Real>(
    kind: Kind,
    system: System<'_, f64>,
    on: &Cpu<f64, S>,
) -> Result<Built<Vec<f64>>, SetupError> {
    match kind {
        Kind::Jacobi => plain(Jacobi::default().build_from(system, on)),
        Kind::L1Jacobi => plain(Jacobi { l1: true, ..Jacobi::default() }.build_from(system, on)),
        Kind::BlockJacobi => plain(BlockJacobi::default().build_from(system, on)),
        Kind::GaussSeidel => plain(GaussSeidel::default().build_from(system, on)),
        Kind::Ssor => {
            plain(GaussSeidel { omega: OVER_RELAXATION, ..Default::default() }.build_from(system, on))
        }
        Kind::Chebyshev => plain(Chebyshev::default().build_from(system, on)),
        Kind::Ic0 => plain(Ic0::default().build_from(system, on)),
        Kind::Ilu0 => plain(Ilu0.build_from(system, on)),
        _ => plain(Ok(coarsen_core::Identity)),
    }
}

/// Builds a hierarchy that is computed and applied in f32, for vectors in another precision; updates are rounded to f32.
///
/// # Errors
/// Those of `build`.
pub fn in_f32<V: Real, C: Coarsening<f32> + 'static>(
    system: System<'_, f64>,
    build: impl FnOnce(System<'_, f32>) -> Result<NarrowHierarchy<C>, SetupError>,
) -> Result<Built<Vec<V>>, SetupError> {
    let matrix = system.matrix.to::<f32>();
    let hierarchy = build(rounded(system, &matrix))?;
    let levels = Some(levels(hierarchy.get()));
    Ok(Built { preconditioner: Box::new(SinglePrecision { hierarchy, matrix }), levels })
}

/// The system with a matrix in f32.
fn rounded<'a>(system: System<'a, f64>, matrix: &'a Bsr<f32>) -> System<'a, f32> {
    let System { positions, near_kernel, links, cancel, .. } = system;
    System { positions, near_kernel, links, cancel, ..System::from(matrix) }
}

/// A hierarchy in f32, and the matrix to which updates are rounded.
struct SinglePrecision<C: Coarsening<f32>> {
    hierarchy: Narrow<Hierarchy<f32, Cpu<f32>, C>>,
    matrix: Bsr<f32>,
}

impl<V: Real, C: Coarsening<f32>> Preconditioner<Vec<V>> for SinglePrecision<C> {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        self.hierarchy.apply(r, z);
    }

    fn class(&self) -> Class {
        Preconditioner::<Vec<V>>::class(&self.hierarchy)
    }

    fn size(&self) -> Option<usize> {
        Preconditioner::<Vec<V>>::size(&self.hierarchy)
    }
}

impl<C: Coarsening<f32>> Update<f64> for SinglePrecision<C> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        let whole = system.whole()?;
        match self.matrix.pattern() == whole.pattern() && self.matrix.block() == whole.block() {
            true => coarsen_core::parallel::map(whole.values(), self.matrix.values_mut(), |v| *v as f32),
            false => self.matrix = whole.to::<f32>(),
        }
        self.hierarchy
            .get_mut()
            .update_from(rounded(System { matrix: &whole, contact: None, ..system }, &self.matrix))
    }
}
