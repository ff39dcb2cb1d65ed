//! Drawings of boxes, lines and words, as SVG.

use std::fmt::Write;
use std::path::Path;

use crate::Outcome;

/// A drawing of a given size in pixels.
pub(crate) struct Drawing {
    text: String,
}

impl Drawing {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        let text = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n"
        );
        Self { text }
    }

    /// A box with words in its middle.
    pub(crate) fn tile(&mut self, [x, y, w, h]: [f64; 4], fill: &str, words: &str) {
        let _ = writeln!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{fill}\" stroke=\"#FFFFFF\"/>"
        );
        if !words.is_empty() {
            self.words([x + 0.5 * w, y + 0.5 * h + 4.5], "middle", words);
        }
    }

    /// Words that begin, end or have their middle at a point.
    pub(crate) fn words(&mut self, [x, y]: [f64; 2], anchor: &str, words: &str) {
        let _ =
            writeln!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
    }

    /// Writes the drawing to a file of this workspace.
    pub(crate) fn write(mut self, file: &str) -> Outcome<()> {
        self.text.push_str("</svg>\n");
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file), self.text)?;
        println!("drawn: {file}");
        Ok(())
    }
}
