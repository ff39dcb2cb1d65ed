//! The optional parts of a method: the form of P, a term of a level, and the solver of the coarsest level.

use crate::common;
use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reference, SetupError, Smoother};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Stop, from_fn};
use coarsen_krylov::{Cg, FlexibleCg};
use coarsen_multigrid::{
    Coarse, Coarsening, Coarsest, Cycle, Geometric, Grid, Hierarchy, JacobiCg, Keep, Multigrid,
    ResidualReference, Smoothing,
};
use coarsen_relax::{Chebyshev, GaussSeidel};
use coarsen_smoothed_aggregation::PlainAggregation;
use coarsen_smoothed_aggregation::{smoothed_aggregation, tamstorf};
use coarsen_sparse::{Bsr, GalerkinPlan, Prolongation};

use crate::common::{applied, dot, problem};

/// The inner method, but with P stored in full blocks.
#[derive(Clone)]
struct Whole<C>(C);

impl<C: Coarsening<f64>> Coarsening<f64> for Whole<C> {
    type State = C::State;

    fn coarsen(
        &self,
        fine: &Grid<'_, f64>,
        above: Option<&C::State>,
    ) -> Result<Option<Coarse<f64, C::State>>, SetupError> {
        let Some(coarse) = self.0.coarsen(fine, above)? else { return Ok(None) };
        let prolongation = Prolongation::Blocks(coarse.prolongation.to_matrix()?.into_owned());
        Ok(Some(Coarse { prolongation, ..coarse }))
    }

    fn name(&self) -> &'static str {
        "whole"
    }
}

fn of<C>(coarsening: C) -> Multigrid<C> {
    Multigrid { coarse_size: 20, ..Multigrid::of(coarsening) }
}

/// A cycle with P as weights or identities equals the cycle with full blocks, at every backend and also after
/// updates.
#[test]
fn the_form_of_a_prolongation_changes_nothing_but_memory() {
    fn invariant<C: Coarsening<f64> + 'static>(method: C, a: &Bsr<f64>, tolerance: f64) {
        let parameters = |method| Multigrid { keep: Keep::Aggregates, ..of(method) };
        let mut thin = parameters(method.clone()).build(a, &Cpu::new()).unwrap();
        let mut far = parameters(method.clone()).build(a, &Reference::default()).unwrap();
        let whole = Multigrid { keep: Keep::Aggregates, ..of(Whole(method)) };
        let mut whole = whole.build(a, &Cpu::new()).unwrap();
        assert!(thin.levels() > 2 && (thin.bytes() < whole.bytes() || a.block() == (1, 1)), "{thin}");
        let r = noise(a.shape().0, 3);
        let mut doubled = a.clone();
        doubled.values_mut().iter_mut().for_each(|v| *v *= 2.0);
        for a in [a, &doubled] {
            thin.update(a).unwrap();
            far.update(a).unwrap();
            whole.update(a).unwrap();
            let expected = applied(&mut whole, &r);
            let scale = dot(&expected, &expected).sqrt();
            for found in [applied(&mut thin, &r), applied(&mut far, &r)] {
                let off: Vec<f64> = found.iter().zip(&expected).map(|(f, e)| f - e).collect();
                assert!(dot(&off, &off).sqrt() <= tolerance * scale, "{whole}");
            }
        }
    }
    invariant(PlainAggregation::default(), &problem("elasticity3d:8").matrix, 1e-10);
    invariant(PlainAggregation::default(), &problem("poisson2d:31").matrix, 1e-11);
    invariant(Geometric { points: [31, 31, 1] }, &problem("poisson2d:31").matrix, 1e-11);
    invariant(Geometric { points: [9, 8, 9] }, &problem("elasticity3d:8").matrix, 1e-10);
}

/// Plain aggregation with the term c I on every coarse level.
#[derive(Clone)]
struct Stiffened(f64);

impl Coarsening<f64> for Stiffened {
    type State = ();

    fn coarsen(&self, fine: &Grid<'_, f64>, _: Option<&()>) -> Result<Option<Coarse<f64>>, SetupError> {
        let coarse = PlainAggregation::default().coarsen(fine, None)?;
        Ok(coarse.map(|coarse| Coarse { has_term: true, ..coarse }))
    }

    fn add_term(&self, a: &mut Bsr<f64>, _: &()) -> Result<(), SetupError> {
        (0..a.pattern().rows()).for_each(|i| {
            let (at, size) = (a.pattern().find(i, i).unwrap(), a.block().0);
            a.values_mut()[at * size * size..][..size * size]
                .iter_mut()
                .step_by(size + 1)
                .for_each(|v| *v += self.0);
        });
        Ok(())
    }

    fn name(&self) -> &'static str {
        "stiffened"
    }
}

