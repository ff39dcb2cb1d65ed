//! Tests the contracts of the traits. Vector operations are compared with plain loops, and overrides with
//! defaults. Also tests operators, tolerances, and reports and their texts.

use coarsen_core::parallel::{self, Groups, Pieces};
use coarsen_core::{
    Dot, Error, Identity, Iteration, LinearOperator, MixedPrecision, Objective, Outcome, Preconditioner,
    PreconditionerKind, Report, Scalar, Stop, Vector, from_fn, power_of_two,
};

/// A vector that uses the default of every provided method.
#[derive(Clone, Debug, PartialEq)]
struct Plain(Vec<f64>);

impl Vector for Plain {
    type Real = f64;
    type Scalar = f64;
    fn size(&self) -> usize {
        self.0.size()
    }
    fn local_size(&self) -> usize {
        self.0.local_size()
    }
    fn like(&self) -> Result<Self, Error> {
        Ok(Self(self.0.like()?))
    }
    fn same_layout(&self, other: &Self) -> bool {
        self.0.same_layout(&other.0)
    }
    fn scalar(&self, v: f64) -> f64 {
        v
    }
    fn fill(&mut self, v: f64) {
        self.0.fill(v);
    }
    fn copy(&mut self, x: &Self) {
        self.0.copy(&x.0);
    }
    fn axpby(&mut self, a: &f64, x: &Self, b: &f64) {
        self.0.axpby(a, &x.0, b);
    }
    fn hadamard(&mut self, a: &f64, d: &Self, x: &Self, b: &f64) {
        self.0.hadamard(a, &d.0, &x.0, b);
    }
    fn dots<const N: usize>(&self, with: [&Self; N]) -> [f64; N] {
        self.0.dots(with.map(|y| &y.0))
    }
    fn dot_magnitude(&self, y: &Self) -> Dot<f64> {
        self.0.dot_magnitude(&y.0)
    }
    fn wait_for<const N: usize>(s: [&f64; N]) -> [f64; N] {
        Vec::<f64>::wait_for(s)
    }
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Small whole numbers, so that sums are exact.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7 + seed * 5) % 11) as f64 - 5.0).collect()
}

#[test]
fn vectors_are_their_loops() {
    for n in [1, 17, 100, parallel::LEAF + 3] {
        let (x, d, y) = (numbers(n, 1), numbers(n, 2), numbers(n, 3));
        for (a, b) in [(2.0, 0.0), (2.0, 1.0), (-3.0, 0.5), (0.0, -2.0)] {
            let mut z = y.clone();
            z.axpby(&a, &x, &b);
            assert!((0..n).all(|i| z[i] == a * x[i] + b * y[i]), "axpby {a} {b}");
            let mut z = y.clone();
            z.hadamard(&a, &d, &x, &b);
            assert!((0..n).all(|i| z[i] == a * d[i] * x[i] + b * y[i]), "hadamard {a} {b}");
        }
        let mut z = vec![f64::NAN; n];
        z.axpby(&2.0, &x, &0.0); // b = 0: the old z is not read
        assert!((0..n).all(|i| z[i] == 2.0 * x[i]));
        Vector::fill(&mut z, 4.0);
        assert!(z.iter().all(|&v| v == 4.0));
        assert_eq!((Vector::size(&z), z.same_layout(&x), z.same_layout(&vec![0.0; n + 1])), (n, true, false));
        let Dot { value, magnitude } = x.dot_magnitude(&y);
        assert_eq!(value, (0..n).map(|i| x[i] * y[i]).sum::<f64>());
        assert_eq!(magnitude, (0..n).map(|i| (x[i] * y[i]).abs()).sum::<f64>());
        assert_eq!(x.dot(&y), value);
        assert_eq!(x.norm(), x.dot(&x).sqrt());
    }
    assert_eq!(Vec::<f64>::wait_for([&1.5, &-2.5]), [1.5, -2.5]);
    assert_eq!(Dot { value: 1.0, magnitude: 8.0 }.round_off(&0.25), 2.0);
}

