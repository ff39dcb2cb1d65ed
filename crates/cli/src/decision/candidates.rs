//! The methods of a comparison.

use coarsen::diagnose::Definiteness;

use super::backends::Backends;
use crate::arguments::{Compare, Given, Method, NullSpace, Precond};
use crate::error::Failure;
use crate::input::ready::Ready;

/// All methods and preconditioners that suit this matrix.
pub(crate) fn candidates(ready: &Ready<'_>, options: &Compare) -> Vec<(Method, Precond)> {
    let given = &options.given;
    let blocks = ready.matrix().block().0 > 1;
    let values = ready.seen().values.as_ref();
    let symmetric = values.is_some_and(|v| v.symmetry.holds());
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let positive = !zero && values.is_some_and(|v| v.negative_diagonal == 0);
    use Definiteness::{MaybeNegative, MaybePositive, Negative, Positive};
    // A negative definite system is solved as its negative.
    let definite =
        values.is_some_and(|v| matches!(v.definiteness, Positive | MaybePositive | Negative | MaybeNegative));
    let mut pairs = Vec::new();
    let mut with = |method: Method, preconds: &[(Precond, bool)]| {
        pairs.extend(preconds.iter().filter(|(_, fits)| *fits).map(|&(precond, _)| (method, precond)));
    };
    if definite {
        let one_level = [
            (Precond::None, true),
            (Precond::Jacobi, true),
            (Precond::BlockJacobi, blocks),
            (Precond::Gs, true),
            (Precond::Ssor, true),
            (Precond::Ic0, true),
            (Precond::Chebyshev, true),
            (Precond::Skinning, ready.positions.is_some() && (2..=3).contains(&ready.matrix().block().0)),
            (Precond::Mas, true),
            (Precond::As, true),
        ];
        with(Method::Cg, &one_level);
        let method = if given.aggregation.varies() { Method::Fcg } else { Method::Cg };
        with(method, &[(Precond::Sa, true)]);
    } else {
        if symmetric {
            let diagonals = [(Precond::None, true), (Precond::Jacobi, positive), (Precond::L1Jacobi, true)];
            with(Method::Minres, &diagonals);
        }
        let factors = [
            (Precond::None, true),
            (Precond::Jacobi, !zero),
            (Precond::BlockJacobi, blocks && !zero),
            (Precond::Ilu0, !zero),
            (Precond::Ras, true),
        ];
        with(Method::Gmres, &[(Precond::Sa, !zero)]);
        with(Method::Gmres, &factors);
        with(Method::Bicgstab, &factors);
    }
    let unconstrained = values.is_some_and(|v| v.floating > 0);
    with(Method::Direct, &[(Precond::None, !unconstrained && given.null_space == NullSpace::None)]);
    pairs
}

/// Rejects options of preconditioners that are not compared.
pub(crate) fn check_words(
    ready: &Ready<'_>,
    options: &Compare,
    backends: &[Backends],
    pairs: &[(Method, Precond)],
) -> Result<(), Failure> {
    let Given { aggregation, domains, overlap, skinning, .. } = &options.given;
    let of_matrix = match ready.seen().is_symmetric() {
        true => "the matrix is not positive definite",
        false => "the matrix is not symmetric",
    };
    let of_place = "it works on the CPU only";
    let of_body = "it needs positions, blocks of 2 or 3, and a positive definite matrix";
    for (words, precond, by, why) in [
        (aggregation.words(), "sa", &[Precond::Sa][..], of_matrix),
        (skinning.words(), "skinning", &[Precond::Skinning], of_body),
        (domains.words(), "mas", &[Precond::Mas], of_matrix),
        (overlap.words(), "as and ras", &[Precond::As, Precond::Ras], of_place),
    ] {
        let runs = |(_, taken): &(Method, Precond)| {
            by.contains(taken) && backends.iter().any(|on| on.builds(*taken))
        };
        if let Some((option, _)) = words.first().filter(|_| !pairs.iter().any(runs)) {
            return Err(Failure::NotCompared { option, precond, why });
        }
    }
    Ok(())
}
