//! Properties of updates: the same values give the same bits, and after an error the old state is unchanged.

use crate::common::{applied, mixed_preconditioners, noise, problem, small_sa};
use coarsen::backend::{Reference, SetupError};
use coarsen::krylov::{NullSpace, Projected};
use coarsen::multigrid::Smoothing;
use coarsen::prelude::*;
use coarsen::problems::{Options, Problem, Sequence};
use coarsen::sparse::{GalerkinPlan, Prolongation, multiply};
use coarsen::{Error, PreconditionerKind};

/// The same values change no bit; kept transfers give the explicit triple product; if nothing is kept, an
/// update equals a build.
#[test]
fn updates_do_what_they_say() {
    for (spec, filtered) in [("elasticity3d:6", false), ("cloth:21", true), ("anisotropic2d:50", true)] {
        update_says_so(spec, filtered);
    }
}

fn update_says_so(spec: &str, filtered: bool) {
    let p = problem(spec);
    let r = noise(p.matrix.shape().0, 3);
    let mut stiffer = p.matrix.clone();
    let values = stiffer.values_mut();
    values.iter_mut().for_each(|v| *v *= 3.0);
    let system = System { matrix: &stiffer, ..p.system() };
    for keep in [Keep::Transfers, Keep::Aggregates, Keep::Nothing] {
        let parameters = Multigrid { keep, ..small_sa(Cycle::V) };
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        assert!(m.levels() > 2, "{spec}");
        let mut unfiltered = parameters;
        unfiltered.coarsening.filter = false;
        let full = unfiltered.build(p.system(), &Cpu::new()).unwrap();
        assert_eq!(
            m.prolongation(0).unwrap() != full.prolongation(0).unwrap(),
            filtered,
            "{spec}: weak couplings"
        );
        let before = applied(&mut m, &r);
        m.update(p.system()).unwrap();
        assert_eq!(applied(&mut m, &r), before, "{spec}, {keep:?}: the same values");
        m.update(system).unwrap();
        let p0 = m.prolongation(0).unwrap();
        let coarse = m.matrix(1).unwrap();
        assert_triple(coarse, &stiffer, p0, &format!("{spec}, {keep:?}"));
        let after = applied(&mut m, &r);
        if keep != Keep::Transfers {
            let mut rebuilt = parameters.build(system, &Cpu::new()).unwrap();
            assert_eq!(applied(&mut rebuilt, &r), after, "{spec}, {keep:?}: the same aggregates as a build");
        }
    }
}

/// A_c = Pᵀ A P: bit for bit the result of a new plan, and up to round-off the result of two separate
/// products. The diagonal blocks of unconstrained bodies have a shift.
fn assert_triple(coarse: &Bsr<f64>, a: &Bsr<f64>, p: &Prolongation<f64>, what: &str) {
    let p = p.matrix().unwrap();
    let planned = GalerkinPlan::new(a, p).unwrap().build(a, p).unwrap();
    let triple = multiply(&p.transpose().unwrap(), &multiply(a, p).unwrap()).unwrap();
    assert!(triple.pattern() == coarse.pattern() && planned.pattern() == coarse.pattern(), "{what}: PᵀAP");
    let largest = triple.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for i in 0..coarse.pattern().rows() {
        for (block, (planned, triple)) in coarse.row(i).zip(planned.row(i).zip(triple.row(i))) {
            assert!(block.0 == i || block == planned, "{what}: block ({i}, {})", block.0);
            let near = planned.1.iter().zip(triple.1).all(|(p, t)| (p - t).abs() <= 1e-14 * largest);
            assert!(near, "{what}: block ({i}, {}) to round-off", block.0);
        }
    }
}

