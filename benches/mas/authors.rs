//! Cloth at 10 ms compared with the code of the authors; packed inverses compared with memory bandwidth.

use std::hint::black_box;
use std::time::Instant;

use coarsen_backend::Cpu;
use coarsen_core::parallel::{self, Groups};
use coarsen_core::simd::{self, Kernel, Pack, Set};
use coarsen_core::{LinearOperator, Preconditioner, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_problems::cloth;
use coarsen_schwarz::{Coarse, Schwarz, Storage};

use crate::{Outcome, fastest, median};

/// Prints the times of structure, inverses and an application, the iterations and the total time.
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
            for (name, parameters) in &forms {
                parallel::threads(threads, || -> Outcome<()> {
                    let mut m = parameters.build(p.system(), &Cpu::new())?;
                    let build = fastest(3, || drop(parameters.build(p.system(), &Cpu::new())));
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

/// Prints the bandwidth of one level of domains in `f32` and `f64`, compared with a read-only inner product
/// over 256 MiB.
pub(crate) fn storage() -> Outcome<()> {
    println!("storage: one level of domains of 32 nodes on cloth; bytes of inverses alone, fastest of 40");
    println!("   n  t storage      MB     ms    GB/s  of the read bandwidth");
    let (x, y) = (vec![1.0; 1 << 24], vec![0.5; 1 << 24]);
    for (n, threads, storage) in [317, 601].into_iter().flat_map(forms) {
        let p = cloth(n, 0.01)?;
        let b = p.right_hand_side(1);
        parallel::threads(threads, || -> Outcome<()> {
            let parameters = Schwarz { levels: 1, coarse: Coarse::Domains, storage, ..Schwarz::multilevel() };
            let mut m = parameters.build(p.system(), &Cpu::new())?;
            let value = if storage == Storage::Single { 4 } else { 8 };
            let bytes = (m.plan().values() * value) as f64;
            let mut z = vec![0.0; b.len()];
            let apply = fastest(40, || m.apply(&b, &mut z));
            let dot = fastest(20, || {
                black_box(black_box(&x).dot(&y));
            });
            let (rate, read) = (bytes / apply * 1e-9, (1_u64 << 28) as f64 / dot * 1e-9);
            println!(
                "{n:>4} {threads:>2} {storage:?}{:>8.1} {:6.2} {rate:7.1} {:6.0} % of {read:.1}",
                bytes * 1e-6,
                1e3 * apply,
                100.0 * rate / read
            );
            if storage == Storage::Single {
                let full = full(m.plan().domains(0));
                println!(
                    "        the same inverses full, products alone: {:6.2} ms, {:.2} times as long",
                    1e3 * full,
                    full / apply
                );
            }
            Ok(())
        })??;
    }
    Ok(())
}

/// The combinations of threads and precisions.
fn forms(n: usize) -> [(usize, usize, Storage); 4] {
    let (single, double) = (Storage::Single, Storage::Double);
    [(n, 1, single), (n, 1, double), (n, 2, single), (n, 2, double)]
}

/// The seconds of products with `count` full 96 x 96 matrices in `f32`, stored in panels of 16 rows, without
/// gathering and scattering.
fn full(count: usize) -> f64 {
    let matrices = vec![0.01_f32; count * FULL];
    let (x, mut y) = (vec![0.5_f64; 96], vec![0.0_f64; count]);
    fastest(40, || {
        let leaf = |(m, y): (Groups<&[f32]>, &mut [f64])| simd::run(Full { m: m.0, x: &x, y });
        parallel::each((Groups(&matrices[..], FULL), &mut y[..]), 32, true, &leaf);
        black_box(&y);
    })
}

/// The number of values of a full matrix.
const FULL: usize = 96 * 96;

struct Full<'a> {
    m: &'a [f32],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl Kernel<f64> for Full<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) {
        for (m, y) in self.m.chunks_exact(FULL).zip(self.y) {
            for panel in m.chunks_exact(16 * 96) {
                let mut even = [I::Eight::zero(set); 2];
                let mut odd = [I::Eight::zero(set); 2];
                for k in 0..48 {
                    let x = [I::Eight::splat(set, self.x[2 * k]), I::Eight::splat(set, self.x[2 * k + 1])];
                    let columns = &panel[32 * k..32 * (k + 1)];
                    for half in 0..2 {
                        // SAFETY: two columns have 32 numbers, four times the lanes of a pack.
                        unsafe {
                            let (a, b) =
                                (columns.as_ptr().add(8 * half), columns.as_ptr().add(16 + 8 * half));
                            even[half] = I::Eight::load(set, a).mul_add(x[0], even[half]);
                            odd[half] = I::Eight::load(set, b).mul_add(x[1], odd[half]);
                        }
                    }
                }
                let mut sum = 0.0;
                for half in 0..2 {
                    sum += even[half].sum_first::<8>() + odd[half].sum_first::<8>();
                }
                *y += sum;
            }
        }
    }
}
