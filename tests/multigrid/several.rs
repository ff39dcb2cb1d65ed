//! Hierarchies applied to several vectors at once, which the CPU interleaves.

use std::panic::{AssertUnwindSafe, catch_unwind};

use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Cpu, Prepared};
use coarsen_core::{Preconditioner, Stop, parallel};
use coarsen_krylov::{BlockCg, Cg};
use coarsen_multigrid::{Coarsest, Cycle, F32Hierarchy, Hierarchy, JacobiCg, Multigrid, PerLevel, Smoothing};
use coarsen_relax::{BlockJacobi, Chebyshev, DampedJacobi, GaussSeidel};
use coarsen_smoothed_aggregation::{PlainAggregation, SmoothedAggregation, smoothed_aggregation};
use coarsen_sparse::{Bsr, System, assembly};

use crate::common::{path, problem};

/// A hierarchy and the size of all its arrays.
trait Measured: Prepared<Vec<f64>, f64> {
    fn bytes(&self) -> usize;
}

impl<B: Backend<Real = f64, Vector = Vec<f64>>> Measured for Hierarchy<f64, B> {
    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl Measured for F32Hierarchy {
    fn bytes(&self) -> usize {
        self.get().bytes()
    }
}

type Built = Box<dyn Measured>;

/// A ⊗ I + I ⊗ S for a Laplacian A: blocks of 2.
fn pairs(side: u32) -> Bsr<f64> {
    let a = problem(&format!("poisson2d:{side}")).matrix;
    let n = a.shape().0;
    let places: Vec<(u32, u32)> =
        (0..n).flat_map(|i| a.row(i).map(move |(j, _)| (i as u32, j as u32))).collect();
    let block = |v: f64, diagonal: bool| match diagonal {
        true => [v + 1.0, -1.0, -1.0, v + 2.0],
        false => [v, 0.0, 0.0, v],
    };
    let values: Vec<f64> =
        (0..n).flat_map(|i| a.row(i).flat_map(move |(j, v)| block(v[0], i == j))).collect();
    assembly::from_blocks((n, n), (2, 2), &places, &values).unwrap()
}

/// The Laplacian of a path with free ends: the coarsest matrix is singular.
fn free(n: u32) -> Bsr<f64> {
    let mut a = path(n);
    let last = a.nnz() - 1;
    (a.values_mut()[0], a.values_mut()[last]) = (1.0, 1.0);
    a
}

/// Hierarchies of one kind each, the share of round-off in their results, and their systems.
fn hierarchies(side: u32, cells: u32) -> Vec<(&'static str, f64, Bsr<f64>, Built)> {
    let small = Multigrid { coarse_size: 40, ..smoothed_aggregation() };
    let scalars = || problem(&format!("poisson2d:{side}")).matrix;
    let mut all: Vec<(&'static str, f64, Bsr<f64>, Built)> = Vec::new();
    let smoothings = [
        ("fitted", Smoothing::Fitted),
        ("damped jacobi", Smoothing::DampedJacobi(DampedJacobi::default())),
        ("chebyshev", Smoothing::Chebyshev(Chebyshev::default())),
        ("gauss-seidel", Smoothing::GaussSeidel(GaussSeidel { sweeps: 2, ..Default::default() })),
        ("symmetric gauss-seidel", Smoothing::SymmetricGaussSeidel(GaussSeidel::default())),
    ];
    for (name, smoothing) in smoothings {
        let p = problem(&format!("elasticity3d:{cells}"));
        let system =
            System { positions: Some(&p.positions), near_kernel: Some(&p.near_kernel), ..(&p.matrix).into() };
        let parameters = Multigrid { smoothing, ..small };
        let body = Box::new(parameters.build(system, &Cpu::mixed()).unwrap());
        let (a, twos) = (scalars(), pairs(side));
        let single = Box::new(parameters.build_f32((&a).into()).unwrap());
        all.push((name, 1e-4, a.clone(), Box::new(parameters.build(&a, &Cpu::mixed()).unwrap())));
        all.push((name, 1e-11, a.clone(), Box::new(parameters.build(&a, &Cpu::new()).unwrap())));
        all.push((name, 1e-4, a, single));
        all.push((name, 1e-11, twos.clone(), Box::new(parameters.build(&twos, &Cpu::new()).unwrap())));
        all.push((name, 1e-11, p.matrix.clone(), body));
    }
    for (name, cycle) in [("w", Cycle::W), ("f", Cycle::F), ("k", Cycle::K), ("additive", Cycle::Additive)] {
        let a = scalars();
        let m = Multigrid { cycle, ..small }.build(&a, &Cpu::new()).unwrap();
        all.push((name, 1e-11, a, Box::new(m)));
    }
    let (a, open) = (scalars(), free(500));
    let plain = Multigrid { coarse_size: 40, ..Multigrid::of(PlainAggregation::default()) }
        .smoothed_by(Smoothing::Fitted);
    all.push(("identities", 1e-11, a.clone(), Box::new(plain.build(&a, &Cpu::new()).unwrap())));
    let steps = vec![(Smoothing::DampedJacobi(DampedJacobi::default()), 2)];
    let repeated = small.smoothed_by(PerLevel { steps });
    all.push(("two steps", 1e-11, a.clone(), Box::new(repeated.build(&a, &Cpu::new()).unwrap())));
    let iterative = Multigrid { coarsest: Coarsest::Iterative(JacobiCg::default()), ..small };
    all.push(("iterative", 1e-11, a.clone(), Box::new(iterative.build(&a, &Cpu::new()).unwrap())));
    let one: Multigrid<SmoothedAggregation> = Multigrid { levels: 1, ..small };
    all.push(("one level", 1e-11, a.clone(), Box::new(one.build(&a, &Cpu::new()).unwrap())));
    all.push(("singular", 1e-9, open.clone(), Box::new(small.build(&open, &Cpu::new()).unwrap())));
    all
}

fn zeros(n: usize, k: usize) -> Vec<Vec<f64>> {
    vec![vec![f64::NAN; n]; k]
}

#[test]
fn several_vectors_have_the_results_of_single_ones() {
    for (name, tolerance, mut a, mut m) in hierarchies(20, 5) {
        let n = a.shape().0;
        let mut r: Vec<_> = (0..17).map(|j| noise(n, j + 1)).collect();
        for r in &mut r {
            let mean = r.iter().sum::<f64>() / n as f64;
            r.iter_mut().for_each(|r| *r -= mean); // in the range of a singular matrix
        }
        r[2].fill(0.0);
        r[4].iter_mut().for_each(|r| *r *= 1e20);
        for values in [1.0, 3.0] {
            a.values_mut().iter_mut().for_each(|v| *v *= values);
            m.update_from((&a).into()).unwrap();
            let mut single = zeros(n, r.len());
            r.iter().zip(&mut single).for_each(|(r, z)| m.apply(r, z));
            for k in (0..=9).chain([17]) {
                let mut many = zeros(n, k);
                m.apply_many(&r[..k], &mut many);
                for (j, (one, many)) in single.iter().zip(&many).enumerate() {
                    let size = one.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
                    let off = one.iter().zip(many).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
                    assert!(off <= tolerance * size, "{name}, {n}: {j} of {k} off by {:e}", off / size);
                }
                let mut again = vec![f64::NAN; n];
                m.apply(&r[0], &mut again);
                assert_eq!(again, single[0], "{name}: a single application after {k}");
            }
        }
    }
}

/// The vectors of a cycle over interleaved columns are kept, so it shows in the size of a hierarchy.
#[test]
fn hierarchies_interleave_columns() {
    for (name, _, a, mut m) in hierarchies(20, 5) {
        let (n, block, before) = (a.shape().0, a.block().0, m.bytes());
        let r: Vec<_> = (0..8).map(|j| noise(n, j + 1)).collect();
        m.apply_many(&r[..2], &mut zeros(n, 2));
        assert_eq!(m.bytes(), before, "{name}: two columns");
        m.apply_many(&r, &mut zeros(n, 8));
        let expected = match name {
            "gauss-seidel" | "symmetric gauss-seidel" => block > 1, // sweeps over whole rows have one column
            _ => !["k", "iterative"].contains(&name),
        };
        assert_eq!(m.bytes() > before, expected, "{name}, blocks of {block}");
        let kept = m.bytes();
        m.apply(&r[0], &mut vec![0.0; n]);
        m.apply_many(&r, &mut zeros(n, 8));
        assert_eq!(m.bytes(), kept, "{name}: a second time");
    }
}

/// The vectors of a 3D grid that was refined once have eight times the length.
#[test]
fn preconditioners_refuse_vectors_of_eight_times_the_length() {
    let (a, backend) = (pairs(4), Cpu::new());
    let relaxed: [Box<dyn Preconditioner<Vec<f64>>>; 4] = [
        Box::new(BlockJacobi::default().build(&a, &backend).unwrap()),
        Box::new(DampedJacobi::default().build(&a, &backend).unwrap()),
        Box::new(Chebyshev::default().build(&a, &backend).unwrap()),
        Box::new(GaussSeidel::default().build(&a, &backend).unwrap()),
    ];
    let refused = |m: &mut dyn Preconditioner<Vec<f64>>| {
        let n = 8 * m.size().unwrap();
        let apply = || m.apply(&vec![1.0; n], &mut vec![0.0; n]);
        assert!(catch_unwind(AssertUnwindSafe(apply)).is_err());
    };
    relaxed.into_iter().for_each(|mut m| refused(&mut m));
    hierarchies(8, 3).into_iter().for_each(|(_, _, _, mut m)| refused(&mut m));
}

#[test]
fn threads_do_not_change_bits_of_several_vectors() {
    let run = || {
        hierarchies(100, 12).into_iter().map(|(_, _, a, mut m)| {
            let n = a.shape().0;
            let r: Vec<_> = (0..8).map(|j| noise(n, j + 1)).collect();
            let mut z = zeros(n, 8);
            m.apply_many(&r, &mut z);
            z
        })
    };
    let [one, two] = [1, 2].map(|threads| parallel::threads(threads, || run().collect::<Vec<_>>()).unwrap());
    assert!(one == two);
}

#[test]
fn separate_columns_take_the_iterations_of_conjugate_gradients() {
    for (name, _, a, mut m) in hierarchies(20, 5).into_iter().filter(|of| of.0 == "fitted") {
        let n = a.shape().0;
        let b: Vec<_> = (0..9).map(|j| noise(n, j + 1)).collect();
        let mut x = vec![vec![0.0; n]; 9];
        let stop = Stop::relative(1e-8);
        let mut method = BlockCg::new(stop);
        method.shared = false;
        for (report, b) in method.solve(&a, &mut m, &b, &mut x).unwrap().iter().zip(&b) {
            let alone = Cg::new(stop).solve(&a, &mut m, b, &mut vec![0.0; n]).unwrap();
            assert!(report.outcome == alone.outcome && report.true_residual <= 1e-8, "{name}: {report}");
            assert!(report.iterations.abs_diff(alone.iterations) <= 1, "{name}: {report}, {alone}");
        }
    }
}
