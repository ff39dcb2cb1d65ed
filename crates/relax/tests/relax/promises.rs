//! Properties of built objects: kinds, bytes, radii, reuse in updates, blocks and spectra.

use coarsen_backend::{Backend, Cpu, DenseBlocks, Reused, Setup, SetupError, Smoother, Update};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind};
use coarsen_problems::elasticity3d;
use coarsen_relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi, Scaling, Spectrum};
use coarsen_sparse::{Bsr, assembly};

use crate::common::{applied, right_hand_side};

/// Returns a matrix of one block.
fn dense<const N: usize>(entries: [[f64; N]; N]) -> Bsr<f64> {
    assembly::from_blocks((1, 1), (N, N), &[(0, 0)], entries.as_flattened()).unwrap()
}

/// Returns a chain of `n` nodes with full blocks of `b`; the coupling to the right neighbour is `1 + skew`
/// times that to the left neighbour.
fn chain(n: u32, b: u32, diagonal: f64, skew: f64) -> Bsr<f64> {
    let mut entries = Vec::new();
    for (i, j) in (0..n).flat_map(|i| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j))) {
        for (p, q) in (0..b).flat_map(|p| (0..b).map(move |q| (p, q))) {
            let some = f64::from((i + j + 2 * (p + q) + p * q) % 5) / 10.0;
            let v = match (i == j, p == q) {
                (true, true) => diagonal + some,
                (true, false) => some,
                _ => -(some + 0.3) * if i < j { 1.0 + skew } else { 1.0 },
            };
            entries.push((i * b + p, j * b + q, v));
        }
    }
    let size = (n * b) as usize;
    assembly::from_triplets_blocked(size, size, (b as usize, b as usize), &entries).unwrap()
}

fn kind<P: Preconditioner<Vec<f64>>>(m: &P) -> PreconditionerKind {
    m.kind()
}

/// Every pair of entries of a block is compared, relative to the largest entry of the block.
#[test]
fn block_jacobi_is_symmetric_where_its_blocks_are() {
    let built = |a: &Bsr<f64>| {
        let [kind, of_l1] =
            [false, true].map(|l1| kind(&BlockJacobi { omega: 1.0, l1 }.build(a, &Cpu::new()).unwrap()));
        assert_eq!(kind, of_l1);
        kind
    };
    let symmetric = [[2000.0, 300.0, 200.0], [300.0, 2000.0, 100.0], [200.0, 100.0, 2000.0]];
    for (r, c) in [(1, 0), (2, 0), (2, 1), (0, 1), (0, 2), (1, 2)] {
        for (off, expected) in [
            (0.0, PreconditionerKind::Symmetric),
            (1e-6, PreconditionerKind::Symmetric),
            (1.0, PreconditionerKind::Linear),
        ] {
            let mut block = symmetric;
            block[r][c] += off;
            assert_eq!(built(&dense(block)), expected, "({r}, {c}) off by {off}");
        }
    }
    assert_eq!(built(&chain(5, 3, 9.0, 0.0)), PreconditionerKind::Symmetric);
}

#[test]
fn parameters_at_their_ends_are_refused() {
    let (a, backend) = (chain(4, 1, 2.0, 0.0), Cpu::new());
    let refused = |error: Option<SetupError>, expected: &str| {
        let named =
            matches!(error, Some(SetupError::Core(Error::Parameter { name, .. })) if name == expected);
        assert!(named, "{expected}: {error:?}");
    };
    for ratio in [1.0, 0.5, f64::INFINITY, f64::NAN] {
        refused(Chebyshev { ratio, ..Chebyshev::default() }.build(&a, &backend).err(), "Chebyshev::ratio");
    }
    refused(Chebyshev { degree: 0, ..Chebyshev::default() }.build(&a, &backend).err(), "Chebyshev::degree");
    for omega in [0.0, 2.0, -1.0, f64::NAN] {
        let sweep = GaussSeidel { omega, ..GaussSeidel::default() };
        refused(sweep.build(&a, &backend).err(), "GaussSeidel::omega");
        assert!(matches!(sweep.build_half(&a, &backend), Err(SetupError::Core(Error::Parameter { .. }))));
    }
    refused(
        GaussSeidel { sweeps: 0, ..GaussSeidel::default() }.build(&a, &backend).err(),
        "GaussSeidel::sweeps",
    );
    for first_shift in [0.0, 1.5, f64::NAN] {
        refused(Ic0 { first_shift }.build(&a, &backend).err(), "Ic0::first_shift");
    }
    assert!(Ic0 { first_shift: 1.0 }.build(&a, &backend).is_ok());
}

