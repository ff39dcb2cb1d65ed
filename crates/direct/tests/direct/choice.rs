//! The change from one factorisation to another, and the factor of an analysis.

use coarsen_core::{LinearOperator, Preconditioner};
use coarsen_direct::{DirectError, Engine, Factor, Method};
use coarsen_sparse::{Bsr, assembly};

use super::common::{build, direct, grid, residual, small};

/// Nearly singular columns with bad scaling, beside a unit matrix with which faer factors: the pivots of Cholesky stay
/// positive although its factor is useless, while LDLᵀ chooses other pivots.
fn misleading() -> Bsr<f64> {
    let [a, b, c] = [1.0, 0.4187527736648917, -7.24814929999411e-8];
    let [d, e, f] = [1.17535388545204, -1.3830313716200872e-7, 1.6907052358770924e-14];
    let rows = [[a, b, c], [b, d, e], [c, e, f]];
    let entries = (0..9).map(|e| (e / 3, e % 3, rows[e as usize / 3][e as usize % 3]));
    assembly::from_triplets(400, 400, &entries.chain((3..400).map(|i| (i, i, 1.0))).collect::<Vec<_>>())
        .unwrap()
}

/// Solves for the solution of ones and checks the residual.
fn reproduces(factor: &mut Factor, a: &Bsr<f64>) {
    let (ones, mut b, mut x) = (vec![1.0; a.shape().0], vec![0.0; a.shape().0], vec![0.0; a.shape().0]);
    a.apply(&ones, &mut b);
    factor.solve(&b, &mut x).unwrap();
    assert!(residual(a, &b, &x) < 1e-12);
}

#[test]
fn a_useless_cholesky_factor_is_replaced_by_ldlt() {
    let a = misleading();
    let misled = super::ENGINE == Engine::Fastest; // only the rounding of faer misleads Cholesky
    let pivots = misled && build(Method::Ldlt, &a).is_ok(); // on some processors rounding misleads LDLT too
    if misled {
        assert!(matches!(build(Method::Cholesky, &a), Err(DirectError::Singular { .. })));
    }
    if pivots {
        let mut factor = build(Method::Auto, &a).unwrap();
        assert_eq!(factor.method(), Method::Ldlt);
        assert!(matches!(factor.fallback(), Some(DirectError::Singular { .. })));
        reproduces(&mut factor, &a);
    } else if misled {
        match build(Method::Auto, &a) {
            Ok(mut factor) => reproduces(&mut factor, &a),
            Err(error) => assert!(matches!(error, DirectError::Singular { .. }), "{error}"),
        }
    }
    // The results after an update to this matrix, and to an indefinite matrix.
    let mut sound = a.clone();
    let values = [3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 3.0];
    sound.values_mut()[..9].copy_from_slice(&values);
    let mut indefinite = sound.clone();
    indefinite.values_mut()[1] = 5.0;
    indefinite.values_mut()[3] = 5.0;
    for next in [&a, &indefinite].into_iter().skip(usize::from(!pivots)) {
        let mut factor = build(Method::Auto, &sound).unwrap();
        assert_eq!((factor.method(), factor.fallback()), (Method::Cholesky, None));
        factor.refactor(next).unwrap();
        assert_eq!(factor.method(), Method::Ldlt);
        assert!(factor.fallback().is_some());
        reproduces(&mut factor, next);
        factor.refactor(&sound).unwrap();
        assert_eq!(factor.method(), Method::Ldlt, "what was left is not taken again");
        reproduces(&mut factor, &sound);
        let mut asked = build(Method::Cholesky, &sound).unwrap();
        assert!(asked.refactor(next).is_err());
        assert_eq!(asked.method(), Method::Cholesky);
        reproduces(&mut asked, &sound);
    }
    // If every method fails, the old factor is kept.
    let mut zero = sound.clone();
    zero.values_mut().fill(1.0);
    let mut factor = build(Method::Auto, &sound).unwrap();
    assert!(matches!(factor.refactor(&zero), Err(DirectError::Singular { .. })));
    assert_eq!(factor.method(), Method::Cholesky);
    reproduces(&mut factor, &sound);
}

/// Unsymmetric values on the pattern of a symmetric matrix: `Method::Auto` changes to LU, as in a build. Other
/// methods refuse them and keep the old factor.
#[test]
fn an_update_may_lose_symmetry() {
    let (spd, indefinite) = (small(&[&[2.0, 1.0], &[1.0, 2.0]]), small(&[&[2.0, 3.0], &[3.0, 2.0]]));
    let skew = small(&[&[2.0, 1.0], &[-1.0, 2.0]]);
    for before in [&spd, &indefinite] {
        let mut factor = build(Method::Auto, before).unwrap();
        factor.refactor(&skew).unwrap();
        assert_eq!(factor.method(), Method::Lu);
        assert!(matches!(factor.fallback(), Some(DirectError::NotSymmetric { row: 0, column: 1, .. })));
        reproduces(&mut factor, &skew);
        factor.refactor(before).unwrap();
        reproduces(&mut factor, before);
        let mut asked = build(Method::Ldlt, before).unwrap();
        assert!(matches!(asked.refactor(&skew), Err(DirectError::NotSymmetric { .. })));
        reproduces(&mut asked, before);
    }
}

/// An analysis, factored with the same or with other values, gives the same bits as a build.
#[test]
fn an_analysis_becomes_the_factor() {
    let (a, stiffer) = (grid(20, 0.0), grid(20, 0.3));
    let rhs: Vec<f64> = (0..400).map(|i| f64::from(i).sin()).collect();
    for method in [Method::Auto, Method::Cholesky, Method::Ldlt, Method::Lu] {
        let parameters = direct(method);
        for b in [&a, &stiffer] {
            let analysis = parameters.analyse(&a).unwrap();
            let (expected, stats) = (analysis.method(), analysis.stats());
            assert_eq!(parameters.estimate(&a), Ok((expected, stats)));
            let mut factor = analysis.factor(b).unwrap();
            assert_eq!((factor.method(), factor.stats().nnz), (expected, stats.nnz));
            let (mut z, mut built) = (vec![0.0; 400], vec![0.0; 400]);
            factor.apply(&rhs, &mut z);
            parameters.factor(b).unwrap().apply(&rhs, &mut built);
            assert_eq!(z, built, "{method:?}");
        }
    }
    // Values that require another method, and matrices of another pattern.
    let analyse = |a: &Bsr<f64>| direct(Method::Auto).analyse(a).unwrap();
    let mut skew = a.clone();
    skew.values_mut()[1] = -0.5;
    let mut factor = analyse(&a).factor(&skew).unwrap();
    assert_eq!(factor.method(), Method::Lu);
    reproduces(&mut factor, &skew);
    let indefinite = grid(20, -2.9);
    let mut factor = analyse(&a).factor(&indefinite).unwrap();
    assert_eq!(factor.method(), Method::Ldlt);
    reproduces(&mut factor, &indefinite);
    assert_eq!(analyse(&a).factor(&grid(21, 0.0)).err(), Some(DirectError::Pattern));
    skew.values_mut()[2] = f64::NAN;
    assert!(matches!(analyse(&a).factor(&skew), Err(DirectError::NotFinite { .. })));
}
