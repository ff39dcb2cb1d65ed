//! Texts and numbers that are refused, random numbers, and scrambled matrices.

use coarsen_core::Error;
use coarsen_problems::{
    NumpyRandom, Options, Problem, ProblemError, cloth, elasticity3d, poisson2d, scrambled,
};
use coarsen_sparse::{Bsr, SparseError, assembly};

#[test]
fn wrong_texts_are_named() {
    let error = |spec: &str, options: Options| Problem::parse(spec, &options).unwrap_err();
    let none = Options::default();
    let (dt, jump) = (Options { dt: Some(0.01), ..none }, Options { jump: Some(10.0), ..none });
    for spec in ["cloth", "cloth:", "cloth:ten", "cloth:-5", "cloth:1e3", "garment:", ":", ""] {
        assert_eq!(error(spec, none), ProblemError::Spec { found: spec.to_owned() });
    }
    assert_eq!(error("poison2d:ten", none), ProblemError::Unknown { name: "poison2d".to_owned() });
    assert_eq!(error("stack:5", none), ProblemError::NotSystem { name: "stack".to_owned() });
    let unknown = error("poison2d:10", dt);
    assert_eq!(unknown, ProblemError::Unknown { name: "poison2d".to_owned() });
    for name in Problem::NAMES {
        assert!(unknown.to_string().contains(name), "{unknown}");
    }
    for (spec, options, option) in [
        ("poisson2d:4", dt, "dt"),
        ("graph:4", jump, "jump"),
        ("cloth:4", jump, "jump"),
        ("elasticity3d:5", dt, "dt"),
        ("pinned:4", jump, "jump"),
        ("cloth:4", Options { share: Some(0.1), ..none }, "share"),
    ] {
        let problem = spec.split(':').next().unwrap_or_default().to_owned();
        assert_eq!(error(spec, options), ProblemError::Option { problem, option });
    }
}

#[test]
fn wrong_sizes_and_values_are_named() {
    let none = Options::default();
    for spec in ["poisson2d:0", "jump3d:0", "jump3d:12", "elasticity3d:0", "cloth:2", "pinned:2", "graph:0"] {
        let error = Problem::parse(spec, &none).unwrap_err();
        assert!(matches!(error, ProblemError::Size { .. }), "{spec}: {error}");
        assert!(error.to_string().starts_with(spec), "{spec}: {error}");
    }
    for name in Problem::NAMES {
        let spec = format!("{name}:{}", 1_u64 << 62);
        let error = Problem::parse(&spec, &none).unwrap_err();
        assert!(matches!(error, ProblemError::TooLarge { .. }), "{spec}: {error}");
    }
    for jump in [1e-300, 1e13, 1e305] {
        assert!(matches!(elasticity3d(5, jump), Err(ProblemError::Contrast { .. })));
    }
    for jump in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(elasticity3d(5, jump), Err(ProblemError::Value { option: "jump", .. })));
        assert!(matches!(cloth(5, jump), Err(ProblemError::Value { option: "dt", .. })));
    }
    assert!(matches!(cloth(5, 1e200), Err(ProblemError::Sparse(_))));
    assert!(matches!(elasticity3d(7, 10.0), Err(ProblemError::Size { multiple: 5, .. })));
}

/// Seeds, each with the result of `np.random.default_rng(seed).random(3)`.
const DRAWS: [(u64, [f64; 3]); 4] = [
    (0, [0.6369616873214543, 0.2697867137638703, 0.04097352393619469]),
    (7, [0.625095466604667, 0.8972138009695755, 0.7756856902451935]),
    (11, [0.12857020276919962, 0.49927786244011496, 0.6014983576233575]),
    (1099511627779, [0.7736560850714245, 0.9958573802012665, 0.47317891460392636]),
];

/// `default_rng(seed).random()` of NumPy 2.4.
#[test]
fn random_numbers_are_those_of_numpy() {
    for (seed, draws) in DRAWS {
        let mut random = NumpyRandom::new(seed);
        assert_eq!(draws, [(); 3].map(|()| random.uniform()), "seed {seed}");
    }
}

#[test]
fn normal_numbers_have_mean_zero_and_variance_one() {
    let mut random = NumpyRandom::new(1);
    let n = 100_000;
    let x: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let moment = |k: i32| x.iter().map(|x| x.powi(k)).sum::<f64>() / f64::from(n);
    assert!(moment(1).abs() < 0.01 && (moment(2) - 1.0).abs() < 0.02 && (moment(4) - 3.0).abs() < 0.1);
}

#[test]
fn scrambling_keeps_the_signs_of_the_eigenvalues_and_the_sparsity() {
    let a = poisson2d(7).unwrap().matrix;
    let b = scrambled(&a, 3).unwrap();
    assert_eq!(a.nnz(), b.nnz());
    assert_ne!(a.pattern().indices(), b.pattern().indices());
    let coupling = |a: &Bsr<f64>, i: usize, j: usize| a.get(i, j) / (a.get(i, i) * a.get(j, j)).sqrt();
    let sum = |a: &Bsr<f64>| {
        (0..49).flat_map(|i| (0..49).map(move |j| (i, j))).map(|(i, j)| coupling(a, i, j)).sum::<f64>()
    };
    assert!((sum(&a) - sum(&b)).abs() < 1e-10);
}

#[test]
fn matrices_that_are_not_square_are_refused_and_any_seed_is_taken() {
    let wide = assembly::from_triplets(1, 2, &[(0, 1, 1.0)]).unwrap();
    let refused = scrambled(&wide, 3).unwrap_err();
    assert!(matches!(refused, ProblemError::Core(Error::NotSquare { rows: 1, columns: 2 })), "{refused}");
    let flat = assembly::from_blocks((1, 2), (2, 1), &[(0, 0), (0, 1)], &[1.0; 4]).unwrap();
    let refused = scrambled(&flat, 3).unwrap_err();
    assert!(
        matches!(refused, ProblemError::Sparse(SparseError::Shape { expected: 1, found: 2, .. })),
        "{refused}"
    );
    let a = poisson2d(3).unwrap().matrix;
    assert_eq!(scrambled(&a, u64::MAX).unwrap().nnz(), a.nnz());
}
