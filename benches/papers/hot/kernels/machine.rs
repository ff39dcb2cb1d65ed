//! What the machine can do: multiply-adds in registers, and reading memory.

use std::hint::black_box;

use coarsen_core::parallel;
use coarsen_core::simd::{self, Kernel, Pack, Set};

use crate::fastest;

/// The rounds of multiply-adds of a task.
const ROUNDS: usize = 1 << 20;

/// The packs that are computed at the same time, so that no multiply-add waits for another.
const PACKS: usize = 12;

/// The numbers that are read: larger than any cache.
const NUMBERS: usize = 32 << 20;

/// A chain of multiply-adds in each of some packs.
struct Chains;

impl Kernel<f64> for Chains {
    type Output = f64;

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) -> f64 {
        let by = I::Eight::splat(set, black_box(0.999));
        let mut packs = [I::Eight::splat(set, black_box(1.0)); PACKS];
        for _ in 0..ROUNDS {
            for pack in &mut packs {
                *pack = pack.mul_add(by, by);
            }
        }
        packs.iter().map(|pack| pack.sum_first::<8>()).sum()
    }
}

/// GFLOP/s of this number of threads.
pub(crate) fn multiply_adds(tasks: usize) -> f64 {
    let seconds = fastest(|| {
        parallel::each(0..tasks, 1, tasks > 1, &|range: std::ops::Range<usize>| {
            range.for_each(|_| {
                black_box(simd::run(Chains));
            });
        });
    });
    (tasks * ROUNDS * PACKS * 16) as f64 / seconds * 1e-9
}

/// GB/s of reading, by an inner product of two vectors.
pub(crate) fn bandwidth() -> f64 {
    use coarsen::Vector;
    let (x, y) = (vec![1.0; NUMBERS / 2], vec![0.5; NUMBERS / 2]);
    let seconds = fastest(|| {
        black_box(black_box(&x).dot(&y));
    });
    8.0 * NUMBERS as f64 / seconds * 1e-9
}
