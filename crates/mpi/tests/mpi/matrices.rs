//! What the command finds out about a matrix, and the devices of ranks.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use coarsen_matrix_market as matrix_market;
use coarsen_opencl::devices;
use coarsen_problems::{Options, Problem};

use crate::jobs::{command, command_with, number_before, this};
use crate::listed::Folder;

/// Writes the matrix of a problem, and the coordinates of its nodes.
pub(crate) fn write(problem: &Problem, matrix: &Path, points: &Path) {
    matrix_market::write(matrix, &problem.matrix, matrix_market::Symmetry::Detect).unwrap();
    let n = problem.positions.len();
    let values = (0..3 * n).map(|k| problem.positions[k % n][k / n]).collect();
    matrix_market::write_dense(points, &matrix_market::Dense::new(n, 3, values).unwrap()).unwrap();
}

/// Writes the near-kernel of a problem.
pub(crate) fn write_near_kernel(problem: &Problem, file: &Path) {
    let modes = &problem.near_kernel;
    let columns = (0..modes.vectors()).flat_map(|j| modes.column(j)).collect();
    let columns = matrix_market::Dense::new(modes.size(), modes.vectors(), columns).unwrap();
    matrix_market::write_dense(file, &columns).unwrap();
}

/// A file with these entries, of which rows and columns begin with 0.
fn written(folder: &Folder, n: usize, entries: &[(usize, usize, f64)]) -> PathBuf {
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n", entries.len());
    for (i, j, v) in entries {
        let _ = writeln!(text, "{} {} {v}", i + 1, j + 1);
    }
    let file = folder.0.join("A.mtx");
    std::fs::write(&file, text).unwrap();
    file
}

/// A row of `n` nodes: `diagonal(i)`, and the couplings to the nodes before and after.
fn chain(n: usize, diagonal: impl Fn(usize) -> f64, [before, after]: [f64; 2]) -> Vec<(usize, usize, f64)> {
    let inside = |i: usize| (i, i, diagonal(i));
    let pairs = (1..n).flat_map(|i| [(i, i - 1, before), (i - 1, i, after)]);
    (0..n).map(inside).chain(pairs).collect()
}

/// The exit code and the text for a file, on 3 ranks.
fn solved(file: &Path, words: &str) -> (Option<i32>, String) {
    command(3, &format!("solve {} --rhs ones {words}", file.display()))
}

