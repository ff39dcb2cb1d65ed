//! Coarse matrices Pᵀ A P.

use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_sparse::{
    Bsr, GalerkinLists, GalerkinPlan, Pattern, Prolongation, SparseError, assembly, multiply,
};

use crate::random;

const SIZES: [(usize, usize); 8] = [(1, 1), (3, 3), (3, 6), (6, 6), (3, 12), (12, 12), (2, 3), (6, 1)];

/// The matrix rounded to multiples of 1/16. Its products and sums are exact even in f32, fused or not.
fn exact(mut a: Bsr<f64>) -> Bsr<f64> {
    a.values_mut().iter_mut().for_each(|v| *v = (*v * 16.0).round() / 16.0);
    a
}

/// M + Mᵀ, so that (i, j) and (j, i) agree bit for bit.
fn symmetric(n: usize, b: usize, seed: u64) -> Bsr<f64> {
    let m = random::matrix(n, n, (b, b), 3, seed);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for half in [&m, &m.transpose().unwrap()] {
        for i in 0..n {
            for (j, block) in half.row(i) {
                places.push((i as u32, j as u32));
                values.extend_from_slice(block);
            }
        }
    }
    assembly::from_blocks((n, n), (b, b), &places, &values).unwrap()
}

#[test]
fn galerkin_product_equals_explicit_triple_product() {
    for (seed, (b, k)) in (1..).zip(SIZES) {
        let (a, p) = (
            exact(random::matrix(30, 30, (b, b), 4, seed)),
            exact(random::matrix(30, 9, (b, k), 2, seed + 9)),
        );
        let mut plan = GalerkinPlan::new(&a, &p).unwrap();
        let coarse = plan.build(&a, &p).unwrap();
        let explicit = multiply(&p.transpose().unwrap(), &multiply(&a, &p).unwrap()).unwrap();
        assert_eq!(coarse, explicit, "{b} {k}");
        let (a32, p32) = (a.to::<f32>(), p.to::<f32>());
        let in_f32 = GalerkinPlan::new(&a32, &p32).unwrap().build(&a32, &p32).unwrap();
        assert_eq!(in_f32.to::<f64>(), coarse, "{b} {k} in f32");
        let dense = |i: usize, j: usize| {
            let column = |l: usize| (0..30 * b).map(|m| a.get(l, m) * p.get(m, j)).sum::<f64>();
            (0..30 * b).filter(|&l| p.get(l, i) != 0.0).map(|l| p.get(l, i) * column(l)).sum::<f64>()
        };
        for (i, j) in [(0, 0), (k, 2 * k), (9 * k - 1, 3 * k), (4 * k, 9 * k - 1)] {
            assert!((coarse.get(i, j) - dense(i, j)).abs() < 1e-12, "{b} {k}");
        }
    }
}

/// With random numbers of coarse nodes, every task needs rows from all of A: there are then fewer tasks. If every fine
/// node has several of them, positions would take more bytes than A, and updates keep none.
#[test]
fn tasks_take_less_memory_than_the_matrix() {
    let (n, coarse) = (40_000_u32, 10_000_u32);
    let near = (0..n).flat_map(|i| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j, 1.0)));
    let a = assembly::from_triplets(n as usize, n as usize, &near.collect::<Vec<_>>()).unwrap();
    // The bytes before the build, after it, and after an update.
    let of = |each: u32, column: &dyn Fn(u32) -> u32| {
        let columns = |i| (0..each).map(move |c| (column(i) + 2503 * c) % coarse);
        let entries: Vec<_> = (0..n).flat_map(|i| columns(i).map(move |column| (i, column, 1.0))).collect();
        let p = assembly::from_triplets(n as usize, coarse as usize, &entries).unwrap();
        let scratch = |threads| {
            parallel::threads(threads, || {
                let mut plan = GalerkinPlan::new(&a, &p).unwrap();
                let bytes = |plan: &GalerkinPlan<f64>| plan.bytes() - plan.transpose().bytes();
                let new = bytes(&plan);
                let product = plan.build(&a, &p).unwrap();
                let built = bytes(&plan);
                let mut updated = Bsr::zeros(product.pattern().clone(), (1, 1)).unwrap();
                plan.update(&a, &p, &mut updated).unwrap();
                assert_eq!(updated, product);
                ([new, built, bytes(&plan)], product)
            })
            .unwrap()
        };
        let ((_, one), (bytes, many)) = (scratch(1), scratch(16));
        assert_eq!(one, many);
        bytes
    };
    let random = |i: u32| i.wrapping_mul(2_654_435_761) % coarse;
    let ([together, _, positions], [scattered, _, of_scattered]) = (of(1, &|i| i / 4), of(1, &random));
    assert!(scattered <= a.bytes(), "{scattered} of {}", a.bytes());
    // More than eight tasks, each with 4 bytes per coarse row, and the table of each row.
    assert!(together > (8 * 4 + 16) * coarse as usize, "{together}: as many tasks as there is work");
    // 4 bytes per row, and one for each product: three of A P, and up to three of Pᵀ Q.
    for bytes in [positions, of_scattered] {
        assert!((6 * n as usize..11 * n as usize).contains(&bytes), "positions of {bytes} bytes");
    }
    let [_, built, updated] = of(4, &random);
    assert_eq!(updated, built, "look-ups as in the build");
}

