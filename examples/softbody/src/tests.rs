//! Small runs of the program.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use coarsen::mesh;
use coarsen::prelude::*;
use examples_run::Failure;
use examples_run::arguments::{Program, exit_code};
use examples_run::files::{CheckpointError, OutputError};
use examples_run::scales::Unresolved;
use examples_run::solver::Solver;
use examples_scene::options::{OptionsError, parse};

use crate::material::Material;
use crate::meshes::{MeshChoice, MeshFault};
use crate::options::{Integrator, Options};
use crate::rows::{Row, Seconds};
use crate::run;
use crate::scene::{SceneError, Setting};

mod attachments;
mod contact;
#[path = "../../../tests/common/data.rs"]
mod data;
mod depths;
#[cfg(feature = "opencl")]
mod device;
#[path = "../../../tests/common/energy.rs"]
mod energy;
#[path = "../../../tests/common/folder.rs"]
mod folder;
#[path = "../../../tests/common/outputs.rs"]
mod outputs;
mod resume;

use energy::{check_energy, distance};
use folder::Folder;

const PAGE: &str = include_str!("../../../book/src/tutorials/softbody.md");

impl Folder {
    /// Runs a command line with this folder for its output; row k is that of frame k.
    fn run(&self, words: &str) -> Result<Vec<Row>, Failure> {
        run(Cpu::new(), &self.parse(words)?)
    }

    fn options(&self, words: &str) -> Options {
        self.parse(words).unwrap()
    }

    /// The options of a command line, without pictures if the words do not say more.
    fn parse(&self, words: &str) -> Result<Options, OptionsError> {
        let width = if words.contains("--width") { "" } else { "--width 0" };
        parse(format!("softbody --out {} {width} {words}", self.path()).split_whitespace())
    }

    /// The positions of the surface after a frame.
    fn surface(&self, frame: usize) -> Vec<[f64; 3]> {
        mesh::read(self.0.join(format!("frame_{frame:04}.vtk"))).unwrap().positions
    }
}

/// Checks that energy does not grow by more than the work of the pins.
fn check_balance(rows: &[Row], share: f64) {
    check_energy(rows, share, |row| (row.energy - row.work, row.kinetic + row.elastic));
    assert!(rows[0].frame == 0 && rows[0].outcome == "start");
    assert!(rows.iter().all(|row| row.energy.is_finite() && row.deepest().is_finite()));
}

/// Runs a built-in scene for a few frames, with small pictures.
fn scene(name: &str, mesh: &str, frames: usize, more: &str) -> (Folder, Vec<Row>) {
    let folder = Folder::new(name);
    let words = format!("--scene {name} --mesh {mesh} --frames {frames} --width 64 {more}");
    let rows = folder.run(&words).unwrap();
    for file in ["softbody.gif", "summary.txt", "frames.csv", "frame_0000.png", "frame_0000.vtk"] {
        assert!(folder.0.join(file).exists(), "{name}: {file}");
    }
    check_balance(&rows, 1e-4);
    (folder, rows)
}

#[test]
fn a_bar_swings() {
    let (folder, rows) = scene("swing", "bar:1", 8, "");
    assert!(rows[1..].iter().all(|row| row.outcome == "converged" && row.outer <= 6));
    let lowest = |frame| folder.surface(frame).iter().map(|p| p[1]).fold(f64::INFINITY, f64::min);
    let highest = |frame| folder.surface(frame).iter().map(|p| p[1]).fold(0.0, f64::max);
    assert!(lowest(8) < lowest(0) - 0.1, "{} {}", lowest(0), lowest(8));
    assert!((highest(8) - highest(0)).abs() < 0.02); // it is pinned there
}

#[test]
fn ends_of_a_bar_turn() {
    let (folder, rows) = scene("twist", "bar:1", 4, "");
    assert!(rows[1..].iter().all(|row| row.outcome == "converged" && row.work > 0.0 && row.energy > 0.0));
    // After 4/30 s both ends have turned by 12 degrees, in opposite directions.
    let (before, after) = (folder.surface(0), folder.surface(4));
    let angle = |p: &[f64; 3]| (p[2]).atan2(p[1] - 0.4).to_degrees();
    for (before, after) in before.iter().zip(&after).filter(|(p, _)| p[0].abs() > 0.49) {
        let turned = (angle(after) - angle(before)).rem_euclid(360.0);
        let expected = if before[0] < 0.0 { 12.0 } else { 348.0 };
        assert!((turned - expected).abs() < 0.5, "{before:?}: {turned}");
    }
}

