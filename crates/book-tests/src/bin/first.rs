//! The program of the tutorial "From a file to an answer".
//!
//! `coarsen generate elasticity3d:12 --out cube`, then `cargo run -p coarsen-book --bin first -- cube`.

// ANCHOR: head
use std::error::Error;
use std::io::Write;
use std::path::Path;

use coarsen::diagnose::diagnose;
use coarsen::prelude::*;
use coarsen::sparse::Zeros;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("expected the folder of A.mtx, b.mtx and coordinates.mtx")?;
    run(Path::new(&folder), &mut std::io::stdout())
}

fn run(folder: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // ANCHOR_END: head
    // ANCHOR: read
    let scalars = matrix_market::read_system(folder.join("A.mtx"))?;
    let b = matrix_market::read_vector(folder.join("b.mtx"))?;
    let points = matrix_market::read_dense(folder.join("coordinates.mtx"))?;
    let positions: Vec<[f64; 3]> = (0..points.rows())
        .map(|i| [0, 1, 2].map(|d| points.get(i, d)))
        .collect();
    // ANCHOR_END: read

    // ANCHOR: diagnose
    let found = diagnose(&scalars);
    write!(out, "{found}")?;
    let size = found.structure.blocking.map_or(1, |blocking| blocking.size);
    let mut a = scalars.reblock((size, size), Zeros::Keep)?;
    // ANCHOR_END: diagnose

    // ANCHOR: build
    let system = System { positions: Some(&positions), ..System::from(&a) };
    let mut m = smoothed_aggregation().build(system, &Cpu::new())?;
    writeln!(out, "{m}")?;
    // ANCHOR_END: build

    // ANCHOR: solve
    let mut cg = Cg::new(Stop::relative(1e-8));
    let mut x = vec![0.0; b.len()];
    let report = cg.solve(&a, &mut m, &b, &mut x)?.converged()?;
    writeln!(out, "{report}")?;
    matrix_market::write_vector(folder.join("x.mtx"), &x)?;
    // ANCHOR_END: solve

    // ANCHOR: step
    for step in 1..=2 {
        a.values_mut().iter_mut().for_each(|v| *v *= 0.99); // it softens
        let reused = m.update(System {
            positions: Some(&positions),
            ..System::from(&a)
        })?;
        let report = cg.solve(&a, &mut m, &b, &mut x)?.converged()?;
        writeln!(out, "step {step}, kept {reused:?}: {report}")?;
    }
    Ok(())
}
// ANCHOR_END: step

#[cfg(test)]
#[path = "../../../../tests/common/outputs.rs"]
#[rustfmt::skip] // its lines are wider
mod outputs;

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::matrix_market::{Dense, Symmetry};

    const PAGE: &str = include_str!("../../../../book/src/tutorials/first.md");

    #[test]
    fn program_prints_what_the_page_says() {
        let problem = coarsen::problems::elasticity3d(12, 1.0).unwrap();
        let folder = std::env::temp_dir()
            .join(format!("coarsen-first-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        matrix_market::write(
            folder.join("A.mtx"),
            &problem.matrix,
            Symmetry::Detect,
        )
        .unwrap();
        matrix_market::write_vector(
            folder.join("b.mtx"),
            &problem.right_hand_side(1),
        )
        .unwrap();
        let n = problem.positions.len();
        let columns =
            (0..3 * n).map(|k| problem.positions[k % n][k / n]).collect();
        let points = Dense::new(n, 3, columns).unwrap();
        matrix_market::write_dense(folder.join("coordinates.mtx"), &points)
            .unwrap();

        let mut said = Vec::new();
        // The page has the memory of a setup on two threads.
        let ended = threads(2, || {
            run(&folder, &mut said).map_err(|error| error.to_string())
        });
        let written = matrix_market::read_vector(folder.join("x.mtx"));
        std::fs::remove_dir_all(&folder).unwrap();
        ended.unwrap().unwrap();
        assert_eq!(written.unwrap().len(), 3 * n);

        let said = String::from_utf8(said).unwrap();
        let (_, page) = PAGE.split_once("## The same as a program").unwrap();
        let other = outputs::difference(&outputs::on_page(page), &said);
        assert!(other.is_none(), "the page says {other:?}:\n{said}");
        let counts = said.split("converged after ").skip(1).map(|tail| {
            let (count, _) = tail.split_once(' ').expect("a number");
            count.parse::<usize>().expect("a number of iterations")
        });
        let counts: Vec<_> = counts.collect();
        assert!(counts[1..].iter().all(|n| *n < counts[0]), "{counts:?}");
    }
}
