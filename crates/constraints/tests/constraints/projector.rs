//! The properties of prefiltering, compared with dense algebra for random constraints of every kind and block
//! sizes 1, 2, 3 and 6.

use crate::dense::{Dense, dot, orthonormal};
use coarsen_constraints::{ConstraintError, Constraints, Prefilter, prefilter};
use coarsen_core::{LinearOperator, Real, parallel};
use coarsen_sparse::{Bsr, NearKernel, Pattern, System, assembly};
use proptest::prelude::*;

/// Pseudo-random numbers in [-1, 1).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (((self.next() + 1.0) / 2.0 * n as f64) as usize).min(n - 1)
    }

    pub(crate) fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// A graph Laplacian with full symmetric positive definite blocks on a ring with chords. The stiffness varies
/// by four orders of magnitude.
pub(crate) fn system(nodes: usize, b: usize, seed: u64) -> Bsr<f64> {
    let mut random = Numbers(seed);
    let mut entries = Vec::new();
    let edges: Vec<(usize, usize)> = (0..nodes)
        .flat_map(|i| [(i, (i + 1) % nodes), (i, (i + 4) % nodes)])
        .filter(|(i, j)| i != j)
        .collect();
    for (i, j) in edges {
        let v = random.vector(b);
        let stiffness = 100.0_f64.powf(random.next());
        for (r, c) in (0..b * b).map(|e| (e / b, e % b)) {
            let k = stiffness * (v[r] * v[c] + if r == c { 0.3 } else { 0.0 });
            for (p, q, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                entries.push(((p * b + r) as u32, (q * b + c) as u32, sign * k));
            }
        }
    }
    (0..nodes * b).for_each(|i| entries.push((i as u32, i as u32, 0.1)));
    assembly::from_triplets_blocked(nodes * b, nodes * b, (b, b), &entries).unwrap()
}

/// About `count` constraints of every kind that the block size allows, and an x that satisfies them.
pub(crate) fn constraints(nodes: usize, b: usize, count: usize, random: &mut Numbers) -> Constraints {
    let x = random.vector(nodes * b);
    let at = |i: usize| &x[i * b..(i + 1) * b];
    let mut c = Constraints::new(nodes, b).unwrap();
    for _ in 0..count {
        let (normal, other) = (random.vector(b), random.vector(b));
        let mut four = [0; 4];
        while (1..4).any(|k| four[..k].contains(&four[k])) {
            four = [0; 4].map(|_| random.below(nodes));
        }
        let [i, j, k, l] = four;
        let weights = [0.2, 0.3, 0.5];
        match random.below(6) {
            0 => c.point(i, at(i)).unwrap(),
            1 => c.line(i, &normal, at(i)).unwrap(),
            2 => c.plane(i, &normal, dot(&normal, at(i))).unwrap(),
            3 => {
                let face = |r: usize| (0..3).map(|m| weights[m] * at([j, k, l][m])[r]).sum::<f64>();
                let gap = (0..b).map(|r| normal[r] * (at(i)[r] - face(r))).sum();
                c.vertex_face(i, [j, k, l], weights, &normal, gap).unwrap();
            }
            4 => {
                let ends = |r: usize| 0.75 * at(i)[r] + 0.25 * at(j)[r] - 0.5 * at(k)[r] - 0.5 * at(l)[r];
                let gap = (0..b).map(|r| normal[r] * ends(r)).sum();
                c.edge_edge([i, j], [k, l], [0.25, 0.5], &normal, gap).unwrap();
            }
            _ => c.equation(&[(i, &normal), (j, &other)], dot(&normal, at(i)) + dot(&other, at(j))).unwrap(),
        }
    }
    c
}

