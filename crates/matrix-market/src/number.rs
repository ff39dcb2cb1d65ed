//! Conversion of text to numbers, with a fast and exact path.
//!
//! A decimal number is m · 10ᵉ. If m < 2⁵³ and |e| ≤ 22, both m and 10^|e| are exact `f64` numbers. One
//! product or quotient then rounds once, and the result is the nearest `f64` (Clinger 1990, "How to read
//! floating point numbers accurately"). All other numbers use `str::parse`, which also rounds correctly.

/// The powers of ten that are exact in `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The number of decimal digits that always fits `u64`.
const DIGITS: usize = 19;

/// The unsigned integer at the start of `text`, and the remaining text. `None` if there is no digit or if the
/// number exceeds `u64`.
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut n, mut rest) = (0, text);
    let digits = digits(&mut n, &mut rest);
    (1..=DIGITS).contains(&digits).then_some((n, rest))
}

/// The `f64` nearest to the decimal number at the start of `text`, and the remaining text; `None` if `text`
/// does not start with a number.
///
/// The exponent letter is e, E, d or D (Fortran). Numbers beyond the range of `f64` give infinity.
#[inline]
pub(super) fn real(text: &[u8]) -> Option<(f64, &[u8])> {
    let mut rest = text;
    let negative = sign(&mut rest);
    let mut m = 0;
    let mut length = digits(&mut m, &mut rest);
    let mut e = 0_i64;
    if let [b'.', fraction @ ..] = rest {
        rest = fraction;
        let places = digits(&mut m, &mut rest);
        length += places;
        e = -(places as i64);
    }
    if length == 0 {
        return None;
    }
    if let [b'e' | b'E' | b'd' | b'D', exponent @ ..] = rest {
        rest = exponent;
        let negative = sign(&mut rest);
        let mut n = 0;
        match digits(&mut n, &mut rest) {
            0 => return None,
            1..=DIGITS if n < 1 << 32 => e += if negative { -(n as i64) } else { n as i64 },
            _ => e = i64::MAX, // the slow path parses it again
        }
    }
    let power = e.unsigned_abs() as usize;
    if length <= DIGITS && m <= 1 << 53 && power < POWERS.len() {
        let v = if e < 0 { m as f64 / POWERS[power] } else { m as f64 * POWERS[power] };
        return Some((if negative { -v } else { v }, rest));
    }
    Some((slow(&text[..text.len() - rest.len()])?, rest))
}

/// Parses a scanned number with `str::parse`, which accepts only e as exponent letter.
fn slow(word: &[u8]) -> Option<f64> {
    let word = std::str::from_utf8(word).ok()?;
    word.parse().or_else(|_| word.replace(['d', 'D'], "e").parse()).ok()
}

/// Consumes an optional sign. Returns true for minus.
#[inline]
fn sign(text: &mut &[u8]) -> bool {
    match *text {
        [sign @ (b'+' | b'-'), rest @ ..] => {
            *text = rest;
            *sign == b'-'
        }
        _ => false,
    }
}

/// Appends the digits at the start of `text` to n (modulo 2⁶⁴), consumes them, and returns their number.
#[inline]
fn digits(n: &mut u64, text: &mut &[u8]) -> usize {
    let before = text.len();
    while let [byte, rest @ ..] = *text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        *n = n.wrapping_mul(10).wrapping_add(u64::from(digit));
        *text = rest;
    }
    before - text.len()
}
