//! Wrong usage is exit code 2, invalid input 3; both print a remedy.

use crate::common::{Folder, coarsen, fails};

#[test]
fn wrong_usage_exits_with_its_code() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 2, &[(1, 1, 1.0), (2, 2, 1.0)]);
    for words in [
        String::new(),
        "solve --method sor".into(),
        "solve --tol -1".into(),
        "solve --rhs random:x".into(),
        format!("solve {a} --problem graph:5"),
        format!("solve {a} --dt 0.1"),
        format!("solve {a} --block-size 3"),
        format!("solve {a} --method direct --precond ic0"),
        format!("solve {a} --method direct --null-space constants"),
        format!("solve {a} --method direct --precision f32"),
        format!("solve {a} --out {}", folder.path("nowhere/x.mtx").display()),
        format!("solve {a} --report {}", std::env::temp_dir().display()),
    ] {
        let done = coarsen(&words);
        assert!(done.code == 2 && !done.err.is_empty(), "{words}: {} {}", done.code, done.err);
    }
    assert_eq!(coarsen("--help").code, 0);
    assert_eq!(coarsen("--version").code, 0);
}

/// Each message names the error.
#[test]
fn messages_say_what_is_wrong() {
    for (words, cause) in [
        ("solve --steps 3", "--problem cloth-contact:N or stack:N"),
        ("solve --problem cloth:9 --steps 3", "`cloth` is a single system"),
        ("solve --problem clothes:9 --steps 3", "no problem `clothes`"),
        ("solve --problem poison2d:ten", "no problem `poison2d`"),
        ("compare --problem stack:5", "`stack` is a sequence"),
        ("generate stack:5 --out x", "`stack` is a sequence"),
        ("solve --problem garment:", "garment:FILE"),
        ("minimize --tol NaN", "finite"),
        ("minimize --tol -1", "0 or more"),
        ("solve --tol -1", "0 or more"),
        ("compare --tol NaN", "finite"),
        ("compare --limit -1", "seconds"),
        ("solve --problem cloth:9 --dt -1", "positive"),
        ("generate cloth:9 --dt NaN --out x", "positive"),
        ("solve --precond sa --sa-theta -1", "0 or more"),
    ] {
        let done = fails(words, 2, cause);
        assert!(!done.err.contains("no no"), "{words}: {}", done.err);
    }
    let done = coarsen("solve --problem poisson2d:10 --method cg --precond sa");
    assert!(done.out.contains("1 level,"), "{}", done.out);
}

/// An error has the same exit code in every command.
#[test]
fn one_mistake_has_one_code() {
    let folder = Folder::new();
    let torn = folder.file("torn.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n");
    let none = folder.path("none.msh").display().to_string();
    let nowhere = folder.path("nowhere/x.svg").display().to_string();
    let rows = folder.file(
        "rows.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n1 2 1\n2 1 1\n2 2 3\n",
    );
    let wide =
        folder.file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 3 1\n");
    let few = folder.file("few.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n2 2 1\n");
    for (commands, code) in [
        (
            [torn, none]
                .map(|mesh| {
                    vec![
                        format!("solve --problem softbody:{mesh}"),
                        format!("compare --problem garment:{mesh}"),
                        format!("generate softbody:{mesh} --out {nowhere}"),
                        format!("minimize --problem armadillo-stretch --mesh {mesh}"),
                    ]
                })
                .concat(),
            3,
        ),
        (
            [
                "solve --problem poisson2d",
                "solve --problem jump3d:9",
                "solve --problem graph:9 --dt 1",
                "solve --problem poisson2d:0",
                "solve --problem stack:0",
                "generate cube:3 --out x",
                "compare --problem poisson2d:0",
                "minimize --problem bar-twist:0",
            ]
            .map(str::to_owned)
            .to_vec(),
            2,
        ),
        (
            [rows, wide, few]
                .iter()
                .flat_map(|file| ["solve", "compare", "info"].map(|command| format!("{command} {file}")))
                .collect(),
            3,
        ),
        (["solve", "compare", "minimize"].map(|command| format!("{command} --plot {nowhere}")).to_vec(), 2),
    ] {
        for words in commands {
            let done = coarsen(&words);
            let is_error = done.err.starts_with("error: ");
            assert!(done.code == code && is_error, "{words}: {} {}", done.code, done.err);
        }
    }
}

