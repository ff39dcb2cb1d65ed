//! Command-line options.

use std::path::PathBuf;

use clap::Parser;
use examples_run::arguments::{BackendOption, not_negative, positive};

/// Heat conduction in a plate or a mesh.
#[derive(Parser)]
pub(crate) struct Options {
    /// Compute the steady state only.
    #[arg(long)]
    pub(crate) steady: bool,
    /// Mesh file to use instead of the plate.
    #[arg(long, value_name = "FILE")]
    pub(crate) mesh: Option<PathBuf>,
    /// Cells along each side of the plate.
    #[arg(long, default_value_t = 160, conflicts_with = "mesh", value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub(crate) grid: u16,
    /// Number of time steps; for the steady state, the maximum number of iterations.
    #[arg(long, default_value_t = 48)]
    pub(crate) steps: usize,
    /// First time step, by default 0.0004 times the square of the body's length. It doubles every 8 steps.
    #[arg(long, conflicts_with = "steady", value_parser = positive)]
    pub(crate) dt: Option<f64>,
    /// β in k(u) = k₀ / (1 + β u), per degree.
    #[arg(long, default_value_t = 0.002, value_parser = not_negative)]
    pub(crate) beta: f64,
    /// Azimuth of the camera around a mesh, in degrees.
    #[arg(long, default_value_t = 80.0, requires = "mesh", conflicts_with = "grid", allow_hyphen_values = true, value_parser = finite)]
    pub(crate) azimuth: f64,
    /// Folder for pictures.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Number of threads; 0 uses one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
    /// Backend of the solves: auto, cpu, mixed (the CPU in f64 over f32), opencl, opencl:N.
    #[arg(long, default_value = "cpu")]
    pub(crate) backend: BackendOption,
}

/// Parses a finite number.
fn finite(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or("expected a finite number")
}
