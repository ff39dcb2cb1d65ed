//! Checks before the setup whether properties of the matrix exclude the method that was asked for.

use coarsen::auto::Ending;
use coarsen::diagnose::{Definiteness, Diagnosis};

use crate::arguments::Method;
use crate::words::told;

/// The reason why a method cannot be used on this matrix, if its diagnosis shows a reason.
pub(crate) fn refuse(method: Method, diagnosis: &Diagnosis) -> Option<Ending> {
    let values = diagnosis.values.as_ref()?;
    let symmetric = matches!(method, Method::Cg | Method::Fcg | Method::Minres);
    if symmetric && !values.symmetry.holds() {
        let (row, column, here, there) = values.symmetry.worst?;
        return Some(Ending::Unsymmetric { row, column, here, there });
    }
    let Definiteness::Indefinite(witness) = &values.definiteness else { return None };
    let why = told(witness);
    matches!(method, Method::Cg | Method::Fcg).then_some(Ending::Indefinite { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::diagnose::diagnose;
    use coarsen::sparse::assembly::from_triplets;

    #[test]
    fn methods_are_refused_where_the_matrix_shows_it() {
        let refused = |method, [a, b, c, d]: [f64; 4]| {
            let entries = [(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)];
            refuse(method, &diagnose(&from_triplets(2, 2, &entries).unwrap())).map(|e| e.name())
        };
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 0.0, 2.0]), Some("unsymmetric_matrix"));
        assert_eq!(refused(Method::Fcg, [1.0, 2.0, 2.0, 1.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Cg, [-2.0, 1.0, 1.0, -2.0]), None, "the negative is solved");
        assert_eq!(refused(Method::Minres, [1.0, 2.0, 2.0, 1.0]), None);
        assert_eq!(refused(Method::Gmres, [2.0, 1.0, 0.0, 2.0]), None);
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 1.0, 2.0]), None);
    }
}
