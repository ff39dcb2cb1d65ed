//! A copy of the committed tree with all mutants, and its test programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::mutant::{CRATES, Mutant};
use crate::refuse::{Files, Refused};
use crate::{edit, files, schema};

/// Packages whose tests are run on mutants, in addition to the tests of the crates of the sample.
const JUDGES: [&str; 7] = [
    "coarsen-matrix-market",
    "coarsen-constraints",
    "coarsen-diagnose",
    "coarsen-backend",
    "coarsen-problems",
    "coarsen-auto",
    "coarsen",
];
/// Test programs that are not run, because they check files instead of results.
const NO_JUDGES: [&str; 4] = ["layers", "book", "backends", "fuzz"];

/// Lints of generated code are ignored.
const SCHEMA: &str = "--cap-lints allow";

/// Reads the number of the active mutant from the environment, once per process.
const QUESTION: &str = r#"
#[inline(always)]
pub fn mutant_is(number: u32) -> bool {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    #[cold]
    fn ask() -> u32 {
        let chosen = std::env::var("MUTANT").ok().and_then(|m| m.parse().ok()).unwrap_or(u32::MAX - 1);
        CHOSEN.store(chosen, Relaxed);
        chosen
    }
    let chosen = CHOSEN.load(Relaxed);
    number == if chosen == u32::MAX { ask() } else { chosen }
}
"#;

/// Makes the query of `core` available in another crate.
const AGAIN: &str = "\npub use coarsen_core::mutant_is;\n";

/// Test programs that compile files of `src` again.
const COMPILE_SRC_AGAIN: [&str; 3] =
    ["crates/sparse/tests/sparse/main.rs", "crates/schwarz/tests/schwarz/main.rs", "tests/multigrid/main.rs"];

/// A test program of the copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder in which cargo runs the program.
    pub(crate) folder: PathBuf,
}

impl Program {
    /// Whether the program has the tests of the mutant's crate: in the root package it is `multigrid`.
    pub(crate) fn is_of(&self, mutant: &Mutant) -> bool {
        let package = mutant.tested_by();
        self.package == package && (package == mutant.package || self.name == "multigrid")
    }
}

pub(crate) fn tree(folder: &Path) -> PathBuf {
    folder.join("tree")
}

/// The state of the folder, stored in `kept.json`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) commit: String,
    sources: String,
    /// The requested number of mutants per crate.
    pub(crate) wanted: usize,
}

/// Exports the committed tree. If the mutated sources or the requested number of mutants have changed,
/// everything starts again. After any other commit only the build is repeated, and the verdicts are kept.
pub(crate) fn checkout(folder: &Path, fresh: bool, wanted: Option<usize>) -> Result<Kept, Error> {
    let commit = git(&["rev-parse", "--short", "HEAD"])?.trim().to_string();
    let trees: Vec<String> = CRATES.iter().map(|c| format!("{commit}:crates/{c}/src")).collect();
    let mut arguments = vec!["rev-parse"];
    arguments.extend(trees.iter().map(String::as_str));
    let sources = git(&arguments)?;
    // A file that cannot be parsed was written by another version of this program.
    let path = folder.join("kept.json");
    let kept: Option<Kept> = files::read(&path).ok().filter(|kept: &Kept| !fresh && kept.sources == sources);
    let kept = kept.filter(|kept| wanted.is_none_or(|wanted| wanted == kept.wanted));
    if kept.is_none() {
        for old in ["sample.json", "left_out.json", "verdicts.json"] {
            files::remove(&folder.join(old))?;
        }
    }
    let programs = folder.join("programs.json");
    if kept.as_ref().is_none_or(|kept| kept.commit != commit) || !programs.exists() {
        files::remove(&programs)?;
        export(folder, &commit)?;
    }
    let wanted = wanted.or(kept.map(|kept| kept.wanted)).unwrap_or(200);
    let kept = Kept { commit, sources, wanted };
    files::write(&path, &kept)?;
    Ok(kept)
}

/// A copy of the tree of a commit. The files get the current time, so that cargo builds them.
pub(crate) fn export(folder: &Path, commit: &str) -> Result<(), Error> {
    let tree = tree(folder);
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|e| Error::File(tree.clone(), e))?;
    }
    fs::create_dir_all(&tree).map_err(|e| Error::File(tree.clone(), e))?;
    let archive = folder.join("tree.tar");
    let archive = archive.to_string_lossy();
    git(&["archive", "--output", &archive, commit])?;
    files::output(Command::new("tar").args(["-xmf", &archive, "-C", &tree.to_string_lossy()]))?;
    Ok(())
}

fn git(arguments: &[&str]) -> Result<String, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    files::output(Command::new("git").args(arguments).current_dir(root))
}

/// Mutants that are not in the programs, with the reason.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    /// The mutants that do not compile.
    pub(crate) unviable: BTreeSet<u32>,
    /// Mutants left out only because they are nearest to a compiler error. These mutants are tried again.
    guessed: BTreeSet<u32>,
    /// Mutants that cannot be part of a schema and are judged one at a time.
    pub(crate) alone: BTreeSet<u32>,
}

impl LeftOut {
    pub(crate) fn read(folder: &Path) -> Result<LeftOut, Error> {
        files::read_or_default(&folder.join("left_out.json"))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        files::write(&folder.join("left_out.json"), self)
    }
}