/// Coarse rows of scalars with one entry, with a few, and with all: their tables grow while they are summed.
#[test]
fn rows_of_any_length_are_summed() {
    let (n, coarse) = (600_u32, 150_u32);
    let dense_row = (1..n).flat_map(|i| [(0, i, -1.0), (i, 0, -1.0)]);
    let near = (1..n - 1).flat_map(|i| [(i, i + 1, 0.5), (i + 1, i, 0.5)]);
    let all: Vec<_> = dense_row.chain(near).chain((0..n).map(|i| (i, i, 4.0))).collect();
    let a = assembly::from_triplets(n as usize, n as usize, &all).unwrap();
    let wide: Vec<_> = (0..n).flat_map(|i| [(i, i / 4, 1.0), (i, (i * 7 + 3) % coarse, 0.25)]).collect();
    let p = assembly::from_triplets(n as usize, coarse as usize, &wide).unwrap();
    let mut plan = GalerkinPlan::new(&a, &p).unwrap();
    let mut product = plan.build(&a, &p).unwrap();
    let expected = multiply(&p.transpose().unwrap(), &multiply(&a, &p).unwrap()).unwrap();
    assert_eq!(product, expected);
    // The first update replaces the tables by positions.
    plan.update(&a, &p, &mut product).unwrap();
    assert_eq!(product, expected);
    let bytes = plan.bytes();
    plan.update(&a, &p, &mut product).unwrap();
    assert_eq!((&product, plan.bytes()), (&expected, bytes));
    assert_eq!(plan.build(&a, &p).unwrap(), expected);
}

/// Positions in rows of up to 256 blocks take one byte, in longer ones two and then four.
#[test]
fn updates_sum_rows_of_any_length() {
    let star = |n: u32, block: (usize, usize)| {
        let places: Vec<_> = (1..n).flat_map(|i| [(0, i), (i, 0)]).chain((0..n).map(|i| (i, i))).collect();
        let values = random::vector(places.len() * block.0 * block.1, 5);
        exact(assembly::from_blocks((n as usize, n as usize), block, &places, &values).unwrap())
    };
    for (n, (b, k)) in
        [(256, (1, 1)), (257, (1, 1)), (70_000, (1, 1)), (256, (3, 6)), (300, (3, 6)), (300, (2, 2))]
    {
        let a = star(n, (b, b));
        let each: Vec<_> = (0..n).map(|i| (i, (i * 11 + 1) % n)).collect();
        let values = random::vector(n as usize * b * k, 6);
        let p = exact(assembly::from_blocks((n as usize, n as usize), (b, k), &each, &values).unwrap());
        let mut plan = GalerkinPlan::new(&a, &p).unwrap();
        let built = plan.build(&a, &p).unwrap();
        let mut updated = built.clone();
        for _ in 0..2 {
            updated.values_mut().fill(f64::NAN); // old values have no effect
            plan.update(&a, &p, &mut updated).unwrap();
            assert_eq!(updated, built, "{n} {b} {k}");
        }
        let once = plan.build(&a, &p).unwrap();
        assert_eq!(once, built, "a build after updates, {n} {b} {k}");
    }
}

