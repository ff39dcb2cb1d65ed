//! Mutants that cannot be selected at run time. They are judged one at a time: the source is changed, and the
//! tests of the mutant's crate are built again.
//!
//! The source tree and the target folder are in a separate folder `alone`, so that the build with all other
//! mutants is kept. Apart from the tests of the mutant's crate, only those of `coarsen` are run, because each
//! program must be built again for each mutant.

use std::path::Path;

use crate::build::{self, LeftOut, Program};
use crate::error::Error;
use crate::files;
use crate::judge::{self, Timed};
use crate::lines::Lines;
use crate::mutant::Mutant;
use crate::verdicts::{Asked, Verdict, Verdicts};

/// Judges the mutants; mutants that do not compile are added to `unviable`.
pub(crate) fn all(
    folder: &Path,
    timed: &[Timed],
    mutants: &[&Mutant],
    left_out: &mut LeftOut,
    verdicts: &mut Verdicts,
    asked: &Asked,
) -> Result<(), Error> {
    if mutants.is_empty() {
        return Ok(());
    }
    let home = folder.join("alone");
    build::export(&home, &asked.commit)?;
    for (i, mutant) in mutants.iter().enumerate() {
        eprintln!("alone, {} of {}: {}", i + 1, mutants.len(), mutant.name);
        let path = build::tree(&home).join(&mutant.file);
        let source = files::text(&path)?;
        files::put(&path, &changed(&source, mutant))?;
        let verdict = judge(&home, timed, mutant, verdicts.get(mutant.number), asked.own);
        files::put(&path, &source)?;
        match verdict? {
            Some(verdict) => verdicts.insert(mutant.number, verdict, asked)?,
            None => {
                left_out.alone.remove(&mutant.number);
                left_out.unviable.insert(mutant.number);
                left_out.write(folder)?;
            }
        }
    }
    Ok(())
}

/// The source with the change of `cargo mutants`.
fn changed(source: &str, mutant: &Mutant) -> String {
    let at = Lines::of(source).span(mutant.span);
    [&source[..at.start], &mutant.replacement, &source[at.end..]].concat()
}

/// Judges one mutant; `None` if it does not compile.
fn judge(
    home: &Path,
    timed: &[Timed],
    mutant: &Mutant,
    before: Option<Verdict>,
    own: bool,
) -> Result<Option<Verdict>, Error> {
    for (package, verdict) in [(mutant.tested_by(), Verdict::Own), ("coarsen", Verdict::Workspace)] {
        if verdict == Verdict::Workspace {
            if before == Some(verdict) {
                return Ok(before);
            }
            if own {
                break;
            }
        }
        let mut built = match build::tests(home, &[package], "") {
            Err(Error::Compiler(_)) => return Ok(None),
            built => built?,
        };
        if verdict == Verdict::Own {
            built.retain(|program| program.is_of(mutant));
        }
        if judge::caught(&again(timed, &built), None)? {
            return Ok(Some(verdict));
        }
    }
    Ok(Some(Verdict::Survives))
}

/// The rebuilt programs, each with the time of the program that it replaces.
fn again(timed: &[Timed], built: &[Program]) -> Vec<Timed> {
    let of = |(old, seconds): &Timed| {
        let new = built.iter().find(|new| new.package == old.package && new.name == old.name)?;
        Some((new.clone(), *seconds))
    };
    timed.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::mutant::{Genre, Position, Span};

    #[test]
    fn the_text_is_changed_between_its_ends() {
        let source = "fn f() -> S {\n    S { µ: 1, b: 2,\n        ..s() }\n}\n";
        let (package, file, name, replacement) = Default::default();
        let span = Span { start: Position { line: 2, column: 9 }, end: Position { line: 2, column: 14 } };
        let field = Mutant { number: 5, package, file, genre: Genre::StructField, replacement, span, name };
        assert_eq!(changed(source, &field), "fn f() -> S {\n    S {  b: 2,\n        ..s() }\n}\n");
        let end = Position { line: 3, column: 16 };
        let body = Mutant { replacement: "s()".into(), span: Span { end, ..span }, ..field };
        assert_eq!(changed(source, &body), "fn f() -> S {\n    S { s()\n}\n");
    }

    #[test]
    fn a_program_built_again_has_the_time_of_the_old() {
        let program = |package: &str, name: &str, path: &str| Program {
            package: package.into(),
            name: name.into(),
            path: path.into(),
            folder: "f".into(),
        };
        let timed = [program("a", "quick", "1"), program("b", "quick", "2"), program("a", "slow", "3")];
        let timed: Vec<Timed> = timed.into_iter().zip((1..).map(Duration::from_secs)).collect();
        // A program that takes too long without a mutant is not in the old list, so it is not run.
        let built = [program("a", "slow", "4"), program("a", "slower", "5"), program("a", "quick", "6")];
        let found: Vec<_> = again(&timed, &built).into_iter().map(|(p, s)| (p.path, s.as_secs())).collect();
        assert_eq!(found, [("6".into(), 1), ("4".into(), 3)]);
    }
}
