//! The drivers of HOT by name, on a bar whose nodes lie on a grid.

use std::collections::HashSet;

use coarsen::descent::{CachedPreconditioner, Driver, HostObjective, Needs, TimeStepper, Unfit};
use coarsen::elastic::{FixedCoRotated, ImplicitEuler, Lame, Tetrahedra};
use coarsen::mesh::Mesh;
use coarsen::node_embedding::{NodeEmbedding, Nodes};
use coarsen::optimize::{DescentError, DescentReport, node_weights};
use coarsen::prelude::*;
use coarsen::sparse::System;

/// The side of a cell.
const SIDE: f64 = 0.05;

type Body = ImplicitEuler<Tetrahedra<FixedCoRotated>>;

/// A time step of 1/24 s of a stretched bar of soft ends and a hard middle, its grid, and its start.
fn bar(cells: [usize; 3], middle: f64) -> (Body, NodeEmbedding, Vec<f64>) {
    let mesh = Mesh::bar(cells, SIDE);
    let none = vec![false; mesh.positions.len()];
    let third = |e: usize| 3.0 * mesh.positions[mesh.tetrahedra[e][0] as usize][0] / (SIDE * cells[0] as f64);
    let material = |e: usize| Lame::new(if (1.0..2.0).contains(&third(e)) { middle } else { 1e5 }, 0.4);
    let tetrahedra = Tetrahedra::new(FixedCoRotated, &mesh, &none, material).unwrap();
    let nodes = mesh.positions.iter().map(|x| x.map(|c| (c / SIDE).round() as i32)).collect();
    let stretched: Vec<f64> =
        mesh.positions.iter().flat_map(|x| [1.2 * x[0], 0.9 * x[1], 1.1 * x[2]]).collect();
    let masses = tetrahedra.masses(1000.0);
    let mut body = ImplicitEuler::new(tetrahedra, &masses, 1.0 / 24.0).unwrap();
    body.begin(&stretched, &vec![0.0; stretched.len()], [0.0, -9.8, 0.0]).unwrap();
    (body, NodeEmbedding::new(Nodes::Given(nodes)), stretched)
}

fn step(driver: &mut TimeStepper, cells: [usize; 3], middle: f64) -> (DescentReport<f64>, Vec<f64>) {
    let (mut body, grid, mut x) = bar(cells, middle);
    let weights = node_weights(&body.characteristic(), 3).unwrap();
    let (name, weights) = (driver.driver(), Some(&weights[..]));
    let build =
        move |system: System<'_, f64>, grid: &NodeEmbedding| name.precondition(grid, system, &Cpu::new());
    let report = match name.needs() {
        Needs::System => driver.minimize(&mut body, &grid, &mut x, weights, None),
        Needs::Quadrature => {
            let build = move |system: System<'_, f64>| build(system, &grid);
            driver.minimize_with(&mut body, build, &mut x, weights, None)
        }
        Needs::Products => {
            let m = CachedPreconditioner::build(&mut body, &x, move |system| build(system, &grid)).unwrap();
            driver.minimize_free(&mut HostObjective::new(body, m), &mut x, weights, None)
        }
        needs => panic!("{name:?} needs {needs:?}"),
    };
    (*report.unwrap().converged().unwrap(), x)
}

/// Every driver reaches the same state, and another state with other nodes in the next step.
#[test]
fn drivers_agree() {
    let cells = [[12, 4, 5], [9, 5, 4]];
    let tight = |driver| {
        let mut driver = TimeStepper::new(driver);
        driver.tolerance = 1e-9;
        driver
    };
    let exact = cells.map(|cells| step(&mut tight(Driver::PnPcg), cells, 1e6).1);
    for driver in Driver::ALL {
        let mut driver = tight(driver);
        for (cells, expected) in cells.iter().zip(&exact) {
            let (report, x) = step(&mut driver, *cells, 1e6);
            println!("{}: {report}", driver.driver());
            let far = x.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-5 * SIDE, "{}: {far:e}", driver.driver());
        }
    }
}

/// Measured: HOT takes 15, 40 and 43 iterations for a middle of 1e5, 1e7 and 1e9 Pa between ends of 1e5 Pa, and
/// one level takes 29 and 126 for the first two.
#[test]
fn iterations_hardly_grow_with_the_contrast() {
    let count = |driver, middle| step(&mut TimeStepper::new(driver), [24, 6, 6], middle).0.iterations;
    let hot = [1e5, 1e7, 1e9].map(|middle| count(Driver::Hot, middle));
    let one = [1e5, 1e7].map(|middle| count(Driver::LbfgsH, middle));
    println!("hot {hot:?}, lbfgs-h {one:?}");
    assert!(hot[0] <= 18 && hot[1] <= 48 && 5 * hot[2] <= 6 * hot[1], "{hot:?}");
    assert!(3 * hot[0] <= 2 * one[0] && 5 * hot[1] <= 2 * one[1], "{hot:?} {one:?}");
}

