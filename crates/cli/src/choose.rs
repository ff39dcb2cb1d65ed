//! `auto`: method and preconditioner from what `diagnose` measures, never from a name.
//!
//! | matrix | unknowns | method | preconditioner |
//! |---|---|---|---|
//! | symmetric, nothing against positive definite | to `QUICK` | direct | |
//! | | more | cg | ic0, else block-jacobi, else jacobi |
//! | symmetric, not positive definite | to `HARD` | direct | |
//! | | more | minres | jacobi where the diagonal is positive, else none |
//! | unsymmetric | to `HARD` | direct | |
//! | | more | gmres | ilu0, else jacobi, else none |
//!
//! A direct method is left out where an option speaks against it: a preconditioner, a null space, a precision other
//! than f64, or a component that floats.

use coarsen::sparse::diagnose::{Definiteness, Diagnosis, Values};

use crate::args::{Method, Precond, name};
use crate::ending::Ending;

/// Unknowns up to which any symmetric matrix is factored within about a second: n³/3 operations if it fills up.
const QUICK: usize = 2_000;

/// Unknowns up to which factoring is preferred to iterations without a safe preconditioner.
const HARD: usize = 20_000;

/// What will be done, and why.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) method: Method,
    /// The first that can be set up is taken; never empty.
    pub(crate) preconds: Vec<Precond>,
    /// A line on the method, a line on the preconditioner.
    pub(crate) because: [String; 2],
}

/// What the user asked for beside the matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    /// Whether an option speaks against a direct method.
    pub(crate) iterate: bool,
}

impl Choice {
    /// Decides.
    pub(crate) fn new(wish: Wish, n: usize, diagnosis: &Diagnosis) -> Self {
        let values = diagnosis.values.as_ref();
        let (method, why) = match wish.method {
            Method::Auto => method(wish, n, values),
            asked => (asked, "as asked".to_owned()),
        };
        let (preconds, how) = match wish.precond {
            _ if method == Method::Direct => (vec![Precond::None], "a factorisation needs none".to_owned()),
            Precond::Auto => preconds(method, values),
            asked => (vec![asked], "as asked".to_owned()),
        };
        let because = [format!("{}: {why}", name(method)), format!("{}: {how}", name(preconds[0]))];
        Self { method, preconds, because }
    }
}

fn method(wish: Wish, n: usize, values: Option<&Values>) -> (Method, String) {
    let Some(values) = values.filter(|v| v.symmetry.holds()) else {
        let seen = values.map_or("unsymmetric".to_owned(), |v| v.symmetry.to_string());
        return if n <= HARD && !wish.iterate {
            (Method::Direct, format!("{seen}; {n} unknowns are few enough to factor"))
        } else {
            (Method::Gmres, format!("{seen}, {n} unknowns"))
        };
    };
    let seen = format!("symmetric, {}", values.definiteness);
    let floats = values.floating > 0;
    match values.definiteness {
        Definiteness::Positive | Definiteness::MaybePositive if n <= QUICK && !wish.iterate && !floats => {
            (Method::Direct, format!("{seen}; {n} unknowns are quick to factor"))
        }
        Definiteness::Positive | Definiteness::MaybePositive if floats => (
            Method::Cg,
            format!("{seen}; constants are in the kernel, which --null-space constants takes out"),
        ),
        Definiteness::Positive | Definiteness::MaybePositive => (Method::Cg, format!("{seen}; {n} unknowns")),
        _ if n <= HARD && !wish.iterate => {
            (Method::Direct, format!("{seen}; {n} unknowns are few enough to factor"))
        }
        _ => (Method::Minres, format!("{seen}; {n} unknowns")),
    }
}

fn preconds(method: Method, values: Option<&Values>) -> (Vec<Precond>, String) {
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let positive = !zero && values.is_some_and(|v| v.negative_diagonal == 0);
    let definite = values
        .is_some_and(|v| matches!(v.definiteness, Definiteness::Positive | Definiteness::MaybePositive));
    match method {
        Method::Cg | Method::Fcg | Method::Minres if definite => (
            vec![Precond::Ic0, Precond::BlockJacobi, Precond::Jacobi],
            "the strongest of the safe ones for a matrix that may be positive definite".to_owned(),
        ),
        Method::Minres if positive => (
            vec![Precond::Jacobi, Precond::None],
            "the diagonal is positive although the matrix is not; factors would not be".to_owned(),
        ),
        Method::Gmres | Method::Bicgstab if !zero => (
            vec![Precond::Ilu0, Precond::Jacobi, Precond::None],
            "takes unsymmetric matrices, and no diagonal entry is zero".to_owned(),
        ),
        Method::Gmres | Method::Bicgstab => {
            (vec![Precond::None], "there are zeros on the diagonal, which all others divide by".to_owned())
        }
        _ => (vec![Precond::None], "no other is safe on a matrix that is not positive definite".to_owned()),
    }
}

