//! The command line of a program whose options have defaults in a scene.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, Command, Parser};

use crate::file::{Leaf, nearest};
use crate::{Scene, SceneError};

/// The scene of a command line.
#[derive(Clone, Debug, Default, Args)]
pub struct Choice {
    /// Scene.
    #[arg(long, value_name = "NAME|FILE.toml")]
    scene: Option<String>,
    /// A scene file, as --scene.
    #[arg(value_name = "FILE.toml", conflicts_with = "scene")]
    file: Option<String>,
    /// The name or the file of the scene, which may be that of the program.
    #[arg(skip)]
    pub name: String,
    /// What is in it.
    #[arg(skip)]
    pub setting: Scene,
}

/// The keys of a scene that are options where a program has them, table by table; `key:option` where the names differ.
const TABLES: [(&str, &str); 8] = [
    ("", "mesh weld"),
    ("body", "vertices sheets tessellation subdivide sewn drop_degenerate material"),
    ("body.material", "name:material stiffness bending density"),
    ("contact", "kind:contact kind:obstacles friction self_friction thickness"),
    ("air", "density:air velocity:wind damping"),
    ("time", "dt frames frame_steps"),
    ("solver", "solver integrator levels iterations inner fixed refresh tolerance backend"),
    ("output", "out format width checkpoint systems keep"),
];

/// The keys that are options of a program, and these options.
fn keys(command: &Command) -> Vec<(String, &'static str)> {
    let of = |(table, all): &(&str, &'static str)| -> Vec<(String, &'static str)> {
        let each = all.split(' ').map(|key| key.split_once(':').unwrap_or((key, key)));
        let known = each.filter(|(_, option)| command.get_arguments().any(|arg| arg.get_id() == *option));
        known
            .map(|(key, option)| {
                (if table.is_empty() { key.into() } else { format!("{table}.{key}") }, option)
            })
            .collect()
    };
    TABLES.iter().flat_map(of).collect()
}

/// Options of a program that simulates scenes.
pub trait Options: Parser {
    /// The scenes by name, each with its text; the first is that of a command line without a scene.
    const SCENES: &'static [(&'static str, &'static str)];

    /// The keys of a scene file that the program takes beside its options, without the numbers of rows, divided by spaces. A table
    /// stands for all keys in it, and `x.name` also for a text as the value of x.
    const KEYS: &'static str;

    /// The scene.
    fn choice(&mut self) -> &mut Choice;

    /// The text of a named scene in place of that of the list, if options choose it.
    fn variant(&self, _: &str) -> Option<&'static str> {
        None
    }
}

/// A fault of a command line or of its scene.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The command line, or a request for help.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// The scene.
    #[error(transparent)]
    Scene(#[from] SceneError),
}

