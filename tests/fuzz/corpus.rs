//! The valid files that are damaged.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// A folder in the repository, and folders of the test data.
pub(crate) type Corpus = (&'static str, &'static [&'static str]);

pub(crate) const MESHES: Corpus = ("crates/mesh/tests/corpus", &["meshes"]);
pub(crate) const MATRICES: Corpus = ("crates/matrix-market/tests/corpus", &["mm-parser", "matrices"]);

/// The separator between the two files of a pair.
pub(crate) const PAIR: &[u8] = b"\n#=====\n";

/// The maximum size of a file in bytes, uncompressed; larger files would leave time for too few cases.
const LARGEST: usize = 1 << 18;

/// The files with one of these extensions, in alphabetical order.
pub(crate) fn files(corpus: &Corpus, kinds: &[&str]) -> Vec<Vec<u8>> {
    let found: Vec<Vec<u8>> = paths(corpus, kinds).iter().filter_map(|path| plain(path)).collect();
    assert!(found.len() > 1, "{}: no files", corpus.0);
    found
}

/// The NODE files, each followed by its ELE file.
pub(crate) fn pairs() -> Vec<Vec<u8>> {
    let ele = |node: &Path| PathBuf::from(node.to_string_lossy().replace(".node", ".ele"));
    let nodes = paths(&MESHES, &["node"]);
    let pairs = nodes.iter().filter_map(|node| Some([&plain(node)?, PAIR, &plain(&ele(node))?].concat()));
    pairs.collect()
}

fn paths((folder, data): &Corpus, kinds: &[&str]) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    if let Some(root) = std::env::var_os("COARSEN_DATA") {
        folders.extend(data.iter().map(|folder| Path::new(&root).join(folder)));
    }
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.to_string_lossy();
            let name = name.trim_end_matches(".gz");
            kinds.iter().any(|kind| name.ends_with(&format!(".{kind}")))
        })
        .collect();
    paths.sort();
    paths
}

/// The uncompressed bytes of a file; `None` if it is too large.
fn plain(path: &Path) -> Option<Vec<u8>> {
    let (raw, mut bytes) = (fs::read(path).ok()?, Vec::new());
    if raw.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(&raw[..]).take(LARGEST as u64 + 1).read_to_end(&mut bytes).ok()?;
    } else {
        bytes = raw;
    }
    (bytes.len() <= LARGEST).then_some(bytes)
}
