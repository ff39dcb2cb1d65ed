//! Singular coarsest levels: the motions of unconstrained components and the kernels of mechanisms are deflated, and unsymmetric
//! levels have a pseudo-inverse.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused};
use coarsen_core::{Preconditioner, PreconditionerKind};
use coarsen_direct::Dense;
use coarsen_sparse::{Bsr, NearKernel, System, assembly};

use crate::common::{applied, dot, given, times};

type Points = Vec<[f64; 3]>;

/// The nodes of a lattice, moved by `shift`.
fn lattice(n: usize, shift: f64) -> Points {
    let node = |i: usize| [i % n, i / n % n, i / n / n].map(|c| c as f64 + shift);
    (0..n.pow(3)).map(node).collect()
}

/// Springs between nodes less than two apart, unless `apart` keeps them apart, and anchors of some nodes.
fn truss(
    points: &Points,
    apart: impl Fn(usize, usize) -> bool,
    anchors: &[usize],
    stiffness: f64,
) -> Bsr<f64> {
    let (mut places, mut values) = (Vec::new(), Vec::new());
    let mut add = |i: usize, j: usize, block: [f64; 9]| {
        places.push((i as u32, j as u32));
        values.extend(block);
    };
    for (i, x) in points.iter().enumerate() {
        for (j, y) in points.iter().enumerate().skip(i + 1) {
            let d = [0, 1, 2].map(|c| y[c] - x[c]);
            let squared: f64 = d.iter().map(|d| d * d).sum();
            if squared > 3.1 || apart(i, j) {
                continue;
            }
            let s = stiffness * (1.0 + (i % 3) as f64);
            let spring: [f64; 9] = std::array::from_fn(|e| s * d[e / 3] * d[e % 3] / squared);
            add(i, i, spring);
            add(j, j, spring);
            add(i, j, spring.map(|v| -v));
            add(j, i, spring.map(|v| -v));
        }
    }
    let unit: [f64; 9] = std::array::from_fn(|e| if e % 4 == 0 { stiffness } else { 0.0 });
    anchors.iter().for_each(|&i| add(i, i, unit));
    assembly::from_blocks((points.len(), points.len()), (3, 3), &places, &values).unwrap()
}

/// Whether the solver gives A⁺ r.
fn is_pseudo_inverse(m: &mut dyn Preconditioner<Vec<f64>>, a: &Bsr<f64>, rank: usize) {
    let r = noise(a.shape().0, 3);
    let mut dense = Dense::default().invert(a).unwrap();
    assert_eq!(dense.rank(), rank);
    let (found, expected) = (applied(m, &r), applied(&mut dense, &r));
    let off: Vec<f64> = found.iter().zip(&expected).map(|(f, e)| f - e).collect();
    assert!(dot(&off, &off) <= 1e-18 * dot(&expected, &expected), "{:.1e}", dot(&off, &off));
}

/// Two unconstrained bodies, a body on a hinge, two particles in contact with nothing, and a held body: each motion of each
/// component is deflated, with a near-kernel, with positions, and for other values.
#[test]
fn motions_of_several_bodies_are_deflated() {
    let mut points = lattice(3, 0.0);
    points.extend(lattice(2, 10.0));
    points.extend(lattice(3, 20.0));
    points.extend(lattice(2, 30.0));
    let hinge = [27 + 8, 27 + 8 + 1];
    let held = [70, 71, 72, 73].map(|i| i - 70 + 27 + 8 + 27);
    let anchors = [&hinge[..], &held[..]].concat();
    let n = 3 * points.len();
    let matrices = [1.0, 5.0].map(|s| truss(&points, |_, _| false, &anchors, s));
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let parameters = given(vec![], 1);
    for system in [
        System { near_kernel: Some(&modes), ..System::from(&matrices[0]) },
        System { positions: Some(&points), ..System::from(&matrices[0]) },
    ] {
        let mut m = parameters.build(system, &Cpu::new()).unwrap();
        assert!(m.to_string().contains(" a deflated factor "), "{m}");
        assert_eq!(m.kind(), PreconditionerKind::Symmetric);
        is_pseudo_inverse(&mut m, &matrices[0], n - 13);
        for a in [&matrices[1], &matrices[0]] {
            assert_eq!(m.update(a).unwrap(), Reused::Structure); // with the near-kernel of the build
            assert!(m.to_string().contains(" a deflated factor "), "{m}");
            is_pseudo_inverse(&mut m, a, n - 13);
        }
    }
}

