//! The decision how to solve a system, and checks for options that this decision would ignore.

use coarsen::auto::{Auto, Precond as AutoPrecond};
use coarsen::diagnose::Severity;

use super::backends::Backends;
use super::choose::{Choice, choose};
use crate::arguments::families::{FAMILIES, Family};
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
    let asked = Auto {
        method: options.method.into(),
        precond: options.precond.into(),
        iterate: options.precond != Precond::Auto
            || !matches!(options.precision, Precision::Auto | Precision::F64)
            || !matches!(backends, Backends::Cpu)
            || given.null_space != NullSpace::None,
        single: options.precision == Precision::Auto,
        ..Auto::default()
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
        Some((_, option)) => Err(Failure::usage(format!(
            "--method direct does not support {option}; leave it out, or use an iterative method"
        ))),
        None => Ok(()),
    }
}

/// Removes preconditioners that only the CPU supports.
pub(crate) fn leave_to_the_cpu(backends: &Backends, choice: &mut Choice) -> Result<(), Failure> {
    let first = choice.precond();
    choice.keep(|precond| backends.builds(precond), "is available on the CPU only");
    match choice.plan.candidates.is_empty() && first != Precond::None {
        true => Err(Failure::usage(format!(
            "--precond {} is available on the CPU only, not on the backend {}; use sa, chebyshev, gs or block-jacobi",
            name(first),
            backends.name()
        ))),
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
        Some(&(method, _)) if options.given.aggregation.varies() => Err(Failure::usage(format!(
            "--sa-cycle k is a variable preconditioner, and {method} needs a fixed one; use --method fcg, or another cycle"
        ))),
        _ => Ok(()),
    }
}

/// Rejects options of preconditioners that are not in `preconds`. With `hint`, options of smoothed
/// aggregation are accepted, since `auto` may use it.
pub(crate) fn used(given: &Given, preconds: &[Precond], hint: bool) -> Result<(), Failure> {
    for Family { prefix, name, preconds: own } in &FAMILIES {
        let is_used = preconds.iter().any(|precond| own.contains(precond)) || hint && *prefix == "sa_";
        if let Some(option) = given.of_preconds.first(prefix).filter(|_| !is_used) {
            let (only, these) =
                if own.len() > 1 { (" only", "one of these") } else { ("", "that preconditioner") };
            return Err(Failure::usage(format!(
                "{option} is an option of --precond {name}{only}; leave it out, or use {these}"
            )));
        }
    }
    given.domains.check()
}
