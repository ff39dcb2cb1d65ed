//! What does a preconditioner do for a descent method, and what do stiff parts do to it?
//!
//! Three questions on bodies of stable neo-Hookean tetrahedra (density 1000 kg/m³, ν = 0.4):
//!
//! - `curves`: Fig. 5 of Wu, Wang & Wang 2022. Gradient descent, accelerated gradient, L-BFGS, nonlinear CG and Newton (32 inner
//!   iterations), each with block Jacobi, smoothed aggregation and multilevel Schwarz refreshed every eight iterations:
//!   (f − f*) / (f₀ − f*) against time, an SVG each.
//! - `materials`: a bar whose middle is up to 10⁵ times stiffer than its ends (Wang et al. 2020, HOT): iterations of L-BFGS around one
//!   multigrid cycle, and of Newton with diagonal CG.
//! - `steps`: twenty implicit Euler steps of the stretched armadillo; the end states of all drivers.
//!
//! ```text
//! cargo bench --bench descent -- curves lbfgs            # one method; all five without a name
//! cargo bench --bench descent -- materials
//! COARSEN_DATA=... cargo bench --bench descent -- steps inexact-newton lbfgs
//! ```
//!
//! Times include assembly and setup, on all threads of the machine.

mod body;
mod curves;
mod materials;
mod plot;
mod steps;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let names = words.iter().skip(1).map(String::as_str).collect::<Vec<_>>();
    let asked = words.first().map(String::as_str);
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
}
