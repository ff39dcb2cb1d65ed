//! What goes wrong.

use std::path::PathBuf;

/// What went wrong, and where.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("`{0}` did not run: {1}")]
    Program(String, std::io::Error),
    #[error("`{command}` failed:\n{output}")]
    Failed { command: String, output: String },
    #[error("{0} is not what this program reads: {1}")]
    Json(String, serde_json::Error),
    #[error("{0} is no Rust source: {1}")]
    Source(String, syn::Error),
    #[error("the tests do not compile:\n{0}")]
    Compiler(String),
    #[error("no mutant is numbered {0}; the list is target/mutants/sample.json")]
    NoMutant(u32),
    #[error("mutant {0} is not in the test programs: it {1}")]
    LeftOut(u32, &'static str),
    #[error("{0} fails without a mutant; its tests must pass first")]
    Baseline(String),
}