/// On two levels the coarsest solve uses the term: z = P (PᵀAP + c I)⁻¹ Pᵀ r between the sweeps. On three
/// levels the third matrix is computed from the second without its term.
#[test]
fn a_term_is_seen_on_its_level_and_not_below() {
    let a = problem("poisson2d:20").matrix;
    let two = Multigrid { levels: 2, ..of(Stiffened(0.7)) };
    let mut m = two.build(&a, &Cpu::new()).unwrap();
    let p = m.prolongation(0).unwrap().clone();
    let product = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
    assert_eq!(m.matrix(1).unwrap(), &product, "the product is without the term");
    let mut plain =
        Multigrid { levels: 2, ..of(PlainAggregation::default()) }.build(&a, &Cpu::new()).unwrap();
    let r = noise(400, 3);
    let (with, without) = (applied(&mut m, &r), applied(&mut plain, &r));
    assert!(with.iter().zip(&without).any(|(a, b)| (a - b).abs() > 1e-3));
    // A method that includes the term in its own coarse matrix gives the same result.
    let mut explicit = Multigrid { levels: 2, ..of(Explicit(0.7)) }.build(&a, &Cpu::new()).unwrap();
    let explicit = applied(&mut explicit, &r);
    assert!(with.iter().zip(&explicit).all(|(a, b)| (a - b).abs() < 1e-12));

    let three = Multigrid { levels: 3, ..of(Stiffened(0.7)) }.build(&a, &Cpu::new()).unwrap();
    let expected = Multigrid { levels: 3, ..of(PlainAggregation::default()) }.build(&a, &Cpu::new()).unwrap();
    assert_eq!(three.matrix(2).unwrap(), expected.matrix(2).unwrap());

    // An update to the same values changes no bit. An update to other values equals a build.
    m.update(&a).unwrap();
    assert_eq!(applied(&mut m, &r), with);
    let mut doubled = a.clone();
    doubled.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    m.update(&doubled).unwrap();
    let mut rebuilt = two.build(&doubled, &Cpu::new()).unwrap();
    assert_eq!(applied(&mut m, &r), applied(&mut rebuilt, &r));
}

/// Plain aggregation whose own coarse matrix includes c I.
#[derive(Clone)]
struct Explicit(f64);

impl Coarsening<f64> for Explicit {
    type State = ();

    fn coarsen(&self, fine: &Grid<'_, f64>, _: Option<&()>) -> Result<Option<Coarse<f64>>, SetupError> {
        let Some(coarse) = PlainAggregation::default().coarsen(fine, None)? else { return Ok(None) };
        let p = &coarse.prolongation;
        let mut own = GalerkinPlan::new(fine.a, p)?.build(fine.a, p)?;
        for i in 0..own.pattern().rows() {
            let at = own.pattern().find(i, i).unwrap();
            own.values_mut()[at] += self.0;
        }
        Ok(Some(Coarse { matrix: Some(own), ..coarse }))
    }

    fn name(&self) -> &'static str {
        "explicit"
    }
}

#[test]
fn a_term_that_is_not_finite_is_refused() {
    #[derive(Clone)]
    struct Wrong;
    impl Coarsening<f64> for Wrong {
        type State = ();
        fn coarsen(&self, fine: &Grid<'_, f64>, _: Option<&()>) -> Result<Option<Coarse<f64>>, SetupError> {
            let coarse = PlainAggregation::default().coarsen(fine, None)?;
            Ok(coarse.map(|coarse| Coarse { has_term: true, ..coarse }))
        }
        fn add_term(&self, a: &mut Bsr<f64>, _: &()) -> Result<(), SetupError> {
            a.values_mut()[0] = f64::NAN;
            Ok(())
        }
        fn name(&self) -> &'static str {
            "wrong"
        }
    }
    let error = of(Wrong).build(&problem("poisson2d:10").matrix, &Cpu::new()).err().unwrap().to_string();
    assert!(error.contains("row 0, column 0 is not finite"), "{error}");
}

