//! Damped domains compared with their formula, the choice of a factor for the coarsest level, and patches
//! that are refused.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, SetupError, Smoother};
use coarsen_core::{Error, LinearOperator, Preconditioner};
use coarsen_direct::{Direct, Method};
use coarsen_schwarz::{Coarse, DampedDomains, Schwarz};
use coarsen_sparse::{Contacts, SparseError, Sum, System};

use crate::common::{applied, difference, exact, problem};

/// A step is x ← x + ω M (b − A x), ω = factor / ρ, with the domains M of one level of A plus contact. For
/// nodes in no domain the diagonal block is solved, with ω = 1.
#[test]
fn a_step_is_its_formula() {
    let p = problem("cloth:15");
    let mut contact = Contacts::new(225, 3).unwrap();
    let spring: Vec<f64> = (0..9).map(|k| if k % 4 == 0 { 20.0 } else { 0.0 }).collect();
    let places = [(40, 40), (40, 170), (170, 40), (170, 170)];
    let values: Vec<f64> =
        [1.0, -1.0, -1.0, 1.0].iter().flat_map(|s| spring.iter().map(move |v| s * v)).collect();
    contact.replace(&places, &values).unwrap();
    let sum = Sum { elastic: &p.matrix, contact: &contact };
    let (whole, backend) = (sum.merge().unwrap(), Cpu::new());
    let schwarz = Schwarz { coarse: Coarse::Domains, ..exact() };
    let parameters = DampedDomains { schwarz, factor: 1.3, ..DampedDomains::default() };
    let system = System { positions: Some(&p.positions), ..System::from(&sum) };
    let mut step = parameters.build(system, &backend).unwrap();
    let merged = System { positions: Some(&p.positions), ..System::from(&whole) };
    let mut domains = Schwarz { levels: 1, ..schwarz }.build(merged, &backend).unwrap();
    let omega = 1.3 / step.radius();
    assert!(step.radius() > 1.0, "domains that meet: {}", step.radius());
    let (b, x) = (noise(675, 3), noise(675, 4));
    let alone: Vec<u32> = domains.plan().left_out().to_vec();
    let damped = |z: Vec<f64>| -> Vec<f64> {
        let factor = |i: usize| if alone.contains(&(i as u32 / 3)) { 1.0 } else { omega };
        z.iter().enumerate().map(|(i, z)| factor(i) * z).collect()
    };
    assert!(!alone.is_empty());
    let expected = damped(applied(&mut domains, &b));
    assert!(difference(&applied(&mut step, &b), &expected) < 1e-13);
    let mut start = vec![f64::NAN; 675];
    step.pre_smooth(&whole, &b, &mut start);
    assert!(difference(&start, &expected) < 1e-13);
    let mut r = vec![0.0; 675];
    whole.residual(&b, &x, &mut r);
    let moved: Vec<f64> = damped(applied(&mut domains, &r)).iter().zip(&x).map(|(z, x)| x + z).collect();
    let mut relaxed = x.clone();
    step.smooth(&whole, &b, &mut relaxed);
    assert!(difference(&relaxed, &moved) < 1e-13);
    let bytes = step.domains().bytes() + 8 * whole.nnz() + 7 * 8 * 675 + 4 * 225;
    assert_eq!(step.bytes(), bytes, "domains, A, seven vectors, the domain of each node");
    step.operator().unwrap().residual(&b, &x, &mut start);
    assert!(difference(&start, &r) < 1e-13);
}

/// `Coarse::Auto` factors the first level that has at most 500 unknowns, or whose factor has at most a
/// quarter of the values of the finer inverses and needs at most 40 operations per value.
#[test]
fn a_factor_is_taken_where_it_is_small() {
    for (spec, domain) in [("poisson2d:180", 16), ("poisson3d:20", 4), ("poisson2d:40", 16)] {
        let p = problem(spec);
        let parameters = Schwarz { domain, ..Schwarz::multilevel() };
        let m = parameters.build(p.system(), &Cpu::new()).unwrap();
        let (plan, mut values) = (m.plan(), 0);
        assert!(plan.top_nodes() > 0, "{spec}");
        for level in 1..=plan.levels() {
            values += plan.offsets(level - 1).last().unwrap();
            let a = m.matrix(level).unwrap();
            let direct = Direct { method: Method::Cholesky, ..Direct::default() };
            let (_, stats) = direct.estimate(a).unwrap();
            let (nnz, flops) = (stats.nnz, stats.flops);
            let small = 4 * nnz <= values && flops <= 40.0 * values as f64;
            let takes = a.shape().0 <= 500 || small;
            assert_eq!(takes, level == plan.levels(), "{spec}, level {level}");
            if spec == "poisson2d:180" {
                assert!(a.shape().0 > 500 && flops > values as f64 + 40.0, "{flops} of {values}");
            }
        }
        assert_eq!(plan.levels() > 1, spec == "poisson3d:20", "{spec}");
    }
}

