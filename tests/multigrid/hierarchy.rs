//! Hierarchies compared with their formulas: cycles as plain recursions, Galerkin products, and the end of
//! coarsening.

use coarsen::OverDomains;
use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused, SetupError, Smoother};
use coarsen_direct::Direct;
use coarsen_multigrid::{Cycle, Hierarchy, Keep, Multigrid, Smoothing};
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_sparse::{Bsr, Prolongation, assembly};

use crate::common::{SSOR, applied, back, dot, given, minus, near, problem, solved, times};

/// Returns the matrices and prolongations of a hierarchy, and checks that every coarse matrix is PᵀAP.
fn levels(a: &Bsr<f64>, m: &Hierarchy) -> Vec<(Bsr<f64>, Option<Bsr<f64>>)> {
    let mut all = Vec::new();
    for l in 0..m.levels() {
        let a = if l == 0 { a } else { m.matrix(l).unwrap() };
        if let Some(p) = m.prolongation(l).and_then(Prolongation::matrix) {
            let x = noise(p.shape().1, 7);
            assert!(near(&times(m.matrix(l + 1).unwrap(), &x), &back(p, &times(a, &times(p, &x)))), "{l}");
        }
        all.push((a.clone(), m.prolongation(l).and_then(Prolongation::matrix).cloned()));
    }
    all
}

/// Computes x ≈ A⁻¹ b on the first of these levels, from x = 0 or from the given x, by the definition of each
/// cycle.
fn cycle(all: &[(Bsr<f64>, Option<Bsr<f64>>)], kind: Cycle, b: &Vec<f64>, x: &mut Vec<f64>, zero: bool) {
    let (a, Some(p)) = &all[0] else {
        return x.clone_from(&solved(&all[0].0, b));
    };
    let mut smoother = SSOR.build(a, &Cpu::new()).unwrap();
    if zero || kind == Cycle::Additive {
        smoother.pre_smooth(a, b, x);
    } else {
        smoother.smooth(a, b, x);
    }
    let (coarser, mut y) = (&all[1..], vec![f64::NAN; p.shape().1]);
    let r = back(p, &minus(b, &times(a, x)));
    let more = coarser.len() > 1;
    match kind {
        Cycle::Additive => {
            smoother.post_smooth(a, b, x);
            cycle(coarser, kind, &back(p, b), &mut y, true);
        }
        Cycle::W if more => [true, false].iter().for_each(|&zero| cycle(coarser, kind, &r, &mut y, zero)),
        Cycle::F if more => [(Cycle::V, true), (Cycle::F, false), (Cycle::V, false)]
            .iter()
            .for_each(|&(kind, zero)| cycle(coarser, kind, &r, &mut y, zero)),
        Cycle::K if more => {
            // The combination of two directions with the smallest error in the energy norm.
            let (mut c, mut d) = (y.clone(), y.clone());
            cycle(coarser, kind, &r, &mut c, true);
            let ac = times(&coarser[0].0, &c);
            let alpha = dot(&c, &r) / dot(&c, &ac);
            let left: Vec<f64> = r.iter().zip(&ac).map(|(r, v)| r - alpha * v).collect();
            cycle(coarser, kind, &left, &mut d, true);
            let ad = times(&coarser[0].0, &d);
            let [cc, cd, dd, cr, dr] = [dot(&c, &ac), dot(&c, &ad), dot(&d, &ad), dot(&c, &r), dot(&d, &r)];
            let whole = cc * dd - cd * cd;
            let (s, t) = ((cr * dd - dr * cd) / whole, (dr * cc - cr * cd) / whole);
            y = c.iter().zip(&d).map(|(c, d)| s * c + t * d).collect();
        }
        _ => cycle(coarser, kind, &r, &mut y, true),
    }
    p.apply_add(1.0, &y, 1.0, x);
    if kind != Cycle::Additive {
        smoother.post_smooth(a, b, x);
    }
}

/// Cycles equal their recursions after a build, after updates that keep transfers, and after updates that
/// keep aggregates.
#[test]
fn cycles_are_their_recursions() {
    let a = problem("poisson2d:16").matrix;
    let r = noise(256, 3);
    for kind in [Cycle::V, Cycle::W, Cycle::F, Cycle::K, Cycle::Additive] {
        for keep in [Keep::Transfers, Keep::Aggregates] {
            let sa = tamstorf();
            let parameters =
                Multigrid { cycle: kind, smoothing: Smoothing::GaussSeidel(SSOR), coarse_size: 2, ..sa };
            let found = parameters.build(&a, &Cpu::new()).unwrap();
            let all = (0..found.levels() - 1)
                .map(|l| found.prolongation(l).and_then(Prolongation::matrix).unwrap().clone())
                .collect();
            let mut m =
                Multigrid { cycle: kind, keep, ..given(all, found.levels()) }.build(&a, &Cpu::new()).unwrap();
            assert!(m.levels() > 2 && m.levels() == found.levels());
            let mut other = a.clone();
            let own: Vec<usize> = (0..256).map(|i| a.pattern().find(i, i).unwrap()).collect();
            own.iter().enumerate().for_each(|(i, &k)| other.values_mut()[k] += (i % 7) as f64);
            for (step, a) in [&a, &other, &a].into_iter().enumerate() {
                if step > 0 {
                    assert_eq!(m.update(a).unwrap(), Reused::Structure);
                }
                let factor = if keep == Keep::Aggregates { 3_f64.powi(step as i32) } else { 1.0 };
                let first =
                    m.prolongation(0).unwrap().values().iter().zip(found.prolongation(0).unwrap().values());
                assert!(first.into_iter().all(|(p, old)| (p - factor * old).abs() < 1e-12));
                let mut expected = vec![0.0; 256];
                cycle(&levels(a, &m), kind, &r, &mut expected, true);
                assert!(near(&applied(&mut m, &r), &expected), "{kind:?}, {keep:?}, step {step}");
            }
        }
    }
}