/// Coordinates determine the unknowns of a node only if their number is plausible.
#[test]
fn coordinates_of_few_nodes_are_no_blocks() {
    let folder = Folder::new();
    let diagonal: Vec<(usize, usize, f64)> = (1..=720).map(|i| (i, i, 2.0)).collect();
    let a = folder.matrix("a.mtx", 720, &diagonal);
    for (nodes, code) in [(720, 0), (360, 0), (240, 0), (120, 0), (40, 3), (2, 3), (1, 3)] {
        let points = folder.vector("points.mtx", &vec![1.0; nodes]);
        let done = coarsen(&format!("solve {a} --coordinates {points}"));
        assert_eq!(done.code, code, "{nodes}: {}", done.err);
        let cure = format!("--block-size {}", 720 / nodes);
        let is_told = done.err.contains("points.mtx") && done.err.contains(&cure);
        assert!(code == 0 || is_told, "{nodes}: {}", done.err);
    }
    let points = folder.vector("points.mtx", &[1.0; 40]);
    assert_eq!(coarsen(&format!("solve {a} --coordinates {points} --block-size 18")).code, 0);
}

#[test]
fn bad_matrices_are_named_by_line() {
    let folder = Folder::new();
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    for (text, line) in [
        (String::new(), 1),
        ("\u{0}\u{1}\u{2}rubbish".into(), 1),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1\n".into(), 3),
        (format!("{banner}2 3 2\n1 1 1\n2 2 1\n"), 2),
        (format!("{banner}3 3 2\n1 1 1\n2 2 1\n"), 2),
        (format!("{banner}4000000000 4000000000 4000000000\n1 1 1\n"), 3),
        (format!("{banner}99999999999999999999 2 2\n"), 2),
        (format!("{banner}2 2 2\n1 1 nan\n2 2 1\n"), 3),
        (format!("{banner}2 2 2\n1 1 1\n2 2 inf\n"), 4),
        (format!("{banner}2 2 2\n1 1 1\n2 3 1\n"), 4),
        (format!("{banner}2 2 2\n0 1 1\n2 2 1\n"), 3),
        (format!("{banner}2 2 3\n1 1 1\n2 2 1\n"), 4),
        (format!("{banner}2 2 1\n1 1 1\n2 2 1\n"), 2),
    ] {
        let a = folder.file("a.mtx", &text);
        fails(&format!("solve {a}"), 3, &format!("a.mtx:{line}: "));
    }
    fails(&format!("solve {}", folder.path("none.mtx").display()), 3, "none.mtx");
}

#[test]
fn files_beside_the_matrix_must_fit() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 4, &[(1, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0), (4, 4, 1.0)]);
    let three = folder.vector("three.mtx", &[1.0; 3]);
    let nan = folder.file("nan.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\nnan\n1\n1\n");
    for option in ["--rhs", "--x0", "--coordinates", "--near-kernel", "--null-space"] {
        fails(&format!("solve {a} {option} {three}"), 3, "three.mtx");
        fails(&format!("solve {a} {option} {nan}"), 3, "nan.mtx:4");
    }
    let two = folder.vector("two.mtx", &[1.0; 2]);
    assert_eq!(coarsen(&format!("solve {a} --coordinates {two}")).code, 0);
    assert_eq!(coarsen(&format!("solve {a} --coordinates {two} --block-size 1")).code, 3);
}

#[test]
fn every_file_that_is_called_bad_is_refused_with_a_line() {
    let Some(data) = crate::data::data() else { return };
    let mut seen = 0;
    for file in std::fs::read_dir(data.join("mm-parser")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains("bad") {
            let done = coarsen(&format!("solve {}", path.display()));
            let line =
                done.err.split(&name).nth(1).and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
            assert!(done.code == 3 && line.starts_with(|c: char| c.is_ascii_digit()), "{name}: {}", done.err);
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen} files");
}