#[test]
fn a_sheet_hangs() {
    let (folder, rows) = scene("hang", "sheet:6", 8, "");
    let corners = |frame: usize| [0, 5].map(|v: usize| folder.surface(frame)[v]);
    assert!(distance(&corners(0), &corners(8)) < 0.01);
    assert!(rows[8].energy < rows[0].energy && folder.surface(8)[35][1] < 1.2);
}

#[test]
fn bodies_pile_up() {
    let (folder, rows) = scene("pile", "bar:1", 7, "");
    assert!(rows[7].contacts > 0);
    let ends = folder.surface(7).iter().map(|p| p[1]).fold([9.0_f64, 0.0], |[l, h], y| [l.min(y), h.max(y)]);
    assert!(ends[0] > -0.1 && ends[1] < 2.6, "{ends:?}");
}

#[test]
fn bodies_fall_through_pins() {
    let (_, rows) = scene("pachinko", "bar:1", 45, "--dt 0.0083");
    assert!(rows[45].contacts > 0 && rows.iter().all(|row| row.deepest() < 0.1));
}

/// Without gravity and pins, a body at rest does not move, for every material.
#[test]
fn bodies_at_rest_stay() {
    let folder = Folder::new("rest");
    let file =
        folder.write("rest.toml", "gravity = [0.0, 0.0, 0.0]\n[[body]]\nrotate = [10.0, 20.0, 30.0]\n");
    for material in Material::value_variants() {
        let name = material.to_possible_value().unwrap();
        let words = format!("--scene {file} --mesh bar:1 --frames 2 --material {}", name.get_name());
        let rows = folder.run(&words).unwrap();
        assert!(distance(&folder.surface(0), &folder.surface(2)) < 1e-9, "{material:?}");
        assert!(rows.iter().all(|row| row.energy.abs() < 1e-9), "{material:?}");
        assert!(rows[1..].iter().all(|row| row.outcome == "converged"), "{material:?}");
    }
}

/// Every material bends under its weight, and its energy does not grow.
#[test]
fn every_material_swings() {
    let folder = Folder::new("materials");
    for material in Material::value_variants() {
        let name = material.to_possible_value().unwrap();
        let words = format!("--mesh bar:1 --frames 4 --material {}", name.get_name());
        check_balance(&folder.run(&words).unwrap(), 1e-4);
        assert!(distance(&folder.surface(0), &folder.surface(4)) > 0.02, "{material:?}");
    }
}

/// All methods of descent minimise the same energy.
#[test]
fn methods_of_descent_agree() {
    let folder = Folder::new("descent");
    let mut found = Vec::new();
    for integrator in Integrator::value_variants() {
        let name = integrator.to_possible_value().unwrap();
        let own = format!("--integrator {} --iterations 400 --tolerance 1e-5", name.get_name());
        for solver in ["sa", "skinning"] {
            let words = format!("--mesh bar:1 --frames 3 --material arap {own} --solver {solver}");
            let rows = folder.run(&words).unwrap();
            let ended = rows[1..].iter().all(|row| row.outcome == "converged");
            assert!(ended, "{integrator:?}, {solver}: {}", rows[3]);
            found.push(folder.surface(3));
        }
    }
    assert!(found.iter().all(|x| distance(x, &found[0]) < 1e-5));
}

/// All solvers lead to the same minimum.
#[test]
fn solvers_agree() {
    let folder = Folder::new("solvers");
    let mut found = Vec::new();
    for solver in Solver::value_variants() {
        let name = solver.to_possible_value().unwrap();
        let words = format!("--mesh bar:2 --frames 2 --tolerance 1e-6 --solver {}", name.get_name());
        let rows = folder.run(&words).unwrap();
        assert!(rows[1..].iter().all(|row| row.outcome == "converged"), "{solver:?}: {}", rows[2]);
        found.push(folder.surface(2));
    }
    assert!(found.iter().all(|x| distance(x, &found[0]) < 1e-6));
}

