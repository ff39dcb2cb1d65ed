//! The program of the tutorial "From a file to an answer".
//!
//! `coarsen generate elasticity3d:12 --out cube`, then `cargo run -p coarsen-book --bin first -- cube`.

// ANCHOR: head
use std::error::Error;
use std::path::Path;

use coarsen::diagnose::diagnose;
use coarsen::prelude::*;
use coarsen::sparse::Zeros;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("expected the folder of A.mtx, b.mtx and coordinates.mtx")?;
    run(Path::new(&folder)).map(|_| ())
}

/// Returns the iterations of every solve.
fn run(folder: &Path) -> Result<Vec<usize>, Box<dyn Error>> {
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
    print!("{found}");
    let size = found.structure.blocking.map_or(1, |blocking| blocking.size);
    let mut a = scalars.reblock((size, size), Zeros::Keep)?;
    // ANCHOR_END: diagnose

    // ANCHOR: build
    let system = System { positions: Some(&positions), ..System::from(&a) };
    let mut m = smoothed_aggregation().build(system, &Cpu::new())?;
    println!("{m}");
    // ANCHOR_END: build

    // ANCHOR: solve
    let mut cg = Cg::new(Stop::relative(1e-8));
    let mut x = vec![0.0; b.len()];
    let report = cg.solve(&a, &mut m, &b, &mut x)?.converged()?;
    println!("{report}");
    matrix_market::write_vector(folder.join("x.mtx"), &x)?;
    // ANCHOR_END: solve
    let mut iterations = vec![report.iterations];

    // ANCHOR: step
    for step in 1..=5 {
        a.values_mut().iter_mut().for_each(|v| *v *= 0.99); // the material softens
        let reused = m.update(System {
            positions: Some(&positions),
            ..System::from(&a)
        })?;
        let report = cg.solve(&a, &mut m, &b, &mut x)?.converged()?;
        println!("step {step}, kept {reused:?}: {report}");
        iterations.push(report.iterations);
    }
    // ANCHOR_END: step
    Ok(iterations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::matrix_market::{Dense, Symmetry};

    #[test]
    fn the_tutorial_works_and_the_next_steps_are_cheaper() {
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

        let iterations = run(&folder);
        let written = matrix_market::read_vector(folder.join("x.mtx"));
        std::fs::remove_dir_all(&folder).unwrap();
        let iterations = iterations.unwrap();
        assert_eq!(written.unwrap().len(), 3 * n);
        assert!(
            iterations[1..].iter().all(|&steps| steps < iterations[0]),
            "{iterations:?}"
        );

        // Compare with the page; round-off on another machine may change the count by one.
        let page = include_str!("../../../../book/src/tutorials/first.md");
        let printed: Vec<usize> = page
            .split("converged after ")
            .skip(1)
            .map(|tail| {
                tail.split(' ')
                    .next()
                    .and_then(|n| n.parse().ok())
                    .expect("a number of iterations")
            })
            .collect();
        assert_eq!(printed.len(), 3); // the first solve and two steps
        for (now, then) in iterations.iter().zip(printed) {
            assert!(
                now.abs_diff(then) <= 1,
                "{now} iterations, {then} on the page: run it and copy the output again"
            );
        }
    }
}
