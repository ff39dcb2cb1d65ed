//! Domains as smoothers: iterations, cancellation, coarse nodes, symmetry, sums of levels, updates.

use coarsen::OverDomains;
use coarsen_backend::{Cpu, Reused, SetupError};
use coarsen_core::{Cancel, LinearOperator, Preconditioner, Stop};
use coarsen_krylov::Cg;
use coarsen_multigrid::{Grid, Multigrid, SmootherParameters};
use coarsen_problems::{Problem, cloth, poisson2d};
use coarsen_schwarz::Schwarz;
use coarsen_smoothed_aggregation::SmoothedAggregation;
use coarsen_sparse::Prolongation;

use crate::common::{applied, dot};

fn iterations(p: &Problem, parameters: Multigrid<SmoothedAggregation, OverDomains>) -> usize {
    let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
    let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
    let report = Cg::new(Stop::relative(1e-5)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
    report.converged().unwrap().iterations
}

#[test]
fn iterations_hardly_grow_with_the_mesh() {
    let [coarse, fine] =
        [30, 120].map(|n| iterations(&cloth(n, 0.01).unwrap(), OverDomains::multiplicative()));
    assert!(fine <= 25 && fine <= coarse + 5, "{coarse} -> {fine}");
    let additive = |n| {
        let p = cloth(n, 0.01).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let mut m = Schwarz::multilevel().build(p.system(), &Cpu::new()).unwrap();
        let report = Cg::new(Stop::relative(1e-5)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    };
    assert!(2 * fine < additive(120));
}

#[test]
fn domains_are_cancelled_between_their_steps() {
    let (p, cancel) = (cloth(10, 0.01).unwrap(), Cancel::new());
    let smoother = |grid: &Grid<'_, f64>| {
        let backend = Cpu::<f64, f64>::default();
        OverDomains::multiplicative().smoothing.smoother(grid, &backend).map(|_| ())
    };
    let grid = Grid { cancel: Some(&cancel), ..Grid::new(&p.matrix) };
    assert_eq!(smoother(&grid), Ok(()));
    cancel.cancel();
    assert_eq!(smoother(&grid), Err(SetupError::Cancelled));
}

#[test]
fn every_domain_is_a_node_of_the_next_level() {
    let p = poisson2d(40).unwrap();
    let m = Multigrid { coarse_size: 20, ..OverDomains::multiplicative() }
        .build(p.system(), &Cpu::new())
        .unwrap();
    let sizes = m.aggregates(0).unwrap().iter().fold(vec![0; 1600], |mut sizes, &g| {
        sizes[g as usize] += 1;
        sizes
    });
    assert!(sizes.iter().all(|&n| n <= 16));
    assert_eq!(m.matrix(1).unwrap().pattern().rows(), sizes.iter().filter(|&&n| n > 0).count());
    let p0 = m.prolongation(0).unwrap();
    assert_eq!(p0.pattern().len(), 1600); // P is not smoothed: one block per row
}

#[test]
fn cycles_are_symmetric_and_positive() {
    let p = cloth(20, 0.01).unwrap();
    for parameters in [OverDomains::multiplicative(), OverDomains::hybrid(), OverDomains::additive()] {
        let mut m = Multigrid { coarse_size: 20, ..parameters }.build(p.system(), &Cpu::new()).unwrap();
        let (u, v) = (p.right_hand_side(2), p.right_hand_side(3));
        let (mu, mv) = (applied(&mut m, &u), applied(&mut m, &v));
        let scale = (dot(&u, &mu) * dot(&v, &mv)).sqrt();
        assert!(dot(&u, &mu) > 0.0 && dot(&v, &mv) > 0.0);
        assert!((dot(&u, &mv) - dot(&v, &mu)).abs() < 1e-6 * scale, "stored in f32");
    }
}

/// An additive cycle is z = ω S r + P A₁⁻¹ Pᵀ r, the sum of two levels.
#[test]
fn an_additive_cycle_is_the_sum_of_its_levels() {
    let (p, backend) = (cloth(20, 0.01).unwrap(), Cpu::new());
    let r = p.right_hand_side(5);
    let parameters = Multigrid { levels: 2, ..OverDomains::additive() };
    let mut m = parameters.build(p.system(), &backend).unwrap();
    let (mut z, mut sum) = (vec![0.0; r.len()], vec![0.0; r.len()]);
    m.apply(&r, &mut z);
    parameters.smoothing.domains.build(p.system(), &backend).unwrap().apply(&r, &mut sum);
    let transfer = m.prolongation(0).and_then(Prolongation::matrix).unwrap();
    let coarse = m.matrix(1).unwrap();
    let (mut below, mut above) = (vec![0.0; coarse.shape().0], vec![0.0; coarse.shape().0]);
    transfer.transpose().unwrap().apply(&r, &mut below);
    coarsen_direct::Direct::default().factor(coarse).unwrap().solve(&below, &mut above).unwrap();
    transfer.apply_add(1.0, &above, 1.0, &mut sum);
    let size = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
    let off: Vec<f64> = sum.iter().zip(&z).map(|(a, b)| a - b).collect();
    assert!(size(&off) < 1e-10 * size(&z), "{:.1e}", size(&off) / size(&z));
}

#[test]
fn an_update_is_a_build_on_kept_domains() {
    let (p, stiffer) = (cloth(25, 0.01).unwrap(), cloth(25, 0.02).unwrap());
    let r = p.right_hand_side(4);
    let mut m = OverDomains::multiplicative().build(p.system(), &Cpu::new()).unwrap();
    let before = applied(&mut m, &r);
    assert_eq!(m.update(&p.matrix).unwrap(), Reused::Structure);
    assert_eq!(applied(&mut m, &r), before, "unchanged values change no bit");
    assert_eq!(m.update(&stiffer.matrix).unwrap(), Reused::Structure);
    assert_ne!(applied(&mut m, &r), before);
    m.update(&p.matrix).unwrap();
    assert_eq!(applied(&mut m, &r), before);
}
