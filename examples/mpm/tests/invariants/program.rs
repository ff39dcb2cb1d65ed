//! The program as a process: what it prints.

use std::process::Command;

use super::Folder;
use super::bad_scenes::{BODY, OF};

/// The exit code of the program, and what it prints.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpm"));
    command.arg("--out").arg(&folder.0).args(["--width", "0", "--format", "none"]).args(arguments);
    let done = command.output().unwrap();
    let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (done.status.code(), text.concat())
}

#[test]
fn the_program_says_what_it_does_and_what_is_wrong() {
    let folder = Folder::new("program");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
    let (code, text) = run(&folder, &["--scene", &scene, "--frames", "1"]);
    assert!(code == Some(0) && text.contains("bodies: 1, dx = 1.0000e-1 m, on cpu"), "{text}");
    let (code, text) = run(&folder, &["--scene", &scene, "--backend", "cuda"]);
    assert!(
        code == Some(2) && text.contains("`cuda`") && text.contains("auto, cpu, mixed, opencl"),
        "{text}"
    );
    let (code, text) = run(&folder, &["--scene", &scene, "--inner", "5"]);
    assert!(code == Some(1) && text.starts_with("error: --inner has no effect on the solver hot"), "{text}");
}

/// Without a terminal, each frame prints a line; a step that ends at a limit gives the exit code 4 after all frames.
#[test]
fn frames_are_reported_and_unconverged_steps_have_an_exit_code() {
    let folder = Folder::new("limit");
    let fixed = ["--scene", "stretched", "--particles", "500", "--frames", "2"];
    let (code, text) = run(&folder, &fixed);
    assert!(
        code == Some(0) && text.contains("\nframe 1 of 2: ") && text.contains("\nframe 2 of 2: "),
        "{text}"
    );
    let (code, text) = run(&folder, &[&fixed[..], &["--iterations", "1"]].concat());
    assert!(code == Some(4) && text.contains("steps did not converge"), "{text}");
    assert!(text.contains("frame 2 of 2: ") && text.contains("--iterations"), "{text}");
}

/// The number of particles that a mesh makes at the default spacing is said, and how to change it.
#[test]
fn many_particles_are_announced() {
    let folder = Folder::new("many");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.0105\n{BODY}{OF}"));
    let (code, text) = run(&folder, &["--scene", &scene, "--frames", "0"]);
    assert_eq!(code, Some(0), "{text}");
    let count: usize = text["particles: ".len()..].split(',').next().unwrap().parse().unwrap();
    assert!(count > 200_000 && text.contains("--particles N or --dx"), "{text}");
    assert!(
        text.contains(&format!("note: the spacing of the scene, 0.0105 m, makes {count} particles")),
        "{text}"
    );
}
