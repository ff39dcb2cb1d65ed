//! kryst: conjugate gradients with the preconditioner named on the command line.

use std::sync::Arc;

use kryst::context::ksp_context::{KspContext, SolverType};
use kryst::matrix::sparse::CsrMatrix;
use peers::{System, arguments};

fn main() {
    let (folder, preconditioner) = arguments();
    let system = System::read(&folder);
    let (n, starts, columns) = (system.n, system.starts.clone(), system.columns.clone());
    let a = Arc::new(CsrMatrix::from_csr(n, n, starts, columns, system.values.clone()));
    system.measure(
        || {
            let mut ksp = KspContext::new();
            ksp.set_type(SolverType::Cg).expect("CG").set_tolerances(1e-8, 0.0, 1e6, 10_000);
            ksp.set_pc_type_from_str(&preconditioner)
                .expect("a preconditioner")
                .set_operators(a.clone(), None);
            ksp.setup().expect("the setup");
            ksp
        },
        |mut ksp| {
            let mut x = vec![0.0; n];
            let ended = ksp.solve(&system.rhs, &mut x).expect("the solve");
            (x, ended.iterations)
        },
    );
}