/// A basis of the row space of C, from I − S applied to unit vectors (C itself is private). The longest remaining
/// column is next: a short one is a difference of nearly equal numbers, and its direction is not accurate.
fn complement(s: &impl LinearOperator<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = s.shape().0;
    let column = |i: usize| {
        let (mut e, mut y) = (vec![0.0; n], vec![0.0; n]);
        e[i] = 1.0;
        s.apply(&e, &mut y);
        e.iter().zip(&y).map(|(e, y)| e - y).collect::<Vec<f64>>()
    };
    let mut columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    let mut w: Vec<Vec<f64>> = Vec::new();
    while let Some(last) =
        columns.iter().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b))).filter(|c| dot(c, c) > 1e-18)
    {
        let next = orthonormal(&[w.as_slice(), std::slice::from_ref(last)].concat()).pop().unwrap();
        for column in &mut columns {
            let share = dot(column, &next);
            column.iter_mut().zip(&next).for_each(|(c, q)| *c -= share * q);
        }
        w.push(next);
    }
    w
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Ã = S A S + W diag(σ) Wᵀ has the solution of the eliminated system, and its condition number is no
    /// larger than that of A.
    #[test]
    fn the_filtered_system_is_the_eliminated_one(size in 0_usize..4, count in 0_usize..7, seed: u64) {
        let (nodes, b) = ([24, 14, 12, 7][size], [1, 2, 3, 6][size]);
        let n = nodes * b;
        let mut random = Numbers(seed);
        let (a, c) = (system(nodes, b, seed), constraints(nodes, b, count, &mut random));
        let mut filtered = prefilter(&a, &c).unwrap();
        let w = complement(filtered.projector());
        prop_assert_eq!(w.len(), filtered.projector().rank());
        let (da, df) = (Dense::of(&a), Dense::of(filtered.matrix()));
        let scale = da.v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let s = Dense::new(n, |i, j| f64::from(u8::from(i == j)) - w.iter().map(|q| q[i] * q[j]).sum::<f64>());
        let sas = s.times(&da).times(&s);
        let rest = Dense::new(n, |i, j| df.at(i, j) - sas.at(i, j));
        // Ã − S A S maps into the range of W, and Ã is symmetric up to round-off.
        let other = rest.times(&s);
        prop_assert!(other.v.iter().all(|v| v.abs() < 1e-12 * scale));
        prop_assert!((0..n * n).all(|e| (df.at(e / n, e % n) - df.at(e % n, e / n)).abs() < 1e-12 * scale));

        // The eliminated system: x = V u + z, Vᵀ A V u = Vᵀ (b − A z).
        let mut all = w.clone();
        all.extend((0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>()));
        let v = orthonormal(&all).split_off(w.len());
        let rhs = random.vector(n);
        let mut z = vec![0.0; n];
        filtered.projector().complete(&mut z);
        let mut az = vec![0.0; n];
        a.apply(&z, &mut az);
        let left: Vec<f64> = rhs.iter().zip(&az).map(|(b, az)| b - az).collect();
        let r = v.len();
        prop_assert_eq!(r + w.len(), n);
        let av: Vec<Vec<f64>> = v.iter().map(|v| { let mut y = vec![0.0; n]; a.apply(v, &mut y); y }).collect();
        let small = Dense::new(r, |i, j| dot(&v[i], &av[j]));
        let u = small.clone().solve(&v.iter().map(|v| dot(v, &left)).collect::<Vec<_>>());
        let mut expected = z.clone();
        v.iter().zip(&u).for_each(|(v, u)| expected.iter_mut().zip(v).for_each(|(x, v)| *x += u * v));

        let mut x = random.vector(n);
        filtered.solve(&rhs, &mut x, |_, c, y| *y = df.clone().solve(c)).unwrap();
        let largest = expected.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        prop_assert!(x.iter().zip(&expected).all(|(x, e)| (x - e).abs() < 1e-9 * largest), "{x:?} {expected:?}");

        let ((low, high), (least, most)) = (da.ends(), df.clone().ends());
        prop_assert!(least >= low * (1.0 - 1e-9) && most <= high * (1.0 + 1e-9), "{least} {most}: {low} {high}");
    }

    /// The f32 matrix equals the f64 matrix up to its round-off.
    #[test]
    fn single_precision_rounds_the_same_matrix(count in 0_usize..7, seed: u64) {
        let (a, c) = (system(12, 3, seed), constraints(12, 3, count, &mut Numbers(seed)));
        let (in_f64, in_f32) = (prefilter(&a, &c).unwrap(), prefilter(&a.to::<f32>(), &c).unwrap());
        let scale = a.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let close = |(w, n): (&f64, &f32)| (w - n.as_f64()).abs() < 4e-6 * scale;
        prop_assert!(in_f64.matrix().values().iter().zip(in_f32.matrix().values()).all(close));
    }
}

#[test]
fn without_constraints_nothing_changes() {
    let a = system(9, 3, 1);
    let none = Constraints::new(9, 3).unwrap();
    let mut filtered = prefilter(&a, &none).unwrap();
    assert_eq!(filtered.matrix(), &a);
    assert!(std::sync::Arc::ptr_eq(filtered.matrix().pattern(), a.pattern()));
    let (b, mut x) = (Numbers(1).vector(27), Numbers(2).vector(27));
    let before = x.clone();
    filtered
        .solve(&b, &mut x, |_, c, y| {
            assert_eq!((&b, &before), (c, &*y));
        })
        .unwrap();
    assert_eq!(x, before);
}

