//! Direct methods as preconditioners that are built and updated like any other.

use coarsen_backend::{Cpu, Hosted, Reused, SetupError};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, Real};
use coarsen_direct::{Dense, Direct, DirectError, Factor, Method};
use coarsen_sparse::{Bsr, Contacts, SparseError, System, assembly};

/// A chain of n springs of stiffness `stiff` between walls.
fn chain(n: u32, stiff: f64) -> Bsr<f64> {
    let mut entries = vec![(0, 0, stiff), (n - 1, n - 1, stiff)];
    for i in 0..n - 1 {
        entries.extend([(i, i, stiff), (i + 1, i + 1, stiff), (i, i + 1, -stiff), (i + 1, i, -stiff)]);
    }
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

fn applied<V: Real>(m: &mut impl Preconditioner<Vec<V>>, n: usize) -> Vec<V> {
    let (r, mut z) = ((0..n).map(|i| V::from_f64(1.0 + i as f64)).collect(), vec![V::nan(); n]);
    m.apply(&r, &mut z);
    z
}

/// ‖r − A z‖∞ for the r of [`applied`].
fn left<V: Real>(a: &Bsr<f64>, z: &[V]) -> f64 {
    let (z, mut az) = (z.iter().map(|v| v.as_f64()).collect::<Vec<f64>>(), vec![0.0; z.len()]);
    a.apply(&z, &mut az);
    az.iter().enumerate().fold(0.0, |m, (i, v)| m.max((1.0 + i as f64 - v).abs()))
}

#[test]
fn factors_solve_in_every_precision_of_the_backend() {
    let a = chain(20, 1.0);
    let mut double = Direct::default().build(&a, &Cpu::new()).unwrap();
    let mut mixed = Direct::default().build(&a, &Cpu::mixed()).unwrap();
    let mut single = Direct::default().build(&a, &Cpu::single()).unwrap();
    let mut dense = Dense::default().build(&a, &Cpu::new()).unwrap();
    assert!(left(&a, &applied::<f64>(&mut double, 20)) < 1e-11);
    assert_eq!(
        applied::<f64>(&mut mixed, 20),
        applied::<f64>(&mut double, 20),
        "f64 whatever a backend stores"
    );
    assert!(left(&a, &applied::<f32>(&mut single, 20)) < 1e-2);
    assert!(left(&a, &applied::<f64>(&mut dense, 20)) < 1e-10);
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&double), PreconditionerKind::Symmetric);
    // The factor itself solves with refinement and reports its method.
    let (b, mut x) = (vec![1.0; 20], vec![0.0; 20]);
    assert!(double.method_mut().solve(&b, &mut x).unwrap().relative_residual < 1e-14);
    assert_eq!(double.method().method(), Method::Cholesky);
}

#[test]
fn updates_follow_values_patterns_and_contact() {
    let (a, b) = (chain(20, 1.0), chain(20, 3.0));
    let mut m = Direct::default().build(&a, &Cpu::new()).unwrap();
    let before = applied::<f64>(&mut m, 20);
    assert_eq!(m.update(&a).unwrap(), Reused::Structure);
    assert_eq!(applied::<f64>(&mut m, 20), before);
    assert_eq!(m.update(&b).unwrap(), Reused::Structure);
    assert!(left(&b, &applied::<f64>(&mut m, 20)) < 1e-10);
    let longer = chain(31, 1.0);
    assert_eq!(m.update(&longer).unwrap(), Reused::Nothing);
    assert_eq!(m.size(), Some(31));
    assert!(left(&longer, &applied::<f64>(&mut m, 31)) < 1e-10);

    let mut contact = Contacts::new(20, 1).unwrap();
    contact.replace(&[(0, 0), (0, 19), (19, 0), (19, 19)], &[5.0, -5.0, -5.0, 5.0]).unwrap();
    let system = System { contact: Some(&contact), ..System::from(&a) };
    let whole = system.whole().unwrap().into_owned();
    for mut m in [Direct::default().build(system, &Cpu::new()).unwrap(), m] {
        m.update(system).unwrap();
        assert!(left(&whole, &applied::<f64>(&mut m, 20)) < 1e-10);
    }
    let mut dense = Dense::default().build(&longer, &Cpu::new()).unwrap();
    assert_eq!(dense.update(&a).unwrap(), Reused::Nothing);
    assert_eq!(dense.update(system).unwrap(), Reused::Structure);
    assert!(left(&whole, &applied::<f64>(&mut dense, 20)) < 1e-10);
}

