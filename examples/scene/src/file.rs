//! The text of a scene: where each key stands, and faults that name it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Fingerprint, Scene, VERSION};

/// A scene that cannot be read, or has a fault.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// A file that cannot be read.
    #[error("{}: cannot be read ({kind}); a scene is {names}, or a TOML file", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
        /// The scenes by name.
        names: String,
    },
    /// A file that is not a scene; the message has the line, the column and what was expected there.
    #[error("{}: {what}{}", file.display(), meant(what))]
    Format {
        /// The file.
        file: PathBuf,
        /// The message of the parser.
        what: toml::de::Error,
    },
    /// A key that is missing, has no effect, or whose value is not possible.
    #[error("{}{}: {} {why}", file.display(), line.map_or_else(String::new, |line| format!(", line {line}")), told(key))]
    Key {
        /// The file, or the name of the scene.
        file: PathBuf,
        /// The line of the key, from 1; `None` for a key that is missing.
        line: Option<usize>,
        /// The key from the top, such as `body[1].material.young`.
        key: String,
        /// What is wrong with it, and the cure.
        why: String,
    },
}

/// The name that is nearest to one that is not known, if they differ in few letters.
pub(crate) fn nearest<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = |name: &&str| strsim::osa_distance(found, name);
    names.min_by_key(far).filter(|name| far(name) <= (found.len() / 3).max(1))
}

/// The name that an unknown key or word of a file may mean.
fn meant(what: &toml::de::Error) -> String {
    let mut names = what.message().split('`').skip(1).step_by(2);
    let unknown = what.message().starts_with("unknown ").then(|| names.next()).flatten();
    let near = unknown.and_then(|found| nearest(found, names));
    near.map_or_else(String::new, |name| format!("did you mean `{name}`?"))
}

/// A key as messages name it: `body 1 (from 0): material.young`.
fn told(key: &str) -> String {
    match key.split_once('[').and_then(|(table, rest)| Some((table, rest.split_once(']')?))) {
        Some((table, (index, key))) => {
            format!(
                "{table} {index} (from 0):{}",
                key.strip_prefix('.').map_or(String::new(), |key| format!(" {key}"))
            )
        }
        None => key.to_owned(),
    }
}

/// A value of a file.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The keys from the top, with the numbers of rows.
    pub(crate) key: String,
    /// Its line, from 1.
    line: usize,
    /// The value, or those of a list, as they are written.
    pub(crate) values: Vec<String>,
}

impl Leaf {
    /// The keys without the numbers of rows.
    pub(crate) fn path(&self) -> String {
        self.key.split('.').map(|part| part.split('[').next().unwrap_or(part)).collect::<Vec<_>>().join(".")
    }
}

/// Where the values of a scene stand.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The file, or the name of a scene.
    pub file: PathBuf,
    pub(crate) leaves: Vec<Leaf>,
}

/// Keys that decide no bits of a run: how long it is, and what it shows.
const IDLE: [&str; 3] = ["time.frames", "output.", "view."];

impl Source {
    /// The fault of a key.
    pub fn fault(&self, key: impl Into<String>, why: impl Into<String>) -> SceneError {
        let key = key.into();
        // A key that is missing stands where its table does.
        let (mut part, mut line) = (&key[..], None);
        while line.is_none() && !part.is_empty() {
            line = self.leaves.iter().find(|leaf| leaf.key.starts_with(part)).map(|leaf| leaf.line);
            part = &part[..part.rfind(['.', '[', ',', ' ']).unwrap_or(0)];
        }
        SceneError::Key { file: self.file.clone(), line, key, why: why.into() }
    }

