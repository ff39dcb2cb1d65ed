//! faer: a sparse Cholesky factorisation on all threads.

use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{Col, Side};
use peers::{System, arguments};

fn main() {
    let system = System::read(&arguments().0);
    // The rows of a symmetric matrix are also its columns.
    let (n, starts, columns) = (system.n, system.starts.clone(), system.columns.clone());
    let a = SparseColMat::new(
        SymbolicSparseColMat::new_checked(n, n, starts, None, columns),
        system.values.clone(),
    );
    let b = Col::from_fn(n, |i| system.rhs[i]);
    system.measure(
        || a.sp_cholesky(Side::Lower).expect("a positive definite matrix"),
        |factor| (factor.solve(&b).iter().copied().collect(), 1),
    );
}
