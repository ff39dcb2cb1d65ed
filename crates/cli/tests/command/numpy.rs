//! Files of NumPy and SciPy, in and out.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use coarsen::matrix_market::read_vector;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::common::{Folder, coarsen, fails, solve, solves, succeeds};

/// An array of NumPy: type, shape and bytes.
fn array(kind: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), bytes].concat()
}

fn integers(values: &[i32]) -> Vec<u8> {
    array(
        "<i4",
        &format!("({},)", values.len()),
        &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>(),
    )
}

fn floats(shape: &str, values: &[f64]) -> Vec<u8> {
    array("<f8", shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// The archive of a matrix of order 4.
fn archive(path: &Path, format: &str, arrays: &[(&str, Vec<u8>)]) -> String {
    archive_of_order(4, path, format, arrays)
}

/// The archive of a matrix by its entries (row, column, value), which count from 0.
pub(crate) fn coordinates(path: &Path, n: usize, entries: &[(i32, i32, f64)], is_complex: bool) {
    let shape = format!("({},)", entries.len());
    let values = entries.iter().map(|e| e.2);
    let data = match is_complex {
        true => {
            let parts = values.flat_map(|v| [v, 0.0]).flat_map(f64::to_le_bytes);
            array("<c16", &shape, &parts.collect::<Vec<_>>())
        }
        false => floats(&shape, &values.collect::<Vec<_>>()),
    };
    let [row, column] = [0, 1].map(|k| entries.iter().map(|e| [e.0, e.1][k]).collect::<Vec<_>>());
    let arrays = [("row", integers(&row)), ("col", integers(&column)), ("data", data)];
    archive_of_order(n, path, "coo", &arrays);
}

fn archive_of_order(n: usize, path: &Path, format: &str, arrays: &[(&str, Vec<u8>)]) -> String {
    let mut zip = ZipWriter::new(File::create(path).unwrap());
    let format = array(&format!("|S{}", format.len()), "()", format.as_bytes());
    let shape = array("<i8", "(2,)", &[n as i64; 2].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    for (name, bytes) in [("format", format), ("shape", shape)].iter().chain(arrays) {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    path.display().to_string()
}

/// The same matrix in each format: 4 on the diagonal, 1 beside it, 2 at (3, 0), zeros elsewhere.
#[test]
fn all_formats_are_the_same_matrix() {
    let folder = Folder::new();
    let entries = [
        (0, 0, 4.0),
        (0, 1, 1.0),
        (1, 0, 1.0),
        (1, 1, 4.0),
        (1, 2, 1.0),
        (2, 1, 1.0),
        (2, 2, 4.0),
        (2, 3, 1.0),
        (3, 0, 2.0),
        (3, 2, 1.0),
        (3, 3, 4.0),
    ];
    let mut by_columns = entries;
    by_columns.sort_by_key(|e| (e.1, e.0));
    let compressed = |entries: &[(i32, i32, f64)], major: fn(&(i32, i32, f64)) -> [i32; 2]| {
        let starts =
            (0..=4).map(|i| entries.iter().filter(|e| major(e)[0] < i).count() as i32).collect::<Vec<_>>();
        let indices = entries.iter().map(|e| major(e)[1]).collect::<Vec<_>>();
        let values = entries.iter().map(|e| e.2).collect::<Vec<_>>();
        [("indptr", integers(&starts)), ("indices", integers(&indices)), ("data", floats("(11,)", &values))]
    };
    let blocks = [4.0, 1.0, 1.0, 4.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 4.0, 1.0, 1.0, 4.0];
    let coordinates = [
        ("row", integers(&entries.map(|e| e.0))),
        ("col", integers(&entries.map(|e| e.1))),
        ("data", floats("(11,)", &entries.map(|e| e.2))),
    ];
    let bsr = [
        ("indptr", integers(&[0, 2, 4])),
        ("indices", integers(&[0, 1, 0, 1])),
        ("data", floats("(4, 2, 2)", &blocks)),
    ];
    let a = folder.matrix("a.mtx", 4, &entries.map(|(i, j, v)| (i as usize + 1, j as usize + 1, v)));
    let x = folder.path("x.mtx").display().to_string();
    let solution = |a: &str| {
        succeeds(&format!("solve {a} --rhs ones --block-size 1 --method gmres --out {x}"));
        read_vector(&x).unwrap()
    };
    let expected = solution(&a);
    let mut dense = [0.0; 16];
    entries.iter().for_each(|(i, j, v)| dense[(4 * i + j) as usize] = *v);
    std::fs::write(folder.path("a.npy"), floats("(4, 4)", &dense)).unwrap();
    for a in [
        archive(&folder.path("csr.npz"), "csr", &compressed(&entries, |e| [e.0, e.1])),
        archive(&folder.path("csc.npz"), "csc", &compressed(&by_columns, |e| [e.1, e.0])),
        archive(&folder.path("coo.npz"), "coo", &coordinates),
        archive(&folder.path("bsr.npz"), "bsr", &bsr),
        folder.path("a.npy").display().to_string(),
    ] {
        assert_eq!(solution(&a), expected, "{a}");
        assert_eq!(coarsen(&format!("info {a}")).code, 0, "{a}");
    }
    // What the pieces of a damaged archive lead to.
    let coo = |column: Vec<u8>, data: Vec<u8>| vec![coordinates[0].clone(), ("col", column), ("data", data)];
    let with = |data: Vec<u8>| coo(coordinates[1].1.clone(), data);
    let data = &coordinates[2].1;
    let rows = |starts: &[i32], indices: Vec<u8>, data: Vec<u8>| {
        vec![("indptr", integers(starts)), ("indices", indices), ("data", data)]
    };
    let places = &bsr[1].1;
    let pairs =
        |row: &[i32], data: Vec<u8>| vec![("row", integers(row)), ("col", integers(&[0])), ("data", data)];
    for (format, arrays, told) in [
        ("dia", coordinates.to_vec(), "format `dia`"),
        ("csr", coordinates.to_vec(), "holds no array `indptr`"),
        ("bsr", rows(&[0, 2, 4], places.clone(), floats("(3, 2, 2)", &blocks[..12])), "values for 4 places"),
        ("bsr", rows(&[0, 2, 9], places.clone(), bsr[2].1.clone()), "offsets beyond"),
        ("coo", coo(integers(&[-1; 11]), data.clone()), "negative"),
        ("coo", coo(integers(&[7; 11]), data.clone()), "damaged.npz"),
        ("coo", with(floats("(11,)", &[f64::NAN; 11])), "finite"),
        ("coo", with(array("|O", "(11,)", &[])), "header"),
        ("coo", with(floats("(99,)", &[1.0; 3])), "bytes of data"),
        ("csr", rows(&[0, 1, 2], integers(&[0, 1]), floats("(2,)", &[4.0; 2])), "3 offsets for 4 x 4"),
        (
            "bsr",
            rows(
                &[0, 1, 1],
                array("<u4", "(1,)", &(1_u32 << 31).to_le_bytes()),
                array("<c16", "(1, 2, 2)", &[0; 64]),
            ),
            "indices beyond 4 x 4",
        ),
        (
            "bsr",
            rows(&[0], integers(&[]), floats("(0, 4294967296, 4294967296)", &[])),
            "0 values for 0 places",
        ),
        ("coo", with(array("<U9999999999999999999", "(11,)", &[])), "bytes of data"),
        ("coo", with(array("|S18446744073709551615", "(1,)", &[])), "bytes of data"),
        ("coo", pairs(&[0, 1], floats("(1,)", &[4.0])), "2 rows for 1 columns"),
        ("csr", rows(&[0, 1, 2], integers(&[0, 1]), floats("(2, 2, 2)", &[4.0; 8])), "the shape [2, 2, 2]"),
        ("coo", pairs(&[0], array("<c17", "(1,)", &[0; 17])), "the type c17"),
    ] {
        let a = archive(&folder.path("damaged.npz"), format, &arrays);
        let done = fails(&format!("solve {a}"), 3, told);
        assert!(done.err.contains("damaged.npz"), "{told}: {}", done.err);
    }
    let text = folder.file("text.npz", "no archive");
    fails(&format!("solve {text}"), 3, "is not an archive of scipy.sparse.save_npz");
}

/// `generate --format npz` writes what `solve` reads, with the bits of the Matrix Market files.
#[test]
fn generated_arrays_come_back() {
    let folder = Folder::new();
    for spec in ["poisson2d:8", "elasticity3d:4"] {
        let [text, binary] = ["text", "binary"].map(|name| folder.path(name).display().to_string());
        assert_eq!(coarsen(&format!("generate {spec} --out {text}")).code, 0);
        assert_eq!(coarsen(&format!("generate {spec} --format npz --out {binary}")).code, 0);
        let words = |folder: &str, matrix: &str, kind: &str| {
            format!(
                "{folder}/A.{matrix} --rhs {folder}/b.{kind} --coordinates {folder}/coordinates.{kind} --near-kernel \
                 {folder}/near_kernel.{kind} --method cg --precond sa --out {folder}/x.{kind}"
            )
        };
        let (_, first) = solves(&folder, &words(&text, "mtx", "mtx"));
        let (done, second) = solve(&folder, &words(&binary, "npz", "npy"));
        assert_eq!((done.code, &first["history"]), (0, &second["history"]), "{}", done.err);
        let x = read_vector(format!("{text}/x.mtx")).unwrap();
        let bytes = std::fs::read(format!("{binary}/x.npy")).unwrap();
        assert_eq!(
            bytes[bytes.len() - 8 * x.len()..],
            x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()
        );
        assert_eq!((bytes.len() - 8 * x.len()) % 64, 0, "data are aligned");
        // The solution is the guess of the next run.
        let words = words(&binary, "npz", "npy").replace("x.npy", "y.npy");
        let (_, report) = solve(&folder, &format!("{words} --x0 {binary}/x.npy"));
        assert_eq!(report["iterations"].as_u64(), Some(0));
    }
}

/// Checks the last numbers of a file.
fn assert_ends(bytes: &[u8], expected: &[f64]) {
    let last = bytes[bytes.len() - 8 * expected.len()..].as_chunks().0.iter().map(|v| f64::from_le_bytes(*v));
    let last: Vec<f64> = last.collect();
    assert!(last.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{last:?}");
}

/// Several columns, complex numbers, and arrays of other types.
#[test]
fn arrays_of_other_types_are_converted() {
    let folder = Folder::new();
    let a = folder.matrix("a.mtx", 2, &[(1, 1, 2.0), (2, 2, 4.0)]);
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path(name), bytes).unwrap();
        folder.path(name).display().to_string()
    };
    let x = folder.path("x.mtx").display().to_string();
    let big = [3.0_f64, 8.0].iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>();
    let small = [3.0_f32, 8.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    for b in [
        file("f8.npy", &floats("(2,)", &[3.0, 8.0])),
        file("row.npy", &floats("(1, 2)", &[3.0, 8.0])),
        file("big.npy", &array(">f8", "(2,)", &big)),
        file("f4.npy", &array("<f4", "(2, 1)", &small)),
        file("i1.npy", &array("|i1", "(2,)", &[3, 8])),
    ] {
        succeeds(&format!("solve {a} --rhs {b} --out {x}"));
        let x = read_vector(&x).unwrap();
        assert!((x[0] - 1.5).abs() + (x[1] - 2.0).abs() < 1e-14, "{b}: {x:?}");
    }
    let two = file("two.npy", &floats("(2, 2)", &[2.0, 4.0, 8.0, 12.0]));
    let y = folder.path("y.npy").display().to_string();
    assert_eq!(coarsen(&format!("solve {a} --rhs {two} --out {y}")).code, 0);
    let bytes = std::fs::read(&y).unwrap();
    assert_ends(&bytes, &[1.0, 2.0, 2.0, 3.0]);
    assert!(String::from_utf8_lossy(&bytes).contains("'fortran_order': True, 'shape': (2, 2)"));
    let z = folder.path("z.npz");
    let done = coarsen(&format!("solve {a} --out {}", z.display()));
    assert!(done.code == 2 && done.err.contains(".npy or .mtx") && !z.exists(), "{}", done.err);
    let c =
        folder.file("c.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 0 2\n2 2 1 0\n");
    let b = file("c16.npy", &array("<c16", "(2,)", &floats("", &[2.0, 0.0, 3.0, 4.0]).split_off(0)[..]));
    fails(&format!("solve {c} --rhs {b} --out {y}"), 3, "c16.npy"); // the header is too long
    let parts = [2.0_f64, 0.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let b = file("c16.npy", &array("<c16", "(2,)", &parts));
    succeeds(&format!("solve {c} --rhs {b} --out {y}"));
    let bytes = std::fs::read(&y).unwrap();
    assert_ends(&bytes, &[0.0, -1.0, 3.0, 4.0]);
    assert!(String::from_utf8_lossy(&bytes).contains("<c16"));
    let huge = file("huge.npy", &array("<c16", "(9223372036854775808, 0)", &[]));
    fails(&format!("solve {c} --rhs {huge}"), 3, "huge.npy");
    let wide = file("wide.npy", &floats("(2, 3)", &[1.0; 6]));
    fails(&format!("solve {wide}"), 3, "wide.npy: the matrix is 2 x 3");
    assert!(coarsen(&format!("info {wide}")).out.contains("2 rows and 3 columns"));
}
