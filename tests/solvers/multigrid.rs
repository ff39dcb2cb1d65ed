//! Multigrid: reuse, mesh independence, and correct results on systems for which other hierarchies fail.

use crate::common::{self, noise, problem, small_sa};
use coarsen::backend::SetupError;
use coarsen::krylov::{NullSpace, Projected};
use coarsen::multigrid::Smoothing;
use coarsen::prelude::*;
use coarsen::smoothed_aggregation::{Modes, SmoothedAggregation};
use coarsen::{Error, PreconditionerKind};

type Sa = Multigrid<SmoothedAggregation>;

pub(crate) fn iterations(name: &str, parameters: Sa) -> usize {
    let p = problem(name);
    let b = noise(p.matrix.shape().0, 1);
    let mut x = vec![0.0; b.len()];
    let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
    let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
    report.converged().unwrap_or_else(|e| panic!("{name}: {e}")).iterations
}

/// ‖b − A x‖ / ‖b‖.
fn residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut r = b.to_vec();
    a.residual(&b.to_vec(), &x.to_vec(), &mut r);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(b)
}

#[test]
fn iterations_of_tamstorf_do_not_grow_with_the_mesh() {
    let tamstorf = tamstorf();
    // Larger meshes: `pyamg::long_growth_of_tamstorf_is_that_of_pyamg`.
    let poisson = ["poisson3d:20", "poisson3d:40"].map(|name| iterations(name, tamstorf));
    assert!(poisson.iter().all(|&i| i <= 12), "{poisson:?}");
    assert!(poisson[1] as f64 <= 1.3 * poisson[0] as f64 + 1.0, "{poisson:?}");
    let elasticity = ["elasticity3d:10", "elasticity3d:20"].map(|name| iterations(name, tamstorf));
    assert!(elasticity[1] as f64 <= 1.5 * elasticity[0] as f64, "{elasticity:?}");
    let mut turning = tamstorf;
    turning.coarsening.rotations_from = 0;
    let cloth = ["cloth:51", "cloth:101"].map(|name| iterations(name, turning));
    assert!(cloth.iter().all(|&i| i <= 14), "{cloth:?}");
    let translations = ["cloth:51", "cloth:101"].map(|name| iterations(name, tamstorf));
    assert!(translations.iter().all(|&i| i <= 18), "{translations:?}");
}

#[test]
fn richer_cycles_take_no_more_iterations() {
    for name in ["poisson2d:80", "elasticity3d:8"] {
        let v = iterations(name, small_sa(Cycle::V));
        for cycle in [Cycle::W, Cycle::F] {
            let richer = iterations(name, small_sa(cycle));
            assert!(richer <= v, "{name}: {cycle:?} {richer}, V {v}");
        }
        let p = problem(name);
        let b = noise(p.matrix.shape().0, 1);
        let mut m = small_sa(Cycle::K).build(p.system(), &Cpu::new()).unwrap();
        let mut x = vec![0.0; b.len()];
        assert!(
            Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).is_err(),
            "a K-cycle is variable"
        );
        let report = FlexibleCg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
        assert!(report.converged().unwrap().iterations <= v + 1, "{name}: K-cycle");
    }
}

/// F-cycles on four or more levels are symmetric; no cycle is symmetric for an unsymmetric matrix.
#[test]
fn cycles_are_as_symmetric_as_they_say() {
    let a = problem("poisson2d:20").matrix;
    let [r, s] = [1, 2].map(|seed| noise(a.shape().0, seed));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    for cycle in [Cycle::V, Cycle::W, Cycle::F] {
        let mut m = Multigrid { coarse_size: 2, ..small_sa(cycle) }.build(&a, &Cpu::new()).unwrap();
        assert!(m.levels() >= 4 && m.kind() == PreconditionerKind::Symmetric);
        let (mut mr, mut ms) = (vec![0.0; r.len()], vec![0.0; r.len()]);
        m.apply(&r, &mut mr);
        m.apply(&s, &mut ms);
        let skew = (dot(&s, &mr) - dot(&r, &ms)).abs();
        assert!(skew <= 1e-12 * dot(&mr, &mr).sqrt() * dot(&s, &s).sqrt(), "{cycle:?}: {skew:e}");
    }
    let (mut wind, pattern) = (a.clone(), a.pattern().clone());
    for i in 0..pattern.rows() {
        for k in pattern.range(i).filter(|&k| pattern.indices()[k] as usize > i) {
            wind.values_mut()[k] *= 0.2;
        }
    }
    for smoothing in [small_sa(Cycle::V).smoothing, Smoothing::GaussSeidel(GaussSeidel::default())] {
        let mut m = Multigrid { smoothing, ..small_sa(Cycle::V) }.build(&wind, &Cpu::new()).unwrap();
        assert_eq!(m.kind(), PreconditionerKind::Linear);
        let refused = Cg::default().solve(&wind, &mut m, &r, &mut vec![0.0; r.len()]);
        assert!(matches!(refused, Err(Error::Preconditioner { .. })));
    }
}

