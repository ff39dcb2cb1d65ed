//! Block sizes of real matrices: what their makers put into a node, or 1 for scalar problems.

use std::path::Path;

use coarsen_sparse::{Permutation, Zeros, detect_block_size, matrix_market};

/// Dropped zeros leave the 3x3 blocks of `hypre_beam_tet_2475` 83 % full, those of `pyamg_bar` 70 %.
const KNOWN: [(&str, usize); 12] = [
    ("1138_bus", 1),
    ("bcsstk14", 6),
    ("ccx_bimetal", 3),
    ("ccx_segmenttet", 3),
    ("fv3", 1),
    ("gr_30_30", 1),
    ("hypre_beam_hex_459", 3),
    ("hypre_beam_tet_2475", 3),
    ("ipc_bunny_free_stiff", 3),
    ("jl_lin_elastic_2d", 2),
    ("pyamg_bar", 3),
    ("wathenSmall", 1),
];

#[test]
fn real_matrices_show_their_nodes() {
    let Ok(root) = std::env::var("COARSEN_DATA") else {
        eprintln!("skipped: COARSEN_DATA names no folder of test data");
        return;
    };
    for (name, expected) in KNOWN {
        let a = matrix_market::read(Path::new(&root).join(format!("matrices/{name}.mtx.gz"))).unwrap();
        let a = a.reblock((1, 1), Zeros::Drop).unwrap();
        let b = detect_block_size(a.pattern());
        assert_eq!(b, expected, "{name}");

        let blocks = a.reblock((b, b), Zeros::Keep).unwrap();
        assert_eq!(blocks.reblock((1, 1), Zeros::Drop).unwrap(), a, "{name}");
        assert_eq!(blocks.transpose().unwrap().transpose().unwrap(), blocks, "{name}");
        let reversed = Permutation::new((0..blocks.pattern().rows() as u32).rev().collect()).unwrap();
        assert_eq!(blocks.permute(&reversed).unwrap().permute(&reversed).unwrap(), blocks, "{name}");
    }
}
