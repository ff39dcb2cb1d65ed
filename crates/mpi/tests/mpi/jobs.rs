//! Jobs of `mpirun`, and how they must end.

use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use coarsen_matrix_market as matrix_market;
use coarsen_opencl::{DeviceError, OpenClError, default_device};

use crate::{common, files, flags, listed, matrices, outputs, parameters, reports};

/// The variable that tells a process what to do as a rank.
pub(crate) const ROLE: &str = "COARSEN_MPI_ROLE";

/// No job may take longer: a hang is a failure.
const LIMIT: Duration = Duration::from_secs(240);

/// A fault must end a job within this time; deadlines of ranks are one second.
const SOON: Duration = Duration::from_secs(30);

/// The tutorial "More than one machine".
const PAGE: &str = include_str!("../../../../book/src/tutorials/ranks.md");

/// Output and duration of a job.
pub(crate) struct Ended {
    output: Output,
    seconds: Duration,
}

impl Ended {
    pub(crate) fn text(&self) -> String {
        let part = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        part(&self.output.stdout) + &part(&self.output.stderr)
    }
}

/// Runs a program on `ranks` ranks.
fn job(ranks: usize, options: &[&str], role: &str, program: &[&str]) -> Ended {
    let begun = Instant::now();
    let mut child = Command::new("mpirun")
        .args(["--oversubscribe", "-n", &ranks.to_string()])
        .args(options)
        .args(program)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("RUST_BACKTRACE", "0") // so that the output fits the pipes, which nobody reads before the end
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mpirun starts; install openmpi-bin");
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > LIMIT {
            child.kill().expect("a child");
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ended { output: child.wait_with_output().expect("output"), seconds: begun.elapsed() }
}

/// Runs this program, which then does what `role` says.
pub(crate) fn this(ranks: usize, options: &[&str], role: &str) -> Ended {
    let program = std::env::current_exe().expect("a path");
    job(ranks, options, role, &[program.to_str().expect("a path in UTF-8")])
}

/// Every invariant holds on every number of ranks.
fn invariants(ranks: usize) {
    let ended = this(ranks, &[], "invariants");
    assert!(ended.output.status.success(), "{}", ended.text());
}

/// The program starts MPI itself and splits its own communicator.
fn own_communicator(ranks: usize) {
    let ended = this(ranks, &[], "own");
    assert!(ended.output.status.success(), "{}", ended.text());
}

/// The job ends soon, without success, and its output names what it must.
fn fault(ranks: usize, options: &[&str], role: &str, named: &[&str]) {
    let ended = this(ranks, options, role);
    let text = ended.text();
    // With recovery, mpirun itself ends with success.
    let failed = !ended.output.status.success() || options.contains(&"--enable-recovery");
    assert!(failed && ended.seconds < SOON, "{:?}: {text}", ended.seconds);
    named.iter().for_each(|name| assert!(text.contains(name), "no `{name}` in: {text}"));
}

/// The message of the page, with a shorter deadline and another stage.
fn hanging_rank() {
    let page = outputs::words(PAGE);
    let (_, tail) = page.split_once("waited 60 s for rank 1 in a halo exchange; ").expect("the message");
    let (advice, _) = tail.split_once(" ```").expect("the end of a block");
    let message = format!("waited 1 s for rank 1 in a stage of this test; {advice}");
    fault(3, &[], "hang", &[message.as_str(), " aborts all ranks: rank "]);
}

/// Runs the command; returns its exit code and what it prints.
pub(crate) fn command(ranks: usize, words: &str) -> (Option<i32>, String) {
    command_with(ranks, &[], words)
}

/// As [`command`], with options of mpirun.
pub(crate) fn command_with(ranks: usize, options: &[&str], words: &str) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_coarsen-mpi");
    let words: Vec<&str> = [program].into_iter().chain(words.split_whitespace()).collect();
    let ended = job(ranks, options, "", &words);
    (ended.output.status.code(), ended.text())
}

/// The number before `word` in the report of the command.
pub(crate) fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    before.split_whitespace().last().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{word}: {text}"))
}

