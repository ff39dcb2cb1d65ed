//! The graph of imports between the files of a crate, and its circles.
//!
//! Read from the text: every path that begins with `crate`, `self`, `super` or a submodule. A path is followed through
//! modules to the file that defines the item. An import of a re-export is an import of the file that the item comes from;
//! a re-export is an import of its own file only where that file names the item as well. So a `mod.rs` that only
//! re-exports is part of no circle. An item that is not found is taken to live in the file where the search ends (macros
//! make items). Unit tests at the end of a file do not count.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A path through modules, from the root of the crate.
type Module = Vec<String>;

/// A path as it is written.
struct Import {
    /// What the file calls it; `*` for everything.
    name: String,
    path: Vec<String>,
    /// Whether other files may take it from here.
    passed_on: bool,
}

/// The files of one crate by module.
pub(crate) struct Crate {
    files: BTreeMap<Module, File>,
}

struct File {
    path: PathBuf,
    /// All that it imports, and all paths within its code.
    imports: Vec<Import>,
    /// The code, without comments, strings, unit tests and `use`.
    code: String,
}

impl Crate {
    /// The crate below a folder with `lib.rs` or `main.rs`.
    pub(crate) fn read(folder: &Path, sources: &[PathBuf]) -> Self {
        let mut files = BTreeMap::new();
        for path in sources.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
            let Ok(inside) = path.strip_prefix(folder) else { continue };
            if inside.starts_with("bin") {
                continue; // programs of their own
            }
            let mut module: Module =
                inside.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
            let last = module.last().map(String::as_str);
            if last == Some("mod") || (module.len() == 1 && matches!(last, Some("lib" | "main"))) {
                module.pop();
            }
            let (imports, code) = split(&code(&fs::read_to_string(path).expect("a source file")));
            files.insert(module, File { path: path.clone(), imports, code });
        }
        // A file names its submodules without `self`.
        let modules: Vec<Module> = files.keys().filter(|module| !module.is_empty()).cloned().collect();
        for module in modules {
            let (name, parent) = module.split_last().expect("a module has a name");
            if let Some(file) = files.get_mut(parent) {
                let start = format!("{name}::");
                let paths = paths(&file.code, &start);
                let found = paths.map(|path| Import { name: String::new(), path, passed_on: false });
                let found: Vec<Import> = found.collect();
                file.imports.extend(found);
            }
        }
        Self { files }
    }

    /// Files that import each other, directly or through others: each circle with its files.
    pub(crate) fn circles(&self) -> Vec<Vec<PathBuf>> {
        let arrows: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.iter().map(|(module, file)| (module, self.imported(module, file))).collect();
        let reached: BTreeMap<&Module, HashSet<&Module>> =
            arrows.keys().map(|from| (*from, reached(&arrows, from))).collect();
        let mut circles: Vec<Vec<PathBuf>> = Vec::new();
        let mut seen = HashSet::new();
        for (from, to) in &reached {
            if !to.contains(from) || !seen.insert(*from) {
                continue;
            }
            let circle: Vec<&Module> =
                to.iter().copied().filter(|other| reached[other].contains(from)).collect();
            seen.extend(&circle);
            let mut files: Vec<_> = circle.iter().map(|module| self.files[*module].path.clone()).collect();
            files.sort();
            circles.push(files);
        }
        circles
    }

    /// The modules whose items a file names, without its own.
    fn imported(&self, module: &Module, file: &File) -> BTreeSet<&Module> {
        let own = file.imports.iter().filter(|import| !import.passed_on || word(&file.code, &import.name));
        let found = own.filter_map(|import| self.defines(module, &import.path, 0));
        found.filter(|found| *found != module).collect()
    }

    /// The module that defines what `path` names in `module`.
    fn defines(&self, module: &Module, path: &[String], depth: usize) -> Option<&Module> {
        let mut at = module.clone();
        let mut rest = path;
        let mut relative = true;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                _ => break,
            }
            (rest, relative) = (others, false);
        }
        while let Some((first, others)) = rest.split_first() {
            at.push(first.clone());
            if !self.files.contains_key(&at) {
                at.pop();
                break;
            }
            (rest, relative) = (others, false);
        }
        if relative {
            return None; // of another crate, or a name from the prelude
        }
        let (here, file) = self.files.get_key_value(&at)?;
        let Some(item) = rest.first().filter(|item| *item != "*" && !file.has(item) && depth < 8) else {
            return Some(here);
        };
        let named = file.imports.iter().filter(|import| import.name == *item);
        let through = named.filter_map(|import| {
            let whole: Vec<String> = import.path.iter().chain(&rest[1..]).cloned().collect();
            self.defines(&at, &whole, depth + 1)
        });
        let stars = file.imports.iter().filter(|import| import.name == "*");
        let of_stars =
            stars.filter_map(|import| self.defines(&at, &import.path[..import.path.len() - 1], depth + 1));
        through.chain(of_stars.filter(|module| self.files[*module].has(item))).next().or(Some(here))
    }
}

