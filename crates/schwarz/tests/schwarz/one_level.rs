//! Invariants of one level of overlapping domains: symmetry, exactness, restriction, threads, real matrices.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused};
use coarsen_core::{Preconditioner, PreconditionerKind, Stop};
use coarsen_krylov::{Cg, Gmres};
use coarsen_matrix_market as matrix_market;
use coarsen_problems::Problem;
use coarsen_schwarz::{AdditiveSchwarz, Coarse, Coupling, Inner, Schwarz, Storage};
use coarsen_sparse::{Bsr, assembly};

use crate::common::{applied, difference, dot, problem, problems};

const INNER: [Inner; 3] = [Inner::Inverses, Inner::Sweeps { pairs: 4 }, Inner::Factors];

fn parameters(inner: Inner, overlap: usize) -> AdditiveSchwarz {
    let domain = if inner == Inner::Inverses { 16 } else { 60 };
    AdditiveSchwarz { inner, overlap, domain, storage: Storage::Double, ..AdditiveSchwarz::overlapping() }
}

#[test]
fn the_operator_is_symmetric_and_positive() {
    let all = problems();
    check_symmetry(&all, &[0, 1]);
    check_symmetry(&all[..1], &[2]); // the second layer of overlap is found like the first
}

#[test]
#[ignore = "3 s: run by .ci/full"]
fn long_the_operator_is_symmetric_and_positive() {
    check_symmetry(&problems()[1..], &[2]);
}

fn check_symmetry(problems: &[Problem], overlaps: &[usize]) {
    for p in problems {
        for (inner, &overlap) in INNER.into_iter().flat_map(|inner| overlaps.iter().map(move |k| (inner, k)))
        {
            let mut m = parameters(inner, overlap).build(p.system(), &Cpu::new()).unwrap();
            assert_eq!(m.kind(), PreconditionerKind::Symmetric);
            assert!(if overlap == 0 { m.redundancy() == 1.0 } else { m.redundancy() > 1.0 });
            let (u, v) = (noise(p.matrix.shape().0, 2), noise(p.matrix.shape().0, 3));
            let (mu, mv) = (applied(&mut m, &u), applied(&mut m, &v));
            let (uu, vv) = (dot(&u, &mu), dot(&v, &mv));
            let off = (dot(&u, &mv) - dot(&v, &mu)).abs() / (uu * vv).sqrt();
            assert!(uu > 0.0 && vv > 0.0 && off < 1e-9, "{}: {inner:?} {overlap}: {off:.1e}", p.name);
        }
    }
}

/// One domain gives A⁻¹ for all other parameters; sweeps come near A⁻¹.
#[test]
fn one_domain_is_solved_exactly() {
    let p = problem("poisson2d:7");
    let r = noise(49, 4);
    let mut exact = coarsen_direct::Direct::default().factor(&p.matrix).unwrap();
    let mut x = vec![0.0; 49];
    exact.solve(&r, &mut x).unwrap();
    for (inner, restricted) in INNER.into_iter().flat_map(|inner| [(inner, false), (inner, true)]) {
        let whole = AdditiveSchwarz { domain: 49, restricted, ..parameters(inner, 1) };
        let mut m = whole.build(p.system(), &Cpu::new()).unwrap();
        assert_eq!(m.domains(), 1);
        let off = difference(&applied(&mut m, &r), &x);
        let bound = if matches!(inner, Inner::Sweeps { .. }) { 0.7 } else { 1e-12 };
        assert!(off < bound, "{inner:?}: {off:.1e}");
    }
}

/// z = Σ_d R_dᵀ (R_d A R_dᵀ)⁻¹ R_d r is the same for all exact solvers of domains.
#[test]
fn inverses_and_factors_agree() {
    for p in problems() {
        let r = noise(p.matrix.shape().0, 5);
        for restricted in [false, true] {
            let [one, other] = [Inner::Inverses, Inner::Factors].map(|inner| {
                let parameters = AdditiveSchwarz { inner, restricted, ..parameters(Inner::Inverses, 1) };
                applied(&mut parameters.build(p.system(), &Cpu::new()).unwrap(), &r)
            });
            assert!(difference(&one, &other) < 1e-9, "{}: {:.1e}", p.name, difference(&one, &other));
        }
    }
}

#[test]
fn without_overlap_restriction_changes_nothing() {
    for p in problems() {
        let r = noise(p.matrix.shape().0, 6);
        for inner in INNER {
            let plain = parameters(inner, 0);
            let mut m = plain.build(p.system(), &Cpu::new()).unwrap();
            let restricted = AdditiveSchwarz { restricted: true, ..plain };
            let mut n = restricted.build(p.system(), &Cpu::new()).unwrap();
            assert_eq!(applied(&mut m, &r), applied(&mut n, &r));
            assert_eq!(n.kind(), PreconditionerKind::Symmetric);
        }
        // If every node has couplings, the result also equals one level of multilevel Schwarz.
        let (one, coupling) = (parameters(Inner::Inverses, 0), Coupling::Adjacency);
        let mut m = AdditiveSchwarz { coupling, ..one }.build(p.system(), &Cpu::new()).unwrap();
        let levels = Schwarz { levels: 1, coarse: Coarse::Domains, coupling, ..Schwarz::multilevel() };
        let levels = Schwarz { domain: 16, storage: Storage::Double, ..levels };
        let mut n = levels.build(p.system(), &Cpu::new()).unwrap();
        assert!(difference(&applied(&mut m, &r), &applied(&mut n, &r)) < 1e-12, "{}", p.name);
    }
}

