//! Words of errors and advice: they give the true reason, options of the command and the numbers of the file, and no advice
//! that was already followed.

use crate::common::{Done, Folder, central, coarsen, fails, ring, succeeds};

/// All that a run prints.
fn printed(words: &str) -> String {
    let Done { out, err, .. } = coarsen(words);
    let all = out + &err;
    let item = |word: &str| word.contains("::") && !word.contains('/');
    assert!(!all.split_whitespace().any(item), "an item of the library: {words}: {all}");
    for item in ["check_gradient", "OrElse", "max_step", "run diagnose"] {
        assert!(!all.contains(item), "{item}: {words}: {all}");
    }
    all
}

/// The Laplacian of a ring of n nodes: constants are its kernel.
fn laplacian(folder: &Folder, n: usize) -> String {
    folder.matrix("ring.mtx", n, &ring(n, 2.0, [-1.0; 2]))
}

#[test]
fn given_null_space_is_not_asked_for() {
    let folder = Folder::new();
    let a = laplacian(&folder, 3000);
    let (asked, given) =
        (printed(&format!("solve {a}")), printed(&format!("solve {a} --null-space constants")));
    assert!(asked.contains("--null-space constants"), "{asked}");
    let mut all = vec![given, printed(&format!("info {a} --null-space constants"))];
    if let Some(data) = crate::data::data() {
        let case = |name: &str| data.join("cases").join(name).display().to_string();
        let (a, b) = (case("01-neumann.mtx"), case("01-neumann_bad_b.mtx"));
        all.push(printed(&format!("solve {a} --rhs {b} --null-space constants")));
    }
    // One spring of this ring is negative, so that CG fails: once as the last attempt, once before another one.
    let spring = |i: usize| if i == 8 { -0.2 } else { 1.0 };
    let entries: Vec<_> = (1..=40)
        .flat_map(|i| {
            let (before, next) = ((i + 38) % 40 + 1, i % 40 + 1);
            [(i, i, spring(before) + spring(i)), (i, next, -spring(i)), (next, i, -spring(i))]
        })
        .collect();
    let indefinite = folder.matrix("indefinite.mtx", 40, &entries);
    for words in ["--method cg --precond jacobi", ""] {
        let text = printed(&format!("solve {indefinite} --null-space constants {words}"));
        assert!(text.contains("A has a negative eigenvalue"), "{text}");
        all.push(text);
    }
    for text in all {
        for advice in [
            "give the null space",
            "give its whole null space",
            "project the kernel out",
            "would remove them",
            "fix a value",
        ] {
            assert!(!text.contains(advice), "{advice}: {text}");
        }
    }
}

#[test]
fn unstable_factor_is_named() {
    let folder = Folder::new();
    // With a Péclet number of 100 its ILU(0) is unstable.
    let file = folder.matrix("central.mtx", 1600, &central(40, [100.0, 60.0]));
    let text = printed(&format!("solve {file} --method gmres --precond ilu0"));
    assert!(text.contains("the incomplete factor is unstable"), "{text}");
    assert!(!text.contains("round-off"), "{text}");
}

/// The factor of a singular matrix fails, and so do the iterations: neither message asks for a factor.
#[test]
fn failed_factor_is_not_advised() {
    let folder = Folder::new();
    let empty = folder.matrix("empty.mtx", 3, &[(1, 1, 1.0), (1, 2, 1.0), (3, 3, 1.0)]);
    let text = printed(&format!("solve {empty} --method direct"));
    assert!(text.contains("row 2 holds no nonzero") && !text.contains("monitor"), "{text}");
    // Two rows are equal up to round-off.
    let entries: Vec<_> = (1..=40)
        .flat_map(|i| [(i, i, 1.0 + i as f64), (i, i % 40 + 1, 0.5), (i, (i + 7) % 40 + 1, -0.7)])
        .filter(|e| e.0 != 2)
        .chain((1..=40).map(|j| (2, j, 0.0)))
        .chain([(2, 1, 2.0), (2, 2, 0.5), (2, 9, -0.7)])
        .collect();
    let singular = folder.matrix("singular.mtx", 40, &entries);
    let done = coarsen(&format!("solve {singular}"));
    assert!(done.code == 4, "{}", done.out);
    assert!(!done.err.contains("direct"), "{}", done.err);
    // Before, it is advised, as an option.
    let text = printed("solve --problem poisson2d:30 --method cg --precond none --max-iterations 3");
    assert!(text.contains("--method direct") && text.contains("raise --max-iterations"), "{text}");
}

