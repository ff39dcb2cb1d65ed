//! Solves, applications and updates allocate nothing once the factor is built.

use coarsen_core::Preconditioner;
use coarsen_direct::{Dense, Direct, Engine, Method};
use coarsen_sparse::assembly;

use crate::counting::bytes;

pub(crate) fn run() {
    for engine in [Engine::Fastest, Engine::Own] {
        nothing_is_allocated(engine);
    }
}

fn nothing_is_allocated(engine: Engine) {
    // The small matrix uses one thread; the larger one has a supernodal factor.
    for n in [10_u32, 60] {
        let at = |i: u32, j: u32| i * n + j;
        let mut entries = Vec::new();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            entries.push((at(i, j), at(i, j), 4.1));
            for (p, q) in [(i + 1, j), (i, j + 1)].into_iter().filter(|&(p, q)| p < n && q < n) {
                entries.extend([(at(i, j), at(p, q), -1.0), (at(p, q), at(i, j), -1.0)]);
            }
        }
        let size = (n * n) as usize;
        let a = assembly::from_triplets(size, size, &entries).unwrap();
        let (b, mut x) = (vec![1.0; size], vec![0.0; size]);
        for method in [Method::Cholesky, Method::Ldlt, Method::Lu] {
            let mut factor = Direct { method, engine, ..Direct::default() }.factor(&a).unwrap();
            factor.refactor(&a).unwrap();
            assert_eq!(bytes(|| factor.apply(&b, &mut x)), 0, "{engine:?} {method:?} {n} apply");
            assert_eq!(bytes(|| drop(factor.solve(&b, &mut x))), 0, "{engine:?} {method:?} {n} solve");
            assert_eq!(bytes(|| factor.refactor(&a).unwrap()), 0, "{engine:?} {method:?} {n} update");
        }
        if size < 200 {
            let mut inverse = Dense { engine, ..Dense::default() }.invert(&a).unwrap();
            assert_eq!(bytes(|| inverse.apply(&b, &mut x)), 0, "dense apply");
            assert_eq!(bytes(|| inverse.reinvert(&a).unwrap()), 0, "dense update");
        }
    }
}
