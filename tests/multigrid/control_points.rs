//! Control points: farthest points of a line, components, given nodes, cuts, weights, and directions that move no node.

use std::sync::Arc;

use coarsen_multigrid::{Coarse, Coarsening, Grid};
use coarsen_skinning::{ControlPoints, Controlled, Coordinates, Cut, Sampling, Skinning, Weights};
use coarsen_sparse::{Bsr, assembly};

// A hierarchy shows only sums of these directions and no moments, so the file of `src` is compiled here again.
#[path = "../../crates/skinning/src/null_space.rs"]
mod null_space;

use null_space::Moments;

/// Returns the matrix of a graph of nodes on a line, without the edge `cut`.
fn line(nodes: usize, cut: Option<usize>) -> Bsr<f64> {
    let meet = |i: usize, j: usize| i.abs_diff(j) == 1 && cut.is_none_or(|c| (i < c) == (j < c));
    let entry = |i: usize, j: usize| (i as u32, j as u32, if i == j { 2.0 } else { -1.0 });
    let pairs = (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
    let entries: Vec<_> = pairs.filter(|&(i, j)| i == j || meet(i, j)).map(|(i, j)| entry(i, j)).collect();
    assembly::from_triplets(nodes, nodes, &entries).unwrap()
}

/// Returns the first step, with nodes at the given distance from their neighbours.
fn step(skinning: &Skinning, a: &Bsr<f64>, length: f64) -> Coarse<f64, Controlled> {
    let positions: Vec<[f64; 3]> = (0..a.pattern().rows()).map(|i| [length * i as f64, 0.0, 0.0]).collect();
    let fine = Grid { positions: Some(&positions), ..Grid::new(a) };
    skinning.coarsen(&fine, None).unwrap().unwrap()
}

fn sample(a: &Bsr<f64>, counts: &[usize], given: &[u32]) -> Arc<ControlPoints> {
    let skinning = Skinning { control_points: counts.to_vec(), given: given.to_vec(), ..Skinning::default() };
    step(&skinning, a, 1.0).state.control_points().clone()
}

fn after_cut(control_points: &Arc<ControlPoints>, a: &Bsr<f64>, touched: &[u32]) -> Arc<ControlPoints> {
    let cut = Some(Cut { control_points: control_points.clone(), touched: touched.to_vec() });
    step(&Skinning { cut, ..Skinning::default() }, a, 1.0).state.control_points().clone()
}

#[test]
fn farthest_points_of_a_line_halve_it() {
    let control_points = sample(&line(9, None), &[5, 2], &[]);
    assert_eq!(control_points.order, [0, 8, 4, 2, 6]);
    assert_eq!(control_points.controls[0], [0, 0, 3, 2, 2, 2, 4, 1, 1]);
    assert_eq!(control_points.controls[1], [0, 1, 0, 0, 1]); // the order of control points is nodes 0, 8, 4, 2, 6
    assert_eq!((control_points.count(0), control_points.count(1)), (5, 2));
}

#[test]
fn every_component_gets_a_control_point_on_every_level() {
    let skinning = Skinning { nodes_per_control_point: 1, coarsening_ratio: 8, ..Skinning::default() };
    let control_points = step(&skinning, &line(8, Some(3)), 1.0).state.control_points().clone();
    assert_eq!(control_points.count(1), 2, "one for eight nodes, but two parts");
    assert!(
        control_points.controls[0]
            .iter()
            .enumerate()
            .all(|(i, &h)| (i < 3) == (control_points.order[h as usize] < 3))
    );
}

#[test]
fn given_control_points_come_first() {
    let control_points = sample(&line(9, None), &[4, 2], &[4, 5]);
    assert_eq!(control_points.order[..2], [4, 5]);
    assert_eq!(control_points.count(1), 2);
    // Without numbers, the given nodes are the coarsest level.
    let skinning =
        Skinning { nodes_per_control_point: 1, given: vec![1, 3, 5, 6, 7, 8], ..Skinning::default() };
    let control_points = step(&skinning, &line(9, None), 1.0).state.control_points().clone();
    assert_eq!((control_points.count(0), control_points.count(1)), (9, 6));
    assert_eq!(control_points.order[..6], skinning.given);
}

/// A level below the finest can be coarsened without positions.
#[test]
fn positions_of_control_points_are_optional() {
    let skinning = Skinning { control_points: vec![4, 2], ..Skinning::default() };
    let first = step(&skinning, &line(9, None), 1.0);
    let next = skinning.coarsen(&Grid::new(&line(4, None)), Some(&first.state)).unwrap().unwrap();
    assert_eq!((next.prolongation.shape(), next.positions), ((4, 2), None));
}

/// Nodes without edges get no control point, with both kinds of weights, and their rows of P are zero.
#[test]
fn nodes_alone_have_no_control_point() {
    let alone = |i: usize| i % 4 == 3;
    let joined = |i: usize, j: usize| i == j || (i.abs_diff(j) <= 2 && !alone(i) && !alone(j));
    let entry = |i: usize, j: usize| (i as u32, j as u32, if i == j { 4.0 } else { -1.0 });
    let pairs = (0..16).flat_map(|i| (0..16).map(move |j| (i, j)));
    let entries: Vec<_> = pairs.filter(|&(i, j)| joined(i, j)).map(|(i, j)| entry(i, j)).collect();
    let a = assembly::from_triplets(16, 16, &entries).unwrap();
    for weights in [Weights::Constant, Weights::Harmonic] {
        let coarse = step(&Skinning { control_points: vec![3], weights, ..Skinning::default() }, &a, 1.0);
        let control_points = coarse.state.control_points();
        assert!(control_points.count(0) == 3 && control_points.order.iter().all(|&i| !alone(i as usize)));
        let (p, values) = (coarse.prolongation.pattern(), coarse.prolongation.values());
        let zero = |i: usize| p.range(i).all(|at| values[4 * at..4 * at + 4].iter().all(|&v| v == 0.0));
        assert!((0..16).all(|i| zero(i) == alone(i)));
    }
    let none = assembly::from_triplets(4, 4, &[0, 1, 2, 3].map(|i| (i, i, 1.0))).unwrap();
    let fine = Grid { positions: Some(&[[0.0; 3]; 4]), ..Grid::new(&none) };
    assert!(Skinning::default().coarsen(&fine, None).unwrap().is_none());
}

/// A node at the position of a control point does not become a control point, so that every control point controls a
/// node.
#[test]
fn more_control_points_than_places_are_not_found() {
    let skinning = Skinning { control_points: vec![4], ..Skinning::default() };
    let coarse = step(&skinning, &line(4, None), 0.0);
    let control_points = coarse.state.control_points();
    assert_eq!((&control_points.order, &control_points.controls), (&vec![0], &vec![vec![0; 4]]));
}

/// A line is cut in its middle. On each level the part without a control point gets one, and the nearest control points
/// are those of the new graph. A cut that removes no edge leaves the control points and their distances unchanged.
///
/// The nodes of a level are the control points of the next finer level. If all nodes are control points of the finest
/// level, the next level shows its control point of every node.
#[test]
fn a_cut_samples_its_region_only() {
    let (whole, parts) = (line(40, None), line(40, Some(17)));
    for counts in [[10, 2], [40, 10], [40, 2]] {
        let before = sample(&whole, &counts, &[]);
        assert_eq!(after_cut(&before, &whole, &[19, 20]), before);
        let after = after_cut(&before, &parts, &[16, 17]);
        for level in 0..2 {
            let control_points = &after.order[..after.count(level)];
            let nodes: Vec<u32> = match level {
                0 => (0..40).collect(),
                _ => after.order[..after.count(0)].to_vec(),
            };
            assert_eq!(after.controls[level].len(), nodes.len());
            for (&i, &nearest) in nodes.iter().zip(&after.controls[level]) {
                let same = |h: &&u32| (**h < 17) == (i < 17);
                let d = control_points.iter().filter(same).map(|&h| i.abs_diff(h)).min().unwrap();
                let found = control_points[nearest as usize];
                assert_eq!((i.abs_diff(found), found < 17), (d, i < 17), "level {level}, node {i}");
            }
        }
        assert_eq!(&after.order[..2], &before.order[..2]);
        assert!(after.order.len() <= before.order.len() + 2);
    }
}

/// Lengths by stiffness follow the values of A, so that no edge behind the cut fits the old distances: the part without
/// a control point still gets one.
#[test]
fn a_cut_by_stiffness_reaches_what_is_behind_it() {
    let scaled = |a: &Bsr<f64>| {
        let mut a = a.clone();
        let diagonal = |i: usize| 2.0 + 0.1 * ((7 * i) % 5) as f64;
        let places: Vec<(usize, usize)> =
            (0..40).filter_map(|i| Some((i, a.pattern().find(i, i)?))).collect();
        places.into_iter().for_each(|(i, at)| a.values_mut()[at] = diagonal(i));
        a
    };
    let (whole, parts) = (line(40, None), scaled(&line(40, Some(17))));
    let sampling = Sampling::Stiffness;
    let skinning = Skinning { control_points: vec![3], given: vec![39], sampling, ..Skinning::default() };
    let control_points = step(&skinning, &whole, 1.0).state.control_points().clone();
    let cut = Some(Cut { control_points, touched: vec![16, 17] });
    let after =
        step(&Skinning { cut, sampling, ..Skinning::default() }, &parts, 1.0).state.control_points().clone();
    for (i, &h) in after.controls[0].iter().enumerate() {
        assert_eq!(i < 17, after.order[h as usize] < 17, "node {i} has its control point across the cut");
    }
}

/// A node at the point of its control point is cut off, and with it all that it leads to: the part gets a control point
/// of its own.
#[test]
fn a_cut_reaches_what_is_behind_a_node_at_its_control_point() {
    let positions: Vec<[f64; 3]> = [-1.0, 0.0, 0.0, 1.0, 2.0].map(|x| [x, 0.0, 0.0]).to_vec();
    let coarsen = |a: &Bsr<f64>, skinning: Skinning| {
        let fine = Grid { positions: Some(&positions), ..Grid::new(a) };
        skinning.coarsen(&fine, None).unwrap().unwrap().state.control_points().clone()
    };
    let skinning = Skinning { control_points: vec![1], given: vec![1], ..Skinning::default() };
    let control_points = coarsen(&line(5, None), skinning);
    assert_eq!(control_points.order, [1]);
    let cut = Some(Cut { control_points, touched: vec![1, 2] });
    let after = coarsen(&line(5, Some(2)), Skinning { cut, ..Skinning::default() });
    for (i, &h) in after.controls[0].iter().enumerate() {
        assert_eq!(i < 2, after.order[h as usize] < 2, "node {i} has its control point across the cut");
    }
}

/// On a line, harmonic weights are linear between control points.
#[test]
fn harmonic_weights_of_a_line_are_linear() {
    let of = |weights: Weights| {
        let (control_points, coordinates) = (vec![3], Coordinates::Constant);
        step(&Skinning { control_points, weights, coordinates, ..Skinning::default() }, &line(9, None), 0.5)
    };
    let harmonic = of(Weights::Harmonic);
    assert_eq!(harmonic.state.control_points().order, [0, 8, 4]);
    let row = |i: usize| -> Vec<(u32, f64)> {
        let p = harmonic.prolongation.pattern();
        p.range(i).map(|at| (p.indices()[at], harmonic.prolongation.values()[at])).collect()
    };
    for (i, expected) in [(0, vec![(0, 1.0)]), (1, vec![(0, 0.75), (2, 0.25)]), (4, vec![(2, 1.0)])] {
        let near = row(i).iter().zip(&expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12);
        assert!(near && row(i).len() == expected.len(), "{i}: {:?}", row(i));
    }
    let constant = of(Weights::Constant);
    let matrix = constant.prolongation.to_matrix().unwrap();
    assert_eq!(matrix.pattern().indices(), &constant.state.control_points().controls[0][..]);
    assert_eq!(matrix.values(), [1.0; 9]);
}

fn of(points: &[[f64; 3]]) -> Moments {
    let mut moments = Moments::default();
    points.iter().for_each(|&x| moments.add(x, 1.0));
    moments
}

/// A body has no such direction, a plane has one, a line two and a point three, at any position. No
/// direction moves a node.
#[test]
fn planes_lines_and_points_have_their_directions() {
    let plane = |u: f64, v: f64| [5.0 + u, 3.0 - v + 0.5 * u, 2.0 * u + v];
    let body = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.2, 0.2]];
    let flat = [plane(0.0, 0.0), plane(1.0, 0.0), plane(0.0, 1.0), plane(0.4, 0.7)];
    let line = [plane(0.0, 0.0), plane(1.0, 0.0), plane(2.5, 0.0)];
    for (points, expected) in [(&body[..], 0), (&flat, 1), (&line, 2), (&line[2..], 3)] {
        let found = of(points).null_space(3);
        assert_eq!(found.len(), expected);
        for n in &found {
            let moved = |x: &[f64; 3]| n[0] * x[0] + n[1] * x[1] + n[2] * x[2] + n[3];
            assert!(points.iter().all(|x| moved(x).abs() < 1e-6), "{n:?}");
        }
        for (i, j) in (0..found.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let dot: f64 = found[i].iter().zip(&found[j]).map(|(a, b)| a * b).sum();
            assert!(dot.abs() < 1e-12);
        }
    }
}

#[test]
fn moments_of_parts_are_those_of_the_whole() {
    let points = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [4.0, 0.0, 1.0]];
    let mut joined = of(&points[..1]);
    joined.join(&of(&points[1..]));
    assert_eq!(joined, of(&points));
}

#[test]
fn the_plane_has_two_axes() {
    assert_eq!(of(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).null_space(2).len(), 0);
    assert_eq!(of(&[[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]).null_space(2).len(), 1);
}