/// Values of touched rows and of contact are checked, including values outside the diagonal.
#[test]
fn a_patch_refuses_what_is_not_finite() {
    let p = problem("cloth:15");
    let mut m = Schwarz::multilevel().build(p.system(), &Cpu::new()).unwrap();
    let mut bad = p.matrix.clone();
    let k = bad.pattern().range(100).find(|&k| bad.pattern().indices()[k] > 100).unwrap();
    bad.values_mut()[9 * k + 5] = f64::NAN;
    let refused = m.patch(&bad, &[100]).unwrap_err();
    let (row, column) = (301, 3 * bad.pattern().indices()[k] as usize + 2);
    assert_eq!(refused, SetupError::Matrix(SparseError::NotFinite { row, column }));
    let (mut contact, mut values) = (Contacts::new(225, 3).unwrap(), vec![0.0; 36]);
    values[9 + 5] = f64::NAN;
    contact.replace(&[(40, 40), (40, 170), (170, 40), (170, 170)], &values).unwrap();
    let refused = m.update(&Sum { elastic: &p.matrix, contact: &contact }).unwrap_err();
    assert_eq!(refused, SetupError::Matrix(SparseError::NotFinite { row: 121, column: 512 }));
}

/// Sums overflow in the estimate of ρ for values near the end of the range.
#[test]
fn an_update_without_an_estimate_changes_nothing() {
    let p = problem("poisson2d:40");
    let parameters = DampedDomains { schwarz: exact(), ..DampedDomains::default() };
    let mut step = parameters.build(p.system(), &Cpu::new()).unwrap();
    let r = noise(1600, 3);
    let before = applied(&mut step, &r);
    let mut small = p.matrix.clone();
    small.values_mut().iter_mut().for_each(|v| *v *= 2.0_f64.powi(-1018));
    let refused = step.update(&small).unwrap_err();
    assert!(matches!(refused, SetupError::Core(Error::Parameter { .. })), "{refused}");
    assert_eq!(applied(&mut step, &r), before);
}

/// `prepare` computes all new numbers beside those in use, and `commit` exchanges them: the commit has no matrix to
/// read.
#[test]
fn a_prepared_step_is_in_use_from_the_commit_on() {
    let p = problem("cloth:15");
    let r = noise(675, 3);
    let mut stiff = p.matrix.clone();
    stiff.values_mut().iter_mut().enumerate().for_each(|(k, v)| *v *= 1.0 + 0.5 * (k / 9 % 2) as f64);
    for i in 0..225 {
        let k = stiff.pattern().find(i, i).unwrap();
        stiff.values_mut()[9 * k..9 * k + 9].iter_mut().for_each(|v| *v *= 3.0);
    }
    let parameters = DampedDomains::default();
    let [mut step, mut soft] = [&p.matrix; 2].map(|a| parameters.build(a, &Cpu::new()).unwrap());
    for (a, rebuilt) in [(&stiff, None), (&p.matrix, Some(&mut soft)), (&stiff, None)] {
        let (before, radius) = (applied(&mut step, &r), step.radius());
        step.prepare(a).unwrap();
        assert_eq!((applied(&mut step, &r), step.radius()), (before.clone(), radius));
        let empty = coarsen_sparse::Bsr::identity(0, 3).unwrap();
        step.commit(&empty).unwrap();
        let after = applied(&mut step, &r);
        assert_ne!(after, before);
        if let Some(rebuilt) = rebuilt {
            assert_eq!((after, step.radius()), (applied(rebuilt, &r), rebuilt.radius()));
        }
    }
}

/// Values that `f32` cannot hold are refused before anything is written.
#[test]
fn a_refused_update_leaves_the_step_as_it_was() {
    let p = problem("cloth:15");
    let backend = Cpu::mixed();
    let mut step = DampedDomains::default().build(p.system(), &backend).unwrap();
    let (r, mut before, mut after) = (noise(675, 3), vec![0.0; 675], vec![0.0; 675]);
    step.apply(&r, &mut before);
    let mut large = p.matrix.clone();
    large.values_mut().iter_mut().for_each(|v| *v *= 1.5);
    let last = large.nnz() - 1;
    large.values_mut()[last] = 1e300;
    let refused = step.update(&large).unwrap_err();
    assert!(matches!(refused, SetupError::Core(Error::Range { .. })), "{refused}");
    step.apply(&r, &mut after);
    assert_eq!(before, after);
}
