//! Meshes that are no solids, of bodies and of colliders.

use coarsen::contact::ContactError;
use examples_run::Failure;
use examples_scene::closed::MeshFault;
use mpm::fault::SceneError;

use super::Folder;
use super::bad_scenes::{BODY, OF};

/// The corners of a tetrahedron, and its faces but one.
const OPEN: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n";

/// All faces, seen from inside.
const INVERTED: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 1 3 4\n";

/// Closed surfaces without a volume: four corners in a plane that is along no axis, a triangle with two sides, and
/// coordinates whose products overflow.
const FLAT: [&str; 3] = [
    "v 0.1 0.2 0.17\nv 1.3 0.1 0.24\nv 0.2 1.7 0.93\nv 0.48 0.47 0.343\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 3 2\n",
    "v 0 0 0\nv 1e200 0 0\nv 0 1e200 0\nv 0 0 1e200\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
];

/// The fault of a surface as that of body 0 or of collider 0.
fn fault(folder: &Folder, table: &str, surface: &str) -> (Failure, bool) {
    folder.write("solid.obj", surface);
    let mesh = "mesh = \"solid.obj\"\n";
    let text = match table {
        "body" => format!("grid.dx = 0.1\n[[body]]\n{mesh}{OF}"),
        _ => format!("grid.dx = 0.1\n{BODY}{OF}[[obstacle]]\n{mesh}"),
    };
    let scene = folder.write("scene.toml", &text);
    let error = folder.run(&["--scene", &scene, "--frames", "1"]).unwrap_err();
    let named = match error.downcast_ref() {
        Some(SceneError::Mesh { table: named, index: 0, .. }) => *named == table,
        _ => false,
    };
    let text = error.to_string();
    (error, named && text.contains("solid.obj") && text.starts_with(table))
}

/// What is wrong with the surface of a body or a collider.
fn source(error: &Failure) -> &ContactError {
    match error.downcast_ref() {
        Some(SceneError::Mesh { source: MeshFault::Surface { source, .. }, .. }) => source,
        _ => panic!("{error}"),
    }
}

#[test]
fn surfaces_that_are_no_solids_are_refused() {
    let folder = Folder::new("mesh");
    for table in ["body", "obstacle"] {
        let (error, named) = fault(&folder, table, OPEN);
        let ContactError::Open { edge, count: 1 } = source(&error) else { panic!("{error}") };
        assert!(named && [[0, 2], [0, 3], [2, 3]].contains(edge), "{error}");

        let (error, named) = fault(&folder, table, INVERTED);
        let ContactError::Inverted { volume } = source(&error) else { panic!("{error}") };
        assert!(
            named && (volume + 1.0 / 6.0).abs() < 1e-12 && error.to_string().contains("outwards"),
            "{error}"
        );

        // Neither side of a surface without a volume faces outwards.
        for flat in FLAT {
            let (error, named) = fault(&folder, table, flat);
            let ContactError::Flat { volume } = source(&error) else { panic!("{error}") };
            assert!(named && !(volume.abs() > 1e-15 && volume.is_finite()), "{error}");
            assert!(!error.to_string().contains("outwards"), "{error}");
        }
    }
}

#[test]
fn missing_meshes_are_named() {
    let folder = Folder::new("missing-mesh");
    let scene = folder.write("scene.toml", &format!("[[body]]\nmesh = \"open.obj\"\n{OF}"));
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(SceneError::Mesh { source: MeshFault::Read(_), .. })),
        "{error}"
    );
}