/// Why a method cannot be used on this matrix, where the matrix itself shows it.
pub(crate) fn refuse(method: Method, diagnosis: &Diagnosis) -> Option<Ending> {
    let values = diagnosis.values.as_ref()?;
    let symmetric = matches!(method, Method::Cg | Method::Fcg | Method::Minres);
    if symmetric && !values.symmetry.holds() {
        let (row, column, here, there) = values.symmetry.worst?;
        return Some(Ending::Unsymmetric { row, column, here, there });
    }
    let why = match &values.definiteness {
        Definiteness::Indefinite(witness) => witness.to_string(),
        Definiteness::Negative | Definiteness::MaybeNegative => {
            "every diagonal entry is negative (negate matrix and right-hand side)".to_owned()
        }
        _ => return None,
    };
    matches!(method, Method::Cg | Method::Fcg).then_some(Ending::Indefinite { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::problems::poisson2d;
    use coarsen::sparse::Bsr;
    use coarsen::sparse::assembly::from_triplets;
    use coarsen::sparse::diagnose::diagnose;

    fn choose(a: &Bsr<f64>, method: Method, precond: Precond, iterate: bool) -> Choice {
        Choice::new(Wish { method, precond, iterate }, a.shape().0, &diagnose(a))
    }

    fn auto(a: &Bsr<f64>, iterate: bool) -> (Method, Precond) {
        let choice = choose(a, Method::Auto, Precond::Auto, iterate);
        assert!(choice.because.iter().all(|line| line.len() > 20), "{choice:?}");
        (choice.method, choice.preconds[0])
    }

    fn square(entries: [f64; 4]) -> Bsr<f64> {
        let [a, b, c, d] = entries;
        from_triplets(2, 2, &[(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)]).unwrap()
    }

    #[test]
    fn the_matrix_decides() {
        assert_eq!(auto(&poisson2d(40).unwrap().matrix, false), (Method::Direct, Precond::None));
        assert_eq!(auto(&poisson2d(50).unwrap().matrix, false), (Method::Cg, Precond::Ic0));
        for (entries, iterative) in [
            ([2.0, 1.0, 1.0, 2.0], (Method::Cg, Precond::Ic0)),
            ([1.0, 2.0, 2.0, 1.0], (Method::Minres, Precond::Jacobi)),
            ([1.0, 2.0, 2.0, -1.0], (Method::Minres, Precond::None)),
            ([-2.0, 1.0, 1.0, -2.0], (Method::Minres, Precond::None)),
            ([2.0, 1.0, 0.0, 2.0], (Method::Gmres, Precond::Ilu0)),
            ([0.0, 1.0, 3.0, 2.0], (Method::Gmres, Precond::None)),
        ] {
            assert_eq!(auto(&square(entries), false), (Method::Direct, Precond::None), "{entries:?}");
            assert_eq!(auto(&square(entries), true), iterative, "{entries:?}");
        }
        // A floating component: no factorisation, however small.
        assert_eq!(auto(&square([1.0, -1.0, -1.0, 1.0]), false), (Method::Cg, Precond::Ic0));
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let a = square([2.0, 1.0, 1.0, 2.0]);
        let choice = choose(&a, Method::Minres, Precond::Jacobi, true);
        assert_eq!((choice.method, choice.preconds), (Method::Minres, vec![Precond::Jacobi]));
        assert_eq!(choice.because, ["minres: as asked", "jacobi: as asked"]);
    }

    #[test]
    fn methods_are_refused_where_the_matrix_shows_it() {
        let refused = |method, entries| refuse(method, &diagnose(&square(entries))).map(|e| e.name());
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 0.0, 2.0]), Some("unsymmetric_matrix"));
        assert_eq!(refused(Method::Fcg, [1.0, 2.0, 2.0, 1.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Cg, [-2.0, 1.0, 1.0, -2.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Minres, [1.0, 2.0, 2.0, 1.0]), None);
        assert_eq!(refused(Method::Gmres, [2.0, 1.0, 0.0, 2.0]), None);
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 1.0, 2.0]), None);
    }
}