    /// The value of a key that is no option, by its names from the top; `None` if it is missing.
    ///
    /// # Errors
    /// [`SceneError::Key`] for a value of another type, or outside a range.
    pub fn value<T: FromStr>(
        &self,
        key: &str,
        range: &str,
        good: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, SceneError> {
        let Some(leaf) = self.leaves.iter().find(|leaf| leaf.key == key) else { return Ok(None) };
        let value = leaf.values.first().and_then(|value| value.parse().ok()).filter(good);
        let fault = || self.fault(key, format!("is {}, but must be {range}", leaf.values.join(", ")));
        value.map(Some).ok_or_else(fault)
    }

    /// A hash of all values that decide the bits of a run.
    pub fn identity(&self) -> u64 {
        let mut all = Fingerprint::of("scene", VERSION.into());
        for Leaf { key, values, .. } in &self.leaves {
            if !IDLE.iter().any(|idle| key.starts_with(idle)) {
                all.field(key, values);
            }
        }
        all.value()
    }

    /// A file beside the scene.
    pub fn beside(&self, file: &Path) -> PathBuf {
        self.file.parent().map_or_else(|| file.to_owned(), |folder| folder.join(file))
    }
}

impl Scene {
    /// Reads the scene of a name in a list, or of a file. Meshes of a file are searched in its folder.
    ///
    /// # Errors
    /// [`SceneError`]; a fault of the text names the line and the key.
    pub fn read(name: &str, named: &[(&str, &str)]) -> Result<Self, SceneError> {
        let file = PathBuf::from(name);
        let text = match named.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => (*text).to_owned(),
            None => std::fs::read_to_string(&file).map_err(|error| {
                let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
                SceneError::Read { file: file.clone(), kind: error.kind(), names: names.join(", ") }
            })?,
        };
        let mut scene = Self::parse(&text, file)?;
        if !named.iter().any(|(known, _)| *known == name) {
            let Self { source, obstacle, body, mesh, .. } = &mut scene;
            for file in
                obstacle.iter_mut().flat_map(|o| o.mesh.iter_mut().chain(o.frames.iter_mut().flatten()))
            {
                *file = source.beside(file);
            }
            let meshes = body.iter_mut().map(|body| &mut body.mesh).chain([&mut *mesh]);
            let files = meshes.flatten().filter(|mesh| is_file(mesh));
            files.for_each(|mesh| *mesh = source.beside(Path::new(mesh)).to_string_lossy().into_owned());
            for leaf in source.leaves.iter_mut().filter(|leaf| leaf.key == "mesh") {
                leaf.values = mesh.iter().cloned().collect();
            }
        }
        Ok(scene)
    }

    /// The scene of a text; `file` is named in faults.
    pub fn parse(text: &str, file: PathBuf) -> Result<Self, SceneError> {
        let fail = |what| SceneError::Format { file: file.clone(), what };
        let table = DeTable::parse(text).map_err(fail)?;
        let mut leaves = Vec::new();
        for (key, value) in table.get_ref() {
            walk(text, key.get_ref(), value, &mut leaves);
        }
        let source = Source { file: file.clone(), leaves };
        // Another version may have other keys, so it is checked before them; serde refuses what is not a number.
        let is_other = |found: &i64| *found != VERSION.into();
        let other =
            |found| source.fault("version", format!("is {found}, but this program reads version {VERSION}"));
        let mut numbers =
            source.leaves.iter().filter(|leaf| leaf.key == "version").flat_map(|leaf| &leaf.values);
        if let Some(found) = numbers.find_map(|text| text.parse().ok().filter(is_other)) {
            return Err(other(found));
        }
        let mut scene: Self = toml::from_str(text).map_err(fail)?;
        if is_other(&scene.version.into()) {
            return Err(other(scene.version.into())); // not in decimal digits
        }
        scene.source = source;
        scene.check()?;
        Ok(scene)
    }
}

/// Whether the mesh of a body is a file, and not a name.
pub fn is_file(mesh: &str) -> bool {
    mesh.contains(['.', '/'])
}

/// Lists the values of a table or of rows.
fn walk(text: &str, key: &str, value: &Spanned<DeValue<'_>>, leaves: &mut Vec<Leaf>) {
    match value.get_ref() {
        DeValue::Table(table) => {
            for (name, value) in table {
                walk(text, &format!("{key}.{}", name.get_ref()), value, leaves);
            }
        }
        DeValue::Array(rows) if rows.iter().any(|row| row.get_ref().is_table()) => {
            for (k, row) in rows.iter().enumerate() {
                walk(text, &format!("{key}[{k}]"), row, leaves);
            }
        }
        value_or_list => {
            let line = 1 + text[..value.span().start].matches('\n').count();
            let mut values = Vec::new();
            write(value_or_list, &mut values);
            leaves.push(Leaf { key: key.to_owned(), line, values });
        }
    }
}

/// The texts of a value, or of those of a list.
fn write(value: &DeValue<'_>, to: &mut Vec<String>) {
    match value {
        DeValue::String(text) => to.push(text.to_string()),
        DeValue::Integer(number) => to.push(number.to_string()),
        DeValue::Float(number) => to.push(number.as_str().to_owned()),
        DeValue::Boolean(yes) => to.push(yes.to_string()),
        DeValue::Datetime(date) => to.push(date.to_string()),
        DeValue::Array(list) => list.iter().for_each(|value| write(value.get_ref(), to)),
        DeValue::Table(_) => {}
    }
}