/// Errors that all methods report keep their variant; errors of the factorisation alone keep their text.
#[test]
fn errors_keep_their_variant_or_their_text() {
    let build = |a: &Bsr<f64>, direct: Direct| -> Result<Hosted<Cpu, Factor>, SetupError> {
        direct.build(a, &Cpu::new())
    };
    let mut a = chain(4, 1.0);
    let accept = Direct { accept: -1.0, ..Direct::default() };
    let refused = build(&a, accept).err();
    assert!(matches!(refused, Some(SetupError::Core(Error::Parameter { name: "Direct::accept", .. }))));
    let wide = assembly::from_triplets(1, 2, &[(0, 1, 1.0)]).unwrap();
    let refused = build(&wide, Direct::default()).err();
    assert!(matches!(refused, Some(SetupError::Core(Error::NotSquare { rows: 1, columns: 2 }))));
    let mut m = build(&a, Direct { method: Method::Cholesky, ..Direct::default() }).unwrap();
    let before = applied::<f64>(&mut m, 4);
    a.values_mut()[0] = f64::NAN;
    let not_finite = SparseError::NotFinite { row: 0, column: 0 };
    assert_eq!(m.update(&a), Err(SetupError::Matrix(not_finite)));
    a.values_mut()[0] = -5.0;
    let Err(SetupError::Factor { why }) = m.update(&a) else {
        panic!("an indefinite matrix has no such factor")
    };
    assert!(why.contains("not positive definite"), "{why}");
    assert_eq!(applied::<f64>(&mut m, 4), before, "the old factor stays");
}

/// Unit masses, and a spring of three of them, k w wᵀ, so stiff that sums of other directions have two correct digits:
/// singular to a solver, and a preconditioner to conjugate gradients. A factor that is not finite is neither.
#[test]
fn a_factor_with_few_digits_is_a_preconditioner_where_it_is_asked_for() {
    let w = |i: u32| match i {
        10 => 0.31,
        11 => 0.47,
        12 => -0.78,
        _ => 0.0,
    };
    let with = |k: f64| {
        let spring = (10..13).flat_map(|i| (10..13).map(move |j| (i, j, k * w(i) * w(j))));
        let entries: Vec<_> = (0..30).map(|i| (i, i, 1.0)).chain(spring).collect();
        assembly::from_triplets(30, 30, &entries).unwrap()
    };
    let a = with(1e15);
    let parameters = Direct { method: Method::Cholesky, ..Direct::default() };
    let refused = parameters.factor(&a).err();
    assert!(matches!(refused, Some(DirectError::Singular { .. })), "{refused:?}");
    let any = Direct { accept: f64::INFINITY, test_tolerance: f64::INFINITY, ..parameters };
    let z = applied::<f64>(&mut any.build(&a, &Cpu::new()).unwrap(), 30);
    let along = |f: &dyn Fn(u32) -> f64| (0..30).map(|i| f(i) * w(i)).sum::<f64>();
    let (rw, ww) = (along(&|i| 1.0 + f64::from(i)), along(&w));
    for (i, z) in (0..).zip(z) {
        let exact = 1.0 + f64::from(i) - w(i) * rw / ww;
        assert!((z - exact).abs() <= 0.1 * exact.abs(), "{i}: {z}, not {exact}");
    }
    assert!(any.factor(&with(f64::MAX)).is_err());
    for test_tolerance in [0.0, -1.0, f64::NAN] {
        let refused = Direct { test_tolerance, ..parameters }.factor(&a).err();
        assert!(
            matches!(refused, Some(DirectError::Parameter { name: "Direct::test_tolerance", .. })),
            "{refused:?}"
        );
    }
}
