//! Arguments that several examples take, and the start of a program on the backend of its choice.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use coarsen::prelude::*;
use coarsen::{BackendChoice, schwarz};
use examples_scene::options::{self, Options, OptionsError};

use crate::Failure;
use crate::files::OutputError;

/// The available backends.
#[derive(Clone, Copy, Debug)]
pub enum BackendOption {
    /// The CPU in f64.
    Cpu,
    /// Vectors in f64, matrices in f32.
    Mixed,
    /// A backend selected by name.
    Named(BackendChoice),
}

/// A name that no backend has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend `{name}`; use auto, cpu, mixed, opencl, or opencl:N for device N of the list")]
pub struct UnknownBackend {
    /// The name.
    pub name: String,
}

impl FromStr for BackendOption {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        match name {
            "cpu" => Ok(Self::Cpu),
            "mixed" => Ok(Self::Mixed),
            _ => name.parse().map(Self::Named).map_err(|_| UnknownBackend { name: name.to_owned() }),
        }
    }
}

/// A program that runs on any backend.
pub trait Program: Send {
    /// Runs the program.
    fn run<B: schwarz::SchwarzBackend<Real = f64>>(self, backend: B) -> Result<(), Failure>;
}

/// Frames or steps that ended at a limit before they met the tolerance. All files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{failed} of {count} {what} did not converge, so their results depend on where they ended; take {cure}"
)]
pub struct Unconverged {
    /// How many.
    pub failed: usize,
    /// Of how many.
    pub count: usize,
    /// `frames` or `steps`.
    pub what: &'static str,
    /// The options that help.
    pub cure: &'static str,
}

impl Unconverged {
    /// Returns the error of a run, if any frames or steps failed.
    pub fn check(self) -> Result<(), Self> {
        if self.failed == 0 { Ok(()) } else { Err(self) }
    }
}

/// The exit code of a program with this error: 4 for [`Unconverged`], as of the command `coarsen`, otherwise 1.
pub fn exit_code(error: &Failure) -> u8 {
    if error.is::<Unconverged>() { 4 } else { 1 }
}

/// Parses the command line of a program without scenes; it ends with its help, or with the fault.
///
/// # Errors
/// The exit code, as of [`usage`].
pub fn parse<O: Parser>() -> Result<O, ExitCode> {
    O::try_parse().map_err(|told| ExitCode::from(usage(&told)))
}

/// Parses the command line of a program, with defaults of its scene; it ends with its help, or with the fault.
///
/// # Errors
/// The exit code: that of [`usage`], or 1 for a fault of the scene.
pub fn parse_scene<O: Options>() -> Result<O, ExitCode> {
    options::parse(std::env::args_os()).map_err(|error| match error {
        OptionsError::Usage(told) => ExitCode::from(usage(&told)),
        OptionsError::Scene(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    })
}

/// Prints help or a fault of the command line, and returns the exit code. Help that cannot be printed is an error.
pub fn usage(told: &clap::Error) -> u8 {
    match printed(told.print().and_then(|()| io::stdout().flush())) {
        Ok(()) => told.exit_code() as u8,
        Err(error) => {
            eprintln!("error: {error}");
            1
        }
    }
}

/// Prints a line to the standard output. A closed pipe is not an error.
///
/// # Errors
/// [`OutputError::Standard`]
pub fn say(line: impl Display) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    printed(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// The error of the standard output, except that of a closed pipe.
fn printed(done: io::Result<()>) -> Result<(), OutputError> {
    match done {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(OutputError::Standard { kind: error.kind() })
        }
        _ => Ok(()),
    }
}

/// Runs a program on a backend, in one pool of threads (0: one per core), prints its error, and returns [`exit_code`].
pub fn launch(count: usize, backend: BackendOption, program: impl Program) -> ExitCode {
    // The library does not start threads: run everything inside one pool.
    let done = threads(count, || match backend {
        BackendOption::Cpu => program.run(Cpu::new()),
        BackendOption::Mixed => program.run(Cpu::mixed()),
        BackendOption::Named(choice) => {
            AnyBackend::choose(choice).map_err(Box::from).and_then(|backend| program.run(backend))
        }
    });
    match done.map_err(Box::from).flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Parses a positive number.
pub fn positive(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite()).ok_or("expected a finite number above 0")
}

/// Parses a nonnegative number.
pub fn not_negative(text: &str) -> Result<f64, &'static str> {
    text.parse()
        .ok()
        .filter(|x: &f64| *x >= 0.0 && x.is_finite())
        .ok_or("expected 0 or a finite positive number")
}

/// Parses a count.
pub fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|n| *n > 0).ok_or("expected a whole number of 1 or more")
}
