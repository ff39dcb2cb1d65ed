//! Additive conservative advancement of one pair: Li, Kaufman & Jiang 2021, "Codimensional incremental potential
//! contact", ACM TOG 40(4), Algorithm 1.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x, p | `x`, `p` | positions of the four nodes, and their displacements |
//! | l_p | `speed` | a bound on the rate at which the distance shrinks |
//! | ξ | `floor` | the distance that is kept |
//! | d − ξ | `room` | |
//! | s | `SHARE` | the share of d − ξ that is kept |

use super::distance::gap;
use crate::Pair;
use crate::shape::norm;

/// s: a step ends when this share of the first d − ξ is left.
const SHARE: f64 = 0.1;

/// The share of a bound that is taken at once.
const BOLD: f64 = 0.9;

/// The largest number of advances; each shrinks d − ξ by at most nine tenths or passes safely.
const MOST: usize = 10_000;

/// Returns a time t up to `end` until which the nodes of a pair may move from x along p, such that their
/// distance stays above `floor`; `None` if they may move until `end`.
///
/// At t, at least a tenth of the distance above the floor at the start is left. No impact is missed, whatever
/// the displacements, because each advance is shorter than the distance divided by a bound on its rate. A pair
/// that starts at the floor or below it may not approach: t = 0. *Cost* a few distances; many if the parts slide
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
    floor: f64,
    end: f64,
) -> Option<f64> {
    let mean: [f64; 3] = std::array::from_fn(|k| 0.25 * p.iter().map(|p| p[k]).sum::<f64>());
    let p = p.map(|p| [0, 1, 2].map(|k| p[k] - mean[k]));
    let (first, second) = p.split_at(pair.first());
    let most = |p: &[[f64; 3]]| p.iter().map(|&p| norm(p)).fold(0.0, f64::max);
    let speed = most(first) + most(second);
    let room_at = |t: f64| {
        let moved: [[f64; 3]; 4] = std::array::from_fn(|a| std::array::from_fn(|k| x[a][k] + t * p[a][k]));
        gap(pair, &moved).distance - floor
    };
    let start = room_at(0.0);
    if start > speed * end {
        return None;
    }
    if start.is_nan() || speed.is_nan() || start <= 0.0 {
        return Some(0.0);
    }
    let least = SHARE * start;
    let (mut t, mut advance) = (0.0, (1.0 - SHARE) * start / speed);
    for _ in 0..MOST {
        let room = room_at(t + advance);
        if t > 0.0 && room < least {
            return Some(t);
        }
        t += advance;
        if t > end {
            return None;
        }
        advance = BOLD * room / speed;
        let advances = advance > f64::EPSILON * t; // false for NaN
        if !advances {
            return Some(t);
        }
    }
    Some(t)
}
