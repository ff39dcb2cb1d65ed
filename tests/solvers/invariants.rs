//! Properties of every preconditioner, tested on every kind of system.

use crate::common::{
    self, GENERATED, Named, applied, mixed_preconditioners, multigrids, noise, preconditioners,
    single_multigrids, single_preconditioners, systems, systems_of,
};
use coarsen::prelude::*;
use coarsen::sparse::{Contacts, Sum};
use coarsen::{PreconditionerKind, parallel};

fn dot<V: Real>(x: &[V], y: &[V]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x.as_f64() * y.as_f64()).sum()
}

fn for_each<V: Real>(methods: Vec<Named<V>>, invariant: impl FnMut(&str, &Bsr<f64>, Named<V>)) {
    for_each_of(systems(), methods, invariant);
}

fn for_each_of<V: Real>(
    systems: Vec<(String, Bsr<f64>)>,
    methods: Vec<Named<V>>,
    mut invariant: impl FnMut(&str, &Bsr<f64>, Named<V>),
) {
    for (system, a) in systems {
        for method in &methods {
            invariant(&format!("{} on {system}", method.0), &a, *method);
        }
    }
}

/// The assumptions of conjugate gradients: M⁻¹(a r + s) = a M⁻¹r + M⁻¹s, M⁻¹ is symmetric, and r·M⁻¹r > 0.
fn linear_symmetric_positive<V: Real>(methods: Vec<Named<V>>, tolerance: f64) {
    for_each(methods, |name, a, (_, build)| {
        let (n, mut m) = (a.shape().0, build(a));
        assert_eq!(m.kind(), PreconditionerKind::Symmetric, "{name}");
        assert_eq!(m.size(), Some(n), "{name}");
        let [r, s] = [1, 2].map(|seed| noise(n, seed).iter().map(|&v| V::from_f64(v)).collect::<Vec<V>>());
        let both: Vec<V> = r.iter().zip(&s).map(|(&r, &s)| V::from_f64(0.5) * r + s).collect();
        let [mr, ms, mb] = [&r, &s, &both].map(|v| applied(&mut *m, v));
        let size = dot(&mr, &mr).sqrt() + dot(&ms, &ms).sqrt();
        let off: f64 = (0..n)
            .map(|i| (mb[i].as_f64() - 0.5 * mr[i].as_f64() - ms[i].as_f64()).powi(2))
            .sum::<f64>()
            .sqrt();
        assert!(off <= tolerance * size, "{name}: linear up to {:.1e}", off / size);
        let scale = dot(&s, &s).sqrt() * dot(&mr, &mr).sqrt() + dot(&r, &r).sqrt() * dot(&ms, &ms).sqrt();
        let skew = (dot(&s, &mr) - dot(&r, &ms)).abs();
        assert!(skew <= tolerance * scale, "{name}: symmetric up to {:.1e}", skew / scale);
        assert!(dot(&r, &mr) > 0.0 && dot(&s, &ms) > 0.0, "{name}: positive");
        let fused = m.apply_dot(&r, &mut vec![V::zero(); n]);
        assert!(
            (fused.value.as_f64() - dot(&r, &mr)).abs() <= tolerance * fused.magnitude.as_f64(),
            "{name}: apply_dot"
        );
    });
}

/// Each list of preconditioners can be made, with a device and without one.
#[test]
fn lists_can_be_made() {
    let lists = [preconditioners(), multigrids(), mixed_preconditioners()].map(|list| list.len());
    let singles = [single_preconditioners(), single_multigrids()].map(|list| list.len());
    assert!(lists.iter().chain(&singles).all(|&count| count > 0), "{lists:?} {singles:?}");
}

#[test]
fn preconditioners_are_linear_symmetric_positive_in_f64() {
    linear_symmetric_positive(preconditioners(), 1e-9);
}

#[test]
fn cycles_are_linear_symmetric_positive() {
    linear_symmetric_positive(multigrids().into_iter().filter(|r| r.0 != "sa mixed").collect(), 1e-7);
    linear_symmetric_positive(multigrids().into_iter().filter(|r| r.0 == "sa mixed").collect(), 1e-3);
}

#[test]
fn preconditioners_are_linear_symmetric_positive_in_mixed_precision() {
    linear_symmetric_positive(mixed_preconditioners(), 1e-4);
}

#[test]
fn preconditioners_are_linear_symmetric_positive_in_f32() {
    linear_symmetric_positive(single_preconditioners(), 1e-3);
    linear_symmetric_positive(single_multigrids(), 1e-3);
}

