//! Times, iterations and memory of five preconditioners for each problem.

use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::time::Instant;

use coarsen::backend::SetupError;
use coarsen::prelude::*;
use coarsen::problems::{Options, Problem};

use crate::Outcome;

const TOLERANCE: f64 = 1e-6;
/// The memory limit of a factor in bytes.
const FACTOR: usize = 16 << 30;
const LIMIT: usize = 3000;

/// Problems with their time steps in seconds; 0 for a static problem. A longer step increases the stiffness
/// relative to the mass.
const PROBLEMS: [(&str, &[f64]); 13] = [
    ("softbody:9", &[0.002, 0.01, 0.04]),
    ("softbody:20", &[0.002, 0.01, 0.04]),
    ("softbody:43", &[0.002, 0.01, 0.04]),
    ("softbody:66", &[0.002, 0.01, 0.04]),
    ("armadillo", &[0.002, 0.01, 0.04]),
    ("cloth:32", &[0.002, 0.01, 0.04]),
    ("cloth:101", &[0.002, 0.01, 0.04]),
    ("cloth:317", &[0.002, 0.01, 0.04]),
    ("cloth:548", &[0.002, 0.01, 0.04]),
    ("elasticity3d:10", &[0.0]),
    ("elasticity3d:22", &[0.0]),
    ("elasticity3d:46", &[0.0]),
    ("elasticity3d:66", &[0.0]),
];

const METHODS: [&str; 5] = ["sa", "mas", "skinning", "block-jacobi", "direct"];

type Setups = (Box<dyn Prepared<Vec<f64>, f64>>, usize);

pub(crate) fn run(file: &str) -> Outcome<()> {
    let had = read_to_string(file).unwrap_or_default();
    let mut out = OpenOptions::new().create(true).append(true).open(file)?;
    if had.is_empty() {
        writeln!(out, "| problem | method | nodes | setup s | update s | solve s | iterations | MiB |")?;
        writeln!(out, "|---|---|---:|---:|---:|---:|---:|---:|")?;
    }
    for (name, steps) in PROBLEMS {
        for &dt in steps {
            let label = if dt > 0.0 { format!("{name}@{dt}") } else { name.to_owned() };
            let missing = |method: &&&str| !had.contains(&format!("| {label} | {method} |"));
            let methods: Vec<&&str> = METHODS.iter().filter(missing).collect();
            if methods.is_empty() {
                continue;
            }
            let p = problem(name, dt)?;
            for method in methods {
                let row = measured(&p, method).unwrap_or_else(|error| format!("| {error} |||||"));
                let line = format!("| {label} | {method} {row}");
                println!("{line}");
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(())
}

pub(crate) fn problem(name: &str, dt: f64) -> Outcome<Problem> {
    let options = Options { dt: (dt > 0.0).then_some(dt), ..Options::default() };
    let data = || std::env::var("COARSEN_DATA").map_err(|_| "COARSEN_DATA is not set");
    let name = match name {
        "armadillo" => format!("softbody:{}/meshes/ipc_Armadillo13K.msh.gz", data()?),
        other => other.to_owned(),
    };
    Ok(Problem::parse(&name, &options)?)
}

fn measured(p: &Problem, method: &str) -> Outcome<String> {
    let (system, b) = (p.system(), p.right_hand_side(1));
    let nodes = p.matrix.pattern().rows();
    let begin = Instant::now();
    let (mut m, bytes) = built(system, method)?;
    let setup = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    m.update_from(system)?;
    let update = begin.elapsed().as_secs_f64();
    let mut x = vec![0.0; b.len()];
    let mut cg = Cg::new(Stop { max_iterations: LIMIT, ..Stop::relative(TOLERANCE) });
    let begin = Instant::now();
    let report = cg.solve(&p.matrix, &mut m, &b, &mut x)?;
    let solve = begin.elapsed().as_secs_f64();
    let iterations = match report.outcome {
        coarsen::Outcome::Converged => report.iterations.to_string(),
        _ => format!("> {}", report.iterations),
    };
    let mib = bytes as f64 / f64::from(1 << 20);
    Ok(format!("| {nodes} | {setup:.4} | {update:.4} | {solve:.4} | {iterations} | {mib:.1} |"))
}

fn built(system: System<'_, f64>, method: &str) -> Result<Setups, SetupError> {
    let backend = Cpu::mixed();
    Ok(match method {
        "sa" => {
            let m = smoothed_aggregation().build_from(system, &backend)?;
            let bytes = m.bytes();
            (Box::new(m), bytes)
        }
        "skinning" => {
            let m = skinning().build_from(system, &backend)?;
            let bytes = m.bytes();
            (Box::new(m), bytes)
        }
        "mas" => {
            let m = Schwarz::multilevel().build_from(system, &backend)?;
            let bytes = m.bytes();
            (Box::new(m), bytes)
        }
        "block-jacobi" => {
            let m = BlockJacobi::default().build_from(system, &backend)?;
            (Box::new(m), 9 * 4 * system.matrix.pattern().rows())
        }
        _ => {
            let stats = Direct::default().estimate(system.matrix)?.1;
            if stats.bytes > FACTOR {
                return Err(SetupError::Factor { why: format!("a factor of {} MiB", stats.bytes >> 20) });
            }
            let m = Direct::default().build_from(system, &Cpu::new())?;
            (Box::new(m), stats.bytes)
        }
    })
}
