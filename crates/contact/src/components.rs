//! The bodies of a mesh: tetrahedra that are connected through nodes.

/// Returns the body of each node and the number of bodies. Bodies are numbered in the order of their first
/// nodes. A node without a tetrahedron is a body.
///
/// *Cost*: almost linear, by union-find with path halving. *Reference* Tarjan & van Leeuwen 1984, "Worst-case
/// analysis of set union algorithms".
pub(crate) fn bodies(nodes: usize, tetrahedra: &[[u32; 4]]) -> (Vec<u32>, usize) {
    let mut parent: Vec<u32> = (0..nodes as u32).collect();
    for t in tetrahedra {
        for &node in &t[1..] {
            let (a, b) = (root(&mut parent, t[0]), root(&mut parent, node));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut count = 0;
    let mut body = vec![0; nodes];
    for node in 0..nodes as u32 {
        // The root of a body is its first node, which is numbered already.
        let root = root(&mut parent, node);
        if root == node {
            body[node as usize] = count;
            count += 1;
        } else {
            body[node as usize] = body[root as usize];
        }
    }
    (body, count as usize)
}

fn root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        let above = parent[parent[node as usize] as usize];
        parent[node as usize] = above;
        node = above;
    }
    node
}