/// Flexible CG converges if the coarsest solve halves its residual. Methods that need a fixed preconditioner
/// refuse such a variable cycle.
#[test]
fn the_coarsest_level_may_be_solved_by_iterations() {
    let a = problem("poisson2d:60").matrix;
    let iterative = |reduction| Coarsest::Iterative(JacobiCg { reduction, ..JacobiCg::default() });
    let parameters = |coarsest| Multigrid { levels: 3, coarse_size: 0, coarsest, ..tamstorf() };
    let b = vec![1.0; 3600];
    let iterations = |coarsest| {
        let (mut m, mut x) = (parameters(coarsest).build(&a, &Cpu::new()).unwrap(), vec![0.0; 3600]);
        let report = FlexibleCg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    };
    let exact = iterations(Coarsest::Factor);
    assert!(iterations(iterative(0.5)) <= 2 * exact);
    assert_eq!(iterations(iterative(1e-12)), exact);

    let mut m = parameters(iterative(0.5)).build(&a, &Cpu::new()).unwrap();
    assert_eq!((m.kind(), m.to_string().contains("a cg")), (PreconditionerKind::Variable, true));
    assert!(Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut vec![0.0; 3600]).is_err());
    let r = noise(3600, 4);
    assert_eq!(m.coarsest_iterations(), 0);
    let before = applied(&mut m, &r);
    assert!((1..100).contains(&m.coarsest_iterations()));
    m.update(&a).unwrap();
    assert_eq!(applied(&mut m, &r), before);
    let mut negative = a.clone();
    negative.values_mut().iter_mut().for_each(|v| *v = -*v);
    assert!(m.update(&negative).is_err());
    assert_eq!(applied(&mut m, &r), before, "a failed update leaves the old state");
    let nothing = applied(&mut m, &vec![0.0; 3600]);
    assert!(nothing.iter().all(|z| *z == 0.0));
    let not_a_number = applied(&mut m, &vec![f64::NAN; 3600]);
    assert!(not_a_number.iter().all(|z| z.is_nan()));

    // Each solve ends at the limit.
    let limited =
        Coarsest::Iterative(JacobiCg { reduction: 1e-12, max_iterations: 5, ..JacobiCg::default() });
    let mut m = parameters(limited).build(&a, &Cpu::new()).unwrap();
    let count = |m: &mut Hierarchy, expected: [usize; 3]| {
        let found = expected.map(|_| {
            applied(m, &r);
            m.coarsest_iterations()
        });
        assert_eq!(found, expected);
    };
    count(&mut m, [5, 10, 15]);
    // An update goes on with the count.
    m.update(&a).unwrap();
    count(&mut m, [20, 25, 30]);
}

/// With [`ResidualReference::RightHandSide`] the solve takes no step if the smoother alone reaches the reduction of Pᵀ b;
/// otherwise it takes at least one. Wang et al. 2020, §5.3.
#[test]
fn the_coarsest_solve_may_compare_with_the_whole_right_hand_side() {
    let (a, b) = (problem("poisson2d:30").matrix, noise(900, 6));
    let cycle = |reduction| {
        let reference = ResidualReference::RightHandSide;
        let coarsest = Coarsest::Iterative(JacobiCg { reference, reduction, ..JacobiCg::default() });
        let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
        let sa = smoothed_aggregation();
        let parameters = Multigrid { levels: 2, coarse_size: 0, coarsest, smoothing, ..sa };
        let mut m = parameters.build(&a, &Cpu::new()).unwrap();
        (applied(&mut m, &b), m)
    };
    let m = cycle(0.5).1;
    let (p, coarse) = (m.prolongation(0).unwrap().to_matrix().unwrap().into_owned(), m.matrix(1).unwrap());
    let mut sweep = GaussSeidel::default().build(&a, &Cpu::new()).unwrap();
    let (mut x, mut r) = (vec![0.0; 900], vec![0.0; 900]);
    sweep.pre_smooth_residual(&a, &b, &mut x, &mut r);
    let size = |v: &Vec<f64>| {
        let v = common::back(&p, v);
        (0..v.len()).map(|j| v[j] * v[j] / coarse.get(j, j)).sum::<f64>().sqrt()
    };
    let left = size(&r) / size(&b);
    assert!(left > 0.1 && left < 0.9, "{left}");
    sweep.post_smooth(&a, &b, &mut x);
    assert_eq!(cycle(1.001 * left).0, x);
    assert_ne!(cycle(0.999 * left).0, x);
}

/// Other cycles than V ignore [`ResidualReference::RightHandSide`]; the V-cycles of an F-cycle start from the x that they are
/// given.
#[test]
fn other_cycles_compare_with_the_right_hand_side_of_the_coarsest_level() {
    let (a, b) = (problem("poisson2d:60").matrix, noise(3600, 8));
    for cycle in [Cycle::V, Cycle::W, Cycle::F, Cycle::K, Cycle::Additive] {
        let with = |reference| {
            let coarsest = Coarsest::Iterative(JacobiCg { reference, ..JacobiCg::default() });
            let parameters = Multigrid { levels: 4, coarse_size: 0, coarsest, cycle, ..tamstorf() };
            let mut m = parameters.build(&a, &Cpu::new()).unwrap();
            assert_eq!(m.levels(), 4);
            applied(&mut m, &b)
        };
        let same = with(ResidualReference::LevelRhs) == with(ResidualReference::RightHandSide);
        assert_eq!(same, cycle != Cycle::V, "{cycle:?}");
    }
}