/// An update rebuilds the parts that cannot be kept, or returns an error. After an error, the old cycle gives
/// the same bits as before.
#[test]
fn updates_that_do_not_fit_rebuild_or_fail_safely() {
    let p = problem("elasticity3d:6");
    let r = noise(p.matrix.shape().0, 3);
    let (mut before, mut after) = (vec![0.0; r.len()], vec![0.0; r.len()]);

    let parameters = Multigrid { keep: Keep::Aggregates, ..small_sa(Cycle::V) };
    let mut m = parameters.build(&p.matrix, &Cpu::new()).unwrap();
    m.apply(&r, &mut before);
    let more_modes = m.update(p.system()); // 3 constants are replaced by 6 rigid-body modes
    assert!(matches!(more_modes, Err(SetupError::Core(Error::Shape { expected: 3, found: 6, .. }))));
    m.apply(&r, &mut after);
    assert_eq!(before, after);

    let k = p.matrix.pattern().find(77, 77).unwrap();
    let mut negative = p.matrix.clone();
    negative.values_mut()[9 * k] *= -1.0;
    for smoothing in [parameters.smoothing, Smoothing::GaussSeidel(GaussSeidel::default()), Smoothing::Fitted]
    {
        let parameters = Multigrid { smoothing, ..small_sa(Cycle::V) };
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        m.apply(&r, &mut before);
        let system = System { matrix: &negative, ..p.system() };
        assert!(matches!(m.update(system), Err(SetupError::NotPositive { row: 231, .. })));
        assert!(matches!(
            parameters.build(system, &Cpu::new()),
            Err(SetupError::NotPositive { row: 231, .. })
        ));
        m.apply(&r, &mut after);
        assert_eq!((&before, m.kind()), (&after, PreconditionerKind::Symmetric));
    }

    // The same pattern with a different block size is a different system.
    let blocks = |b: usize| {
        let places: Vec<(u32, u32)> =
            (0..200).flat_map(|i| [(i, i), (i, (i + 1) % 200), ((i + 1) % 200, i)]).collect();
        let unit = |e: usize, v: f64| if e.is_multiple_of(b + 1) { v } else { 0.0 };
        let value = |p: &(u32, u32)| if p.0 == p.1 { 2.1 } else { -1.0 };
        let values: Vec<f64> =
            places.iter().flat_map(|p| (0..b * b).map(move |e| unit(e, value(p)))).collect();
        assembly::from_blocks((200, 200), (b, b), &places, &values).unwrap()
    };
    for keep in [Keep::Transfers, Keep::Aggregates] {
        let mut m = Multigrid { keep, ..small_sa(Cycle::V) }.build(&blocks(1), &Cpu::new()).unwrap();
        assert_eq!(m.update(&blocks(2)).unwrap(), Reused::Nothing, "{keep:?}");
        assert_eq!(m.size(), Some(400));
    }
}

/// Contact appears. A patch keeps every P and computes the coarse matrices of the new matrix; the
/// preconditioner remains effective. An update rebuilds the hierarchy.
#[test]
fn a_patch_keeps_transfers_while_couplings_come() {
    let mut s = Sequence::parse("cloth-contact:20", 4, &Options::default()).unwrap();
    for keep in [Keep::Transfers, Keep::Aggregates, Keep::Nothing] {
        let parameters = Multigrid { keep, ..small_sa(Cycle::V) };
        let mut m = parameters.build(s.system(), &Cpu::new()).unwrap();
        let before = m.prolongation(0).unwrap().clone();
        assert!(s.advance().unwrap() && !s.touched().is_empty());
        let reused = m.patch(s.system(), s.touched()).unwrap();
        if keep == Keep::Nothing {
            assert_eq!(reused, Reused::Nothing);
            continue;
        }
        assert!(matches!(reused, Reused::Rest { redone, of } if redone < of), "{reused:?}");
        assert_eq!(m.prolongation(0).unwrap(), &before);
        let whole = s.sum().merge().unwrap();
        assert_triple(m.matrix(1).unwrap(), &whole, &before, "a patch");
        let (b, mut x) = (s.right_hand_side(1), vec![0.0; whole.shape().0]);
        let report = Cg::new(Stop::relative(1e-6)).solve(&s.sum(), &mut m, &b, &mut x).unwrap();
        let first = report.converged().unwrap().iterations;
        // The new couplings stay in the pattern, and later updates follow their values.
        assert_eq!(m.update(s.system()).unwrap(), Reused::Structure);
        let after = m.prolongation(0).unwrap().clone();
        assert_eq!((after == before, after.pattern()), (keep == Keep::Transfers, before.pattern()));
        assert_triple(m.matrix(1).unwrap(), &whole, &after, "an update after a patch");
        let r = noise(b.len(), 3);
        let once = applied(&mut m, &r);
        m.update(s.system()).unwrap();
        assert_eq!(applied(&mut m, &r), once, "{keep:?}: the same values");
        x.fill(0.0);
        let again = Cg::new(Stop::relative(1e-6)).solve(&s.sum(), &mut m, &b, &mut x);
        let again = again.unwrap().converged().unwrap().iterations;
        assert!(10 * again <= 11 * first, "{keep:?}: {again} iterations after {first}");
        let outside = m.patch(s.system(), &[u32::MAX]).unwrap_err();
        assert!(matches!(outside, SetupError::Core(Error::Shape { .. })));
        assert_eq!(m.update(s.elastic()).unwrap(), Reused::Nothing);
    }
}

