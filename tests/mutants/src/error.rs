//! Errors.

use std::path::PathBuf;

/// An error, with its context.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("`{0}` did not run: {1}")]
    Program(String, std::io::Error),
    #[error("`{command}` failed:\n{output}")]
    Failed { command: String, output: String },
    #[error("{0} cannot be parsed: {1}")]
    Json(String, serde_json::Error),
    #[error("{0} is not a Rust source: {1}")]
    Source(String, syn::Error),
    #[error("the tests do not compile:\n{0}")]
    Compiler(String),
    #[error("there is no mutant {0}; the list is target/mutants/sample.json")]
    NoMutant(u32),
    #[error("mutant {0} is not in the test programs: it {1}")]
    LeftOut(u32, &'static str),
    #[error("{0} fails without a mutant; its tests must pass first")]
    Baseline(String),
}
