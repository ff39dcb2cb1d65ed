//! What programs print, beside what pages of the book say.

#![allow(dead_code, reason = "each test file uses a part")]

/// The fenced blocks of a page, each with its language.
pub(crate) fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').expect("a block of several lines")).collect()
}

/// The blocks `text` of a page, one after the other.
pub(crate) fn on_page(page: &str) -> String {
    let texts = blocks(page).into_iter().filter(|(language, _)| *language == "text");
    texts.map(|(_, text)| format!("{text}\n")).collect()
}

/// A page without line breaks, which divide long messages.
pub(crate) fn words(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number with the unit of its last digit.
fn number(word: &str) -> Option<(f64, f64)> {
    let (digits, exponent) = word.split_once('e').unwrap_or((word, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len() as i32);
    Some((word.parse().ok()?, 10_f64.powi(exponent.parse::<i32>().ok()? - decimals)))
}

/// Whether a number is one of seconds, which have three decimals.
fn is_seconds(word: &str) -> bool {
    word.split_once('.')
        .is_some_and(|(_, after)| after.len() == 3 && after.bytes().all(|c| c.is_ascii_digit()))
}

/// The first word of a page that differs from the output. Line breaks do not count, `...` stands for any words. A
/// number may differ by a unit of its last digit and a twentieth, as iterations do on other machines; seconds, residuals and
/// the peak memory, a number of MiB, are not compared. Three decimals are seconds, unless `m` follows.
pub(crate) fn difference(page: &str, printed: &str) -> Option<String> {
    let mut words = printed.split_whitespace().peekable();
    let mut expected = page.split_whitespace().peekable();
    let mut before = "";
    while let Some(word) = expected.next() {
        let next = expected.peek().copied();
        if word == "..." {
            while words.peek().is_some_and(|word| Some(*word) != next) {
                words.next();
            }
            continue;
        }
        let Some(found) = words.next() else { return Some(format!("{word}, but the output ends")) };
        let [then, now] = [word, found].map(|word| word.trim_matches(|c: char| ",;()".contains(c)));
        let same = match (number(then), number(now)) {
            (Some((a, unit)), Some((b, _))) => {
                let varies = before == "residual" || next == Some("MiB");
                varies
                    || is_seconds(then) && is_seconds(now) && next != Some("m")
                    || (a - b).abs() <= 1.001 * unit + a.abs() / 20.0
            }
            _ => then == now,
        };
        if !same {
            return Some(format!("{word}, but the output {found}"));
        }
        before = word;
    }
    words.next().map(|word| format!("the end, but the output {word}"))
}
