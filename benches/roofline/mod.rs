//! The percentage of the read bandwidth that products reach, as a bar chart in SVG.

use std::fmt::Write;

use crate::Row;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 210.0;
const BAR: f64 = 14.0;

/// A bar for the product with each matrix, precision and number of threads, with a line for the reference.
pub(crate) fn svg(rows: &[Row]) -> String {
    let products: Vec<&Row> = rows.iter().filter(|r| r.kernel == "A x").collect();
    let height = 40.0 + BAR * products.len() as f64;
    let scale = (WIDTH - LEFT - 90.0) / 1.25;
    let mut s = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"14\" font-size=\"12\">y = A x: share of the read bandwidth of the same run</text>\n"
    );
    for (k, row) in products.iter().enumerate() {
        let top = 26.0 + BAR * k as f64;
        let share = row.gigabytes() / row.yardstick;
        let (length, text) = (share.min(1.25) * scale, top + 0.7 * BAR);
        let colour = if row.threads == 1 { "#7aa6c2" } else { "#2c5f7c" };
        let label = format!("{} {} on {}", row.name, row.precision, row.threads);
        let _ = writeln!(
            s,
            "<text x=\"{:.0}\" y=\"{text:.1}\" text-anchor=\"end\">{label}</text>\
             <rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{text:.1}\">{:.0} %, {:.0} GB/s</text>",
            LEFT - 6.0,
            BAR - 3.0,
            LEFT + length + 4.0,
            100.0 * share,
            row.gigabytes()
        );
    }
    let line = LEFT + scale;
    let _ = writeln!(
        s,
        "<line x1=\"{line:.1}\" y1=\"20\" x2=\"{line:.1}\" y2=\"{:.0}\" stroke=\"#b03a2e\" stroke-dasharray=\"4 3\"/>\n</svg>",
        height - 10.0
    );
    s
}
