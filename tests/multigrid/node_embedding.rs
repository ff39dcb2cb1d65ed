//! Node embedding: P, R H P and constraints.

use coarsen_node_embedding::{node_embedding, node_embedding_of};
use std::sync::Arc;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, SetupError};
use coarsen_constraints::{Constraints, prefilter};
use coarsen_core::{Preconditioner, PreconditionerKind, Stop, parallel};
use coarsen_krylov::{FlexibleCg, Richardson};
use coarsen_multigrid::{Coarsest, Hierarchy, JacobiCg, Multigrid, Smoothing};
use coarsen_node_embedding::{Constraint, Embedded, Kernel, NodeEmbedding, Nodes};
use coarsen_problems::{Problem, elasticity3d};
use coarsen_relax::{Chebyshev, DampedJacobi, GaussSeidel};
use coarsen_sparse::{Bsr, Contacts, GalerkinPlan, Pattern, Stencil, System, assembly};

use crate::common::{applied, dot, problem, times};
use crate::particles::{Gradients, ball, composed, gradients, stiffness};

pub(crate) type Built = Hierarchy;

pub(crate) fn parameters(nodes: &[[i32; 3]], kernel: Kernel) -> Multigrid<NodeEmbedding> {
    node_embedding_of(NodeEmbedding { kernel, ..NodeEmbedding::new(Nodes::Given(nodes.into())) })
}

/// A cycle that is a fixed symmetric operator.
fn fixed(parameters: Multigrid<NodeEmbedding>) -> Multigrid<NodeEmbedding> {
    Multigrid { coarsest: Coarsest::Factor, ..parameters }
}

pub(crate) fn sparks(cells: i32) -> Vec<Gradients> {
    ball(cells, 7).iter().map(gradients).collect()
}

/// The largest difference of two matrices with the same unknowns, relative to the largest entry.
fn difference(a: &Bsr<f64>, b: &Bsr<f64>) -> f64 {
    let largest = b.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let one_sided = |a: &Bsr<f64>, b: &Bsr<f64>| {
        let of = |i: usize| {
            let row =
                a.row(i).flat_map(move |(j, block)| block.iter().enumerate().map(move |(e, v)| (j, e, *v)));
            row.map(move |(j, e, v)| {
                let d = a.block().0;
                (v - b.get(d * i + e / d, d * j + e % d)).abs()
            })
        };
        (0..a.pattern().rows()).flat_map(of).fold(0.0, f64::max)
    };
    one_sided(a, b).max(one_sided(b, a)) / largest
}

fn longest(pattern: &Pattern) -> usize {
    (0..pattern.rows()).map(|i| pattern.row(i).len()).max().unwrap_or(0)
}

/// Weights sum to one and reproduce the places of the nodes; coarse nodes are sorted, and each embeds a node.
#[test]
fn weights_reproduce_linear_functions() {
    let (nodes, a) = stiffness(&sparks(7), 1.0);
    for kernel in [Kernel::Linear, Kernel::Quadratic] {
        let m = parameters(&nodes, kernel).build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.levels(), 3);
        let mut fine: &[[i32; 3]] = &nodes;
        for level in 0..2 {
            let (p, coarse) = (m.prolongation(level).unwrap(), m.state::<Embedded>(level).unwrap().nodes());
            assert!(coarse.is_sorted() && p.block() == (3, 3) && p.matrix().is_none());
            let (pattern, weights) = (p.pattern(), p.values());
            let mut embeds = vec![false; coarse.len()];
            for (i, x) in fine.iter().enumerate() {
                let row = pattern.range(i).map(|at| (pattern.indices()[at] as usize, weights[at]));
                row.clone().for_each(|(j, w)| embeds[j] = w > 0.0);
                assert_eq!(row.clone().map(|(_, w)| w).sum::<f64>(), 1.0);
                for d in 0..3 {
                    assert_eq!(
                        row.clone().map(|(j, w)| w * 2.0 * f64::from(coarse[j][d])).sum::<f64>(),
                        f64::from(x[d])
                    );
                }
            }
            assert!(embeds.iter().all(|&e| e));
            fine = coarse;
        }
    }
}