/// Several coarse nodes for each fine node, and values whose sums depend on the order. With few coarse nodes updates
/// use positions; with many, where positions would take more bytes than A, they use look-ups as the build.
#[test]
fn update_equals_rebuild_bit_for_bit() {
    let sizes = [(1, 1), (3, 3), (3, 6), (6, 6), (3, 12), (12, 12), (2, 3)].map(|size| (size, 3));
    let dense = [(1, 1), (3, 3), (3, 6), (2, 3)].map(|size| (size, 60));
    for (seed, ((b, k), each)) in (1..).zip(sizes.into_iter().chain(dense)) {
        let (mut a, p) =
            (random::matrix(40, 40, (b, b), 4, seed), random::matrix(40, 40, (b, k), each, seed + 50));
        let mut plan = GalerkinPlan::new(&a, &p).unwrap();
        let mut updated = plan.build(&a, &p).unwrap();
        let built = plan.bytes();
        a.values_mut().iter_mut().zip(random::vector(9, seed).iter().cycle()).for_each(|(v, f)| *v *= f);
        let rebuilt = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
        for _ in 0..2 {
            updated.values_mut().fill(f64::NAN); // old values have no effect
            plan.update(&a, &p, &mut updated).unwrap();
            assert_eq!(updated, rebuilt, "{b} {k} {each}");
        }
        assert_eq!(plan.bytes() == built, each == 60, "{b} {k} {each}: positions or look-ups");
        assert_eq!(plan.build(&a, &p).unwrap(), rebuilt, "a build after updates, {b} {k} {each}");
    }
}

/// The first row that is summed is that of a node coupled to all: the tables of the others stay small.
#[test]
fn memory_does_not_depend_on_the_longest_row() {
    let (n, coarse) = (20_000_u32, 5_000_u32);
    let dense_row = (1..n).flat_map(|i| [(0, i, -1.0), (i, 0, -1.0)]);
    let all: Vec<_> = dense_row.chain((0..n).map(|i| (i, i, 4.0))).collect();
    let a = assembly::from_triplets(n as usize, n as usize, &all).unwrap();
    let groups: Vec<_> = (0..n).map(|i| (i, i * coarse / n, 1.0)).collect();
    let p = assembly::from_triplets(n as usize, coarse as usize, &groups).unwrap();
    let plan = parallel::threads(1, || {
        let mut plan = GalerkinPlan::new(&a, &p).unwrap();
        plan.build(&a, &p).unwrap();
        plan
    })
    .unwrap();
    assert!(plan.bytes() < 4 * a.bytes(), "{} beside {}", plan.bytes(), a.bytes());
}

#[test]
fn empty_rows_and_columns_are_nothing() {
    for (b, k) in SIZES {
        let empty =
            Bsr::<f64>::zeros(Arc::new(Pattern::new(4, vec![0; 5], vec![]).unwrap()), (b, b)).unwrap();
        let full = Arc::new(Pattern::new(2, vec![0, 2, 4, 6, 8], [0, 1].repeat(4)).unwrap());
        let p = Bsr::new(full, (b, k), vec![1.0; 8 * b * k]).unwrap();
        let mut plan = GalerkinPlan::new(&empty, &p).unwrap();
        let mut coarse = plan.build(&empty, &p).unwrap();
        assert_eq!(coarse.nnz(), 0);
        plan.update(&empty, &p, &mut coarse).unwrap();
        // Half of the rows of P are empty, and so is every other column.
        let a = exact(random::matrix(12, 12, (b, b), 4, 5));
        let offsets = (0..=12).map(|i: usize| i.div_ceil(2)).collect();
        let few = Arc::new(Pattern::new(6, offsets, (0..6).map(|i| i / 2 * 2).collect()).unwrap());
        let p = exact(Bsr::new(few, (b, k), random::vector(6 * b * k, 7)).unwrap());
        let coarse = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
        assert_eq!(coarse, multiply(&p.transpose().unwrap(), &multiply(&a, &p).unwrap()).unwrap(), "{b} {k}");
    }
}

