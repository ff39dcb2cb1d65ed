//! The mesh with every aggregate of its nodes in a colour.

use std::error::Error;
use std::fmt::Write;

use coarsen::prelude::*;
use coarsen::sparse::{Graph, coloring};

use crate::mesh::Mesh;

/// Pixels a unit of length, and around the picture.
const SCALE: f64 = 190.0;
const MARGIN: f64 = 22.0;

/// Okabe and Ito 2008: told apart with any eyes. More colours than neighbouring aggregates need.
const COLOURS: [&str; 7] = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00"];

// ANCHOR: of
/// The aggregate of each node, `u32::MAX` where it has none, and how many there are.
pub(crate) fn of(mesh: &Mesh) -> Result<(Vec<u32>, usize), Box<dyn Error>> {
    let recipe = Multigrid { levels: 2, coarse_size: 10, ..Multigrid::smoothed_aggregation() };
    let m = recipe.build(&mesh.laplacian()?, &Cpu::new())?;
    let (of, p) = m.aggregates(0).zip(m.prolongation(0)).ok_or("nothing to coarsen")?;
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
    let (width, height) = (2.0 * MARGIN + 4.0 * SCALE, 2.0 * MARGIN + 2.0 * SCALE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         data-aggregates=\"{count}\" role=\"img\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    // Thick lines and filled triangles inside an aggregate run together into one patch.
    let own = |k: usize| (aggregates[k] != u32::MAX).then_some(aggregates[k]);
    for t in &mesh.triangles {
        if let (Some(g), [Some(h), Some(i)]) = (own(t[0]), [own(t[1]), own(t[2])])
            && g == h
            && g == i
        {
            let [(ax, ay), (bx, by), (cx, cy)] = t.map(at);
            writeln!(
                svg,
                "<path d=\"M{ax:.1} {ay:.1}L{bx:.1} {by:.1}L{cx:.1} {cy:.1}Z\" fill=\"{}\"/>",
                colour(g)
            )?;
        }
    }
    let line = |svg: &mut String, (i, j): (usize, usize), stroke: &str| {
        let ((ax, ay), (bx, by)) = (at(i), at(j));
        writeln!(svg, "<path d=\"M{ax:.1} {ay:.1}L{bx:.1} {by:.1}\" {stroke}/>")
    };
    for &(i, j) in &edges {
        if let (Some(g), Some(h)) = (own(i), own(j))
            && g == h
        {
            let stroke = format!("stroke=\"{}\" stroke-width=\"13\" stroke-linecap=\"round\"", colour(g));
            line(&mut svg, (i, j), &stroke)?;
        }
    }
    for &edge in &edges {
        line(&mut svg, edge, "stroke=\"#333\" stroke-width=\"0.7\" stroke-opacity=\"0.6\"")?;
    }
    for k in 0..mesh.points.len() {
        let (x, y) = at(k);
        let (r, fill) = if own(k).is_some() { (2.4, "#222") } else { (4.0, "white") };
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{fill}\" stroke=\"#222\"/>")?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Every edge once.
fn edges(mesh: &Mesh) -> Vec<(usize, usize)> {
    let ends = |t: &[usize; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
    let mut edges: Vec<_> = mesh.triangles.iter().flat_map(ends).map(|(i, j)| (i.min(j), i.max(j))).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// A colour for each aggregate, another one than its neighbours have.
fn colours(
    aggregates: &[u32],
    count: usize,
    edges: &[(usize, usize)],
) -> Result<impl Fn(u32) -> &'static str + use<>, Box<dyn Error>> {
    let between = edges.iter().map(|&(i, j)| (aggregates[i], aggregates[j]));
    let between: Vec<_> = between.filter(|&(g, h)| g != h && g != u32::MAX && h != u32::MAX).collect();
    let classes = coloring::greedy(&Graph::from_edges(count, &between)?);
    Ok(move |g: u32| COLOURS[classes.of()[g as usize] as usize % COLOURS.len()])
}