#[test]
fn threads_do_not_change_bits() {
    let surface = |n: usize| {
        let folder = Folder::new(&format!("threads{n}"));
        threads(n, || folder.run("--mesh bar:5 --frames 1 --solver skinning").map(drop)).unwrap().unwrap();
        folder.surface(1)
    };
    assert_eq!(surface(1), surface(3));
}

/// The rows without the columns of times.
fn bits(rows: &[Row]) -> Vec<Row> {
    rows.iter().map(|row| Row { seconds: Seconds::default(), ..row.clone() }).collect()
}

/// A continued run has the same bits, table and animation as an uninterrupted run, also if frames were
/// computed after the checkpoint.
fn check_resumption(scene: &str, mesh: &str, more: &str) {
    let [at_once, pieces] = ["at-once", "pieces"].map(|name| Folder::new(&format!("{scene}-{name}")));
    let run = |folder: &Folder, frames: &str| {
        let fixed = "--width 32 --checkpoint 2 --iterations 6";
        folder.run(&format!("{fixed} --scene {scene} --mesh {mesh} {more} --frames {frames}")).unwrap()
    };
    let whole = run(&at_once, "7");
    run(&pieces, "3"); // one frame after the checkpoint
    run(&pieces, "5 --resume");
    let continued = run(&pieces, "7 --resume");
    assert_eq!(bits(&whole), bits(&continued));
    for file in ["frame_0007.vtk", "frame_0007.png", "softbody.gif", "checkpoint.bin"] {
        let [a, b] = [&at_once, &pieces].map(|folder| folder.bytes(file));
        assert!(a == b, "{scene}: {file}");
    }
}

#[test]
fn a_run_continues_to_the_same_bits() {
    check_resumption("swing", "bar:1", "");
    check_resumption("twist", "bar:1", "--integrator pd");
    check_resumption("hang", "sheet:5", "--integrator lbfgs");
}

#[test]
fn a_pile_continues_to_the_same_bits() {
    check_resumption("pile", "bar:1", "");
    check_resumption("pile", "bar:1", "--contact penalty");
}

/// The files of a folder and their contents.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut contents: Vec<_> = files.map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect();
    contents.sort();
    contents
}

#[test]
fn checkpoints_of_another_run_are_refused_and_kept() {
    let folder = Folder::new("refused");
    let fixed = "--mesh bar:1 --frames 4 --width 32 --checkpoint 2";
    let resume = |more: &str| folder.run(&format!("{fixed} --resume {more}")).unwrap_err();
    let checkpoint = |error: &Failure| error.downcast_ref::<CheckpointError>().map(|_| error.to_string());
    let text = checkpoint(&resume("")).unwrap();
    assert!(text.contains("run without --resume"), "{text}");

    folder.run(fixed).unwrap();
    let text = checkpoint(&resume("--young 2e5")).unwrap();
    assert!(text.contains("another scene"), "{text}");
    let file = folder.0.join("checkpoint.bin");
    let good = std::fs::read(&file).unwrap();
    for damage in [0, 24, 60, good.len() - 1] {
        let mut bad = good.clone();
        bad[damage] ^= 4;
        std::fs::write(&file, bad).unwrap();
        let before = contents(&folder.0);
        let text = checkpoint(&resume("")).unwrap();
        assert!(text.contains("damaged") && text.contains("nothing was changed"), "{text}");
        assert!(before == contents(&folder.0));
    }
    std::fs::write(&file, &good).unwrap();

    let table = folder.0.join("frames.csv");
    let rows = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, rows.lines().take(3).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let before = contents(&folder.0);
    let error = resume("");
    let missing = matches!(error.downcast_ref(), Some(OutputError::Table { line: 4, .. }));
    assert!(missing && before == contents(&folder.0), "{error}");
    std::fs::write(&table, rows).unwrap();
    std::fs::remove_file(folder.0.join("frame_0002.png")).unwrap();
    let error = resume("");
    assert!(error.to_string().contains("frame_0002.png"), "{error}");
}

