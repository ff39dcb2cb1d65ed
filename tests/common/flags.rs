//! Whether each option that a program lists changes what a run prints or writes, or is refused.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An option, a run, and words that change it.
pub(crate) type Case = (&'static str, &'static str, &'static str);

/// The options that a help lists, also where it was printed in colours.
pub(crate) fn listed(help: &[u8]) -> BTreeSet<String> {
    let help = String::from_utf8_lossy(help);
    let mut parts = help.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let help = parts.filter_map(|part| part.split_once('m')).fold(first, |all, (_, part)| all + part);
    let names = help.lines().map(str::trim_start).map(|line| line.strip_prefix("-h, ").unwrap_or(line));
    let names = names.filter_map(|line| line.strip_prefix("--")?.split(' ').next().map(str::to_owned));
    names.filter(|name| !["help", "version"].contains(&name.as_str())).collect()
}

/// Checks that there is a case for each listed option, and that its words change the traces of its run. Words that begin
/// with `-` are added to the run, others replace it. `@` stands for `words`, which all runs have. Two threads make the runs.
pub(crate) fn check(
    what: &str,
    listed: &BTreeSet<String>,
    words: &str,
    cases: &[Case],
    traces: impl Fn(&str) -> Vec<String> + Sync,
) {
    let here: Vec<_> = cases.iter().filter(|case| listed.contains(case.0)).collect();
    let tested: BTreeSet<String> = here.iter().map(|case| case.0.to_owned()).collect();
    assert_eq!(*listed, tested, "options of {what}, and options with a case");
    let pairs = here.iter().map(|(option, run, change)| {
        let run = run.replace('@', words);
        let changed = match change.starts_with('-') {
            true => format!("{run} {change}"),
            false => change.replace('@', words),
        };
        (option, run, changed)
    });
    let pairs: Vec<_> = pairs.collect();
    let all: BTreeSet<&str> =
        pairs.iter().flat_map(|(_, run, changed)| [run.as_str(), changed.as_str()]).collect();
    let bases: BTreeSet<&str> = pairs.iter().map(|(_, run, _)| run.as_str()).collect();
    let done = two_at_once(&all.into_iter().collect::<Vec<_>>(), &traces);
    let mut idle = Vec::new();
    for (option, run, changed) in &pairs {
        let after = &done[changed.as_str()];
        let is_twice = after.iter().any(|line| line.contains("cannot be used multiple times"));
        assert!(!is_twice, "--{option} is refused because it is there twice: {changed}");
        if *after == done[run.as_str()] {
            idle.push(format!("--{option}: {run} / {changed}"));
        }
    }
    assert!(idle.is_empty(), "options of {what} without effect: {idle:#?}");
    // What is no option has an effect on the trace, or the cases above say nothing.
    let some: Vec<&str> = bases.into_iter().take(2).collect();
    for (run, again) in two_at_once(&some, &traces) {
        assert_eq!(again, done[run], "{run} is not the same twice");
    }
}

/// The traces of all runs, which two threads take one by one.
fn two_at_once<'a>(
    runs: &[&'a str],
    traces: &(impl Fn(&str) -> Vec<String> + Sync),
) -> BTreeMap<&'a str, Vec<String>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some(&run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = traces(run);
            done.lock().unwrap().insert(run, found);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    done.into_inner().unwrap()
}

/// A folder that is deleted after the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("coarsen-flags-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An example, and the files that its options name.
pub(crate) struct Example {
    /// The path of the program, after the words of another one that starts it.
    pub(crate) program: &'static [&'static str],
    /// Writes the files into a folder.
    pub(crate) files: fn(&Path),
}

impl Example {
    /// The program with words, in a folder.
    fn command(&self, folder: &Path, words: &str) -> Command {
        let mut command = Command::new(self.program[0]);
        command.args(&self.program[1..]).args(words.split_whitespace());
        command.current_dir(folder).env_remove("COARSEN_BACKEND");
        command
    }

    /// Runs the program in a folder.
    pub(crate) fn run(&self, folder: &Path, words: &str) -> Output {
        self.command(folder, words).output().unwrap()
    }

    /// The options of its help.
    pub(crate) fn listed(&self) -> BTreeSet<String> {
        listed(&self.run(Path::new("."), "--help").stdout)
    }

    /// Checks that a help and a run which cannot be printed are errors, by the exit code and in words, and that a pipe which is
    /// closed is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn check_full(&self, words: &str) {
        let ended = |words: &str, out: std::process::Stdio| {
            let folder = Folder::new();
            (self.files)(&folder.0);
            let done = self.command(&folder.0, words).stdout(out).output().unwrap();
            (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
        };
        for words in ["--help", words] {
            let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let (code, err) = ended(words, full.into());
            assert!(code == Some(1) && err.contains("<stdout>: cannot be written"), "{words}: {err}");
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let (code, err) = ended(words, writer.into());
            assert!(matches!(code, Some(0 | 4)) && !err.contains("<stdout>"), "{words}: {code:?} {err}");
        }
    }

    /// What a run prints and writes, without times and memory; `a && b` is run a, and then run b with its files.
    pub(crate) fn traces(&self, words: &str) -> Vec<String> {
        let folder = Folder::new();
        (self.files)(&folder.0);
        let before = all_files(&folder.0);
        let mut traces = Vec::new();
        for words in words.split(" && ") {
            let output = self.run(&folder.0, words);
            traces.push(format!("code {:?}", output.status.code()));
            for text in [output.stdout, output.stderr] {
                traces.extend(untimed(&without_mpirun(&String::from_utf8_lossy(&text)), false));
            }
        }
        for file in all_files(&folder.0).difference(&before) {
            let name = file.strip_prefix(&folder.0).unwrap().display().to_string();
            let bytes = std::fs::read(file).unwrap();
            if name.ends_with(".csv") || name.ends_with(".txt") {
                let lines = untimed(&String::from_utf8_lossy(&bytes), name.ends_with(".csv"));
                traces.extend(lines.into_iter().map(|line| format!("{name}: {line}")));
            } else {
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                traces.push(format!("{name} {:x}", hasher.finish()));
            }
        }
        traces
    }
}

/// The files below a folder.
fn all_files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { all_files(&path) } else { BTreeSet::from([path]) }).collect()
}

/// A text without what `mpirun` adds after an error, between lines of dashes: the numbers of processes.
fn without_mpirun(text: &str) -> String {
    let mut is_inside = false;
    let is_own = |line: &&str| {
        let is_border = line.starts_with("----------");
        is_inside ^= is_border;
        !is_border && !is_inside
    };
    text.lines().filter(is_own).map(|line| format!("{line}\n")).collect()
}

/// Whether the name of a column or of a line tells of a time, or of the memory of a process.
fn is_time(name: &str) -> bool {
    ["_s", ", s", "seconds", "fps", "per second", "_mib", "MiB"]
        .iter()
        .any(|end| name.trim_end().ends_with(end))
}

/// The lines of a text without those of times; of a table, whose first line names its columns, without columns of times.
fn untimed(text: &str, is_table: bool) -> Vec<String> {
    let timed: Vec<bool> = text.lines().next().unwrap_or_default().split(',').map(is_time).collect();
    let is_kept = |line: &&str| {
        !is_time(line.get(..22).unwrap_or_default())
            && !line.contains(" steps per second; shares of the time")
    };
    let lines = text.lines().filter(is_kept);
    let kept = |line: &str| {
        let fields = line.split(',').enumerate().filter(|(k, _)| !is_table || timed.get(*k) != Some(&true));
        fields.map(|(_, field)| field).collect::<Vec<_>>().join(",")
    };
    lines.map(kept).collect()
}