/// Chebyshev is of the kind symmetric if A is symmetric or declared symmetric.
#[test]
fn polynomials_are_symmetric_where_the_matrix_is() {
    let built = |skew: f64, symmetric: bool| {
        kind(
            &Chebyshev { symmetric, ..Chebyshev::default() }
                .build(&chain(9, 2, 9.0, skew), &Cpu::new())
                .unwrap(),
        )
    };
    assert_eq!(
        (built(0.0, false), built(0.0, true)),
        (PreconditionerKind::Symmetric, PreconditionerKind::Symmetric)
    );
    assert_eq!(
        (built(0.1, false), built(0.1, true)),
        (PreconditionerKind::Linear, PreconditionerKind::Symmetric)
    );
}

/// Half of A is stored if A is symmetric up to 1024 ε; sweeps are of the kind symmetric up to √ε.
#[test]
fn sweeps_over_half_ask_for_symmetry_to_round_off() {
    for (skew, half, expected) in [
        (0.0, true, PreconditionerKind::Symmetric),
        (100.0 * f64::EPSILON, true, PreconditionerKind::Symmetric),
        (1e5 * f64::EPSILON, false, PreconditionerKind::Symmetric),
        (1e-3, false, PreconditionerKind::Linear),
    ] {
        let mut a = chain(40, 3, 9.0, 0.0);
        let upper = a.pattern().find(4, 5).unwrap();
        a.values_mut()[9 * upper] *= 1.0 + skew;
        let m = GaussSeidel::default().build(&a, &Cpu::new()).unwrap();
        assert_eq!((m.matrix().is_none(), kind(&m)), (half, expected), "{skew:e}");
        assert_eq!(GaussSeidel::default().build_half(&a, &Cpu::new()).unwrap().is_some(), half, "{skew:e}");
    }
}

/// An update equals a build, also if the values change between symmetric and unsymmetric, and an update back gives the bits
/// of before.
#[test]
fn updated_sweeps_are_built_sweeps() {
    let backend = Cpu::new();
    let r = right_hand_side(120);
    let all: Vec<Bsr<f64>> =
        [(9.0, 0.0), (9.5, 0.0), (9.0, 0.2), (9.5, 0.3)].map(|(d, skew)| chain(40, 3, d, skew)).into();
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let mut m = GaussSeidel::default().build(&all[i], &backend).unwrap();
        let mut rebuilt = GaussSeidel::default().build(&all[j], &backend).unwrap();
        assert_eq!(m.update(&all[j]).unwrap(), Reused::Structure);
        assert_eq!(applied(&mut m, &r), applied(&mut rebuilt, &r), "{i} to {j}");
        assert_eq!(kind(&m), kind(&rebuilt));
        assert_eq!(m.matrix().is_some(), rebuilt.matrix().is_some());
        assert_eq!(Smoother::kind(&m), kind(&rebuilt));
        m.update(&all[i]).unwrap();
        let mut first = GaussSeidel::default().build(&all[i], &backend).unwrap();
        assert_eq!(applied(&mut m, &r), applied(&mut first, &r), "{i} to {j} and back");
        assert_eq!(kind(&m), kind(&first));
    }
}

