//! What does multilevel additive Schwarz cost, and how many iterations does it save?
//!
//! Each figure is printed as a table. The reference is Wu, Wang, Wang 2022, or the code of its authors on the
//! same machine. Except for `authors`, solves stop at 5·10⁻⁴ of the initial residual. In `domains`,
//! `stiffness`, `growth` and `heterogeneous` the norm of the residual is its largest entry, as in §8.3. All
//! figures use as many threads as there are cores.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench mas -- FIGURE
//! ```
//!
//! | FIGURE | what | file |
//! |---|---|---|
//! | `authors` | structure, inverses, application and solve for cloth, compared with the code of the authors | `authors` |
//! | `storage` | packed inverses in `f32` and `f64`, compared with memory bandwidth (§7.1) | `authors` |
//! | `table` | the columns of Table 1 for garments, shares of a step included | `table` |
//! | `stale` | orders computed several steps ago (Fig. 9) | `stale` |
//! | `domains` | domain sizes and numbers of levels (Fig. 10) | `figures` |
//! | `stiffness` | 0.1 to 100 times the stiffness (Fig. 18) | `figures` |
//! | `growth` | mesh refinement in 2D and 3D (Fig. 19 and 20), plotted to `book/src/methods/mas_growth.svg` | `figures` |
//! | `weights` | weights of the levels: ones, or weights that minimise the energy | `weights` |
//! | `hybrid` | coarse levels above the finest domains, additive or multiplicative | `hybrid` |
//! | `shirt`, `dress` | error against iterations and time for garments (Fig. 4 and 16), plotted | `curves` |
//! | `steps` | compared with smoothed aggregation by size: one solve, new values, changed contact | `steps` |
//! | `cholesky` | setup, compared with a sparse Cholesky factorisation | `steps` |
//! | `contact` | increasing contact (Fig. 21), and patches | `contact` |
//! | `heterogeneous` | equal, random and regional stiffness (Fig. 23) | `figures` |

mod authors;
mod chart;
#[path = "../colours.rs"]
mod colours;
mod contact;
mod curves;
mod figures;
mod hybrid;
mod stale;
mod steps;
mod table;
mod weights;

use coarsen::OverDomains;
use coarsen_smoothed_aggregation::smoothed_aggregation;
use std::ops::ControlFlow;
use std::time::Instant;

use coarsen_backend::{Backend, Cpu, Prepared, Setup};
use coarsen_core::{Iteration, LinearOperator, Preconditioner, Stop, parallel};
use coarsen_krylov::{Cg, Krylov};
use coarsen_problems::Problem;
use coarsen_relax::{BlockJacobi, Ic0, Ilu0, Jacobi};
use coarsen_schwarz::{AdditiveSchwarz, Coarse, Coupling, Order, Schwarz};
use coarsen_sparse::{Bsr, System};

/// An error ends the bench.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let figures: [(&str, fn() -> Outcome<()>); 15] = [
        ("authors", authors::authors),
        ("storage", authors::storage),
        ("table", table::table),
        ("stale", stale::stale),
        ("domains", figures::domains),
        ("stiffness", figures::stiffness),
        ("growth", figures::growth),
        ("weights", weights::weights),
        ("hybrid", hybrid::hybrid),
        ("shirt", curves::shirt),
        ("dress", curves::dress),
        ("steps", steps::steps),
        ("cholesky", steps::cholesky),
        ("contact", contact::contact),
        ("heterogeneous", figures::heterogeneous),
    ];
    for (name, figure) in figures {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            figure()?;
            println!();
        }
    }
    Ok(())
}

/// A preconditioner that can be updated.
type Built = Box<dyn Prepared<Vec<f64>, f64>>;

/// The preconditioners compared.
const METHODS: [&str; 9] =
    ["jacobi", "block-jacobi", "ic0", "as", "mas", "mas exact", "mas adjacency", "mas sa", "sa"];

