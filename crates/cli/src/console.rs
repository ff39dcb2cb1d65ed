//! Printing, and the format of numbers.

use std::io::Write;

/// Prints to the standard output. A closed pipe is not an error.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
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
