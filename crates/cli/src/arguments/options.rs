//! Options from a file: TOML, or the folder of a dump.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, CommandFactory, ValueHint};
use serde::Deserialize;
use toml::Value;

use super::Arguments;
use super::files::mesh;
use crate::error::Failure;

/// The file in the folder of a dump.
pub(crate) const DUMPED: &str = "options.json";

/// The names of all files of a dump of a system that was read.
pub(crate) const FILES: [&str; 8] = [
    DUMPED,
    "A.mtx",
    "b.mtx",
    "x0.mtx",
    "coordinates.mtx",
    "near_kernel.mtx",
    "null_space.mtx",
    "report.json",
];

/// The file of a name, which may be the folder of a dump.
pub(crate) fn file_of_options() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|file| if file.is_dir() { file.join(DUMPED) } else { file })
}

/// Values that are no names of files although the option takes a file.
const WORDS: [&str; 3] = ["ones", "none", "constants"];

/// What belongs to a matrix of the gallery.
const SOURCE: [&str; 5] = ["matrix", "problem", "dt", "jump", "share"];

/// The part of `options.json` that repeats a run.
#[derive(Deserialize)]
struct Dumped {
    again: Option<Vec<String>>,
}

/// The command line with the options of the file that `--options` names. Those of the command line win: an option that it
/// has is left out of the file, and so are matrix and problem if it has one of them.
pub(crate) fn expanded(mut words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let command = Arguments::command();
    let Ok(matches) = command.clone().ignore_errors(true).try_get_matches_from(&words) else {
        return Ok(words);
    };
    let Some((name, given)) = matches.subcommand() else { return Ok(words) };
    let Ok(Some(file)) = given.try_get_one::<PathBuf>("options") else { return Ok(words) };
    let Some(command) = command.find_subcommand(name) else { return Ok(words) };
    let is_given = |id: &str| matches!(given.value_source(id), Some(ValueSource::CommandLine));
    let has_source = SOURCE[..2].iter().any(|id| is_given(id));
    let is_dump = file.file_name().is_some_and(|name| name == DUMPED);
    let fault = |problem: String| Failure::input(file, problem);
    let text =
        std::fs::read_to_string(file).map_err(|error| fault(format!("cannot be read ({})", error.kind())))?;
    let entries = if is_dump { of_dump(&text) } else { of_toml(&text) }.map_err(&fault)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut added = Vec::new();
    for (key, value) in entries {
        let long = key.replace('_', "-");
        let is_named = |arg: &&Arg| match arg.get_long() {
            Some(own) => own == long || arg.get_all_aliases().is_some_and(|all| all.contains(&&*long)),
            None => arg.get_id() == &*key,
        };
        let Some(arg) = command.get_arguments().find(is_named).filter(|arg| arg.get_id() != "options") else {
            if is_dump {
                continue; // an option of `solve` alone
            }
            return Err(fault(format!(
                "`{key}` is not an option of `coarsen {name}`; see coarsen {name} --help"
            )));
        };
        let id = arg.get_id().as_str();
        let is_left_out = is_dump && is_left_out(name, arg);
        if is_given(id) || is_left_out || has_source && SOURCE.contains(&id) {
            continue;
        }
        let flag = matches!(arg.get_action(), ArgAction::SetTrue);
        let value = match value {
            Value::Boolean(on) if flag => {
                added.extend(on.then(|| format!("--{long}").into()));
                continue;
            }
            _ if flag => return Err(fault(format!("`{key}` is true or false"))),
            Value::Array(values) => {
                values.iter().map(word).collect::<Option<Vec<_>>>().map(|all| all.join(","))
            }
            value => word(&value),
        };
        let Some(value) = value else {
            return Err(fault(format!("`{key}` is a text or a number, like {key} = \"value\"")));
        };
        let is_file = matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath)
            && value != "-"
            && !WORDS.contains(&&*value)
            && !value.starts_with("random:");
        let value = match (is_file, mesh(&value).filter(|_| id == "problem")) {
            (true, _) => folder.join(value).into_os_string(),
            (_, Some((problem, file))) => {
                let mut value = OsString::from(format!("{problem}:"));
                value.push(folder.join(file));
                value
            }
            _ => value.into(),
        };
        let mut word =
            if arg.get_long().is_some() { OsString::from(format!("--{long}=")) } else { OsString::new() };
        word.push(value);
        added.push(word);
    }
    words.splice(2..2, added);
    Ok(words)
}

/// Whether a command leaves out an option of a dump: what it always does, and what belongs to a solve that it does not run.
fn is_left_out(command: &str, arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let of_preconditioner = arg.get_help_heading().is_some();
    match command {
        "compare" => id == "symmetrize",
        "info" => of_preconditioner || ["symmetrize", "max_iterations", "atol"].contains(&id),
        _ => false,
    }
}

/// A text or a number as a word of the command line.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(format!("{number:e}")),
        _ => None,
    }
}

/// The options of a TOML file.
fn of_toml(text: &str) -> Result<Vec<(String, Value)>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    Ok(table.into_iter().collect())
}

/// The options that repeat the run of a dump.
fn of_dump(text: &str) -> Result<Vec<(String, Value)>, String> {
    let dumped: Dumped = serde_json::from_str(text).map_err(|error| format!("is not of a dump ({error})"))?;
    let words = dumped.again.ok_or("its run read a file that is not valid, so nothing can be repeated")?;
    let mut entries: Vec<(String, Value)> = Vec::new();
    let mut is_option = false;
    for word in words.into_iter().skip(1) {
        match (word.strip_prefix("--"), entries.last_mut()) {
            (Some(name), _) => entries.push((name.to_owned(), Value::Boolean(true))),
            (None, Some((_, value))) if is_option => *value = Value::String(word.clone()),
            (None, _) => entries.push(("matrix".to_owned(), Value::String(word.clone()))),
        }
        is_option = word.starts_with("--");
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_give_options_with_values() {
        let text = r#"{"again": ["solve", "A.mtx", "--rhs", "b.mtx", "--symmetrize", "--tol", "1e-8"]}"#;
        let text_of = |value: &str| Value::String(value.to_owned());
        let expected = [
            ("matrix", text_of("A.mtx")),
            ("rhs", text_of("b.mtx")),
            ("symmetrize", Value::Boolean(true)),
            ("tol", text_of("1e-8")),
        ];
        assert_eq!(of_dump(text).unwrap(), expected.map(|(key, value)| (key.to_owned(), value)));
        assert!(of_dump("{\"again\": null}").unwrap_err().contains("nothing can be repeated"));
        assert!(of_dump("[]").unwrap_err().contains("not of a dump"));
    }
}