#[test]
fn all_nodes_constrained_leaves_a_diagonal() {
    let a = system(9, 3, 1);
    let mut c = Constraints::new(9, 3).unwrap();
    (0..9).for_each(|i| c.point(i, &[i as f64, 0.5, -1.0]).unwrap());
    let mut filtered = prefilter(&a, &c).unwrap();
    for (i, j) in (0..27 * 27).map(|e| (e / 27, e % 27)) {
        let v = filtered.matrix().get(i, j);
        assert!(if i == j { v > 0.0 } else { v == 0.0 }, "({i}, {j}): {v}");
    }
    let mut x = vec![7.0; 27];
    filtered.solve(&[1.0; 27], &mut x, |_, c, _| assert_eq!(c, &[0.0; 27])).unwrap();
    assert_eq!(&x[24..], [8.0, 0.5, -1.0]);
    assert_eq!(filtered.density().rank, 27);
}

#[test]
fn filters_of_single_nodes_keep_the_pattern_and_exact_zeros() {
    let a = system(12, 3, 3);
    let mut c = Constraints::new(12, 3).unwrap();
    c.plane(4, &[0.0, 2.0, 0.0], 0.0).unwrap();
    c.line(7, &[0.0, 0.0, 1.0], &[0.0; 3]).unwrap();
    let filtered = prefilter(&a, &c).unwrap();
    let m = filtered.matrix();
    assert!(Pattern::same(m.pattern(), a.pattern()));
    for held in [13, 21, 22] {
        assert!((0..36).all(|j| j == held || (m.get(held, j) == 0.0 && m.get(j, held) == 0.0)), "{held}");
    }
    assert_eq!(m.get(12, 14), a.get(12, 14));
    let density = filtered.density();
    assert_eq!((density.filtered, density.groups, density.largest, density.fill()), (2, 2, 1, 1.0));
    assert_eq!(
        density.to_string(),
        "2 of 12 nodes filtered by 3 constraints of rank 3, in 2 groups of up to 1 nodes; 1.00 times the blocks of A"
    );
}

#[test]
fn the_near_kernel_is_filtered() {
    let (a, mut random) = (system(12, 3, 3), Numbers(5));
    let c = constraints(12, 3, 5, &mut random);
    let positions: Vec<[f64; 3]> = (0..12).map(|_| [random.next(), random.next(), random.next()]).collect();
    let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
    let given = System { near_kernel: Some(&modes), ..System::from(&a) };
    let found = System { positions: Some(&positions), ..System::from(&a) };
    for system in [given, found, System::from(&a)] {
        let filtered = prefilter(system, &c).unwrap();
        let k = if system.near_kernel.is_some() || system.positions.is_some() { 6 } else { 3 };
        let constants = NearKernel::constants(36, 3).unwrap();
        assert_eq!(filtered.near_kernel().vectors(), k);
        for j in 0..k {
            let mut expected = vec![0.0; 36];
            filtered
                .projector()
                .apply(&if k == 6 { modes.column(j) } else { constants.column(j) }, &mut expected);
            let column = filtered.near_kernel().column(j);
            assert!(column.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14));
        }
        filtered.system(system.positions).check().unwrap();
    }
}

/// A system without near-kernel and positions has that of the last one.
#[test]
fn an_update_keeps_the_near_kernel() {
    let (a, mut random) = (system(12, 3, 3), Numbers(5));
    let c = constraints(12, 3, 5, &mut random);
    let mut points = || (0..12).map(|_| [random.next(), random.next(), random.next()]).collect::<Vec<_>>();
    let (positions, moved) = (points(), points());
    let at = |positions| System { positions: Some(positions), ..System::from(&a) };
    let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
    let given = System { near_kernel: Some(&modes), ..System::from(&a) };
    let of = |system| prefilter(system, &c).unwrap().near_kernel().clone();
    let (there, elsewhere, constants) = (of(at(&positions)), of(at(&moved)), of(System::from(&a)));
    let mut filtered = prefilter(&a, &c).unwrap();
    for (system, expected) in [
        (System::from(&a), &constants),
        (at(&positions), &there),
        (System::from(&a), &there),
        (at(&moved), &elsewhere),
        (given, &there),
        (System::from(&a), &there),
        (at(&moved), &there),
    ] {
        filtered.update(system, &c).unwrap();
        assert_eq!(filtered.near_kernel(), expected);
    }
}

