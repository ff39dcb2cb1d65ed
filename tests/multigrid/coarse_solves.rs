//! The coarsest level on the host and at a remote backend, rigid-body modes, patches, and reported sizes.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, Cpu, Reference, Reused, SetupError, Smoother};
use coarsen_core::{Error, Preconditioner, PreconditionerKind};
use coarsen_direct::Direct;
use coarsen_multigrid::{Cycle, Multigrid, Smoothing};
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_sparse::{Bsr, GalerkinPlan, System, assembly};

use crate::common::{SSOR, applied, back, dot, given, near, problem, solved, times};

/// The reference backend, which reports to be a remote backend.
const FAR: Reference = Reference { chunk: None, remote: true };

/// Returns the matrix of a chain of springs of different stiffness. Only `hold` fixes the chain; `skew` makes
/// the matrix unsymmetric.
fn path(n: u32, hold: f64, skew: f64, stiffness: f64) -> Bsr<f64> {
    let mut entries: Vec<_> = (0..n).map(|i| (i, i, hold)).collect();
    for i in 0..n - 1 {
        let s = stiffness * f64::from(1 + i % 3);
        entries.extend([(i, i, s), (i + 1, i + 1, s), (i, i + 1, -s * (1.0 + skew)), (i + 1, i, -s)]);
    }
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// Whether A x is r minus its mean, and x has mean zero.
fn least_squares(a: &Bsr<f64>, r: &[f64], x: &Vec<f64>) -> bool {
    let mean = r.iter().sum::<f64>() / r.len() as f64;
    let wanted: Vec<f64> = r.iter().map(|r| r - mean).collect();
    near(&times(a, x), &wanted) && x.iter().sum::<f64>().abs() < 1e-9
}

/// Updates alternate between regular and singular values of one pattern, symmetric or not. Solves are as good
/// as after a build, on the host and at a remote backend.
#[test]
fn updated_coarse_solves_are_exact() {
    let (n, parameters) = (14, given(vec![], 1));
    let r = noise(n, 3);
    let all = [
        (0.3, 0.0, 1.0),
        (0.3, 0.2, 1.0),
        (0.0, 0.0, 1.0),
        (0.0, 0.0, 2.5),
        (0.7, 0.0, 2.0),
        (0.0, 0.0, 1.0),
    ];
    let matrices = all.map(|(hold, skew, stiffness)| path(n as u32, hold, skew, stiffness));
    for first in 0..all.len() {
        let mut here = parameters.build(&matrices[first], &Cpu::new()).unwrap();
        let mut there = parameters.build(&matrices[first], &FAR).unwrap();
        for at in (first..all.len()).chain([first]) {
            let (a, (hold, skew, _)) = (&matrices[at], all[at]);
            if at > first {
                assert_eq!(here.update(a).unwrap(), Reused::Structure);
                assert_eq!(there.update(a).unwrap(), Reused::Structure);
            } else {
                here.update(a).unwrap();
                there.update(a).unwrap();
            }
            let (x, y) = (applied(&mut here, &r), applied(&mut there, &r));
            let solver = 2 * 8 * n;
            if hold == 0.0 {
                assert!(least_squares(a, &r, &x) && least_squares(a, &r, &y), "{first} and {at}");
                assert!(here.to_string().contains(" a deflated factor "), "{here}");
                assert_eq!(here.kind(), PreconditionerKind::Symmetric);
            } else {
                let expected = solved(a, &r);
                assert!(near(&x, &expected) && near(&y, &expected), "{first} and {at}");
                assert!(here.to_string().contains(" a factor "), "{here}");
                let kind =
                    if skew == 0.0 { PreconditionerKind::Symmetric } else { PreconditionerKind::Linear };
                assert_eq!(here.kind(), kind);
                if at == first {
                    let factor = Direct::default().factor(a).unwrap().stats().bytes;
                    assert_eq!(parameters.build(a, &Cpu::new()).unwrap().bytes(), factor + solver);
                }
            }
            assert_eq!(there.bytes() - here.bytes(), 8 * n * n, "the inverse on the remote backend");
        }
    }
}

/// The kind of a cycle is the kind of the finest level, whatever the coarser levels are.
#[test]
fn the_finest_matrix_decides_the_kind() {
    let parameters = Multigrid { coarse_size: 5, ..tamstorf() };
    for (skew, kind) in [(0.0, PreconditionerKind::Symmetric), (0.1, PreconditionerKind::Linear)] {
        let m = parameters.build(&path(60, 0.5, skew, 1.0), &Cpu::new()).unwrap();
        assert!(m.levels() > 2);
        assert_eq!(m.kind(), kind);
    }
}

/// A matrix on the backend updates only the hierarchy that made the plan, to that of a build.
#[test]
fn one_level_is_updated_only_by_its_own_plan() {
    let (n, r) = (14, noise(14, 4));
    let [a, other] = [path(n, 0.3, 0.0, 1.0), path(n, 0.4, 0.2, 3.0)];
    let mut m = given(vec![], 1).build(&a, &FAR).unwrap();
    let mut plan = m.numeric_plan().unwrap();
    m.update_on_device(&FAR.matrix(&other).unwrap(), &mut plan).unwrap();
    assert!(near(&applied(&mut m, &r), &solved(&other, &r)));
    let two = assembly::from_triplets(14, 2, &(0..14).map(|i| (i, i / 7, 1.0)).collect::<Vec<_>>()).unwrap();
    let (parameters, softer) = (given(vec![two], 2), path(n, 0.4, 0.0, 3.0));
    let (mut two, mut built) =
        (parameters.build(&a, &FAR).unwrap(), parameters.build(&softer, &FAR).unwrap());
    let mut plan = two.numeric_plan().unwrap();
    two.update_on_device(&FAR.matrix(&softer).unwrap(), &mut plan).unwrap();
    assert!(near(&applied(&mut two, &r), &applied(&mut built, &r)));
    let refused = m.update_on_device(&FAR.matrix(&a).unwrap(), &mut plan).unwrap_err();
    assert!(refused.to_string().contains("the numeric plan of another hierarchy"), "{refused}");
}

/// If PᵀAP w = 0, the coarse matrix is PᵀAP + S w wᵀ S / wᵀ S w with S = diag(pᵀ diag(A) p), for any number
/// of free columns of P.
#[test]
fn rigid_modes_get_a_diagonal() {
    let (n, k) = (12, 4);
    let square = |m: &dyn Fn(usize, usize) -> f64, n: usize, c: usize, block: (usize, usize)| {
        let all: Vec<_> =
            (0..n * c).map(|at| ((at / c) as u32, (at % c) as u32, m(at / c, at % c))).collect();
        assembly::from_triplets_blocked(n, c, block, &all).unwrap()
    };
    for (seed, w) in
        [[1.0, -2.0, 0.0, 0.0], [0.0, 0.0, 1.5, 1.0], [0.3, 1.0, -2.0, 0.7], [0.0, 2.0, 0.0, -1.0]]
            .iter()
            .enumerate()
    {
        let (values, transfer) = (noise(n * n, seed as u64), noise(n * k, 9 + seed as u64));
        let p = square(&|i, c| transfer[i * k + c] * (1.0 + c as f64), n, k, (3, k));
        let regular = |i: usize, j: usize| {
            0.5 * (values[i * n + j] + values[j * n + i]) + if i == j { 6.0 + i as f64 } else { 0.0 }
        };
        let u = times(&p, &w.to_vec());
        let mu = times(&square(&regular, n, n, (3, 3)), &u);
        let a = square(&|i, j| regular(i, j) - mu[i] * mu[j] / dot(&u, &mu), n, n, (3, 3));
        let m = given(vec![p.clone()], 2).build(&a, &Cpu::new()).unwrap();
        let size = |c: usize| (0..n).map(|i| a.get(i, i) * p.get(i, c).powi(2)).sum::<f64>();
        let whole: f64 = (0..k).map(|c| w[c] * w[c] * size(c)).sum();
        for c in 0..k {
            let column: Vec<f64> = (0..n).map(|i| p.get(i, c)).collect();
            let products = back(&p, &times(&a, &column));
            for (d, product) in products.iter().enumerate() {
                let expected = product + size(c) * w[c] * size(d) * w[d] / whole;
                let found = m.matrix(1).unwrap().get(d, c);
                assert!(
                    (found - expected).abs() < 1e-8 * size(c).max(size(d)),
                    "{w:?}: {found} for {expected}"
                );
            }
        }
    }
    // Scalars: a diagonal that is round-off relative to P and A counts as free, in any unit of P.
    for unit in [1.0, 1e3, 1e-3] {
        let a =
            assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0 + 4e-15)])
                .unwrap();
        let p = assembly::from_triplets(2, 1, &[(0, 0, unit), (1, 0, unit)]).unwrap();
        let coarse = given(vec![p], 2).build(&a, &Cpu::new()).unwrap().matrix(1).unwrap().get(0, 0);
        assert!((coarse / (2.0 * unit * unit) - 1.0).abs() < 1e-12, "{coarse}");
    }
}

