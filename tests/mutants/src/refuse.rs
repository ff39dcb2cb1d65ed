//! Mutants that the compiler rejects.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;

use crate::found::Found;
use crate::schema::Mark;

/// The files as compiled, with the marks of each file.
pub(crate) type Files = BTreeMap<String, (String, Vec<Mark>)>;

/// The mutants with compiler errors.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Refused {
    /// The mutants that contain a compiler error.
    pub(crate) named: BTreeSet<u32>,
    /// The mutants nearest to an error outside all mutants, which are only suspected.
    pub(crate) guessed: BTreeSet<u32>,
    /// Errors that do not concern a mutant.
    pub(crate) unexplained: String,
}

impl Refused {
    /// Parses the output of `cargo check --message-format=json`.
    pub(crate) fn read(output: &str, files: &Files) -> Refused {
        let mut refused = Refused::default();
        for line in output.lines() {
            if let Ok(Line { message }) = serde_json::from_str::<Line>(line)
                && message.level == "error"
            {
                refused.add(&message, files);
            }
        }
        refused
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.guessed.is_empty()
    }

    /// Adds the mutants that contain the error. If no mutant contains it, adds the first mutant that its
    /// labels and help messages point to, otherwise the nearest mutant.
    fn add(&mut self, error: &Message, files: &Files) {
        let (about, mut others): (Vec<_>, Vec<_>) = error.spans.iter().partition(|s| s.is_primary);
        others.extend(error.children.iter().flat_map(|c| &c.spans));
        let named: Vec<u32> = about.iter().filter_map(|s| around(s, files)).collect();
        if !named.is_empty() {
            self.named.extend(named);
        } else if let Some(number) = others.iter().find_map(|s| around(s, files)) {
            self.named.insert(number);
        } else if let Some(number) = about.iter().find_map(|s| nearest(s, files)) {
            self.guessed.insert(number);
        } else {
            self.unexplained += error.rendered.as_deref().unwrap_or_default();
        }
    }
}

/// The mutant with the smallest mark that contains the start of a span, or the start of the macro call it
/// belongs to.
fn around(span: &Span, files: &Files) -> Option<u32> {
    let of_file = files.get(&span.file_name).map_or(&[][..], |(_, marks)| marks);
    let around = of_file.iter().filter(|m| m.range.contains(&span.byte_start));
    match around.min_by_key(|m| m.range.len()) {
        Some(mark) => Some(mark.number),
        None => span.expansion.as_ref().and_then(|e| self::around(&e.span, files)),
    }
}

/// The next mutant in the same function, or the previous mutant if there is no next one. If the span is in no
/// function, the whole file is searched. An error in a signature precedes the mutant that causes it.
fn nearest(span: &Span, files: &Files) -> Option<u32> {
    let (text, marks) = files.get(&span.file_name)?;
    let at = span.byte_start;
    let functions = Found::of(text).map_or(Vec::new(), |f| f.functions);
    let around = functions.into_iter().filter(|f| f.contains(&at)).min_by_key(Range::len);
    let within = around.unwrap_or(0..text.len());
    let near = || marks.iter().filter(|m| within.contains(&m.range.start));
    let next = near().filter(|m| m.range.start >= at).min_by_key(|m| m.range.start);
    next.or_else(|| near().max_by_key(|m| m.range.start)).map(|m| m.number)
}

#[derive(Deserialize)]
struct Line {
    message: Message,
}

/// A compiler message, or its note or help message.
#[derive(Deserialize)]
struct Message {
    level: String,
    spans: Vec<Span>,
    children: Vec<Message>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Mutants 1 and 2 are in `f`, mutant 3 is in `g`.
    const TEXT: &str = "fn f() -> u8 { (1); 0; (2); 1 } fn g() -> A { (3); 2 }";

    fn files() -> Files {
        let marks = [1, 2, 3].map(|number| {
            let at = TEXT.find(&format!("({number})")).unwrap();
            Mark { number, range: at..at + 3 }
        });
        BTreeMap::from([("f.rs".to_string(), (TEXT.to_string(), marks.to_vec()))])
    }

    fn span(primary: bool, pattern: &str) -> Value {
        let at = TEXT.find(pattern).unwrap();
        json!({ "file_name": "f.rs", "byte_start": at, "is_primary": primary, "expansion": null })
    }

    fn message(spans: &[Value], help: &[Value]) -> String {
        let help = json!({ "level": "help", "spans": help, "children": [], "rendered": null });
        let error = json!({ "level": "error", "spans": spans, "children": [help], "rendered": "wrong" });
        json!({ "reason": "compiler-message", "message": error }).to_string()
    }

    #[test]
    fn an_error_names_the_mutant_it_points_into() {
        let out = json!({ "file_name": "macros.rs", "byte_start": 0, "is_primary": true,
            "expansion": { "span": span(false, "2)") } });
        for (spans, help, named, guessed) in [
            (&[span(true, "1)")][..], &[][..], [1].as_slice(), [].as_slice()),
            // The label decides, and not the mutant before the signature with the error.
            (&[span(true, "A {"), span(false, "3)")], &[], &[3], &[]),
            (&[span(true, "A {")], &[span(true, "3)"), span(true, "1)")], &[3], &[]),
            (&[out], &[], &[2], &[]),
            // No span points into a mutant: the next mutant in the function is chosen, otherwise the previous
            // mutant.
            (&[span(true, "A {")], &[], &[], &[3]),
            (&[span(true, "0; (2")], &[], &[], &[2]),
            (&[span(true, "1 }")], &[], &[], &[2]),
        ] {
            let refused = Refused::read(&message(spans, help), &files());
            let (named, guessed) = (named.iter().copied().collect(), guessed.iter().copied().collect());
            assert_eq!(refused, Refused { named, guessed, unexplained: String::new() });
        }
    }

    #[test]
    fn an_error_elsewhere_is_unexplained() {
        let elsewhere =
            json!({ "file_name": "g.rs", "byte_start": 1, "is_primary": true, "expansion": null });
        let output =
            format!("{}\nno message\n{}", json!({ "reason": "build-finished" }), message(&[elsewhere], &[]));
        let refused = Refused::read(&output, &files());
        assert!(refused.is_empty());
        assert_eq!(refused.unexplained, "wrong");
    }
}
