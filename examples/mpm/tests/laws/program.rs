//! The program as a process: what it prints.

use std::process::Command;

use super::Folder;
use super::bad_scenes::{BODY, OF};

/// Whether the program succeeds, and what it prints.
fn run(folder: &Folder, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpm"));
    command.arg("--out").arg(&folder.0).args(["--width", "0", "--format", "none"]).args(arguments);
    let done = command.output().unwrap();
    let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (done.status.success(), text.concat())
}

#[test]
fn the_program_says_what_it_does_and_what_is_wrong() {
    let folder = Folder::new("program");
    let scene = folder.write("scene.toml", &format!("dx = 0.1\n{BODY}{OF}"));
    let (good, text) = run(&folder, &["--scene", &scene, "--frames", "1"]);
    assert!(good && text.contains("bodies: 1, dx = 1.0000e-1 m, on cpu"), "{text}");
    let (good, text) = run(&folder, &["--scene", &scene, "--backend", "cuda"]);
    assert!(!good && text.contains("`cuda`") && text.contains("auto, cpu, mixed, opencl"), "{text}");
    let (good, text) = run(&folder, &["--scene", &scene, "--inner", "5"]);
    assert!(!good && text.starts_with("error: --inner has no effect on the solver hot"), "{text}");
}
