//! Bytes from lines and columns.

use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;

use crate::mutant::{Position, Span};

/// The bytes of a file, line by line.
pub(crate) struct Lines {
    /// For each line, the byte of each of its characters, and that of its end.
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

    /// Of a mutant: columns from 1, as `cargo mutants` counts.
    pub(crate) fn span(&self, span: Span) -> Range<usize> {
        let byte = |p: Position| self.bytes[p.line - 1][p.column - 1];
        byte(span.start)..byte(span.end)
    }

    /// Of a piece of syntax: columns from 0, as `proc_macro2` counts.
    pub(crate) fn range(&self, item: &impl Spanned) -> Range<usize> {
        let byte = |p: LineColumn| self.bytes[p.line - 1][p.column];
        let span = item.span();
        byte(span.start())..byte(span.end())
    }
}
