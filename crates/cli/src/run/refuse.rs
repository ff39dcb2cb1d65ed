//! Checks before the setup whether properties of the matrix exclude the method.

use coarsen::diagnose::{Definiteness, Diagnosis};

use super::ending::Ending;
use super::job::Job;
use crate::arguments::Method;
use crate::input::ready::NULL;

/// The reason why a method cannot be used on this matrix, if its diagnosis shows a reason.
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

/// The first given vector that is not in the null space.
pub(crate) fn wrong_null_space(job: &Job<'_>) -> Option<Ending> {
    let space = job.null_space.as_ref()?;
    match job.time("null space", || space.quality(job.system.matrix)) {
        Ok(quality) => {
            let vector = quality.iter().position(|q| q.all > NULL)?;
            Some(Ending::NotNull { vector, share: quality[vector].all })
        }
        Err(error) => Some(Ending::Unsuitable(error)),
    }
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
        assert_eq!(refused(Method::Cg, [-2.0, 1.0, 1.0, -2.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Minres, [1.0, 2.0, 2.0, 1.0]), None);
        assert_eq!(refused(Method::Gmres, [2.0, 1.0, 0.0, 2.0]), None);
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 1.0, 2.0]), None);
    }
}
