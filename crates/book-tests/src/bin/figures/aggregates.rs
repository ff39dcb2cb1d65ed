//! The mesh, with each aggregate in a colour.

use std::error::Error;

use coarsen::prelude::*;
use coarsen::sparse::{Graph, coloring};

use crate::mesh::Mesh;
use crate::picture::Picture;

/// Pixels for a unit of length, and width of the margin.
const SCALE: f64 = 190.0;
const MARGIN: f64 = 22.0;

/// The palette of Okabe and Ito 2008, which colour-blind people can distinguish.
const COLOURS: [&str; 7] = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00"];

// ANCHOR: of
/// The aggregate of each node (`u32::MAX`: none), and their number.
pub(crate) fn of(mesh: &Mesh) -> Result<(Vec<u32>, usize), Box<dyn Error>> {
    let sa = Multigrid { levels: 2, coarse_size: 10, ..smoothed_aggregation() };
    let m = sa.build(&mesh.laplacian()?, &Cpu::new())?;
    let both = m.aggregates(0).zip(m.prolongation(0));
    let (of, p) = both.ok_or("nothing to coarsen")?;
    Ok((of.to_vec(), p.pattern().columns()))
}
// ANCHOR_END: of

/// The picture.
pub(crate) fn draw(mesh: &Mesh) -> Result<String, Box<dyn Error>> {
    let (aggregates, count) = of(mesh)?;
    let edges = edges(mesh);
    let colour = colours(&aggregates, count, &edges)?;
    let at = |k: usize| {
        let [x, y] = mesh.points[k];
        (MARGIN + SCALE * (x + 2.0), MARGIN + SCALE * (2.0 - y))
    };
    let inside = |nodes: &[usize]| {
        let own = aggregates[nodes[0]];
        (own != u32::MAX && nodes.iter().all(|&k| aggregates[k] == own)).then(|| colour(own))
    };
    let size = (2.0 * MARGIN + 4.0 * SCALE, 2.0 * MARGIN + 2.0 * SCALE);
    let mut picture = Picture::new(size, &[("aggregates", count)]);
    // Filled triangles and thick lines inside an aggregate form one patch.
    for triangle in &mesh.triangles {
        if let Some(colour) = inside(triangle) {
            picture.triangle(triangle.map(at), colour);
        }
    }
    for edge in &edges {
        if let Some(colour) = inside(edge) {
            let style = format!("stroke=\"{colour}\" stroke-width=\"13\" stroke-linecap=\"round\"");
            picture.line(&edge.map(at), &style);
        }
    }
    for edge in &edges {
        picture.line(&edge.map(at), "stroke=\"#333\" stroke-width=\"0.7\" stroke-opacity=\"0.6\"");
    }
    for k in 0..mesh.points.len() {
        let (radius, fill) = if aggregates[k] == u32::MAX { (4.0, "white") } else { (2.2, "#222") };
        picture.dot(at(k), radius, fill);
    }
    Ok(picture.finish())
}

/// Every edge once.
fn edges(mesh: &Mesh) -> Vec<[usize; 2]> {
    let ends = |t: &[usize; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let mut edges: Vec<_> = mesh.triangles.iter().flat_map(ends).map(|[i, j]| [i.min(j), i.max(j)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// A colour for each aggregate, different from those of its neighbours.
fn colours(
    aggregates: &[u32],
    count: usize,
    edges: &[[usize; 2]],
) -> Result<impl Fn(u32) -> &'static str + use<>, Box<dyn Error>> {
    let between = edges.iter().map(|edge| edge.map(|k| aggregates[k]));
    let between: Vec<_> =
        between.filter(|e| e[0] != e[1] && !e.contains(&u32::MAX)).map(|[g, h]| (g, h)).collect();
    let classes = coloring::greedy(&Graph::from_edges(count, &between)?);
    Ok(move |g: u32| COLOURS[classes.of()[g as usize] as usize % COLOURS.len()])
}
