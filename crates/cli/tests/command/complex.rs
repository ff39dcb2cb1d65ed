//! Complex systems, solved as real ones in blocks of real and imaginary parts.

use coarsen::matrix_market::{read_dense, read_system};

use crate::common::{Folder, fails, solve, solves, succeeds};

/// A hermitian chain: 2.5 on the diagonal, and −1 + i/2 below it.
fn chain(folder: &Folder, n: usize) -> String {
    let mut text = format!("%%MatrixMarket matrix coordinate complex hermitian\n{n} {n} {}\n", 2 * n - 1);
    (1..=n).for_each(|i| text += &format!("{i} {i} 2.5 0\n"));
    (1..n).for_each(|i| text += &format!("{} {i} -1 0.5\n", i + 1));
    folder.file("h.mtx", &text)
}

/// The relative residual of a complex solution, by the real system.
fn residual(a: &str, b: Vec<f64>, x: &str) -> f64 {
    let x = read_dense(x).unwrap();
    assert!(x.is_complex() && x.columns() == 1);
    crate::common::residual(&read_system(a).unwrap(), &b, x.values())
}

#[test]
fn hermitian_systems_are_solved_by_methods_for_symmetric_ones() {
    let folder = Folder::new();
    let (n, x) = (400, folder.path("x.mtx").display().to_string());
    let a = chain(&folder, n);
    let mut text = format!("%%MatrixMarket matrix array complex general\n{n} 1\n");
    (0..n).for_each(|i| text += &format!("{} {}\n", i % 5, i % 3));
    let b = folder.file("b.mtx", &text);
    let real = folder.vector("real.mtx", &vec![1.0; n]);
    let parts = (0..n).flat_map(|i| [(i % 5) as f64, (i % 3) as f64]).collect::<Vec<_>>();
    let ones = [1.0, 0.0].repeat(n);
    for (rhs, b) in [(&b[..], &parts), (&real, &ones), ("ones", &ones)] {
        for words in
            ["", "--method cg", "--method minres", "--method gmres --precond ilu0", "--method direct"]
        {
            let (done, report) = solves(&folder, &format!("{a} --rhs {rhs} {words} --out {x}"));
            assert!(residual(&a, b.clone(), &x) <= 1.001e-8, "{rhs} {words}");
            assert_eq!((report["complex"].as_bool(), report["block_size"].as_u64()), (Some(true), Some(2)));
            assert!(done.out.contains("400 complex unknowns as 800 real ones"), "{}", done.out);
        }
    }
    // A real vector as near-kernel, and a complex one; both give two real vectors.
    for near in [&real, &b] {
        let words = format!("{a} --rhs {real} --near-kernel {near} --method cg --precond sa");
        assert_eq!(solve(&folder, &words).0.code, 0, "{near}");
    }
    let short = folder.vector("short.mtx", &[1.0; 3]);
    fails(&format!("solve {a} --rhs {short}"), 3, "short.mtx");
}

/// Complex numbers are refused where real ones are needed, by the name of their file.
#[test]
fn complex_files_of_real_systems_are_refused() {
    let folder = Folder::new();
    let entries: Vec<_> = (1..=4).map(|i| (i, i, 2.0)).collect();
    let (real, complex) = (folder.matrix("a.mtx", 4, &entries), chain(&folder, 4));
    let array = |name: &str, rows: usize, columns: usize| {
        let text = format!("%%MatrixMarket matrix array complex general\n{rows} {columns}\n");
        folder.file(name, &(text + &"1 2\n".repeat(rows * columns)))
    };
    let [two, four, row] = [array("two.mtx", 2, 1), array("four.mtx", 4, 1), array("row.mtx", 1, 4)];
    let half = folder.file("half.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n");
    let points = array("points.mtx", 2, 2);
    for (words, what) in [
        (format!("{real} --rhs {two}"), "the matrix is real"),
        (format!("{real} --rhs {four}"), "the matrix is real"),
        (format!("{real} --rhs {row}"), "the matrix is real"),
        (format!("{real} --x0 {two}"), "the matrix is real"),
        (format!("{real} --near-kernel {two}"), "the matrix is real"),
        (format!("{real} --null-space {two}"), "the matrix is real"),
        (format!("{real} --contact {half}"), "the matrix is real"),
        (format!("{real} --coordinates {points}"), "coordinates are real"),
        (format!("{complex} --coordinates {points}"), "coordinates are real"),
    ] {
        fails(&format!("solve {words}"), 3, &format!("has complex numbers, but {what}"));
    }
}

/// A complex system with contacts: of a complex file, of a real one, and in files of SciPy.
#[test]
fn contacts_of_complex_systems_are_added() {
    let folder = Folder::new();
    let n = 6;
    let (a, x) = (chain(&folder, n), folder.path("x.mtx").display().to_string());
    let with = |contact: &str| {
        succeeds(&format!("solve {a} --contact {contact} --rhs ones --method direct --out {x}"));
        read_dense(&x).unwrap().into_values()
    };
    let pair = |imaginary: &str| {
        [(2, 2, 3.0), (2, 5, -3.0), (5, 2, -3.0), (5, 5, 3.0)]
            .map(|(i, j, v)| format!("{i} {j} {v}{imaginary}\n"))
            .concat()
    };
    let file = |name: &str, field: &str, imaginary: &str| {
        let head = format!("%%MatrixMarket matrix coordinate {field} general\n{n} {n} 4\n");
        folder.file(name, &(head + &pair(imaginary)))
    };
    let expected = with(&file("complex.mtx", "complex", " 0"));
    assert_eq!(with(&file("real.mtx", "real", "")), expected);
    let entries = [(1, 1, 3.0), (1, 4, -3.0), (4, 1, -3.0), (4, 4, 3.0)];
    for is_complex in [false, true] {
        let path = folder.path("contact.npz");
        crate::numpy::coordinates(&path, n, &entries, is_complex);
        assert_eq!(with(&path.display().to_string()), expected, "complex: {is_complex}");
    }
}

/// A dump has the real system.
#[test]
fn dumps_of_complex_systems_repeat_the_run() {
    let folder = Folder::new();
    let (a, dump) = (chain(&folder, 60), folder.path("d").display().to_string());
    let (_, first) = solve(&folder, &format!("{a} --rhs ones --method cg --dump {dump}"));
    let (done, second) = solve(&folder, &format!("--options {dump}"));
    assert_eq!((done.code, &first["history"]), (0, &second["history"]), "{}", done.err);
}

/// A complex unsymmetric matrix of an electromagnetic problem.
#[test]
fn a_real_complex_matrix_is_solved() {
    let Some(data) = crate::data::data() else { return };
    let folder = Folder::new();
    let a = data.join("matrices/young1c.mtx.gz").display().to_string();
    let x = folder.path("x.mtx").display().to_string();
    for words in ["", "--method direct"] {
        let (done, report) = solve(&folder, &format!("{a} --rhs ones {words} --out {x}"));
        assert_eq!((done.code, report["n"].as_u64()), (0, Some(1682)), "{words}: {}", done.err);
        assert!(residual(&a, [1.0, 0.0].repeat(841), &x) <= 1.001e-8, "{words}");
    }
}