/// The iterations of the coarsest solves are those of the last step; a preconditioner of the caller, and one that is not a
/// hierarchy, has none.
#[test]
fn coarsest_iterations_are_those_of_the_last_step() {
    for driver in [Driver::LbfgsH, Driver::Hot, Driver::PnMgpcg, Driver::LbfgsMas] {
        let (mut stepper, has_them) = (TimeStepper::new(driver), driver != Driver::LbfgsMas);
        let mut count = |most| {
            let (mut body, grid, mut x) = bar([12, 4, 5], 1e6);
            let weights = node_weights(&body.characteristic(), 3).unwrap();
            stepper.max_iterations = most;
            stepper.minimize(&mut body, &grid, &mut x, Some(&weights), None).unwrap().usable().unwrap();
            stepper.coarsest_iterations()
        };
        let counts = [1, 3, 1].map(&mut count);
        assert_eq!(counts[0], counts[2], "{driver}");
        assert!((0 < counts[0] && counts[0] < counts[1]) == has_them, "{driver}: {counts:?}");
        assert!(has_them || counts == [0; 3], "{driver}: {counts:?}");
        let (mut body, _, mut x) = bar([12, 4, 5], 1e6);
        let jacobi = |system: System<'_, f64>| {
            Ok(Box::new(BlockJacobi::default().build_from(system, &Cpu::new())?) as _)
        };
        let report = stepper.minimize_with(&mut body, jacobi, &mut x, None, None).unwrap();
        assert!(report.usable().is_ok() && stepper.coarsest_iterations() == 0);
    }
}

/// What a driver keeps from step to step changes no bit of a step on other nodes, and none after a failed step.
#[test]
fn a_step_does_not_depend_on_earlier_steps() {
    for driver in [Driver::Hot, Driver::LbfgsH, Driver::LbfgsMas, Driver::PnPcg, Driver::PnMgpcg] {
        let made = || {
            let mut stepper = TimeStepper::new(driver);
            stepper.max_iterations = 4;
            stepper
        };
        let step = |stepper: &mut TimeStepper, k: usize| {
            let (mut body, grid, mut x) = bar([[12, 4, 4], [4, 4, 4], [9, 4, 3], [2, 1, 1]][k], 1e6);
            let weights = node_weights(&body.characteristic(), 3).unwrap();
            let report = stepper.minimize(&mut body, &grid, &mut x, Some(&weights), None).unwrap();
            assert!(report.iterations > 0, "{driver}");
            (x, stepper.coarsest_iterations())
        };
        let mut stepper = made();
        let alone = [0, 1, 2, 3].map(|k| step(&mut made(), k));
        for k in [0, 1, 2, 3, 0, 2] {
            assert_eq!(step(&mut stepper, k), alone[k], "{driver}");
        }
        let (mut body, _, mut x) = bar([4, 4, 4], 1e6);
        let refused = |_: System<'_, f64>| Err(coarsen::Error::Pattern { what: "nothing" }.into());
        assert!(stepper.minimize_with(&mut body, refused, &mut x, None, None).is_err(), "{driver}");
        assert_eq!(step(&mut stepper, 2), alone[2], "{driver} after a failed step");
    }
}

/// A driver whose needs are not met is refused by name, and x stays.
#[test]
fn drivers_whose_needs_are_not_met_are_refused() {
    let (mut body, grid, start) = bar([2, 1, 1], 1e5);
    let refused = |result: Result<DescentReport<f64>, DescentError>, driver| match result {
        Err(DescentError::Linearize(source)) => source.downcast_ref() == Some(&Unfit { driver }),
        _ => false,
    };
    for driver in Driver::ALL {
        let (mut stepper, mut x) = (TimeStepper::new(driver), start.clone());
        stepper.max_iterations = 1;
        let found = stepper.minimize(&mut body, &grid, &mut x, None, None);
        assert_eq!(refused(found, driver), driver.needs() != Needs::System, "{driver}");
        assert_eq!(x == start, driver.needs() != Needs::System, "{driver}");
        let build = |system: System<'_, f64>| {
            Ok(Box::new(BlockJacobi::default().build_from(system, &Cpu::new())?) as _)
        };
        let found = stepper.minimize_with(&mut body, build, &mut x, None, None);
        assert_eq!(refused(found, driver), driver.needs() == Needs::Products, "{driver}");
        let mut free = HostObjective::bare(bar([2, 1, 1], 1e5).0);
        let found = stepper.minimize_free(&mut free, &mut x, None, None);
        assert_eq!(refused(found, driver), driver.needs() != Needs::Products, "{driver}");
    }
}

#[test]
fn drivers_have_names() {
    assert_eq!(Driver::ALL.into_iter().collect::<HashSet<_>>().len(), Driver::ALL.len());
    for driver in Driver::ALL {
        assert_eq!(driver.to_string().parse::<Driver>().unwrap(), driver);
    }
    let error = "hott".parse::<Driver>().unwrap_err().to_string();
    assert!(
        error.contains("`hott`") && Driver::ALL.iter().all(|driver| error.contains(driver.name())),
        "{error}"
    );
}
