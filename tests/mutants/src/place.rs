//! Where a mutant acts: bytes of its file, and what is to stand there when it is the one.

use std::collections::HashMap;
use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Expr, ExprBinary, ExprUnary};

use crate::Error;
use crate::sample::{Genre, Mutant, Position};

/// One change of a file.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) number: u32,
    /// The bytes that it concerns; none for text put in between.
    pub(crate) range: Range<usize>,
    /// Instead of those bytes where the mutant is asked for; or the text to put in, always.
    pub(crate) text: String,
}

impl Edit {
    pub(crate) fn inserts(&self) -> bool {
        self.range.is_empty()
    }
}

/// The edits of one file, and the mutants that have no place: a chain with `let` can stand in no other expression, a field left out is another type.
pub(crate) fn edits(name: &str, source: &str, mutants: &[&Mutant]) -> Result<(Vec<Edit>, Vec<u32>), Error> {
    let file = syn::parse_file(source).map_err(|e| Error::Source(name.to_string(), e))?;
    let mut found = Found { lines: Lines::of(source), expressions: HashMap::new(), arms: HashMap::new() };
    found.visit_file(&file);
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
    let start = found.lines.byte(mutant.span.start);
    let asked = format!("crate::mutant_is({})", mutant.number);
    match mutant.genre {
        Genre::FnValue => Some((start..start, format!(" if {asked} {{ return {}; }} ", mutant.replacement))),
        Genre::BinaryOperator => match found.expressions.get(&start)? {
            Place::Binary { whole, left, right, assigns } => {
                let (left, right) = (&source[left.clone()], &source[right.clone()]);
                let operator = &mutant.replacement;
                let text = if *assigns {
                    format!("{left} {operator} {right}")
                } else {
                    format!("({left}) {operator} ({right})")
                };
                Some((whole.clone(), text))
            }
            Place::Unary { .. } => None,
        },
        Genre::UnaryOperator => match found.expressions.get(&start)? {
            Place::Unary { whole, operand } => {
                let operand = &source[operand.clone()];
                Some((whole.clone(), format!("{} ({operand})", mutant.replacement)))
            }
            Place::Binary { .. } => None,
        },
        Genre::MatchArmGuard => {
            let end = found.lines.byte(mutant.span.end);
            Some((start..end, mutant.replacement.clone()))
        }
        Genre::MatchArm => {
            let place = found.arms.get(&start)?;
            let text = if place.guarded { format!("!{asked} && ") } else { format!(" if !{asked}") };
            Some((place.at..place.at, text))
        }
        Genre::StructField => None,
    }
}

/// Operators by the byte they begin at; arms of matches by theirs.
struct Found {
    lines: Lines,
    expressions: HashMap<usize, Place>,
    arms: HashMap<usize, ArmPlace>,
}

enum Place {
    Binary { whole: Range<usize>, left: Range<usize>, right: Range<usize>, assigns: bool },
    Unary { whole: Range<usize>, operand: Range<usize> },
}

/// Where a condition of an arm goes: before its guard, or behind its pattern.
struct ArmPlace {
    at: usize,
    guarded: bool,
}

impl Visit<'_> for Found {
    fn visit_expr_binary(&mut self, e: &ExprBinary) {
        if !(has_let(&e.left) || has_let(&e.right)) {
            let place = Place::Binary {
                whole: self.lines.range(e),
                left: self.lines.range(&e.left),
                right: self.lines.range(&e.right),
                assigns: assigns(&e.op),
            };
            self.expressions.insert(self.lines.range(&e.op).start, place);
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_unary(&mut self, e: &ExprUnary) {
        let place = Place::Unary { whole: self.lines.range(e), operand: self.lines.range(&e.expr) };
        self.expressions.insert(self.lines.range(&e.op).start, place);
        visit::visit_expr_unary(self, e);
    }

    fn visit_arm(&mut self, arm: &Arm) {
        let (at, guarded) = match &arm.guard {
            Some((_, guard)) => (self.lines.range(guard).start, true),
            None => (self.lines.range(&arm.pat).end, false),
        };
        self.arms.insert(self.lines.range(arm).start, ArmPlace { at, guarded });
        visit::visit_arm(self, arm);
    }
}

/// Whether a condition has a `let` that its own chain needs.
fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

fn assigns(op: &BinOp) -> bool {
    use BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign,
        ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

/// Bytes from lines and columns.
struct Lines {
    /// For each line, the byte of each of its characters, and that of its end.
    bytes: Vec<Vec<usize>>,
}

impl Lines {
    fn of(source: &str) -> Lines {
        let mut start = 0;
        let line = |text: &str| {
            let bytes = text.char_indices().map(|(i, _)| start + i).chain([start + text.len()]).collect();
            start += text.len();
            bytes
        };
        Lines { bytes: source.split_inclusive('\n').map(line).collect() }
    }

    /// Columns from 1, as `cargo mutants` counts.
    fn byte(&self, p: Position) -> usize {
        self.bytes[p.line - 1][p.column - 1]
    }

    /// Columns from 0, as `proc_macro2` counts.
    fn range(&self, item: &impl Spanned) -> Range<usize> {
        let byte = |p: LineColumn| self.bytes[p.line - 1][p.column];
        let span = item.span();
        byte(span.start())..byte(span.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Span;
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

    /// The file with one mutant, whose span is `length` characters from a line and column.
    fn with(genre: Genre, (line, column): (usize, usize), length: usize, replacement: &str) -> String {
        let start = Position { line, column };
        let span = Span { start, end: Position { line, column: column + length } };
        let (package, file, name) = Default::default();
        let mutant = Mutant { number: 5, package, file, genre, replacement: replacement.into(), span, name };
        let (edits, without) = edits("f", SOURCE, &[&mutant]).unwrap();
        assert!(without.is_empty());
        render(SOURCE, edits).0
    }

    #[test]
    fn each_kind_of_mutant_has_its_place() {
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
                    "(if crate::mutant_is(5) { (-µ * 2.0) - (1.0) } else { -µ * 2.0 + 1.0 })",
                ),
            ),
            (
                with(Genre::BinaryOperator, (3, 7), 2, "*="),
                changed("s += µ", "(if crate::mutant_is(5) { s *= µ } else { s += µ })"),
            ),
            (
                with(Genre::UnaryOperator, (2, 17), 1, ""),
                changed("-µ", "(if crate::mutant_is(5) {  (µ) } else { -µ })"),
            ),
            (
                with(Genre::MatchArmGuard, (6, 14), 18, "false"),
                changed(
                    "t > 3.0 && t < 4.0",
                    "(if crate::mutant_is(5) { false } else { t > 3.0 && t < 4.0 })",
                ),
            ),
            (
                with(Genre::MatchArm, (6, 9), 1, ""),
                changed("if t > 3.0", "if !crate::mutant_is(5) && t > 3.0"),
            ),
            (with(Genre::MatchArm, (5, 9), 1, ""), changed("0.0 =>", "0.0 if !crate::mutant_is(5) =>")),
        ] {
            assert_eq!(found, expected);
        }
    }
}
