//! Meshes that are no solids.

use examples_common::closed::MeshFault;
use mpm::fault::SceneError;

use super::Folder;
use super::bad_scenes::OF;

#[test]
fn open_meshes_are_refused() {
    let folder = Folder::new("mesh");
    folder.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n");
    let scene = folder.write("scene.toml", &format!("[[body]]\nmesh = {{ file = \"open.obj\" }}\n{OF}"));
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    let Some(SceneError::Mesh { index: 0, source: MeshFault::Open { file, edge, .. } }) =
        error.downcast_ref()
    else {
        panic!("{error}")
    };
    assert!(file.ends_with("open.obj") && [[0, 2], [0, 3], [2, 3]].contains(edge), "{error}");
    std::fs::remove_file(folder.0.join("open.obj")).unwrap();
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(SceneError::Mesh { source: MeshFault::Read(_), .. })),
        "{error}"
    );
}