#[test]
fn faults_of_scene_files_are_named() {
    let folder = Folder::new("scene-faults");
    let message = |text: &str| {
        let scene = folder.write("scene.toml", text);
        let error = folder.run(&format!("--scene {scene} --frames 1")).unwrap_err();
        let of_file = matches!(error.downcast_ref(), Some(OptionsError::Scene(_)));
        assert!(of_file || error.downcast_ref::<SceneError>().is_some(), "{error}");
        error.to_string()
    };
    let body = "[[body]]\nmesh = \"bar:1\"\n";
    for (text, expected) in [
        (format!("{body}material = {{ yung = 1e5 }}\n"), &["line 3", "yung", "young"][..]),
        (format!("{body}[solver]\ntolernce = 1e-3\n"), &["line 4", "solver.tolernce", "solver.tolerance"]),
        (format!("{body}[solver]\n\ntolerance = -1.0\n"), &["line 5", "solver.tolerance", "expected 0 or"]),
        (format!("{body}[solver]\nsolver = \"magic\"\n"), &["line 4", "solver.solver", "block-jacobi"]),
        (
            format!("{body}stretch = [1.0, 1.0, 1.0]\n"),
            &["line 3", "body 0", "stretch has no effect", "body.size"],
        ),
        (format!("{body}[contact]\nbodies = 3\n"), &["line 4", "contact.bodies is 3", "true or false"]),
        (format!("{body}[[attachment]]\nnodes = {{ tob = 0.1 }}\n"), &["line 4", "tob", "top"]),
        (
            format!("{body}[[obstacle]]\nshape = {{ sphere = {{ centre = [0.0, 0.0, 0.0] }} }}\n"),
            &["line 4", "radius"],
        ),
        ("[[body]]\nmesh = \"bar:0\"\n".to_owned(), &["line 2", "bar:N"]),
        ("[[body]]\nmaterial = \"jelly\"\n".to_owned(), &["line 2", "jelly", "neo-hookean"]),
        (format!("{body}material = {{ poisson = 0.5 }}\n"), &["line 3", "body 0", "poisson", "0.5"]),
        (
            format!("{body}[[attachment]]\nnodes = {{ list = [20] }}\n"),
            &["attachment 0", "node 20", "only 20"],
        ),
        (
            format!("{body}[[attachment]]\nnodes = {{ box = [[5.0, 5.0, 5.0], [6.0, 6.0, 6.0]] }}\n"),
            &["holds no nodes"],
        ),
        (
            "[[body]]\nmesh = \"sheet:3\"\nmaterial = \"arap\"\n".to_owned(),
            &["body 0", "sheet:3", "mass-spring"],
        ),
    ] {
        let message = message(&text);
        assert!(expected.iter().all(|word| message.contains(word)), "{text}\n{message}");
    }
    let error = folder.run("--scene nowhere.toml").unwrap_err();
    assert!(error.to_string().contains("nowhere.toml"), "{error}");
}

/// The scenes of the book run.
#[test]
fn the_scenes_of_the_pages_run() {
    for page in [PAGE, include_str!("../../../book/src/guides/scenes.md")] {
        let text = page.split("```").find_map(|block| block.strip_prefix("toml\n# softbody\n"));
        let folder = Folder::new("page");
        let scene = folder.write("scene.toml", text.expect("a listing"));
        let rows = folder.run(&format!("{scene} --frames 2 --width 32")).unwrap();
        assert!(rows.len() == 3 && rows[2].outcome == "converged");
    }
}

/// The summary of the page, except its first line and the rows of times.
#[test]
fn the_summary_of_the_page_is_that_of_a_run() {
    let folder = Folder::new("summary");
    folder.run("--scene swing --frames 60").unwrap();
    let untimed = |text: &str| {
        let timed = ["setup, s", "solve, s", "frames per second"];
        let lines = text.lines().filter(|line| !timed.iter().any(|name| line.starts_with(name)));
        lines.collect::<Vec<_>>().join("\n")
    };
    let page = outputs::on_page(PAGE);
    let (_, page) = page.split_once('\n').expect("lines");
    let said = folder.text("summary.txt");
    let other = outputs::difference(&untimed(page), &untimed(&said));
    assert!(other.is_none(), "the page says {other:?}:\n{said}");
}

