//! A copy of the committed tree with all mutants in it, and its test programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sample::Mutant;
use crate::schema::{self, Mark};
use crate::{CRATES, Error, place};

/// Packages whose tests judge beside those of the sample's own crates.
const JUDGES: [&str; 5] =
    ["coarsen-backend", "coarsen-problems", "coarsen-interop", "coarsen-auto", "coarsen"];
/// Programs that look at files, not at answers.
const NO_JUDGES: [&str; 4] = ["layers", "book", "backends", "fuzz"];

/// Asks the environment once which mutant this process is.
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

/// A test program of the copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Where cargo would run it.
    pub(crate) folder: PathBuf,
}

pub(crate) fn tree(folder: &Path) -> PathBuf {
    folder.join("tree")
}

/// The committed tree, and the commit. A verdict stays where the mutated sources did: tests that are only added or sharpened catch what they caught.
pub(crate) fn checkout(folder: &Path, fresh: bool) -> Result<String, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(&root));
    let commit = git(&["rev-parse", "--short", "HEAD"])?.trim().to_string();
    let trees: Vec<String> = CRATES.iter().map(|c| format!("HEAD:crates/{c}/src")).collect();
    let mut arguments = vec!["rev-parse"];
    arguments.extend(trees.iter().map(String::as_str));
    let sources = git(&arguments)?;
    let kept: Kept =
        if folder.join("kept.json").exists() { read(&folder.join("kept.json"))? } else { Kept::default() };
    if fresh || kept.sources != sources {
        for old in ["sample.json", "left_out.json", "verdicts.json"] {
            remove(&folder.join(old))?;
        }
    }
    let programs = folder.join("programs.json");
    if fresh || kept.sources != sources || kept.commit != commit || !programs.exists() {
        remove(&programs)?;
        let tree = tree(folder);
        if tree.exists() {
            std::fs::remove_dir_all(&tree).map_err(|e| Error::File(tree.clone(), e))?;
        }
        std::fs::create_dir_all(&tree).map_err(|e| Error::File(tree.clone(), e))?;
        let archive = folder.join("tree.tar");
        let archive = archive.to_string_lossy();
        git(&["archive", "--output", &archive, "HEAD"])?;
        output(Command::new("tar").args(["-xf", &archive, "-C", &tree.to_string_lossy()]))?;
    }
    write(&folder.join("kept.json"), &Kept { commit: commit.clone(), sources })?;
    Ok(commit)
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    commit: String,
    sources: String,
}

/// Mutants that are not judged, and why.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    /// They do not compile.
    pub(crate) unviable: BTreeSet<u32>,
    /// They have no place in a schema, and are judged by hand.
    pub(crate) by_hand: BTreeSet<u32>,
}

pub(crate) fn left_out(folder: &Path) -> Result<LeftOut, Error> {
    let path = folder.join("left_out.json");
    if path.exists() { read(&path) } else { Ok(LeftOut::default()) }
}

/// The test programs with all mutants in them. What the compiler refuses is left out, round by round.
pub(crate) fn programs(folder: &Path, mutants: &[Mutant]) -> Result<Vec<Program>, Error> {
    let kept = folder.join("programs.json");
    if kept.exists() {
        return read(&kept);
    }
    let mut left_out = left_out(folder)?;
    let mut sources = BTreeMap::new();
    for mutant in mutants {
        if !sources.contains_key(&mutant.file) {
            let path = tree(folder).join(&mutant.file);
            let text = std::fs::read_to_string(&path).map_err(|e| Error::File(path, e))?;
            sources.insert(mutant.file.clone(), text);
        }
    }
    for name in CRATES {
        let path = tree(folder).join(format!("crates/{name}/src/lib.rs"));
        let text = std::fs::read_to_string(&path).map_err(|e| Error::File(path.clone(), e))?;
        std::fs::write(&path, text + question(name)).map_err(|e| Error::File(path, e))?;
    }
    loop {
        let marks = mutate(folder, mutants, &sources, &mut left_out)?;
        let refused = refused(folder, &marks)?;
        eprintln!("{} mutants do not compile, {} more in this round", left_out.unviable.len(), refused.len());
        if refused.is_empty() {
            break;
        }
        left_out.unviable.extend(refused);
        write(&folder.join("left_out.json"), &left_out)?;
    }
    write(&folder.join("left_out.json"), &left_out)?;
    eprintln!("building the tests");
    let programs = tests(folder)?;
    write(&kept, &programs)?;
    Ok(programs)
}

