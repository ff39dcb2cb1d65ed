//! A problem of the gallery whose nodes are shuffled and scaled: what a name or an order of the file could tell is gone.

use coarsen::problems::{Options, Problem, random_vector};
use coarsen::sparse::matrix_market::{self, Symmetry};
use coarsen::sparse::{Bsr, Permutation};

use crate::common::Folder;

/// P D A D Pᵀ: D multiplies all unknowns of a node by a power of 10 from 10⁻² to 10², P shuffles the nodes.
pub(crate) fn scrambled(a: &Bsr<f64>, seed: u64) -> Bsr<f64> {
    let (pattern, block, mut values) = a.clone().into_parts();
    let scales: Vec<f64> = random_vector(pattern.rows(), seed)
        .iter()
        .map(|v| 10.0_f64.powi(v.clamp(-2.0, 2.0).round() as i32))
        .collect();
    let size = block.0 * block.1;
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let factor = scales[i] * scales[pattern.indices()[k] as usize];
            values[k * size..(k + 1) * size].iter_mut().for_each(|v| *v *= factor);
        }
    }
    let keys = random_vector(pattern.rows(), seed + 1);
    let mut order: Vec<u32> = (0..pattern.rows() as u32).collect();
    order.sort_by(|&i, &j| keys[i as usize].total_cmp(&keys[j as usize]));
    let order = Permutation::new(order).unwrap();
    Bsr::new(pattern, block, values).unwrap().permute(&order).unwrap()
}

/// The scrambled matrix of a problem, alone in a file.
pub(crate) fn file(folder: &Folder, spec: &str) -> String {
    let a = scrambled(&Problem::parse(spec, &Options::default()).unwrap().matrix, 11);
    let path = folder.path("scrambled.mtx");
    matrix_market::write(&path, &a, Symmetry::Detect).unwrap();
    path.display().to_string()
}

#[test]
fn scrambling_keeps_the_signs_of_the_eigenvalues_and_the_sparsity() {
    let a = Problem::parse("poisson2d:7", &Options::default()).unwrap().matrix;
    let b = scrambled(&a, 3);
    assert_eq!(a.nnz(), b.nnz());
    assert_ne!(a.pattern().indices(), b.pattern().indices());
    let scaled = |a: &Bsr<f64>, i: usize, j: usize| a.get(i, j) / (a.get(i, i) * a.get(j, j)).sqrt();
    let sum = |a: &Bsr<f64>| {
        (0..49).flat_map(|i| (0..49).map(move |j| (i, j))).map(|(i, j)| scaled(a, i, j)).sum::<f64>()
    };
    assert!((sum(&a) - sum(&b)).abs() < 1e-10);
}