/// Iterations do not depend on the number of ranks, and the report has a line for each rank.
fn solves() {
    for precond in ["block-jacobi --product halo", "mas --partition morton --product reproducible --leaf 32"]
    {
        let mut before = None;
        for ranks in [1, 3] {
            let (code, text) = command(ranks, &format!("solve --problem cloth:20 --precond {precond}"));
            assert_eq!(code, Some(0), "{text}");
            let iterations = number_before(&text, "iterations");
            assert!(before.is_none_or(|before: usize| before.abs_diff(iterations) <= 1), "{text}");
            before = Some(iterations);
            let rows: usize = text.lines().filter_map(|line| line.trim().strip_prefix("rank ")).count();
            assert_eq!(rows, ranks, "{text}");
        }
    }
}

/// An OpenCL device in each rank needs as many iterations as the CPU; what it does not have is refused.
fn devices() {
    let iterations = |ranks: usize, precond: &str, backend: &str| {
        let words = format!("solve --problem cloth:30 --precond {precond} --backend {backend}");
        let (code, text) = command(ranks, &words);
        assert_eq!(code, Some(0), "{text}");
        number_before(&text, "iterations")
    };
    match default_device::<f64>() {
        Ok(_) => {
            for precond in ["block-jacobi", "mas", "sa"] {
                for ranks in [1, 2] {
                    let [expected, found] =
                        ["cpu", "opencl"].map(|backend| iterations(ranks, precond, backend));
                    assert!(found.abs_diff(expected) <= 1, "{precond} on {ranks}: {found} for {expected}");
                }
            }
        }
        Err(why @ (OpenClError::Absent(_) | OpenClError::Device(DeviceError::Precision { .. }))) => {
            assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "{why}");
            println!("skipped: {why}");
        }
        Err(why) => panic!("{why}"),
    }
    for other in ["--precond jacobi", "--product blocking"] {
        let (code, text) = command(2, &format!("solve --problem cloth:10 --backend opencl {other}"));
        assert!(code == Some(2) && text.matches("--backend cpu").count() == 1, "{text}");
    }
}

/// Every option of products and schedules; wrong ones are refused with the codes of `coarsen`.
fn options() {
    for product in ["blocking", "pipelined", "halo", "reproducible"] {
        for schedule in ["ring", "pairwise", "queues", "best"] {
            let words =
                format!("solve --problem poisson2d:12 --product {product} --schedule {schedule} --quiet");
            assert_eq!(command(2, &words), (Some(0), String::new()));
        }
    }
    let (code, text) = command(3, "solve --problem poisson2d:12 --product pipelined --schedule queues");
    assert!(code == Some(2) && text.matches("power of two").count() == 1, "{text}");
    let (code, text) = command(2, "solve --problem nobody:12");
    assert!(code == Some(2) && text.matches("nobody").count() == 1, "{text}");
    let (code, text) = command(2, "solve --precond everything");
    assert!(code == Some(2) && text.matches("invalid value").count() == 1, "{text}");
    let (code, text) = command(2, "solve /nonexistent/a.mtx");
    assert!(code == Some(3) && text.contains("/nonexistent/a.mtx"), "{text}");
    let (code, text) = command(2, "solve --problem cloth:20 --max-iterations 3");
    assert!(code == Some(4) && text.contains("iteration_limit"), "{text}");
}

/// The program of the page finds the same solution on any number of ranks, and the command prints the report of the page.
fn tutorial() {
    let folder = listed::Folder::new();
    let folder = &folder.0;
    let problem = coarsen_problems::elasticity3d(12, 1.0).unwrap();
    matrices::write(&problem, &folder.join("A.mtx"), &folder.join("coordinates.mtx"));
    matrix_market::write_vector(folder.join("b.mtx"), &problem.right_hand_side(1)).unwrap();
    let program = std::env::current_exe().expect("a path");
    let words = [program.to_str().expect("a path"), folder.to_str().expect("a path")];
    let mut solutions = Vec::new();
    for ranks in [1, 2, 4] {
        let ended = job(ranks, &[], "first", &words);
        assert!(ended.output.status.success() && ended.text().contains("converged"), "{}", ended.text());
        solutions.push(matrix_market::read_vector(folder.join("x.mtx")).unwrap());
    }
    assert!(solutions.iter().all(|x| common::distance(x, &solutions[0]) < 1e-6));

    matrices::write_near_kernel(&problem, &folder.join("near_kernel.mtx"));
    let blocks = outputs::blocks(PAGE);
    let at = blocks.iter().position(|(language, _)| *language == "text").expect("a report");
    let lines = blocks[at - 1].1.replace("\\\n", " ");
    let (_, words) = lines.split_once("coarsen-mpi ").expect("a command");
    let here = format!("{}/", folder.display());
    let (code, text) = command(2, &format!("{} --threads 1", words.replace("cube/", &here)));
    assert_eq!(code, Some(0), "{text}");
    let other = outputs::difference(blocks[at].1, &text.replace(&here, "cube/"));
    assert!(other.is_none(), "the page says {other:?}:\n{text}");
}

