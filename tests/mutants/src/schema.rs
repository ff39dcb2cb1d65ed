//! A file with all its mutants.

use std::cmp::Reverse;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::edit::Edit;

/// The bytes of the new file that belong to one mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) number: u32,
    pub(crate) range: Range<usize>,
}

/// The new text, and the mark of each mutant.
pub(crate) fn render(source: &str, mut edits: Vec<Edit>) -> (String, Vec<Mark>) {
    // At equal positions, insertions come before expressions, and longer expressions before shorter ones.
    edits.sort_by_key(|e| (e.range.start, !e.inserts(), Reverse(e.range.end), e.number));
    let mut schema = Schema { source, text: String::new(), marks: Vec::new() };
    schema.write(0..source.len(), &edits);
    (schema.text, schema.marks)
}

struct Schema<'a> {
    source: &'a str,
    text: String,
    marks: Vec<Mark>,
}

impl Schema<'_> {
    /// Writes the bytes of `range` with their sorted edits.
    fn write(&mut self, range: Range<usize>, mut edits: &[Edit]) {
        let mut at = range.start;
        while let Some(first) = edits.first() {
            self.text.push_str(&self.source[at..first.range.start]);
            if first.inserts() {
                self.marked(first.number, &first.text);
                at = first.range.start;
                edits = &edits[1..];
                continue;
            }
            let group = edits.iter().take_while(|e| e.range == first.range).count();
            let within = edits[group..].iter().take_while(|e| e.range.start < first.range.end).count();
            let (alternatives, rest) = edits.split_at(group);
            let (inner, after) = rest.split_at(within);
            for (i, edit) in alternatives.iter().enumerate() {
                self.text.push_str(if i == 0 { "(if " } else { " else if " });
                self.marked(edit.number, &format!("crate::mutant_is({}) {{ {} }}", edit.number, edit.text));
            }
            // Without parentheses, an original that starts with a block, a `match` or an `if` would end there
            // as a statement.
            self.text.push_str(" else { (");
            self.write(first.range.clone(), inner);
            self.text.push_str(") })");
            at = first.range.end;
            edits = after;
        }
        self.text.push_str(&self.source[at..range.end]);
    }

    fn marked(&mut self, number: u32, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.marks.push(Mark { number, range: start..self.text.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_stand_within_one_another() {
        let source = "a + b * c";
        let edit = |number, range, text: &str| Edit { number, range, text: text.into() };
        let edits = vec![
            edit(3, 4..9, "(b) / (c)"),
            edit(1, 0..9, "(a) - (b * c)"),
            edit(0, 0..0, "x; "),
            edit(2, 0..9, "(a) * (b * c)"),
        ];
        let (text, marks) = render(source, edits);
        let expected = "x; (if crate::mutant_is(1) { (a) - (b * c) } else if crate::mutant_is(2) { (a) * (b * c) } \
                        else { (a + (if crate::mutant_is(3) { (b) / (c) } else { (b * c) })) })";
        assert_eq!(text, expected);
        let of: Vec<_> = marks.iter().map(|m| (m.number, &text[m.range.clone()])).collect();
        let asked = |number: u32, then: &str| format!("crate::mutant_is({number}) {{ {then} }}");
        let (one, two, three) = (asked(1, "(a) - (b * c)"), asked(2, "(a) * (b * c)"), asked(3, "(b) / (c)"));
        assert_eq!(of, [(0, "x; "), (1, &*one), (2, &*two), (3, &*three)]);
    }

    /// At the start of a block, `unsafe { .. } - b` is parsed as a statement followed by `-b`.
    #[test]
    fn an_expression_that_starts_with_a_block_stays_whole() {
        for source in ["unsafe { *a } - b", "match a { _ => 1 } - b", "if a { 1 } else { 2 } - b"] {
            let at = source.find(" - b").unwrap();
            let text = format!("({}) + (b)", &source[..at]);
            let (text, _) = render(source, vec![Edit { number: 1, range: 0..source.len(), text }]);
            let syn::Expr::Paren(whole) = syn::parse_str(&text).unwrap() else { panic!("{text}") };
            let syn::Expr::If(asked) = *whole.expr else { panic!("{text}") };
            let syn::Expr::Block(original) = *asked.else_branch.unwrap().1 else { panic!("{text}") };
            let [syn::Stmt::Expr(syn::Expr::Paren(original), None)] = &original.block.stmts[..] else {
                panic!("{text}")
            };
            assert!(matches!(*original.expr, syn::Expr::Binary(_)), "{text}");
        }
    }
}