/// For a block-diagonal matrix nothing is dropped, so one application solves the system (except for
/// polynomials and damping).
#[test]
fn block_diagonal_matrices_are_solved_exactly() {
    let n = 40;
    let places: Vec<(u32, u32)> = (0..n).map(|i| (i, i)).collect();
    for b in [1, 2, 3, 5] {
        let mut values = noise(n as usize * b * b, 3);
        for block in values.chunks_exact_mut(b * b) {
            for (i, j) in (0..b).flat_map(|i| (0..i).map(move |j| (i, j))) {
                block[i * b + j] = block[j * b + i];
            }
            block.iter_mut().step_by(b + 1).for_each(|d| *d += 4.0 * b as f64);
        }
        let a = assembly::from_blocks((n as usize, n as usize), (b, b), &places, &values).unwrap();
        let x = noise(n as usize * b, 4);
        let mut r = x.clone();
        a.apply(&x, &mut r);
        for (name, build) in preconditioners() {
            let exact = match name {
                "gauss-seidel" | "ic0" | "ilu0" | "l1-block-jacobi" | "mas" | "cholesky" => true,
                "jacobi" => b == 1,
                _ => continue,
            };
            let z = applied(&mut *build(&a), &r);
            let off = z.iter().zip(&x).fold(0.0_f64, |m, (z, x)| m.max((z - x).abs()));
            assert!(!exact || off < 1e-13, "{name}: off by {off:.1e} on blocks of {b}");
        }
    }
}

/// An update with new values equals a new build; an update with the same values changes no bit; a new pattern
/// causes a rebuild. Of the real systems, two: the generated ones are of every kind. Values in f32 pass through the same code,
/// so one scalar system and one of blocks suffice.
#[test]
fn update_equals_rebuild() {
    let two = || systems_of(&["poisson2d:17", "cloth:12"]);
    let small = systems_of(&[&GENERATED[..], &["bcsstk01", "nos5"]].concat());
    updates_like_a_rebuild(small, preconditioners());
    updates_like_a_rebuild(two(), mixed_preconditioners());
    updates_like_a_rebuild(two(), single_preconditioners());
}

#[test]
#[ignore = "13 s: run by .ci/full"]
fn long_update_equals_rebuild() {
    updates_like_a_rebuild(systems(), preconditioners());
    updates_like_a_rebuild(systems(), mixed_preconditioners());
    updates_like_a_rebuild(systems(), single_preconditioners());
}

fn updates_like_a_rebuild<V: Real>(systems: Vec<(String, Bsr<f64>)>, methods: Vec<Named<V>>) {
    for_each_of(systems, methods, |name, a, (_, build)| {
        let r: Vec<V> = noise(a.shape().0, 7).into_iter().map(V::from_f64).collect();
        let mut changed = a.clone();
        let shift: Vec<usize> = (0..a.pattern().rows()).map(|i| a.pattern().find(i, i).unwrap()).collect();
        let b = a.block().0;
        changed.values_mut().iter_mut().for_each(|v| *v *= 1.5);
        for k in shift {
            changed.values_mut()[k * b * b..(k + 1) * b * b]
                .iter_mut()
                .step_by(b + 1)
                .for_each(|d| *d *= 1.25);
        }
        let mut m = build(a);
        let before = applied(&mut *m, &r);
        assert_eq!(m.update_from(a.into()).unwrap(), Reused::Structure, "{name}");
        assert_eq!(applied(&mut *m, &r), before, "{name}: the same values");
        assert_eq!(m.update_from((&changed).into()).unwrap(), Reused::Structure, "{name}");
        assert_eq!(applied(&mut *m, &r), applied(&mut *build(&changed), &r), "{name}: new values");
        let other = Bsr::<f64>::identity(a.pattern().rows() + 1, b).unwrap();
        assert_eq!(m.update_from((&other).into()).unwrap(), Reused::Nothing, "{name}");
        assert_eq!(m.size(), Some(other.shape().0), "{name}");
    });
}

