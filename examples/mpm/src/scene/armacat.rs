//! A stiff ball and a soft armadillo fall on a trampoline: Wang et al. 2020, Fig. 3.
//!
//! The armadillo is the mesh of the folder `--data`. The cat of the authors is not at hand; a ball of the same
//! volume takes its place and falls from its height. A ring holds the rim of the trampoline; on coarse grids it is as thick
//! as a cell.

use std::path::Path;

use examples_common::closed::MeshFile;
use examples_common::stage::View;

use super::setting::{Body, Setting, Stuff, stuff};
use crate::collider::{Collider, Kind};
use crate::fault::SceneError;
use crate::shape::Shape;

/// The mesh of the armadillo, which stands upright about the origin of its coordinates.
const ARMADILLO: &str = "meshes/hot_Armadillo.obj.gz";

/// The ball in place of the cat, with this modulus, falling at this speed.
pub(super) fn cat(centre: [f64; 3], young: f64, speed: f64) -> Body {
    let shape = Some(Shape::Sphere { centre, radius: 0.4 });
    Body { shape, of: stuff(2.5e3, young, 0.4), velocity: [0.0, -speed, 0.0], ..Body::default() }
}

/// What holds the rim of a round sheet of this radius.
pub(super) fn rim(centre: [f64; 3], radius: f64) -> Collider {
    let ring = Shape::Torus { centre, axis: [0.0, 1.0, 0.0], radii: [radius - 0.04, 0.04] };
    Collider { cells: 1.0, ..Collider::new(ring, Kind::Sticky) }
}

pub(super) fn setting(stiff: Option<f64>, data: Option<&Path>) -> Result<Setting, SceneError> {
    let data = data.ok_or(SceneError::Data { scene: "armacat", file: ARMADILLO })?;
    let sheet = Shape::Cylinder { from: [10.0, 9.96, 10.0], to: [10.0, 10.04, 10.0], radius: 2.4 };
    Ok(Setting {
        dx: 0.04,
        frames: 100,
        body: vec![
            cat([9.9, 11.36, 10.23], stiff.unwrap_or(1e9), 1.5),
            Body {
                mesh: Some(MeshFile { file: data.join(ARMADILLO), size: None }),
                shift: [10.0, 10.45, 10.6],
                of: stuff(1e3, 1e5, 0.4),
                ..Body::default()
            },
            Body {
                shape: Some(sheet),
                of: Stuff { per_cell: Some(16), ..stuff(1e3, 1e6, 0.47) },
                ..Body::default()
            },
        ],
        collider: vec![rim([10.0; 3], 2.4)],
        view: View { corners: Some([[7.5, 9.0, 7.5], [12.5, 12.2, 12.5]]), azimuth: 25.0, elevation: 20.0 },
        ..Setting::default()
    })
}