/// The structure is kept if pattern and block size are unchanged; otherwise everything is built again.
#[test]
fn updates_tell_what_they_keep() {
    fn check<R: Setup<f64, Cpu>>(parameters: &R, name: &str) {
        let backend = Cpu::new();
        let start = chain(8, 2, 9.0, 0.0);
        let mut stiffer = chain(8, 2, 9.0, 0.0);
        let mut m = parameters.build(&start, &backend).unwrap();
        stiffer.values_mut().iter_mut().for_each(|v| *v *= 1.5);
        let shorter = chain(7, 2, 9.0, 0.0);
        // Node i is coupled only to itself.
        let places: Vec<(u32, u32)> = (0..8).map(|i| (i, i)).collect();
        let blocks: Vec<f64> = (0..8).flat_map(|i| [3.0 + f64::from(i), 1.0, 1.0, 2.0]).collect();
        let apart = assembly::from_blocks((8, 8), (2, 2), &places, &blocks).unwrap();
        for (a, expected) in [
            (&stiffer, Reused::Structure),
            (&apart, Reused::Nothing), // another pattern on 8 nodes
            (&start, Reused::Nothing),
            (&chain(8, 1, 9.0, 0.0), Reused::Nothing), // the same pattern, blocks of another size
            (&chain(8, 3, 9.0, 0.0), Reused::Nothing),
            (&shorter, Reused::Nothing),
            (&shorter, Reused::Structure),
        ] {
            assert_eq!(m.update(a).unwrap(), expected, "{name}");
            let r = right_hand_side(a.shape().0);
            assert_eq!(
                applied(&mut m, &r),
                applied(&mut parameters.build(a, &backend).unwrap(), &r),
                "{name}"
            );
        }
    }
    check(&Jacobi::default(), "jacobi");
    check(&BlockJacobi { omega: 0.7, l1: true }, "block jacobi");
    check(&Chebyshev::default(), "chebyshev");
    check(&Chebyshev { scaling: Scaling::Spai0, ..Chebyshev::default() }, "spai0");
    check(&GaussSeidel::default(), "gauss-seidel");
    check(&Ic0::default(), "ic0");
    check(&Ilu0, "ilu0");
}

/// A prepared matrix changes the radius in the facts at once, but the radius in use only with the commit.
#[test]
fn a_prepared_matrix_has_its_radius() {
    let radii = |m: &coarsen_relax::ChebyshevPolynomial<f64, Cpu>| (m.radius(), m.facts().radius);
    let (old, new) = (chain(12, 2, 9.0, 0.0), chain(12, 2, 4.0, 0.0));
    for scaling in [Scaling::Inverse, Scaling::Spai0] {
        let parameters = Chebyshev { scaling, ..Chebyshev::default() };
        let [mut m, rebuilt] = [&old, &new].map(|a| parameters.build(a, &Cpu::new()).unwrap());
        let told = |radius: f64| (scaling == Scaling::Inverse).then_some(radius);
        let (before, after) = (m.radius(), rebuilt.radius());
        assert!((before - after).abs() > 0.01);
        m.prepare(&new).unwrap();
        assert_eq!(radii(&m), (before, told(after)), "{scaling:?}");
        assert_eq!(m.facts().inverses.is_some(), scaling == Scaling::Inverse);
        m.commit(&new).unwrap();
        assert_eq!(radii(&m), (after, told(after)), "{scaling:?}");
    }
}

/// Bytes count A and the blocks on the backend, the blocks on the host, two vectors of the backend and five
/// vectors of the estimate.
#[test]
fn bytes_are_those_of_the_arrays() {
    fn check<B: Backend>(backend: &B, [stored, real]: [usize; 2])
    where
        Chebyshev: Setup<f64, B, Built = coarsen_relax::ChebyshevPolynomial<f64, B>>,
    {
        for b in [2_u32, 3] {
            let (n, area) = (11 * b as usize, (b * b) as usize);
            let a = chain(11, b, 9.0, 0.1);
            let (entries, blocks) = (a.values().len(), 11 * area);
            assert_eq!(entries, 31 * area);
            let m = Chebyshev::default().build(&a, backend).unwrap();
            let expected = (entries + blocks) * stored + 2 * n * real + blocks * 8 + 5 * n * 8;
            assert_eq!(m.bytes(), expected, "chebyshev, blocks of {b}");
            let m = GaussSeidel::default().build(&a, backend).unwrap();
            assert_eq!(m.bytes(), (entries + blocks) * stored + blocks * 8);
        }
    }
    check(&Cpu::new(), [8, 8]);
    check(&Cpu::mixed(), [4, 8]);
    check(&Cpu::single(), [4, 4]);
}