impl File {
    /// Whether an item of this name is defined in the file.
    fn has(&self, item: &str) -> bool {
        ["struct", "enum", "trait", "fn", "type", "const", "static", "union", "macro_rules!"]
            .iter()
            .any(|kind| word(&self.code, &format!("{kind} {item}")))
    }
}

/// Whether a word, or several, occur as such.
fn word(code: &str, words: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(words)
        .any(|(at, found)| !code[..at].ends_with(letter) && !code[at + found.len()..].starts_with(letter))
}

/// The modules reached from one by one arrow or more.
fn reached<'a>(arrows: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, from: &'a Module) -> HashSet<&'a Module> {
    let mut reached = HashSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(arrows[module].iter().filter(|to| reached.insert(**to)));
    }
    reached
}

/// A source without comments, strings, characters and the unit tests at its end.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut code = String::with_capacity(source.len());
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let line = line.split(" // ").next().unwrap_or_default();
        // Of a string literal only the quotes are left.
        for (k, piece) in line.replace("\\\"", "").replace("'\"'", "").split('"').enumerate() {
            if k % 2 == 0 {
                code.push_str(piece);
            }
        }
        code.push('\n');
    }
    code
}

/// The imports of a source, those of `use` and those within the code, and the code without `use`.
fn split(source: &str) -> (Vec<Import>, String) {
    let (mut imports, mut code, mut rest) = (Vec::new(), String::new(), source);
    while let Some(at) = rest.find("use ") {
        let (before, after) = (&rest[..at], &rest[at + 4..]);
        code.push_str(before);
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with("pub") {
            let (text, after) = after.split_once(';').unwrap_or((after, ""));
            tree(text, &[], line.starts_with("pub"), &mut imports);
            rest = after;
        } else {
            rest = after;
        }
    }
    code.push_str(rest);
    for start in ["crate::", "super::", "self::"] {
        imports.extend(paths(&code, start).map(|path| Import {
            name: String::new(),
            path,
            passed_on: false,
        }));
    }
    (imports, code)
}

/// The paths within code that begin with `start`.
fn paths<'a>(code: &'a str, start: &'a str) -> impl Iterator<Item = Vec<String>> + 'a {
    let begins = |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
    let begin = code.match_indices(start).map(|(at, _)| at).filter(move |&at| begins(&code[..at]));
    begin.map(|at| {
        let path = code[at..].split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).next();
        words(path.unwrap_or_default()).collect()
    })
}

/// `a::{b, c::d as e}` as the names b and e with their paths.
fn tree(text: &str, before: &[String], passed_on: bool, imports: &mut Vec<Import>) {
    let text = text.trim();
    if let Some((start, inside)) = text.split_once('{') {
        let path: Vec<String> = before.iter().cloned().chain(words(start)).collect();
        let inside = inside.strip_suffix('}').unwrap_or(inside);
        let (mut depth, mut from) = (0, 0);
        for (at, c) in inside.char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if c == ',' && depth == 0 {
                tree(&inside[from..at], &path, passed_on, imports);
                from = at + 1;
            }
        }
        tree(&inside[from..], &path, passed_on, imports);
    } else if !text.is_empty() {
        let (path, name) = text.split_once(" as ").unwrap_or((text, ""));
        let mut path: Vec<String> = before.iter().cloned().chain(words(path)).collect();
        path.pop_if(|last| last == "self" && !before.is_empty());
        let last = path.last().cloned().unwrap_or_default();
        let name = if name.is_empty() { last } else { name.trim().to_owned() };
        imports.push(Import { name, path, passed_on });
    }
}

fn words(path: &str) -> impl Iterator<Item = String> + '_ {
    path.split("::").map(|word| word.trim().to_owned()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three files that import each other through a re-export, and one that imports them.
    #[test]
    fn circles_are_found_through_re_exports() {
        let folder = std::env::temp_dir().join(format!("coarsen-circles-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).unwrap();
        let files = [
            (
                "lib.rs",
                "mod a; mod b;\npub use a::deep::{self as d, Deep as Other};\npub fn user() { b::go() }",
            ),
            ("a/mod.rs", "pub(crate) mod deep;\npub(crate) use deep::Deep;"),
            ("a/deep.rs", "use crate::b::Shallow; // crate::user\npub struct Deep(Shallow);"),
            ("b.rs", "use crate::Other;\npub struct Shallow;\npub fn go() -> Option<Other> { None }"),
        ];
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
        paths.iter().zip(files).for_each(|(path, (_, source))| fs::write(path, source).unwrap());
        let circles = Crate::read(&folder, &paths).circles();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(circles, [vec![folder.join("a/deep.rs"), folder.join("b.rs")]]);
    }
}