#[test]
fn messages_name_options_and_no_items() {
    let folder = Folder::new();
    for (words, option) in [
        (
            "solve --problem poisson2d:60 --method cg --precond as --as-domain 2000 --as-inner inverses",
            "--as-inner factors",
        ),
        (
            "solve --problem poisson2d:60 --method cg --precond mas --mas-domain 1000 --block-size 2",
            "--mas-domain times the block size is 2000",
        ),
        ("minimize --problem bar-twist:1 --tol 1e-18 --direction ncg", "the tolerance is below"),
        (
            "minimize --problem bar-twist:1 --tol 1e-18 --direction gradient --precond none",
            "the tolerance is below",
        ),
        (
            "minimize --problem bar-twist:1 --tol 1e-18 --direction lbfgs --precond none",
            "the tolerance is below",
        ),
        ("minimize --problem bar-twist:1 --max-iterations 1", "raise --max-iterations"),
        (
            "solve --problem poisson2d:60 --method cg --precond none --precision f32 --tol 1e-12",
            "loosen the tolerance",
        ),
        ("solve --problem stack:8 --steps 2 --precond mas --max-iterations 1", "--max-iterations"),
    ] {
        let text = printed(words);
        assert!(text.contains(option), "{option}: {text}");
    }
    // A domain that is too large for f64 in the memory of a device, as those of PoCL have.
    let large = "solve --problem elasticity3d:8 --backend opencl --method cg --precond mas --mas-domain 250 --mas-precision f64";
    let text = printed(large);
    if text.contains("an elimination in f64") {
        assert!(text.contains("take a smaller --mas-domain, or --mas-precision f32"), "{text}");
    }
    let one_sided = folder.matrix(
        "one-sided.mtx",
        4,
        &[
            (1, 1, 1.0),
            (2, 1, -1.0),
            (2, 2, 2.0),
            (2, 3, -1.0),
            (3, 2, -1.0),
            (3, 3, 2.0),
            (4, 4, 1.0),
            (3, 4, -1.0),
        ],
    );
    let penalty = folder.matrix(
        "penalty.mtx",
        3,
        &[(1, 1, 1e30), (1, 2, -1.0), (2, 1, -1.0), (2, 2, 2.0), (3, 3, 2.0)],
    );
    for file in [&one_sided, &penalty] {
        printed(&format!("info {file}"));
        printed(&format!("solve {file} --method cg"));
    }
}

/// What is wrong with a singular matrix is told in a breath, also by the library, whose report names the last attempt.
#[test]
fn singular_matrices_are_told_in_few_words() {
    let folder = Folder::new();
    let block =
        folder.matrix("block.mtx", 3, &[(1, 1, 1.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0)]);
    let ring = laplacian(&folder, 400);
    for (words, told) in [
        (format!("{block} --rhs random:1"), "is singular"),
        (format!("{block} --rhs random:1 --method direct"), "is singular"),
        (ring.clone(), "is singular"),
        (format!("{ring} --method cg"), "is singular"),
    ] {
        let done = fails(&format!("solve {words}"), 4, told);
        let count = done.err.split_whitespace().count();
        assert!(count <= 42, "{words}: {count} words: {}", done.err);
    }
    for file in [&block, &ring] {
        let a = coarsen::matrix_market::read_system(file).unwrap();
        let b = coarsen::problems::random_vector(a.shape().0, 1);
        let told = coarsen::solve(&a, &b).unwrap_err().to_string();
        assert!(told.contains("is singular") && told.split_whitespace().count() <= 60, "{told}");
    }
}

/// A saddle point with constraints on one side: CG does not work for it.
#[test]
fn cg_is_promised_to_no_saddle_point() {
    let folder = Folder::new();
    let saddle = folder.matrix(
        "saddle.mtx",
        5,
        &[
            (1, 1, 1.0),
            (2, 2, 2.0),
            (2, 3, -1.0),
            (3, 2, -1.0),
            (3, 3, 2.0),
            (2, 5, 1.0),
            (5, 2, 1.0),
            (3, 5, -1.0),
            (5, 3, -1.0),
            (4, 4, 1.0),
            (5, 1, 1.0),
        ],
    );
    let text = printed(&format!("info {saddle}"));
    assert!(text.contains("unsymmetric only because") && !text.contains("CG may"), "{text}");
    let mut words = vec![format!("solve {saddle} --method cg")];
    if let Some(data) = crate::data::data() {
        let case = |name: &str| data.join("cases").join(name).display().to_string();
        words.extend(
            ["05-stokes.mtx", "12-central.mtx", "02-neumann-unsym.mtx"]
                .map(|name| format!("solve {} --method cg", case(name))),
        );
    }
    for words in words {
        let text = printed(&words);
        assert!(!text.contains("CG may"), "{text}");
    }
}

