//! Constraints under every preconditioner: PPCG is the eliminated system, and good preconditioners stay good.

mod common;

use coarsen::prelude::*;
use coarsen::problems::{NumpyRandom, Problem};
use coarsen::sparse::{Dirichlet, Filtered};
use common::{multigrids, problem, recipes};

/// Points, lines, planes, vertices on faces and crossing edges, on a share of the nodes of a 3x3 block system.
fn constraints(p: &Problem, share: f64, seed: u64) -> Constraints {
    let (nodes, mut random) = (p.positions.len(), NumpyRandom::new(seed));
    let mut c = Constraints::new(nodes, 3).unwrap();
    let mut below = |n: usize| ((random.uniform() * n as f64) as usize).min(n - 1);
    let four = (0..(share * nodes as f64 / 4.0).ceil() as usize).map(|_| [0; 4].map(|_| below(nodes)));
    for (k, [i, j, l, m]) in four.collect::<Vec<_>>().into_iter().enumerate() {
        let [normal, value] = [0; 2].map(|_| [0; 3].map(|_| random.normal()));
        let distinct = i != j && i != l && i != m && j != l && j != m && l != m;
        // Values that several constraints on a node can all have: x = 0 on every one.
        match k % 5 {
            0 => c.point(i, &[0.0; 3]).unwrap(),
            1 => c.line(i, &normal, &[0.0; 3]).unwrap(),
            2 => c.plane(i, &normal, 0.0).unwrap(),
            3 if distinct => c.vertex_face(i, [j, l, m], [0.2, 0.3, 0.5], &normal, 0.0).unwrap(),
            _ if distinct => c.edge_edge([i, j], [l, m], [0.25, 0.5], &value, 0.0).unwrap(),
            _ => (),
        }
    }
    c
}

fn close(x: &[f64], y: &[f64], tolerance: f64) -> bool {
    let size = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    x.iter().zip(y).all(|(x, y)| (x - y).abs() <= tolerance * size)
}

/// The answer of a factorisation of the filtered matrix.
fn direct(filtered: &mut Filtered<f64>, b: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    filtered
        .solve(b, &mut x, |a, c, y| {
            let _ = Direct::default().build(a).unwrap().solve(c, y).unwrap();
        })
        .unwrap();
    x
}

#[test]
fn every_preconditioner_solves_the_filtered_system() {
    for name in ["elasticity3d:5", "cloth:12"] {
        let p = problem(name);
        let c = constraints(&p, 0.3, 1);
        let mut filtered = prefilter(p.system(), &c).unwrap();
        let b = p.right_hand_side(1);
        let expected = direct(&mut filtered, &b);
        for (method, build) in recipes().into_iter().chain(multigrids()) {
            let mut m = build(filtered.matrix());
            let mut x = p.right_hand_side(2);
            let stop = Stop { max_iterations: 4000, ..Stop::relative(1e-11) };
            let report = filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop).solve(a, &mut m, c, y));
            report.unwrap().unwrap().converged().unwrap_or_else(|e| panic!("{name} {method}: {e}"));
            assert!(close(&x, &expected, 1e-8), "{name} {method}");
        }
    }
}

/// Fixed points are what [`Dirichlet`] eliminates.
#[test]
fn fixed_points_are_eliminated_unknowns() {
    let p = problem("elasticity3d:5");
    let (n, b) = (p.matrix.shape().0, p.right_hand_side(1));
    let mut c = Constraints::new(n / 3, 3).unwrap();
    let mut fixed = Vec::new();
    for node in (0..n / 3).step_by(7) {
        let value = [0.1 * node as f64, -1.0, 0.5];
        c.point(node, &value).unwrap();
        fixed.extend((0..3).map(|r| (3 * node + r, value[r])));
    }
    let mut filtered = prefilter(p.system(), &c).unwrap();
    let x = direct(&mut filtered, &b);
    let small = Dirichlet::new(n, fixed.iter().copied()).unwrap().eliminate(&p.matrix, &b).unwrap();
    let mut free = vec![0.0; small.rhs.len()];
    let _ = Direct::default().build(&small.matrix).unwrap().solve(&small.rhs, &mut free).unwrap();
    assert!(close(&x, &small.recover(&free), 1e-11));
    assert!(fixed.iter().all(|&(i, value)| x[i] == value), "given values are exact");
}