/// Scaling the matrix does not change which unknowns have no basis function.
#[test]
fn units_do_not_matter() {
    let p = problem("elasticity3d:6");
    let line: Vec<[f64; 3]> = p.positions.iter().map(|x| [x[0], 0.0, 0.0]).collect(); // rotations have no basis function
    let b = noise(p.matrix.shape().0, 1);
    let counts = [0, -100, 100].map(|power| {
        let mut a = p.matrix.clone();
        a.values_mut().iter_mut().for_each(|v| *v *= 2.0_f64.powi(power));
        let system = System { positions: Some(&line), ..System::from(&a) };
        let mut m = small_sa(Cycle::V).build(system, &Cpu::new()).unwrap();
        let mut x = vec![0.0; b.len()];
        let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap().converged();
        (m.levels(), m.without_basis(), report.unwrap().iterations)
    });
    assert!(counts[0].1 > 0 && counts.iter().all(|c| *c == counts[0]), "{counts:?}");
}

#[test]
fn parameters_out_of_range_are_named() {
    let a = problem("poisson2d:20").matrix;
    let sa = small_sa(Cycle::V);
    for coarsening in [
        SmoothedAggregation { prune: 1.0, ..sa.coarsening },
        SmoothedAggregation { omega: f64::NAN, ..sa.coarsening },
        SmoothedAggregation { dominance: -1.0, ..sa.coarsening },
    ] {
        let built = Multigrid { coarsening, ..sa }.build(&a, &Cpu::new());
        assert!(matches!(built, Err(SetupError::Core(Error::Parameter { .. }))));
    }
}