/// As in `coarsen`, methods for symmetric or definite matrices refuse others before the first iteration, also where only
/// the couplings between two ranks show it. The numbers are those of the file, whatever the order of the nodes.
pub(crate) fn properties() {
    let folder = Folder::new();
    let file = written(&folder, 60, &chain(60, |_| 4.0, [-3.0, -0.5]));
    for method in ["cg", "fcg", "minres", "single-reduction-cg", "pipelined-cg"] {
        let (code, text) = solved(&file, &format!("--method {method}"));
        assert!(code == Some(4) && text.contains("gmres or bicgstab"), "{method}: {text}");
        assert!(!text.contains("iterations,") && !text.contains("direct method"), "{method}: {text}");
    }
    for method in ["gmres", "bicgstab"] {
        assert_eq!(solved(&file, &format!("--method {method}")).0, Some(0));
    }
    let (code, text) = solved(&written(&folder, 60, &chain(60, |_| 4.0, [-1.0, 0.0])), "");
    assert!(code == Some(4) && text.contains("only one triangle is stored"), "{text}");
    // A setup names the row of the file, and the option in place of a parameter.
    let mut points = String::from("%%MatrixMarket matrix array real general\n60 3\n");
    (0..180)
        .for_each(|k| points.push_str(if k < 60 { if k % 2 == 0 { "0\n" } else { "1\n" } } else { "0\n" }));
    std::fs::write(folder.0.join("points.mtx"), points).unwrap();
    let file = written(&folder, 60, &chain(60, |i| if i == 41 { 0.0 } else { 4.0 }, [-3.0, -0.5]));
    let words = format!(
        "--method gmres --precond jacobi --partition morton --coordinates {} --block-size 1",
        folder.0.join("points.mtx").display()
    );
    let (code, text) = solved(&file, &words);
    assert!(code == Some(3) && text.contains("row 42 has a zero or missing diagonal entry"), "{text}");
    let file = written(&folder, 60, &chain(60, |_| 4.0, [-1.0, -1.0]));
    let (code, text) = solved(&file, "--block-size 3 --precond mas --mas-domain 1024");
    assert!(code == Some(3) && text.contains("--mas-domain times the block size"), "{text}");
    // One pair, between ranks 0 and 1.
    let mut entries = chain(60, |_| 4.0, [-1.0, -1.0]);
    entries.iter_mut().filter(|(i, j, _)| (*i, *j) == (19, 20)).for_each(|(.., v)| *v = -1.5);
    let (code, text) = solved(&written(&folder, 60, &entries), "");
    assert!(code == Some(4) && text.contains("row 20, column 21 holds -1.5"), "{text}");
    assert_eq!(text.matches("needs a symmetric matrix").count(), 1, "{text}");
    // Indefinite: signs of the diagonal, and the minor of a pair between ranks 1 and 2.
    let signs = written(&folder, 60, &chain(60, |i| if i == 25 { -4.0 } else { 4.0 }, [-1.0, -1.0]));
    let (code, text) = solved(&signs, "");
    assert!(code == Some(4) && text.contains("negative in row 26"), "{text}");
    assert_eq!(solved(&signs, "--method minres --precond none").0, Some(0));
    let mut entries = chain(60, |_| 4.0, [-1.0, -1.0]);
    let pair = |i: usize, j: usize| (i.min(j), i.max(j)) == (39, 40);
    entries.iter_mut().filter(|(i, j, _)| pair(*i, *j)).for_each(|(.., v)| *v = -5.0);
    let (code, text) = solved(&written(&folder, 60, &entries), "");
    assert!(code == Some(4) && text.contains("rows 40 and 41"), "{text}");
    // A value that 1e30 prescribes would hide all other residuals.
    let file = written(&folder, 60, &chain(60, |i| if i == 25 { 1e30 } else { 4.0 }, [-1.0, -1.0]));
    for method in ["cg", "gmres"] {
        let (code, text) = solved(&file, &format!("--method {method}"));
        assert!(code == Some(4) && text.contains("row 26 prescribes a value"), "{method}: {text}");
    }
    // Advice has options of this command only.
    let file = written(&folder, 60, &chain(60, |_| 2.0, [-1.0, -1.0]));
    let (code, text) = solved(&file, "--max-iterations 2");
    assert!(
        code == Some(4) && text.contains("--max-iterations") && !text.contains("direct method"),
        "{text}"
    );
    // GMRES with restarts makes no progress on a cyclic shift: the residual stays at 1, far above round-off.
    let shift: Vec<_> = (0..60_usize).map(|i| (i, (i + 1) % 60, 1.0)).collect();
    let (file, first) = (written(&folder, 60, &shift), folder.0.join("first.mtx"));
    let unit: Vec<f64> = (0..60).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
    matrix_market::write_vector(&first, &unit).unwrap();
    let words = "--method gmres --precond none --block-size 1";
    let (code, text) = command(3, &format!("solve {} --rhs {} {words}", file.display(), first.display()));
    let told = text.contains("does not suit A") && text.contains("--precond sa");
    assert!(code == Some(4) && told && !text.contains("--tol"), "{text}");
}

/// The unknowns of a node follow from the coordinates, or else from the pattern, as in `coarsen`.
pub(crate) fn block_sizes() {
    let folder = Folder::new();
    let [matrix, points] = ["A.mtx", "x.mtx"].map(|name| folder.0.join(name));
    let write = |name: &str| {
        self::write(&Problem::parse(name, &Options::default()).unwrap(), &matrix, &points);
    };
    let coordinates = format!("--coordinates {}", points.display());
    // 5,184 and 18,252 unknowns: a whole pattern, and a sample.
    for (name, size) in [("elasticity3d:11", 3), ("elasticity3d:17", 3), ("poisson2d:150", 1)] {
        write(name);
        let iterations = [coordinates.as_str(), "", &format!("--block-size {size}")].map(|words| {
            let (code, text) = solved(&matrix, words);
            assert!(code == Some(0) && text.contains(&format!("{size} x {size} blocks")), "{name}: {text}");
            number_before(&text, "iterations")
        });
        assert!(iterations.iter().all(|one| *one == iterations[0]), "{name}: {iterations:?}");
    }
    // Coordinates of another system, and a size that does not fit them.
    write("elasticity3d:11");
    let other = folder.0.join("other.mtx");
    matrix_market::write_dense(&other, &matrix_market::Dense::new(100, 3, vec![0.0; 300]).unwrap()).unwrap();
    let (code, text) = solved(&matrix, &format!("--coordinates {}", other.display()));
    assert!(code != Some(0) && text.contains("other.mtx"), "{text}");
    let (code, text) = solved(&matrix, &format!("{coordinates} --block-size 1"));
    assert!(code == Some(3) && text.contains("one per node of --block-size unknowns"), "{text}");
}