/// Writes each file with its mutants; the marks of each.
fn mutate(
    folder: &Path,
    mutants: &[Mutant],
    sources: &BTreeMap<String, String>,
    left_out: &mut LeftOut,
) -> Result<BTreeMap<String, Vec<Mark>>, Error> {
    let mut marks = BTreeMap::new();
    for (file, source) in sources {
        let viable = |m: &&Mutant| &m.file == file && !left_out.unviable.contains(&m.number);
        let of_file: Vec<&Mutant> = mutants.iter().filter(viable).collect();
        let (edits, without) = place::edits(file, source, &of_file)?;
        left_out.by_hand.extend(without);
        let (mut text, marks_of_file) = schema::render(source, edits);
        if let Some(name) = CRATES.iter().find(|name| *file == format!("crates/{name}/src/lib.rs")) {
            text += question(name);
        }
        let path = tree(folder).join(file);
        std::fs::write(&path, text).map_err(|e| Error::File(path, e))?;
        marks.insert(file.clone(), marks_of_file);
    }
    Ok(marks)
}

/// What stands at the end of a crate's `lib.rs`, so that the crate can ask.
fn question(name: &str) -> &'static str {
    if name == "core" { QUESTION } else { "\npub use coarsen_core::mutant_is;\n" }
}

/// The mutants at which the compiler stops.
fn refused(folder: &Path, marks: &BTreeMap<String, Vec<Mark>>) -> Result<BTreeSet<u32>, Error> {
    let mut command = cargo(folder, &["check", "--keep-going", "--message-format=json", "--quiet"]);
    CRATES.iter().for_each(|c| _ = command.args(["-p", &format!("coarsen-{c}")]));
    let run = command.output().map_err(|e| Error::Program("cargo check".into(), e))?;
    let mut refused = BTreeSet::new();
    let mut unexplained = String::new();
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().into_iter().flatten().filter(|s| s["is_primary"] == true);
        let before = refused.len();
        for span in spans {
            let file = span["file_name"].as_str().unwrap_or_default();
            let byte = span["byte_start"].as_u64().unwrap_or_default() as usize;
            refused.extend(marks.get(file).and_then(|marks| schema::at_fault(marks, byte)));
        }
        if refused.len() == before {
            unexplained += message["rendered"].as_str().unwrap_or_default();
        }
    }
    if run.status.success() || !refused.is_empty() {
        Ok(refused)
    } else {
        let output = unexplained + &String::from_utf8_lossy(&run.stderr);
        Err(Error::Failed { command: "cargo check".into(), output })
    }
}

/// Builds the tests, and says where they are.
fn tests(folder: &Path) -> Result<Vec<Program>, Error> {
    let mut command =
        cargo(folder, &["test", "--no-run", "--lib", "--tests", "--message-format=json", "--quiet"]);
    CRATES.iter().for_each(|c| _ = command.args(["-p", &format!("coarsen-{c}")]));
    JUDGES.iter().for_each(|package| _ = command.args(["-p", package]));
    let mut programs = Vec::new();
    for line in output(&mut command)?.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
        let name = text(&message["target"]["name"]);
        let test = message["profile"]["test"] == true || message["target"]["kind"][0] == "test";
        if let Some(path) = message["executable"].as_str().filter(|_| test && !NO_JUDGES.contains(&&*name)) {
            let manifest = PathBuf::from(text(&message["manifest_path"]));
            let of = manifest.parent().unwrap_or(Path::new("/")).to_path_buf();
            let package =
                match of.strip_prefix(tree(folder).canonicalize().unwrap_or_default().join("crates")) {
                    Ok(name) => format!("coarsen-{}", name.display()),
                    Err(_) => "coarsen".to_string(),
                };
            programs.push(Program { package, name, path: path.into(), folder: of });
        }
    }
    Ok(programs)
}

fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(tree(folder));
    command.env("CARGO_TARGET_DIR", folder.join("build")).env("RUSTFLAGS", "--cap-lints allow");
    command.env_remove("CARGO_INCREMENTAL");
    command
}

/// What a program prints, which must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let name = format!(
        "{} {}",
        command.get_program().display(),
        command.get_args().next().unwrap_or_default().display()
    );
    let run = command.output().map_err(|e| Error::Program(name.clone(), e))?;
    if run.status.success() {
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    } else {
        Err(Error::Failed { command: name, output: String::from_utf8_lossy(&run.stderr).into_owned() })
    }
}

pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::File(path.to_path_buf(), e))?;
    serde_json::from_str(&text).map_err(|e| Error::Json(path.display().to_string(), e))
}

pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::File(folder.to_path_buf(), e))?;
    }
    let text = serde_json::to_string(value).map_err(|e| Error::Json(path.display().to_string(), e))?;
    std::fs::write(path, text).map_err(|e| Error::File(path.to_path_buf(), e))
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::File(path.to_path_buf(), e)),
        _ => Ok(()),
    }
}