fn build(method: &str, system: System<'_, f64>) -> Outcome<Built> {
    let plain = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
    Ok(match method {
        "jacobi" => boxed(Jacobi::default(), system, Cpu::new())?,
        "block-jacobi" => boxed(BlockJacobi::default(), system, Cpu::new())?,
        "ilu0" => boxed(Ilu0, system, Cpu::new())?,
        "ic0" => boxed(Ic0::default(), system, Cpu::new())?,
        "as" => boxed(Schwarz { levels: 1, ..plain }, system, Cpu::new())?,
        "as overlap" => boxed(AdditiveSchwarz::overlapping(), system, Cpu::new())?,
        "as 1024" => boxed(AdditiveSchwarz::swept(1024), system, Cpu::new())?,
        "mas" => boxed(plain, system, Cpu::new())?,
        "mas strong" => boxed(Schwarz { order: Order::Strong, ..Schwarz::multilevel() }, system, Cpu::new())?,
        "mas rigid" => boxed(OverDomains::additive(), system, Cpu::mixed())?,
        "mas adjacency" => {
            let coupling = Coupling::Adjacency;
            boxed(Schwarz { coupling, ..Schwarz::multilevel() }, system, Cpu::new())?
        }
        "mas sa" => boxed(OverDomains::multiplicative(), system, Cpu::mixed())?,
        "sa" => boxed(smoothed_aggregation(), system, Cpu::mixed())?,
        _ => boxed(Schwarz::multilevel(), system, Cpu::new())?,
    })
}

fn boxed<R, B: Backend>(parameters: R, system: System<'_, f64>, backend: B) -> Outcome<Built>
where
    R: Setup<f64, B>,
    R::Built: Prepared<Vec<f64>, f64> + 'static,
{
    Ok(Box::new(parameters.build_from(system, &backend)?))
}

/// The number of iterations, and the seconds for setup and solve.
#[derive(Clone, Copy, Debug)]
struct Run {
    iterations: usize,
    setup: f64,
    solve: f64,
}

/// Builds and solves with a random right-hand side, with the largest entry of the residual as norm.
fn run(method: &str, p: &Problem, tolerance: f64) -> Outcome<Run> {
    let b = p.right_hand_side(1);
    parallel::threads(0, || {
        let begun = Instant::now();
        let mut m = build(method, p.system())?;
        let setup = begun.elapsed().as_secs_f64();
        let iterations = until(&p.matrix, &mut m, &b, tolerance)?;
        let (mut x, begun) = (vec![0.0; b.len()], Instant::now());
        let stop = Stop { max_iterations: iterations, ..Stop::relative(1e-30) };
        let _ = Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x)?;
        Ok(Run { iterations, setup, solve: begun.elapsed().as_secs_f64() })
    })?
}

/// The number of iterations until the largest entry of the residual is reduced by `tolerance`, as in §8.3. It
/// is not timed, because each iteration needs an additional product.
fn until(a: &Bsr<f64>, m: &mut dyn Preconditioner<Vec<f64>>, b: &Vec<f64>, tolerance: f64) -> Outcome<usize> {
    let largest = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let (mut x, mut r, mut reached) = (vec![0.0; b.len()], vec![0.0; b.len()], None);
    let goal = tolerance * largest(b);
    let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
        if let Some(x) = it.x {
            a.residual(b, x, &mut r);
            if largest(&r) <= goal {
                reached = Some(it.number);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let stop = Stop { max_iterations: 20_000, ..Stop::relative(1e-12) };
    let _ = Cg::new(stop).solve_with(a, m, b, &mut x, &mut monitor)?;
    Ok(reached.ok_or("not converged in 20,000 iterations")?)
}

/// The minimum time of several calls, in seconds.
fn fastest(calls: usize, mut call: impl FnMut()) -> f64 {
    (0..calls).map(|_| timed(&mut call)).fold(f64::INFINITY, f64::min)
}

/// The median time of several calls, in seconds.
fn median(calls: usize, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..calls).map(|_| timed(&mut call)).collect();
    times.sort_by(f64::total_cmp);
    times[calls / 2]
}

fn timed(call: &mut impl FnMut()) -> f64 {
    let begun = Instant::now();
    call();
    begun.elapsed().as_secs_f64()
}
