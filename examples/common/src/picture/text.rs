//! A stroke font: letters are lines, drawn at any size.
//!
//! A glyph is a list of strokes, and a stroke a list of points. A point is two digits: x from the left, y
//! from the top. The baseline is at y = 6, the top of small letters at y = 2. A stroke that starts with `~`
//! is the quadratic B-spline of its points, computed by corner cutting (Chaikin 1974).

use super::Picture;

/// The height of a capital letter in units.
const HEIGHT: f64 = 6.0;

/// The ratio of the width of a unit to its height.
const NARROW: f64 = 0.78;

/// The space between two glyphs in units.
const GAP: f64 = 2.1;

/// The width of a space in units.
const SPACE: f64 = 2.4;

/// The strokes of a character.
fn glyph(c: char) -> &'static str {
    match c {
        '0' => "~0040460600",
        '1' => "022026",
        '2' => "~0200404306 0646",
        '3' => "~0100404313 ~1343460605",
        '4' => "36300444",
        '5' => "400003 ~0342460605",
        '6' => "~40000646430304",
        '7' => "004016",
        '8' => "~0040430300 ~0343460603",
        '9' => "~06464000034342",
        'a' => "~0242460602 4246",
        'b' => "0006 ~0242460602",
        'c' => "~434202064645",
        'd' => "4046 ~0242460602",
        'e' => "0444 ~444202064645",
        'f' => "~40202022 2226 0242",
        'g' => "~0242460602 4246 ~46480807",
        'h' => "0006 ~04024244 4446",
        'i' => "0206 0000",
        'j' => "2226 ~26280807 2020",
        'k' => "0006 420446",
        'l' => "0006",
        'm' => "0206 ~04023234 3436 ~34326264 6466",
        'n' => "0206 ~04024244 4446",
        'o' => "~0242460602",
        'p' => "0208 ~0242460602",
        'q' => "4248 ~0242460602",
        'r' => "0206 ~040242",
        's' => "~420204444606",
        't' => "1004 ~041646 0232",
        'u' => "0204 ~04064644 4246",
        'v' => "022642",
        'w' => "0216325662",
        'x' => "0246 4206",
        'y' => "0226 4218",
        'z' => "02420646",
        '-' => "0333",
        '+' => "0444 2226",
        '=' => "0343 0545",
        '.' => "0606",
        ',' => "0607",
        ':' => "0303 0606",
        '/' => "0640",
        '(' => "~20020507 28",
        ')' => "~00220527 08",
        '%' => "0640 ~0020220200 ~2444462624",
        '°' => "~0020220200",
        _ => "0040460600",
    }
}

/// See [`Picture::text`].
pub(super) fn write(picture: &mut Picture, at: [f64; 2], size: f64, text: &str, colour: [u8; 3]) {
    let unit = size / HEIGHT;
    let mut x = at[0];
    for c in text.chars() {
        if c == ' ' {
            x += (SPACE + GAP) * NARROW * unit;
            continue;
        }
        let strokes = strokes(c);
        for stroke in &strokes {
            let place = |p: [f64; 2]| [x + p[0] * NARROW * unit, at[1] + (p[1] - HEIGHT) * unit];
            for ends in stroke.windows(2) {
                picture.line(place(ends[0]), place(ends[1]), 0.13 * size, colour);
            }
        }
        x += (width(&strokes) + GAP) * NARROW * unit;
    }
}

/// The width of a text in pixels.
pub(super) fn length(text: &str, size: f64) -> f64 {
    let one = |c| if c == ' ' { SPACE } else { width(&strokes(c)) };
    let units: f64 = text.chars().map(|c| one(c) + GAP).sum();
    (units - GAP).max(0.0) * NARROW * size / HEIGHT
}

fn width(strokes: &[Vec<[f64; 2]>]) -> f64 {
    strokes.iter().flatten().fold(0.0, |w, p| p[0].max(w))
}

/// The strokes of a character; capital letters are drawn as small letters.
fn strokes(c: char) -> Vec<Vec<[f64; 2]>> {
    let all = glyph(c.to_ascii_lowercase()).split(' ');
    all.map(|stroke| {
        let digits: Vec<f64> =
            stroke.bytes().filter(u8::is_ascii_digit).map(|d| f64::from(d - b'0')).collect();
        let points: Vec<[f64; 2]> = digits.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
        if stroke.starts_with('~') { (0..3).fold(points, |points, _| cut_corners(&points)) } else { points }
    })
    .collect()
}

/// One step of Chaikin's algorithm: replaces each side by points at a quarter and three quarters; the ends of
/// an open stroke are kept.
fn cut_corners(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let between = |a: [f64; 2], b: [f64; 2], t: f64| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Vec::new() };
    let mut cut: Vec<[f64; 2]> =
        points.windows(2).flat_map(|s| [between(s[0], s[1], 0.25), between(s[0], s[1], 0.75)]).collect();
    if first == last {
        cut.push(cut[0]);
    } else {
        cut.insert(0, first);
        cut.push(last);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_leaves_ink_within_its_length() {
        for c in ('0'..='9').chain('a'..='z').chain("-+=.,:/()%°?".chars()) {
            let text = c.to_string();
            let mut picture = Picture::new(40, 40, [255; 3]);
            picture.text([10.0, 25.0], 12.0, &text, [0; 3]);
            let right = 10.0 + length(&text, 12.0) + 2.0;
            let mut dark = 0;
            for y in 0..40 {
                for x in 0..40 {
                    if picture.pixel(x, y)[0] < 128 {
                        dark += 1;
                        assert!((8.0..right).contains(&(x as f64)) && (11..31).contains(&y), "{c} {x} {y}");
                    }
                }
            }
            assert!(dark > 0, "{c}");
        }
    }
}
