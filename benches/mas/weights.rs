//! Weights of the levels: ones, or weights that minimise the energy.

use std::path::Path;
use std::time::Instant;

use coarsen_backend::Cpu;
use coarsen_core::{Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_problems::{Problem, cloth, garment};
use coarsen_schwarz::{Coarse, Schwarz, Weights};

use crate::Outcome;
use crate::figures::{TOLERANCE, regions};

/// Cloth, a garment and eight stiff regions; with domains on every level, and with a factor on the coarsest.
pub(crate) fn weights() -> Outcome<()> {
    println!(
        "weights: to 5e-4, 2 threads; seconds, setup included; the factors of least energy, the coarsest last"
    );
    println!("problem      form        ones   its   seconds   energy   its   seconds   factors");
    for (name, p) in problems()? {
        for (form, coarse) in [("mas", Coarse::Domains), ("mas exact", Coarse::Auto)] {
            let parameters = Schwarz { coarse, ..Schwarz::multilevel() };
            let ones = solved(&p, &parameters)?;
            let least = solved(&p, &Schwarz { weights: Weights::Energy, ..parameters })?;
            println!(
                "{name:12} {form:10} {:>11} {:9.3} {:>14} {:9.3}   {}",
                ones.0, ones.1, least.0, least.1, least.2
            );
        }
    }
    Ok(())
}

fn problems() -> Outcome<Vec<(&'static str, Problem)>> {
    let mut problems = vec![("cloth:317", cloth(317, 0.01)?)];
    if let Ok(data) = std::env::var("COARSEN_DATA") {
        let mesh = Path::new(&data).join("meshes/diffcloth_tshirt1900.obj.gz");
        problems.push(("shirt", garment(&mesh.to_string_lossy(), 3, 0.01, 0.0)?));
    }
    problems.push(("regions", regions(20)?));
    Ok(problems)
}

/// The number of iterations, the seconds, and the weights.
fn solved(p: &Problem, parameters: &Schwarz) -> Outcome<(usize, f64, String)> {
    let b = p.right_hand_side(1);
    parallel::threads(2, || {
        let begun = Instant::now();
        let mut m = parameters.build(p.system(), &Cpu::new())?;
        let mut x = vec![0.0; b.len()];
        let stop = Stop { max_iterations: 20_000, ..Stop::relative(TOLERANCE) };
        let report = Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
        let factors: Vec<String> = m.weights().iter().map(|w| format!("{w:.2}")).collect();
        Ok((report.iterations, begun.elapsed().as_secs_f64(), factors.join(" ")))
    })?
}
