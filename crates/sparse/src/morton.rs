//! Morton order: points that are close in space get close positions in memory.
//!
//! *Reference* Morton 1966, A computer oriented geodetic data base. Wu et al. 2022 sort nodes in this order
//! before they group 32 nodes into a domain.

use std::ops::Range;

use coarsen_core::Error;
use coarsen_core::parallel::{self, LEAF, each};

use crate::system::check_points;

/// The number of cells along the longest side: three coordinates of 20 bits use 60 of 64 bits.
const CELLS: u32 = 1 << 20;

/// The number of bits sorted per pass; five passes in total.
const DIGIT: u32 = 12;

/// The order of points along the Morton curve: `order[k]` is the k-th point. Points in the same cell keep
/// their order.
///
/// *Cost* one pass for the bounding box, one for the codes, up to five passes of a radix sort.
///
/// ```
/// use coarsen_sparse::morton;
/// let points = [[3.0, 3.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
/// assert_eq!(morton::order(&points)?, [1, 2, 3, 0]); // the letter Z
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// As [`codes`].
pub fn order(points: &[[f64; 3]]) -> Result<Vec<u32>, Error> {
    Ok(sort(&codes(points)?))
}

/// The Morton code of each point. It interleaves the bits of the cell coordinates x, y and z; x has the
/// lowest bit.
///
/// Deviation: Wu et al. divide each side of the bounding box into 2²⁰ cells. Here cells are cubes, 2²⁰ along
/// the longest side, so that noise across a thin sheet does not separate neighbours on its surface. 2D points
/// have z = 0. Points closer than a cell can have the same code.
///
/// # Errors
/// [`Error::NotFinite`] gives the index of the point. [`Error::Parameter`] if the longest side of the box
/// overflows, or if it is zero for several points (the positions were probably never set).
/// [`Error::TooLarge`] if there are more points than `u32` can count.
pub fn codes(points: &[[f64; 3]]) -> Result<Vec<u64>, Error> {
    let limit = u32::MAX as usize;
    if points.len() > limit {
        return Err(Error::TooLarge { what: "points", count: points.len(), limit });
    }
    check_points(points)?;
    let (low, high) = bounding_box(points);
    let side = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
    if points.len() > 1 && !(side > 0.0 && side.is_finite()) {
        let (name, range) = ("longest side of the bounding box", "positive and finite");
        return Err(Error::Parameter { name, value: side, range });
    }
    let mut codes = vec![0; points.len()];
    let leaf = |(points, codes): (&[[f64; 3]], &mut [u64])| {
        for (p, code) in points.iter().zip(codes) {
            let cell = |a: usize| cell((p[a] - low[a]) / side);
            *code = spread(cell(0)) | spread(cell(1)) << 1 | spread(cell(2)) << 2;
        }
    };
    each((points, &mut codes[..]), LEAF, parallel::worth(8 * points.len()), &leaf);
    Ok(codes)
}

/// The stable order of 60-bit codes: `order[k]` is the index of the k-th smallest code. Equal codes keep
/// their order.
///
/// *Cost* a radix sort by 12 bits; passes in which all digits are equal are skipped. *Panics* if there are
/// more codes than `u32` can count.
pub fn sort(codes: &[u64]) -> Vec<u32> {
    let n = u32::try_from(codes.len()).expect("more codes than u32 can count");
    let mut from: Vec<u32> = (0..n).collect();
    let mut to = vec![0; from.len()];
    for shift in (0..u64::BITS).step_by(DIGIT as usize) {
        let digit = |i: u32| (codes[i as usize] >> shift) as usize & ((1 << DIGIT) - 1);
        let mut next = vec![0_usize; (1 << DIGIT) + 1];
        from.iter().for_each(|&i| next[digit(i) + 1] += 1);
        if next.contains(&from.len()) {
            continue;
        }
        (0..1 << DIGIT).for_each(|d| next[d + 1] += next[d]);
        for &i in &from {
            to[next[digit(i)]] = i;
            next[digit(i)] += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    from
}

/// The smallest and largest coordinates. Without points, the box is empty.
pub(crate) fn bounding_box(points: &[[f64; 3]]) -> ([f64; 3], [f64; 3]) {
    let worth = parallel::worth(3 * points.len());
    let leaf = |range: Range<usize>| {
        let mut ends = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for p in &points[range] {
            for (a, &c) in p.iter().enumerate() {
                ends.0[a] = c.min(ends.0[a]);
                ends.1[a] = c.max(ends.1[a]);
            }
        }
        ends
    };
    let join = |p: ([f64; 3], [f64; 3]), q: ([f64; 3], [f64; 3])| {
        ([0, 1, 2].map(|a| p.0[a].min(q.0[a])), [0, 1, 2].map(|a| p.1[a].max(q.1[a])))
    };
    parallel::tree(0..points.len(), LEAF, worth, &leaf, &join)
}

/// The cell of a coordinate between 0 and 1. A single point gives 0/0 = NaN and lies in cell 0.
fn cell(t: f64) -> u64 {
    ((t * f64::from(CELLS)) as u64).min(u64::from(CELLS) - 1)
}

/// The 20 bits of v, each followed by two zero bits.
fn spread(v: u64) -> u64 {
    let v = (v | v << 32) & 0x001f_0000_0000_ffff;
    let v = (v | v << 16) & 0x001f_0000_ff00_00ff;
    let v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
    let v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
    (v | v << 2) & 0x1249_2492_4924_9249
}
