//! The tables of methods on scenes.

use coarsen::descent::Driver;
use coarsen::multigrid::{Coarsest, JacobiCg, ResidualReference, Smoothing};
use coarsen::node_embedding::Kernel;
use coarsen::prelude::*;
use coarsen::relax::DampedJacobi;

use mpm::state::State;

use crate::full;
use crate::method::{Hot, How, sweep};
use crate::moment::Moment;
use crate::rows::{Results, Row};
use crate::stage::Stage;
use crate::states::{ALL, folder, states};
use crate::{Asked, Outcome};

/// The scenes of the other tables: contrasts of 1e4, soft bodies, metal.
pub(crate) const SOME: [&str; 4] = ["twist", "chain", "faceless", "wheel"];

/// The drivers of the table of solvers.
const DRIVERS: [Driver; 9] = [
    Driver::Hot,
    Driver::LbfgsH,
    Driver::PnPcg,
    Driver::PnMf,
    Driver::PnMgpcg,
    Driver::LbfgsSa,
    Driver::LbfgsMas,
    Driver::NewtonSa,
    Driver::NewtonMas,
];

/// The frames before the step.
pub(crate) const FRAMES: usize = 12;

/// A table: its name, its scenes and its methods.
struct Table {
    name: &'static str,
    scenes: &'static [&'static str],
    methods: Vec<(String, How)>,
}

fn tables() -> [Table; 9] {
    let hot = |change: &dyn Fn(&mut Hot)| {
        let mut hot = Hot::default();
        change(&mut hot);
        How::Hot(hot)
    };
    let sweeps = [("block Jacobi", Driver::PnPcg), ("Gauss-Seidel", Driver::PnSgsPcg)];
    let kernels = [
        ("linear", hot(&|_| ())),
        ("quadratic", hot(&|hot| hot.kernel = Kernel::Quadratic)),
        ("from particles", How::Driver(Driver::LbfgsGmg)),
    ];
    let cg = |reduction| Coarsest::Iterative(JacobiCg { reduction, ..JacobiCg::default() });
    let reference = ResidualReference::RightHandSide;
    let of_b = Coarsest::Iterative(JacobiCg { reference, ..JacobiCg::default() });
    let coarsest = [
        ("CG to 0.5", cg(0.5)),
        ("CG to 0.5 of b", of_b),
        ("CG to 0.1", cg(0.1)),
        ("CG to 0.01", cg(0.01)),
        ("factor", Coarsest::Factor),
    ];
    let smoothers = [
        ("symmetric Gauss-Seidel", Smoothing::SymmetricGaussSeidel(sweep())),
        ("forward and backward Gauss-Seidel", Smoothing::GaussSeidel(sweep())),
        (
            "damped Jacobi",
            Smoothing::DampedJacobi(DampedJacobi { symmetric: true, ..DampedJacobi::default() }),
        ),
        ("Chebyshev", Smoothing::Chebyshev(Chebyshev { symmetric: true, ..Chebyshev::default() })),
    ];
    let geometric = [
        ("block Jacobi", Driver::PnPcg),
        ("from particles", Driver::PnGmgPcg),
        ("node embedding", Driver::PnMgpcg),
    ];
    let with = |change: &dyn Fn(&mut Hot)| match hot(change) {
        How::Hot(hot) => How::Newton(hot),
        other => other,
    };
    let newton = [
        ("3 levels", with(&|_| ())),
        ("2 levels", with(&|hot| hot.levels = 2)),
        ("4 levels", with(&|hot| hot.levels = 4)),
        ("5 levels", with(&|hot| hot.levels = 5)),
        ("quadratic", with(&|hot| hot.kernel = Kernel::Quadratic)),
        ("CG to 0.5 of b", with(&|hot| hot.coarsest = of_b)),
        ("CG to 0.01", with(&|hot| hot.coarsest = cg(0.01))),
        ("factor", with(&|hot| hot.coarsest = Coarsest::Factor)),
        ("Chebyshev", with(&|hot| hot.smoothing = smoothers[3].1)),
    ];
    let named = |(name, how): (&str, How)| (name.to_owned(), how);
    let of_driver = |(name, driver): (&str, Driver)| named((name, How::Driver(driver)));
    [
        Table { name: "sweeps", scenes: &ALL, methods: sweeps.map(of_driver).into() },
        Table {
            name: "solvers",
            scenes: &ALL,
            methods: DRIVERS.map(|driver| of_driver((driver.name(), driver))).into(),
        },
        Table { name: "geometric", scenes: &["armacat:1e9"], methods: geometric.map(of_driver).into() },
        Table { name: "newton", scenes: &["armacat:1e9"], methods: newton.map(named).into() },
        Table { name: "kernels", scenes: &SOME, methods: kernels.map(named).into() },
        Table {
            name: "levels",
            scenes: &SOME,
            methods: (1..6).map(|k| (k.to_string(), hot(&|hot| hot.levels = k))).collect(),
        },
        Table {
            name: "window",
            scenes: &SOME,
            methods: [0, 1, 2, 4, 8, 16].map(|k| (k.to_string(), hot(&|hot| hot.window = k))).into(),
        },
        Table {
            name: "coarsest",
            scenes: &SOME,
            methods: coarsest.map(|(name, it)| named((name, hot(&|hot| hot.coarsest = it)))).into(),
        },
        Table {
            name: "smoothers",
            scenes: &SOME,
            methods: smoothers.map(|(name, it)| named((name, hot(&|hot| hot.smoothing = it)))).into(),
        },
    ]
}