/// Overlap saves iterations, and restriction saves more. Methods that need symmetry refuse restricted forms.
#[test]
fn overlap_saves_iterations() {
    let p = problem("poisson2d:60");
    let b = p.right_hand_side(1);
    let iterations = |overlap: usize, restricted: bool| {
        let parameters = AdditiveSchwarz { restricted, ..parameters(Inner::Factors, overlap) };
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        let (mut x, stop) = (vec![0.0; b.len()], Stop::relative(1e-8));
        let report = Gmres::new(stop).solve(&p.matrix, &mut m, &b, &mut x).unwrap().converged().unwrap();
        if restricted && overlap > 0 {
            assert!(Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x).is_err());
        }
        report.iterations
    };
    let [none, one, two] = [0, 1, 2].map(|overlap| iterations(overlap, true));
    assert!(two < one && one < none, "{none} {one} {two}");
    assert!(one < iterations(1, false));
}

#[test]
fn threads_do_not_change_bits() {
    check_threads(7);
}

#[test]
#[ignore = "3 s: run by .ci/full"]
fn long_threads_do_not_change_bits() {
    check_threads(2);
}

/// Setup and application have the bits of one thread.
fn check_threads(number: usize) {
    let p = problem("cloth:60");
    let r = noise(p.matrix.shape().0, 9);
    for (inner, restricted) in INNER.into_iter().flat_map(|inner| [(inner, false), (inner, true)]) {
        let parameters = AdditiveSchwarz { restricted, ..parameters(inner, 1) };
        let run = || applied(&mut parameters.build(p.system(), &Cpu::new()).unwrap(), &r);
        let one = coarsen_core::parallel::threads(1, run).unwrap();
        assert_eq!(one, coarsen_core::parallel::threads(number, run).unwrap(), "{inner:?}");
    }
}

#[test]
fn an_update_is_a_build() {
    let (p, stiffer) = (problem("cloth:21"), coarsen_problems::cloth(21, 0.02).unwrap());
    let r = noise(p.matrix.shape().0, 10);
    for inner in INNER {
        let parameters = AdditiveSchwarz { coupling: Coupling::Adjacency, ..parameters(inner, 1) };
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        assert_eq!(m.update(stiffer.system()).unwrap(), Reused::Structure);
        let rebuilt = applied(&mut parameters.build(stiffer.system(), &Cpu::new()).unwrap(), &r);
        assert_eq!(applied(&mut m, &r), rebuilt, "{inner:?}");
        assert_eq!(m.update(&problem("poisson2d:9").matrix).unwrap(), Reused::Nothing);
    }
}

/// Restricted domains converge on unsymmetric matrices of reservoirs and circuits.
#[test]
fn restricted_domains_converge_on_real_matrices() {
    let Some(folder) = crate::data::data() else { return };
    for (name, most) in [("orsirr_2", 60), ("add32", 40)] {
        let file = folder.join(format!("matrices/{name}.mtx.gz"));
        let a: Bsr<f64> = matrix_market::read(&file).unwrap();
        let (b, stop) = (noise(a.shape().0, 1), Stop::relative(1e-8));
        let mut m =
            AdditiveSchwarz { domain: 128, ..AdditiveSchwarz::restricted() }.build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.kind(), PreconditionerKind::Linear);
        let mut x = vec![0.0; b.len()];
        let report = Gmres::new(stop).solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap();
        println!("{name}: {} iterations, {} domains", report.iterations, m.domains());
        assert!(report.iterations < most, "{name}: {}", report.iterations);
    }
}

#[test]
fn impossible_options_are_named() {
    let text = |parameters: AdditiveSchwarz, a: &Bsr<f64>| {
        parameters.build(a, &Cpu::new()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let p = problem("elasticity3d:8");
    let large = AdditiveSchwarz { domain: 300, ..AdditiveSchwarz::overlapping() };
    assert!(text(large, &p.matrix).contains("AdditiveSchwarz::domain"));
    let none = AdditiveSchwarz { domain: 0, ..large };
    assert!(text(none, &p.matrix).contains("AdditiveSchwarz::domain"));
    let idle = AdditiveSchwarz { inner: Inner::Sweeps { pairs: 0 }, ..large };
    assert!(text(idle, &p.matrix).contains("pairs"));
    let entries = [(0, 0, 2.0), (0, 1, -1.0), (1, 1, 2.0)];
    let unsymmetric = assembly::from_triplets(2, 2, &entries).unwrap();
    assert!(text(AdditiveSchwarz::overlapping(), &unsymmetric).contains("symmetric"));
    assert_eq!(text(AdditiveSchwarz::restricted(), &unsymmetric), "");
    let singular =
        assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)]).unwrap();
    assert!(text(AdditiveSchwarz::restricted(), &singular).contains("node 0"));
    let mut tiny = problem("poisson2d:9").matrix;
    tiny.values_mut().iter_mut().for_each(|v| *v *= 1e-40);
    let inverses = AdditiveSchwarz::overlapping();
    assert!(text(inverses, &tiny).contains("f32"), "inverses would overflow: {}", text(inverses, &tiny));
    assert_eq!(text(AdditiveSchwarz { storage: Storage::Double, ..inverses }, &tiny), "");
    let mut one = problem("poisson2d:9").matrix;
    let at = one.pattern().find(5, 5).unwrap();
    one.values_mut()[at] = 1e-40;
    assert!(text(inverses, &one).contains("row 5 has 1e-40"), "{}", text(inverses, &one));
    let mut negative = problem("poisson2d:9").matrix;
    negative.values_mut().iter_mut().for_each(|v| *v = -*v);
    assert!(text(inverses, &negative).starts_with("additive schwarz"), "{}", text(inverses, &negative));
}

