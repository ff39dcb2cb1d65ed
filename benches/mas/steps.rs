//! Comparison with smoothed aggregation for several sizes (one solve, new values in each step, changing
//! contact), and comparison of the setup with a sparse Cholesky factorisation.

use std::time::Instant;

use coarsen_backend::Cpu;
use coarsen_core::{Stop, parallel};
use coarsen_direct::{Direct, Method};
use coarsen_krylov::Cg;
use coarsen_problems::cloth;
use coarsen_schwarz::Schwarz;
use coarsen_sparse::{Sum, System};

use crate::contact::{replaced, springs};
use crate::{Outcome, build, fastest};

/// Cloth at 10 ms to 5e-4 on two threads: seconds with setup, with an update, with a patch.
pub(crate) fn steps() -> Outcome<()> {
    println!(
        "steps: cloth at 10 ms to 5e-4, 2 threads; total seconds of (a) setup and solve, (b) update and solve,"
    );
    println!(
        "(c) patch of 1 % of the contacts and solve; a contact for every fifty vertices; iterations of (a) and (c)"
    );
    println!("unknowns form            (a)   its      (b)      (c)   its");
    for side in [58, 101, 201, 317, 510] {
        let p = cloth(side, 0.01)?;
        let b = p.right_hand_side(1);
        let contact = springs(&p, side, side * side / 50, 3)?;
        let (next, touched) = replaced(&p, side, side * side / 50)?;
        for method in ["block-jacobi", "mas", "mas exact", "mas sa", "sa"] {
            parallel::threads(2, || -> Outcome<()> {
                let stop = Stop { max_iterations: 20_000, ..Stop::relative(5e-4) };
                let mut cg = Cg::new(stop);
                let mut x = vec![0.0; b.len()];
                let begun = Instant::now();
                let mut m = build(method, p.system())?;
                let its = cg.solve(&p.matrix, &mut m, &b, &mut x)?.converged()?.iterations;
                let a = begun.elapsed().as_secs_f64();
                m.update_from(p.system())?;
                x.fill(0.0);
                let begun = Instant::now();
                m.update_from(p.system())?;
                let _ = cg.solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
                let new_values = begun.elapsed().as_secs_f64();
                let [first, second] = [&contact, &next].map(|contact| Sum { elastic: &p.matrix, contact });
                let system = |sum| System {
                    positions: Some(&p.positions),
                    near_kernel: Some(&p.near_kernel),
                    ..System::from(sum)
                };
                let mut m = build(method, system(&first))?;
                x.fill(0.0);
                let begun = Instant::now();
                m.patch_from(system(&second), &touched)?;
                let more = cg.solve(&second, &mut m, &b, &mut x)?.converged()?.iterations;
                let c = begun.elapsed().as_secs_f64();
                println!("{:>8} {method:12} {a:7.3} {its:>5} {new_values:8.3} {c:8.3} {more:>5}", b.len());
                Ok(())
            })??;
        }
    }
    Ok(())
}

/// Setup of multilevel Schwarz, compared with a sparse Cholesky factorisation of the same matrix.
pub(crate) fn cholesky() -> Outcome<()> {
    println!("cholesky: cloth at 10 ms; seconds of setup, 2 threads");
    println!("   n      mas  cholesky   ratio");
    for side in [101, 201, 317] {
        let p = cloth(side, 0.01)?;
        parallel::threads(2, || -> Outcome<()> {
            let mas = fastest(3, || drop(Schwarz::multilevel().build(p.system(), &Cpu::new())));
            let begun = Instant::now();
            let factor = Direct { method: Method::Cholesky, ..Direct::default() }.factor(&p.matrix)?;
            let whole = begun.elapsed().as_secs_f64();
            drop(factor);
            println!("{side:>4} {mas:8.3} {whole:9.3} {:7.1}", whole / mas);
            Ok(())
        })??;
    }
    Ok(())
}