/// With new couplings on the same nodes, prolongations are kept. Another number of nodes causes a build. Rows
/// that do not exist are reported.
#[test]
fn a_patch_keeps_prolongations() {
    let a = problem("poisson2d:12").matrix;
    let parameters = Multigrid { coarse_size: 5, ..tamstorf() };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    let (levels, p) = (m.levels(), m.prolongation(0).unwrap().clone());
    let mut entries: Vec<_> =
        (0..144).flat_map(|i| a.row(i).map(move |(j, v)| (i as u32, j as u32, v[0]))).collect();
    entries.extend([(5, 5, 2.0), (5, 100, -2.0), (100, 5, -2.0), (100, 100, 2.0)]);
    let other = assembly::from_triplets(144, 144, &entries).unwrap();
    let refused = m.patch(&other, &[5, 144]).unwrap_err();
    let SetupError::Core(Error::Shape { expected: 144, found: 145, .. }) = refused else {
        panic!("{refused}")
    };
    let parts = Reused::Rest { redone: levels, of: 2 * levels - 1 };
    assert_eq!(m.patch(&other, &[5, 100]).unwrap(), parts);
    assert_eq!(m.prolongation(0).unwrap(), &p);
    let p = p.to_matrix().unwrap();
    let x = noise(p.shape().1, 3);
    assert!(near(&times(m.matrix(1).unwrap(), &x), &back(&p, &times(&other, &times(&p, &x)))));
    assert_eq!(m.patch(&a, &[5, 100]).unwrap(), parts);
    assert_eq!(m.patch(&a, &[5]).unwrap(), Reused::Structure);
    let larger = problem("poisson2d:13").matrix;
    assert_eq!(m.patch(&larger, &[5]).unwrap(), Reused::Nothing);
    assert_eq!(m.size(), Some(169));
}

