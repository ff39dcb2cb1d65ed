//! Properties of the methods and of the runs of the bench `hot`: `cargo test -p coarsen-benches --test hot`.

#![allow(dead_code, reason = "parts of the bench")]

mod asked;
mod method;
mod moment;
mod products;
mod quadrature;
mod rows;
mod stage;
mod states;

use std::path::Path;

use asked::{ArgumentError, Asked};
use coarsen::Objective;
use coarsen::backend::Cpu;
use coarsen::descent::Driver;
use coarsen::optimize::Linearize;
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use coarsen_core::SplitMix64;
use method::solve;
use moment::{Moment, Step};
use mpm::constraints::Constraints;
use mpm::energy::{Given, Increment};
use mpm::grid::{Grid, Nodes};
use products::Products;
use quadrature::Rediscretised;
use stage::Stage;
use states::{Frame, hardest, kept};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn parse(words: &str) -> Result<Option<Asked>, ArgumentError> {
    let words = words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
    Asked::parse(words, &["bar", "spy"], Path::new("folder"))
}

#[test]
fn arguments_of_the_tables_are_read() {
    let none = parse("--bench").unwrap().unwrap();
    assert!(none.tables.is_empty() && none.particles() == 8000 && none.threads == 2);
    let keys = "particles=70 frames=0 threads=1 most=3 scenes=twist,armacat:1e6 methods=hot runs=r states=s results=t";
    let found = parse(&format!("spy bar {keys} --bench")).unwrap().unwrap();
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let expected = Asked {
        tables: vec!["spy".into(), "bar".into()],
        scenes: words(&["twist", "armacat:1e6"]),
        particles: Some(70),
        frames: Some(0),
        states: "s".into(),
        runs: Some("r".into()),
        methods: words(&["hot"]),
        most: 3,
        threads: 1,
        results: "t".into(),
    };
    assert_eq!(found, expected);
}

/// Help runs nothing, and neither does a word that is not understood.
#[test]
fn other_arguments_of_the_tables_run_nothing() {
    for help in ["--help", "bar --help --bench", "-h"] {
        assert_eq!(parse(help), Ok(None));
    }
    for word in ["--particles", "--states=4", "bra", "particle=3"] {
        let error = parse(word).unwrap_err();
        assert!(matches!(&error, ArgumentError::Unknown { word: found, .. } if found == word), "{error}");
        assert!(error.to_string().contains("bar, spy") && error.to_string().contains("particles"), "{error}");
    }
    for (word, least) in
        [("particles=x", 1), ("particles=0", 1), ("most=0", 1), ("threads=-1", 0), ("frames=1.5", 0)]
    {
        let error = parse(word).unwrap_err();
        assert!(matches!(error, ArgumentError::Number { least: found, .. } if found == least), "{error}");
        assert_eq!(error.to_string(), format!("`{word}`: expected a whole number of {least} or more"));
    }
}

/// The earlier of two equal frames comes first, and frames without steps do not count.
#[test]
fn the_hardest_frames_have_the_most_iterations_a_step() {
    let frame = |(number, (steps, iterations))| Frame { number, steps, iterations };
    let frames: Vec<Frame> = (1..).zip([(1, 5), (2, 12), (4, 20), (0, 9), (1, 6)]).map(frame).collect();
    assert_eq!(hardest(&frames, 3), [2, 5, 1]);
    assert_eq!(hardest(&frames, 9), [2, 5, 1, 3]);
}

/// A run that was cut off keeps the same states as one that was not.
#[test]
fn states_of_the_hardest_frames_are_kept() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("coarsen-hot-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let run = |name: &str, frames: usize| -> Outcome<Vec<(usize, Vec<u8>)>> {
        let runs = folder.join(name);
        let words =
            format!("states runs={} scenes=stretched particles=400 most=3 frames={frames}", runs.display());
        let asked = Asked::parse(words.split(' ').map(str::to_owned), &["states"], &folder)?;
        states::run(&asked.ok_or("no help")?)?;
        kept(&states::folder(&runs, "stretched"))
            .into_iter()
            .map(|(k, path)| Ok((k, std::fs::read(path)?)))
            .collect()
    };
    let whole = run("whole", 6)?;
    run("parts", 2)?;
    assert!(whole.len() == 3 && whole == run("parts", 6)?);
    let found = states::states(&states::folder(&folder.join("whole"), "stretched"))?;
    assert_eq!(found.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 1, 2]);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A step of the jelly of the tutorial in contact: nodes slip, rub, and are held.
fn jelly() -> Outcome<Moment> {
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/mpm/scenes/jelly.toml");
    let mut stage = Stage::new(scene, Some(700))?;
    for _ in 0..4 {
        stage.animate(Driver::PnPcg)?;
    }
    let state = std::mem::take(&mut stage.state);
    let moment = Moment::at(stage, state)?;
    assert!(moment.objective()?.rubs());
    Ok(moment)
}

