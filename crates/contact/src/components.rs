//! The bodies of a mesh: tetrahedra that are connected through nodes.

use coarsen_sparse::union_find;

/// Returns the body of each node and the number of bodies. Bodies are numbered in the order of their first
/// nodes. A node without a tetrahedron is a body.
///
/// *Cost*: almost linear, by union-find.
pub(crate) fn bodies(nodes: usize, tetrahedra: &[[u32; 4]]) -> (Vec<u32>, usize) {
    let mut body: Vec<u32> = (0..nodes as u32).collect();
    for t in tetrahedra {
        for &node in &t[1..] {
            union_find::join(&mut body, t[0], node);
        }
    }
    let count = union_find::number(&mut body) as usize;
    (body, count)
}
