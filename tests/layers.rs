//! Checks of the architecture: crates depend on lower layers only, import cycles between files are small,
//! features occur only in allowed crates, test builds do not contain dependencies of the benches, and every
//! unit test runs.

#[path = "layers/cycles.rs"]
mod cycles;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn text(v: &Value) -> &str {
    v.as_str().expect("a string")
}

/// The layer of each package: the number of the last comment above it in `members` of the root manifest. The numbers
/// increase.
fn layers(metadata: &Value) -> HashMap<String, u64> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the root manifest");
    let members = manifest.split("default-members").next().expect("a members list");
    let packages = metadata["packages"].as_array().expect("packages");
    let (mut layers, mut layer) = (HashMap::new(), None::<u64>);
    for line in members.lines().map(str::trim) {
        let comment = line.strip_prefix("# ").and_then(|comment| comment.split_once(':'));
        if let Some((Ok(number), about)) = comment.map(|(number, about)| (number.parse::<u64>(), about)) {
            assert!(layer.is_none_or(|last| last < number), "layer {number} is listed after a higher layer");
            layer = Some(number);
            if about.contains("the root package") {
                layers.insert("coarsen".to_owned(), number);
            }
        } else if let Some(folder) = line.strip_prefix('"') {
            let folder = folder.trim_end_matches(['"', ',']);
            let path = root().join(folder).join("Cargo.toml");
            let package = packages.iter().find(|package| Path::new(text(&package["manifest_path"])) == path);
            let name = text(&package.unwrap_or_else(|| panic!("{folder} is no member"))["name"]);
            layers.insert(name.to_owned(), layer.expect("a comment with the number of a layer"));
        }
    }
    layers
}

#[test]
fn dependencies_point_to_lower_layers() {
    let metadata = metadata();
    let layers = layers(&metadata);
    let packages = metadata["packages"].as_array().expect("packages");
    for package in packages {
        let name = text(&package["name"]);
        let own = layers.get(name).unwrap_or_else(|| panic!("{name} has no layer in `members`"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = text(&dependency["name"]);
            // The tests of the facade may use the whole workspace.
            let test_of_facade = name == "coarsen" && dependency["kind"] == "dev";
            if let Some(layer) = layers.get(on).filter(|_| !test_of_facade) {
                assert!(layer < own, "{name} (layer {own}) depends on {on} (layer {layer})");
            }
        }
    }
}

/// `cargo test` builds the default members: all packages except the benches, which need criterion, those that need an MPI
/// library, the C interface, and the Python package, which maturin builds. No other package needs these.
#[test]
fn all_members_but_the_benches_mpi_and_python_are_tested() {
    let metadata = metadata();
    let tested = metadata["workspace_default_members"].as_array().expect("default members");
    for package in metadata["packages"].as_array().expect("packages") {
        let name = text(&package["name"]);
        if ["coarsen-benches", "coarsen-mpi", "coarsen-ffi", "cloth-mpi", "coarsen-python", "mutants"]
            .contains(&name)
        {
            assert!(!tested.contains(&package["id"]), "{name} is a default member");
            continue;
        }
        assert!(tested.contains(&package["id"]), "{name} is missing from the default members");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = text(&dependency["name"]);
            let apart = ["criterion", "mpi", "pyo3", "coarsen-mpi", "coarsen-ffi", "cloth-mpi"].contains(&on);
            assert!(!apart, "{name} depends on {on}: every `cargo test` would build it");
        }
    }
}

/// Optional dependencies and `cfg(feature)` occur only where other libraries are an addition (conversions, faer's factors, devices
/// over ranks), in the facade and in programs.
#[test]
fn features_stay_in_few_crates() {
    let allowed = |name: &str| {
        [
            "coarsen",
            "coarsen-sparse",
            "coarsen-direct",
            "coarsen-distributed-solvers",
            "coarsen-cli",
            "cloth",
            "softbody",
        ]
        .contains(&name)
            || name.starts_with("examples-")
    };
    for package in metadata()["packages"].as_array().expect("packages") {
        let name = text(&package["name"]);
        if allowed(name) {
            continue;
        }
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            assert_ne!(dependency["optional"], true, "{name}: optional dependency {}", dependency["name"]);
        }
        let folder = Path::new(text(&package["manifest_path"])).parent().expect("a folder").to_path_buf();
        // A program may query its features with `cfg!`, but its code must not be compiled conditionally.
        let program = folder.join("src/main.rs").exists();
        for file in sources(&folder.join("src")) {
            let body = std::fs::read_to_string(&file).expect("a source file");
            if let Some(line) = asks_for_feature(&body, program) {
                panic!("{}, line {line}: cfg(feature) belongs into another crate", file.display());
            }
        }
    }
}

/// The first line with a condition on a feature, directly or within `any`, `all` and `not`. `cfg!` is not
/// reported if it is `allowed`.
fn asks_for_feature(source: &str, allowed: bool) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = source[from..].find("cfg") {
        let at = from + found;
        from = at + 3;
        // The search matches cfg(..), cfg!(..) and cfg_attr(..).
        let rest = source[from..].trim_start_matches("_attr");
        let rest = if allowed { rest } else { rest.trim_start_matches('!') };
        let Some(condition) = rest.strip_prefix('(') else { continue };
        let mut depth = 1;
        let end = condition.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let condition = &condition[..end.unwrap_or(condition.len())];
        let mut words = condition.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        if words.any(|word| word == "feature") {
            return Some(source[..at].lines().count().max(1));
        }
    }
    None
}