/// A sheet of a user's own: a file of triangles that keeps its place and size, or is placed and scaled on request, with an
/// obstacle and numbers of the solver. The command line overrides these.
#[test]
fn sheets_of_a_user_are_placed_by_a_file() {
    let folder = Folder::new("own");
    let line = |k: usize| format!("v {} 0.7 {}\n", 2 * (k % 3), 2 * (k / 3));
    let points: String = (0..9).map(line).collect();
    folder.write("sheet.obj", &format!("{points}f 1 2 5 4\nf 2 3 6 5\nf 4 5 8 7\nf 5 6 9 8\n"));
    let text = |placed: &str| {
        format!(
            "version = 1\n[[body]]\nmesh = \"sheet.obj\"\n{placed}\n[[attachment]]\nnodes = {{ sides = [\"west\"] }}\n\n\
             [[obstacle]]\nshape = {{ sphere = {{ centre = [2.0, 0.0, 2.0], radius = 0.4 }} }}\n\n\
             [time]\ndt = 0.01\nframes = 12\n\n[solver]\nsolver = \"gs\"\n\n[output]\nwidth = 0\nformat = \"vtk\"\n"
        )
    };
    let scene = folder.write("own.toml", &text(""));
    let rows = folder.run(&scene).unwrap();
    assert!(rows.len() == 13 && (rows[12].time.0 - 0.12).abs() < 1e-15 && rows[12].outcome == "converged");
    let start = folder.surface(0);
    assert_eq!((start[0], start[8]), ([0.0, 0.7, 0.0], [4.0, 0.7, 4.0]));
    let end = folder.surface(12);
    assert!(end[3][1] > 0.68 && end[8][1] < 0.65, "the west side is held: {:?} {:?}", end[3], end[8]);
    let other = folder.run(&format!("--scene {scene} --frames 1 --dt 0.005")).unwrap();
    assert_eq!(other[1].time.0, 0.005);
    let scene = folder.write("own.toml", &text("size = 1.0\ncentre = [2.0, 1.0, 2.0]\n"));
    folder.run(&scene).unwrap();
    assert_eq!((folder.surface(0)[0], folder.surface(0)[8]), ([1.5, 1.0, 1.5], [2.5, 1.0, 2.5]));
}

/// A material is a name or a table; numbers of other programs are refused.
#[test]
fn materials_take_the_numbers_of_this_program() {
    let folder = Folder::new("material-keys");
    let run = |material: &str| {
        let text = format!("mesh = \"bar:1\"\n[[body]]\nmaterial = {material}\n[output]\nwidth = 0\n");
        folder.run(&format!("{} --frames 0", folder.write("own.toml", &text)))
    };
    run("\"arap\"").unwrap();
    run("{ name = \"neo-hookean\", young = 2e5, poisson = 0.4, density = 500.0 }").unwrap();
    for key in ["yield_stress", "per_cell", "bending"] {
        let error = run(&format!("{{ young = 2e5, {key} = 2 }}")).unwrap_err().to_string();
        let all = "body.material.name, body.material.young, body.material.poisson, body.material.density";
        let expected = format!("material.{key} has no effect in this program, which takes {all}");
        assert!(error.contains("line 3: body 0") && error.ends_with(&expected), "{error}");
    }
}