/// Smoothed aggregation, every partition, and a file that is read by pieces: the same iterations as on one rank.
fn partitions() {
    let folder = listed::Folder::new();
    let folder = &folder.0;
    let problem = coarsen_problems::cloth(30, 0.01).unwrap();
    let (matrix, points) = (folder.join("A.mtx"), folder.join("x.mtx"));
    let (kernel, out) = (folder.join("kernel.mtx"), folder.join("solution.mtx"));
    matrices::write(&problem, &matrix, &points);
    matrices::write_near_kernel(&problem, &kernel);
    let given = [("--coordinates", &points), ("--near-kernel", &kernel), ("--out", &out)];
    let given: String = given.iter().map(|(option, file)| format!(" {option} {}", file.display())).collect();
    let file = format!("solve {} --block-size 3 --precond sa{given}", matrix.display());
    let gallery = "solve --problem cloth:30 --dt 0.01 --precond sa";
    let mut before: Option<(usize, Vec<f64>)> = None;
    for (ranks, partition) in [(1, "even"), (3, "even"), (3, "morton"), (3, "bisection"), (4, "bisection")] {
        let (code, text) = command(ranks, &format!("{file} --partition {partition}"));
        assert_eq!(code, Some(0), "{text}");
        let x = matrix_market::read_vector(&out).unwrap();
        let found = number_before(&text, "iterations");
        let (one, expected) = before.get_or_insert_with(|| (found, x.clone()));
        assert!(found <= (115 * *one).div_ceil(100), "{found} iterations, {one} on one rank: {text}");
        assert!(common::distance(&x, expected) < 1e-6, "{partition} on {ranks}");
        let (code, text) = command(ranks, &format!("{gallery} --partition {partition}"));
        assert!(code == Some(0) && number_before(&text, "iterations").abs_diff(found) <= 1, "{text}");
    }
    // Without a file of the near-kernel: rigid-body motions from the coordinates, or constants.
    let plain = format!("solve {} --block-size 3 --precond sa", matrix.display());
    let [rigid, constants] = [format!(" --coordinates {}", points.display()), String::new()].map(|more| {
        let (code, text) = command(2, &(plain.clone() + &more));
        assert_eq!(code, Some(0), "{text}");
        number_before(&text, "iterations")
    });
    let one = before.as_ref().map_or(0, |(one, _)| *one);
    let all = [rigid, constants, one];
    assert!(rigid <= one + 3 && constants <= 3 * one, "rigid, constants, given: {all:?} iterations");
    let (code, text) = command(2, &format!("solve {} --partition morton", matrix.display()));
    assert!(code == Some(2) && text.contains("give --coordinates FILE"), "{text}");
    // A given partition: nodes by turns, none for the last rank; then one that names a rank too many.
    let parts = folder.join("cloth.part.4");
    let write = |other: usize| {
        let lines: Vec<String> = (0..900).map(|i| if i == 7 { other } else { i % 3 }.to_string()).collect();
        std::fs::write(&parts, lines.join("\n")).unwrap();
    };
    write(1);
    for words in
        [format!("{file} --parts {}", parts.display()), format!("{gallery} --parts {}", parts.display())]
    {
        let (code, text) = command(4, &words);
        assert!(code == Some(0) && number_before(&text, "iterations") <= 2 * one, "{text}");
    }
    let (_, expected) = before.as_ref().unwrap();
    assert!(common::distance(&matrix_market::read_vector(&out).unwrap(), expected) < 1e-6);
    write(4);
    let (code, text) = command(4, &format!("{gallery} --parts {}", parts.display()));
    assert!(code == Some(3) && text.contains("line 8: expected a rank below 4"), "{text}");
    let (code, text) = command(2, &format!("{gallery} --parts {}", folder.join("none").display()));
    assert!(code == Some(3) && text.contains("cannot be read"), "{text}");
    std::fs::write(&parts, "0\n1\n").unwrap();
    let (code, text) = command(2, &format!("{gallery} --parts {}", parts.display()));
    assert!(code == Some(3) && text.contains("expected 900 rows (one per node), found 2"), "{text}");
    let (code, text) = command(2, &format!("{gallery} --product reproducible --parts {}", parts.display()));
    assert!(code == Some(2) && text.contains("and no --parts"), "{text}");
    let (code, text) = command(2, &format!("solve {} --block-size 7", matrix.display()));
    assert!(code == Some(2) && text.contains("does not divide the 2700 unknowns"), "{text}");
}