/// Two cubes that share an edge can turn about it: not a motion of the whole component. The kernel is decomposed once, and updates
/// deflate it. With anchors there is no kernel.
#[test]
fn a_mechanism_is_deflated() {
    let mut points = lattice(2, 0.0);
    points
        .extend(lattice(2, 1.0).into_iter().map(|[x, y, z]| [x, y, z - 1.0]).filter(|x| x[..2] != [1.0; 2]));
    let within = |i: usize, low: f64| points[i][..2].iter().all(|c| (low..=low + 1.0).contains(c));
    let apart = |i, j| ![0.0, 1.0].iter().any(|&low| within(i, low) && within(j, low));
    let [soft, stiff] = [1.0, 5.0].map(|stiffness| truss(&points, apart, &[], stiffness));
    let anchors: Vec<usize> = (0..points.len()).collect();
    let anchored = truss(&points, apart, &anchors, 1.0);
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let n = soft.shape().0;
    for given_modes in [Some(&modes), None] {
        let system = System { near_kernel: given_modes, ..System::from(&soft) };
        let mut m = given(vec![], 1).build(system, &Cpu::new()).unwrap();
        for (a, rank) in [(&soft, n - 7), (&stiff, n - 7), (&anchored, n), (&soft, n - 7)] {
            m.update(a).unwrap();
            let name = if rank < n { " a deflated factor " } else { " a factor " };
            assert!(m.to_string().contains(name), "{m}");
            is_pseudo_inverse(&mut m, a, rank);
        }
    }
}

/// Rows that sum to zero, and columns that do not.
#[test]
fn an_unsymmetric_singular_level_has_a_pseudo_inverse() {
    let row =
        |i: u32| [(i, i, 2.0 + f64::from(i)), (i, (i + 1) % 9, -1.0), (i, (i + 8) % 9, -1.0 - f64::from(i))];
    let a = assembly::from_triplets(9, 9, &(0..9).flat_map(row).collect::<Vec<_>>()).unwrap();
    let mut m = given(vec![], 1).build(&a, &Cpu::new()).unwrap();
    assert!(m.to_string().contains(" a pseudo-inverse "), "{m}");
    is_pseudo_inverse(&mut m, &a, 8);
    assert_eq!(m.bytes(), 4 * 8 * 81 + 16 * 9 + 2 * 8 * 9); // A, A⁺, two bases, two vectors
}

/// An unconstrained body with more unknowns than a pseudo-inverse takes.
#[test]
fn a_large_unconstrained_body_is_deflated() {
    let points = lattice(11, 0.0);
    let a = truss(&points, |_, _| false, &[], 1.0);
    let modes = NearKernel::rigid_body_modes(&points, 3).unwrap();
    let system = System { near_kernel: Some(&modes), ..System::from(&a) };
    let mut m = given(vec![], 1).build(system, &Cpu::new()).unwrap();
    let r = noise(a.shape().0, 3);
    let x = applied(&mut m, &r);
    // r − A x is orthogonal to x and to A y for any y: it is a rigid motion.
    let off: Vec<f64> = times(&a, &x).iter().zip(&r).map(|(ax, r)| r - ax).collect();
    let (image, rest) = (times(&a, &noise(r.len(), 4)), times(&a, &off));
    assert!(dot(&rest, &rest) <= 1e-16 * dot(&r, &r), "{:.1e}", dot(&rest, &rest));
    assert!(dot(&off, &image).abs() <= 1e-8 * dot(&image, &image));
    for mode in 0..6 {
        assert!(dot(&x, &modes.column(mode)).abs() <= 1e-8 * dot(&x, &x), "a motion of its own");
    }
}