/// Contact passed separately from the matrix gives the same result as contact merged into it.
#[test]
fn contact_is_not_forgotten() {
    let a = common::problem("elasticity3d:4").matrix;
    let (last, stiff) = (a.pattern().rows() as u32 - 1, [1e5, 0.0, 0.0, 0.0, 2e5, 0.0, 0.0, 0.0, 3e5]);
    let less = stiff.map(|v: f64| -v);
    let places = [(0, 0), (0, last), (last, 0), (last, last)];
    let values = [stiff, less, less, stiff].concat();
    let mut contact = Contacts::new(last as usize + 1, 3).unwrap();
    contact.replace(&places, &values).unwrap();
    let sum = Sum { elastic: &a, contact: &contact };
    let (merged, r) = (sum.merge().unwrap(), noise(a.shape().0, 2));
    for (name, build) in preconditioners() {
        let expected = applied(&mut *build(&merged), &r);
        let mut m = build(&a);
        if name.starts_with("mas") {
            // Contact affects the choice of domains, which an update keeps, so only new builds agree.
            let before = applied(&mut *m, &r);
            m.update_from(System::from(&sum)).unwrap();
            assert_ne!(applied(&mut *m, &r), before, "{name}");
            continue;
        }
        m.update_from(System::from(&sum)).unwrap();
        assert_eq!(applied(&mut *m, &r), expected, "{name}");
    }
}

/// A failed update reports the position of the fault and keeps the old state usable.
#[test]
fn failed_update_keeps_the_old_state() {
    for_each(preconditioners().into_iter().chain(multigrids()).collect(), |name, a, (_, build)| {
        let r = noise(a.shape().0, 7);
        let mut m = build(a);
        let before = applied(&mut *m, &r);
        let last = a.pattern().rows() - 1;
        let (at, area) = (a.pattern().find(last, last).unwrap(), a.block().0.pow(2));
        let mut broken = a.clone();
        broken.values_mut()[at * area..(at + 1) * area].fill(f64::NAN);
        assert!(m.update_from((&broken).into()).is_err(), "{name}: NaN");
        assert_eq!(applied(&mut *m, &r), before, "{name}: after NaN");
        if ["ilu0", "l1", "overlapping factors"].iter().any(|method| name.starts_with(method)) {
            return; // these methods replace a zero diagonal or need none, so there is no failure
        }
        broken.values_mut()[at * area..(at + 1) * area].fill(0.0);
        assert!(m.update_from((&broken).into()).is_err(), "{name}: zero diagonal");
        assert_eq!(applied(&mut *m, &r), before, "{name}: after a zero diagonal");
    });
}

/// The first system is large enough for loops over vectors, and the second for products and loops over domains. Factors are
/// computed on the calling thread.
#[test]
fn threads_do_not_change_bits() {
    let selected = |name: &str| name != "cholesky" && !common::has_loops_of_another(name);
    bits_are_equal(&["poisson2d:260", "cloth:81"], &[7], selected);
}

#[test]
#[ignore = "a minute: run by .ci/full"]
fn long_threads_do_not_change_bits() {
    bits_are_equal(&["poisson2d:260", "elasticity3d:20", "cloth:81"], &[2, 7], |_| true);
}

/// Setup and application have the bits of one thread, on systems large enough for several.
fn bits_are_equal(systems: &[&str], numbers: &[usize], selected: fn(&str) -> bool) {
    for &system in systems {
        let a = common::problem(system).matrix;
        let r = noise(a.shape().0, 9);
        let mixed = if system == "cloth:81" { mixed_preconditioners() } else { vec![] };
        let all = preconditioners().into_iter().chain(multigrids()).chain(mixed);
        for (name, build) in all.filter(|(name, _)| selected(name)) {
            if name == "cholesky" && system != "cloth:81" {
                continue; // factors are computed on the calling thread; the other systems would take minutes
            }
            let run = || applied(&mut *build(&a), &r);
            let one = parallel::threads(1, run).unwrap();
            for &threads in numbers {
                let many = parallel::threads(threads, run).unwrap();
                assert_eq!(one, many, "{name} on {system} at {threads} threads");
            }
        }
    }
}

/// Concurrent callers are independent: each gets the same bits as a single caller.
#[test]
fn solves_at_once_do_not_meet() {
    let problems = ["poisson2d:120", "elasticity3d:12", "cloth:41", "anisotropic2d:260"].map(common::problem);
    let solve = |p: &coarsen::problems::Problem| {
        let b = noise(p.matrix.shape().0, 5);
        let mut x = vec![0.0; b.len()];
        let mut m = tamstorf().build(p.system(), &Cpu::mixed()).unwrap();
        let report = Cg::new(Stop::relative(1e-4)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap();
        x
    };
    let alone: Vec<_> = problems.iter().map(solve).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = problems.iter().chain(&problems).map(|p| scope.spawn(|| solve(p))).collect();
        for (k, run) in running.into_iter().enumerate() {
            assert!(run.join().unwrap() == alone[k % problems.len()], "solve {k}");
        }
    });
}