/// R H P on every level has the pattern and the values of the general product; the bounds of the rows (§4.2
/// and §6).
#[test]
fn coarse_matrices_are_products_and_their_rows_are_bounded() {
    let (nodes, a) = stiffness(&sparks(8), 1.0);
    let q1 = elasticity3d(10, 1e3).unwrap();
    let whole: Vec<[i32; 3]> = q1.positions.iter().map(|x| x.map(|c| (10.0 * c).round() as i32)).collect();
    let plane = problem("poisson2d:23").matrix;
    let flat: Vec<[i32; 3]> = (0..23 * 23).map(|i| [i / 23 + 1, i % 23 + 1, 0]).collect();
    for (a, nodes, kernel, most) in [
        (&a, &nodes, Kernel::Linear, [125, 125]),
        (&a, &nodes, Kernel::Quadratic, [343, 343]),
        (&q1.matrix, &whole, Kernel::Linear, [27, 27]),
        (&q1.matrix, &whole, Kernel::Quadratic, [125, 343]),
        (&plane, &flat, Kernel::Linear, [9, 9]),
        (&plane, &flat, Kernel::Quadratic, [25, 49]),
    ] {
        let m = parameters(nodes, kernel).build(a, &Cpu::new()).unwrap();
        let mut fine = a;
        for level in 0..2 {
            let (p, coarse) = (m.prolongation(level).unwrap(), m.matrix(level + 1).unwrap());
            let expected = GalerkinPlan::new(fine, p).unwrap().build(fine, p).unwrap();
            assert!(Pattern::same(expected.pattern(), coarse.pattern()), "{kernel:?}");
            let off = difference(coarse, &expected);
            assert!(off <= 1e-14, "{kernel:?} {off:e}");
            assert!(longest(coarse.pattern()) <= most[level], "{kernel:?} {}", longest(coarse.pattern()));
            fine = coarse;
        }
    }
    let wide = parameters(&nodes, Kernel::Quadratic).build(&a, &Cpu::new()).unwrap();
    assert!(longest(wide.matrix(1).unwrap().pattern()) > 125);
}

/// A plane or a line of nodes is embedded as such wherever it lies: P and R H P have the same bits on every level.
#[test]
fn planes_may_lie_anywhere() {
    let (plane, side) = (problem("poisson2d:23").matrix, 23);
    let near = |i: usize| i.saturating_sub(1)..(i + 2).min(30);
    let entries =
        (0..30).flat_map(|i| near(i).map(move |j| (i as u32, j as u32, if i == j { 2.0 } else { -1.0 })));
    let line = assembly::from_triplets(30, 30, &entries.collect::<Vec<_>>()).unwrap();
    for (a, places) in [
        (&plane, (0..side * side).map(|i| [i / side, i % side]).collect::<Vec<_>>()),
        (&line, (0..30).map(|i| [i, 4]).collect()),
    ] {
        for kernel in [Kernel::Linear, Kernel::Quadratic] {
            let at = |c: i32, axis: usize| {
                let lift = |[u, v]: [i32; 2]| match axis {
                    0 => [c, u, v],
                    1 => [u, c, v],
                    _ => [u, v, c],
                };
                let nodes: Vec<[i32; 3]> = places.iter().copied().map(lift).collect();
                parameters(&nodes, kernel).build(a, &Cpu::new()).unwrap()
            };
            let expected = at(0, 2);
            for (c, axis) in [(1, 2), (-3, 2), (6, 0), (7, 1)] {
                let m = at(c, axis);
                for level in 0..2 {
                    let weights = |m: &Built| m.prolongation(level).unwrap().values().to_vec();
                    assert_eq!(weights(&m), weights(&expected), "{c} {axis} {kernel:?}");
                    let (found, one) = (m.matrix(level + 1).unwrap(), expected.matrix(level + 1).unwrap());
                    assert!(Pattern::same(found.pattern(), one.pattern()) && found.values() == one.values());
                }
            }
        }
    }
}

/// A contact between far nodes, added by a patch, reaches beyond every window.
#[test]
fn couplings_of_far_nodes_are_kept() {
    let p = elasticity3d(5, 1.0).unwrap();
    let mut m = node_embedding(0.2).build(p.system(), &Cpu::new()).unwrap();
    let last = p.matrix.pattern().rows() as u32 - 1;
    let mut contact = Contacts::new(last as usize + 1, 3).unwrap();
    contact.assemble(&[Stencil::point_point(0, last)], &[1e5; 9]).unwrap();
    m.patch(System { contact: Some(&contact), ..p.system() }, &[0, last]).unwrap();
    let whole = System { contact: Some(&contact), ..p.system() }.whole().unwrap().into_owned();
    let transfer = m.prolongation(0).unwrap();
    let expected = GalerkinPlan::new(&whole, transfer).unwrap().build(&whole, transfer).unwrap();
    assert!(difference(m.matrix(1).unwrap(), &expected) <= 1e-14);
}

