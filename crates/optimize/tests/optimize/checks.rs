//! Checks of derivatives by differences and by dual numbers.

use coarsen_core::{Dot, Error, LinearOperator, Objective};
use coarsen_optimize::{
    Dual, Rosenbrock, check_gradient, check_gradient_by_duals, check_hessian, check_hessian_by_duals,
};

/// Rosenbrock's value with a gradient that is wrong in one entry.
struct Wrong;

impl Objective<Vec<f64>> for Wrong {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        Rosenbrock.value(x)
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        Rosenbrock.gradient(x, g);
        g[1] *= 1.001;
    }
}

#[test]
fn right_gradients_pass_and_wrong_ones_do_not() {
    let (x, d) = (Rosenbrock::start::<f64>(6), vec![0.1, 0.2, -0.3, 0.15, 0.1, -0.2]);
    assert!(check_gradient(&mut Rosenbrock, &x, &d).unwrap().error < 1e-11);
    assert!(check_gradient(&mut Wrong, &x, &d).unwrap().error > 1e-5);
    let x = Rosenbrock::start::<f32>(6);
    let d: Vec<f32> = d.iter().map(|&v| v as f32).collect();
    assert!(check_gradient(&mut Rosenbrock, &x, &d).unwrap().error < 1e-4);
}

/// |x|³ with the gradient 3 |x|² x / |x|, which is NaN at 0, where all differences are 0.
struct Cusp;

impl Objective<Vec<f64>> for Cusp {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        x[0].abs().powi(3).into()
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        g[0] = 3.0 * x[0].powi(2) * (x[0] / x[0].abs());
    }
}

#[test]
fn numbers_that_are_not_finite_agree_with_nothing() {
    let (x, d) = (vec![0.0], vec![1.0]);
    let found = check_gradient(&mut Cusp, &x, &d).unwrap();
    assert!(found.error == f64::INFINITY && found.given.is_nan(), "{found:?}");
    let nan = coarsen_core::from_fn(1, |_: &Vec<f64>, y: &mut Vec<f64>| y[0] = f64::NAN);
    let found = check_hessian(&mut Rosenbrock, &nan, &x, [&d, &d]).unwrap();
    assert_eq!(found.error, f64::INFINITY);
    // Dual numbers give both sides of the comparison.
    struct Slope(f64);
    impl Objective<Vec<f64>> for Slope {
        fn value(&mut self, _: &Vec<f64>) -> Dot<f64> {
            0.0.into()
        }
        fn gradient(&mut self, _: &Vec<f64>, g: &mut Vec<f64>) {
            g[0] = self.0;
        }
    }
    let error = |given: f64, measured: f64| {
        let again = |_: &[Dual<f64>]| Dual::along(&[0.0], &[measured])[0];
        check_gradient_by_duals(&mut Slope(given), again, &x, &d).unwrap().error
    };
    for (given, measured) in [(f64::NAN, 0.0), (0.0, f64::NAN), (f64::INFINITY, f64::INFINITY)] {
        assert_eq!(error(given, measured), f64::INFINITY);
    }
    assert_eq!(error(0.0, 0.0), 0.0);
}

#[test]
fn sizes_are_checked() {
    let short = check_gradient(&mut Rosenbrock, &vec![1.0, 2.0], &vec![1.0]);
    assert!(matches!(short, Err(Error::Shape { expected: 2, found: 1, .. })));
}

/// A 3 x 2 matrix of zeros.
struct Tall;

impl LinearOperator<Vec<f64>> for Tall {
    fn shape(&self) -> (usize, usize) {
        (3, 2)
    }
    fn apply(&self, _: &Vec<f64>, y: &mut Vec<f64>) {
        y.fill(0.0);
    }
}

#[test]
fn a_hessian_that_is_not_square_is_named() {
    let (x, again) = (vec![0.0; 3], |_: &[Dual<f64>], _: &mut [Dual<f64>]| ());
    let refused = check_hessian_by_duals(&Tall, again, &x, [&x, &x]);
    assert_eq!(refused, Err(Error::NotSquare { rows: 3, columns: 2 }));
}