/// Products without a matrix are those of the assembled system, and their preconditioner inverts its diagonal blocks.
#[test]
fn products_are_those_of_the_matrix() -> Outcome<()> {
    let moment = jelly()?;
    let (mut f, mut objective) = (moment.objective()?, moment.objective()?);
    let [z, d] = [5, 6].map(|seed| SplitMix64::new(seed).numbers(f.size()));
    let (mut expected, mut scaled, mut found, mut inverse) = (d.clone(), d.clone(), d.clone(), d.clone());
    let system = f.system_at(&z)?;
    system.apply(&d, &mut expected);
    BlockJacobi::default().build_from(system.system(), &Cpu::new())?.apply(&d, &mut scaled);
    let mut products = Products::new(&mut objective, moment.step().given)?;
    for _ in 0..2 {
        let (a, m) = products.relinearize(&z)?;
        a.apply(&d, &mut found);
        m.apply(&d, &mut inverse);
        for (found, expected) in [(&found, &expected), (&inverse, &scaled)] {
            let size = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let off = found.iter().zip(expected).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            assert!(off <= 1e-12 * size, "{off:e} of {size:e}");
        }
    }
    Ok(())
}

/// All drivers solve the step in contact, each to its tolerance, and end at the same energy.
#[test]
fn drivers_agree() -> Outcome<()> {
    let moment = jelly()?;
    let mut f = moment.objective()?;
    let start = f.start();
    let before = f.value(&start).value;
    let least = f.value(&solve(Driver::PnPcg, moment.step(), None)?.z).value;
    for driver in Driver::ALL {
        let solved = solve(driver, moment.step(), None)?;
        let value = f.value(&solved.z).value;
        assert!(solved.row.converged && solved.trace.len() as f64 == solved.row.outer + 1.0, "{driver}");
        assert!((value - least).abs() <= 1e-3 * (before - least), "{driver}: {before} {value} {least}");
    }
    Ok(())
}

/// Matrices on coarser grids are those that the particles give there, at rest: the systems of a step on those grids.
#[test]
fn coarser_grids_integrate_the_same_particles() -> Outcome<()> {
    let stage = Stage::new("stretched", Some(500))?;
    let state = stage.state.clone();
    let moment = Moment::at(stage, state)?;
    let Step { given, .. } = moment.step();
    let z = vec![0.0; moment.objective()?.size()];
    let (mut before, mut f) = (moment.objective()?, moment.objective()?);
    let (mut f, parameters) = Rediscretised::new(&mut f, 3, moment.step())?;
    let refused = parameters.build_from(before.system_at(&z)?.system(), &Cpu::new());
    assert!(refused.is_err(), "no matrix on coarser grids yet");
    let m = parameters.build_from(f.system_at(&z)?.system(), &Cpu::new())?;
    assert_eq!(m.levels(), 3, "{m}");
    for level in 1..3 {
        let mut particles = given.particles.to_vec();
        let grid = Grid::around(&mut particles, given.grid.dx * f64::from(1 << level))?;
        let nodes = Nodes::from_particles(&grid, &particles, given.bodies);
        let constraints = Constraints::new(&nodes, &[], [0.0, given.dt], given.gravity);
        let (grid, nodes, particles, constraints) = (&grid, &nodes, &particles[..], &constraints);
        let mut coarse = Increment::new(Given { grid, nodes, particles, constraints, ..given })?;
        let expected = &coarse.system_at(&vec![0.0; 3 * nodes.len()])?.matrix;
        let found = m.matrix(level).ok_or("a level")?;
        assert_eq!(found.pattern(), expected.pattern());
        let most = expected.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let off =
            found.values().iter().zip(expected.values()).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(off <= 1e-12 * most, "level {level}: {off:e} of {most:e}");
        assert_eq!(found.asymmetric_pair(0.0), None);
    }
    // They follow the particles from system to system.
    let other = SplitMix64::new(5).numbers(z.len());
    let moved = parameters.build_from(f.system_at(&other)?.system(), &Cpu::new())?;
    let back = parameters.build_from(f.system_at(&z)?.system(), &Cpu::new())?;
    let values = |m: &Option<&Bsr<f64>>| m.map(|a| a.values().to_vec());
    for level in 1..3 {
        let [first, moved, back] = [&m, &moved, &back].map(|m| values(&m.matrix(level)));
        assert!(moved != first && back == first && first.is_some());
    }
    // Rows of P sum to 1, as every coarser node around a node has mass.
    let p = m.prolongation(0).ok_or("a prolongation")?;
    for i in 0..p.pattern().rows() {
        assert_eq!(p.pattern().range(i).map(|at| p.values()[at]).sum::<f64>(), 1.0);
    }
    Ok(())
}
