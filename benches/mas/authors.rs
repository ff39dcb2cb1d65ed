//! Cloth at 10 ms, beside the code of the authors; and the packed inverses against memory.

use std::hint::black_box;
use std::time::Instant;

use coarsen_backend::{Cpu, Setup, UpdateExt};
use coarsen_core::{LinearOperator, Preconditioner, Stop, Vector, parallel};
use coarsen_krylov::{Cg, Krylov};
use coarsen_problems::cloth;
use coarsen_schwarz::{Coarse, Schwarz, Storage};

use crate::{Outcome, fastest, median};

/// Structure, numbers, application, iterations and total.
pub(crate) fn authors() -> Outcome<()> {
    let forms = [
        ("mas", Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() }),
        ("mas exact", Schwarz::multilevel()),
        ("mas 16", Schwarz { domain: 16, ..Schwarz::multilevel() }),
    ];
    println!("authors: cloth at 10 ms to 1e-5; seconds, application and product with A in ms");
    println!(
        "theirs, 317, 2 threads: build 0.088, apply 6.0, 314 iterations, total 3.1; 601: 0.318, 22, 564, 20.4"
    );
    println!("   n  t form          build   update   apply     A x   its   solve   total   MB");
    for n in [317, 601] {
        let p = cloth(n, 0.01)?;
        let b = p.right_hand_side(1);
        for threads in [1, 2] {
            for (name, recipe) in &forms {
                parallel::threads(threads, || -> Outcome<()> {
                    let mut m = recipe.build(p.system(), &Cpu::new())?;
                    let build = fastest(3, || drop(recipe.build(p.system(), &Cpu::new())));
                    let update = fastest(3, || drop(m.update(p.system())));
                    let (mut z, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                    let product = median(60, || p.matrix.apply(&b, &mut y));
                    let apply = median(60, || m.apply(&b, &mut z));
                    let (mut x, begun) = (vec![0.0; b.len()], Instant::now());
                    let report =
                        Cg::new(Stop::relative(1e-5)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
                    let solve = begun.elapsed().as_secs_f64();
                    let (apply, product, its) = (1e3 * apply, 1e3 * product, report.iterations);
                    let (total, mb) = (build + solve, m.bytes() as f64 * 1e-6);
                    println!(
                        "{n:>4} {threads:>2} {name:10} {build:8.3} {update:8.3} {apply:7.2} {product:7.2} {its:>5} {solve:7.3} {total:7.3} {mb:4.0}"
                    );
                    Ok(())
                })??;
            }
        }
    }
    Ok(())
}

/// One level of domains in `f32` and `f64`, beside an inner product over as many bytes.
pub(crate) fn storage() -> Outcome<()> {
    let p = cloth(317, 0.01)?;
    let b = p.right_hand_side(1);
    println!("storage: one level of domains of 32 nodes on cloth:317; fastest of 100");
    println!(" t storage      MB     ms    GB/s  of an inner product");
    for (threads, storage) in
        [(1, Storage::Single), (1, Storage::Double), (2, Storage::Single), (2, Storage::Double)]
    {
        parallel::threads(threads, || -> Outcome<()> {
            let recipe = Schwarz { levels: 1, coarse: Coarse::Domains, storage, ..Schwarz::multilevel() };
            let mut m = recipe.build(p.system(), &Cpu::new())?;
            let value = if storage == Storage::Single { 4 } else { 8 };
            let bytes = m.plan().values() * value;
            let mut z = vec![0.0; b.len()];
            let apply = fastest(100, || m.apply(&b, &mut z));
            let (x, y) = (vec![1.0; bytes / 16], vec![0.5; bytes / 16]);
            let dot = fastest(100, || {
                black_box(black_box(&x).dot(&y));
            });
            println!(
                "{threads:>2} {storage:?}{:>8.1} {:6.2} {:7.1} {:6.0} %",
                bytes as f64 * 1e-6,
                1e3 * apply,
                bytes as f64 / apply * 1e-9,
                100.0 * dot / apply
            );
            Ok(())
        })??;
    }
    Ok(())
}
