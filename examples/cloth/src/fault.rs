//! Errors of sheets and scenes.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use coarsen::AnyError;
use coarsen::elastic::BodyError;
use coarsen::mesh::ReadError;
use coarsen_contact::{ContactError, Pair};
use examples_scene::closed::MeshFault;

use crate::material::Material;

/// A sheet that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SheetFault {
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A surface without a direction.
    #[error("the normals of the triangles add up to zero, but a flat sheet is needed at rest")]
    Closed,
    /// A vertex outside the plane.
    #[error(
        "vertex {vertex} (from 0) is {distance:.3e} m out of the plane of the sheet, but cloth is flat at rest; pass the flat pattern"
    )]
    Curved { vertex: usize, distance: f64 },
    /// A triangle without area.
    #[error(
        "triangle {triangle} (from 0) is degenerate, its area is {area:.3e} m² at rest ({count} triangles are); leave them out \
         with --drop-degenerate, or move their corners"
    )]
    Degenerate { triangle: usize, area: f64, count: usize },
    /// Texture coordinates that are no pattern.
    #[error(
        "the texture coordinates are not flat pieces at one scale: triangle {triangle} (from 0) has {ratio:.3e} times the area \
         of its piece in space, as {count} triangles have less than 1/16 or more than 16 times; leave out --sewn, and the garment \
         keeps its shape in space, or export its pattern as texture coordinates"
    )]
    Pattern { triangle: usize, ratio: f64, count: usize },
    /// A triangle with another orientation than the first.
    #[error(
        "triangle {triangle} (from 0) is inverted at rest: it is oriented otherwise than triangle 0, so the sheet \
         overlaps itself; swap two of its corners, or move them apart"
    )]
    Inverted { triangle: usize },
    /// An edge of more than two triangles.
    #[error(
        "the edge between vertices {} and {} (from 0) has more than two triangles, among them {} and {}; cloth is \
         a manifold: divide the mesh there", ends[0], ends[1], triangles[0], triangles[1]
    )]
    Manifold { ends: [u32; 2], triangles: [usize; 2] },
    /// Two triangles with the same corners.
    #[error(
        "triangles {} and {} (from 0) have the same corners, so that the cloth is there twice; remove one of them, or use \
         --weld", triangles[0], triangles[1]
    )]
    Double { triangles: [usize; 2] },
    /// A vertex without mass.
    #[error("no triangle uses vertex {vertex} (from 0), so its mass is zero; remove it")]
    Loose { vertex: usize },
}

