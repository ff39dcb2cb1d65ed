//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;
use coarsen::{BackendChoice, Unavailable};

/// Conducts heat through a plate or a mesh.
#[derive(Parser)]
pub(crate) struct Options {
    /// Go to the steady state at once.
    #[arg(long)]
    pub(crate) steady: bool,
    /// A mesh instead of the plate.
    #[arg(long, value_name = "FILE")]
    pub(crate) mesh: Option<PathBuf>,
    /// Cells along each side of the plate.
    #[arg(long, default_value_t = 160, value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub(crate) grid: u16,
    /// Steps in time, or at most to the steady state.
    #[arg(long, default_value_t = 48)]
    pub(crate) steps: usize,
    /// The first time step; 0.0004 times the square of the body's length unless given. It doubles every 8 steps.
    #[arg(long, value_parser = positive)]
    pub(crate) dt: Option<f64>,
    /// β in k(u) = k₀ / (1 + β u), per degree.
    #[arg(long, default_value_t = 0.002, value_parser = not_negative)]
    pub(crate) beta: f64,
    /// Degrees around a mesh that it is seen from.
    #[arg(long, default_value_t = 80.0, allow_hyphen_values = true)]
    pub(crate) azimuth: f64,
    /// Folder for pictures.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
    /// Where the solves run: auto, cpu, mixed (the CPU in f64 over f32), opencl, opencl:N.
    #[arg(long, default_value = "cpu")]
    pub(crate) backend: Place,
}

/// The backends to choose from.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// One that is chosen by name.
    Named(BackendChoice),
    /// Vectors in f64 over matrices stored in f32.
    Mixed,
}

impl FromStr for Place {
    type Err = Unavailable;

    fn from_str(text: &str) -> Result<Self, Unavailable> {
        if text == "mixed" { Ok(Self::Mixed) } else { text.parse().map(Self::Named) }
    }
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite()).ok_or("expected a number above 0")
}

/// A number that is 0 or more.
fn not_negative(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|x: &f64| *x >= 0.0 && x.is_finite()).ok_or("expected 0 or a positive number")
}
