//! Do the kernels of a device reach its memory bandwidth, and what does an iteration cost?
//!
//! The reference is a read-only inner product over two vectors of 16 Mi entries on the same device. The bytes
//! of a kernel are those of the matrix and of each vector that it reads or writes, each counted once. The CPU
//! kernels use all threads, in the same run. If the device is the processor of the host (PoCL), the column
//! `of CPU` shows the overhead of OpenCL.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench opencl --features opencl                     # the first device
//! cargo bench -p coarsen-benches --bench opencl --features opencl -- --device 1 --no-cpu --small
//! ```
//!
//! `benches/gpu/run.sh` runs the same program, prebuilt, on a machine without a compiler.
//!
//! *Output* a table of the minimum times of several samples: ms, GB/s, and the percentages of both
//! references.
//! Times on a device are from the first launch of a batch to the end of the last launch; they include
//! launches but no transfers.

mod iterations;
mod kernels;
mod timing;

use std::error::Error;
use std::fmt::Write;

use coarsen::backend::Cpu;
use coarsen::opencl::{Device, OpenCl, devices};
use coarsen::parallel;
use coarsen::problems::{Options, Problem};
use coarsen::sparse::Bsr;

use kernels::Row;

/// The command-line arguments.
struct Arguments {
    device: Option<usize>,
    cpu: bool,
    /// Uses a fraction of the usual sizes, for machines with little memory or time.
    small: bool,
}

impl Arguments {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut found = Self { device: None, cpu: true, small: false };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => (), // passed by cargo
                "--no-cpu" => found.cpu = false,
                "--small" => found.small = true,
                "--device" => found.device = Some(words.next().ok_or("--device takes a number")?.parse()?),
                other => {
                    return Err(
                        format!("there is no option {other}; choose --device, --no-cpu or --small").into()
                    );
                }
            }
        }
        Ok(found)
    }

    fn device(&self) -> Result<&'static Device, Box<dyn Error>> {
        let all = devices()?;
        let first = all.iter().find(|d| d.accelerator).or(all.first());
        let device = self.device.map_or(first, |index| all.get(index));
        device.ok_or_else(|| format!("there are {} devices", all.len()).into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let device = arguments.device()?;
    let cores = std::thread::available_parallelism()?.get();
    let text = parallel::threads(cores, || run(&arguments, device, cores).map_err(|e| e.to_string()))??;
    print!("{text}");
    Ok(())
}

/// All tables as Markdown.
fn run(arguments: &Arguments, device: &Device, cores: usize) -> Result<String, Box<dyn Error>> {
    let mut rows = Vec::new();
    let systems = systems(arguments.small)?;
    let single = OpenCl::<f32>::new(device)?;
    let double = if device.double { Some(OpenCl::<f64>::new(device)?) } else { None };
    let length = if arguments.small { 1 << 20 } else { 16 << 20 };
    if let Some(backend) = &double {
        kernels::vectors(backend, length, arguments.cpu, &mut rows)?;
    }
    kernels::vectors(&single, length, arguments.cpu, &mut rows)?;
    for (name, a) in &systems {
        if let Some(backend) = &double {
            kernels::matrices(backend, name, a, arguments.cpu.then(Cpu::new), &mut rows)?;
        }
        kernels::matrices(&single, name, a, arguments.cpu.then(Cpu::single), &mut rows)?;
    }
    let mut text = format!("{device}; beside it the CPU on {cores} threads\n\n");
    text += "| what | kernel | scalar | ms | GB/s | of dot | CPU GB/s | of CPU |\n|---|---|---|---|---|---|---|---|\n";
    rows.iter().try_for_each(|row: &Row| writeln!(text, "{}", row.line(&rows)))?;
    if let Some(backend) = &double {
        text += "\n| system | method | iterations | ms an iteration | launches an iteration | CPU ms an iteration |\n";
        text += "|---|---|---|---|---|---|\n";
        for (name, a) in &systems {
            iterations::table(backend, name, a, arguments.cpu, &mut text)?;
        }
    }
    Ok(text)
}

/// Matrices with 1x1 and 3x3 blocks from the gallery.
fn systems(small: bool) -> Result<Vec<(&'static str, Bsr<f64>)>, Box<dyn Error>> {
    let names =
        if small { ["poisson3d:40", "elasticity3d:16"] } else { ["poisson3d:100", "elasticity3d:40"] };
    let mut list = Vec::new();
    for name in names {
        list.push((name, Problem::parse(name, &Options::default())?.matrix));
    }
    Ok(list)
}