/// R H P is the matrix that the particles give with composed weights: eq. 7 and 8.
#[test]
fn coarse_matrices_are_those_of_the_particles() {
    let particles = sparks(7);
    let (nodes, a) = stiffness(&particles, 0.0);
    let m = parameters(&nodes, Kernel::Linear).build(&a, &Cpu::new()).unwrap();
    let mut level = particles;
    for l in 1..3 {
        level = level.iter().map(composed).collect();
        let (places, expected) = stiffness(&level, 0.0);
        assert_eq!(&places[..], m.state::<Embedded>(l - 1).unwrap().nodes());
        let off = difference(m.matrix(l).unwrap(), &expected);
        assert!(off <= 1e-11, "level {l}: {off:e}");
    }
}

/// Every smoother and both coarsest solves: kind, symmetry and positive definiteness.
#[test]
fn cycles_are_symmetric_and_positive() {
    let (nodes, a) = stiffness(&sparks(7), 1.0);
    let [u, v] = [2, 3].map(|seed| noise(a.shape().0, seed));
    for smoothing in [
        Smoothing::SymmetricGaussSeidel(GaussSeidel::default()),
        Smoothing::GaussSeidel(GaussSeidel::default()),
        Smoothing::DampedJacobi(DampedJacobi::default()),
        Smoothing::Chebyshev(Chebyshev::default()),
    ] {
        let mut m = Multigrid { smoothing, ..fixed(parameters(&nodes, Kernel::Linear)) }
            .build(&a, &Cpu::new())
            .unwrap();
        let (mu, mv) = (applied(&mut m, &u), applied(&mut m, &v));
        let scale = (dot(&u, &mu) * dot(&v, &mv)).sqrt();
        assert!(m.kind() == PreconditionerKind::Symmetric && dot(&u, &mu) > 0.0, "{smoothing:?}");
        assert!((dot(&u, &mv) - dot(&v, &mu)).abs() < 1e-12 * scale, "{smoothing:?}");
    }
    let mut m = parameters(&nodes, Kernel::Linear).build(&a, &Cpu::new()).unwrap();
    assert_eq!(m.kind(), PreconditionerKind::Variable);
    assert!(dot(&u, &applied(&mut m, &u)) > 0.0);
}

/// Cycles to eight digits without a Krylov method, on all levels down to a hundred unknowns.
#[test]
fn the_contraction_hardly_depends_on_the_spacing() {
    let cycles = |p: &Problem, spacing: f64| {
        let m = fixed(Multigrid { levels: 20, coarse_size: 100, ..node_embedding(spacing) });
        let mut m = m.build(p.system(), &Cpu::new()).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let mut richardson = Richardson::new(Stop::relative(1e-8));
        richardson.solve(&p.matrix, &mut m, &b, &mut x).unwrap().converged().unwrap().iterations
    };
    let plane = [31, 63, 127].map(|n| cycles(&problem(&format!("poisson2d:{n}")), 1.0 / (n + 1) as f64));
    let space = [15, 31].map(|n| cycles(&problem(&format!("poisson3d:{n}")), 1.0 / (n + 1) as f64));
    let elastic = [8, 16, 24].map(|n| cycles(&elasticity3d(n, 1.0).unwrap(), 1.0 / n as f64));
    println!("poisson2d {plane:?}, poisson3d {space:?}, elasticity3d {elastic:?}");
    let grows = |all: &[usize]| 4 * all[all.len() - 1] > 5 * all[0];
    assert!(!grows(&plane) && plane[0] <= 7, "{plane:?}");
    assert!(!grows(&space) && space[0] <= 8, "{space:?}");
    assert!(!grows(&elastic) && elastic[0] <= 13, "{elastic:?}");
}

/// CG on the coarsest level to half of the residual costs few outer iterations.
#[test]
fn an_inexact_coarsest_solve_is_enough() {
    let p = elasticity3d(16, 1.0).unwrap();
    let count = |coarsest| {
        let parameters = Multigrid { coarsest, ..node_embedding(1.0 / 16.0) };
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        let (b, mut x) = (p.right_hand_side(1), vec![0.0; p.matrix.shape().0]);
        let mut cg = FlexibleCg::new(Stop::relative(1e-6));
        cg.solve(&p.matrix, &mut m, &b, &mut x).unwrap().converged().unwrap().iterations
    };
    let [exact, half] = [Coarsest::Factor, Coarsest::Iterative(JacobiCg::default())].map(count);
    assert!(half <= 2 * exact, "{exact} -> {half}");
}