#[test]
fn symmetric_matrices_stay_symmetric_to_round_off() {
    for (seed, (b, k)) in (1..).zip(SIZES) {
        let (a, p) = (symmetric(40, b, seed), random::matrix(40, 12, (b, k), 3, seed + 9));
        let coarse = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
        let n = coarse.shape().0;
        let largest = coarse.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        for i in 0..n {
            for j in 0..i {
                let gap = (coarse.get(i, j) - coarse.get(j, i)).abs();
                assert!(gap <= 1e-13 * largest, "{b} {k}: {gap:e} of {largest:e}");
            }
        }
    }
}

#[test]
fn refill_equals_rebuild_bit_for_bit() {
    let (mut a, p) = (symmetric(60, 3, 1), random::matrix(60, 15, (3, 6), 2, 2));
    let mut plan = GalerkinPlan::new(&a, &p).unwrap();
    let first = plan.build(&a, &p).unwrap();
    let mut coarse = first.clone();
    plan.update(&a, &p, &mut coarse).unwrap();
    assert_eq!(coarse, first);
    a.values_mut().iter_mut().for_each(|v| *v *= -4.0);
    plan.update(&a, &p, &mut coarse).unwrap();
    assert!(coarse.values().iter().zip(first.values()).all(|(c, f)| *c == -4.0 * f));
    assert_eq!(coarse, GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap());
}

/// Other sizes differ in the kernel of a row.
#[test]
fn threads_do_not_change_bits() {
    bits_are_equal(&[(1, 1), (3, 6), (2, 3)], &[7]);
}

#[test]
#[ignore = "11 s: run by .ci/full"]
fn long_threads_do_not_change_bits() {
    bits_are_equal(&SIZES, &[2, 7]);
}

fn bits_are_equal(sizes: &[(usize, usize)], numbers: &[usize]) {
    for &(b, k) in sizes {
        let (a, p) =
            (random::matrix(24_000, 24_000, (b, b), 3, 3), random::matrix(24_000, 900, (b, k), 2, 4));
        let run = || {
            let mut plan = GalerkinPlan::new(&a, &p).unwrap();
            let bytes = plan.bytes();
            let built = plan.build(&a, &p).unwrap();
            let mut updated = Bsr::zeros(built.pattern().clone(), built.block()).unwrap();
            plan.update(&a, &p, &mut updated).unwrap();
            assert_eq!(built, updated, "{b} {k}");
            (built, bytes)
        };
        let (one, alone) = parallel::threads(1, run).unwrap();
        for &n in numbers {
            let (many, bytes) = parallel::threads(n, run).unwrap();
            assert!(bytes > alone, "{b} {k}: one task for {n} threads"); // each task has its own scratch
            assert_eq!(one, many, "{b} {k}");
        }
    }
}

#[test]
fn other_patterns_and_shapes_are_refused() {
    let (a, other) = (random::matrix(8, 8, (2, 2), 2, 1), random::matrix(8, 8, (2, 2), 2, 2));
    let p = random::matrix(8, 3, (2, 3), 1, 3);
    let mut plan = GalerkinPlan::new(&a, &p).unwrap();
    let mut coarse = plan.build(&a, &p).unwrap();
    let before = coarse.clone();
    assert!(matches!(plan.update(&other, &p, &mut coarse), Err(SparseError::Pattern { .. })));
    let mut narrow = Bsr::zeros(coarse.pattern().clone(), (1, 1)).unwrap();
    assert!(matches!(plan.update(&a, &p, &mut narrow), Err(SparseError::Shape { .. })));
    assert_eq!(coarse, before);
    for p in [random::matrix(7, 3, (2, 3), 1, 3), random::matrix(8, 3, (3, 3), 1, 3)] {
        assert!(matches!(GalerkinPlan::new(&a, &p), Err(SparseError::Shape { .. })));
    }
}

#[test]
fn bytes_are_those_of_all_parts() {
    let (a, p) = (random::matrix(30, 30, (3, 3), 4, 1), random::matrix(30, 9, (3, 3), 2, 2));
    let plan = GalerkinPlan::new(&a, &p).unwrap();
    let (restriction, source) = (plan.transpose().pattern(), plan.transpose().source());
    // Pᵀ, and the block of P for each of its blocks.
    let lists = 8 * (restriction.rows() + 1) + 4 * restriction.len() + 4 * source.len();
    let fine = restriction.indices();
    let reach = (fine.iter().max().unwrap() - fine.iter().min().unwrap() + 1) as usize;
    // One task: 8 bytes per coarse row, 12 per row of A P. The rows are still empty before the first product.
    assert_eq!(plan.bytes(), lists + 8 * 9 + 12 * reach);
}