/// A scene that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SceneError {
    /// A key of the scene.
    #[error(transparent)]
    Scene(#[from] examples_scene::SceneError),
    /// The sheet.
    #[error(transparent)]
    Sheet(#[from] SheetFault),
    /// A sheet of a file in a scene that cuts its own.
    #[error(
        "the scene reentrant cuts a corner out of its own sheet; leave out --mesh, or take another scene"
    )]
    Cut,
    /// A sheet of a file in a scene that makes its own.
    #[error("the scenes twist and stitching make their own pieces; leave out --mesh, or take another scene")]
    Strips,
    /// Several garments, or sheets of a file.
    #[error(
        "--sheets stacks generated flat sheets; leave it out with --mesh and in the scenes garment, dressed and stitching"
    )]
    Stacked,
    /// A scene without its files, or files without the scene.
    #[error(
        "the scene dressed needs a garment, --mesh FILE, and a body, --body FILE..; only this scene and statue take --body"
    )]
    Dressed,
    /// A statue without its file.
    #[error("the scene statue needs one closed mesh, --body FILE")]
    Unnamed,
    /// A mesh that is no solid.
    #[error(transparent)]
    Statue(#[from] MeshFault),
    /// A body whose triangles change.
    #[error(
        "{} has other triangles than {}, but a body keeps its triangles from frame to frame; export the sequence again",
        file.display(), first.display()
    )]
    Sequence { file: PathBuf, first: PathBuf },
    /// A body with double triangles.
    #[error(
        "{}: triangles {} and {} (from 0) have the same corners, so that contact would count twice; remove one of them, or \
         use --weld", file.display(), triangles[0], triangles[1]
    )]
    Double { file: PathBuf, triangles: [usize; 2] },
    /// A flat sheet that is sewn.
    #[error(
        "--sewn is an option of the scenes garment and dressed; leave it out, since other sheets of files are flat"
    )]
    Sewn,
    /// An option for triangles of a file, without a file.
    #[error(
        "{option} has no effect on a generated sheet; give --mesh FILE or the mesh of the scene, or leave it out"
    )]
    NoFile { option: &'static str },
    /// Systems whose constraints would be missing.
    #[error(
        "--systems writes matrices without the constraints of --obstacles constraints; leave out one of the two"
    )]
    Systems,
    /// A material for flat sheets.
    #[error(
        "--material {} needs a sheet that is flat at rest; take woven, baraff-witkin or springs, or sew the \
         garment of a file with texture coordinates (--sewn)",
        material.to_possible_value().as_ref().map_or("", PossibleValue::get_name)
    )]
    Curved { material: Material },
    /// Wind without a direction.
    #[error("--wind has a component {found}, but all must be finite")]
    Wind { found: f64 },
    /// Contact that begins beyond the neighbours of a vertex.
    #[error(
        "--thickness is {thickness:.3e} m, but the edge between vertices {} and {} (from 0) is {length:.3e} m long, so \
         that the sheet would be in contact with itself at rest; take a smaller --thickness, or longer edges",
        ends[0], ends[1]
    )]
    Thick { thickness: f64, ends: [u32; 2], length: f64 },
    /// Contact that begins beyond the distance of parts of the sheet.
    #[error(
        "the thickness is {thickness:.3e} m, but {pair} are {distance:.3e} m apart at the start, so that the sheet would be in \
         contact with itself; take a --thickness of at most this distance, or move layers apart"
    )]
    Near { thickness: f64, pair: Pair, distance: f64 },
    /// No vertex is free.
    #[error("all {vertices} vertices are held; take more --vertices")]
    Held { vertices: usize },
    /// A vertex in an obstacle.
    #[error(
        "vertex {vertex} (from 0) is {depth:.3e} m inside obstacle {obstacle} (from 0) at the start; take a \
         smaller sheet, or move the obstacle"
    )]
    Inside { vertex: usize, depth: f64, obstacle: usize },
    /// An edge in a barrier.
    #[error(
        "{} is in obstacle {obstacle} (from 0) at the start, or nearer to it than a tenth of the thickness; take shorter edges, \
         or move the obstacle", part(*ends)
    )]
    Touches { ends: [u32; 2], obstacle: usize },
    /// A start that intersects.
    #[error(
        "at the start, the edge between vertices {} and {} crosses the triangle of vertices {}, {} and {} \
         (from 0, the obstacle after the cloth); move the cloth away",
        edge[0], edge[1], triangle[0], triangle[1], triangle[2]
    )]
    Crossing { edge: [u32; 2], triangle: [u32; 3] },
    /// More vertices than can be numbered in reasonable memory.
    #[error(
        "--subdivide would make {vertices} vertices, but {most} are the most; take fewer --vertices or divide less often"
    )]
    Fine { vertices: usize, most: usize },
    /// The state of another sheet.
    #[error(
        "the state of --start has {found} free vertices, but the sheet has {counts:?}, from not divided to --subdivide; pass the \
         options of the run that wrote it, and a --subdivide that is not smaller"
    )]
    Start { found: usize, counts: Vec<usize> },
    /// The state of another scene, whose sheet has as many free vertices.
    #[error(
        "the state of --start is not of the scene {scene} with {vertices} vertices and {triangles} triangles before \
         --subdivide; pass the --scene and the options of the sheet of the run that wrote it"
    )]
    Origin { scene: String, vertices: usize, triangles: usize },
    /// A state that intersects.
    #[error(
        "in the state of --start, the edge between vertices {} and {} crosses the triangle of vertices {}, {} and {} \
         (from 0, the obstacle after the cloth); take an earlier checkpoint",
        edge[0], edge[1], triangle[0], triangle[1], triangle[2]
    )]
    Refined { edge: [u32; 2], triangle: [u32; 3] },
    /// A state in a barrier.
    #[error(
        "in the state of --start, {} is in obstacle {obstacle} (from 0), or nearer to it than a tenth of the thickness; take \
         an earlier checkpoint, a smaller --thickness, or --obstacles constraints", part(*ends)
    )]
    Pressed { ends: [u32; 2], obstacle: usize },
    /// An obstacle that is not valid.
    #[error("obstacle {index} (from 0): {source}")]
    Obstacle { index: usize, source: ContactError },
    /// An energy that cannot be made.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// Contact that cannot be made.
    #[error(transparent)]
    Contact(#[from] ContactError),
    /// Other faults of the library.
    #[error(transparent)]
    Any(#[from] AnyError),
}

/// A vertex, or the edge between two, by their numbers among the free vertices.
fn part(ends: [u32; 2]) -> String {
    match ends {
        [a, b] if a == b => format!("the free vertex {a} (from 0, without those that are held)"),
        [a, b] => {
            format!("the edge between the free vertices {a} and {b} (from 0, without those that are held)")
        }
    }
}