/// With one level, the cycle is the coarsest solve, which reaches its reduction in the norm of D⁻¹.
#[test]
fn iterations_end_at_the_reduction_asked_for() {
    let a = problem("poisson2d:30").matrix;
    for reduction in [0.5, 1e-3] {
        let coarsest = Coarsest::Iterative(JacobiCg { reduction, ..JacobiCg::default() });
        let parameters = Multigrid { levels: 1, coarsest, ..smoothed_aggregation() };
        let mut m = parameters.build(&a, &Cpu::new()).unwrap();
        let b = noise(900, 5);
        let x = applied(&mut m, &b);
        let ax = common::times(&a, &x);
        let r: Vec<f64> = b.iter().zip(&ax).map(|(b, ax)| b - ax).collect(); // D is 4 I
        let left = (dot(&r, &r) / dot(&b, &b)).sqrt();
        assert!(left <= reduction && left > 1e-2 * reduction, "{left} of {reduction}");
    }
}

#[test]
fn settings_of_the_coarsest_solve_are_checked() {
    let a = problem("poisson2d:5").matrix;
    let error = |reduction, max_iterations| {
        let coarsest = Coarsest::Iterative(JacobiCg { reduction, max_iterations, ..JacobiCg::default() });
        Multigrid { coarsest, ..smoothed_aggregation() }.build(&a, &Cpu::new()).err()
    };
    for (reduction, max, named) in [
        (1.0, 5, "JacobiCg::reduction"),
        (f64::NAN, 5, "JacobiCg::reduction"),
        (0.5, 0, "JacobiCg::max_iterations"),
    ] {
        match error(reduction, max) {
            Some(SetupError::Core(Error::Parameter { name, .. })) => assert_eq!(name, named),
            other => panic!("{other:?}"),
        }
    }
}

/// The five-point stencil as an operator, above a hierarchy for PᵀAP, takes as many iterations as with its
/// matrix.
#[test]
fn a_finest_level_may_be_an_operator() {
    let n = 63_usize;
    let a = problem(&format!("poisson2d:{n}")).matrix;
    let stencil = from_fn(n * n, move |x: &Vec<f64>, y: &mut Vec<f64>| {
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = |inside: bool, k: usize| if inside { x[k] } else { 0.0 };
            let k = i * n + j;
            let sides = [
                at(i > 0, k.wrapping_sub(n)),
                at(i + 1 < n, k + n),
                at(j > 0, k.wrapping_sub(1)),
                at(j + 1 < n, k + 1),
            ];
            y[k] = 4.0 * x[k] - sides.iter().sum::<f64>();
        }
    });
    let backend = Cpu::new();
    let chebyshev = Chebyshev { degree: 2, ratio: 4.0, ..Chebyshev::default() };
    let (p, points) = Geometric::interpolate([n, n, 1], 1).unwrap().unwrap();
    let coarse = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
    let parameters =
        |points| Multigrid { smoothing: Smoothing::Chebyshev(chebyshev), ..Multigrid::geometric(points) };
    let smoother = || chebyshev.matrix_free(&stencil, &vec![4.0; n * n], &backend).unwrap();
    let mut free = parameters(points).under(&stencil, smoother(), &p, &coarse, &backend).unwrap();
    let mut whole = parameters([n, n, 1]).build(&a, &backend).unwrap();
    let b = noise(n * n, 7);
    let solved = |m: &mut dyn Preconditioner<Vec<f64>>| {
        let mut x = vec![0.0; n * n];
        let report = Cg::new(Stop::relative(1e-9)).solve(&stencil, m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    };
    let (without, with) = (solved(&mut free), solved(&mut whole));
    assert!(without.abs_diff(with) <= 1 && without < 15, "{without} and {with}");
    assert_eq!(
        (free.kind(), free.size(), free.below().levels() + 1),
        (PreconditionerKind::Symmetric, Some(n * n), whole.levels())
    );

    // The coarse system is updated together with the operator. A system of another size is refused.
    let before = applied(&mut free, &b);
    free.update(&coarse).unwrap();
    assert_eq!(applied(&mut free, &b), before);
    let refused = free.update(&a).unwrap_err().to_string();
    assert!(refused.contains("3969") && refused.contains("961"), "{refused}");
    assert_eq!(applied(&mut free, &b), before);
    assert!(parameters(points).under(&stencil, smoother(), &p, &a, &backend).is_err());

    // Sweeps over an unsymmetric operator give a cycle that is only linear.
    let mut lopsided = a.clone();
    let at = lopsided.pattern().find(3, 4).unwrap();
    lopsided.values_mut()[at] *= 0.5;
    let sweeps = GaussSeidel::default().build(&lopsided, &backend).unwrap();
    assert_eq!(
        parameters(points).under(&lopsided, sweeps, &p, &coarse, &backend).unwrap().kind(),
        PreconditionerKind::Linear
    );
}
