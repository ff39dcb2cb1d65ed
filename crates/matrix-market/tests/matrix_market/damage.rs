//! Damaged text is rejected with a line number, or it is read with the same result as by the reference
//! reader.

use std::collections::BTreeMap;
use std::io::Cursor;

use coarsen_matrix_market::{Problem, ReadError, Source};
use coarsen_sparse::Bsr;
use proptest::prelude::*;

use crate::cases::gzip;
use crate::invariants::cases;

/// A kind of damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Delete(usize, usize),
    Cut(usize),
    Repeat(usize),
    Splice(usize, Vec<u8>),
}

fn damages() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), 1_u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (any::<usize>(), 1..12_usize).prop_map(|(at, length)| Damage::Delete(at, length)),
        any::<usize>().prop_map(Damage::Cut),
        any::<usize>().prop_map(Damage::Repeat),
        (any::<usize>(), prop::collection::vec(any::<u8>(), 1..12)).prop_map(|(at, b)| Damage::Splice(at, b)),
        (any::<usize>(), "[0-9eEdD+. \n%-]{1,12}").prop_map(|(at, b)| Damage::Splice(at, b.into_bytes())),
    ]
}

impl Damage {
    fn apply(&self, text: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        match self {
            Self::Flip(at, bits) => {
                let at = at % text.len();
                text[at] ^= bits;
            }
            Self::Delete(at, length) => {
                let at = at % text.len();
                text.drain(at..(at + length).min(text.len()));
            }
            Self::Cut(at) => text.truncate(at % text.len()),
            Self::Repeat(line) => {
                let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
                let line = line % lines.len();
                let repeated = [lines[..=line].concat(), lines[line..].concat()].concat();
                *text = repeated;
            }
            Self::Splice(at, bytes) => {
                let at = at % text.len();
                text.splice(at..at, bytes.iter().copied());
            }
        }
    }
}

/// The reference reader, which uses words and `str::parse`. Returns the sum of all entries at each position;
/// `None` for an invalid file.
fn plain(text: &str) -> Option<BTreeMap<(usize, usize), f64>> {
    let words = |line: &str| -> Vec<String> {
        line.split([' ', '\t', '\r']).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let mut lines = text.split('\n').map(words);
    let mut banner = lines.next()?;
    // Any number of signs, and a blank behind them.
    let first = banner.first()?.trim_start_matches('\u{feff}');
    let name = first.trim_start_matches('%').to_string();
    if name.len() == first.len() {
        return None;
    }
    if name.is_empty() {
        banner.remove(0);
    } else {
        banner[0] = name;
    }
    let [first, object, format, field, symmetry] = &banner.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        return None;
    };
    if (*first, *object) != ("matrixmarket", "matrix") {
        return None;
    }
    let whole = |word: &String| match word.bytes().all(|b| b.is_ascii_digit()) && word.len() < 20 {
        true => word.parse::<u64>().ok().map(|n| n as usize),
        false => None,
    };
    let value = |word: &String| {
        let v: f64 = word.replace('d', "e").parse().ok().filter(|v: &f64| v.is_finite())?;
        (*field == "real" || !word.contains(['.', 'e', 'd'])).then_some(v)
    };
    let mut lines = lines.filter(|words| words.first().is_some_and(|word| !word.starts_with('%')));
    let sizes: Vec<usize> = lines.next()?.iter().map(whole).collect::<Option<_>>()?;
    let sign = match *symmetry {
        "general" => None,
        "symmetric" => Some(1.0),
        "skew-symmetric" => Some(-1.0),
        _ => return None,
    };
    // (row, column, value) as stored, numbered from 1
    let (mut stored, declared) = (Vec::new(), *sizes.get(2).unwrap_or(&0));
    match (*format, *field, &sizes[..]) {
        ("coordinate", "real" | "integer", [_, _, _]) => {
            for line in lines {
                let [i, j, v] = &line[..] else { return None };
                stored.push((whole(i)?, whole(j)?, value(v)?));
            }
        }
        ("coordinate", "pattern", [_, _, _]) => {
            for line in lines {
                let [i, j] = &line[..] else { return None };
                stored.push((whole(i)?, whole(j)?, 1.0));
            }
        }
        ("array", "real" | "integer", &[rows, columns]) => {
            let first = |j| {
                if *symmetry == "general" {
                    1
                } else if sign == Some(1.0) {
                    j
                } else {
                    j + 1
                }
            };
            for j in 1..=columns.min(100) {
                for i in first(j)..=rows {
                    let [v] = &lines.next()?[..] else { return None };
                    stored.push((i, j, value(v)?));
                }
            }
            if lines.next().is_some() {
                return None;
            }
            stored.retain(|&(_, _, v)| v != 0.0);
        }
        _ => return None,
    }
    let (rows, columns) = (sizes[0], sizes[1]);
    let inside = |&(i, j, _): &(usize, usize, f64)| (1..=rows).contains(&i) && (1..=columns).contains(&j);
    let (below, above) = (stored.iter().any(|e| e.0 > e.1), stored.iter().any(|e| e.0 < e.1));
    let skew_diagonal = sign == Some(-1.0) && stored.iter().any(|e| e.0 == e.1 && e.2 != 0.0);
    if (*format == "coordinate" && stored.len() != declared)
        || !stored.iter().all(inside)
        || sign.is_some() && (rows != columns || (below && above))
        || skew_diagonal
    {
        return None;
    }
    let mut sums = BTreeMap::new();
    for (i, j, v) in stored {
        *sums.entry((i - 1, j - 1)).or_insert(0.0) += v;
        if let (Some(sign), true) = (sign, i != j) {
            *sums.entry((j - 1, i - 1)).or_insert(0.0) += sign * v;
        }
    }
    sums.values().all(|v: &f64| v.is_finite()).then_some(sums)
}