/// `a` with springs of the given stiffness along the third axis between nodes on opposite sides.
fn touching(a: &Bsr<f64>, stiffness: f64) -> Bsr<f64> {
    let n = a.pattern().rows() as u32;
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..n {
        for (j, block) in a.row(i as usize) {
            places.push((i, j as u32));
            values.extend_from_slice(block);
        }
    }
    for i in (5..n / 2 - 30).step_by(20) {
        let j = n - 1 - i;
        for (place, sign) in [((i, i), 1.0), ((j, j), 1.0), ((i, j), -1.0), ((j, i), -1.0)] {
            places.push(place);
            values.extend((0..9).map(|e| if e == 8 { sign * stiffness } else { 0.0 }));
        }
    }
    assembly::from_blocks((n as usize, n as usize), (3, 3), &places, &values).unwrap()
}

/// Contact adds couplings to the pattern, and an update recomputes P for the new values. Couplings that were
/// weak in the build stay weak, so that contact of zero stiffness gives the same P as no contact.
#[test]
fn weak_couplings_stay_weak_where_contact_comes() {
    let p = problem("cloth:21");
    let elastic = &p.matrix;
    let size = elastic.diagonal().iter().fold(0.0_f64, |m, &d| m.max(d));
    let (empty, whole) = (touching(elastic, 0.0), touching(elastic, 100.0 * size));
    assert!(whole.pattern().len() > elastic.pattern().len());
    let all: Vec<u32> = (0..whole.pattern().rows() as u32).collect();
    fn with<'a>(p: &'a Problem, matrix: &'a Bsr<f64>) -> System<'a, f64> {
        System { matrix, ..p.system() }
    }
    let parameters = Multigrid { keep: Keep::Aggregates, ..small_sa(Cycle::V) };
    let mut unfiltered = parameters;
    unfiltered.coarsening.filter = false;
    let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
    let before = m.prolongation(0).unwrap().clone();
    let full = unfiltered.build(p.system(), &Cpu::new()).unwrap();
    assert!(&before != full.prolongation(0).unwrap(), "nothing is weak here");

    assert!(matches!(m.patch(with(&p, &empty), &all).unwrap(), Reused::Rest { .. }));
    assert_eq!(m.update(with(&p, &empty)).unwrap(), Reused::Structure);
    let after = m.prolongation(0).unwrap();
    let largest = before.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * largest;
    assert!(after.pattern() == before.pattern() && after.values().iter().zip(before.values()).all(near));

    assert_eq!(m.update(with(&p, &whole)).unwrap(), Reused::Structure);
    assert_triple(m.matrix(1).unwrap(), &whole, m.prolongation(0).unwrap(), "stiff contact");
    let count = |m: &mut dyn Preconditioner<Vec<f64>>| {
        let (b, mut x) = (noise(whole.shape().0, 5), vec![0.0; whole.shape().0]);
        let report = Cg::new(Stop::relative(1e-8)).solve(&whole, m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    };
    let mut kept = Multigrid { keep: Keep::Transfers, ..parameters }.build(p.system(), &Cpu::new()).unwrap();
    kept.patch(with(&p, &whole), &all).unwrap();
    let [updated, as_it_was] = [count(&mut m), count(&mut kept)];
    assert!(10 * updated <= 11 * as_it_was, "{updated} iterations, {as_it_was} with the P of before");

    // Contact is removed, and the previous state is restored.
    m.patch(p.system(), &all).unwrap();
    m.update(p.system()).unwrap();
    assert!(m.prolongation(0).unwrap().values().iter().zip(before.values()).all(near));
}

/// A chain of n nodes with three unknowns: blocks 2 I on the diagonal, and `coupling` J next to it, where J
/// is the 3 x 3 matrix of ones.
fn chain(n: u32, coupling: f64) -> Bsr<f64> {
    let coupled = (0..n - 1).flat_map(|i| [(i, i + 1), (i + 1, i)]);
    let places: Vec<(u32, u32)> = (0..n).map(|i| (i, i)).chain(coupled).collect();
    let entry = |p: &(u32, u32), e: usize| match p.0 == p.1 {
        true if e.is_multiple_of(4) => 2.0,
        true => 0.0,
        false => coupling,
    };
    let values: Vec<f64> = places.iter().flat_map(|p| (0..9).map(move |e| entry(p, e))).collect();
    assembly::from_blocks((n as usize, n as usize), (3, 3), &places, &values).unwrap()
}

/// The fine diagonal blocks stay 2 I. The coarse diagonal blocks become indefinite, but their inverses keep a
/// positive diagonal. Only the estimate of the spectrum on the coarse level detects this.
#[test]
fn a_failure_on_a_coarse_level_changes_no_bit() {
    let (good, bad) = (chain(300, -0.3), chain(300, -1.2));
    let r = noise(900, 3);
    for keep in [Keep::Transfers, Keep::Aggregates] {
        let mut parameters = Multigrid { keep, ..small_sa(Cycle::V) };
        (parameters.coarsening.omega, parameters.coarsening.dominance) = (0.0, 0.0);
        parameters.coarsening.kernel_sweeps = 0;
        let mut m = parameters.build(&good, &Cpu::new()).unwrap();
        assert!(m.levels() > 2);
        m.update(&good).unwrap();
        let before = applied(&mut m, &r);
        let error = m.update(&bad).unwrap_err();
        let SetupError::Level { level: 1, cause } = error else { panic!("{keep:?}: {error}") };
        assert!(matches!(*cause, SetupError::Core(Error::Parameter { .. })), "{keep:?}: {cause}");
        assert_eq!(applied(&mut m, &r), before, "{keep:?}");
        m.update(&good).unwrap();
        assert_eq!(applied(&mut m, &r), before, "{keep:?}: the old values again");
    }
}

/// Values beyond the range of f32: in A itself, or in the inverses of its diagonal blocks, which are stored
/// after A.
#[test]
fn values_that_storage_cannot_hold_change_no_bit() {
    let smoothings = [small_sa(Cycle::V).smoothing, Smoothing::GaussSeidel(GaussSeidel::default())];
    let p = problem("elasticity3d:6");
    let r = noise(p.matrix.shape().0, 3);
    let scaled = |power: i32| {
        let mut a = p.matrix.clone();
        a.values_mut().iter_mut().for_each(|v| *v *= 2.0_f64.powi(power));
        a
    };
    for power in [150, -150] {
        let a = scaled(power);
        for smoothing in smoothings {
            for keep in [Keep::Transfers, Keep::Aggregates, Keep::Nothing] {
                let parameters = Multigrid { smoothing, keep, ..small_sa(Cycle::V) };
                let mut m = parameters.build(p.system(), &Cpu::mixed()).unwrap();
                let before = applied(&mut m, &r);
                let error = m.update(System { matrix: &a, ..p.system() }).unwrap_err();
                assert!(matches!(error, SetupError::Core(Error::Range { .. })), "{power} {keep:?}: {error}");
                assert_eq!(applied(&mut m, &r), before, "{power} {keep:?}");
            }
        }
        // Excluded: domains and factors choose their own precision, and damped Jacobi stores different values, which may
        // fit f32.
        let own = ["cholesky", "overlapping", "mas"];
        let of_the_backend =
            |name: &str| !name.ends_with("jacobi") && !own.iter().any(|own| name.starts_with(own));
        for (name, build) in mixed_preconditioners().into_iter().filter(|r| of_the_backend(r.0)) {
            let mut m = build(&p.matrix);
            let before = applied(&mut *m, &r);
            let error = m.update_from((&a).into()).expect_err(name);
            assert!(matches!(error, SetupError::Core(Error::Range { .. })), "{name} {power}: {error}");
            assert_eq!(applied(&mut *m, &r), before, "{name} {power}");
        }
    }
}

/// A Laplacian that is fixed at one node, then free, then fixed again: the coarse solve changes from a factor
/// to a deflated one and back.
#[test]
fn coarsest_solve_changes_when_the_matrix_becomes_singular() {
    let n = 1000_u32;
    let laplacian = |held: f64| {
        let edges =
            (0..n - 1).flat_map(|i| [(i, i, 1.0), (i + 1, i + 1, 1.0), (i, i + 1, -1.0), (i + 1, i, -1.0)]);
        let entries: Vec<_> = edges.chain([(n / 2, n / 2, held)]).collect();
        assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
    };
    let (held, free) = (laplacian(1.0), laplacian(0.0));
    let mut b = vec![0.0; n as usize];
    free.apply(&noise(b.len(), 3), &mut b);
    let bottom_alone = Multigrid { levels: 1, ..small_sa(Cycle::V) };
    let kept_aggregates = Multigrid { keep: Keep::Aggregates, ..small_sa(Cycle::V) };
    for parameters in [bottom_alone, kept_aggregates] {
        let mut m = parameters.build(&held, &Cpu::new()).unwrap();
        let before = applied(&mut m, &b);
        assert!(m.to_string().contains(" a factor"), "{m}");
        for _ in 0..2 {
            m.update(&free).unwrap_or_else(|e| panic!("{e}"));
            assert!(m.to_string().contains("a deflated factor"), "{m}");
            let mut rebuilt = parameters.build(&free, &Cpu::new()).unwrap();
            assert!(rebuilt.to_string().contains("a deflated factor"));
            let mut cg = Projected::new(Cg::new(Stop::relative(1e-8)), NullSpace::constants(&b).unwrap());
            let [count, as_built] = [&mut m, &mut rebuilt].map(|m| {
                let mut x = vec![0.0; b.len()];
                cg.solve(&free, m, &b, &mut x).unwrap().converged().unwrap().iterations
            });
            assert!(count <= as_built + 2, "{count}, built {as_built}");
        }
        m.update(&held).unwrap();
        assert!(m.to_string().contains(" a factor"), "{m}");
        assert_eq!(applied(&mut m, &b), before);
    }
}

/// For an unsymmetric matrix no level uses half storage, after a build and after an update: the cycles equal
/// cycles of plain loops over whole rows.
#[test]
fn halves_never_stand_for_unsymmetric_blocks() {
    let a = problem("elasticity3d:7").matrix;
    let mut wind = a.clone();
    let pattern = a.pattern().clone();
    for i in 0..pattern.rows() {
        for k in pattern.range(i).filter(|&k| pattern.indices()[k] as usize > i) {
            wind.values_mut()[9 * k..9 * (k + 1)].iter_mut().for_each(|v| *v *= 0.7);
        }
    }
    let r = noise(a.shape().0, 1);
    let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
    for keep in [Keep::Transfers, Keep::Aggregates] {
        let parameters = Multigrid { smoothing, keep, ..small_sa(Cycle::V) };
        let mut here = parameters.build(&a, &Cpu::new()).unwrap();
        let mut plain = parameters.build(&a, &Reference::default()).unwrap();
        assert!(here.levels() >= 3);
        for system in [&a, &wind, &a] {
            here.update(system).unwrap();
            plain.update(system).unwrap();
            assert_eq!(here.kind() == PreconditionerKind::Symmetric, std::ptr::eq(system, &a));
            let (mut z, mut expected) = (r.clone(), r.clone());
            here.apply(&r, &mut z);
            plain.apply(&r, &mut expected);
            let size = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert!(z.iter().zip(&expected).all(|(z, e)| (z - e).abs() <= 1e-9 * size), "{keep:?}");
        }
        let rebuilt = parameters.build(&wind, &Cpu::new()).map(|m| m.kind());
        assert_eq!(rebuilt.unwrap(), PreconditionerKind::Linear);
    }
}
