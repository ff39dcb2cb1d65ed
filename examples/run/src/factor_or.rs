//! A factor for as long as there is one.

use coarsen::backend::{SetupError, Update};
use coarsen::descent::Built;
use coarsen::direct::{Direct, Method};
use coarsen::prelude::*;
use coarsen::schwarz::SchwarzBackend;
use coarsen::{Dot, Vector};

/// A Cholesky factor, and from the first matrix that has none, smoothed aggregation.
///
/// Contact that is 1e14 times as stiff as inertia leaves a factor no correct digit along soft directions, which conjugate
/// gradients find, or no positive pivot. The hierarchy then stays until the solver is built again, at the next checkpoint,
/// and the reason is printed.
pub(crate) struct FactorOr<B: SchwarzBackend<Real = f64>> {
    inner: Built<B::Vector>,
    is_factor: bool,
    on: B,
}

impl<B: SchwarzBackend<Real = f64>> FactorOr<B> {
    /// Factors the matrix of a system, or builds the hierarchy.
    ///
    /// # Errors
    /// Those of the backend, and of the hierarchy where there is no factor.
    pub(crate) fn build(system: System<'_, f64>, on: &B) -> Result<Self, SetupError> {
        let recipe = Direct {
            method: Method::Cholesky,
            accept: f64::INFINITY,
            trial: f64::INFINITY,
            ..Direct::default()
        };
        let (inner, is_factor): (Built<B::Vector>, _) = match recipe.build_from(system, on) {
            Ok(factor) => (Box::new(factor), true),
            Err(refused @ SetupError::Factor { .. }) => (hierarchy(system, on, &refused)?, false),
            Err(failure) => return Err(failure),
        };
        Ok(Self { inner, is_factor, on: on.clone() })
    }

    /// Follows an update of the factor that failed.
    fn or_else(
        &mut self,
        updated: Result<Reused, SetupError>,
        system: System<'_, f64>,
    ) -> Result<Reused, SetupError> {
        match updated {
            Err(refused @ SetupError::Factor { .. }) if self.is_factor => {
                (self.inner, self.is_factor) = (hierarchy(system, &self.on, &refused)?, false);
                Ok(Reused::Nothing)
            }
            other => other,
        }
    }
}

fn hierarchy<B: SchwarzBackend<Real = f64>>(
    system: System<'_, f64>,
    on: &B,
    refused: &SetupError,
) -> Result<Built<B::Vector>, SetupError> {
    eprintln!("no factor from here to the next checkpoint, but smoothed aggregation: {refused}");
    Ok(Box::new(smoothed_aggregation().build_from(system, on)?))
}

impl<B: SchwarzBackend<Real = f64>> Preconditioner<B::Vector> for FactorOr<B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.inner.apply(r, z);
    }

    fn apply_dot(&mut self, r: &B::Vector, z: &mut B::Vector) -> Dot<<B::Vector as Vector>::Scalar> {
        self.inner.apply_dot(r, z)
    }

    fn kind(&self) -> PreconditionerKind {
        self.inner.kind()
    }

    fn size(&self) -> Option<usize> {
        self.inner.size()
    }
}

impl<B: SchwarzBackend<Real = f64>> Update<f64> for FactorOr<B> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        let updated = self.inner.update_from(system);
        self.or_else(updated, system)
    }

    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        let updated = self.inner.patch_from(system, touched);
        self.or_else(updated, system)
    }
}

#[cfg(test)]
mod tests {
    use coarsen::problems::cloth;

    use super::*;

    /// An indefinite matrix with positive diagonal blocks has no Cholesky factor, but a hierarchy.
    #[test]
    fn a_hierarchy_replaces_a_factor_that_fails() {
        let p = cloth(12, 0.01).unwrap();
        let n = p.matrix.shape().0;
        let mut m = FactorOr::build(p.system(), &Cpu::new()).unwrap();
        assert!(m.is_factor);
        let (r, mut z) = (vec![1.0; n], vec![0.0; n]);
        m.apply(&r, &mut z);
        let mut left = vec![0.0; n];
        p.matrix.residual(&r, &z, &mut left);
        assert!(left.iter().all(|v| v.abs() < 1e-9), "a factor solves");
        // A spring of negative stiffness between two neighbours outweighs their inertia.
        let mut unlike = p.matrix.clone();
        let next = p.matrix.pattern().row(78).iter().find(|&&j| j > 78).unwrap();
        let (i, j) = (3 * 78, 3 * *next as usize);
        for (row, column, k) in [(i, i, -1.0), (j, j, -1.0), (i, j, 1.0), (j, i, 1.0)] {
            let at = unlike.pattern().find(row / 3, column / 3).unwrap();
            unlike.values_mut()[9 * at] += 0.9 * k * p.matrix.get(i, i);
        }
        assert!(Direct { method: Method::Cholesky, ..Direct::default() }.factor(&unlike).is_err());
        let system = System { matrix: &unlike, ..p.system() };
        assert_eq!(m.update_from(system).unwrap(), Reused::Nothing);
        assert!(!m.is_factor && !FactorOr::build(system, &Cpu::new()).unwrap().is_factor);
        m.apply(&r, &mut z);
        assert!(z.iter().all(|v| v.is_finite()));
        assert!(m.update_from(p.system()).is_ok() && !m.is_factor, "the hierarchy stays");
        let mut wild = p.matrix.clone();
        wild.values_mut()[0] = f64::NAN;
        assert!(FactorOr::build(System { matrix: &wild, ..p.system() }, &Cpu::new()).is_err());
    }
}