/// Parses the words of a command line, the first of which is the program, with defaults of its scene.
///
/// # Errors
/// [`OptionsError`]; a value of the scene that an option does not take is a fault of its key.
pub fn parse<O: Options>(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<O, OptionsError> {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let names: Vec<&str> = O::SCENES.iter().map(|(name, _)| *name).collect();
    let help = format!("Scene: {}, or a TOML file [default: {}]", names.join(", "), names[0]);
    let mut command = O::command().mut_arg("scene", |arg| arg.help(help));
    let mut options = O::from_arg_matches(&command.clone().try_get_matches_from(&words)?)?;
    let Choice { scene, file, .. } = options.choice();
    let name = scene.clone().or(file.clone()).unwrap_or_else(|| names[0].to_owned());
    let setting = match options.variant(&name) {
        Some(text) => Scene::parse(text, (&name).into())?,
        None => Scene::read(&name, O::SCENES)?,
    };
    let keys = keys(&command);
    for leaf in &setting.source.leaves {
        if let Some(option) = taken::<O>(&setting, leaf, &keys)? {
            check(&setting, &command, option, leaf)?;
            // The command line keeps its defaults for as long as the program runs.
            let values = leaf.values.iter().map(|value| &*value.clone().leak());
            command =
                command.mut_arg(option, |arg| arg.default_values(values.collect::<Vec<&'static str>>()));
        }
    }
    let mut options = O::from_arg_matches(&command.try_get_matches_from(&words)?)?;
    *options.choice() = Choice { name, setting, ..options.choice().clone() };
    Ok(options)
}

/// The option of a key of a scene; `None` for a key that is no option.
fn taken<O: Options>(
    scene: &Scene,
    leaf: &Leaf,
    options: &[(String, &'static str)],
) -> Result<Option<&'static str>, SceneError> {
    let path = leaf.path();
    let within = |key: &str| {
        path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            || key.strip_suffix(".name") == Some(&path)
    };
    let own = || O::KEYS.split_whitespace();
    if own().chain(["version", "view.corners", "view.azimuth", "view.elevation"]).any(within) {
        return Ok(None);
    }
    if let Some((_, option)) = options.iter().find(|(key, _)| *key == path) {
        return Ok(Some(option));
    }
    // The keys and the tables beside this key.
    let table = path.rsplit_once('.').map_or("", |(table, _)| table);
    let all = own().chain(options.iter().map(|(key, _)| &**key));
    let beside = |key: &'_ str| -> Option<String> {
        let rest = if table.is_empty() { key } else { key.strip_prefix(table)?.strip_prefix('.')? };
        Some(key[..key.len() - rest.len() + rest.find('.').unwrap_or(rest.len())].to_owned())
    };
    let mut others: Vec<String> = Vec::new();
    for key in all.filter_map(beside) {
        if !others.contains(&key) {
            others.push(key);
        }
    }
    // The key that is meant: one beside it with nearly this name, or an option of another table with the name.
    let last = |key: &str| key.rfind('.').map_or(0, |dot| dot + 1);
    let name = &path[last(&path)..];
    let near = nearest(name, others.iter().map(|key| &key[last(key)..]))
        .and_then(|near| others.iter().find(|key| &key[last(key)..] == near).map(String::as_str))
        .or_else(|| {
            let mut others = options.iter().map(|(key, _)| &**key).filter(|_| !leaf.key.contains('['));
            others.find(|key| &key[last(key)..] == name)
        });
    let why = match (near, others.is_empty()) {
        (Some(near), true) => format!("has no effect in this program; did you mean {near}?"),
        (Some(near), false) => {
            let takes = others.join(", ");
            format!("has no effect in this program; did you mean {near}? It takes {takes}")
        }
        (None, true) => "has no effect in this program; leave it out".to_owned(),
        (None, false) => format!("has no effect in this program, which takes {}", others.join(", ")),
    };
    Err(scene.source.fault(leaf.key.clone(), why))
}

/// Checks that an option takes the value of a key.
fn check(scene: &Scene, command: &Command, option: &str, leaf: &Leaf) -> Result<(), SceneError> {
    let arg = command.get_arguments().find(|arg| arg.get_id() == option);
    let long = arg.and_then(clap::Arg::get_long).unwrap_or(option);
    let flag = arg.is_some_and(|arg| !arg.get_action().takes_values());
    let fault = |why: String| Err(scene.source.fault(leaf.key.clone(), why));
    if flag {
        let good = matches!(&leaf.values[..], [value] if value == "true" || value == "false");
        return if good { Ok(()) } else { fault("must be true or false".into()) };
    }
    let mut words = vec!["scene".to_owned()];
    match (arg.and_then(clap::Arg::get_value_delimiter), &leaf.values[..]) {
        // A value that begins with a minus is no option.
        (None, [value]) => words.push(format!("--{long}={value}")),
        (Some(between), values) => words.push(format!("--{long}={}", values.join(&between.to_string()))),
        (None, values) => words.extend([format!("--{long}")].into_iter().chain(values.iter().cloned())),
    }
    match command.clone().try_get_matches_from(words) {
        Err(error)
            if !matches!(error.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict) =>
        {
            let text = error.to_string();
            let first =
                text.split("\n\nUsage").next().unwrap_or(&text).split("\n\nFor more").next().unwrap_or(&text);
            fault(format!("is not possible: {}", first.trim_start_matches("error: ").trim_end()))
        }
        _ => Ok(()),
    }
}
