//! What does multilevel additive Schwarz cost, and what does it buy?
//!
//! Each figure is a table, printed; the yardstick is Wu, Wang, Wang 2022 or the code of its authors, measured on the same machine.
//!
//! ```text
//! cargo bench --bench mas -- FIGURE
//! ```
//!
//! | FIGURE | what |
//! |---|---|
//! | `authors` | structure, numbers, application and solve on cloth, beside the code of the authors |

use std::time::Instant;

use coarsen_backend::{Cpu, Setup, UpdateExt};
use coarsen_core::{LinearOperator, Preconditioner, Stop, parallel};
use coarsen_krylov::{Cg, Krylov};
use coarsen_problems::{Options, Problem};
use coarsen_schwarz::{Coarse, Schwarz};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let figures: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let asked = |name: &str| figures.is_empty() || figures.iter().any(|figure| figure == name);
    if asked("authors") {
        authors()?;
    }
    Ok(())
}

/// The least time of several calls, in seconds.
fn fastest(calls: usize, mut call: impl FnMut()) -> f64 {
    let time = |call: &mut dyn FnMut()| {
        let begun = Instant::now();
        call();
        begun.elapsed().as_secs_f64()
    };
    (0..calls).map(|_| time(&mut call)).fold(f64::INFINITY, f64::min)
}

/// The middle of several times.
fn median(calls: usize, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..calls)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[calls / 2]
}

fn authors() -> Result<(), Box<dyn std::error::Error>> {
    let forms = [
        ("mas", Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() }),
        ("mas exact", Schwarz { coarse: Coarse::Exact { unknowns: 60_000 }, ..Schwarz::multilevel() }),
        ("mas auto", Schwarz::multilevel()),
    ];
    println!("cloth at 10 ms to 1e-5, seconds; apply and product in ms");
    println!(
        "{:>4} {:>2} {:10} {:>8} {:>8} {:>8} {:>7} {:>7} {:>5} {:>7} {:>7} {:>6}",
        "", "t", "", "build", "update", "numbers", "apply", "A x", "its", "solve", "total", "MB"
    );
    for n in [317] {
        let p = Problem::parse(&format!("cloth:{n}"), &Options { dt: Some(0.01), jump: None })?;
        let b = p.right_hand_side(1);
        for threads in [1, 2] {
            for (name, recipe) in &forms {
                parallel::threads(threads, || -> Result<(), String> {
                    let on = Cpu::new();
                    let mut m = recipe.build(p.system(), &on).map_err(|e| e.to_string())?;
                    let build = fastest(3, || drop(recipe.build(p.system(), &on)));
                    let update = fastest(3, || drop(m.update(p.system())));
                    let (mut z, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                    let product = median(60, || p.matrix.apply(&b, &mut y));
                    let apply = median(60, || m.apply(&b, &mut z));
                    let mut x = vec![0.0; b.len()];
                    let begun = Instant::now();
                    let report = Cg::new(Stop::relative(1e-5))
                        .solve(&p.matrix, &mut m, &b, &mut x)
                        .map_err(|e| e.to_string())?;
                    let solve = begun.elapsed().as_secs_f64();
                    println!(
                        "{n:>4} {threads:>2} {name:10} {build:8.3} {update:8.3} {:8.3} {:7.2} {:7.2} {:>5} {solve:7.3} {:7.3} {:6.0}",
                        update,
                        1e3 * apply,
                        1e3 * product,
                        report.iterations,
                        build + solve,
                        m.bytes() as f64 * 1e-6
                    );
                    Ok(())
                })??;
            }
        }
    }
    Ok(())
}
