//! The pieces of a T-shirt: the front and the back, cut flat, with the edges that are sewn together.

use examples_scene::shape::quad;

use crate::sheet::Sheet;

/// Half of the width of the body, the length of a sleeve, the height of the body and that of a sleeve, half of the width and
/// the depth of the neck, in m.
const BODY: f64 = 0.26;
const SLEEVE: f64 = 0.2;
const HEIGHT: f64 = 0.65;
const ARMHOLE: f64 = 0.24;
const NECK: [f64; 2] = [0.09, 0.06];

/// The distance of both pieces from the plane between them.
const APART: f64 = 0.14;

/// Both pieces, with about this number of vertices: (u, v) = (1/2, 1/2) is the middle of the upper edge, and w = ±0.14 m.
pub(crate) fn shirt(vertices: usize) -> Sheet {
    let area = 2.0 * BODY * HEIGHT + 2.0 * SLEEVE * ARMHOLE - 2.0 * NECK[0] * NECK[1];
    let spacing = (2.0 * area / vertices as f64).sqrt();
    let cells = |length: f64, least: i32| ((length / spacing).round() as i32).max(least);
    let (neck, notch) = (cells(NECK[0], 1), cells(NECK[1], 1));
    let (body, sleeve) = (cells(BODY, neck + 1), cells(SLEEVE, 1));
    let arm = cells(ARMHOLE, notch + 1);
    let height = cells(HEIGHT, arm + 1);
    let side = body + sleeve;
    let inside = |i: i32, j: i32| {
        // The cell from column i to i + 1 and from row j to j + 1, from the top down.
        let across = if i < 0 { -i - 1 } else { i };
        if across < body { !(across < neck && j < notch) } else { j < arm }
    };
    let columns = 2 * side + 1;
    let number = |i: i32, j: i32| (j * columns + i + side) as u32;
    let mut triangles = Vec::new();
    for (i, j) in (0..height).flat_map(|j| (-side..side).map(move |i| (i, j))).filter(|&(i, j)| inside(i, j))
    {
        let corners = [number(i, j + 1), number(i + 1, j + 1), number(i, j), number(i + 1, j)];
        triangles.extend(quad(corners, (i + j) % 2 == 0));
    }
    let place = |v: i32| {
        let [i, j] = [v % columns - side, v / columns].map(f64::from);
        [0.5 + spacing * i, 0.5 - spacing * j, APART]
    };
    let piece = Sheet {
        rest: (0..columns * (height + 1)).map(place).collect(),
        triangles,
        layers: 2,
        ..Sheet::default()
    };
    let piece = piece.without_unused();
    let count = piece.rest.len() as u32;
    let at = |v: u32| {
        let [x, y, _] = piece.rest[v as usize];
        [(x - 0.5) / spacing, (0.5 - y) / spacing].map(|cells| cells.round() as i32)
    };
    // Sewn are all edges of the pieces but those of the neck, the hem and the ends of sleeves.
    let open = |ends: &[u32; 2]| {
        let ends = ends.map(at);
        let all = |is: &dyn Fn([i32; 2]) -> bool| ends.into_iter().all(is);
        all(&|[i, j]| i.abs() <= neck && j <= notch)
            || all(&|[_, j]| j == height)
            || all(&|[i, _]| i.abs() == side)
    };
    let sides = piece.sides();
    let border = sides.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0].0);
    let sewn: Vec<[u32; 2]> = border.filter(|ends| !open(ends)).collect();
    let back = |v: u32| v + count;
    let seams = sewn.iter().map(|ends| [*ends, ends.map(back)]).collect();
    let behind = piece.rest.iter().map(|&[u, v, w]| [u, v, -w]);
    let rest = piece.rest.iter().copied().chain(behind).collect();
    let turned = piece.triangles.iter().map(|t| t.map(back));
    let triangles = piece.triangles.iter().copied().chain(turned).collect();
    Sheet { rest, triangles, seams, layers: 2, ..Sheet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both pieces are valid sheets, alike, and sewn along all their edges but neck, hem and sleeves.
    #[test]
    fn pieces_are_sewn_at_their_edges() {
        for vertices in [60, 500, 2500] {
            let sheet = shirt(vertices).checked().unwrap();
            let count = sheet.rest.len() / 2;
            assert!(
                (0.6..1.7).contains(&(sheet.rest.len() as f64 / vertices as f64)),
                "{} of {vertices}",
                sheet.rest.len()
            );
            let seam: f64 = sheet.seams.iter().map(|[front, _]| sheet.length(*front)).sum();
            for [[a, b], [c, d]] in &sheet.seams {
                assert!(*c == a + count as u32 && *d == b + count as u32);
                assert_eq!(sheet.length([*a, *b]), sheet.length([*c, *d]));
            }
            // Shoulders and sleeves above and below, and both sides.
            let expected = 2.0 * (BODY + SLEEVE - NECK[0] + SLEEVE + HEIGHT - ARMHOLE);
            assert!(vertices < 100 || (seam - expected).abs() < 0.1 * expected, "{seam} of {expected}");
            let loose = sheet.boundary().len();
            let sewn: std::collections::HashSet<u32> =
                sheet.seams.iter().flatten().flatten().copied().collect();
            assert!(sewn.len() < loose && sewn.len() > loose / 2, "{} of {loose}", sewn.len());
        }
    }
}
