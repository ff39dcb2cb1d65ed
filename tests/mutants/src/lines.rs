//! Conversion of lines and columns to bytes.

use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;

use crate::mutant::{Position, Span};

/// The bytes of a file, by lines.
pub(crate) struct Lines {
    /// For each line, the byte of each character and of its end.
    bytes: Vec<Vec<usize>>,
}

impl Lines {
    pub(crate) fn of(source: &str) -> Lines {
        let mut start = 0;
        let line = |text: &str| {
            let bytes = text.char_indices().map(|(i, _)| start + i).chain([start + text.len()]).collect();
            start += text.len();
            bytes
        };
        Lines { bytes: source.split_inclusive('\n').map(line).collect() }
    }

    /// The bytes of a mutant's span; columns are numbered from 1, as in `cargo mutants`.
    pub(crate) fn span(&self, span: Span) -> Range<usize> {
        let byte = |p: Position| self.bytes[p.line - 1][p.column - 1];
        byte(span.start)..byte(span.end)
    }

    /// The bytes of a syntax node; columns are numbered from 0, as in `proc_macro2`.
    pub(crate) fn range(&self, item: &impl Spanned) -> Range<usize> {
        let byte = |p: LineColumn| self.bytes[p.line - 1][p.column];
        let span = item.span();
        byte(span.start())..byte(span.end())
    }
}
