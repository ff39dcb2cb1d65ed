//! How much do preconditioners accelerate descent methods, and how much do contrasts in stiffness slow them
//! down?
//!
//! Three benches on bodies of stable neo-Hookean tetrahedra (density 1000 kg/m³, ν = 0.4):
//!
//! - `curves`: Fig. 5 of Wu, Wang & Wang 2022. Gradient descent, accelerated gradient, L-BFGS, nonlinear CG
//!   and Newton (32 inner iterations), each with point Jacobi, block Jacobi, smoothed aggregation and
//!   multilevel Schwarz, updated every eight iterations. Draws (f − f*) / (f₀ − f*) against time, one SVG per
//!   method.
//! - `materials`: a bar whose middle is up to 10⁵ times stiffer than its ends (Wang et al. 2020, HOT). Counts
//!   iterations of L-BFGS with one multigrid cycle as preconditioner, and of Newton's method with diagonally
//!   preconditioned CG.
//! - `steps`: twenty implicit Euler steps of the stretched armadillo; compares the final states of all
//!   drivers.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench descent -- curves lbfgs            # one method, or several; all without a name
//! cargo bench -p coarsen-benches --bench descent -- materials
//! COARSEN_DATA=... cargo bench -p coarsen-benches --bench descent -- steps newton-inexact lbfgs
//! ```
//!
//! Times include assembly and setup, with all threads of the machine.

mod body;
mod curves;
#[path = "../lines.rs"]
mod lines;
mod materials;
mod steps;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let names = words.iter().skip(1).map(String::as_str).collect::<Vec<_>>();
    let asked = words.first().map(String::as_str);
    if let Err(message) = check(asked, &names) {
        eprintln!("error: {message}");
        return ExitCode::from(2);
    }
    coarsen::parallel::threads(0, || {
        if matches!(asked, None | Some("curves")) {
            curves::run(&names);
        }
        if matches!(asked, None | Some("materials")) {
            materials::run();
        }
        if matches!(asked, None | Some("steps")) {
            steps::run(&names);
        }
    })
    .expect("a pool of threads");
    ExitCode::SUCCESS
}

/// Checks that the bench exists and has methods of these names.
fn check(asked: Option<&str>, names: &[&str]) -> Result<(), String> {
    let methods: &[&str] = match asked {
        None | Some("materials") => &[],
        Some("curves") => &curves::METHODS,
        Some("steps") => &steps::METHODS,
        Some(other) => return Err(format!("there is no bench {other}; choose curves, materials or steps")),
    };
    match names.iter().find(|name| !methods.contains(name)) {
        Some(name) if methods.is_empty() => Err(format!("materials takes no method, found {name}")),
        Some(name) => Err(format!("there is no method {name}; choose one of {}", methods.join(", "))),
        None => Ok(()),
    }
}
