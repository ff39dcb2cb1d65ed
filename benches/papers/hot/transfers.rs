//! What does a time step move to a device and back? Needs `--features opencl` and an OpenCL device.

use coarsen::Transfers;
use coarsen::descent::Driver;
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use mpm::solver::Minimizer;

use crate::compare::{FRAMES, SOME};
use crate::method::Hot;
use crate::moment::Moment;
use crate::stage::options;
use crate::{Asked, Outcome};

/// The drivers whose vectors lie on the backend.
const DRIVERS: [Driver; 5] = [Driver::Hot, Driver::LbfgsH, Driver::LbfgsMas, Driver::PnPcg, Driver::PnMgpcg];

/// Counts the transfers of a step by each driver, after one that has filled its memory, and those of a refresh of the
/// hierarchy of HOT.
pub(crate) fn run(asked: &Asked) -> Outcome<()> {
    let backend: AnyBackend<f64> = AnyBackend::choose("opencl".parse()?)?;
    let (particles, frames) = (asked.particles(), asked.frames.unwrap_or(FRAMES));
    println!(
        "\n`transfers`: one time step after {frames} frames, {particles} particles, on {}\n",
        backend.name()
    );
    println!(
        "| scene | nodes | what | iterations | of CG | synchronisations | uploads | MB | downloads | MB |"
    );
    println!("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|");
    let own: Vec<String> = SOME.iter().map(|scene| (*scene).to_owned()).collect();
    for scene in asked.scenes.as_ref().unwrap_or(&own) {
        let moment = Moment::new(scene, particles, frames, &asked.states)?;
        for driver in DRIVERS {
            let mut minimizer = Minimizer::new(&options(driver)?, backend.clone());
            let mut step = || {
                let (mut f, before) = (moment.objective()?, backend.transfers());
                let nodes = f.size() / 3;
                let solved = minimizer.solve(&mut f)?;
                Outcome::Ok((nodes, solved.iterations, backend.transfers() - before))
            };
            step()?;
            let (nodes, [outer, inner], moved) = step()?;
            println!("| {scene} | {nodes} | {driver} | {outer} | {inner} | {}", text(moved));
        }
        let mut f = moment.objective()?;
        let (parameters, z) = (Hot::default().parameters(&f), f.start());
        let nodes = f.size() / 3;
        let system = f.system_at(&z)?.system();
        let mut m = parameters.build_from(system, &backend)?;
        let before = backend.transfers();
        m.update(system)?;
        println!("| {scene} | {nodes} | a refresh | | | {}", text(backend.transfers() - before));
    }
    Ok(())
}

fn text(moved: Transfers) -> String {
    let Transfers { synchronisations, uploads, sent, downloads, received } = moved;
    let [sent, received] = [sent, received].map(|bytes| bytes as f64 / 1e6);
    format!("{synchronisations} | {uploads} | {sent:.2} | {downloads} | {received:.2} |")
}
