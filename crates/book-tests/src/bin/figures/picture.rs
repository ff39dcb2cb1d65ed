//! A small SVG writer: lines, discs, text.

/// A picture being drawn; coordinates are pixels, y downwards.
pub(crate) struct Picture {
    svg: String,
}

impl Picture {
    /// An empty picture with named numbers as attributes, which tests read.
    pub(crate) fn new((width, height): (f64, f64), numbers: &[(&str, usize)]) -> Self {
        let data: String = numbers.iter().map(|(name, n)| format!(" data-{name}=\"{n}\"")).collect();
        Self {
            svg: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
                 font-family=\"sans-serif\" font-size=\"14\"{data}>\n\
                 <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
            ),
        }
    }

    /// Straight lines from point to point.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], style: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        self.svg += &format!("<path d=\"M{}\" fill=\"none\" {style}/>\n", points.join("L"));
    }

    /// A filled triangle.
    pub(crate) fn triangle(&mut self, points: [(f64, f64); 3], fill: &str) {
        let [a, b, c] = points.map(|(x, y)| format!("{x:.1} {y:.1}"));
        self.svg += &format!("<path d=\"M{a}L{b}L{c}Z\" fill=\"{fill}\"/>\n");
    }

    /// A disc with a dark rim.
    pub(crate) fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        self.svg += &format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"#222\"/>\n"
        );
    }

    /// Text whose `anchor` (start, middle, end) is at a point.
    pub(crate) fn words(&mut self, (x, y): (f64, f64), anchor: &str, words: &str) {
        self.svg += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#333\">{words}</text>\n"
        );
    }

    /// The text of the file.
    pub(crate) fn finish(self) -> String {
        self.svg + "</svg>\n"
    }
}
