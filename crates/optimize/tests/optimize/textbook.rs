//! The proposals of each rule compared with its formula in plain loops.

use crate::common::{Inverse, Quadratic, noise};
use coarsen_core::{Dot, Identity, Objective, Outcome, Stop};
use coarsen_krylov::Cg;
use coarsen_optimize::*;

/// Returns the proposal of a rule at the gradient g.
fn proposed(rule: &mut impl Direction<Vec<f64>, ()>, g: &[f64]) -> (Vec<f64>, Proposal<f64>) {
    let (x, mut d) = (vec![0.0; g.len()], vec![f64::NAN; g.len()]);
    let proposal = rule.propose(&mut (), &x, &g.to_vec(), &mut d).unwrap();
    (d, proposal)
}

fn learn(rule: &mut impl Direction<Vec<f64>, ()>, s: &[f64], y: &[f64], alpha: f64) {
    rule.learn(&s.to_vec(), &y.to_vec(), alpha);
}

fn forget(rule: &mut impl Direction<Vec<f64>, ()>) {
    rule.forget();
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    let size = expected.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let near = found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= 1e-11 * size);
    assert!(near, "{found:?} instead of {expected:?}");
}

/// d = −ω τ P⁻¹ g + (ω − 1) s with ω = 1, 2 / (2 − ρ²), 4 / (4 − ρ² ω): Wang & Yang 2016, Algorithm 1.
#[test]
fn accelerated_gradients_weigh_the_last_step_as_chebyshev_does() {
    let (rho, p) = (0.9_f64, vec![1.0, 3.0, 0.7]);
    let mut rule = AcceleratedGradient::new(rho, Inverse(p.clone()));
    let (mut omega, mut tau, mut s): (f64, f64, Vec<f64>) = (1.0, 1.0, vec![0.0; 3]);
    for k in 0..8 {
        let g = [1.0 + 0.1 * f64::from(k), -2.0, 0.5];
        let expected: Vec<f64> = (0..3).map(|i| -omega * tau * g[i] / p[i] + (omega - 1.0) * s[i]).collect();
        let (d, proposal) = proposed(&mut rule, &g);
        assert_eq!(proposal, Proposal::Unit);
        assert_close(&d, &expected);
        // After a full step the scale τ grows by a twentieth. A shortened step reduces it by a factor of ten
        // at most and restarts the weights.
        let alpha = [1.0, 1.0, 1.0, 0.4, 1.0, 1.0, 0.01, 1.5][k as usize];
        s = d.iter().map(|d| alpha * d).collect();
        learn(&mut rule, &s, &[0.0; 3], alpha);
        if alpha < 1.0 {
            (tau, omega) = (tau * alpha.max(0.1), 1.0);
        } else {
            tau *= 1.05;
            omega = if omega == 1.0 { 2.0 / (2.0 - rho * rho) } else { 4.0 / (4.0 - rho * rho * omega) };
        }
    }
}

/// Momentum is kept as long as (g, d) is below −(τ / 100) (g, P⁻¹ g).
#[test]
fn accelerated_gradients_start_anew_where_they_no_longer_descend() {
    let after = |s: f64, g: f64| {
        let mut rule = AcceleratedGradient::new(0.9, Identity);
        proposed(&mut rule, &[g, 0.0]);
        learn(&mut rule, &[s * g, 0.0], &[0.0; 2], 1.0);
        (proposed(&mut rule, &[g, 0.0]).0[0] / g, rule)
    };
    let omega = 2.0 / (2.0 - 0.81);
    // (g, d) = (ω − 1) s − 1.05 ω, which is −0.0105 at s = 2.577.
    for g in [1.0, 30.0, 1e-3] {
        let (d, mut rule) = after(2.5, g);
        assert_close(&[d], &[-1.05 * omega + (omega - 1.0) * 2.5]);
        let second: &mut dyn Direction<Vec<f64>, ()> = &mut rule;
        assert!(second.fall_back() && !second.fall_back()); // without momentum there is no safer direction
        assert_close(&[proposed(&mut rule, &[g, 0.0]).0[0] / g], &[-1.05]);
        let (d, mut rule) = after(2.6, g);
        assert_close(&[d], &[-1.05]);
        let second: &mut dyn Direction<Vec<f64>, ()> = &mut rule;
        assert!(!second.fall_back());
    }
    for forgets in [forget, |rule: &mut AcceleratedGradient<Vec<f64>, Identity>| rule.forget()] {
        let (_, mut rule) = after(-1.0, 1.0);
        forgets(&mut rule);
        assert_close(&proposed(&mut rule, &[2.0, 0.0]).0, &[-2.1, 0.0]); // only the scale of the step is kept
    }
}