/// Entry (2, 3) of the file is the reason in each case.
#[test]
fn rows_count_from_one_as_in_files() {
    let folder = Folder::new();
    let spd = [(1, 1, 4.0), (2, 2, 4.0), (3, 3, 4.0)];
    let with = |name: &str, entries: &[(usize, usize, f64)]| {
        let all: Vec<_> = spd
            .iter()
            .filter(|e| !entries.iter().any(|other| (other.0, other.1) == (e.0, e.1)))
            .chain(entries)
            .copied()
            .collect();
        folder.matrix(name, 3, &all)
    };
    let unsymmetric = with("unsymmetric.mtx", &[(2, 3, 1.0), (3, 2, -1.0)]);
    let indefinite = with("indefinite.mtx", &[(2, 3, 5.0), (3, 2, 5.0)]);
    let zero = with("zero.mtx", &[(2, 2, 0.0), (2, 3, 1.0), (3, 2, 1.0)]);
    let negative = with("negative.mtx", &[(3, 3, -4.0)]);
    let empty = with("empty.mtx", &[(2, 2, 0.0)]);
    let infinite = folder.file(
        "infinite.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n2 3 1e308\n2 3 1e308\n2 2 1\n3 3 1\n",
    );
    for (words, reason) in [
        (format!("solve {unsymmetric} --method cg"), "row 2, column 3 holds"),
        (format!("info {unsymmetric}"), "entry (2, 3) is"),
        (format!("solve {unsymmetric} --method gmres --precond ic0"), "entries (2, 3) and (3, 2) differ"),
        (format!("solve {indefinite} --method cg"), "rows 2 and 3 have"),
        (format!("info {indefinite}"), "rows 2 and 3 have"),
        (format!("solve {zero} --block-size 1 --method gmres --precond jacobi"), "row 2 has a zero"),
        (format!("info {zero}"), "zero diagonal in 1 row (2)"),
        (format!("info {negative}"), "negative diagonal in 1 row (3)"),
        (format!("solve {empty}"), "1 empty row (2)"),
        (format!("solve {empty} --method direct"), "row 2 holds no nonzero"),
        (format!("solve {infinite}"), "the entries at (2, 3)"),
    ] {
        let text = printed(&words);
        assert!(text.contains(reason), "{reason}: {words}: {text}");
    }
}

#[test]
fn sizes_are_those_of_the_command_line() {
    for (words, expected) in [
        ("solve --problem stack:2", "stack:2: the size must be at least 3\n"),
        ("solve --problem poisson2d:0", "poisson2d:0: the size must be at least 1\n"),
        ("solve --problem jump3d:13", "at least 8 and a multiple of 8\n"),
        ("minimize --problem bar-twist:1000", "bar-twist:1000 has more than"),
        ("solve --problem softbody:1000", "softbody:1000 has more than"),
        ("solve --problem elasticity3d:1000", "elasticity3d:1000 has more than"),
    ] {
        fails(words, 2, expected);
    }
}

#[test]
fn coordinates_without_extent_name_their_file() {
    let folder = Folder::new();
    let points = "%%MatrixMarket matrix array real general\n16 1\n".to_owned() + &"3\n".repeat(16);
    let flat = folder.file("flat.mtx", &points);
    // The coordinates still give the number of nodes.
    let solved =
        succeeds(&format!("solve --problem poisson2d:4 --coordinates {flat} --method cg --precond mas"));
    let drawn =
        coarsen(&format!("spy --reorder morton --problem poisson2d:4 --out a.png --coordinates {flat}"));
    assert_eq!(drawn.code, 3);
    for text in [solved.out, drawn.err] {
        assert!(text.contains("flat.mtx: the longest side"), "{text}");
    }
}

/// Nodes are renumbered where they are scattered, but messages have the rows of the file. The rows 26171 and 1634 are a singular pair.
#[test]
fn rows_of_scattered_matrices_are_those_of_the_file() {
    let folder = Folder::new();
    let n = 30_000;
    // A shuffled chain.
    let at = |k: usize| 1 + k * 7919 % n;
    let mut entries: Vec<_> = (0..n).map(|k| (at(k), at(k), 2.5)).collect();
    entries.extend((1..n).flat_map(|k| [(at(k - 1), at(k), -1.0), (at(k), at(k - 1), -1.0)]));
    entries.retain(|&(i, j, _)| ![i, j].iter().any(|at| [26171, 1634].contains(at)));
    entries.extend([(26171, 26171, 1.0), (1634, 1634, 1.0), (26171, 1634, 1.0), (1634, 26171, 1.0)]);
    let a = folder.matrix("a.mtx", n, &entries);
    for words in
        [format!("solve {a}"), format!("solve {a} --method direct"), format!("compare {a} --limit 1")]
    {
        let text = printed(&words);
        let named: Vec<&str> = text
            .split("at row ")
            .skip(1)
            .map(|rest| rest.split(|c: char| !c.is_numeric()).next().unwrap())
            .collect();
        let right = named.iter().all(|row| ["26171", "1634"].contains(row));
        assert!(right && !named.is_empty(), "{words}: {text}");
    }
}

/// A preconditioner without a method takes a method that can use it.
#[test]
fn preconditioners_choose_their_method() {
    let folder = Folder::new();
    let n = 400;
    let mut entries: Vec<_> = (1..=n).map(|i| (i, i, if i % 2 == 0 { 3.0 } else { -3.0 })).collect();
    entries.extend((1..n).flat_map(|i| [(i, i + 1, 1.0), (i + 1, i, 1.0)]));
    let a = folder.matrix("a.mtx", n, &entries);
    for words in [
        format!("{a} --precond ilu0"),
        format!("{a} --precond ras"),
        "--problem poisson2d:30 --precond ras".to_owned(),
    ] {
        succeeds(&format!("solve {words}"));
    }
}