#[test]
fn defaults_give_what_overrides_give() {
    for n in [1, 40, parallel::LEAF + 3] {
        let of = |seed| numbers(n, seed);
        let (a, b, c) = (2.0, -0.5, 4.0);
        let (mut x, mut r, mut p, mut s) = (of(1), of(2), of(3), of(4));
        let (mut px, mut pr, mut pp, mut ps) = (Plain(of(1)), Plain(of(2)), Plain(of(3)), Plain(of(4)));
        assert_eq!(
            Vector::cg_update(&mut x, &mut r, &a, &p, &s),
            Vector::cg_update(&mut px, &mut pr, &a, &pp, &ps)
        );
        assert_eq!((&px.0, &pr.0), (&x, &r));
        assert!((0..n).all(|i| x[i] == of(1)[i] + a * p[i] && r[i] == of(2)[i] - a * s[i]));
        let (many, plain) =
            ((0..7).map(of).collect::<Vec<_>>(), (0..7).map(|k| Plain(of(k))).collect::<Vec<_>>());
        for k in 0..=7 {
            let (mut sums, mut plain_sums) = (vec![0.5], vec![0.5]);
            x.dots_with(&many[..k], &mut sums);
            px.dots_with(&plain[..k], &mut plain_sums);
            assert_eq!(sums, plain_sums);
            assert!((0..k).all(|i| sums[i + 1] == x.dot(&many[i])) && sums.len() == k + 1);
            let (mut y, mut one_by_one) = (r.clone(), r.clone());
            y.axpys(&sums[1..], &many[..k]);
            pr.axpys(&sums[1..], &plain[..k]);
            (0..k).for_each(|i| one_by_one.axpy(&sums[i + 1], &many[i]));
            assert!(y == one_by_one && pr.0 == y);
            pr.0.clone_from(&r);
        }
        let (u, w) = (of(5), of(6));
        Vector::pipelined_update(&mut x, &mut r, [&mut p, &mut s], [&u, &w], [&a, &b, &c]);
        Vector::pipelined_update(&mut px, &mut pr, [&mut pp, &mut ps], [&Plain(u), &Plain(w)], [&a, &b, &c]);
        assert_eq!((px.0, pr.0, pp.0, ps.0), (x, r, p, s));
        let (mut y, mut z) = (Plain(of(7)), Plain(of(7)));
        y.axpy(&3.0, &Plain(of(1)));
        assert!((0..n).all(|i| y.0[i] == of(7)[i] + 3.0 * of(1)[i]));
        z.scaled(&3.0, &Plain(of(1)));
        assert!((0..n).all(|i| z.0[i] == 3.0 * of(1)[i]));
    }
}

#[test]
fn operators_of_closures_and_of_rounded_copies() {
    let double = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| y.scaled(&2.0, x));
    let triple = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| y.scaled(&3.0, x));
    assert_eq!(LinearOperator::<Vec<f64>>::shape(&double), (3, 3));
    let (b, x, mut r) = (vec![10.0, 20.0, 30.0], vec![1.0, 2.0, 3.0], vec![f64::NAN; 3]);
    double.residual(&b, &x, &mut r);
    assert_eq!(r, [8.0, 16.0, 24.0]);
    let rounded = MixedPrecision::new(&double, &triple).unwrap();
    assert_eq!(LinearOperator::<Vec<f64>>::shape(&rounded), (3, 3));
    r.fill(f64::NAN);
    rounded.residual(&b, &x, &mut r); // with the exact operator
    assert_eq!(r, [8.0, 16.0, 24.0]);
    rounded.apply(&x, &mut r); // with the rounded operator
    assert_eq!(r, [3.0, 6.0, 9.0]);
    assert_eq!(rounded.apply_dot(&x, &mut r), Dot { value: 42.0, magnitude: 42.0 });
    let four = from_fn(4, |x: &Vec<f64>, y: &mut Vec<f64>| y.copy(x));
    assert!(matches!(MixedPrecision::new(&double, &four), Err(Error::Shape { expected: 3, found: 4, .. })));
}

#[test]
fn a_box_is_what_it_holds() {
    struct Half;
    impl Preconditioner<Vec<f64>> for Half {
        fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
            z.scaled(&0.5, r);
        }
        fn kind(&self) -> PreconditionerKind {
            PreconditionerKind::Linear
        }
        fn size(&self) -> Option<usize> {
            Some(7)
        }
    }
    let mut boxed: Box<dyn Preconditioner<Vec<f64>>> = Box::new(Half);
    let inner = &mut boxed;
    assert_eq!(
        (Preconditioner::size(inner), Preconditioner::kind(inner)),
        (Some(7), PreconditionerKind::Linear)
    );
    let mut z = vec![0.0];
    Preconditioner::apply(inner, &vec![3.0], &mut z);
    assert_eq!(z, [1.5]);
    assert_eq!(Preconditioner::<Vec<f64>>::size(&Identity), None);
}