pub(crate) fn solved(a: &Bsr<f64>, parameters: Sa, what: &str) -> usize {
    let b = noise(a.shape().0, 5);
    let mut x = vec![0.0; b.len()];
    let mut m = parameters.build(a, &Cpu::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap();
    let report = report.converged().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(b.is_empty() || residual(a, &b, &x) <= 1e-8 * 1.001, "{what}");
    report.iterations
}

/// A scalar chain of n nodes, fixed at one end.
fn chain(n: u32) -> Bsr<f64> {
    let inner = (0..n).flat_map(|i| [(i, i, 2.0), (i, (i + 1) % n, -1.0), ((i + 1) % n, i, -1.0)]);
    let open: Vec<_> = inner.filter(|&(i, j, _)| i.abs_diff(j) <= 1).collect();
    assembly::from_triplets(n as usize, n as usize, &open).unwrap()
}

/// Two uncoupled copies of a system.
fn twice(a: &Bsr<f64>) -> Bsr<f64> {
    let n = a.pattern().rows() as u32;
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for shift in [0, n] {
        for i in 0..n {
            for (j, block) in a.row(i as usize) {
                places.push((i + shift, j as u32 + shift));
                values.extend_from_slice(block);
            }
        }
    }
    assembly::from_blocks((2 * n as usize, 2 * n as usize), a.block(), &places, &values).unwrap()
}

#[test]
fn tiny_empty_and_disjoint_systems_are_solved() {
    let sa = small_sa(Cycle::V);
    let tiny = Multigrid { coarse_size: 1, ..sa };
    assert_eq!(solved(&Bsr::identity(1, 1).unwrap(), tiny, "a single unknown"), 1);
    assert_eq!(solved(&Bsr::identity(50, 3).unwrap(), tiny, "single nodes"), 1);
    assert!(solved(&chain(1000), sa, "a chain") < 30);
    let sheet = problem("cloth:21");
    assert!(solved(&sheet.matrix, sa, "a pinned sheet") < 20);
    let bodies = twice(&problem("elasticity3d:6").matrix);
    assert!(solved(&bodies, sa, "two bodies in one matrix") < 30);
    assert!(solved(&Bsr::identity(0, 1).unwrap(), sa, "an empty system") == 0);
    // Mass dominates: relaxation solves the system, level 1 has no unknowns, and nothing is factored.
    let mut heavy = problem("poisson3d:12").matrix;
    let diagonal: Vec<usize> =
        (0..heavy.pattern().rows()).filter_map(|i| heavy.pattern().find(i, i)).collect();
    diagonal.into_iter().for_each(|k| heavy.values_mut()[k] += 300.0);
    for cycle in [Cycle::V, Cycle::W, Cycle::F] {
        assert!(solved(&heavy, small_sa(cycle), "mass alone") < 8);
    }
    let mut m = Multigrid { keep: Keep::Aggregates, ..sa }.build(&heavy, &Cpu::new()).unwrap();
    assert_eq!((m.levels(), m.matrix(1).map(|a| a.shape())), (2, Some((0, 0))));
    m.update(&heavy).unwrap();
}

/// The stiffness of a cube of springs (`elasticity3d` fixes one face), regular if `held`. Otherwise it has
/// six rigid-body modes, which `NullSpace` projects out.
fn springs(held: bool) -> (Bsr<f64>, Vec<[f64; 3]>) {
    let n = 6_i32;
    let at = |x: i32, y: i32, z: i32| ((x * n + y) * n + z) as u32;
    let positions: Vec<[f64; 3]> =
        (0..n * n * n).map(|i| [f64::from(i / n / n), f64::from(i / n % n), f64::from(i % n)]).collect();
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (x, y, z) in (0..n).flat_map(|x| (0..n).flat_map(move |y| (0..n).map(move |z| (x, y, z)))) {
        for (dx, dy, dz) in (-1..2).flat_map(|a| (-1..2).flat_map(move |b| (-1..2).map(move |c| (a, b, c)))) {
            let (u, v, w) = (x + dx, y + dy, z + dz);
            let inside = [u, v, w].iter().all(|c| (0..n).contains(c));
            if inside && at(u, v, w) > at(x, y, z) {
                let d = [f64::from(dx), f64::from(dy), f64::from(dz)];
                let length: f64 = d.iter().map(|v| v * v).sum();
                let block: Vec<f64> = (0..9).map(|k| d[k / 3] * d[k % 3] / length).collect();
                let (i, j) = (at(x, y, z), at(u, v, w));
                for (place, sign) in [((i, i), 1.0), ((j, j), 1.0), ((i, j), -1.0), ((j, i), -1.0)] {
                    places.push(place);
                    values.extend(block.iter().map(|v| sign * v));
                }
            }
        }
    }
    if held {
        places.push((0, 0));
        values.extend([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].map(|v: f64| 100.0 * v));
        // One fixed point prevents translations; two more rows prevent rotations about this point.
        places.push((at(n - 1, 0, 0), at(n - 1, 0, 0)));
        values.extend([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        places.push((at(0, n - 1, 0), at(0, n - 1, 0)));
        values.extend([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
    let a = assembly::from_blocks((positions.len(), positions.len()), (3, 3), &places, &values).unwrap();
    (a, positions)
}

#[test]
fn bodies_held_at_points_and_unconstrained_bodies_are_solved() {
    let (a, positions) = springs(true);
    let system = System { positions: Some(&positions), ..System::from(&a) };
    let b = noise(a.shape().0, 5);
    let mut x = vec![0.0; b.len()];
    let mut m = small_sa(Cycle::V).build(system, &Cpu::new()).unwrap();
    let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap();
    assert!(report.iterations < 40, "held at points: {}", report.iterations);

    let (a, positions) = springs(false);
    let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
    let columns: Vec<Vec<f64>> = (0..6).map(|c| modes.column(c)).collect();
    let system = System { near_kernel: Some(&modes), ..System::from(&a) };
    let mut m = small_sa(Cycle::V).build(system, &Cpu::new()).unwrap();
    let mut cg = Projected::new(Cg::new(Stop::relative(1e-8)), NullSpace::new(columns).unwrap());
    let exact = noise(a.shape().0, 6);
    let mut b = vec![0.0; exact.len()];
    a.apply(&exact, &mut b);
    x.fill(0.0);
    let report = cg.solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap();
    assert!(report.iterations < 40 && residual(&a, &b, &x) <= 1e-8 * 1.001, "free: {}", report.iterations);
    b.iter_mut().step_by(3).for_each(|b| *b += 1.0);
    assert_eq!(cg.solve(&a, &mut m, &b, &mut x).unwrap().outcome, Outcome::Inconsistent);
}

/// Free chains that become one coarse node each. There pᵀAp is round-off, which must not stop the setup.
#[test]
fn unconstrained_bodies_that_become_one_node_are_solved() {
    for lengths in [vec![3; 400], vec![2; 400], [vec![3000], vec![2; 50]].concat()] {
        let (mut entries, mut at) = (Vec::new(), 0);
        for length in lengths {
            for u in at..at + length - 1 {
                let w = 1.1 + 0.37 * f64::from(u * 7919 % 13);
                entries.extend([(u, u, w), (u + 1, u + 1, w), (u, u + 1, -w), (u + 1, u, -w)]);
            }
            at += length;
        }
        let a = assembly::from_triplets(at as usize, at as usize, &entries).unwrap();
        let mut b = vec![0.0; at as usize];
        a.apply(&noise(b.len(), 3), &mut b);
        let mut x = vec![0.0; b.len()];
        let mut m = small_sa(Cycle::V).build(&a, &Cpu::new()).unwrap();
        let solved = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap().converged();
        assert!(solved.unwrap().iterations < 30);
        m.update(&a).unwrap();
    }
}

/// Triangles in the plane, each fixed at one corner and free to rotate about this corner. As coarse nodes
/// they have singular blocks without a zero on the diagonal.
#[test]
fn bodies_that_turn_about_a_point_become_points() {
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.3, 0.9, 0.0]];
    let (mut positions, mut places, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for body in 0..300_u32 {
        let first = 3 * body;
        positions.extend(corners.map(|x| [x[0] + 2.0 * f64::from(body), x[1], 0.0]));
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let d = [0, 1].map(|c| corners[j][c] - corners[i][c]);
            let block: Vec<f64> = (0..4).map(|k| d[k / 2] * d[k % 2]).collect();
            let (i, j) = (first + i as u32, first + j as u32);
            for (place, sign) in [((i, i), 1.0), ((j, j), 1.0), ((i, j), -1.0), ((j, i), -1.0)] {
                places.push(place);
                values.extend(block.iter().map(|v| sign * v));
            }
        }
        places.push((first, first));
        values.extend([1.0, 0.0, 0.0, 1.0]);
    }
    let a = assembly::from_blocks((positions.len(), positions.len()), (2, 2), &places, &values).unwrap();
    let system = System { positions: Some(&positions), ..System::from(&a) };
    let mut b = vec![0.0; a.shape().0];
    a.apply(&noise(b.len(), 3), &mut b);
    for levels in [2, 3] {
        let mut m = Multigrid { levels, ..small_sa(Cycle::V) }.build(system, &Cpu::new()).unwrap();
        let mut x = vec![0.0; b.len()];
        let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap();
        assert!(report.converged().unwrap().iterations < 15, "{levels}: {}\n{m}", report.iterations);
        m.update(system).unwrap();
    }
}

#[test]
fn a_near_kernel_can_be_found() {
    let p = problem("elasticity3d:8");
    let count = |modes| {
        let mut parameters = small_sa(Cycle::V);
        parameters.coarsening.modes = modes;
        solved(&p.matrix, parameters, "modes")
    };
    let [constants, found] = [Modes::Constants, Modes::Found(6)].map(count);
    assert!(found <= constants + 2, "found {found}, constants {constants}");
    // The detection does not depend on the damping factor of the prolongation smoother.
    let mut plain = small_sa(Cycle::V);
    plain.coarsening.omega = 0.0;
    let [constants, found] = [Modes::Constants, Modes::Found(6)].map(|modes| {
        plain.coarsening.modes = modes;
        solved(&p.matrix, plain, "plain modes")
    });
    assert!(found <= constants + 4, "without smoothing: found {found}, constants {constants}");
}

/// If vectors outnumber the nodes of an aggregate, the setup reports a stall and factors no large matrix.
#[test]
fn a_stall_is_named_before_it_is_factored() {
    let p = problem("poisson3d:30");
    let mut parameters = tamstorf();
    parameters.coarsening.modes = Modes::Found(64);
    let error = parameters.build(p.system(), &Cpu::new()).err().expect("nothing is coarsened");
    assert!(matches!(error, SetupError::Stalled { unknowns: 27_000, .. }), "{error}");
    // A single level is a valid choice.
    Multigrid { levels: 1, ..tamstorf() }.build(&problem("poisson2d:30").matrix, &Cpu::new()).unwrap();
}

/// Difficult real matrices: isolated nodes, and singular Laplacians with constants projected out.
#[test]
fn awkward_real_matrices_are_solved() {
    let Some(data) = common::data() else { return };
    let sa = tamstorf();
    assert!(solved(&common::read(&data, "hypre_tucker21935"), sa, "isolated nodes") < 40);
    for name in ["pyamg_unit_square", "metis_4elt_laplacian"] {
        let a = common::read(&data, name);
        let exact = noise(a.shape().0, 3);
        let mut b = vec![0.0; exact.len()];
        a.apply(&exact, &mut b);
        let mut x = vec![0.0; b.len()];
        let mut m = small_sa(Cycle::V).build(&a, &Cpu::new()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut cg = Projected::new(Cg::new(Stop::relative(1e-8)), NullSpace::constants(&b).unwrap());
        let report = cg.solve(&a, &mut m, &b, &mut x).unwrap();
        assert!(report.converged().unwrap_or_else(|e| panic!("{name}: {e}")).iterations < 60, "{name}");
    }
}
