//! The methods of a comparison.

use coarsen::diagnose::Definiteness;

use super::backends::Backends;
use crate::arguments::families::FAMILIES;
use crate::arguments::{Compare, Method, NullSpace, Precond};
use crate::error::Failure;
use crate::input::ready::Ready;

/// All methods and preconditioners that suit this matrix.
pub(crate) fn candidates(ready: &Ready<'_>, options: &Compare) -> Vec<(Method, Precond)> {
    let given = &options.given;
    let blocks = ready.matrix().block().0 > 1;
    let values = ready.adapted_diagnosis().values.as_ref();
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
        with(method, &[(Precond::Sa, true), (Precond::Rs, !blocks)]);
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
    let unconstrained = values.is_some_and(|v| v.unconstrained > 0);
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
    for family in &FAMILIES {
        let why = match (family.prefix, ready.adapted_diagnosis().is_symmetric()) {
            ("skinning_", _) => "it needs positions, blocks of 2 or 3, and a positive definite matrix",
            ("rs_", _) => "it needs one unknown for each node, and a positive definite matrix",
            ("as_", _) => "it works on the CPU only",
            (_, true) => "the matrix is not positive definite",
            (_, false) => "the matrix is not symmetric",
        };
        let runs = |(_, taken): &(Method, Precond)| {
            family.preconds.contains(taken) && backends.iter().any(|backend| backend.builds(*taken))
        };
        if let Some(option) =
            options.given.of_preconds.first(family.prefix).filter(|_| !pairs.iter().any(runs))
        {
            return Err(Failure::usage(format!(
                "{option} is an option of --precond {}, which is not compared here because {why}; leave the option out",
                family.name
            )));
        }
    }
    Ok(())
}
