//! Programs in C and C++ against the static library, each also with AddressSanitizer. Skipped without a compiler, or without Eigen, unless
//! COARSEN_REQUIRE_C is set, as ci.sh does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of this profile, `target/debug` for example.
fn folder() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// The reason why a compiler cannot make programs, if it cannot: it compiles and runs an empty one.
fn missing(compiler: &str, flags: &[&str], header: &str, program: &Path) -> Option<String> {
    let source = program.with_extension(if compiler == "c++" { "cpp" } else { "c" });
    std::fs::write(&source, format!("#include <{header}>\nint main(void) {{ return 0; }}\n")).unwrap();
    let compiled = Command::new(compiler).args(flags).arg(&source).arg("-o").arg(program).output();
    match compiled {
        Err(error) => Some(format!("{compiler}: {error}")),
        Ok(output) if !output.status.success() => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Ok(_) => (!Command::new(program).status().is_ok_and(|status| status.success()))
            .then(|| "the program does not run".to_owned()),
    }
}

/// Compiles a program, plain and with AddressSanitizer, runs both, and returns what they print.
fn programs(source: &str, compiler: &str, standard: &str, header: &str) -> Vec<String> {
    const EIGEN: &str = "-I/usr/include/eigen3";
    let profile = folder().file_name().unwrap().to_str().unwrap().to_owned();
    let profile = if profile == "debug" { "dev".to_owned() } else { profile };
    run(Command::new(env!("CARGO")).args(["build", "-q", "-p", "coarsen-ffi", "--profile", &profile]));
    let mut printed = Vec::new();
    for (name, flags) in
        [("plain", &[EIGEN][..]), ("address", &[EIGEN, "-fsanitize=address,undefined", "-g"][..])]
    {
        let program = folder().join(format!("{}-{name}", source.replace(['/', '.'], "-")));
        if let Some(why) = missing(compiler, flags, header, &program) {
            assert!(std::env::var_os("COARSEN_REQUIRE_C").is_none(), "{source} ({name}) is skipped: {why}");
            println!("skipped: {source} ({name}): {why}");
            continue;
        }
        run(Command::new(compiler)
            .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-I"])
            .arg(root().join("include"))
            .args(flags)
            .arg(root().join(source))
            .arg(folder().join("libcoarsen_c.a"))
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program));
        let output = run(&mut Command::new(&program));
        printed.push(String::from_utf8(output.stdout).unwrap());
        println!("{source} ({name}):\n{}", printed.last().unwrap());
    }
    printed
}

#[test]
fn c_examples_run() {
    for printed in programs("examples/poisson.c", "cc", "-std=c99", "stdio.h") {
        assert!(printed.matches("converged after").count() == 2, "{printed}");
    }
}

#[test]
fn the_border_holds_in_c() {
    for printed in programs("tests/border.c", "cc", "-std=c11", "stdio.h") {
        assert!(printed.ends_with("all holds\n"), "{printed}");
    }
}

#[test]
fn eigen_examples_run() {
    for printed in programs("examples/eigen.cpp", "c++", "-std=c++14", "Eigen/SparseCore") {
        assert!(printed.matches("iterations").count() == 2, "{printed}");
    }
}

#[test]
fn the_header_for_eigen_holds() {
    for printed in programs("tests/border.cpp", "c++", "-std=c++14", "Eigen/SparseCore") {
        assert!(printed.ends_with("all holds\n"), "{printed}");
    }
}

/// The page of the book has the programs, word for word.
#[test]
fn the_book_has_the_programs() {
    let page = root().join("../../book/src/guides/c_and_cpp.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (program, language) in [("examples/poisson.c", "c"), ("examples/eigen.cpp", "cpp")] {
        let source = std::fs::read_to_string(root().join(program)).unwrap();
        assert!(page.contains(&format!("```{language}\n{source}```\n")), "{program} is not in the page");
        assert!(source.lines().all(|line| line.chars().count() <= 80), "{program} is wider than the page");
    }
}
