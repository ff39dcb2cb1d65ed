//! Valid files that need the most memory per byte: short lines, small numbers.

use coarsen::mesh::Format;

/// The number of vertices, elements or rows in a file.
const COUNT: usize = 40_000;

fn lines(line: impl Fn(usize) -> String) -> String {
    (0..COUNT).map(line).collect()
}

fn same(line: &str) -> String {
    line.repeat(COUNT)
}

pub(crate) fn meshes() -> Vec<(Format, Vec<u8>)> {
    let vtk = |rest: &str| {
        format!(
            "# vtk DataFile Version 3.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {COUNT} float\n{}{rest}",
            same("0 0 0\n")
        )
    };
    let msh = |elements: &str| {
        let nodes = lines(|k| format!("{k} 0 0 0\n"));
        format!(
            "$MeshFormat\n2 0 8\n$EndMeshFormat\n$Nodes\n{COUNT}\n{nodes}$EndNodes\n$Elements\n{COUNT}\n{elements}$EndElements\n"
        )
    };
    let medit = format!(
        "MeshVersionFormatted 1\nDimension 2\nVertices {COUNT}\n{}Triangles {COUNT}\n{}End\n",
        same("0 0 0\n"),
        same("1 2 3 0\n")
    );
    let mut ply = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {COUNT}\nproperty uchar x\nproperty uchar y\nproperty uchar z\n\
         element face {COUNT}\nproperty list uchar uchar vertex_index\nend_header\n"
    )
    .into_bytes();
    ply.extend(vec![0; 3 * COUNT]);
    (0..COUNT).for_each(|_| ply.extend([3, 0, 1, 2]));
    vec![
        (Format::Obj, same("v 0 0 0\n").into_bytes()),
        (Format::Obj, (same("v 0 0 0\n") + &same("f 1 2 3\n")).into_bytes()),
        (Format::Obj, format!("{}f {}\n", same("v 0 0 0\n"), lines(|k| format!("{} ", k + 1))).into_bytes()),
        (Format::Ply, ply),
        (Format::Msh, msh(&same("1 4 1 7 1 2 3 4\n")).into_bytes()),
        (Format::Medit, medit.into_bytes()),
        // Cells without corners, and cells with three corners.
        (
            Format::Vtk,
            vtk(&format!("CELLS {COUNT} {COUNT}\n{}CELL_TYPES {COUNT}\n{}", same("0\n"), same("0\n")))
                .into_bytes(),
        ),
        (
            Format::Vtk,
            vtk(&format!(
                "CELLS {COUNT} {}\n{}CELL_TYPES {COUNT}\n{}",
                4 * COUNT,
                same("3 0 1 2\n"),
                same("5\n")
            ))
            .into_bytes(),
        ),
    ]
}

/// The NODE file of a pair.
pub(crate) fn node() -> Vec<u8> {
    format!("{COUNT} 2 0 0\n{}", lines(|k| format!("{k} 0 0\n"))).into_bytes()
}

pub(crate) fn matrices() -> [(&'static str, Vec<u8>); 5] {
    let file = |kind: &str, entries: usize, body: String| {
        format!("%%MatrixMarket matrix coordinate {kind}\n{COUNT} {COUNT} {entries}\n{body}").into_bytes()
    };
    // Every row has an entry, stored or mirrored.
    let half = (1..=COUNT / 2).map(|k| format!("{} {k}\n", k + COUNT / 2)).collect();
    [
        ("pattern general", file("pattern general", COUNT, lines(|k| format!("{} 1\n", k + 1)))),
        ("pattern symmetric", file("pattern symmetric", COUNT / 2, half)),
        ("pattern, one entry again and again", file("pattern general", COUNT, same("1 1\n"))),
        ("pattern symmetric, one entry again and again", file("pattern symmetric", COUNT, same("2 1\n"))),
        ("real general", file("real general", COUNT, lines(|k| format!("{} 1 1\n", k + 1)))),
    ]
}