/// Builds the test programs with all mutants. Mutants that the compiler rejects are left out, round by round.
pub(crate) fn programs(
    folder: &Path,
    mutants: &[Mutant],
    left_out: &mut LeftOut,
) -> Result<Vec<Program>, Error> {
    let kept = folder.join("programs.json");
    if kept.exists() {
        return files::read(&kept);
    }
    let mut sources = BTreeMap::new();
    for mutant in mutants {
        if !sources.contains_key(&mutant.file) {
            sources.insert(mutant.file.clone(), files::text(&tree(folder).join(&mutant.file))?);
        }
    }
    for name in CRATES {
        let path = tree(folder).join(format!("crates/{name}/src/lib.rs"));
        files::put(&path, &(files::text(&path)? + question(name)))?;
    }
    for program in COMPILE_SRC_AGAIN {
        let path = tree(folder).join(program);
        files::put(&path, &(files::text(&path)? + AGAIN))?;
    }
    loop {
        let refused = check(folder, &mutate(folder, mutants, &sources, left_out)?)?;
        let more = refused.named.len() + refused.guessed.len();
        eprintln!("{} mutants do not compile, {more} more in this round", left_out.unviable.len());
        if refused.is_empty() {
            break;
        }
        left_out.unviable.extend(refused.named.iter().chain(&refused.guessed));
        left_out.guessed.extend(refused.guessed);
        left_out.write(folder)?;
    }
    for number in left_out.guessed.clone() {
        eprintln!("{number} was left out by a guess, and is tried once more");
        left_out.unviable.remove(&number);
        if !check(folder, &mutate(folder, mutants, &sources, left_out)?)?.is_empty() {
            left_out.unviable.insert(number);
        }
        left_out.guessed.remove(&number);
        left_out.write(folder)?;
    }
    mutate(folder, mutants, &sources, left_out)?;
    left_out.write(folder)?;
    eprintln!("building the tests");
    let packages: Vec<String> = CRATES.iter().map(|c| format!("coarsen-{c}")).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).chain(JUDGES).collect();
    let programs = tests(folder, &packages, SCHEMA)?;
    files::write(&kept, &programs)?;
    Ok(programs)
}

/// Writes each file with its mutants, if its content changes.
fn mutate(
    folder: &Path,
    mutants: &[Mutant],
    sources: &BTreeMap<String, String>,
    left_out: &mut LeftOut,
) -> Result<Files, Error> {
    let mut written = Files::new();
    for (file, source) in sources {
        let viable = |m: &&Mutant| &m.file == file && !left_out.unviable.contains(&m.number);
        let of_file: Vec<&Mutant> = mutants.iter().filter(viable).collect();
        let (edits, without) = edit::edits(file, source, &of_file)?;
        left_out.alone.extend(without);
        let (mut text, marks) = schema::render(source, edits);
        if let Some(name) = CRATES.iter().find(|name| *file == format!("crates/{name}/src/lib.rs")) {
            text += question(name);
        }
        let path = tree(folder).join(file);
        if files::text(&path)? != text {
            files::put(&path, &text)?;
        }
        written.insert(file.clone(), (text, marks));
    }
    Ok(written)
}

/// The code at the end of a crate's `lib.rs` that makes the query available.
fn question(name: &str) -> &'static str {
    if name == "core" { QUESTION } else { AGAIN }
}

/// The mutants with compiler errors.
fn check(folder: &Path, files: &Files) -> Result<Refused, Error> {
    let mut command = cargo(folder, &["check", "--keep-going", "--message-format=json", "--quiet"], SCHEMA);
    CRATES.iter().for_each(|c| _ = command.args(["-p", &format!("coarsen-{c}")]));
    let run = command.output().map_err(|e| Error::Program("cargo check".into(), e))?;
    let refused = Refused::read(&String::from_utf8_lossy(&run.stdout), files);
    if run.status.success() || !refused.is_empty() {
        Ok(refused)
    } else {
        let output = refused.unexplained + &String::from_utf8_lossy(&run.stderr);
        Err(Error::Failed { command: "cargo check".into(), output })
    }
}

/// Builds the tests of some packages and returns their paths.
pub(crate) fn tests(folder: &Path, packages: &[&str], flags: &str) -> Result<Vec<Program>, Error> {
    let arguments = ["test", "--no-run", "--tests", "--message-format=json", "--quiet"];
    let mut command = cargo(folder, &arguments, flags);
    packages.iter().for_each(|package| _ = command.args(["-p", package]));
    let run = command.output().map_err(|e| Error::Program("cargo test".into(), e))?;
    let output = String::from_utf8_lossy(&run.stdout);
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    if !run.status.success() {
        let errors = messages.filter(|m| m["message"]["level"] == "error");
        let errors: String =
            errors.filter_map(|m| m["message"]["rendered"].as_str().map(str::to_string)).collect();
        let output = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(match &*errors {
            "" => Error::Failed { command: "cargo test".into(), output },
            _ => Error::Compiler(errors),
        });
    }
    let crates = tree(folder).canonicalize().unwrap_or_default().join("crates");
    let program = |message: Value| {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
        let name = text(&message["target"]["name"]);
        let test = message["profile"]["test"] == true || message["target"]["kind"][0] == "test";
        let path = message["executable"].as_str().filter(|_| test && !NO_JUDGES.contains(&&*name))?;
        let manifest = PathBuf::from(text(&message["manifest_path"]));
        let folder = manifest.parent().unwrap_or(Path::new("/")).to_path_buf();
        let package = match folder.strip_prefix(&crates) {
            Ok(name) => format!("coarsen-{}", name.display()),
            Err(_) => "coarsen".to_string(),
        };
        Some(Program { package, name, path: path.into(), folder })
    };
    Ok(messages.filter_map(program).collect())
}

fn cargo(folder: &Path, arguments: &[&str], flags: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(tree(folder));
    command.env("CARGO_TARGET_DIR", folder.join("build")).env("RUSTFLAGS", flags);
    command.env_remove("CARGO_INCREMENTAL");
    command
}
