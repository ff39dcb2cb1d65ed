//! The bytes that a mutant replaces, and the text that replaces them.

use std::ops::Range;

use crate::error::Error;
use crate::found::{Expression, Found};
use crate::mutant::{Genre, Mutant};

/// A change of a file.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) number: u32,
    /// The bytes to change; empty for an insertion.
    pub(crate) range: Range<usize>,
    /// The replacement of these bytes, used if the mutant is active. For an insertion: the text, which is
    /// always inserted.
    pub(crate) text: String,
}

impl Edit {
    pub(crate) fn inserts(&self) -> bool {
        self.range.is_empty()
    }
}

/// The edits of a file, and the mutants that cannot be selected at run time. There are three kinds: a chain
/// with `let` cannot be part of another expression, removing a field changes the type, and code that is
/// evaluated at compile time cannot query the environment.
pub(crate) fn edits(name: &str, source: &str, mutants: &[&Mutant]) -> Result<(Vec<Edit>, Vec<u32>), Error> {
    let found = Found::of(source).map_err(|e| Error::Source(name.to_string(), e))?;
    let (mut edits, mut without) = (Vec::new(), Vec::new());
    for mutant in mutants {
        match edit(source, mutant, &found) {
            Some((range, text)) => edits.push(Edit { number: mutant.number, range, text }),
            None => without.push(mutant.number),
        }
    }
    Ok((edits, without))
}

fn edit(source: &str, mutant: &Mutant, found: &Found) -> Option<(Range<usize>, String)> {
    let Range { start, end } = found.lines.span(mutant.span);
    let asked = format!("crate::mutant_is({})", mutant.number);
    match mutant.genre {
        Genre::FnValue => {
            found.bodies.get(&start)?;
            Some((start..start, format!(" if {asked} {{ return {}; }} ", mutant.replacement)))
        }
        Genre::BinaryOperator => match found.expressions.get(&start)? {
            Expression::Binary { whole, left, right, assigns } => {
                let (left, right) = (&source[left.clone()], &source[right.clone()]);
                let operator = &mutant.replacement;
                let text = if *assigns {
                    format!("{left} {operator} {right}")
                } else {
                    format!("({left}) {operator} ({right})")
                };
                Some((whole.clone(), text))
            }
            Expression::Unary { .. } => None,
        },
        Genre::UnaryOperator => match found.expressions.get(&start)? {
            Expression::Unary { whole, operand } => {
                let operand = &source[operand.clone()];
                Some((whole.clone(), format!("{} ({operand})", mutant.replacement)))
            }
            Expression::Binary { .. } => None,
        },
        Genre::MatchArmGuard => {
            found.guards.get(&start)?;
            Some((start..end, mutant.replacement.clone()))
        }
        Genre::MatchArm => {
            let at = *found.arms.get(&start)?;
            Some((at..at, format!(" if !{asked}")))
        }
        Genre::StructField => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::{Position, Span};
    use crate::schema::render;

    const SOURCE: &str = "fn f(µ: f64) -> f64 {
    let mut s = -µ * 2.0 + 1.0;
    s += µ;
    match s {
        0.0 => 1.0,
        t if t > 3.0 && t < 4.0 => t,
        t => t,
    }
}
";

    /// A mutant whose span is `length` characters from a line and column.
    fn mutant(genre: Genre, (line, column): (usize, usize), length: usize, replacement: &str) -> Mutant {
        let start = Position { line, column };
        let span = Span { start, end: Position { line, column: column + length } };
        let (package, file, name) = Default::default();
        Mutant { number: 5, package, file, genre, replacement: replacement.into(), span, name }
    }

    #[test]
    fn each_kind_of_mutant_has_its_edit() {
        let with = |genre, at, length, replacement: &str| {
            let (edits, without) = edits("f", SOURCE, &[&mutant(genre, at, length, replacement)]).unwrap();
            assert!(without.is_empty());
            render(SOURCE, edits).0
        };
        let changed = |old: &str, new: &str| SOURCE.replace(old, new);
        for (found, expected) in [
            (
                with(Genre::FnValue, (2, 5), 1, "0.0"),
                changed("    let", "     if crate::mutant_is(5) { return 0.0; } let"),
            ),
            (
                with(Genre::BinaryOperator, (2, 26), 1, "-"),
                changed(
                    "-µ * 2.0 + 1.0",
                    "(if crate::mutant_is(5) { (-µ * 2.0) - (1.0) } else { (-µ * 2.0 + 1.0) })",
                ),
            ),
            (
                with(Genre::BinaryOperator, (3, 7), 2, "*="),
                changed("s += µ", "(if crate::mutant_is(5) { s *= µ } else { (s += µ) })"),
            ),
            (
                with(Genre::UnaryOperator, (2, 17), 1, ""),
                changed("-µ", "(if crate::mutant_is(5) {  (µ) } else { (-µ) })"),
            ),
            (
                with(Genre::MatchArmGuard, (6, 14), 18, "false"),
                changed(
                    "t > 3.0 && t < 4.0",
                    "(if crate::mutant_is(5) { false } else { (t > 3.0 && t < 4.0) })",
                ),
            ),
            (with(Genre::MatchArm, (5, 9), 1, ""), changed("0.0 =>", "0.0 if !crate::mutant_is(5) =>")),
        ] {
            assert_eq!(found, expected);
        }
    }

    const CONSTANT: &str = "const A: usize = 2 * 3;
static S: LazyLock<usize> = LazyLock::new(|| A * 5);
const fn f(n: usize) -> usize {
    match n { 0 if n < 1 => 1, 1 => 2, _ => n * 2 }
}
impl T {
    const B: usize = { fn g() -> usize { A * 7 } 1 * 8 };
    fn g<const M: usize>(&self, v: [u8; A * 9]) -> [u8; 2 * 2] {
        let w = [A * 10; 2 * 11];
        h::<{ A * 12 }>(const { A * 13 }, w)
    }
}
fn i(n: usize) -> Option<impl Iterator<Item = usize>> {
    Some(0..n * 14)
}
enum E { V = 3 * 15 }
";

    /// Whether a mutant at the position of the pattern can be part of a schema.
    fn has_place(genre: Genre, pattern: &str, shift: usize) -> bool {
        let (line, text) = CONSTANT.lines().enumerate().find(|(_, l)| l.contains(pattern)).unwrap();
        let at = (line + 1, text.find(pattern).unwrap() + 1 + shift);
        let (edits, without) = edits("f", CONSTANT, &[&mutant(genre, at, 1, "+")]).unwrap();
        assert_eq!(edits.len() + without.len(), 1);
        without.is_empty()
    }

    #[test]
    fn constants_have_no_mutants() {
        for number in ["2 * 3", "n * 2", "1 * 8", "A * 9", "2 * 2", "2 * 11", "A * 12", "A * 13", "3 * 15"] {
            assert!(!has_place(Genre::BinaryOperator, number, 2), "{number}");
        }
        for number in ["A * 5", "A * 7", "A * 10", "n * 14"] {
            assert!(has_place(Genre::BinaryOperator, number, 2), "{number}");
        }
        assert!(!has_place(Genre::MatchArm, "1 => 2", 0));
        assert!(!has_place(Genre::MatchArmGuard, "n < 1", 0));
        assert!(!has_place(Genre::FnValue, "match n", 0));
        assert!(has_place(Genre::FnValue, "let w", 0));
    }

    #[test]
    fn impl_trait_is_not_replaced_by_another_type() {
        assert!(!has_place(Genre::FnValue, "Some(0", 0));
    }
}
