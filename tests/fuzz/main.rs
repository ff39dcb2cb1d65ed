//! Every reader of files against damage: no panic, no hang, and no more memory than the file accounts for.
//!
//! Good files from the folders `tests/corpus` of the readers' crates, and those small enough of the folder that `COARSEN_DATA` names, are damaged
//! at random again and again. `COARSEN_FUZZ_SECONDS` is the time for each reader; `COARSEN_FUZZ_SEED` the number of the first case, to see a failure again.
//!
//! | file | what |
//! |---|---|
//! | `main` | the readers |
//! | `campaign` | cases, limits of time and memory, what is kept of a failure |
//! | `corpus` | the good files |
//! | `damage` | what is done to them |
//! | `large` | good files with the most to remember for each byte |
//! | `meter` | an allocator that counts |

mod campaign;
mod corpus;
mod damage;
mod large;
mod meter;

use std::io::Cursor;

use coarsen::matrix_market::Source;
use coarsen::mesh::{Format, Mesh, ReadError, parse, parse_tetgen};

use campaign::{Campaign, KIB, MIB};
use corpus::{MATRICES, MESHES, PAIR};

/// The attacks by name: all, or those whose name holds a word of the command line. One after the other and without a harness, whose threads would allocate.
fn main() {
    let attacks: [(&str, fn()); 9] = [
        ("large", large_files_stay_within_their_memory),
        ("obj", || meshes("obj", "obj", Format::Obj)),
        ("ply", || meshes("ply", "ply", Format::Ply)),
        ("msh", || meshes("msh", "msh", Format::Msh)),
        ("medit", || meshes("medit", "mesh", Format::Medit)),
        ("vtk", || meshes("vtk", "vtk", Format::Vtk)),
        ("tetgen", tetgen),
        ("matrix_market_systems", matrix_market_systems),
        ("matrix_market_values", matrix_market_values),
    ];
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let asked = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    attacks.iter().filter(|(name, _)| asked(name)).for_each(|(_, attack)| attack());
}

/// What damage leaves of a mesh: one that holds together, or words.
fn judge(read: Result<Mesh, ReadError>) {
    match read {
        Ok(mesh) => assert_eq!(mesh.check(), Ok(())),
        Err(error) => assert!(error.to_string().len() > 20, "{error}"),
    }
}

/// Files that are good, large, and say as much as they can in a byte; and one that is not, with as many words as it has room for in a line.
fn large_files_stay_within_their_memory() {
    let large = |constant| Campaign { name: "large", constant };
    for (format, bytes) in large::meshes() {
        large(16 * KIB).once(&format!("{format:?}"), &bytes, |bytes| {
            let mesh = parse(format, bytes).unwrap_or_else(|error| panic!("{format:?}: {error}"));
            assert!(mesh.positions.len() > 10_000);
        });
    }
    large(16 * KIB).once("tetgen", &large::node(), |bytes| {
        assert!(parse_tetgen(bytes, b"0 4 0\n").unwrap().positions.len() > 10_000);
    });
    for (name, bytes) in large::matrices() {
        // The stream owns its bytes: a copy, which is counted.
        large(64 * KIB).once(name, &bytes, |bytes| {
            let read = Source::new(Cursor::new(bytes.to_vec())).system();
            assert!(read.unwrap_or_else(|error| panic!("{name}: {error}")).shape().0 > 10_000);
        });
    }
    for head in ["%%MatrixMarket matrix coordinate real general\n9 9 9\n", ""] {
        let file = head.to_owned() + &"1 ".repeat(250_000);
        large(64 * KIB).once("a line of words", file.as_bytes(), |bytes| {
            assert!(Source::new(Cursor::new(bytes.to_vec())).system().is_err());
        });
    }
}

fn meshes(name: &'static str, kind: &str, format: Format) {
    let campaign = Campaign { name, constant: 16 * KIB };
    campaign.run(&corpus::files(&MESHES, &[kind]), |bytes| judge(parse(format, bytes)));
}

/// Both files of a pair, one behind the other.
fn tetgen() {
    let campaign = Campaign { name: "tetgen", constant: 16 * KIB };
    campaign.run(&corpus::pairs(), |bytes| {
        let cut = bytes.windows(PAIR.len()).position(|window| window == PAIR);
        let (node, ele) = bytes.split_at(cut.unwrap_or(bytes.len()));
        judge(parse_tetgen(node, ele.strip_prefix(PAIR).unwrap_or_default()));
    });
}

/// The matrix of a system to solve: no row without an entry, so that its size is bounded by what the file holds.
fn matrix_market_systems() {
    let campaign = Campaign { name: "matrix_market_systems", constant: 64 * KIB };
    campaign.run(&corpus::files(&MATRICES, &["mtx", "mm"]), |bytes| {
        if let Err(error) = Source::new(Cursor::new(bytes.to_vec())).system() {
            assert!(error.to_string().len() > 20, "{error}");
        }
    });
}

/// Matrices, dense ones and vectors may be hollow: a million empty rows, and 16 million zeros, cost what the header allows.
fn matrix_market_values() {
    let campaign = Campaign { name: "matrix_market_values", constant: 256 * MIB };
    campaign.run(&corpus::files(&MATRICES, &["mtx", "mm"]), |bytes| {
        let source = || Source::new(Cursor::new(bytes.to_vec()));
        let errors = [source().matrix().err(), source().dense().err(), source().vector().err()];
        errors.into_iter().flatten().for_each(|error| assert!(error.to_string().len() > 20, "{error}"));
    });
}