/// β by its definition, and d = −z + β p.
#[test]
fn conjugate_directions_follow_their_definition() {
    let m = [2.0, 0.5, 5.0, 1.0];
    let apply = |g: &[f64]| -> Vec<f64> { g.iter().zip(m).map(|(g, m)| g / m).collect() };
    let mut seen = [0; 3]; // restarts, truncated, plain
    for beta in [Beta::PolakRibierePlus, Beta::DaiKou] {
        for (seed, scale) in (0..300).map(|seed| (seed, [1.0, 1e-4, 1e4][seed as usize % 3])) {
            let mut rule = NonlinearCg::new(beta, Inverse(m.to_vec()));
            let mut last: Option<(Vec<f64>, Vec<f64>)> = None; // gradient and direction
            for k in 0..5 {
                let random = noise(4, 10 * seed + k);
                let mut g: Vec<f64> = random.iter().map(|v| scale * v).collect();
                if let Some((old, _)) = &last {
                    let share = [0.0, 0.5, 0.9][(seed + k) as usize % 3]; // successive gradients are similar
                    g.iter_mut().zip(old).for_each(|(g, o)| *g = share * o + (1.0 - share) * *g);
                }
                let z = apply(&g);
                let weight = last.as_ref().map_or(0.0, |(old, p)| {
                    let y: Vec<f64> = g.iter().zip(old).map(|(g, o)| g - o).collect();
                    let (my, yp, gp) = (apply(&y), dot(&y, p), dot(&g, p));
                    let mp: Vec<f64> = p.iter().zip(m).map(|(p, m)| p * m).collect();
                    let weight = match beta {
                        Beta::PolakRibierePlus => (dot(&y, &z) / dot(old, &apply(old))).max(0.0),
                        _ => {
                            let dai_kou = dot(&y, &z) / yp - dot(&y, &my) * gp / (yp * yp);
                            seen[1] += usize::from(dai_kou < 0.5 * gp / dot(p, &mp));
                            dai_kou.max(0.5 * gp / dot(p, &mp))
                        }
                    };
                    let descends = weight * gp - dot(&g, &z) <= -1e-3 * dot(&g, &z);
                    seen[if descends { 2 } else { 0 }] += 1;
                    if descends { weight } else { 0.0 }
                });
                let mut p: Vec<f64> = z.iter().map(|z| -z).collect();
                if let Some((_, old)) = &last {
                    p.iter_mut().zip(old).for_each(|(p, o)| *p += weight * o);
                }
                assert_close(&proposed(&mut rule, &g).0, &p);
                last = Some((g, p));
            }
        }
    }
    assert!(seen.iter().all(|&seen| seen > 50), "{seen:?}");
}

/// The safer direction is −M⁻¹ g; there is none after it.
#[test]
fn conjugate_directions_fall_back_once() {
    let mut rule = NonlinearCg::new(Beta::PolakRibierePlus, Identity);
    let falls_back = |rule: &mut NonlinearCg<Vec<f64>, Identity>| {
        let rule: &mut dyn Direction<Vec<f64>, ()> = rule;
        rule.fall_back()
    };
    assert!(!falls_back(&mut rule)); // there is no proposal yet
    proposed(&mut rule, &[1.0, 0.0]);
    assert!(!falls_back(&mut rule)); // the proposal was −M⁻¹ g
    proposed(&mut rule, &[1.0, 0.0]);
    let (d, _) = proposed(&mut rule, &[0.5, 1.0]);
    assert!(d[0] != -0.5 && falls_back(&mut rule));
    assert_close(&proposed(&mut rule, &[0.5, 1.0]).0, &[-0.5, -1.0]);
    assert!(!falls_back(&mut rule));
}

const N: usize = 6;

/// Returns (I − ρ s yᵀ) H (I − ρ y sᵀ) + ρ s sᵀ: Nocedal & Wright 2006, (7.16).
fn bfgs(h: &[[f64; N]; N], s: &[f64], y: &[f64]) -> [[f64; N]; N] {
    let rho = 1.0 / dot(s, y);
    let left = |i: usize, j: usize| f64::from(u8::from(i == j)) - rho * s[i] * y[j];
    let mut new = [[0.0; N]; N];
    for (i, j) in (0..N * N).map(|k| (k / N, k % N)) {
        let sum: f64 = (0..N * N).map(|k| left(i, k / N) * h[k / N][k % N] * left(j, k % N)).sum();
        new[i][j] = sum + rho * s[i] * s[j];
    }
    new
}

