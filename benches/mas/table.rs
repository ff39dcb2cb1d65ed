//! The columns of Table 1 for garments: what a linearised step costs by the model of §1,
//! C_total = N0 C0 + N1 C1 + K (C2 + C_solver).
//!
//! | symbol | here |
//! |---|---|
//! | C0, N0 | order, domains and levels; a tenth of them a step, since orders are used for ten steps (§5.3) |
//! | C1, N1 | the inverses of all domains; once a step |
//! | K, C2, C_solver | 64 iterations of a step, the preconditioner in one of them, and the rest of it |

use std::path::Path;

use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Identity, Preconditioner, Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_problems::garment;
use coarsen_schwarz::{Coarse, Coupling, Order, Schwarz};

use crate::{Outcome, median};

/// The iterations of a linearised step (Table 1).
const K: usize = 64;

/// The steps for which an order is used (§5.3).
const AGE: f64 = 10.0;

/// The number of calls of which the median counts.
const CALLS: usize = 3;

/// The garments, how often they are divided, and the numbers of the paper for its T-shirt and party dress on a graphics
/// GPU: vertices, condition number, C1, C2 and C_solver in ms.
const GARMENTS: [(&str, &str, usize, [f64; 5]); 2] = [
    ("shirt", "diffcloth_tshirt1900.obj.gz", 3, [260e3, 3.34e6, 8.292, 0.331, 0.544]),
    ("dress", "diffcloth_dress-v5k-f10k.obj.gz", 2, [76e3, 1.52e6, 2.519, 0.114, 0.143]),
];

pub(crate) fn table() -> Outcome<()> {
    let Ok(data) = std::env::var("COARSEN_DATA") else {
        println!("table: left out, COARSEN_DATA is not set");
        return Ok(());
    };
    println!(
        "| garment | form | vertices | nonzero rate | κ(A), at least | κ(M⁻¹A), at least | C0 ms | N0 | C1 ms | N1 | C2 ms | C_solver ms | a step ms | C1 | C2 | C_solver |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, file, divisions, paper) in GARMENTS {
        let mesh = Path::new(&data).join("meshes").join(file);
        let p = garment(&mesh.to_string_lossy(), divisions, 0.01, 0.0)?;
        parallel::threads(2, || rows(name, divisions, &p))??;
        let [vertices, condition, c1, c2, solver] = paper;
        let step = c1 + K as f64 * (c2 + solver);
        println!(
            "| {name}, paper | | {vertices:.0} | | {condition:.2e} | | | | {c1} | 1 | {c2} | {solver} | {step:.1} | | | |"
        );
    }
    Ok(())
}

/// The rows of a garment: domains on all levels with the couplings and the order of the paper, and the default.
fn rows(name: &str, divisions: usize, p: &coarsen_problems::Problem) -> Outcome<()> {
    let (n, b) = (p.matrix.shape().0, p.right_hand_side(1));
    let rate = 100.0 * p.matrix.nnz() as f64 / (n as f64).powi(2);
    let mut x = vec![0.0; n];
    let mut plain = Cg::new(Stop { max_iterations: 500, ..Stop::relative(1e-12) });
    let _ = plain.solve(&p.matrix, &mut Identity, &b, &mut x)?;
    let condition = |ends: Option<[f64; 2]>| ends.map_or(f64::NAN, |[low, high]| high / low);
    let of_a = condition(plain.eigenvalues());
    let as_in_the_paper = Schwarz {
        coarse: Coarse::Domains,
        coupling: Coupling::Adjacency,
        order: Order::Curve,
        ..Schwarz::multilevel()
    };
    for (form, parameters) in [("as in the paper", as_in_the_paper), ("default", Schwarz::multilevel())] {
        let mut m = parameters.build_from(p.system(), &Cpu::new())?;
        let mut failed = 0;
        let c0 = median(CALLS, || failed += usize::from(parameters.plan(p.system()).is_err()));
        let c1 = median(CALLS, || failed += usize::from(m.update(p.system()).is_err()));
        let mut z = vec![0.0; n];
        let c2 = median(5 * CALLS, || m.apply(&b, &mut z));
        let mut cg = Cg::new(Stop { max_iterations: K, check_every: K, ..Stop::relative(0.0) });
        let solve = median(CALLS, || {
            x.fill(0.0);
            failed += usize::from(cg.solve(&p.matrix, &mut m, &b, &mut x).is_err());
        });
        if failed > 0 {
            return Err(format!("{name}: {failed} calls failed").into());
        }
        let solver = (solve / K as f64 - c2).max(0.0);
        let mut long = Cg::new(Stop { max_iterations: 600, ..Stop::relative(1e-8) });
        x.fill(0.0);
        let _ = long.solve(&p.matrix, &mut m, &b, &mut x)?;
        let (n0, step) = (1.0 / AGE, c0 / AGE + c1 + solve);
        let share = |seconds: f64| 100.0 * seconds / step;
        println!(
            "| {name}@{divisions} | {form} | {} | {rate:.4} % | {of_a:.2e} | {:.0} | {:.2} | {n0} | {:.2} | 1 | {:.3} | {:.3} | {:.1} | {:.0} % | {:.0} % | {:.0} % |",
            n / 3,
            condition(long.eigenvalues()),
            1e3 * c0,
            1e3 * c1,
            1e3 * c2,
            1e3 * solver,
            1e3 * step,
            share(c1),
            share(K as f64 * c2),
            share(K as f64 * solver)
        );
    }
    Ok(())
}