/// Small files of every kind.
const SAMPLES: [&str; 6] = [
    "%%MatrixMarket matrix coordinate real general\n% a comment\n3 3 4\n1 1 2.5e-3\n2 2 -1\n\n3 3 4.25D+1\n1 3 7\n",
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 2\n2 1 -1\n2 2 2\n3 2 -1\n3 3 2\n",
    "%%MatrixMarket matrix coordinate integer skew-symmetric\r\n4 4 2\r\n2 1 3\r\n4 3 -5\r\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n1 1\n2 2\n3 3\n4 4",
    "%%MatrixMarket matrix array real general\n2 3\n1\n2.5\n3\n4e1\n5\n6\n",
    "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
];

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn damaged_files_do_no_harm(
        sample in 0..SAMPLES.len(), damages in prop::collection::vec(damages(), 1..5), gz: bool
    ) {
        let mut text = if gz { gzip(SAMPLES[sample]) } else { SAMPLES[sample].as_bytes().to_vec() };
        damages.iter().for_each(|damage| damage.apply(&mut text));
        if !gz && let Ok(text) = std::str::from_utf8(&text) {
            let read = Source::new(Cursor::new(text.to_owned())).matrix().map(|a| stored(&a));
            match read {
                // The declared sizes have too few entries, which the reference reader accepts.
                Err(ReadError { problem: Problem::Hollow { .. } | Problem::TooLarge { .. }, .. }) => {}
                read => {
                    let plain = plain(text).map(|sums| sums.into_iter().map(|(at, v)| (at, v.to_bits())).collect());
                    prop_assert_eq!(read.ok(), plain as Option<BTreeMap<_, _>>);
                }
            }
        }
        let source = || Source::new(Cursor::new(text.clone()));
        // Every matrix is finite and within its shape; every error has a line and a text.
        let check = |result: Result<Bsr<f64>, ReadError>| match result {
            Ok(a) => a.check_finite().is_ok(),
            Err(error) => error.line.is_some() && !error.to_string().contains('\0'),
        };
        prop_assert!(check(source().matrix()));
        prop_assert!(check(source().system()));
        if let Ok(dense) = source().dense() {
            prop_assert_eq!(dense.values().len(), dense.rows() * dense.columns());
        }
        prop_assert!(source().vector().map_or_else(|error| error.line.is_some(), |x| x.iter().all(|v| v.is_finite())));
    }
}

/// The bits of each entry of a matrix with 1x1 blocks.
fn stored(a: &Bsr<f64>) -> BTreeMap<(usize, usize), u64> {
    let row = |i| a.row(i).map(move |(j, v): (usize, &[f64])| ((i, j), v[0].to_bits()));
    (0..a.shape().0).flat_map(row).collect()
}
