//! Sequences of systems: symmetry, mass, contacts, and texts that are refused.

use coarsen_core::{LinearOperator, parallel};
use coarsen_problems::{Options, ProblemError, Sequence};

fn sequence(spec: &str, steps: usize) -> Sequence {
    Sequence::parse(spec, steps, &Options::default()).unwrap()
}

/// E + C is bitwise symmetric in every step, and translations cause only inertial forces.
#[test]
fn every_step_is_symmetric_and_annihilates_translations() {
    for spec in ["cloth-contact:9", "stack:6"] {
        let mut s = sequence(spec, 4);
        loop {
            let a = s.sum().merge().unwrap();
            assert_eq!(a.asymmetric_pair(0.0), None, "{spec} {}", s.step());
            let x: Vec<f64> = (0..a.shape().0).map(|i| f64::from(i % 3 == 2)).collect();
            let mut y = vec![0.0; x.len()];
            a.apply(&x, &mut y);
            let total: f64 = y.iter().sum();
            let largest = a.diagonal().iter().fold(0.0_f64, |m, v| m.max(*v));
            // Four sheets of 1 m²; a sheet above a shell of 1.06² m² that is 1e12 times as heavy.
            let mass = if spec == "stack:6" { 0.8 } else { 0.2 + 0.2 * 1e12 * 1.06 * 1.06 };
            assert!((total - mass).abs() < 1e-12 * largest * x.len() as f64, "{spec}: {total} for {mass}");
            if !s.advance().unwrap() {
                break;
            }
        }
        assert_eq!(s.step(), 3);
        assert!(!s.advance().unwrap());
    }
}

/// The stiffness is κ n nᵀ with a unit normal n: out of the sphere, or along the gap of two layers. Gaps are small, and
/// positive up to the noise. In the last step every vertex of the sheet is in contact.
#[test]
fn contacts_are_where_the_sheets_are() {
    let kappa = 0.01 * 0.01 * 1000.0 * 5e3;
    let size = |v: [f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    for (spec, last, reach) in [("cloth-contact:12", 3 * 144, 0.05), ("stack:8", 3 * 64, 0.7)] {
        let mut s = sequence(spec, 6);
        loop {
            for (stencil, stiffness) in s.stencils().iter().zip(s.stiffness().chunks_exact(9)) {
                let gap: [f64; 3] = std::array::from_fn(|c| {
                    let at = |(&i, w): (&u32, &f64)| w * s.positions()[i as usize][c];
                    stencil.nodes().iter().zip(stencil.weights()).map(at).sum()
                });
                let out = if spec == "stack:8" { gap } else { s.positions()[stencil.nodes()[0] as usize] };
                let n = out.map(|x| x / size(out));
                for (e, k) in stiffness.iter().enumerate() {
                    assert!((k / kappa - n[e / 3] * n[e % 3]).abs() < 1e-12, "{spec}: {stiffness:?} {n:?}");
                }
                let along: f64 = gap.iter().zip(n).map(|(g, n)| g * n).sum();
                assert!(along > -0.005 && size(gap) < reach, "{spec}: gap {gap:?} along {n:?}");
            }
            if !s.advance().unwrap() {
                break;
            }
        }
        assert_eq!(s.pairs(), last);
    }
}

/// A vertex of the sheet touches the triangle of the shell below it: in the flat sheets, turned by the angle of the step,
/// the weighted corners are at the vertex.
#[test]
fn faces_below_are_those_of_the_shell() {
    let (n, steps) = (9, 5);
    let mut s = sequence("cloth-contact:9", steps);
    let flat = |i: u32| -> [f64; 2] {
        let (i, m, side) = if i < 81 { (i, n, 1.0) } else { (i - 81, n / 2 + 2, 1.06) };
        [i / m, i % m].map(|k| side * (f64::from(k) / f64::from(m - 1) - 0.5))
    };
    let mut seen = 0;
    loop {
        let (sin, cos) = (-0.02 * s.step() as f64 / (steps - 1) as f64).sin_cos();
        for stencil in s.stencils() {
            let ([vertex, face @ ..], [_, beta @ ..]) = (stencil.nodes(), stencil.weights()) else {
                panic!()
            };
            let sorted = |mut t: Vec<u32>| {
                t.sort_unstable();
                t
            };
            let own = sorted(face.to_vec());
            assert!(own[0] >= 81 && s.triangles().iter().any(|t| sorted(t.to_vec()) == own), "{own:?}");
            assert!(beta.iter().all(|b| -b > -1e-12));
            let [x, y] = flat(*vertex);
            for (c, p) in [cos * x - sin * y, sin * x + cos * y].into_iter().enumerate() {
                let at: f64 = face.iter().zip(beta).map(|(&i, b)| -b * flat(i)[c]).sum();
                assert!((at - p).abs() < 1e-12, "{at} {p}");
            }
            seen += 1;
        }
        if !s.advance().unwrap() {
            break;
        }
    }
    assert!(seen > 150, "{seen}");
}

#[test]
fn sequences_have_the_same_bits_on_any_number_of_threads() {
    let run = || {
        let mut s = sequence("cloth-contact:40", 3);
        while s.advance().unwrap() {}
        (s.elastic().clone(), s.contact().values().to_vec(), s.touched().to_vec())
    };
    let one = parallel::threads(1, run).unwrap();
    assert_eq!(one, parallel::threads(3, run).unwrap());
}

#[test]
fn wrong_names_of_sequences_are_named() {
    let none = Options::default();
    let error = |spec: &str, steps| Sequence::parse(spec, steps, &none).err();
    assert!(matches!(error("stack", 3), Some(ProblemError::Spec { .. })));
    assert!(matches!(error("cloth:9", 3), Some(ProblemError::NotSequence { .. })));
    assert!(matches!(error("clth:9", 3), Some(ProblemError::Unknown { .. })));
    assert!(matches!(error("stack:2", 3), Some(ProblemError::Size { .. })));
    assert_eq!(error("stack:5", 0), Some(ProblemError::Steps));
    assert!(Sequence::is_named("stack:5") && !Sequence::is_named("cloth:5"));
    let overflow = Options { dt: Some(1e200), ..none };
    assert!(matches!(Sequence::parse("stack:5", 2, &overflow), Err(ProblemError::Sparse(_))));
}
