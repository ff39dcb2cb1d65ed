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
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the normals of the triangles add up to zero, but a flat sheet is needed at rest")]
    Closed,
    #[error(
        "vertex {vertex} (from 0) is {distance:.3e} m out of the plane of the sheet, but cloth is flat at rest; pass the flat pattern"
    )]
    Curved { vertex: usize, distance: f64 },
    #[error(
        "triangle {triangle} (from 0) is degenerate, its area is {area:.3e} m² at rest ({count} triangles are); leave them out \
         with --drop-degenerate, or move their corners"
    )]
    Degenerate { triangle: usize, area: f64, count: usize },
    #[error(
        "the texture coordinates are not flat pieces at one scale: triangle {triangle} (from 0) has {ratio:.3e} times the area \
         of its piece in space, as {count} triangles have less than 1/16 or more than 16 times; leave out --sewn, and the garment \
         keeps its shape in space, or export its pattern as texture coordinates"
    )]
    Pattern { triangle: usize, ratio: f64, count: usize },
    #[error(
        "triangle {triangle} (from 0) is inverted at rest: it is oriented otherwise than triangle 0, so the sheet \
         overlaps itself; swap two of its corners, or move them apart"
    )]
    Inverted { triangle: usize },
    #[error(
        "the edge between vertices {} and {} (from 0) has more than two triangles, among them {} and {}; cloth is \
         a manifold: divide the mesh there", ends[0], ends[1], triangles[0], triangles[1]
    )]
    Manifold { ends: [u32; 2], triangles: [usize; 2] },
    #[error(
        "triangles {} and {} (from 0) have the same corners, so that the cloth is there twice; remove one of them, or use \
         --weld", triangles[0], triangles[1]
    )]
    Double { triangles: [usize; 2] },
    #[error("no triangle uses vertex {vertex} (from 0), so its mass is zero; remove it")]
    Loose { vertex: usize },
}

/// A scene that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SceneError {
    #[error(transparent)]
    Scene(#[from] examples_scene::SceneError),
    #[error(transparent)]
    Sheet(#[from] SheetFault),
    #[error(
        "the scene reentrant cuts a corner out of its own sheet; leave out --mesh, or take another scene"
    )]
    Cut,
    #[error("the scenes twist and stitching make their own pieces; leave out --mesh, or take another scene")]
    Strips,
    #[error(
        "--sheets stacks generated flat sheets; leave it out with --mesh and in the scenes garment, dressed and stitching"
    )]
    Stacked,
    #[error(
        "the scene dressed needs a garment, --mesh FILE, and a body, --body FILE..; only this scene and statue take --body"
    )]
    Dressed,
    #[error("the scene statue needs one closed mesh, --body FILE")]
    Unnamed,
    #[error(transparent)]
    Statue(#[from] MeshFault),
    #[error(
        "{} has other triangles than {}, but a body keeps its triangles from frame to frame; export the sequence again",
        file.display(), first.display()
    )]
    Sequence { file: PathBuf, first: PathBuf },
    #[error(
        "{}: triangles {} and {} (from 0) have the same corners, so that contact would count twice; remove one of them, or \
         use --weld", file.display(), triangles[0], triangles[1]
    )]
    Double { file: PathBuf, triangles: [usize; 2] },
    #[error(
        "--sewn is an option of the scenes garment and dressed; leave it out, since other sheets of files are flat"
    )]
    Sewn,
    #[error(
        "{option} has no effect on a generated sheet; give --mesh FILE or the mesh of the scene, or leave it out"
    )]
    NoFile { option: &'static str },
    #[error(
        "--systems writes matrices without the constraints of --obstacles constraints; leave out one of the two"
    )]
    Systems,
    #[error(
        "--material {} needs a sheet that is flat at rest; take woven, baraff-witkin or springs, or sew the \
         garment of a file with texture coordinates (--sewn)",
        material.to_possible_value().as_ref().map_or("", PossibleValue::get_name)
    )]
    Curved { material: Material },
    #[error("--wind has a component {found}, but all must be finite")]
    Wind { found: f64 },
    #[error(
        "--thickness is {thickness:.3e} m, but the edge between vertices {} and {} (from 0) is {length:.3e} m long, so \
         that the sheet would be in contact with itself at rest; take a smaller --thickness, or longer edges",
        ends[0], ends[1]
    )]
    Thick { thickness: f64, ends: [u32; 2], length: f64 },
    #[error(
        "the thickness is {thickness:.3e} m, but {pair} are {distance:.3e} m apart at the start, so that the sheet would be in \
         contact with itself; take a --thickness of at most this distance, or move layers apart"
    )]
    Near { thickness: f64, pair: Pair, distance: f64 },
    #[error("all {vertices} vertices are held; take more --vertices")]
    Held { vertices: usize },
    #[error(
        "vertex {vertex} (from 0) is {depth:.3e} m inside obstacle {obstacle} (from 0) at the start; take a \
         smaller sheet, or move the obstacle"
    )]
    Inside { vertex: usize, depth: f64, obstacle: usize },
    #[error(
        "{} is in obstacle {obstacle} (from 0) at the start, or nearer to it than a tenth of the thickness; take shorter edges, \
         or move the obstacle", part(*ends)
    )]
    Touches { ends: [u32; 2], obstacle: usize },
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
    #[error(
        "the state of --start has {found} free vertices, but the sheet has {counts:?}, from not divided to --subdivide; pass the \
         options of the run that wrote it, and a --subdivide that is not smaller"
    )]
    Start { found: usize, counts: Vec<usize> },
    #[error(
        "the state of --start is not of the scene {scene} with {vertices} vertices and {triangles} triangles before \
         --subdivide; pass the --scene and the options of the sheet of the run that wrote it"
    )]
    Origin { scene: String, vertices: usize, triangles: usize },
    #[error(
        "in the state of --start, the edge between vertices {} and {} crosses the triangle of vertices {}, {} and {} \
         (from 0, the obstacle after the cloth); take an earlier checkpoint",
        edge[0], edge[1], triangle[0], triangle[1], triangle[2]
    )]
    Refined { edge: [u32; 2], triangle: [u32; 3] },
    #[error(
        "in the state of --start, {} is in obstacle {obstacle} (from 0), or nearer to it than a tenth of the thickness; take \
         an earlier checkpoint, a smaller --thickness, or --obstacles constraints", part(*ends)
    )]
    Pressed { ends: [u32; 2], obstacle: usize },
    #[error("obstacle {index} (from 0): {source}")]
    Obstacle { index: usize, source: ContactError },
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Contact(#[from] ContactError),
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
