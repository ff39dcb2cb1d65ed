//! Records the commit of the sources for reports, in release builds: so that a commit builds no test again.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("PROFILE").is_none_or(|profile| profile != "release") {
        return;
    }
    if let Some(commit) = of_package().or_else(of_repository) {
        println!("cargo::rustc-env=COARSEN_COMMIT={commit}");
    }
}

/// The commit of a published package.
fn of_package() -> Option<String> {
    let file = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, commit) = file.split_once("\"sha1\": \"")?;
    commit.get(..12).map(str::to_owned)
}

/// The commit of a clone that has this file.
fn of_repository() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// What Git prints, if it succeeds.
fn git(words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}