/// Ranks with different command lines, whether the other one is wrong or not: all end at once with the code of a wrong
/// command line, and one says why.
fn command_lines() {
    let program = env!("CARGO_BIN_EXE_coarsen-mpi");
    let first = [program, "solve", "--problem", "cloth:20"];
    let unknown = "error: unexpected argument '--no-such-option'";
    let differs = "error: rank 2 has another command line than rank 0";
    for (other, expected) in
        [("--no-such-option", unknown), ("--tol=1e-4", differs), ("--threads=1", differs)]
    {
        let last = [":", "-n", "1", program, "solve", "--problem", "cloth:20", other];
        let ended = job(2, &[], "", &[&first[..], &last].concat());
        let text = ended.text();
        assert!(ended.output.status.code() == Some(2) && ended.seconds < SOON, "{:?}: {text}", ended.seconds);
        assert_eq!(text.matches(expected).count(), 1, "{text}");
    }
}

type Job = (&'static str, fn());

const JOBS: [Job; 31] = [
    ("invariants on 1 rank", || invariants(1)),
    ("invariants on 2 ranks", || invariants(2)),
    ("invariants on 3 ranks", || invariants(3)),
    ("invariants on 4 ranks", || invariants(4)),
    ("invariants on 7 ranks", || invariants(7)),
    ("a communicator of the program", || own_communicator(5)),
    ("a hanging rank", hanging_rank),
    ("a killed rank", || fault(3, &[], "kill", &["rank 1", "signal 9"])),
    ("a killed rank whose death MPI ignores", || {
        fault(3, &["--enable-recovery"], "kill", &["waited 1 s for rank 1 in a halo exchange", "aborts"])
    }),
    ("a rank that ends early", || {
        fault(3, &[], "leave", &["waited 5 s for rank 2 in a stage of this test", "aborts"])
    }),
    ("a rank that creates a communicator too late", || {
        fault(3, &[], "late", &["waited 1 s for the other ranks to create a communicator", "aborts"])
    }),
    ("a panic", || fault(3, &[], "panic", &["a panic for this test", "aborts"])),
    ("ranks of different sizes", || {
        fault(3, &[], "cut", &["rank 0 knows it", "rank 1 knows it", "rank 2 knows it"])
    }),
    ("the command solves", solves),
    ("devices in ranks", devices),
    ("the command takes all options", options),
    ("every option has an effect", flags::all),
    ("command lines that differ", command_lines),
    ("parameters of preconditioners", parameters::parameters),
    ("a starting guess", parameters::starting_guess),
    ("stages that rank 0 does not have", reports::stages),
    ("the times of steps", reports::steps),
    ("the best schedule of measured links", reports::best_schedule),
    ("files by pieces, partitions and smoothed aggregation", partitions),
    ("the program of the tutorial", tutorial),
    ("a file that repeats entries", files::repeated_entries),
    ("outputs that are inputs", files::outputs),
    ("methods that a matrix excludes", matrices::properties),
    ("the block size of a file", matrices::block_sizes),
    ("the order of a near-kernel", matrices::orders),
    ("the devices of ranks", matrices::ranks_take_devices),
];

/// Runs all jobs whose names contain the first argument.
pub(crate) fn all() -> ExitCode {
    let wanted = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    let mut failed = 0;
    for (name, job) in JOBS.iter().filter(|(name, _)| name.contains(&wanted)) {
        let begun = Instant::now();
        let ended = std::panic::catch_unwind(job);
        failed += usize::from(ended.is_err());
        let word = if ended.is_ok() { "ok" } else { "FAILED" };
        println!("mpi: {name} ... {word}, {:.1} s", begun.elapsed().as_secs_f64());
    }
    ExitCode::from(u8::from(failed > 0))
}
