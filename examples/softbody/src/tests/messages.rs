//! What is said before a run, and how it ends.

use examples_run::arguments::{Program, exit_code};

use super::*;
use crate::scene::Setting;

/// A step that ends at the limit of iterations gives the program the exit code 4, unless no tolerance is asked for.
#[test]
fn unconverged_frames_have_an_exit_code() {
    let folder = Folder::new("limit");
    let run = |more: &str| {
        let words = format!("--mesh bar:1 --frames 2 --iterations 1 {more}");
        Program::run(&folder.options(&words), Cpu::new())
    };
    let error = run("").unwrap_err();
    assert_eq!(exit_code(&error), 4, "{error}");
    assert!(error.to_string().starts_with("2 of 2 frames did not converge"), "{error}");
    run("--tolerance 0").unwrap();
    assert_eq!(exit_code(&folder.run("--scene none.toml").unwrap_err()), 1);
}

/// A closed surface of a file, which may be meant as a solid, is said to be hollow; an open one and tetrahedra are not.
#[test]
fn closed_surfaces_are_said_to_be_hollow() {
    let folder = Folder::new("hollow");
    let faces = ["1 3 5", "3 2 5", "2 4 5", "4 1 5", "3 1 6", "2 3 6", "4 2 6", "1 4 6"];
    let points = "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\n";
    let notes = |count: usize| {
        let faces: String = faces[..count].iter().map(|face| format!("f {face}\n")).collect();
        let file = folder.write("surface.obj", &format!("{points}{faces}"));
        let setting = Setting::of(&folder.options(&format!("--scene hang --mesh {file}"))).unwrap();
        setting.hollow(&setting.meshes().unwrap())
    };
    assert!(notes(7).is_empty());
    let closed = notes(8);
    assert!(
        closed.len() == 1 && closed[0].contains("8 triangles") && closed[0].contains(".msh"),
        "{closed:?}"
    );
    let setting = Setting::of(&folder.options("--mesh bar:1")).unwrap();
    assert!(setting.hollow(&setting.meshes().unwrap()).is_empty());
}

/// A surface keeps the texture coordinates of the triangles that welding leaves.
#[test]
fn welded_surfaces_keep_their_texture() {
    let folder = Folder::new("weld-texture");
    let points = "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 1 0 0\nv 0 0 1\nv 1 0 1\n";
    let texture = "vt 0.1 0.1\nvt 0.2 0.1\nvt 0.1 0.3\nvt 0.9 0.8\n";
    let faces = "f 1/1 3/3 2/2\nf 3/4 1/3 2/1\nf 4/2 5/3 6/4\n";
    let mesh = folder.write("seam.obj", &format!("{points}{texture}{faces}"));
    folder.run(&format!("--scene hang --mesh {mesh} --frames 0 --format obj --weld")).unwrap();
    let frame = folder.bytes("frame_0000.obj");
    let all = mesh::read_texture(&mesh).unwrap();
    assert_eq!(mesh::parse_texture(&frame).unwrap(), [all[0], all[2]]);
}