/// M solves the Lyapunov equation M G + G M = A + Aᵀ of each node, for any block size and for more rows than
/// in one task.
#[test]
fn spai0_solves_its_equation() {
    for (n, b) in [(5, 1), (5, 2), (5, 3), (3, 13), (2100, 1), (1100, 3)] {
        let a = chain(n, b, 9.0, 0.25);
        let (n, b) = (n as usize, b as usize);
        let mut m = Chebyshev { degree: 1, scaling: Scaling::Spai0, ..Chebyshev::default() }
            .build(&a, &Cpu::new())
            .unwrap();
        let theta = 0.5 * (m.radius() + m.radius() / 30.0);
        // Column q of all blocks.
        let columns: Vec<Vec<f64>> = (0..b)
            .map(|q| {
                let unit = (0..n * b).map(|i| if i % b == q { theta } else { 0.0 }).collect();
                applied(&mut m, &unit)
            })
            .collect();
        for i in 0..n {
            let block = |p: usize, q: usize| columns[q][i * b + p];
            let gram = |p: usize, q: usize| -> f64 {
                let dot = |v: &[f64]| (0..b).map(|k| v[p * b + k] * v[q * b + k]).sum::<f64>();
                a.row(i).map(|(_, v)| dot(v)).sum()
            };
            for (p, q) in (0..b).flat_map(|p| (0..b).map(move |q| (p, q))) {
                let sum: f64 = (0..b).map(|k| block(p, k) * gram(k, q) + gram(p, k) * block(k, q)).sum();
                let expected = a.get(i * b + p, i * b + q) + a.get(i * b + q, i * b + p);
                assert!((sum - expected).abs() < 1e-10, "block {i} of {b}: {sum} for {expected}");
            }
        }
    }
    // A row 1e-10 as large as the other rows, and almost orthogonal to them: M₀₂ (γ₀ + γ₂) = −1e-17 M₂₂ up to
    // a relative error of 1e-10.
    let a = dense([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-17, 0.0, 1e-10]]);
    let parameters = Chebyshev { degree: 1, scaling: Scaling::Spai0, ..Chebyshev::default() };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    let theta = 0.5 * (m.radius() + m.radius() / 30.0);
    let z = applied(&mut m, &vec![0.0, 0.0, theta]);
    assert!((z[0] / -1e-7 - 1.0).abs() < 1e-6 && (z[2] / 1e10 - 1.0).abs() < 1e-6, "{z:?}");
    // An error for a node with only zeros contains its first scalar row.
    let mut zero = chain(5, 3, 9.0, 0.0);
    zero.values_mut()[9 * 5..9 * 8].fill(0.0); // the three blocks of node 2
    let expected = SetupError::ZeroDiagonal { row: 6, method: "spai0" };
    assert_eq!(parameters.build(&zero, &Cpu::new()).err(), Some(expected));
}

/// If the middle eighth, where Lanczos starts, contains the stiff rows, vectors are allocated only for this
/// part.
#[test]
fn a_spectrum_is_first_looked_for_in_the_middle() {
    const N: usize = 1 << 16;
    let looked_at = |stiff: std::ops::Range<usize>| {
        let link = |i: usize| if stiff.contains(&i) && stiff.contains(&(i + 1)) { -1.0 } else { 0.0 };
        let entries: Vec<(u32, u32, f64)> = (0..N as u32)
            .flat_map(|i| [(i, i, 2.0), (i, i + 1, link(i as usize)), (i + 1, i, link(i as usize))])
            .filter(|e| e.0.max(e.1) < N as u32)
            .collect();
        let a = assembly::from_triplets(N, N, &entries).unwrap();
        let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let mut spectrum = Spectrum::new(6, 1.1);
        assert_eq!(spectrum.bytes(), 0);
        assert_eq!(spectrum.bound(&a, &inverses).unwrap(), 2.0);
        spectrum.bytes() / (5 * 8)
    };
    let (first, size) = (N / 16 * 7, N / 8);
    assert_eq!(looked_at(0..N), size);
    assert_eq!(looked_at(first..first + size), size);
    assert_eq!(looked_at(first + 3 * size / 8..first + 5 * size / 8), size);
    // If the stiff rows are outside the part, or inside but far from the start of Lanczos, all of A is used.
    assert_eq!(looked_at(first + size..first + 3 * size), size + N);
    assert_eq!(looked_at(first..first + size / 4), size + N);
}

/// If a block stays indefinite with twice its diagonal, the error contains the pivot of its Cholesky
/// factorisation.
#[test]
fn the_pivot_named_is_that_of_cholesky() {
    let name = |block: [[f64; 3]; 3]| {
        let mut l = [[0.0; 3]; 3];
        let mut pivot = f64::NAN;
        'rows: for i in 0..3 {
            for j in 0..=i {
                let own = if i == j { 2.0 } else { 1.0 } * block[i][j];
                let left = own - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
                if i == j && left <= 0.0 {
                    pivot = left;
                    break 'rows;
                }
                l[i][j] = if i == j { left.sqrt() } else { left / l[j][j] };
            }
        }
        let error = Ic0 { first_shift: 1.0 }.build(&dense(block), &Cpu::new()).err();
        let Some(SetupError::Pivot { method: "ic0", row: 0, pivot: found, shift: 1.0 }) = error else {
            panic!("{error:?}")
        };
        assert!((found - pivot).abs() < 1e-14 * block[0][0], "{found} for {pivot}");
    };
    name([[2.0, 1.0, 2.0], [1.0, 2.5, 3.0], [2.0, 3.0, 0.75]]);
    name([[3.0, 2.0, -1.5], [2.0, 4.5, 3.5], [-1.5, 3.5, 0.5]]);
    name([[3.0, 7.0, 0.0], [7.0, 4.0, 0.0], [0.0, 0.0, 1.0]]);
    name([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, -2.0]]);
}

