//! Properties of real matrices: the block size (the number of unknowns per node, 1 for scalar problems) and
//! the rigid-body modes of a bar.

use coarsen_matrix_market as matrix_market;
use coarsen_sparse::{NearKernel, Permutation, Zeros, detect_block_size};

/// Dropped zeros leave the 3x3 blocks of `hypre_beam_tet_2475` 83 % full and those of `pyamg_bar` 70 % full.
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
    let Some(root) = crate::data::data() else { return };
    for (name, expected) in KNOWN {
        let a = matrix_market::read(root.join(format!("matrices/{name}.mtx.gz"))).unwrap();
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

/// A real clamped bar with its rigid-body modes. The free rows annihilate these modes, but not wrong modes.
#[test]
fn a_real_bar_knows_its_modes() {
    let Some(folder) = crate::data::data() else { return };
    let file = |name: &str| folder.join(format!("matrices/pyamg_bar{name}.mtx.gz"));
    let a = matrix_market::read(file("")).unwrap();
    let modes = matrix_market::read_dense(file("_nullspace")).unwrap();
    let free = |column: &[f64]| {
        let b = NearKernel::from_columns(&[column]).unwrap();
        b.quality(&a).unwrap()[0].free.unwrap()
    };
    for j in 0..modes.columns() {
        assert!(free(modes.column(j)) < 1e-12, "mode {j}: {}", free(modes.column(j)));
        if j >= 3 {
            let wrong: Vec<f64> = modes.column(j).iter().map(|v| v.abs()).collect();
            assert!(free(&wrong) > 1e-2, "mode {j}: {}", free(&wrong));
        }
    }
}

/// Elasticity by node with rigid modes by component, and the same matrix by component with modes of coordinates by node.
#[test]
fn the_order_by_component_is_recognised() {
    let Some(folder) = crate::data::data() else { return };
    let file = |name: &str| folder.join(format!("cases/17-{name}.mtx"));
    let matrix = |name| matrix_market::read(file(name)).unwrap();
    let (by_node, by_component) = (matrix("elastic"), matrix("by-component"));
    let xyz = matrix_market::read_dense(file("xyz")).unwrap();
    let points: Vec<[f64; 3]> = (0..xyz.rows()).map(|i| [0, 1, 2].map(|a| xyz.column(a)[i])).collect();
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let given = matrix_market::read_dense(file("nk_by_component")).unwrap();
    let columns: Vec<&[f64]> = (0..given.columns()).map(|j| given.column(j)).collect();
    let given = NearKernel::from_columns(&columns).unwrap();

    assert_eq!(modes.by_component(&by_node).unwrap(), None);
    assert_eq!(given.by_component(&by_component).unwrap(), None);
    let near_kernel = given.by_component(&by_node).unwrap().unwrap();
    let whole = modes.by_component(&by_component).unwrap().unwrap();
    println!("{near_kernel}\n{whole}");
    assert_eq!((near_kernel.matrix, near_kernel.components), (false, 3));
    assert_eq!((whole.matrix, whole.components), (true, 3));
    assert!([&near_kernel, &whole].iter().all(|found| found.after < 1e-6 && found.before > 0.1));
    let ordered = given.permuted(&near_kernel.to_nodes).unwrap();
    assert_eq!(ordered.by_component(&by_node).unwrap(), None);
    let ordered = by_component.permute(&whole.to_nodes).unwrap();
    assert_eq!(modes.by_component(&ordered).unwrap(), None);
}
