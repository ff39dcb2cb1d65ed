//! Domains compared with their formulas in dense loops: blocks of any size, the exact coarse solve, repairs,
//! pockets, bodies that float, bytes.

use std::sync::Arc;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, SetupError};
use coarsen_direct::Direct;
use coarsen_schwarz::{AdditiveSchwarz, Coarse, Coupling, Inner, Inverses, Order, Packed, SchwarzBackend};
use coarsen_schwarz::{Plan, Repair, Schwarz, Storage};
use coarsen_sparse::{Bsr, Contacts, Sum, System, assembly};

use crate::common::{applied, difference, exact};

/// Returns a chain of nodes in full blocks, symmetric, with `own` on the diagonal and couplings of about
/// `across`.
fn chain(nodes: usize, b: usize, own: &dyn Fn(usize) -> f64, across: f64, seed: u64) -> Bsr<f64> {
    let (values, mut entries) = (noise(2 * nodes * b * b, seed), Vec::new());
    for i in 0..nodes {
        for (k, v) in values[i * b * b..(i + 1) * b * b].iter().enumerate() {
            let (r, c) = ((i * b + k / b) as u32, (i * b + k % b) as u32);
            entries.extend([(r, c, 0.3 * v), (c, r, 0.3 * v)]);
            if i + 1 < nodes {
                let (to, w) = (c + b as u32, across * (1.0 + 0.5 * values[(nodes + i) * b * b + k]));
                entries.extend([(r, to, w), (to, r, w)]);
            }
        }
        entries.extend((i * b..(i + 1) * b).map(|r| (r as u32, r as u32, own(r))));
    }
    assembly::from_triplets_blocked(nodes * b, nodes * b, (b, b), &entries).unwrap()
}

/// Returns A⁻¹ r for a dense matrix.
pub(crate) fn solved(a: &[Vec<f64>], r: &[f64]) -> Vec<f64> {
    let n = r.len();
    let entries: Vec<_> = (0..n * n).map(|k| ((k / n) as u32, (k % n) as u32, a[k / n][k % n])).collect();
    let mut x = vec![0.0; n];
    Direct::default()
        .factor(&assembly::from_triplets(n, n, &entries).unwrap())
        .unwrap()
        .solve(r, &mut x)
        .unwrap();
    x
}

/// Returns Σ_l C_lᵀ Σ_d S_dᵀ (S_d A_l S_dᵀ)⁻¹ S_d C_l r over the levels, plus C_tᵀ `top`(A_t)⁻¹ C_t r of the
/// level that is solved as one system.
fn formula(a: &Bsr<f64>, plan: &Plan, r: &[f64], top: &dyn Fn(&mut Vec<Vec<f64>>)) -> Vec<f64> {
    let (b, n) = (plan.block(), a.shape().0);
    let mut z = vec![0.0; n];
    for level in 0..=plan.levels() {
        let whole = level == plan.levels();
        let size = plan.nodes(level) * b;
        let of = |i: usize| plan.map(level, i / b).map(|s| s * b + i % b);
        let (mut al, mut rl) = (vec![vec![0.0; size]; size], vec![0.0; size]);
        if size == 0 {
            continue;
        }
        for i in 0..n {
            rl[of(i).unwrap()] += r[i];
            (0..n).for_each(|j| al[of(i).unwrap()][of(j).unwrap()] += a.get(i, j));
        }
        let mut zl = vec![0.0; size];
        if whole {
            top(&mut al);
            zl = solved(&al, &rl);
        }
        for d in 0..if whole { 0 } else { plan.domains(level) } {
            let nodes = plan.members(level, d).iter();
            let rows: Vec<usize> = nodes.flat_map(|&s| (0..b).map(move |k| s as usize * b + k)).collect();
            let small: Vec<Vec<f64>> =
                rows.iter().map(|&i| rows.iter().map(|&j| al[i][j]).collect()).collect();
            let part: Vec<f64> = rows.iter().map(|&i| rl[i]).collect();
            rows.iter().zip(solved(&small, &part)).for_each(|(&i, v)| zl[i] = v);
        }
        (0..n).for_each(|i| z[i] += zl[of(i).unwrap()]);
    }
    z
}

