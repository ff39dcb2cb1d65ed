//! `benches/gpu/run.sh` with scripts in place of benches: measurements are kept, and failed benches are
//! reported.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

/// Runs the script with two benches, of which those with `true` succeed and print "figures". Returns the exit
/// code, and the table if there is one.
fn run(folder: &Path, benches: [(&str, bool); 2]) -> (Option<i32>, Option<String>) {
    for (name, sound) in benches {
        let file = folder.join(name);
        let (says, code) = if sound { ("figures", 0) } else { ("half", 3) };
        fs::write(&file, format!("#!/bin/sh\necho \"{says} of {name}\"\necho why >&2\nexit {code}\n"))
            .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let table: &Path = &folder.join("table.md");
    let script: &Path = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/gpu/run.sh");
    let done =
        Command::new("sh").args([script, table, folder]).env("COARSEN_OPENCL_LIB", "none").output().unwrap();
    (done.status.code(), fs::read_to_string(table).ok())
}

#[test]
fn figures_outlive_a_bench_that_fails() {
    let folder = env::temp_dir().join(format!("coarsen-script-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (code, none) = run(&folder, [("device_schwarz", false), ("opencl", false)]);
    assert_eq!((code, none), (Some(5), None));
    let (code, table) = run(&folder, [("device_schwarz", true), ("opencl", false)]);
    let table = table.unwrap();
    assert_eq!(code, Some(5), "{table}");
    assert!(table.contains("figures of device_schwarz"), "{table}");
    assert!(table.contains("no figures: opencl ended with code 3: why"), "{table}");
    let (code, table) = run(&folder, [("device_schwarz", true), ("opencl", true)]);
    let table = table.unwrap();
    assert!(
        code == Some(0) && table.contains("figures of opencl") && !table.contains("no figures"),
        "{table}"
    );
    fs::remove_dir_all(&folder).unwrap();
}
