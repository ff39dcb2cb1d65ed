//! Printing, and the format of numbers.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::files::{Named, is_standard};
use crate::error::Failure;

/// Prints to the standard output. A closed pipe is not an error.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints help, or a fault of the command line, and returns the exit code.
pub(crate) fn usage(told: &clap::Error) -> ExitCode {
    match printed(told.print().and_then(|()| std::io::stdout().flush())) {
        Ok(()) => ExitCode::from(told.exit_code() as u8),
        Err(mut failure) => {
            complain(&format!("error: {}\n", failure.words()));
            ExitCode::from(failure.code())
        }
    }
}

fn printed(done: std::io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::write(Path::new("<stdout>"))(error))
        }
        _ => Ok(()),
    }
}

/// Prints text for people: to the standard output, or to the standard error if an output is written there.
pub(crate) fn report(text: &str, outputs: &[Named<'_>]) -> Result<(), Failure> {
    if outputs.iter().any(|(_, file)| is_standard(file)) {
        complain(text);
        return Ok(());
    }
    say(text)
}

/// Prints to the standard error. A closed pipe is not an error.
pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Converts bytes to MiB.
pub(crate) fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// `1 thread`, `2 threads`, `3 entries`, `4 refreshes`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if n == 1 => format!("1 {what}"),
        Some(stem) => format!("{n} {stem}ies"),
        None if what.ends_with("sh") => format!("{n} {what}es"),
        None => format!("{n} {what}s"),
    }
}
