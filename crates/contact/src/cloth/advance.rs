//! Continuous collision detection of one pair by additive conservative advancement: Li, Kaufman & Jiang 2021, "Codimensional incremental potential
//! contact", ACM TOG 40(4), Algorithm 1.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x, p | `x`, `p` | positions of the four nodes, and their displacements |
//! | l_p | `speed` | a bound on the rate at which the distance shrinks |
//! | ξ | `min_distance` | the distance that is kept |
//! | d − ξ | `start`, at the start | |
//! | s | `SHARE` | the share of d − ξ that is kept |

use super::apart::beyond;
use super::distance::gap;
use crate::Pair;
use crate::shape::norm;

/// Pairs near the minimum distance keep this share of their distance until the impact, so that they can part and slide.
const KEPT: f64 = 0.9;

/// The share of its distance that such a pair may lose by round-off.
const LOST: f64 = 1e-9;

/// s: a step ends when this share of the first d − ξ is left.
const SHARE: f64 = 0.1;

/// The share of a bound that is taken at once.
const BOLD: f64 = 0.9;

/// The largest number of advances; each shrinks d − ξ by at most nine tenths or passes safely.
const MOST: usize = 10_000;

/// Returns a time t up to `end` until which the nodes of a pair may move from x along p, such that their
/// distance stays above `min_distance`; `None` if they may move until `end`.
///
/// At t, at least a tenth of the distance above the minimum distance at the start is left. No impact is missed, whatever
/// the displacements, because each advance is shorter than the distance divided by a bound on its rate.
///
/// A pair that starts near the minimum distance or below it may part, slide and move as one. Until t it keeps nine tenths
/// of its distance. At t its distance is at least the one at the start or the minimum distance, whichever is less, up to
/// a relative error of 1e-9. So a pair that is pressed together in many steps does not sink below the minimum distance. Parts that
/// touch and shapes that are not finite may not move: t = 0. *Cost* a few distances; many if the parts slide
/// along each other.
///
/// ```
/// use coarsen_contact::{Pair, time_of_impact};
/// let pair = Pair::VertexFace { vertex: 3, face: [0, 1, 2] };
/// let x = [[0.2, 0.2, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let p = [[0.0, 0.0, -2.0], [0.0; 3], [0.0; 3], [0.0; 3]]; // it meets the triangle at t = 1/2
/// let t = time_of_impact(&pair, &x, &p, 0.0, 1.0).expect("an impact");
/// assert!(t < 0.5 && t >= 0.45 - 1e-12);
/// assert_eq!(time_of_impact(&pair, &x, &p, 0.0, 0.4), None);
/// ```
pub fn time_of_impact(
    pair: &Pair,
    x: &[[f64; 3]; 4],
    p: &[[f64; 3]; 4],
    min_distance: f64,
    end: f64,
) -> Option<f64> {
    impact_before(pair, x, p, [min_distance, f64::INFINITY], [end; 2])
}

/// [`time_of_impact`] with `last` in place of `end`, if it is before `end`, which is not above `last`. So the least
/// time of several pairs does not depend on the order in which each of them lowers `end` for the next. Pairs that stay
/// `clear` apart do not meet, however far apart they are at the start.
pub(super) fn impact_before(
    pair: &Pair,
    x: &[[f64; 3]; 4],
    p: &[[f64; 3]; 4],
    [min_distance, clear]: [f64; 2],
    [last, end]: [f64; 2],
) -> Option<f64> {
    let (p, speed) = relative(pair, p);
    if beyond(pair, x, min_distance + speed * last) {
        return None; // as `until` would find with the distance
    }
    let distance_at = |t: f64| {
        let moved: [[f64; 3]; 4] = std::array::from_fn(|a| std::array::from_fn(|k| x[a][k] + t * p[a][k]));
        gap(pair, &moved).distance
    };
    let distance = distance_at(0.0);
    // Until distances fall below `least`. The first advance is safe by its length; only `strict` checks its end.
    let until = |min_distance: f64, least: f64, strict: bool| {
        let start = distance - min_distance;
        // The first advance ends at a share of the gap above the minimum distance, and no time before it is returned unless `strict`.
        if start > speed * last || (!strict && (1.0 - SHARE) * start > speed * end) {
            return None;
        }
        if !start.is_finite() || speed.is_nan() || start <= 0.0 {
            return Some(0.0);
        }
        let (mut t, mut advance) = (0.0, (1.0 - SHARE) * start / speed);
        for _ in 0..MOST {
            let next = (t + advance).min(last); // what comes after `last` is no impact
            let ahead = distance_at(next);
            if ahead < least && (strict || t > 0.0) {
                return Some(t);
            }
            // A distance that overflows is NaN: nothing is known about it.
            if next >= last {
                return ahead.is_nan().then_some(t);
            }
            t = next;
            if t > end {
                return None;
            }
            advance = BOLD * (ahead - min_distance) / speed;
            if advance.is_nan() || advance <= f64::EPSILON * t {
                return Some(t);
            }
        }
        Some(t)
    };
    let first = until(min_distance, (min_distance + SHARE * (distance - min_distance)).min(clear), false);
    let low = KEPT * distance;
    match first {
        Some(t) if low < min_distance => {
            until(low, (1.0 - LOST) * min_distance.min(distance), true).map(|other| t.max(other))
        }
        _ => first,
    }
}

/// Whether a pair can come to the distance `min_distance` until the time 1, by the bound on its rate alone.
#[inline]
pub(super) fn approaches(pair: &Pair, x: &[[f64; 3]; 4], p: &[[f64; 3]; 4], min_distance: f64) -> bool {
    let speed = relative(pair, p).1;
    if beyond(pair, x, min_distance + speed) {
        return false;
    }
    let start = gap(pair, x).distance - min_distance;
    start <= speed || start.is_nan() || speed.is_nan()
}

/// The displacements without their mean, and l_p.
#[inline]
fn relative(pair: &Pair, p: &[[f64; 3]; 4]) -> ([[f64; 3]; 4], f64) {
    let mean: [f64; 3] = std::array::from_fn(|k| 0.25 * p.iter().map(|p| p[k]).sum::<f64>());
    let p = p.map(|p| [0, 1, 2].map(|k| p[k] - mean[k]));
    let (first, second) = p.split_at(pair.first());
    let most = |p: &[[f64; 3]]| p.iter().map(|&p| norm(p)).fold(0.0, f64::max);
    let speed = most(first) + most(second);
    (p, speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that separate and grow until their distance overflows: the motion ends at a time before that.
    #[test]
    fn a_distance_that_is_not_a_number_ends_the_motion() {
        let vast = 1e150;
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let grow = corners.map(|c| c.map(|c| vast * c));
        let x = [[0.2, 0.2, 1.0], corners[0], corners[1], corners[2]];
        let p = [[0.2 * vast, 0.2 * vast, vast], grow[0], grow[1], grow[2]];
        let pair = Pair::VertexFace { vertex: 0, face: [1, 2, 3] };
        let end: [[f64; 3]; 4] = std::array::from_fn(|a| std::array::from_fn(|k| x[a][k] + p[a][k]));
        assert!(gap(&pair, &end).distance.is_nan());
        let t = time_of_impact(&pair, &x, &p, 0.0, 1.0).expect("an end of the motion");
        assert!(t > 0.0 && t < 1.0, "{t}");
    }
}