#[test]
fn pieces_are_cut_between_groups() {
    let mut x: Vec<usize> = (0..12).collect();
    assert_eq!((Groups(&x[..], 3).extent(), Groups(&mut x[..], 3).extent()), (4, 4));
    let (a, b) = Groups(&x[..], 3).cut(1);
    assert_eq!((a.0, b.0, a.1, b.1), (&[0, 1, 2][..], &[3, 4, 5, 6, 7, 8, 9, 10, 11][..], 3, 3));
    assert_eq!(Pieces::extent(&&mut x[..]), 12);
    // Every piece except the last has the requested length, with and without threads.
    for parallel in [false, true] {
        let leaf = |piece: Groups<&mut [usize]>| vec![piece.extent()];
        let join = |a: Vec<usize>, b: Vec<usize>| [a, b].concat();
        assert_eq!(parallel::tree(Groups(&mut x[..], 2), 4, parallel, &leaf, &join), [4, 2]);
    }
    let seen = std::sync::Mutex::new(Vec::new());
    for (items, parallel) in [(&[][..], true), (&[5][..], true), (&[1, 2, 3][..], true), (&[7, 8][..], false)]
    {
        parallel::items(items, parallel, &|&k: &i32| seen.lock().unwrap().push(k));
    }
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3, 5, 7, 8]);
}

#[test]
fn tolerances_are_checked() {
    let stop = Stop { absolute: 3.0, ..Stop::relative(0.5) };
    assert_eq!((stop.relative, stop.max_iterations, stop.check_every), (0.5, 5000, 1));
    assert_eq!((stop.threshold(10.0), stop.threshold(4.0)), (5.0, 3.0));
    let absolute = Stop::absolute(2.0);
    assert_eq!((absolute.relative, absolute.absolute, absolute.threshold(1e9)), (0.0, 2.0, 2.0));
    assert!(stop.validate().is_ok() && Stop::relative(0.0).validate().is_ok());
    let refused = |stop: Stop<f64>| match stop.validate() {
        Err(Error::Parameter { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    for bad in [-1.0, f64::NAN] {
        assert_eq!(refused(Stop::relative(bad)), "Stop::relative");
        assert_eq!(refused(Stop::absolute(bad)), "Stop::absolute");
    }
    assert_eq!(refused(Stop { check_every: 0, ..stop }), "Stop::check_every");
}

#[test]
fn reports_and_their_sentences() {
    let all = [
        Outcome::Converged,
        Outcome::IterationLimit,
        Outcome::Stagnated,
        Outcome::Stopped,
        Outcome::IndefiniteOperator,
        Outcome::IndefinitePreconditioner,
        Outcome::Breakdown,
        Outcome::NotFinite,
        Outcome::Inconsistent,
        Outcome::Diverged,
    ];
    for outcome in all {
        let report = Report {
            outcome,
            iterations: 12,
            initial_residual: 1.0,
            true_residual: 3e-4,
            tolerance: 1e-8,
            condition: Some(50.0),
        };
        assert_eq!(report.converged().is_ok(), outcome == Outcome::Converged);
        assert_eq!(outcome.advice().is_empty(), outcome == Outcome::Converged);
        assert_eq!(outcome.name().replace('_', " "), outcome.to_string());
        let line = format!(
            "{outcome} after 12 iterations, true relative residual 3.00e-4 (asked 1.0e-8), condition about 5.0e1"
        );
        assert_eq!(report.to_string(), line);
    }
    let names: std::collections::BTreeSet<_> = all.iter().map(|outcome| outcome.name()).collect();
    let advice: std::collections::BTreeSet<_> = all.iter().map(|outcome| outcome.advice()).collect();
    assert_eq!((names.len(), advice.len()), (all.len(), all.len()));
    let it: Iteration<'_, Vec<f64>> =
        Iteration { number: 3, residual: 0.5, relative: 0.25, x: None, ritz_values: None };
    assert_eq!(it.to_string(), "     3  5.000e-1  2.500e-1");
    let needs = |needed| {
        Error::Preconditioner { method: "Cg", needed, found: PreconditionerKind::Linear }.to_string()
    };
    assert!(
        needs(PreconditionerKind::Symmetric).contains("symmetric positive definite and fixed"),
        "{}",
        needs(PreconditionerKind::Symmetric)
    );
}

#[test]
fn values_are_rounded_by_their_size() {
    struct Line;
    impl Objective<Vec<f64>> for Line {
        fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
            x[0].into()
        }
        fn gradient(&mut self, _: &Vec<f64>, g: &mut Vec<f64>) {
            g[0] = 1.0;
        }
    }
    assert_eq!(Line.value(&vec![-1024.0]), Dot { value: -1024.0, magnitude: 1024.0 });
    assert!(Scalar::min(&1.0, &f64::NAN).is_nan() && Scalar::min(&f64::NAN, &1.0).is_nan());
    assert_eq!([Scalar::min(&1.0, &2.0), Scalar::min(&2.0, &1.0)], [1.0; 2]);
    assert_eq!(
        [power_of_two(-3.0), power_of_two(f64::INFINITY), power_of_two(1e-320)],
        [1.0, 1.0, f64::MIN_POSITIVE]
    );
}