/// An application equals its formula, with domains on all levels and with a factor of the coarsest level, for
/// any block size.
#[test]
fn an_application_is_its_formula_in_blocks_of_any_size() {
    for b in [1, 2, 3, 4, 6, 7] {
        let a = chain(60, b, &|r| 2.5 * b as f64 + (r % 5) as f64, -0.9, 3);
        let r = noise(60 * b, 4);
        for coarse in [Coarse::Domains, Coarse::Exact { unknowns: 12 * b }] {
            let parameters = Schwarz { coarse, domain: 6, ..exact() };
            let mut m = parameters.build(&a, &Cpu::new()).unwrap();
            assert_eq!(m.plan().top_nodes() > 0, coarse != Coarse::Domains);
            let expected = formula(&a, m.plan(), &r, &|_| ());
            let off = difference(&applied(&mut m, &r), &expected);
            assert!(off < 1e-11, "blocks of {b}, {coarse:?}: {off:.1e}");
        }
    }
}

/// A slightly indefinite matrix gets a shift of 10⁻⁷ of its diagonal if 10⁻¹⁰ is not sufficient.
#[test]
fn the_coarsest_level_is_shifted_by_what_is_needed() {
    let n = 96_u32;
    let mut entries = Vec::new();
    for i in 0..n {
        let ends = f64::from(u8::from(i > 0) + u8::from(i + 1 < n));
        entries.push((i, i, ends * (1.0 - 1e-9)));
        entries.extend([i.wrapping_sub(1), i + 1].iter().filter(|&&j| j < n).map(|&j| (i, j, -1.0)));
    }
    let a = assembly::from_triplets(96, 96, &entries).unwrap();
    let parameters = Schwarz { coarse: Coarse::Exact { unknowns: 20 }, domain: 8, ..exact() };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    assert!(m.to_string().contains("factor, shifted"), "{m}");
    let r = noise(96, 5);
    let shifted = |a: &mut Vec<Vec<f64>>| (0..a.len()).for_each(|i| a[i][i] *= 1.0 + 1e-7);
    let off = difference(&applied(&mut m, &r), &formula(&a, m.plan(), &r, &shifted));
    assert!(off < 1e-5, "{off:.1e}");
}

/// In an indefinite domain each node is solved by its diagonal block, or by its diagonal if the block is
/// indefinite too.
#[test]
fn an_indefinite_domain_is_solved_block_by_block() {
    for (nodes, b) in [(10, 1), (9, 2), (10, 3), (7, 5), (5, 7), (5, 9), (3, 16), (3, 17)] {
        let mut a = chain(nodes, b, &|r| 1.5 + (r % 4) as f64, 9.0, 6 + b as u64);
        let (bad, k) = (1, a.pattern().find(1, 1).unwrap());
        if b > 1 {
            for (row, column) in [(b - 1, b - 2), (b - 2, b - 1)] {
                a.values_mut()[(k * b + row) * b + column] = 50.0;
            }
        }
        let parameters = Schwarz { levels: 1, domain: nodes, ..exact() };
        let mut m = parameters.build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.repairs().collect::<Vec<_>>(), [(0, 0, Repair::BlockDiagonal)]);
        let (r, mut expected) = (noise(nodes * b, 7), Vec::new());
        for i in 0..nodes {
            let rows = i * b..(i + 1) * b;
            let block: Vec<Vec<f64>> =
                rows.clone().map(|r| rows.clone().map(|c| a.get(r, c)).collect()).collect();
            if i == bad {
                expected.extend(rows.map(|row| r[row] / a.get(row, row)));
            } else {
                expected.extend(solved(&block, &r[rows]));
            }
        }
        let off = difference(&applied(&mut m, &r), &expected);
        assert!(off < 1e-12, "{nodes} nodes of {b}: {off:.1e}");
    }
}