/// Fig. 8 in small: 1, 10 and 30 % of the vertices constrained cost smoothed aggregation and multilevel Schwarz no more than half as many
/// iterations again.
#[test]
fn good_preconditioners_stay_good() {
    let iterations = |p: &Problem, schwarz: bool| {
        let mut filtered = p.prefilter().unwrap().unwrap();
        let b = p.right_hand_side(1);
        let system = filtered.system(Some(&p.positions));
        let mut m: Box<dyn Preconditioner<Vec<f64>>> = if schwarz {
            Box::new(Schwarz::multilevel().build(system, &Cpu::new()).unwrap())
        } else {
            Box::new(Multigrid::smoothed_aggregation().build(system, &Cpu::new()).unwrap())
        };
        let mut x = vec![0.0; b.len()];
        let solved =
            filtered.solve(&b, &mut x, |a, c, y| Cg::new(Stop::relative(1e-6)).solve(a, &mut m, c, y));
        solved.unwrap().unwrap().converged().unwrap().iterations as f64
    };
    for schwarz in [false, true] {
        let pinned = |share| coarsen::problems::pinned(41, 0.01, share).unwrap();
        let free = iterations(&pinned(0.0), schwarz);
        for share in [0.01, 0.1, 0.3] {
            let held = iterations(&pinned(share), schwarz);
            assert!(
                held <= 1.5 * free,
                "{share}, Schwarz {schwarz}: {held} iterations, {free} without constraints"
            );
        }
        // The same sheet on a table.
        let mut table = pinned(0.0);
        let mut c = Constraints::new(41 * 41, 3).unwrap();
        (10 * 41..22 * 41).for_each(|i| c.plane(i, &[0.0, 0.0, 1.0], 0.0).unwrap());
        table.constraints = Some(c);
        assert!(iterations(&table, schwarz) <= 1.5 * free, "table, Schwarz {schwarz}");
    }
}

/// A preconditioner follows filters that change: an update is a build, whichever nodes are held.
#[test]
fn updates_follow_filters_that_move() {
    let p = problem("cloth:12");
    let (on, b) = (Cpu::new(), p.right_hand_side(1));
    let mut c = Constraints::new(144, 3).unwrap();
    let mut hold = |first: usize| {
        c.clear();
        (first..140).step_by(9).for_each(|i| c.plane(i, &[0.3, 0.1, 1.0], 0.01).unwrap());
        c.clone()
    };
    let mut filtered = prefilter(p.system(), &hold(13)).unwrap();
    let mut m = Schwarz::multilevel().build(filtered.system(Some(&p.positions)), &on).unwrap();
    let mut sa = Multigrid::smoothed_aggregation().build(filtered.system(Some(&p.positions)), &on).unwrap();
    for first in [13, 14, 20, 13] {
        filtered.update(p.system(), &hold(first)).unwrap();
        m.update(filtered.system(Some(&p.positions))).unwrap();
        sa.update(filtered.system(Some(&p.positions))).unwrap();
        let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        let stop = Stop::relative(1e-11);
        let one =
            filtered.solve(&b, &mut x, |a, c, y| Cg::new(stop).solve(a, &mut m, c, y)).unwrap().unwrap();
        let two =
            filtered.solve(&b, &mut y, |a, c, y| Cg::new(stop).solve(a, &mut sa, c, y)).unwrap().unwrap();
        assert!(
            one.converged().is_ok() && two.converged().is_ok() && close(&x, &y, 1e-9),
            "from node {first}"
        );
        let normal: f64 = 0.3 * x[3 * first] + 0.1 * x[3 * first + 1] + x[3 * first + 2];
        let size = x.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert!((normal - 0.01).abs() < 1e-14 * size, "node {first}: {normal}");
    }
}