#[test]
fn conditions_on_features_are_found_wherever_they_stand() {
    // The attribute is assembled here, so that this file does not contain it.
    let with = |condition: &str| format!("//! A file.\n#[{}({condition})]\nmod a;\n", "cfg");
    for asks in [
        "feature = \"a\"",
        "any(feature = \"a\", feature = \"b\")",
        "all(unix, not(feature = \"a\"))",
        "all(\n    unix,\n    feature = \"a\"\n)",
    ] {
        assert_eq!(asks_for_feature(&with(asks), true), Some(2), "{asks}");
    }
    for other in ["unix", "test", "all(unix, target_feature = \"avx2\")"] {
        assert_eq!(asks_for_feature(&with(other), false), None, "{other}");
    }
    let attribute = format!("#[{}_attr(feature = \"a\", derive(Debug))]", "cfg");
    let branch = format!("if {}!(feature = \"a\") {{}}", "cfg");
    assert!(asks_for_feature(&attribute, true).is_some() && asks_for_feature(&branch, false).is_some());
    assert_eq!(asks_for_feature(&branch, true), None);
    assert_eq!(asks_for_feature("let cfg = 1; // a feature", false), None);
}

/// The maximum number of files in an import cycle.
const CYCLE: usize = 3;

#[test]
fn no_import_cycle_has_more_than_three_files() {
    let mut large = Vec::new();
    let metadata = metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        let manifest = Path::new(text(&package["manifest_path"]));
        let folder = manifest.parent().expect("a folder").join("src");
        let cycles = cycles::Crate::read(&folder, &sources(&folder)).cycles();
        large.extend(cycles.into_iter().filter(|cycle| cycle.len() > CYCLE));
    }
    let lines = |cycle: &Vec<PathBuf>| {
        let files = cycle.iter().map(|file| file.strip_prefix(root()).unwrap_or(file).display().to_string());
        files.collect::<Vec<_>>().join("\n  ")
    };
    let large: Vec<_> = large.iter().map(lines).collect();
    assert!(large.is_empty(), "files that import each other:\n  {}", large.join("\nand\n  "));
}

/// The folders of the command are layers: a file imports only from its own folder and from lower folders.
#[test]
fn the_command_imports_from_earlier_folders_only() {
    let folder = root().join("crates/cli/src");
    let order = ["arguments", "input", "decision", "run", "report", "commands"];
    for (layer, name) in order.iter().enumerate() {
        let files = sources(&folder.join(name));
        assert!(!files.is_empty(), "{name} is gone");
        for file in files {
            let body = std::fs::read_to_string(&file).expect("a source file");
            for later in &order[layer + 1..] {
                let path = format!("crate::{later}");
                assert!(!body.contains(&path), "{} imports from {later}", file.display());
            }
        }
    }
}

/// `test = false` of a library saves a second build of it, but its unit tests would never run.
#[test]
fn libraries_without_unit_tests_have_none() {
    for package in metadata()["packages"].as_array().expect("packages") {
        let targets = package["targets"].as_array().expect("targets").iter();
        for library in targets.filter(|t| t["kind"][0] == "lib" && t["test"] == false) {
            let folder = Path::new(text(&library["src_path"])).parent().expect("a folder");
            for file in sources(folder) {
                let source = std::fs::read_to_string(&file).expect("a source file");
                let unit = source.lines().any(|line| line.trim_start().starts_with("#[cfg(test)]"));
                assert!(!unit, "{}: unit tests of a library with `test = false`", file.display());
            }
        }
    }
}

/// All Rust and OpenCL files below a folder, except generated ones.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for path in entries.map(|e| e.expect("a readable folder").path()) {
        if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs" || e == "cl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The table of features in the introduction of the book has the number of crates that a build compiles without features,
/// and the crates that each feature adds.
#[test]
fn introduction_counts_the_crates_of_each_feature() {
    let compiled = |feature: &str| {
        let tree =
            ["tree", "--offline", "--package", "coarsen", "--no-default-features", "--features", feature];
        let output = Command::new(env!("CARGO"))
            .args(tree)
            .args(["--edges", "normal,build", "--prefix", "none", "--target", "x86_64-unknown-linux-gnu"])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(|line| line.split(' ').take(2).collect::<String>()).collect::<HashSet<_>>().len()
    };
    let page = std::fs::read_to_string(root().join("book/src/introduction.md")).expect("the introduction");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let numbers = |cell: &str| cell.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<usize>>();
    let rows = page.lines().map(cells).filter(|row| row.len() == 6);
    let (mut none, mut features) = (0, 0);
    for row in rows {
        if row[1] == "(none)" {
            none = compiled("");
            assert_eq!(numbers(&row[4]), [none], "without features");
        } else if row[4].ends_with(" more") {
            let names = row[1].split('`').skip(1).step_by(2);
            let added: Vec<usize> = names.map(|name| compiled(name) - none).collect();
            assert_eq!(numbers(&row[4]), added, "{}", row[1]);
            features += added.len();
        }
    }
    assert_eq!(features, 7, "rows of the table");
}
