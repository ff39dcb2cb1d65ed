//! Real Matrix Market files. Valid files match their index; invalid files are rejected with a line number.

use std::fs;
use std::path::{Path, PathBuf};

use coarsen_matrix_market::{self as matrix_market, Problem};

/// A folder of the test data; `None` if it is not available.
fn data(folder: &str) -> Option<PathBuf> {
    Some(crate::data::data()?.join(folder))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn parser_files_do_what_their_names_say() {
    let Some(folder) = data("mm-parser") else { return };
    for path in files(&folder) {
        let (name, result) = (name(&path), matrix_market::read(&path));
        if name.contains("bad_") {
            let error = result.unwrap_err();
            assert!(error.line.is_some_and(|line| line > 0), "{error}");
            println!("{error}");
        } else if name.contains("hermitian") {
            // Integers, both triangles, and a diagonal that is not real.
            let problem = result.unwrap_err().problem;
            let expected = match name {
                "sprs__complex_hermitian-int.mtx" => matches!(problem, Problem::Hermitian),
                "sprs__complex_hermitian.mtx" => {
                    matches!(problem, Problem::HermitianDiagonal { row: 1, value: 2.0 })
                }
                _ => matches!(problem, Problem::Triangles { .. }),
            };
            assert!(expected, "{name}: {problem}");
        } else if name == "russell__ok_rectangular.mtx" {
            // Indices in this file start at 0, which only the reader that belongs to the file accepts.
            let error = result.unwrap_err();
            assert_eq!((error.line, error.problem), (Some(4), Problem::ZeroIndex { what: "row" }));
        } else {
            let a = result.unwrap_or_else(|error| panic!("{error}"));
            assert!(a.nnz() > 0 && (a.block() == (2, 2)) == name.contains("complex"), "{name}");
        }
    }
}

/// The sum of i · j · a(i, j), with indices from 1, of small files whose content is known.
#[test]
fn parser_files_hold_what_they_show() {
    let Some(folder) = data("mm-parser") else { return };
    let read = |name: &str| matrix_market::read(folder.join(name)).unwrap();
    let a = read("russell__ok_symmetric_small.mtx");
    let rows: [[f64; 5]; 5] = [
        [2.0, 3.0, 0.0, 0.0, 0.0],
        [3.0, 0.0, -1.0, 0.0, 6.0],
        [0.0, -1.0, 0.0, 2.0, 0.0],
        [0.0, 0.0, 2.0, 3.0, 0.0],
        [0.0, 6.0, 0.0, 0.0, 1.0],
    ];
    assert!((0..5).all(|i| (0..5).all(|j| a.get(i, j) == rows[i][j])));
    assert_eq!(read("russell__ok_general.mtx").get(1, 2), 4.0);
    assert_eq!(read("sprs__pattern.mm").values(), [1.0; 4]);
    let a = read("sprs__simple_int.mm");
    assert_eq!((a.nnz(), a.get(3, 3), a.get(0, 3)), (8, -2.0, 6.0));
}

/// Compares every row `| file | n | nnz |` of the index with the file.
#[test]
fn matrices_have_the_sizes_of_their_list() {
    let (Some(folder), Some(list)) = (data("matrices"), data("INDEX.md")) else { return };
    let list = fs::read_to_string(list).unwrap();
    let mut seen = 0;
    let nonzeros = |a: &coarsen_sparse::Bsr<f64>| match a.block() {
        (2, 2) => a.values().chunks(4).filter(|block| **block != [0.0; 4]).count(),
        _ => a.values().iter().filter(|v| **v != 0.0).count(),
    };
    for line in list.lines().filter(|line| line.contains(".mtx.gz` |")) {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let (file, size, nnz, properties) = (cells[1], cells[2], cells[3], cells[4]);
        seen += 1;
        let a = matrix_market::read(folder.join(file)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(a.block() == (2, 2), properties.contains("complex"), "{file}");
        let shape = size.split_once('x').unwrap_or((size, size));
        let blocks = (a.shape().0 / a.block().0, a.shape().1 / a.block().1);
        assert_eq!(blocks, (shape.0.parse().unwrap(), shape.1.parse().unwrap()), "{file}");
        assert_eq!(nonzeros(&a), nnz.parse().unwrap(), "{file}");
        let system = matrix_market::read_system(folder.join(file));
        match properties.contains("rectangular") {
            true => assert!(matches!(system.unwrap_err().problem, Problem::Rectangular { .. })),
            false => assert_eq!(system.unwrap(), a),
        }
    }
    assert_eq!(seen, files(&folder).len() - 8, "all files but the eight dense ones are listed");
}

#[test]
fn dense_files_belong_to_their_matrices() {
    let Some(folder) = data("matrices") else { return };
    for path in files(&folder) {
        let Some(matrix) = ["_b.", "_rbms.", "_nullspace."]
            .iter()
            .find_map(|part| Some(format!("{}.mtx.gz", name(&path).split_once(part)?.0)))
        else {
            continue;
        };
        let dense = matrix_market::read_dense(&path).unwrap_or_else(|error| panic!("{error}"));
        let a = matrix_market::read(folder.join(matrix)).unwrap();
        assert_eq!(dense.rows(), a.shape().0, "{}", name(&path));
        if dense.columns() == 1 {
            assert_eq!(matrix_market::read_vector(&path).unwrap(), dense.values());
        }
    }
    let vertices = matrix_market::read_dense(folder.join("pyamg_bar_vertices.mtx.gz")).unwrap();
    assert_eq!((vertices.rows(), vertices.columns(), vertices.get(0, 0)), (225, 3, 0.5));
}

/// Links and other names of a file are that file, also before it exists.
#[test]
fn names_of_one_file_are_the_same() {
    let folder = std::env::temp_dir().join(format!("coarsen-same-file-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [a, b, new] = ["a.mtx", "b.mtx", "new.mtx"].map(|name| folder.join(name));
    fs::write(&a, "").unwrap();
    fs::write(&b, "").unwrap();
    let same = |first: &Path, second: &Path| matrix_market::is_same_file(first, second);
    assert!(same(&a, &folder.join("./a.mtx")) && !same(&a, &b) && !same(&a, &new));
    assert!(same(&new, &folder.join(".").join("new.mtx")) && !same(&new, &folder.join("none/new.mtx")));
    assert!(!same(&folder, &folder), "a folder is no file");
    let [standard, file] = ["-", "./-"].map(Path::new);
    assert!(same(standard, standard) && !same(standard, file) && same(file, file));
    #[cfg(unix)]
    {
        let [link, hard] = ["link.mtx", "hard.mtx"].map(|name| folder.join(name));
        std::os::unix::fs::symlink(&a, &link).unwrap();
        fs::hard_link(&a, &hard).unwrap();
        assert!(same(&a, &link) && same(&a, &hard) && same(&link, &hard) && !same(&b, &hard));
        let [whole, relative, ring] = ["whole.mtx", "relative.mtx", "ring.mtx"].map(|name| folder.join(name));
        for (target, link) in
            [(new.as_path(), &whole), (Path::new("whole.mtx"), &relative), (ring.as_path(), &ring)]
        {
            std::os::unix::fs::symlink(target, link).unwrap();
        }
        assert!(same(&new, &whole) && same(&new, &relative) && !same(&a, &whole), "links to a new file");
        assert!(!same(&new, &ring) && !same(&a, &ring), "a link to itself");
        assert!(!same(Path::new("/dev/null"), Path::new("/dev/null")), "a device can be written twice");
    }
    fs::remove_dir_all(&folder).unwrap();
}
