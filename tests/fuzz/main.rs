//! Fuzz tests of all file readers: no panic, no endless loop, and memory proportional to the file.
//!
//! Valid files are damaged at random, many times. They come from the folders `tests/corpus` of the readers'
//! crates and from the smaller files in the folder `COARSEN_DATA`. `COARSEN_FUZZ_SECONDS` is the time per
//! reader; `COARSEN_FUZZ_SEED` is the seed of the first case, to reproduce a failure.
//!
//! | file | what |
//! |---|---|
//! | `main` | the readers |
//! | `campaign` | cases, limits of time and memory, saved failures |
//! | `corpus` | the valid files |
//! | `damage` | random damage |
//! | `large` | valid files that need the most memory per byte |
//! | `peak_memory` | an allocator that counts bytes |

mod campaign;
mod corpus;
mod damage;
mod large;
mod peak_memory;

use std::io::Cursor;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use coarsen::matrix_market::Source;
use coarsen::mesh::{Format, Mesh, ReadError, parse, parse_tetgen, parse_texture};

use campaign::{Campaign, KIB, MIB};
use corpus::{MATRICES, MESHES, PAIR};

/// Runs all fuzz tests, or the tests whose name contains a word of the command line. Each runs in a
/// process without a harness, whose threads would allocate. A word that starts with `=` is the start of a name.
fn main() {
    let attacks: [(&str, fn()); 11] = [
        ("large", large_files_stay_within_their_memory),
        ("obj", || meshes("obj", "obj", Format::Obj)),
        ("texture", textures),
        ("ply", || meshes("ply", "ply", Format::Ply)),
        ("stl", || meshes("stl", "stl", Format::Stl)),
        ("msh", || meshes("msh", "msh", Format::Msh)),
        ("medit", || meshes("medit", "mesh", Format::Medit)),
        ("vtk", || meshes("vtk", "vtk", Format::Vtk)),
        ("tetgen", tetgen),
        ("matrix_market_systems", matrix_market_systems),
        ("matrix_market_values", matrix_market_values),
    ];
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let asked = |name: &str| words.iter().any(|word| format!("={name}").contains(word.as_str()));
    if !words.is_empty() {
        return attacks.iter().filter(|(name, _)| asked(name)).for_each(|(_, attack)| attack());
    }
    // Bytes are counted over all threads of a process, so the attacks that run at once are processes.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((name, _)) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ended = Command::new(std::env::current_exe().unwrap()).arg(format!("={name}")).status();
            assert!(ended.unwrap().success(), "attack \"{name}\" failed; its own message says why");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
}

/// The result of a damaged file must be a consistent mesh or an error with a text.
fn judge(read: Result<Mesh, ReadError>) {
    match read {
        Ok(mesh) => {
            assert_eq!(mesh.check(), Ok(()));
            for group in &mesh.groups {
                let all = if group.dimension == 2 { mesh.triangles.len() } else { mesh.tetrahedra.len() };
                assert!(group.elements.iter().all(|&element| (element as usize) < all), "{}", group.name);
            }
        }
        Err(error) => assert!(error.to_string().len() > 20, "{error}"),
    }
}

/// Large valid files that need the most memory per byte, and an invalid file with one very long line of
/// words.
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
        // The stream owns a copy of the bytes, which is counted.
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

/// Texture coordinates are finite, or there is an error with a text.
fn textures() {
    let campaign = Campaign { name: "texture", constant: 16 * KIB };
    campaign.run(&corpus::files(&MESHES, &["obj"]), |bytes| match parse_texture(bytes) {
        Ok(corners) => assert!(corners.as_flattened().as_flattened().iter().all(|x| x.is_finite())),
        Err(error) => assert!(error.to_string().len() > 20, "{error}"),
    });
}

/// Both files of a pair: first the NODE file, then the ELE file.
fn tetgen() {
    let campaign = Campaign { name: "tetgen", constant: 16 * KIB };
    campaign.run(&corpus::pairs(), |bytes| {
        let cut = bytes.windows(PAIR.len()).position(|window| window == PAIR);
        let (node, ele) = bytes.split_at(cut.unwrap_or(bytes.len()));
        judge(parse_tetgen(node, ele.strip_prefix(PAIR).unwrap_or_default()));
    });
}

/// The matrix of a system must have an entry in each row, so its size is bounded by the size of the file.
fn matrix_market_systems() {
    let campaign = Campaign { name: "matrix_market_systems", constant: 64 * KIB };
    campaign.run(&corpus::files(&MATRICES, &["mtx", "mm"]), |bytes| {
        if let Err(error) = Source::new(Cursor::new(bytes.to_vec())).system() {
            assert!(error.to_string().len() > 20, "{error}");
        }
    });
}

/// Matrices, dense matrices and vectors may be nearly empty: a million empty rows, or 16 million zeros, use
/// the memory that the header allows.
fn matrix_market_values() {
    let campaign = Campaign { name: "matrix_market_values", constant: 256 * MIB };
    campaign.run(&corpus::files(&MATRICES, &["mtx", "mm"]), |bytes| {
        let source = || Source::new(Cursor::new(bytes.to_vec()));
        let errors = [source().matrix().err(), source().dense().err(), source().vector().err()];
        errors.into_iter().flatten().for_each(|error| assert!(error.to_string().len() > 20, "{error}"));
    });
}
