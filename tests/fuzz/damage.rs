//! Damages files; the damage depends only on a seed.

use std::ops::Range;

use coarsen_core::SplitMix64;

/// The maximum size of a damaged file in bytes.
const LARGEST: usize = 1 << 19;

/// Words to replace numbers with.
const WORDS: [&str; 24] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "10",
    "255",
    "65536",
    "1048576",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e999",
    "1e-320",
    "nan",
    "inf",
    "0x10",
];

/// Integers whose bytes replace lengths.
const INTEGERS: [u64; 8] = [0, 1, 3, 255, 65_535, 0x7fff_ffff, 0xffff_ffff, u64::MAX];

/// Bytes that have a special meaning in at least one format.
const BYTES: &[u8] = b"0123456789-+.$e#%/ \n\r\t\0\x01\x7f\xff";

/// Pseudo-random numbers.
pub(crate) struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below n; n must be positive.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<'a, X>(&mut self, list: &'a [X]) -> &'a X {
        &list[self.below(list.len())]
    }
}

/// The file of case `seed`: a file of the corpus, damaged in one to eight ways.
pub(crate) fn case(seed: u64, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut random = Random(SplitMix64::new(seed));
    let mut bytes = random.of(corpus).clone();
    for _ in 0..=random.below(8) {
        damage(&mut bytes, corpus, &mut random);
        bytes.truncate(LARGEST);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    if bytes.is_empty() {
        bytes.clone_from(random.of(corpus));
        return;
    }
    let at = random.below(bytes.len());
    match random.below(14) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = *random.of(BYTES),
        2 => bytes.insert(at, *random.of(BYTES)),
        3 => bytes.truncate(at),
        4 => {
            let end = (at + 1 + random.below(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => put(bytes, at, &INTEGERS[random.below(8)].to_le_bytes()[..1 << random.below(4)]),
        6 => put(bytes, at, &INTEGERS[random.below(8)].to_be_bytes()[8 - (1 << random.below(4))..]),
        7 | 8 => {
            let word = word(bytes, at);
            bytes.splice(word, random.of(&WORDS).bytes());
        }
        9 => {
            let line = bytes[line(bytes, at)].to_vec();
            // Once, or so often that the copies dominate the file.
            let times = *random.of(&[1, 2, 10, 1000, 20_000]);
            let times = times.min(LARGEST / line.len().max(1));
            let to = line_start(bytes, random);
            bytes.splice(to..to, line.repeat(times));
        }
        10 => {
            bytes.drain(line(bytes, at));
        }
        11 => {
            let (from, to) = (line(bytes, at), line_start(bytes, random));
            let moved = bytes[from].to_vec();
            bytes.splice(to..to, moved);
        }
        12 => grow(bytes, at),
        _ => {
            let other = random.of(corpus);
            let cut = random.below(other.len().max(1));
            bytes.truncate(at);
            bytes.extend_from_slice(&other[cut.min(other.len())..]);
        }
    }
}

/// Repeats a line until the file is large, and adapts the count in the line before it, so that a short list
/// becomes a long list.
fn grow(bytes: &mut Vec<u8>, at: usize) {
    let range = line(bytes, at);
    let (start, copy) = (range.start, bytes[range].to_vec());
    let before = if start > 0 { line(bytes, start - 1) } else { 0..0 };
    let declared: Vec<String> = String::from_utf8_lossy(&bytes[before.clone()])
        .split_whitespace()
        .map(|word| if word.parse::<u64>().is_ok() { "1000000".to_owned() } else { word.to_owned() })
        .collect();
    let list = copy.repeat(LARGEST / 4 / copy.len().max(1));
    let grown = [declared.join(" ").as_bytes(), b"\n", &list].concat();
    bytes.splice(before.start..start, grown);
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..].iter_mut().zip(new).for_each(|(byte, new)| *byte = *new);
}

/// The word that contains a byte, or the blank at that byte.
fn word(bytes: &[u8], at: usize) -> Range<usize> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let start = bytes[..at].iter().rposition(blank).map_or(0, |k| k + 1);
    let end = bytes[at..].iter().position(blank).map_or(bytes.len(), |k| at + k);
    start..end.max(start)
}

/// The line that contains a byte, including its end.
fn line(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |k| k + 1);
    let end = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |k| at + k + 1);
    start..end
}

/// The start of a random line.
fn line_start(bytes: &[u8], random: &mut Random) -> usize {
    line(bytes, random.below(bytes.len())).start
}
