//! The folder of real matrices and meshes, for the tests of all crates.

use std::path::PathBuf;

/// The folder that the environment variable COARSEN_DATA names; `None`, with the reason printed, without it. With
/// COARSEN_REQUIRE_DATA, a test that needs it fails instead of being skipped.
pub(crate) fn data() -> Option<PathBuf> {
    let found = std::env::var_os("COARSEN_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    if found.is_none() {
        let skipped = "skipped: COARSEN_DATA names no folder of test data";
        assert!(std::env::var_os("COARSEN_REQUIRE_DATA").is_none(), "{skipped}");
        println!("{skipped}");
    }
    found
}
