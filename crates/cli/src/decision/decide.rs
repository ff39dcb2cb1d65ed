//! The decision how to solve a system, and checks for options that this decision would ignore.

use coarsen::auto::Precond as AutoPrecond;
use coarsen::diagnose::Severity;

use super::backends::Backends;
use super::choose::{Asked, Choice, choose};
use crate::arguments::{Given, Method, NullSpace, Precision, Precond, Solve, name};
use crate::error::Failure;
use crate::input::ready::Ready;

/// Decides how to solve a system; `solve` acts on the decision and `info` prints it.
///
/// # Errors
/// For options that the decision would ignore. If `auto` decides, also for a property of the matrix that
/// excludes all methods.
pub(crate) fn decide(options: &Solve, backends: &Backends, ready: &Ready<'_>) -> Result<Choice, Failure> {
    let given = &options.given;
    if options.method == Method::Auto {
        check_solvable(given, ready)?;
    }
    let asked = Asked {
        method: options.method,
        precond: options.precond,
        iterate: options.precond != Precond::Auto
            || !matches!(options.precision, Precision::Auto | Precision::F64)
            || !matches!(backends, Backends::Cpu)
            || given.null_space != NullSpace::None,
        precision: options.precision,
    };
    let mut choice = choose(ready, given, asked);
    check_direct(options, backends, &choice)?;
    leave_to_the_cpu(backends, &mut choice)?;
    check_words(options, &choice)?;
    Ok(choice)
}

/// Rejects systems that no method solves. With a given method or null space, empty rows are accepted.
pub(crate) fn check_solvable(given: &Given, ready: &Ready<'_>) -> Result<(), Failure> {
    let grave = ready.diagnosis.findings.iter().find(|finding| finding.severity() == Severity::Error);
    match grave.filter(|_| given.null_space == NullSpace::None) {
        Some(finding) => {
            Err(Failure::Unsolvable { file: ready.input.source.clone(), finding: finding.clone() })
        }
        None => Ok(()),
    }
}

/// Rejects options that a direct solve would ignore.
fn check_direct(options: &Solve, backends: &Backends, choice: &Choice) -> Result<(), Failure> {
    if !choice.plan.candidates.is_empty() {
        return Ok(());
    }
    let ignored = [
        (!matches!(backends, Backends::Cpu), "--backend: it works on the CPU"),
        (!matches!(options.precond, Precond::Auto | Precond::None), "--precond"),
        (options.given.null_space != NullSpace::None, "--null-space"),
        (!matches!(options.precision, Precision::Auto | Precision::F64), "--precision: it works in f64"),
    ];
    match ignored.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::Direct { option }),
        None => Ok(()),
    }
}

/// Removes preconditioners that only the CPU supports.
pub(crate) fn leave_to_the_cpu(backends: &Backends, choice: &mut Choice) -> Result<(), Failure> {
    let first = choice.precond();
    choice.keep(|precond| backends.builds(precond), "is available on the CPU only");
    match choice.plan.candidates.is_empty() && first != Precond::None {
        true => Err(Failure::NotThere { precond: name(first), backend: backends.name() }),
        false => Ok(()),
    }
}

/// Rejects options of a preconditioner that is not used, and a K-cycle with a method that needs a fixed
/// preconditioner.
fn check_words(options: &Solve, choice: &Choice) -> Result<(), Failure> {
    let hint = options.precond == Precond::Auto && options.method != Method::Direct;
    // Only on request are the domains those of the options.
    let asked = |precond: &Precond| !hint || !matches!(precond, Precond::Mas | Precond::As | Precond::Ras);
    used(&options.given, &choice.preconds().into_iter().filter(asked).collect::<Vec<_>>(), hint)?;
    let fixed = choice.plan.candidates.iter().find(|&&(method, precond)| {
        precond == AutoPrecond::SmoothedAggregation && Method::from(method) != Method::Fcg
    });
    match fixed {
        Some(&(method, _)) if options.given.aggregation.varies() => {
            Err(Failure::Varies { method: method.to_string() })
        }
        _ => Ok(()),
    }
}

/// Rejects options of preconditioners that are not in `preconds`. With `hint`, options of smoothed
/// aggregation are accepted, since `auto` may use it.
pub(crate) fn used(given: &Given, preconds: &[Precond], hint: bool) -> Result<(), Failure> {
    let first = |words: Vec<(&'static str, String)>, by: &[Precond]| {
        let taken = preconds.iter().any(|precond| by.contains(precond));
        words.into_iter().map(|(option, _)| option).find(|_| !taken)
    };
    if let Some(option) = first(given.domains.words(), &[Precond::Mas]) {
        return Err(Failure::NotDomains { option });
    }
    given.domains.check()?;
    if let Some(option) = first(given.overlap.words(), &[Precond::As, Precond::Ras]) {
        return Err(Failure::NotOverlap { option });
    }
    if let Some(option) = first(given.skinning.words(), &[Precond::Skinning]) {
        return Err(Failure::NotSkinning { option });
    }
    match first(given.aggregation.words(), &[Precond::Sa]).filter(|_| !hint) {
        Some(option) => Err(Failure::NotAggregation { option }),
        None => Ok(()),
    }
}
