//! One error for a whole program.

use coarsen_auto::Solved;
use coarsen_backend::SetupError;
use coarsen_constraints::{ConstraintError, DirichletError};
use coarsen_core::{Error, NotConverged};
use coarsen_direct::DirectError;
#[cfg(feature = "optimize")]
use coarsen_elastic::BodyError;
use coarsen_krylov::NullSpaceError;
use coarsen_matrix_market as matrix_market;
use coarsen_mesh::MeshError;
#[cfg(feature = "optimize")]
use coarsen_optimize::{DescentError, NotMinimized};
#[cfg(feature = "gallery")]
use coarsen_problems::ProblemError;
use coarsen_sparse::SparseError;

use crate::Unavailable;

/// Any error of this library, with the message of the crate that it comes from. *Use* as the error type of
/// `main` and of functions.
///
/// It is `Send + Sync`, so it can be returned from a thread pool; `Box<dyn Error>` cannot.
///
/// ```
/// use coarsen::prelude::*;
/// fn step() -> Result<Vec<f64>, AnyError> {
///     let a = assembly::from_triplets(2, 2, &[(0, 0, 4.0), (1, 1, 2.0)])?;
///     let (b, mut x) = (vec![4.0, 4.0], vec![0.0; 2]);
///     let mut m = Jacobi::default().build(&a, &Cpu::new())?;
///     Cg::default().solve(&a, &mut m, &b, &mut x)?.converged()?;
///     Ok(x)
/// }
/// assert_eq!(threads(2, step)??, [1.0, 2.0]);
/// # Ok::<(), AnyError>(())
/// ```
#[derive(thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum AnyError {
    /// Sizes that do not match, parameters out of range, and device failures.
    Core(#[from] Error),
    /// A solve that did not reach its tolerance.
    NotConverged(#[from] NotConverged),
    /// A preconditioner that cannot be set up.
    Setup(#[from] SetupError),
    /// Arrays that are not a valid matrix.
    Sparse(#[from] SparseError),
    /// A Matrix Market file that cannot be read.
    Read(#[from] matrix_market::ReadError),
    /// A Matrix Market file that cannot be written.
    Write(#[from] matrix_market::WriteError),
    /// Prescribed values that cannot be eliminated.
    Dirichlet(#[from] DirichletError),
    /// Constraints that contradict each other or do not fit.
    Constraint(#[from] ConstraintError),
    /// A matrix that cannot be factorised.
    Direct(#[from] DirectError),
    /// Vectors that do not span a null space.
    NullSpace(#[from] NullSpaceError),
    /// A solve by `auto` that did not reach its tolerance.
    Auto(#[from] Box<Solved>),
    /// A mesh that is not valid.
    Mesh(#[from] MeshError),
    /// A mesh file that cannot be read.
    MeshFile(#[from] coarsen_mesh::ReadError),
    /// A descent that cannot continue.
    #[cfg(feature = "optimize")]
    Descent(#[from] DescentError),
    /// A descent that did not reach its tolerance.
    #[cfg(feature = "optimize")]
    NotMinimized(#[from] NotMinimized),
    /// A problem of the gallery that cannot be generated.
    #[cfg(feature = "gallery")]
    Problem(#[from] ProblemError),
    /// A body whose elements have no volume, or whose parts do not fit.
    #[cfg(feature = "optimize")]
    Body(#[from] BodyError),
    /// A contact energy or a hash that cannot be made.
    #[cfg(feature = "contact")]
    Contact(#[from] coarsen_contact::ContactError),
    /// A backend that is not available.
    Unavailable(#[from] Unavailable),
    /// A matrix of another library that cannot be converted.
    #[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
    Interop(#[from] coarsen_sparse::interop::InteropError),
    /// A device that cannot be found or used.
    #[cfg(feature = "opencl")]
    OpenCl(#[from] coarsen_opencl::OpenClError),
    /// An error of the program's own input or output.
    Io(#[from] std::io::Error),
}

/// A program's own error, in words: `Err("no node is fixed".into())`.
impl From<&str> for AnyError {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

/// As for a string slice.
impl From<String> for AnyError {
    fn from(words: String) -> Self {
        Self::Io(std::io::Error::other(words))
    }
}

coarsen_core::debug_as_display!(AnyError);

#[cfg(test)]
mod tests {
    use coarsen_core::Stop;

    use super::*;
    use crate::prelude::*;

    /// n springs between two walls.
    fn chain(n: u32) -> Bsr<f64> {
        let between = (1..n).flat_map(|i| [(i - 1, i, -1.0), (i, i - 1, -1.0)]);
        let entries: Vec<_> = (0..n).map(|i| (i, i, 2.0)).chain(between).collect();
        assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
    }

    /// An error returned from `main` is printed as a sentence.
    #[test]
    fn main_prints_sentences() {
        let entry = assembly::from_triplets(2, 2, &[(2, 0, 1.0)]).map(|_| ()).unwrap_err();
        let file = matrix_market::read("none.mtx").map(|_| ()).unwrap_err();
        let zero = assembly::from_triplets(2, 2, &[(0, 0, 1.0)]).unwrap();
        let setup = Jacobi::default().build(&zero, &Cpu::new()).map(|_| ()).unwrap_err();
        let factor = Direct::default().factor(&zero).map(|_| ()).unwrap_err();
        let (a, mut x) = (chain(81), vec![0.0; 81]);
        let mut cg: Cg = Cg::new(Stop { max_iterations: 1, ..Stop::default() });
        let short = cg.solve(&a, &mut Identity, &vec![1.0; 81], &mut x).unwrap().converged().unwrap_err();
        let shape = cg.solve(&a, &mut Identity, &vec![1.0; 80], &mut x).map(|_| ()).unwrap_err();
        let any: [AnyError; 6] =
            [entry.into(), file.into(), setup.into(), factor.into(), short.into(), shape.into()];
        for error in any {
            let (debug, display) = (format!("{error:?}"), error.to_string());
            assert_eq!(debug, display);
            assert!(display.len() > 20 && !display.contains('{'), "{display}");
        }
    }

    #[test]
    fn words_are_errors() {
        let fails = |own: bool| -> Result<(), AnyError> {
            if own { Err(format!("node {} is free", 3))? } else { Err("no node is fixed".into()) }
        };
        assert_eq!(
            [true, false].map(|own| fails(own).unwrap_err().to_string()),
            ["node 3 is free", "no node is fixed"]
        );
    }

    #[test]
    fn errors_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<AnyError>();
        let inner =
            || -> Result<(), AnyError> { Err(assembly::from_triplets(1, 1, &[(1, 0, 1.0)]).unwrap_err())? };
        assert!(matches!(threads(2, inner).unwrap(), Err(AnyError::Sparse(_))));
    }

    /// A mutable reference to a preconditioner is a preconditioner, and `Cg` needs no type parameter.
    #[test]
    fn a_borrowed_preconditioner_serves() {
        struct Sim {
            cg: Cg,
        }
        let a = chain(81);
        let mut kept = Ic0::default().build(&a, &Cpu::new()).unwrap();
        let mut sim = Sim { cg: Cg::new(Stop::relative(1e-10)) };
        let mut solve = |m: &mut dyn Preconditioner<Vec<f64>>| {
            let mut x = vec![0.0; 81];
            let report = sim.cg.solve(&a, m, &vec![1.0; 81], &mut x).unwrap().converged().unwrap();
            (report.iterations, x)
        };
        let mut borrowed = &mut kept;
        let first = solve(&mut borrowed);
        assert_eq!(first, solve(&mut kept));
    }
}