/// A domain larger than the matrix, or all layers of neighbours, contain all nodes; nodes without couplings share domains.
#[test]
fn domains_of_any_size() {
    let p = problem("poisson2d:7");
    let whole = AdditiveSchwarz { domain: usize::MAX, ..AdditiveSchwarz::restricted() };
    assert_eq!(whole.build(p.system(), &Cpu::new()).unwrap().domains(), 1);
    let layers = AdditiveSchwarz { domain: 7, overlap: usize::MAX, ..AdditiveSchwarz::restricted() };
    let layers = layers.build(p.system(), &Cpu::new()).unwrap();
    assert!(layers.domains() > 1 && layers.redundancy() == layers.domains() as f64);
    let entries: Vec<(u32, u32, f64)> = (0..1000).map(|i| (i, i, 2.0 + f64::from(i))).collect();
    let alone = assembly::from_triplets(1000, 1000, &entries).unwrap();
    let mut m = AdditiveSchwarz::restricted().build(&alone, &Cpu::new()).unwrap();
    assert_eq!(m.domains(), 4);
    let r: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
    assert!(difference(&applied(&mut m, &r), &[1.0; 1000]) < 1e-14);
}

/// A Lagrange multiplier has no diagonal block, and its couplings are used nevertheless.
#[test]
fn saddle_points_have_domains() {
    let mut entries: Vec<(u32, u32, f64)> = (0..40).map(|i| (i, i, 2.0)).collect();
    (0..39).for_each(|i| entries.extend([(i, i + 1, -1.0), (i + 1, i, -1.0)]));
    entries.extend([(40, 7, 1.0), (7, 40, 1.0), (40, 30, -1.0), (30, 40, -1.0), (40, 40, 0.0)]);
    let saddle = assembly::from_triplets(41, 41, &entries).unwrap();
    let mut m =
        AdditiveSchwarz { domain: 30, ..AdditiveSchwarz::restricted() }.build(&saddle, &Cpu::new()).unwrap();
    let (b, mut x) = (noise(41, 3), vec![0.0; 41]);
    let report = Gmres::new(Stop::relative(1e-10)).solve(&saddle, &mut m, &b, &mut x).unwrap();
    assert!(report.converged().unwrap().iterations < 12);
}

#[test]
fn swept_domains_have_eight_sweeps_and_no_layer() {
    let parameters = AdditiveSchwarz::swept(256);
    assert_eq!(
        (parameters.domain, parameters.overlap, parameters.inner),
        (256, 0, Inner::Sweeps { pairs: 4 })
    );
}

/// If every node is in a domain, only the pattern is compared.
#[test]
fn a_plan_serves_its_own_pattern_only() {
    let [a, other] = ["poisson2d:9", "poisson2d:10"].map(problem);
    let plan = Schwarz::multilevel().plan(a.system()).unwrap();
    assert!(plan.left_out().is_empty());
    assert!(plan.serves(a.matrix.pattern(), a.system()));
    assert!(!plan.serves(a.matrix.pattern(), other.system()));
}

/// The factor of an indefinite domain defines no inner product, even if A is symmetric. An update detects
/// such a domain too.
#[test]
fn factors_of_indefinite_domains_are_not_symmetric_preconditioners() {
    let p = coarsen_problems::poisson2d(12).unwrap();
    let mut shifted = p.matrix.clone();
    for i in 0..144 {
        let at = shifted.pattern().find(i, i).unwrap();
        shifted.values_mut()[at] -= 1.0; // above the smallest eigenvalues of a domain
    }
    let parameters =
        AdditiveSchwarz { inner: Inner::Factors, domain: 72, overlap: 0, ..AdditiveSchwarz::overlapping() };
    let mut m = parameters.build(&p.matrix, &Cpu::new()).unwrap();
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&m), PreconditionerKind::Symmetric);
    m.update(&shifted).unwrap();
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&m), PreconditionerKind::Linear);
    let built = parameters.build(&shifted, &Cpu::new()).unwrap();
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&built), PreconditionerKind::Linear);
    m.update(&p.matrix).unwrap();
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&m), PreconditionerKind::Symmetric);
}