/// The names of the tables.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    tables().into_iter().map(|table| table.name)
}

/// The states of the run of a scene, or none for a start from rest.
fn sources(scene: &str, asked: &Asked) -> Outcome<Vec<Option<State>>> {
    let Some(runs) = &asked.runs else { return Ok(vec![None]) };
    let states = states(&folder(runs, scene))?.into_iter().take(asked.most);
    Ok(states.map(|(_, state)| Some(state)).collect())
}

/// Measures the missing rows of a table, and prints it.
pub(crate) fn run(name: &str, asked: &Asked, results: &mut Results) -> Outcome<()> {
    let table = tables().into_iter().find(|table| table.name == name).ok_or("no such table")?;
    let (particles, frames) = (asked.particles(), asked.frames.unwrap_or(FRAMES));
    let own: Vec<String> = table.scenes.iter().map(|scene| (*scene).to_owned()).collect();
    match &asked.runs {
        Some(_) => println!("\n`{name}`: one time step after each state\n"),
        None => println!("\n`{name}`: one time step after {frames} frames, {particles} particles\n"),
    }
    println!("| scene, frame | nodes | method | iterations | of CG | s | blocks by level |");
    println!("|---|---:|---|---:|---:|---:|---|");
    // A state of a run may have the particles and the frame of a start from rest.
    let named = if asked.runs.is_some() { format!("{name}-runs") } else { name.to_owned() };
    for scene in asked.scenes.as_ref().unwrap_or(&own) {
        for mut state in sources(scene, asked)? {
            let of = |state: &State| [state.particles.len(), state.frame];
            let size = state.as_ref().map_or([particles, frames], of);
            let mut moment = None;
            for (method, how) in &table.methods {
                let key = Row::key((&named, asked.threads), scene, size, method);
                let row = results.get(key, || {
                    let moment = match &mut moment {
                        Some(moment) => moment,
                        none => none.insert(match state.take() {
                            Some(state) => full::begin(Stage::new(scene, asked.particles)?, state)?,
                            None => Moment::new(scene, particles, frames, &asked.states)?,
                        }),
                    };
                    how.solve(moment)
                })?;
                let Row { nodes, converged, outer, inner, seconds, blocks, .. } = row;
                let fell_short = if converged { "" } else { "*" };
                let blocks: Vec<String> = blocks.iter().map(usize::to_string).collect();
                let blocks = blocks.join(" / ");
                println!(
                    "| {scene}, {} | {nodes} | {method} | {outer:.0}{fell_short} | {inner:.0} | {seconds:.2} | {blocks} |",
                    size[1],
                );
            }
        }
    }
    Ok(())
}