/// Q = A P and A_c = Pᵀ Q, computed from the lists, equal the products computed by plain loops.
#[test]
fn lists_make_the_products() {
    for (seed, (b, k)) in (1..).zip([(1, 1), (3, 3), (3, 6), (2, 3)]) {
        let (a, p) = (
            exact(random::matrix(30, 30, (b, b), 4, seed)),
            exact(random::matrix(30, 9, (b, k), 2, seed + 9)),
        );
        let lists = GalerkinLists::new(a.pattern(), p.pattern()).unwrap();
        let (q, coarse) =
            (multiply(&a, &p).unwrap(), GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap());
        assert_eq!(lists.coarse, **coarse.pattern());
        assert_eq!((lists.right.count(), lists.left.count()), (q.pattern().len(), coarse.pattern().len()));
        for block in 0..lists.right.count() {
            let mut sum = vec![0.0; b * k];
            for &[l, r] in lists.right.of(block) {
                let (l, r) = (a.value(l as usize), p.value(r as usize));
                (0..b * k)
                    .for_each(|e| sum[e] += (0..b).map(|m| l[e / k * b + m] * r[m * k + e % k]).sum::<f64>());
            }
            assert_eq!(sum, q.value(block), "block {block} of A P");
        }
        for block in 0..lists.left.count() {
            let mut sum = vec![0.0; k * k];
            for &[l, r] in lists.left.of(block) {
                let (l, r) = (p.value(l as usize), q.value(r as usize));
                (0..k * k)
                    .for_each(|e| sum[e] += (0..b).map(|m| l[m * k + e / k] * r[m * k + e % k]).sum::<f64>());
            }
            assert_eq!(sum, coarse.value(block), "block {block} of the coarse matrix");
        }
    }
    let (a, p) = (random::matrix(8, 8, (1, 1), 2, 1), random::matrix(7, 3, (1, 1), 1, 3));
    assert!(matches!(GalerkinLists::new(a.pattern(), p.pattern()), Err(SparseError::Shape { .. })));
}

/// Weights for which every fine node but the fifth has one coarse node, in no order.
fn piecewise(a: &Bsr<f64>, coarse: usize, m: usize, seed: u64) -> Bsr<f64> {
    let values = exact(random::matrix(a.pattern().rows(), 1, (1, m), 1, seed));
    let nodes = (0..a.pattern().rows() as u32).filter(|&i| i != 4);
    let places: Vec<(u32, u32)> = nodes.map(|i| (i, (7 * i + i / 5) % coarse as u32)).collect();
    let rows: Vec<f64> = places
        .iter()
        .flat_map(|&(i, _)| (0..m).map(move |k| (i as usize, k)))
        .map(|(i, k)| values.get(i, k))
        .collect();
    assembly::from_blocks((a.pattern().rows(), coarse), (1, m), &places, &rows).unwrap()
}

/// One coarse node for each fine node, in tasks that have coarse nodes of any number.
#[test]
fn threads_do_not_change_bits_of_piecewise_products() {
    for (d, m) in [(3, 4), (12, 1)] {
        let a = random::matrix(9000, 9000, (d, d), 3, 5);
        let w = piecewise(&a, 300, m, 6);
        let p = match m {
            1 => Prolongation::identities(w.pattern().clone(), d).unwrap(),
            _ => Prolongation::weights(w, d).unwrap(),
        };
        let run = || {
            let mut plan = GalerkinPlan::new(&a, &p).unwrap();
            let built = plan.build(&a, &p).unwrap();
            let mut updated = Bsr::zeros(built.pattern().clone(), built.block()).unwrap();
            updated.values_mut().fill(f64::NAN); // old values have no effect
            plan.update(&a, &p, &mut updated).unwrap();
            assert_eq!(built, updated, "{d} {m}");
            built
        };
        crate::same_bits(run);
    }
}

