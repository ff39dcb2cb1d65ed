//! Parts of a problem have the bits of the whole.

use coarsen_core::{SplitMix64, parallel};
use coarsen_problems::{Options, Part, Parts, Problem, ProblemError, random_rows, random_vector};

const SPECS: [&str; 13] = [
    "poisson2d:1",
    "poisson2d:13",
    "poisson3d:6",
    "anisotropic2d:13",
    "jump3d:8",
    "elasticity3d:1",
    "elasticity3d:4",
    "elasticity3d:5",
    "cloth:3",
    "cloth:11",
    "pinned:7",
    "softbody:3",
    "graph:400",
];

fn options(spec: &str) -> Options {
    let jump = (spec == "elasticity3d:5").then_some(1e4);
    let dt = matches!(spec, "cloth:11" | "softbody:3").then_some(0.01);
    Options { dt, jump, share: None }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn same(whole: &Problem, part: &Part, nodes: &[u32]) {
    let (name, a) = (&whole.name, &whole.matrix);
    assert_eq!(part.matrix.pattern().columns(), a.pattern().columns(), "{name}");
    assert_eq!((part.matrix.pattern().rows(), part.matrix.block()), (nodes.len(), a.block()), "{name}");
    let size = a.block().0 * whole.near_kernel.vectors();
    for (k, node) in nodes.iter().map(|&node| node as usize).enumerate() {
        let of_whole: Vec<_> = a.row(node).map(|(j, block)| (j, bits(block))).collect();
        let of_part: Vec<_> = part.matrix.row(k).map(|(j, block)| (j, bits(block))).collect();
        assert_eq!(of_whole, of_part, "{name}: row {node}");
        assert_eq!(bits(&whole.positions[node]), bits(&part.positions[k]), "{name}: node {node}");
        let of = |all: &[f64], i: usize| bits(&all[i * size..(i + 1) * size]);
        let [expected, found] = [of(whole.near_kernel.values(), node), of(part.near_kernel.values(), k)];
        assert_eq!(expected, found, "{name}: near-kernel at node {node}");
    }
    assert_eq!(part.near_kernel.vectors(), whole.near_kernel.vectors(), "{name}");
}

/// The name `softbody:FILE` of a slab of two by two cubes of six tetrahedra, of which some are inverted.
fn slab() -> String {
    let file =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("slab_{}.mesh", std::process::id()));
    let mut text = String::from("MeshVersionFormatted 2\nDimension 3\nVertices\n18\n");
    let number = |x: usize, y: usize, z: usize| 6 * x + 2 * y + z;
    for (x, y, z) in (0..18).map(|i| (i / 6, i / 2 % 3, i % 2)) {
        let bump = 0.07 * ((5 * number(x, y, z)) % 7) as f64; // no two tetrahedra alike
        text += &format!("{} {} {} 0\n", x as f64 + bump, y as f64 - bump, z as f64 + 0.5 * bump);
    }
    text += "Tetrahedra\n24\n";
    for (x, y) in [(1, 1), (0, 1), (1, 0), (0, 0)] {
        for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            let mut at = [x, y, 0];
            text += &format!("{} ", 1 + number(at[0], at[1], at[2]));
            for axis in axes {
                at[axis] += 1;
                text += &format!("{} ", 1 + number(at[0], at[1], at[2]));
            }
            text += "0\n";
        }
    }
    std::fs::write(&file, text + "End\n").unwrap();
    format!("softbody:{}", file.display())
}

/// Consecutive nodes, no node, and some nodes in any order.
#[test]
fn parts_have_the_bits_of_the_whole() {
    let folded = crate::invariants::folded(4);
    let files = [format!("{folded}@1"), format!("{folded}@2@1.5"), slab()];
    for spec in SPECS.into_iter().chain(files.iter().map(String::as_str)) {
        let whole = Problem::parse(spec, &options(spec)).unwrap();
        let parts = Parts::parse(spec, &options(spec)).unwrap();
        let n = whole.positions.len();
        assert_eq!((parts.name(), parts.nodes()), (whole.name.clone(), n));
        assert_eq!(parts.block(), whole.matrix.block().0);
        assert_eq!(bits(parts.positions().as_flattened()), bits(whole.positions.as_flattened()));
        assert_eq!(parts.is_constrained(), whole.constraints.is_some());
        let mut random = SplitMix64::new(17);
        let mut below = |n: usize| (random.bits() % n as u64) as u32;
        // As many nodes as the system has, and not all of them in their order.
        let reverse: Vec<u32> = (0..n as u32).rev().collect();
        let twice: Vec<u32> = (0..n as u32).map(|i| i / 2).collect();
        for nodes in [reverse, twice] {
            same(&whole, &parts.part(&nodes).unwrap(), &nodes);
        }
        for _ in 0..12 {
            let (first, end) = (below(n + 1), below(n + 1));
            let consecutive: Vec<u32> = (first.min(end)..first.max(end)).collect();
            let scattered: Vec<u32> = (0..n / 5).map(|_| below(n)).collect();
            for nodes in [consecutive, scattered] {
                same(&whole, &parts.part(&nodes).unwrap(), &nodes);
                let (b, all) = (parts.block(), random_vector(n * parts.block(), 5));
                let rows = nodes.iter().flat_map(|&i| &all[i as usize * b..(i as usize + 1) * b]);
                assert!(random_rows(&nodes, b, 5).iter().eq(rows), "{spec}");
            }
        }
        same(&whole, &parts.part(&[]).unwrap(), &[]);
        assert_eq!(parts.part(&[0, n as u32]).unwrap_err(), ProblemError::Node { found: n as u32, nodes: n });
    }
}

/// More than one task of block rows.
#[test]
fn threads_do_not_change_the_bits_of_parts() {
    for spec in ["cloth:70", "elasticity3d:15", "softbody:15"] {
        let nodes: Vec<u32> = (100..3300).collect();
        let make = || Parts::parse(spec, &Options::default()).unwrap().part(&nodes).unwrap();
        let one = parallel::threads(1, make).unwrap();
        let two = parallel::threads(2, make).unwrap();
        assert!(one.matrix == two.matrix && one.near_kernel == two.near_kernel, "{spec}");
    }
}