#[test]
fn patterns_stay_while_nodes_do() {
    let (a, mut c) = (system(24, 3, 1), Constraints::new(24, 3).unwrap());
    let contact = |c: &mut Constraints, shift: usize, weight: f64| {
        c.clear();
        c.vertex_face(shift, [5, 6, 9], [weight, 0.5, 0.5 - weight], &[0.1, weight, 1.0], weight).unwrap();
    };
    contact(&mut c, 1, 0.2);
    let mut filtered = prefilter(&a, &c).unwrap();
    let first = filtered.matrix().pattern().clone();
    contact(&mut c, 1, 0.3);
    filtered.update(&a, &c).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, filtered.matrix().pattern()));
    assert_eq!(filtered.matrix(), prefilter(&a, &c).unwrap().matrix());
    for shift in [2, 3, 2, 1, 17] {
        contact(&mut c, shift, 0.25);
        filtered.update(&a, &c).unwrap();
        assert_eq!(filtered.matrix(), prefilter(&a, &c).unwrap().matrix());
    }
    c.clear();
    filtered.update(&a, &c).unwrap();
    assert_eq!(filtered.matrix(), &a);
}

#[test]
fn bad_constraints_are_named_and_change_nothing() {
    use ConstraintError as E;
    let (a, mut c) = (system(12, 3, 3), constraints(12, 3, 3, &mut Numbers(8)));
    let mut filtered = prefilter(&a, &c).unwrap();
    let before = filtered.matrix().clone();
    c.point(2, &[0.0; 3]).unwrap();
    c.plane(2, &[1.0, 1.0, 1.0], 3.0).unwrap();
    let error = filtered.update(&a, &c).unwrap_err();
    assert!(matches!(&error, E::Contradiction { nodes, .. } if nodes.contains(&2)), "{error}");
    let short = Constraints::new(11, 3).unwrap();
    assert!(matches!(filtered.update(&a, &short), Err(E::Fit(_))));
    assert!(matches!(filtered.update(&a, &Constraints::new(12, 2).unwrap()), Err(E::Fit(_))));
    assert_eq!(filtered.matrix(), &before);
    assert!(filtered.solve(&[0.0; 35], &mut vec![0.0; 36], |_, _, _| ()).is_err());
    assert!(filtered.solve(&[0.0; 36], &mut vec![0.0; 35], |_, _, _| ()).is_err());

    let hollow = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (1, 0, 1.0)]).unwrap();
    let mut c = Constraints::new(2, 1).unwrap();
    c.point(1, &[0.0]).unwrap();
    assert_eq!(prefilter(&hollow, &c).unwrap_err(), E::NoDiagonal { node: 1 });
    let mut chain = Constraints::new(12, 3).unwrap();
    (0..11).for_each(|i| {
        chain.edge_edge([i, (i + 3) % 12], [i + 1, (i + 5) % 12], [0.5; 2], &[1.0; 3], 0.0).unwrap()
    });
    let error = Prefilter { largest_group: 8 }.build(&a, &chain).unwrap_err();
    assert!(matches!(error, E::Chain { found: 12, limit: 8, .. }), "{error}");
    assert_eq!(prefilter(&a, &chain).unwrap().density().largest, 12);
}

#[test]
fn threads_do_not_change_bits() {
    let nodes = 12_000;
    let (a, mut random) = (system(nodes, 3, 3), Numbers(8));
    let mut c = Constraints::new(nodes, 3).unwrap();
    for i in (0..nodes - 8).step_by(16) {
        let n = random.vector(3);
        c.vertex_face(i, [i + 2, i + 4, i + 5], [0.2, 0.3, 0.5], &n, n[0]).unwrap();
        c.plane(i + 7, &n, n[1]).unwrap();
        c.point(i + 6, &n).unwrap();
    }
    let b = random.vector(3 * nodes);
    let run = |threads| {
        parallel::threads(threads, || {
            let mut filtered = prefilter(&a, &c).unwrap();
            let mut x = b.clone();
            filtered.solve(&b, &mut x, |_, c, y| y.iter_mut().zip(c).for_each(|(y, c)| *y += c)).unwrap();
            (filtered.matrix().clone(), filtered.near_kernel().clone(), x)
        })
        .unwrap()
    };
    let one = run(1);
    assert!(one == run(2) && one == run(7));
}