/// A domain of at most half the size is joined with its neighbour, and a union with too many nodes for one
/// domain is divided again.
#[test]
fn pockets_are_joined() {
    let sizes = |nodes: usize| {
        let parameters =
            Schwarz { domain: 4, order: Order::Natural, coupling: Coupling::Adjacency, levels: 1, ..exact() };
        let m = parameters.build(&chain(nodes, 1, &|_| 4.0, -1.0, 3), &Cpu::new()).unwrap();
        let mut sizes: Vec<usize> = (0..m.plan().domains(0)).map(|d| m.plan().members(0, d).len()).collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!((sizes(4), sizes(5), sizes(6), sizes(7)), (vec![4], vec![2, 3], vec![3, 3], vec![3, 4]));
}

/// The diagonal entries of all unknowns of a block are checked.
#[test]
fn diagonals_of_large_blocks_are_checked() {
    for b in [2, 6, 7, 8] {
        for (value, negative) in [(-3.0, true), (0.0, false)] {
            let (node, row) = (4, 4 * b + b - 1);
            let mut a = chain(9, b, &|_| 20.0, -0.5, 3);
            let k = a.pattern().find(node, node).unwrap();
            a.values_mut()[(k + 1) * b * b - 1] = value;
            match Schwarz::multilevel().build(&a, &Cpu::new()).err() {
                Some(SetupError::NotPositive { row: found, diagonal, .. }) if negative => {
                    assert_eq!((found, diagonal), (row, value));
                }
                Some(SetupError::ZeroDiagonal { row: found, .. }) if !negative => assert_eq!(found, row),
                other => panic!("blocks of {b}, {value}: {other:?}"),
            }
        }
    }
}

/// Springs between scalars, in domains of every level: the sum of two parts and the merged matrix give the
/// same operator.
#[test]
fn contact_of_scalars_takes_part_on_every_level() {
    let a = chain(120, 1, &|r| 3.0 + (r % 3) as f64, -1.0, 3);
    let mut contact = Contacts::new(120, 1).unwrap();
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (i, j, s) in [(3, 100, 5.0), (17, 60, 2.0), (44, 90, 8.0), (5, 119, 1.0)] {
        places.extend([(i, i), (i, j), (j, i), (j, j)]);
        values.extend([s, -s, -s, s]);
    }
    contact.replace(&places, &values).unwrap();
    let sum = Sum { elastic: &a, contact: &contact };
    let (merged, r) = (sum.merge().unwrap(), noise(120, 4));
    for coarse in [Coarse::Domains, Coarse::Exact { unknowns: 30 }] {
        let mut m = Schwarz { coarse, domain: 4, ..exact() }.build(System::from(&sum), &Cpu::new()).unwrap();
        assert!(coarse != Coarse::Domains || m.plan().levels() > 2);
        let off = difference(&applied(&mut m, &r), &formula(&merged, m.plan(), &r, &|_| ()));
        assert!(off < 1e-11, "{coarse:?}: {off:.1e}");
    }
}

/// Two bodies without constraints. On a level on which the larger body still has several nodes, the smaller
/// body is one node without stiffness and gets no correction.
#[test]
fn a_body_that_became_a_node_is_left_alone() {
    let (n, first) = (260_u32, 200);
    let mut entries = Vec::new();
    for i in 0..n {
        let neighbours = [i.wrapping_sub(1), i + 1];
        let same = neighbours.iter().filter(|&&j| j < n && (j < first) == (i < first));
        same.for_each(|&j| entries.extend([(i, i, 1.0), (i, j, -1.0)]));
    }
    let a = assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
    let parameters = Schwarz { domain: 8, ..exact() };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    let (level, plan) = (m.plan().levels() - 1, m.plan());
    let node = plan.map(level, 250).unwrap();
    assert!(level > 1 && plan.nodes(level) > 2 && m.matrix(level).unwrap().get(node, node) == 0.0);
    // r is zero except on the smaller body: the result is the sum of all levels except the last.
    let r: Vec<f64> =
        noise(n as usize, 4).iter().enumerate().map(|(i, v)| if i < 200 { 0.0 } else { *v }).collect();
    let mut below = Schwarz { levels: level, ..parameters }.build(&a, &Cpu::new()).unwrap();
    assert_eq!(below.plan().levels(), level);
    let z = applied(&mut m, &r);
    assert!(z.iter().all(|v| v.is_finite()) && difference(&z, &applied(&mut below, &r)) < 1e-12);
}

/// The solver of the coarsest level is called once, with the sums of its nodes, if there is such a level.
#[test]
fn the_coarsest_solver_is_called_once() {
    let a = chain(60, 2, &|_| 6.0, -0.5, 3);
    let r = noise(120, 4);
    for coarse in [Coarse::Domains, Coarse::Exact { unknowns: 40 }] {
        let m = Schwarz { coarse, domain: 6, ..exact() }.build(&a, &Cpu::new()).unwrap();
        let plan = m.plan();
        let packed = |level: usize| Packed::Double(vec![0.0; *plan.offsets(level).last().unwrap()]);
        let packed: Vec<Packed> = (0..plan.levels()).map(packed).collect();
        assert_eq!(packed.iter().map(Packed::count).sum::<usize>(), plan.values());
        let inverses = Inverses { packed, left_out: Vec::new(), weights: vec![1.0; plan.levels()] };
        let backend = Cpu::<f64, f64>::new();
        let (mut calls, mut z) = (0, vec![f64::NAN; 120]);
        let mut top = |r: &Vec<f64>, z: &mut Vec<f64>| {
            calls += 1;
            z.copy_from_slice(r);
        };
        let mut domains = backend.domains(&Arc::new(plan.clone()), inverses).unwrap();
        backend.apply_domains(&mut domains, &r, &mut top, &mut z);
        assert_eq!(calls, usize::from(plan.top_nodes() > 0));
        let mut sums = vec![0.0; plan.top_nodes() * 2];
        let at = |i: usize| plan.map(plan.levels(), i / 2).unwrap() * 2 + i % 2;
        if calls > 0 {
            (0..120).for_each(|i| sums[at(i)] += r[i]);
        }
        assert!((0..120).all(|i| (z[i] - if calls > 0 { sums[at(i)] } else { 0.0 }).abs() < 1e-14));
    }
}

/// Bytes are the sum of lists, maps, matrices and values.
#[test]
fn bytes_are_those_of_the_parts() {
    let (nodes, b) = (90, 2);
    let a = chain(nodes, b, &|_| 6.0, -0.5, 3);
    for (coarse, storage) in
        [(Coarse::Domains, Storage::Double), (Coarse::Exact { unknowns: 40 }, Storage::Single)]
    {
        let m = Schwarz { coarse, domain: 6, storage, ..exact() }.build(&a, &Cpu::new()).unwrap();
        let (plan, mut lists, mut matrices) = (m.plan(), 0, 0);
        for level in 0..plan.levels() {
            let count = plan.domains(level);
            let blocks = m.matrix(level + 1).map_or(count, |a| a.pattern().len());
            lists += 4 * (plan.nodes(level) + count + 1) + 8 * plan.nodes(level); // domains
            lists += 8 * (count + 1) * 2 + 4 * (count + blocks); // offsets, the next matrix
            lists += if m.matrix(level + 1).is_some() { 4 * nodes } else { 0 }; // a map to that level
            matrices += m.matrix(level + 1).map_or(0, Bsr::bytes);
        }
        assert_eq!(plan.bytes(), lists, "{coarse:?}");
        let stored = plan.values() * if storage == Storage::Single { 4 } else { 8 };
        let top = m.matrix(plan.levels()).map_or(0, |a| Direct::default().factor(a).unwrap().stats().bytes);
        assert_eq!((m.bytes(), top > 0), (lists + matrices + stored + top, coarse != Coarse::Domains));
    }
    // One domain of all nodes, for which the overlap is empty.
    let blocks = a.pattern().len();
    for inner in [Inner::Inverses, Inner::Sweeps { pairs: 2 }, Inner::Factors] {
        let parameters = AdditiveSchwarz {
            domain: nodes,
            inner,
            storage: Storage::Double,
            ..AdditiveSchwarz::overlapping()
        };
        let m = parameters.build(&a, &Cpu::new()).unwrap();
        assert_eq!(m.domains(), 1);
        let cover = 4 * (nodes + 2 + nodes + nodes) + 8 * (nodes + 1);
        let solver = match inner {
            Inner::Inverses => {
                let tiles = (nodes * b).div_ceil(8);
                // A plan of one level has domains, offsets and the pattern of a next level.
                8 * 64 * tiles * (tiles + 1) / 2 + 4 * (nodes + 2) + 8 * nodes + 8 * 4 + 4 * 2
            }
            Inner::Sweeps { .. } => a.bytes() + 8 * 2 * nodes * b * b + 8 * nodes * b,
            // The values of A again, for failed updates, and two vectors.
            Inner::Factors => {
                let factor = Direct::default().factor(&a).unwrap().stats().bytes;
                factor + a.bytes() + 8 * a.values().len() + 2 * 8 * nodes * b
            }
            other => panic!("no formula for {other:?}"),
        };
        assert_eq!(m.bytes(), cover + 4 * blocks + a.bytes() + solver + 2 * 8 * nodes * b, "{inner:?}");
    }
}