/// A soft unknown next to a stiff unknown has a positive pivot.
#[test]
fn a_soft_unknown_beside_a_stiff_one_needs_no_shift() {
    for stiff in 0..3 {
        let mut block = [[1.0, 0.25, 0.5], [0.25, 1.0, 0.125], [0.5, 0.125, 1.0]];
        block[stiff][stiff] = 1e20;
        assert_eq!(Ic0::default().build(&dense(block), &Cpu::new()).unwrap().shift(), 0.0, "{stiff}");
    }
}

/// If a chain is not positive definite, A + α diag(A) is factorised; the factorisation is exact, because
/// there is no fill.
#[test]
fn the_shift_is_a_share_of_the_diagonal() {
    for (b, diagonal) in [(1, 0.8), (2, 1.1), (3, 1.5)] {
        let a = chain(20, b, diagonal, 0.0);
        let r = right_hand_side(a.shape().0);
        let mut m = Ic0 { first_shift: 0.01 }.build(&a, &Cpu::new()).unwrap();
        assert!(m.shift() >= 0.01, "blocks of {b}: {}", m.shift());
        let z = applied(&mut m, &r);
        let mut back = vec![0.0; r.len()];
        a.apply(&z, &mut back);
        (0..r.len()).for_each(|i| back[i] += m.shift() * a.get(i, i) * z[i]);
        let size = z.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
        let off = back.iter().zip(&r).fold(0.0_f64, |s, (x, y)| s.max((x - y).abs()));
        assert!(off < 1e-12 * size, "blocks of {b}, shift {}: off by {off:e} of {size:e}", m.shift());
    }
}

/// If A is known to be symmetric, updates do not compare its halves, and give the same numbers.
#[test]
fn known_symmetry_is_not_checked() {
    let a = elasticity3d(3, 1.0).unwrap().matrix;
    let mut wind = a.clone();
    let far = wind.pattern().range(0).find(|&k| wind.pattern().indices()[k] != 0).unwrap();
    wind.values_mut()[9 * far] += 1.0;
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let r = right_hand_side(a.shape().0);
    let updated = [false, true].map(|symmetric| {
        let mut m = GaussSeidel { symmetric, ..GaussSeidel::default() }.build(&a, &Cpu::new()).unwrap();
        m.prepare(&wind).unwrap();
        assert_eq!(m.facts().largest.is_some(), symmetric);
        m.update(&twice).unwrap();
        assert_eq!((m.matrix().is_none(), Smoother::kind(&m)), (true, PreconditionerKind::Symmetric));
        let largest = m.facts().largest.unwrap();
        let mut not_finite = a.clone();
        not_finite.values_mut()[9 * far] = f64::NAN;
        assert!(m.update(&not_finite).is_err());
        (applied(&mut m, &r), largest)
    });
    assert_eq!(updated[0], updated[1]);
}

/// Row sums of absolute values are positive where the diagonal is zero or negative, so M is positive definite.
#[test]
fn l1_jacobi_is_positive_definite_for_indefinite_matrices() {
    let entries = [(0, 0, -2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 2, 3.0), (2, 1, 3.0), (2, 2, 1.0)];
    let a = coarsen_sparse::assembly::from_triplets(3, 3, &entries).unwrap();
    let mut m = Jacobi { l1: true, ..Jacobi::default() }.build(&a, &Cpu::new()).unwrap();
    assert_eq!(Preconditioner::<Vec<f64>>::kind(&m), PreconditionerKind::Symmetric);
    let mut z = vec![0.0; 3];
    m.apply(&vec![3.0, 8.0, -8.0], &mut z);
    assert_eq!(z, [1.0, 2.0, -2.0]);
    assert!(Jacobi::default().build(&a, &Cpu::new()).is_err(), "the diagonal has a zero");
}