/// Compares a rule with `window` pairs with BFGS, where H₀ is γ I if `scaled` and otherwise the inverse of
/// `INITIAL`.
fn lbfgs_is_bfgs(rule: &mut impl Direction<Vec<f64>, ()>, window: usize, scaled: bool) {
    let mut pairs: Vec<[Vec<f64>; 2]> = Vec::new();
    for k in 0..13 {
        let used = &pairs[pairs.len().saturating_sub(window)..];
        let gamma = used.last().map_or(1.0, |[s, y]| dot(s, y) / dot(y, y)); // (7.20)
        let mut h = [[0.0; N]; N];
        (0..N).for_each(|i| h[i][i] = if scaled { gamma } else { 1.0 / INITIAL[i] });
        used.iter().for_each(|[s, y]| h = bfgs(&h, s, y));
        let g = noise(N, 300 + k);
        let expected: Vec<f64> = h.iter().map(|row| -dot(row, &g)).collect();
        let (d, proposal) = proposed(rule, &g);
        assert_close(&d, &expected);
        // Without a pair γ is unknown, and the first step moves x by at most 1.
        let first = Proposal::Scaled(1.0 / dot(&g, &g).sqrt().max(1.0));
        assert_eq!(proposal, if scaled && used.is_empty() { first } else { Proposal::Unit });

        let s = noise(N, 100 + k);
        let y: Vec<f64> = (0..N).map(|i| (1.0 + i as f64) * s[i] + 0.1 * s[(i + 1) % N]).collect();
        learn(rule, &s, &s.iter().map(|s| -s).collect::<Vec<_>>(), 1.0); // no curvature: not stored
        learn(rule, &s, &y, 1.0);
        pairs.push([s, y]);
    }
    assert!(rule.fall_back() && !rule.fall_back());
    let g = noise(N, 1);
    let expected: Vec<f64> = (0..N).map(|i| -g[i] / if scaled { 1.0 } else { INITIAL[i] }).collect();
    assert_close(&proposed(rule, &g).0, &expected);
}

const INITIAL: [f64; N] = [1.0, 2.0, 0.5, 4.0, 3.0, 1.5];

#[test]
fn lbfgs_applies_the_matrix_that_its_pairs_make() {
    for window in [1, 3, 10] {
        lbfgs_is_bfgs(&mut Lbfgs::scaled(window), window, true);
        lbfgs_is_bfgs(&mut Lbfgs::scaled(window).gathering(), window, true);
        lbfgs_is_bfgs(&mut Lbfgs::new(window, Inverse(INITIAL.to_vec())), window, false);
        lbfgs_is_bfgs(&mut Lbfgs::new(window, Inverse(INITIAL.to_vec())).gathering(), window, false);
    }
}

#[test]
fn iterations_of_inner_solves_add_up() {
    let (a, _) = Quadratic::spread(N, 100.0);
    let mut rule = Constant::new(a, Identity, Cg::new(Stop { max_iterations: 2, ..Stop::relative(0.0) }));
    let inner = |rule: &Constant<_, _, _, _>| Direction::<Vec<f64>, ()>::inner_iterations(rule);
    for proposals in 1..4 {
        proposed(&mut rule, &noise(N, proposals));
        assert_eq!(inner(&rule), 2 * proposals as usize);
    }
}

/// A rule with a fixed proposal that counts the calls it receives.
#[derive(Default)]
struct Told {
    forgot: usize,
    refreshed: usize,
}

impl Direction<Vec<f64>, ()> for Told {
    fn propose(
        &mut self,
        _: &mut (),
        _: &Vec<f64>,
        g: &Vec<f64>,
        d: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        d.clone_from(g);
        Ok(Proposal::Unit)
    }
    fn forget(&mut self) {
        self.forgot += 1;
    }
    fn refresh(&mut self, _: &mut (), _: &Vec<f64>) -> Result<bool, DescentError> {
        self.refreshed += 1;
        Ok(true)
    }
}

/// A boxed rule behaves like the rule. A rule without `learn_from_other` drops its data after a step of another rule.
#[test]
fn a_box_passes_on_what_a_rule_is_told() {
    let mut rule = Told::default();
    rule.learn_from_other(&vec![1.0], &vec![1.0]);
    assert_eq!(rule.forgot, 1);
    let mut boxed = Box::new(rule);
    fn tell<D: Direction<Vec<f64>, ()>>(rule: &mut D) -> bool {
        rule.forget();
        rule.learn_from_other(&vec![1.0], &vec![1.0]);
        rule.refresh(&mut (), &vec![1.0]).unwrap()
    }
    assert!(tell(&mut boxed));
    assert_eq!((boxed.forgot, boxed.refreshed), (3, 1));
}