/// Held nodes have no weights, and coarse nodes that embed only held nodes do not exist. Corrections keep
/// sliding nodes in their planes, and the coarse matrix is Pᵀ S A S P.
#[test]
fn constraints_hold_on_every_level() {
    let (nodes, free) = stiffness(&sparks(7), 1.0);
    let tilted = [1.0, 2.0, -0.5];
    let mut constraints = Constraints::new(nodes.len(), 3).unwrap();
    let mut of_nodes = Vec::new();
    for (i, x) in nodes.iter().enumerate() {
        if x[2] <= -2 {
            constraints.point(i, &[0.0; 3]).unwrap();
            of_nodes.push((i as u32, Constraint::Held));
        } else if x[0] >= 2 {
            constraints.plane(i, &tilted, 0.0).unwrap();
            of_nodes.push((i as u32, Constraint::Slides(tilted)));
        }
    }
    let filtered = prefilter(&free, &constraints).unwrap();
    let a = filtered.matrix();
    let mut coarsening = NodeEmbedding::new(Nodes::Given(nodes.as_slice().into()));
    coarsening.constraints = of_nodes.clone().into();
    let smoothing = Smoothing::Chebyshev(Chebyshev::default());
    let mut m =
        fixed(Multigrid { smoothing, ..node_embedding_of(coarsening) }).build(a, &Cpu::new()).unwrap();

    let coarse = m.state::<Embedded>(0).unwrap().nodes();
    assert!(coarse.iter().all(|x| x[2] >= -1), "nodes at -2 and below are held");
    let p = m.prolongation(0).unwrap().to_matrix().unwrap().into_owned();
    let e = times(&p, &noise(p.shape().1, 4));
    for &(i, constraint) in &of_nodes {
        let x = &e[3 * i as usize..3 * i as usize + 3];
        match constraint {
            Constraint::Held => assert_eq!(x, [0.0; 3]),
            Constraint::Slides(n) => assert!(dot(x, &n).abs() < 1e-14),
        }
    }
    // The coarse matrix is (S P)ᵀ H (S P) for the matrix H without constraints. For smoothers, singular diagonal
    // blocks, of coarse nodes whose nodes all slide, get a stiffness along the normal, on every level.
    let expected = GalerkinPlan::new(&free, &p).unwrap().build(&free, &p).unwrap();
    let found = m.matrix(1).unwrap();
    assert!(Pattern::same(found.pattern(), expected.pattern()));
    let largest = expected.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    assert!(found.values().iter().zip(expected.values()).all(|(f, e)| (f - e).abs() <= 1e-13 * largest));
    let coarse = m.matrix_with_term(1).unwrap();
    let mut stiffened = 0;
    for j in 0..coarse.pattern().rows() {
        for ((k, found), (_, expected)) in coarse.row(j).zip(expected.row(j)) {
            let same = found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= 1e-13 * largest);
            let along = (0..9).map(|e| tilted[e / 3] * expected[e] * tilted[e % 3]).sum::<f64>();
            assert!(same || (j == k && along.abs() <= 1e-13 * largest), "blocks {j}, {k}");
            stiffened += usize::from(!same);
        }
    }
    assert!(stiffened > 0);

    let [u, v] = [2, 3].map(|seed| noise(a.shape().0, seed));
    let (mu, mv) = (applied(&mut m, &u), applied(&mut m, &v));
    assert!((dot(&u, &mv) - dot(&v, &mu)).abs() < 1e-12 * (dot(&u, &mu) * dot(&v, &mv)).sqrt());
    assert!(dot(&u, &mu) > 0.0);
    let (b, mut x) = (noise(a.shape().0, 6), vec![0.0; a.shape().0]);
    let solved =
        FlexibleCg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap().converged().unwrap();
    assert!(solved.iterations <= 40, "{}", solved.iterations);
}

