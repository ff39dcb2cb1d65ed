//! The program under `mpirun`: the files of one rank on any number of ranks, and errors that end all ranks.

#[path = "../../../tests/common/folder.rs"]
mod folder;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use folder::Folder;

impl Folder {
    /// The numbers of the positions in the table of frames.
    fn positions(&self) -> Vec<String> {
        let table = self.text("frames.csv");
        let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().expect("a header");
        let at = names.iter().position(|name| *name == "positions").expect("a column");
        lines.map(|line| line[at].to_owned()).collect()
    }
}

fn run(ranks: usize, out: &Path, words: &str) -> Output {
    Command::new("mpirun")
        .args(["--oversubscribe", "-n", &ranks.to_string(), env!("CARGO_BIN_EXE_cloth-mpi"), "--out"])
        .arg(out)
        .args(words.split_whitespace())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .expect("mpirun starts; install openmpi-bin")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Three sheets fall on the ball. A run that is stopped after a frame and continued on another number of ranks has the
/// bits of one rank, as any other.
#[test]
fn processes_have_the_bits_of_one_rank() {
    let scene = "--scene sphere --sheets 3 --vertices 5000 --dt 0.01 --width 0 --checkpoint 1";
    let one = Folder::new("1");
    let output = run(1, &one.0, &format!("{scene} --frames 2"));
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        text(&output).contains("steps per second") && text(&output).contains("on 1 ranks"),
        "{}",
        text(&output)
    );
    let positions = one.positions();
    assert_eq!(positions.len(), 3);
    assert_ne!(positions[1], positions[2]);
    for ranks in [3, 4] {
        let folder = Folder::new(&ranks.to_string());
        let output = run(2, &folder.0, &format!("{scene} --frames 1"));
        assert!(output.status.success(), "{}", text(&output));
        let output = run(ranks, &folder.0, &format!("{scene} --frames 2 --resume"));
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(folder.positions(), positions, "{ranks}");
        assert!(folder.text("frame_0002.obj") == one.text("frame_0002.obj"), "{ranks}");
    }
}

/// A sheet that a ball pushes, pieces that are sewn, a divided skirt: the bits of one rank.
#[test]
fn scenes_have_the_bits_of_one_rank() {
    for (name, scene) in [
        ("pushed", "--scene pushed --vertices 2000"),
        ("stitching", "--scene stitching --vertices 500 --subdivide 1"),
        ("garment", "--scene garment --vertices 500 --subdivide 1"),
    ] {
        let words = format!("{scene} --dt 0.01 --width 0 --frames 2");
        let positions = [1, 2, 4].map(|ranks| {
            let folder = Folder::new(&format!("{name}{ranks}"));
            let output = run(ranks, &folder.0, &words);
            assert!(output.status.success(), "{name}: {}", text(&output));
            folder.positions()
        });
        assert!(
            positions[0][1] != positions[0][2] && positions.iter().all(|other| *other == positions[0]),
            "{name}"
        );
    }
}

/// The iterations of all steps, and the summary.
fn iterations(folder: &Folder) -> usize {
    let table = folder.text("frames.csv");
    let inner = |line: &str| line.split(',').nth(2).map_or(0, |field| field.parse().unwrap());
    table.lines().skip(1).map(inner).sum()
}

/// Multilevel Schwarz and smoothed aggregation need fewer iterations; the first has the bits of one rank.
#[test]
fn preconditioners_work_on_processes() {
    let run = |ranks: usize, solver: &str| {
        let folder = Folder::new(&format!("{solver}-{ranks}"));
        let scene = "--scene sphere --vertices 3000 --dt 0.01 --stiffness 10 --width 0 --frames 2";
        let output = run(ranks, &folder.0, &format!("{scene} --solver {solver}"));
        assert!(output.status.success(), "{}", text(&output));
        folder
    };
    let blocks = iterations(&run(2, "block-jacobi"));
    let [one, two] = [1, 2].map(|ranks| run(ranks, "mas"));
    assert_eq!(one.positions(), two.positions());
    assert!(3 * iterations(&two) < 2 * blocks, "{} {blocks}", iterations(&two));
    let hierarchy = iterations(&run(3, "sa"));
    assert!(3 * hierarchy < blocks, "{hierarchy} {blocks}");
}

/// A fault that one rank finds alone, such as a file that its host lacks, ends all ranks at once. The cause and the rank
/// are printed once.
#[test]
fn a_fault_of_one_rank_ends_all() {
    let folder = Folder::new("alone");
    let mesh = folder.write("sheet.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n");
    let program = |ranks: &str, mesh: &Path| {
        let words = ["-n", ranks, env!("CARGO_BIN_EXE_cloth-mpi"), "--frames", "1", "--width", "0", "--mesh"];
        let words = words.into_iter().map(Into::into).chain([mesh.into(), "--out".into(), folder.0.clone()]);
        words.collect::<Vec<PathBuf>>()
    };
    let absent = folder.0.join("absent.obj");
    for alone in 0..3 {
        let begun = Instant::now();
        let mut words = Vec::new();
        for rank in 0..3 {
            words.extend(program("1", if rank == alone { &absent } else { Path::new(&mesh) }));
            words.push(":".into());
        }
        words.pop();
        let output = Command::new("mpirun")
            .arg("--oversubscribe")
            .args(words)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .output()
            .expect("mpirun starts; install openmpi-bin");
        let text = text(&output);
        assert!(!output.status.success() && begun.elapsed() < Duration::from_secs(60), "{text}");
        assert!(text.matches("absent.obj").count() == 1, "{text}");
        assert!(text.contains(&format!("on rank {alone}: error")), "{text}");
    }
    let output = run(1, &folder.0, &format!("--frames 0 --width 0 --mesh {mesh}"));
    assert!(output.status.success(), "the other ranks have no fault of their own: {}", text(&output));
}

/// One line for an error of all ranks, and an end for all if one rank fails.
#[test]
fn errors_end_all_ranks() {
    let folder = Folder::new("errors");
    for (words, part) in [
        ("--scene nowhere", "cannot be read"),
        ("--ranks 2", "--ranks is for ranks as threads"),
        ("--obstacles constraints", "obstacles as constraints"),
        ("--solver skinning", "take --solver block-jacobi, mas or sa"),
        ("--backend opencl", "leave out --backend"),
        ("--backend mixed", "leave out --backend"),
        ("--iterations 1", "leave out --iterations"),
        ("--inner 1", "leave out --iterations, --inner"),
        ("--fixed", "leave out --iterations"),
        ("--tolerance 1", "leave out --iterations"),
        ("--solver mas --levels 3,2", "--levels 3,2 does not fit"),
    ] {
        let output = run(2, &folder.0, words);
        assert!(!output.status.success() && text(&output).matches(part).count() == 1, "{}", text(&output));
    }
    let output = run(3, &folder.0, "--vertices 100 --frames 1 --resume");
    assert!(
        !output.status.success() && text(&output).contains("checkpoint cannot be read"),
        "{}",
        text(&output)
    );
    // Rank 0 alone cannot write.
    std::fs::remove_dir(&folder.0).unwrap();
    std::fs::write(&folder.0, "a file where the folder should be").unwrap();
    let output = run(3, &folder.0, "--vertices 100 --frames 1 --width 0");
    std::fs::remove_file(&folder.0).unwrap();
    assert!(!output.status.success() && text(&output).contains("the frames of cloth"), "{}", text(&output));
}