/// The rule d = −g with the first trial `first`.
struct Downhill {
    first: f64,
}

impl<F: ?Sized> Direction<Vec<f64>, F> for Downhill {
    fn propose(
        &mut self,
        _: &mut F,
        _: &Vec<f64>,
        g: &Vec<f64>,
        d: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        d.iter_mut().zip(g).for_each(|(d, g)| *d = -g);
        Ok(Proposal::Scaled(self.first))
    }
}

/// A line search that returns given steps and records the first trial of each search.
struct Given<'a> {
    steps: &'a [f64],
    begun: Vec<Start<f64>>,
}

impl LineSearch<f64> for Given<'_> {
    fn search(
        &mut self,
        phi: &mut dyn FnMut(f64) -> f64,
        _: &mut dyn FnMut(f64) -> f64,
        start: &Start<f64>,
    ) -> Result<Step<f64>, LineSearchFailure> {
        let alpha = self.steps[self.begun.len()];
        self.begun.push(*start);
        Ok(Step { alpha, value: phi(alpha) })
    }
}

/// Along a direction of arbitrary length, the first step minimises the parabola of the last decrease, within
/// a factor of ten of the step of equal first-order decrease (Nocedal & Wright 2006, §3.5).
#[test]
fn first_steps_are_predicted_from_the_last() {
    // f = ½ a x² in one unknown, with g = a x, d = −g and the slope −g². After the step of 0.28 the parabola
    // predicts 2 − 0.28 a = 0.04 times the step of equal decrease, so the bound of a tenth applies.
    let steps = [0.05, 0.1, 0.28, 1e-5, 0.03, 0.02, 0.02];
    let search = Given { steps: &steps, begun: Vec::new() };
    let stop = Stop { max_iterations: steps.len(), ..Stop::absolute(0.0) };
    let (mut f, mut x) = (Quadratic { a: vec![7.0], b: vec![0.0] }, vec![3.0]);
    let mut descent = Descent::new(search, stop);
    let _ = descent.minimize(&mut f, &mut Downhill { first: 0.123 }, &mut x).unwrap();
    let (mut x, mut last, mut clamped) = (3.0_f64, None, 0);
    for (start, &alpha) in descent.search.begun.iter().zip(&steps) {
        let slope = -(7.0 * x).powi(2);
        let first = last.map_or(0.123, |(alpha, before, fall): (f64, f64, f64)| {
            let same: f64 = alpha * before / slope;
            let parabola: f64 = 2.0 * fall / slope;
            clamped += usize::from(parabola > 10.0 * same || parabola < same / 10.0);
            parabola.clamp(same / 10.0, same * 10.0)
        });
        assert_close(&[start.first, start.slope], &[first, slope]);
        let next = x - alpha * 7.0 * x;
        last = Some((alpha, slope, 3.5 * (next * next - x * x)));
        x = next;
    }
    assert_eq!((descent.search.begun.len(), clamped), (steps.len(), 1));

    // A decrease near zero, and a decrease that is far larger than the slope predicts.
    for (value, times) in [(-1e-9, 0.1), (-50.0, 10.0)] {
        struct Falls(f64);
        impl Objective<Vec<f64>> for Falls {
            fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
                (if x[0] == 0.0 { 0.0 } else { self.0 }).into()
            }
            fn gradient(&mut self, _: &Vec<f64>, g: &mut Vec<f64>) {
                g[0] = 2.0; // slope −4 along −g
            }
        }
        let search = Given { steps: &[0.3, 0.3], begun: Vec::new() };
        let mut descent = Descent::new(search, Stop { max_iterations: 2, ..stop });
        let mut f = Falls(value);
        let _ = descent.minimize(&mut f, &mut Downhill { first: 1.0 }, &mut vec![0.0]).unwrap();
        assert_close(&[descent.search.begun[1].first], &[0.3 * times]);
    }
}

/// A first step that is not positive gives no direction.
#[test]
fn directions_have_a_first_step_above_zero() {
    for first in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let (mut f, _) = Quadratic::spread(N, 10.0);
        let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-3));
        let report = descent.minimize(&mut f, &mut Downhill { first }, &mut noise(N, 1)).unwrap();
        assert_eq!(report.outcome, DescentOutcome::NoDirection(Refusal::NotFinite), "{first}: {report}");
    }
}