#[test]
fn weights_and_identities_make_the_matrix_of_their_blocks() {
    let sizes = [(1, 1), (2, 1), (3, 1), (2, 3), (3, 4), (12, 1), (4, 2), (5, 1)];
    // Two coarse nodes for each fine node, then at most one.
    for (seed, ((d, m), each)) in (1..).zip(sizes.into_iter().flat_map(|size| [(size, 2), (size, 1)])) {
        let a = exact(random::matrix(30, 30, (d, d), 4, seed));
        let w = match each {
            1 => piecewise(&a, 9, m, seed),
            _ => exact(random::matrix(30, 9, (1, m), each, seed + 9)),
        };
        let mut kinds = vec![Prolongation::weights(w.clone(), d).unwrap()];
        if m == 1 {
            kinds.push(Prolongation::identities(w.pattern().clone(), d).unwrap());
        }
        for p in kinds {
            let whole = p.to_matrix().unwrap().into_owned();
            let expected = GalerkinPlan::new(&a, &whole).unwrap().build(&a, &whole).unwrap();
            let mut plan = GalerkinPlan::new(&a, &p).unwrap();
            let mut found = plan.build(&a, &p).unwrap();
            assert_eq!(found, expected, "{d}, {m}");
            let other = exact(random::matrix(30, 30, (d, d), 4, seed)); // of the same pattern
            let twice =
                Bsr::new(a.pattern().clone(), (d, d), other.values().iter().map(|v| 2.0 * v).collect());
            plan.update(&twice.unwrap(), &p, &mut found).unwrap();
            assert!(found.values().iter().zip(expected.values()).all(|(f, e)| *f == 2.0 * e), "{d}, {m}");
        }
    }
}

/// The blocks of skinning, (X_i X_jᵀ) ⊗ A_ij, for two fine nodes and one coarse node.
#[test]
fn affine_weights_add_outer_products_of_positions() {
    let a = exact(random::matrix(2, 2, (3, 3), 2, 3));
    let x = [[0.5, 1.0, -2.0, 1.0], [3.0, 0.25, 1.5, 1.0]];
    let w = assembly::from_blocks((2, 1), (1, 4), &[(0, 0), (1, 0)], &x.concat()).unwrap();
    let p = Prolongation::weights(w, 3).unwrap();
    let coarse = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
    for (row, column) in (0..12).flat_map(|r| (0..12).map(move |c| (r, c))) {
        let pairs = (0..2).flat_map(|i| (0..2).map(move |j| (i, j)));
        let entry = |(i, j): (usize, usize)| {
            x[i][row / 3] * x[j][column / 3] * a.get(3 * i + row % 3, 3 * j + column % 3)
        };
        assert_eq!(coarse.get(row, column), pairs.map(entry).sum::<f64>());
    }
}

#[test]
fn the_first_misfit_is_named() {
    let (a, p) = (random::matrix(8, 8, (2, 2), 2, 1), random::matrix(8, 3, (2, 3), 1, 3));
    let mut plan = GalerkinPlan::new(&a, &p).unwrap();
    assert!(plan.build(&a, &p).is_ok());
    let (other, p_other) = (random::matrix(8, 8, (2, 2), 2, 2), random::matrix(8, 3, (2, 3), 1, 4));
    for (a, p, what) in [
        (&a, &p_other, "P, given to a GalerkinPlan,"),
        (&other, &p, "A, given to a GalerkinPlan,"),
        (&other, &p_other, "A, given to a GalerkinPlan,"),
    ] {
        assert_eq!(plan.build(a, p), Err(SparseError::Pattern { what }));
    }
    let found = GalerkinPlan::new(&a, &random::matrix(7, 3, (3, 3), 1, 3)).unwrap_err();
    let what = "Galerkin product, block rows of P";
    assert_eq!(found, SparseError::Shape { what, expected: 8, found: 7 });
    let found = GalerkinPlan::new(&a, &random::matrix(8, 3, (3, 3), 1, 3)).unwrap_err();
    let what = "Galerkin product, rows of a block of P";
    assert_eq!(found, SparseError::Shape { what, expected: 2, found: 3 });
    // An equal pattern fits, even if it is another object.
    let copy = Bsr::new(Arc::new((**a.pattern()).clone()), (2, 2), a.values().to_vec()).unwrap();
    assert!(plan.build(&copy, &p).is_ok());
}
