//! Bodies whose numbers cannot be resolved.

use examples_run::scales::Unresolved;

use super::*;

/// A body whose weight is below the round-off of its forces: no step could converge.
#[test]
fn scales_that_cannot_be_resolved_are_refused() {
    let folder = Folder::new("scales");
    for extreme in [["--density", "1e-300"], ["--young", "1e100"], ["--density", "1e-12"]] {
        let fixed = ["--mesh", "bar:2", "--frames", "1", "--width", "0"];
        let error = folder.run(&[&fixed[..], &extreme].concat()).unwrap_err();
        let Some(Unresolved { noise, limit, .. }) = error.downcast_ref() else { panic!("{error}") };
        assert!(noise > limit, "{error}");
    }
}