/// The setup ends at the maximal number of levels, at a matrix that is small enough, or if the method cannot
/// coarsen further. In the last case the matrix is factored only if this is cheap.
#[test]
fn levels_end_where_they_are_told_to() {
    let a = problem("poisson2d:40").matrix;
    let sa = Multigrid { coarse_size: 10, ..tamstorf() };
    let whole = sa.build(&a, &Cpu::new()).unwrap();
    assert!(whole.levels() > 2);
    for count in 1..=whole.levels() {
        let m = Multigrid { levels: count, ..sa }.build(&a, &Cpu::new()).unwrap();
        assert_eq!((m.levels(), m.matrix(count).is_none()), (count, true));
        let stored: usize = (1..count).map(|l| m.matrix(l).unwrap().nnz()).sum();
        assert_eq!(m.operator_complexity(), (a.nnz() + stored) as f64 / a.nnz() as f64);
    }
    let second = whole.matrix(1).unwrap().shape().0;
    for (coarse_size, levels) in [(second, 2), (1600, 1), (1599, 2)] {
        let m = Multigrid { coarse_size, levels: 20, ..sa }.build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.levels(), levels, "of {coarse_size} unknowns");
    }
    // The factor of a 2D grid takes a few times the bytes of the matrix. A random graph is too expensive to
    // factor, unless it is the intended coarse solve.
    let n = 1600;
    let ends = noise(8 * n, 9);
    let mut entries: Vec<_> = (0..n as u32).map(|i| (i, i, 20.0)).collect();
    for (k, end) in ends.iter().enumerate().take(3 * n) {
        let (i, j) = ((k / 3) as u32, ((end + 1.0) / 2.0 * (n - 1) as f64) as u32);
        entries.extend([(i, j, -1.0), (j, i, -1.0)]);
    }
    let graph = assembly::from_triplets(n, n, &entries).unwrap();
    let bytes = |a: &Bsr<f64>| Direct::default().estimate(a).unwrap().1.bytes;
    assert!(bytes(&a) < 16 * a.bytes() && bytes(&a) > 2 * a.bytes() && bytes(&graph) > 16 * graph.bytes());
    let square = Bsr::<f64>::identity(1600, 1).unwrap();
    for all in [vec![], vec![square]] {
        assert_eq!(given(all.clone(), 20).build(&a, &Cpu::new()).unwrap().levels(), 1);
        let refused = given(all.clone(), 20).build(&graph, &Cpu::new()).err();
        assert!(
            matches!(refused, Some(SetupError::Stalled { unknowns: 1600, bytes: b }) if b == bytes(&graph)),
            "{refused:?}"
        );
        assert!(given(all, 1).build(&graph, &Cpu::new()).is_ok());
    }
}

/// A level that would have nearly as many unknowns as the finer one, or make all levels together too dense, is not made;
/// the table says why.
#[test]
fn coarsening_ends_at_its_bounds() {
    let a = problem("poisson2d:40").matrix;
    let onto = |columns: usize, of: &dyn Fn(u32) -> Vec<u32>| {
        let entries: Vec<_> = (0..1600).flat_map(|i| of(i).into_iter().map(move |j| (i, j, 1.0))).collect();
        assembly::from_triplets(1600, columns, &entries).unwrap()
    };
    let one_less = onto(1599, &|i| vec![i.min(1598)]);
    let tenth = onto(1440, &|i| vec![i % 1440]);
    let dense = onto(800, &|i| (0..12).map(|k| (i * 7 + k * k * 61) % 800).collect());
    for (p, levels, said) in [
        (
            one_less,
            1,
            Some("coarsening ends here: the next level would have 1599 unknowns, more than 0.95 times 1600"),
        ),
        (tenth, 2, None),
        (dense, 1, Some("coarsening ends here: the next level would make the operator complexity ")),
    ] {
        let m = given(vec![p], 20).build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.levels(), levels, "{m}");
        match said {
            Some(said) => assert!(m.to_string().contains(said), "{m}"),
            None => assert!(!m.to_string().contains("ends here"), "{m}"),
        }
    }
}

/// At the limit of levels, a factor beyond the memory limit is refused before it is computed.
#[test]
fn a_factor_beyond_the_memory_limit_is_refused() {
    let n = 40_000;
    let ends = noise(8 * n, 9);
    let mut entries: Vec<_> = (0..n as u32).map(|i| (i, i, 40.0)).collect();
    for (k, end) in ends.iter().enumerate() {
        let (i, j) = ((k / 8) as u32, ((end + 1.0) / 2.0 * (n - 1) as f64) as u32);
        entries.extend([(i, j, -1.0), (j, i, -1.0)]);
    }
    let graph = assembly::from_triplets(n, n, &entries).unwrap();
    let refused = given(vec![], 1).build(&graph, &Cpu::new()).err();
    assert!(
        matches!(refused, Some(SetupError::TooFewLevels { levels: 1, unknowns: 40_000, bytes, limit }) if bytes as u64 > limit),
        "{refused:?}"
    );
}

#[test]
fn a_hybrid_has_domains_on_every_level() {
    assert_eq!(OverDomains::hybrid().smoothing.levels, usize::MAX);
    assert_eq!(OverDomains::multiplicative().smoothing.levels, 1);
}