/// A decrease of at most `decrease` · |f| ends a descent, for any magnitude of f.
#[test]
fn small_falls_are_a_share_of_the_energy() {
    struct Shifted(Quadratic, f64);
    impl Objective<Vec<f64>> for Shifted {
        fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
            (self.0.value(x).value + self.1).into()
        }
        fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
            self.0.gradient(x, g);
        }
    }
    for base in [1e-3, 1.0, 1e3] {
        // A step of 0.1 along −x from x = 1 decreases f from 0.5 to 0.405, by 0.095.
        let iterations = |decrease: f64| {
            let mut f = Shifted(Quadratic { a: vec![1.0], b: vec![0.0] }, base);
            let search = Given { steps: &[0.1; 3], begun: Vec::new() };
            let stop = Stop { max_iterations: 3, ..Stop::absolute(0.0) };
            let mut descent = Descent::new(search, stop);
            descent.decrease = decrease;
            let report = descent.minimize(&mut f, &mut Downhill { first: 1.0 }, &mut vec![1.0]).unwrap();
            (report.iterations, report.outcome)
        };
        let share = 0.095 / (base + 0.5);
        assert_eq!(iterations(1.01 * share), (1, DescentOutcome::Converged(Criterion::Decrease)), "{base}");
        assert!(iterations(0.99 * share).0 > 1, "{base}");
    }
}

/// A decrease must be sufficient: Armijo requires 10⁻⁴ of the decrease that the slope predicts.
#[test]
fn too_small_a_fall_is_no_step() {
    let start =
        Start { value: 0.0, round_off: 0.0, slope: -1.0, first: 1.0, least: 0.0, most: f64::INFINITY };
    for (fall, enough) in [(0.9e-4, false), (1.1e-4, true)] {
        let mut phi = |a: f64| if a == 1.0 { -fall } else { -a };
        let mut dphi = |a: f64| if a == 1.0 { 0.0 } else { -1.0 };
        let step = Backtracking::default().search(&mut phi, &mut dphi, &start).unwrap();
        assert_eq!(step.alpha == 1.0, enough, "{fall}: {step:?}");
    }
    // At the limit on trials the best point must have sufficient decrease, too.
    for (fall, enough) in [(0.9e-4, false), (1.1e-4, true)] {
        let mut search = MoreThuente { trials: 1, ..MoreThuente::default() };
        let mut phi = |a: f64| if a == 1.0 { -fall } else { -a };
        let mut dphi = |a: f64| if a == 1.0 { -0.95 } else { -1.0 };
        let found = search.search(&mut phi, &mut dphi, &start);
        assert_eq!(found.is_ok(), enough, "{fall}: {found:?}");
        if !enough {
            assert!(matches!(found, Err(LineSearchFailure::Exhausted { evaluations: 1, .. })), "{found:?}");
        }
    }
}

#[test]
fn refusals_and_reports_say_what_happened() {
    let refusals = [
        (Refusal::Ascent { slope: 1.5 }, "the direction does not descend (slope 1.500e0)"),
        (
            Refusal::RoundOff { slope: -2e-9 },
            "the slope along the direction (-2.000e-9) is within its round-off",
        ),
        (Refusal::Inner(Outcome::IndefiniteOperator), "the inner solve ended as indefinite operator"),
        (Refusal::NotFinite, "the direction is not finite"),
    ];
    for (refusal, words) in refusals {
        assert_eq!(refusal.to_string(), words);
    }
    let (mut f, inverse) = Quadratic::spread(N, 10.0);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    let gradient = descent.minimize(&mut f, &mut Gradient::fixed(inverse), &mut noise(N, 1)).unwrap();
    assert!(!gradient.to_string().contains("inner"), "{gradient}");
    let (a, inner) = (f.clone(), Cg::new(Stop::relative(1e-3)));
    let report = descent.minimize(&mut f, &mut Constant::new(a, Identity, inner), &mut noise(N, 1)).unwrap();
    assert!(
        report.to_string().contains(&format!("({} inner, ", report.inner)) && report.inner > 0,
        "{report}"
    );
}

#[test]
fn functions_of_duals_have_their_derivatives() {
    let x = Dual { value: 0.7_f64, slope: 1.0 };
    let (s, c) = x.sin_cos();
    for (found, expected) in [
        ((s * s + c * c).slope, 0.0),
        (x.exp().ln().slope, 1.0),
        ((Dual::constant(1.0) / x).slope, -1.0 / 0.49),
        ((-x - x).slope, -2.0),
        (x.sqrt().slope, 0.5 / 0.7_f64.sqrt()),
    ] {
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }
}

#[test]
fn duals_add_in_place() {
    let x = Dual::along(&[2.0, 3.0], &[0.5, -1.0]);
    let mut sum = x[0];
    sum += x[1];
    sum += Dual::constant(1.0);
    assert_eq!((sum.value, sum.slope), (6.0, -0.5));
}