/// A near-kernel that is ordered by component beside a matrix by node is named once, whatever the order of the nodes on ranks.
pub(crate) fn orders() {
    let folder = Folder::new();
    let [matrix, points, kernel] = ["A.mtx", "x.mtx", "kernel.mtx"].map(|name| folder.0.join(name));
    let problem = coarsen_problems::elasticity3d(8, 1.0).unwrap();
    write(&problem, &matrix, &points);
    let (modes, nodes) = (&problem.near_kernel, problem.positions.len());
    let by_node = |i: usize| i;
    let by_component = |i: usize| i % nodes * 3 + i / nodes;
    let orders: [(&dyn Fn(usize) -> usize, bool); 2] = [(&by_node, false), (&by_component, true)];
    for (order, is_told) in orders {
        let columns = (0..modes.vectors()).map(|j| modes.column(j));
        let columns = columns.flat_map(|v| (0..v.len()).map(|i| v[order(i)]).collect::<Vec<_>>()).collect();
        let columns = matrix_market::Dense::new(modes.size(), modes.vectors(), columns).unwrap();
        matrix_market::write_dense(&kernel, &columns).unwrap();
        let coordinates = format!("--coordinates {}", points.display());
        for (words, is_told) in [
            (format!("--near-kernel {}", kernel.display()), is_told),
            (format!("--near-kernel {} {coordinates} --partition morton", kernel.display()), is_told),
            (coordinates, false),
        ] {
            let (code, text) = solved(&matrix, &format!("--block-size 3 --precond sa {words}"));
            let told = text.matches("warning   the near-kernel is ordered by component").count();
            assert!((is_told || code == Some(0)) && told == usize::from(is_told), "{words}: {text}");
        }
    }
}

/// What [`ranks_take_devices`] asks of a machine: two devices, which PoCL makes of one processor.
const TWO: [&str; 2] = ["-x", "POCL_DEVICES=pthread pthread"];

/// Prints the numbers of the devices that ranks take in turn, and of all devices: a process has the devices of its
/// environment.
pub(crate) fn list_devices() {
    let all = devices().unwrap_or_default();
    let of = |accelerator: bool| -> Vec<usize> {
        let able = all.iter().enumerate().filter(|(_, device)| device.double);
        able.filter(|(_, device)| device.accelerator == accelerator).map(|(k, _)| k).collect()
    };
    let in_turn = if of(true).is_empty() { of(false) } else { of(true) };
    let is_pocl = all.iter().all(|device| device.platform.contains("Portable Computing Language"));
    assert!(all.is_empty() || !is_pocl || all.len() == 2, "PoCL makes two devices of POCL_DEVICES");
    println!("{in_turn:?} of {}", all.len());
}

/// Ranks of a machine take its devices in turn; `--device` gives all ranks one. Numbers of no device are refused.
pub(crate) fn ranks_take_devices() {
    let (code, text) = command(2, "solve --problem poisson2d:12 --device 0");
    assert!(code == Some(2) && text.contains("give --backend opencl"), "{text}");
    let listed = this(1, &TWO, "devices").text();
    let (in_turn, all) = listed.trim().split_once(" of ").expect("the devices");
    let in_turn: Vec<usize> = serde_json::from_str(in_turn).unwrap();
    if all == "0" {
        assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "no OpenCL device");
        return println!("skipped: no OpenCL device");
    }
    let solve = |words: &str| {
        command_with(3, &TWO, &format!("solve --problem poisson2d:12 --backend opencl {words}"))
    };
    if in_turn.is_empty() {
        let (code, text) = solve("");
        assert!(code == Some(5) && text.contains("devices computes in f64"), "{text}");
    } else {
        let expected: Vec<usize> = in_turn.iter().copied().cycle().take(3).collect();
        let (code, text) = solve("");
        assert!(code == Some(0) && text.contains(&format!("devices {expected:?}")), "{in_turn:?}: {text}");
        for device in in_turn {
            let (code, text) = solve(&format!("--device {device}"));
            assert!(code == Some(0) && text.contains(&format!("devices {:?}", [device; 3])), "{text}");
        }
    }
    let (code, text) = solve("--device 99");
    assert!(code == Some(5) && text.contains(&format!("--device 99: this machine has {all}")), "{text}");
}