/// All nodes of a plate slide along it: every level has singular blocks, and every term is needed.
#[test]
fn a_plate_that_slides_is_solved() {
    let n = 17;
    let positions: Vec<[i32; 3]> = (0..n * n).map(|i| [i / n, 0, i % n]).collect();
    let near = |i: usize, j: usize| (0..3).all(|k| positions[i][k].abs_diff(positions[j][k]) <= 1);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..positions.len() {
        for j in (0..positions.len()).filter(|&j| near(i, j)) {
            places.push((i as u32, j as u32));
            let (along, across) = if i == j { (8.01, 3.0) } else { (-1.0, 0.0) };
            values.extend([along, 0.0, 0.0, 0.0, across, 0.0, 0.0, 0.0, along]);
        }
    }
    let size = positions.len();
    let a = assembly::from_blocks((size, size), (3, 3), &places, &values).unwrap();
    let mut coarsening = NodeEmbedding::new(Nodes::Given(positions.as_slice().into()));
    coarsening.constraints =
        (0..positions.len() as u32).map(|i| (i, Constraint::Slides([0.0, 1.0, 0.0]))).collect();
    let mut m =
        fixed(Multigrid { levels: 4, ..node_embedding_of(coarsening) }).build(&a, &Cpu::new()).unwrap();
    assert!((1..m.levels()).all(|level| m.matrix_with_term(level).is_some()));
    let (b, mut x) = (noise(3 * size, 6), vec![0.0; 3 * size]);
    let solved = FlexibleCg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap();
    assert!(solved.converged().unwrap().iterations <= 12);
}

pub(crate) fn system<'a>(a: &'a Bsr<f64>, x: &'a [[f64; 3]]) -> System<'a, f64> {
    System { positions: Some(x), ..System::from(a) }
}

#[test]
fn threads_change_no_bit() {
    let p = elasticity3d(15, 1e3).unwrap();
    let run = || {
        let mut m = node_embedding(1.0 / 15.0).build(p.system(), &Cpu::new()).unwrap();
        let z = applied(&mut m, &p.right_hand_side(3));
        (m.matrix(1).cloned(), m.matrix(2).cloned(), z)
    };
    let one = parallel::threads(1, run).unwrap();
    for threads in [2, 7] {
        assert!(one == parallel::threads(threads, run).unwrap());
    }
}

#[test]
fn bad_input_is_named() {
    let p = elasticity3d(4, 1.0).unwrap();
    let backend = Cpu::<f64>::new();
    let build = |coarsening| node_embedding_of(coarsening).build(p.system(), &backend).err().unwrap();
    let nodes = |spacing| Nodes::OfSystem { spacing, origin: [0.0; 3] };
    let error = build(NodeEmbedding::new(nodes(0.3)));
    assert!(error.to_string().contains("node 0: its position"), "{error}");
    for spacing in [0.0, f64::NAN, f64::INFINITY] {
        assert!(build(NodeEmbedding::new(nodes(spacing))).to_string().contains("spacing"));
    }
    build(NodeEmbedding::new(nodes(1e-9)));
    build(NodeEmbedding::new(Nodes::Given(Arc::new([[0; 3]; 3]))));
    build(NodeEmbedding::new(Nodes::Given(vec![[1 << 20; 3]; p.positions.len()].into())));
    let bare = node_embedding(0.25).build(&p.matrix, &backend).err().unwrap();
    let expected = SetupError::NoPositions { method: "node embedding" };
    assert!(
        matches!(&bare, SetupError::Level { cause, .. } if **cause == expected) || bare == expected,
        "{bare}"
    );
    let constrained = |constraints: Vec<_>, a: System<'_, f64>| {
        let coarsening = NodeEmbedding { constraints: constraints.into(), ..NodeEmbedding::new(nodes(0.25)) };
        node_embedding_of(coarsening).build(a, &backend).err().unwrap().to_string()
    };
    let line = assembly::from_triplets(5, 5, &[0, 1, 2, 3, 4].map(|i| (i, i, 1.0))).unwrap();
    let positions = [0, 1, 2, 3, 4].map(|i| [0.25 * f64::from(i), 0.0, 0.0]);
    let scalar = System { positions: Some(&positions), ..System::from(&line) };
    for (constraints, a, expected) in [
        (
            vec![(5000, Constraint::Held)],
            p.system(),
            "node 5000 of NodeEmbedding::constraints does not exist",
        ),
        (
            vec![(3, Constraint::Held), (3, Constraint::Slides([1.0; 3]))],
            p.system(),
            "node 3: the number of constraints is 2",
        ),
        (
            vec![(4, Constraint::Slides([0.0; 3]))],
            p.system(),
            "node 4: the length of the normal of its constraint is 0",
        ),
        (
            vec![(3, Constraint::Slides([f64::NAN; 3]))],
            p.system(),
            "node 3: the length of the normal of its constraint is NaN",
        ),
        (vec![(2, Constraint::Slides([1.0; 3]))], scalar, "node 2: the number of unknowns"),
    ] {
        let error = constrained(constraints, a);
        assert!(error.contains(expected), "{error}");
    }
}