/// The reported bytes and the table agree with parts that are built separately.
#[test]
fn bytes_are_those_of_the_parts() {
    let problem = problem("cloth:31");
    let a = &problem.matrix;
    let system =
        System { positions: Some(&problem.positions), near_kernel: Some(&problem.near_kernel), ..a.into() };
    for (cycle, vectors) in [(Cycle::V, 2), (Cycle::K, 5)] {
        let parameters =
            Multigrid { cycle, levels: 2, smoothing: Smoothing::GaussSeidel(SSOR), ..tamstorf() };
        let mut m = parameters.build(system, &Cpu::mixed()).unwrap();
        let (p, coarse, nodes) = (m.prolongation(0).unwrap(), m.matrix(1).unwrap(), 31 * 31);
        let (k, unknowns) = (p.block().1, coarse.shape().0);
        let kept = p.bytes() + 4 * nodes + a.pattern().len() + 8 * unknowns * k + 24 * unknowns / k;
        let mut galerkin = GalerkinPlan::new(a, p).unwrap();
        galerkin.build(a, p).unwrap();
        let products = coarse.bytes() + galerkin.bytes() + 2 * 4 * p.values().len();
        let smoother = SSOR.build(a, &Cpu::mixed()).unwrap();
        let smoothers = smoother.bytes() + 8 * (3 * nodes + vectors * unknowns);
        let bottom = Direct::default().factor(coarse).unwrap().stats().bytes + 2 * 8 * unknowns;
        let all = kept + products + smoothers + bottom;
        let given = nodes * 24 + 8 * a.shape().0 * problem.near_kernel.vectors();
        assert_eq!(m.bytes(), all + given);
        let text = m.to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let mib = |bytes: usize| format!("{:.1}", bytes as f64 / 1024.0 / 1024.0);
        let complexity = (a.nnz() + coarse.nnz()) as f64 / a.nnz() as f64;
        let title =
            format!("smoothed aggregation, {cycle:?}-cycle, 2 levels, operator complexity {complexity:.2}");
        assert_eq!(text.lines().next(), Some(&title[..]));
        let decoupled = m.aggregates(0).unwrap().iter().filter(|&&g| g == u32::MAX).count();
        let row = |l: usize, a: &Bsr<f64>| {
            let (n, nnz) = (a.shape().0, a.nnz());
            [l.to_string(), n.to_string(), nnz.to_string(), format!("{:.1}", nnz as f64 / n as f64)]
        };
        let finest =
            [&row(0, a)[..], &[decoupled, m.without_basis()].map(|v| v.to_string()), &[mib(all - bottom)]]
                .concat();
        let coarsest = [&row(1, coarse)[..], &["a", "factor"].map(String::from), &[mib(bottom)]].concat();
        assert_eq!(
            (&lines[2], &lines[3]),
            (&finest.iter().map(|s| &s[..]).collect(), &coarsest.iter().map(|s| &s[..]).collect())
        );
        let steps = [
            ("coarsening", kept),
            ("products", products),
            ("smoothers", smoothers),
            ("coarse", bottom),
            ("together", all),
        ];
        let mut seconds = 0.0;
        for (line, (step, bytes)) in lines[5..].iter().zip(steps) {
            assert_eq!((line[0], line[line.len() - 1]), (step, &mib(bytes)[..]), "{text}");
            let time: f64 = line[line.len() - 2].parse().unwrap();
            assert!(if step == "together" { (time - seconds).abs() < 0.0031 } else { time >= 0.0 }, "{text}");
            seconds += time;
        }
        assert_eq!((lines.len(), mib(products) != mib(0)), (10, true));
        // The first update allocates the workspace, and replaces the scratch memory of the product by positions.
        let (scratch, mut again) = (galerkin.bytes(), coarse.clone());
        galerkin.update(a, m.prolongation(0).unwrap(), &mut again).unwrap();
        m.update(system).unwrap();
        assert!(m.bytes() + scratch >= all + galerkin.bytes() + 8 * again.nnz());
    }
}