#[test]
fn faults_of_meshes_are_named() {
    let folder = Folder::new("mesh-faults");
    let load = |text: &str| MeshChoice::File(folder.write("body.mesh", text).into()).load();
    let points =
        "MeshVersionFormatted 2\nDimension 3\nVertices 5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n1 1 1 0\n";
    let good = "Tetrahedra 2\n1 2 3 4 0\n2 3 4 5 0\nEnd\n";
    let mesh = load(&format!("{points}{good}")).unwrap();
    assert_eq!((mesh.positions.len(), mesh.tetrahedra.len()), (5, 2));
    // All tetrahedra have the opposite orientation.
    assert!(load(&format!("{points}Tetrahedra 2\n2 1 3 4 0\n3 2 4 5 0\nEnd\n")).is_ok());
    let fault = load(&format!("{points}Tetrahedra 2\n1 2 3 4 0\n3 2 4 5 0\nEnd\n")).unwrap_err();
    assert!(matches!(fault, MeshFault::Inverted { element: 1, .. }), "{fault}");
    let fault = load(&format!("{points}Tetrahedra 1\n1 2 3 4 0\nEnd\n")).unwrap_err();
    assert!(matches!(fault, MeshFault::Unused { vertex: 4, .. }), "{fault}");
    let flat = "Vertices 4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n1 1 0 0\nTetrahedra 1\n1 2 3 4 0\nEnd\n";
    let fault = load(&format!("MeshVersionFormatted 2\nDimension 3\n{flat}")).unwrap_err();
    assert!(
        matches!(fault, MeshFault::Element { .. }) && fault.to_string().contains("tetrahedron 0"),
        "{fault}"
    );
    let fault = load(&format!("{points}End\n")).unwrap_err();
    assert!(matches!(fault, MeshFault::Empty { .. }), "{fault}");
    assert!(matches!(MeshChoice::File("nowhere.msh".into()).load(), Err(MeshFault::Read(_))));
    for name in ["bar:0", "bar:x", "sheet:1", "octopus"] {
        let fault = name.parse::<MeshChoice>().unwrap_err();
        assert!(fault.to_string().contains(name), "{fault}");
    }
}

#[test]
fn arguments_out_of_range_are_refused() {
    let wrong = "--dt 0, --young nan, --poisson 0.5, --iterations 0, --levels 100,0, --material jelly, --solver magic, \
                 --mesh bar:0";
    let folder = Folder::new("levels");
    for words in wrong.split(", ") {
        assert!(folder.parse(words).is_err(), "{words}");
    }
    for words in ["--solver gs --levels 3", "--solver skinning --levels 8,40"] {
        let error = folder.run(&format!("{words} --frames 1")).unwrap_err();
        assert!(error.to_string().contains("--levels"), "{error}");
    }
}

/// A body whose weight is below the round-off of its forces: no step could converge.
#[test]
fn scales_that_cannot_be_resolved_are_refused() {
    let folder = Folder::new("scales");
    for extreme in ["--density 1e-300", "--young 1e100", "--density 1e-12"] {
        let error = folder.run(&format!("--mesh bar:2 --frames 1 {extreme}")).unwrap_err();
        let Some(Unresolved { noise, limit, .. }) = error.downcast_ref() else { panic!("{error}") };
        assert!(noise > limit, "{error}");
    }
}

/// The bunny of the test data falls. Without the data, the error message explains how to get it.
#[test]
fn meshes_of_the_test_data_are_read() {
    if data::data().is_none() {
        let fault = MeshChoice::Bunny.load().unwrap_err();
        assert!(fault.to_string().contains("COARSEN_DATA"), "{fault}");
        return;
    }
    let folder = Folder::new("bunny");
    let rows = folder.run("--mesh bunny --frames 1 --width 32 --solver skinning --levels 40,8").unwrap();
    assert!(rows[1].outcome == "converged" && rows[1].outer <= 4, "{}", rows[1]);
    let armadillo = MeshChoice::Armadillo.load().unwrap();
    assert_eq!((armadillo.positions.len(), armadillo.tetrahedra.len()), (13_230, 54_985));
}

/// With matrices in f32 the iterations may differ, but the result is the same.
#[test]
fn backends_agree() {
    let folder = Folder::new("backends");
    let fixed = "--mesh bar:2 --frames 2 --tolerance 1e-5";
    folder.run(fixed).unwrap();
    let cpu = folder.surface(2);
    run(Cpu::mixed(), &folder.options(fixed)).unwrap();
    assert!(distance(&cpu, &folder.surface(2)) < 1e-5);
    let backend = AnyBackend::choose("auto".parse().unwrap()).unwrap();
    for integrator in ["newton", "pd"] {
        let words = format!("{fixed} --integrator {integrator} --material arap");
        folder.run(&words).unwrap();
        let cpu = folder.surface(2);
        run(backend.clone(), &folder.options(&words)).unwrap();
        assert!(distance(&cpu, &folder.surface(2)) < 1e-4, "{integrator}");
    }
}

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
