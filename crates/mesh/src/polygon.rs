//! Division of polygons into triangles.
//!
//! *Reference* Eberly 2002, "Triangulation by Ear Clipping", Geometric Tools; the algorithm is that of the crate
//! `earcut`.

use earcut::{Earcut, utils3d::project3d_to_2d};

use super::vector::{cross, dot, sub};

/// A triangle of a fan with less than minus this share of the polygon's area turns the other way. Three corners on a
/// straight line give 1e-16, and a fan keeps them.
const TURNED: f64 = 1e-12;

/// The largest polygon that is clipped; `earcut` stores 56 bytes for each corner and counts them in 32 bits.
const CLIPPED: usize = 1 << 24;

/// Adds the triangles of a polygon, with its direction; see [`divide`].
pub(super) fn add(corners: &[u32], positions: &[[f64; 3]], triangles: &mut Vec<[u32; 3]>) {
    divide(corners, positions, |three| triangles.push(three.map(|k| corners[k])));
}

/// Calls `add` with the three places in `corners` of each triangle of a polygon.
///
/// The polygon becomes the fan around its first corner where that covers it once, which holds for every convex one;
/// otherwise ears are clipped. A corner that follows itself counts once, and triangles with fewer than three different
/// corners are left out, because they have no area.
pub(super) fn divide(corners: &[u32], positions: &[[f64; 3]], mut add: impl FnMut([usize; 3])) {
    let n = corners.len();
    let mut add = |three: [usize; 3]| {
        let [a, b, c] = three.map(|k| corners[k]);
        if a != b && b != c && c != a {
            add(three);
        }
    };
    if n == 3 || is_covered(corners, positions) {
        return (2..n).for_each(|k| add([0, k - 1, k]));
    }
    let ring: Vec<usize> = (0..n).filter(|&k| corners[k] != corners[(k + n - 1) % n]).collect();
    if ring.len() < 3 {
        return;
    }
    let first = positions[corners[ring[0]] as usize];
    let x: Vec<_> = ring.iter().map(|&k| sub(positions[corners[k] as usize], first)).collect();
    match ears(&x) {
        Some(ears) => ears.iter().for_each(|ear| add(ear.map(|k| ring[k]))),
        None => (2..ring.len()).for_each(|k| add([ring[0], ring[k - 1], ring[k]])),
    }
}

/// Whether the fan around the first corner covers a polygon once. False also where products overflow or vanish, which
/// [`ears`] scales.
fn is_covered(corners: &[u32], positions: &[[f64; 3]]) -> bool {
    let Some(&first) = corners.first() else { return false };
    let edges = |pair: &[u32]| [0, 1].map(|k| sub(positions[pair[k] as usize], positions[first as usize]));
    let areas = || {
        corners[1..].windows(2).map(|pair| {
            let [a, b] = edges(pair);
            cross(a, b)
        })
    };
    let normal = areas().fold([0.0; 3], |sum, a| [0, 1, 2].map(|k| sum[k] + a[k]));
    let size = dot(normal, normal);
    size.is_normal() && areas().all(|area| dot(area, normal) >= -TURNED * size)
}

/// The triangles of a polygon whose first corner is the origin; `None` if the fan around that corner covers it once, or
/// if the polygon has no area.
fn ears(x: &[[f64; 3]]) -> Option<Vec<[usize; 3]>> {
    // Of size 1, so that no product overflows.
    let size = x.as_flattened().iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let x: Vec<_> = x.iter().map(|x| x.map(|x| x / size)).collect();
    let fan: Vec<_> = x.windows(2).skip(1).map(|edge| cross(edge[0], edge[1])).collect();
    let normal = fan.iter().fold([0.0; 3], |sum, a| [0, 1, 2].map(|k| sum[k] + a[k]));
    let turned = fan.iter().any(|&area| dot(area, normal) < -TURNED * dot(normal, normal));
    let mut plane = Vec::new();
    if !turned || x.len() > CLIPPED || !project3d_to_2d(&x, x.len(), &mut plane) {
        return None;
    }
    let mut flat: Vec<usize> = Vec::new();
    Earcut::new().earcut_slice(&plane, &[], &mut flat);
    let area = |[a, b, c]: [usize; 3]| {
        let [a, b, c] = [plane[a], plane[b], plane[c]];
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let mut ears: Vec<[usize; 3]> = flat.as_chunks().0.to_vec();
    // The projection turns every polygon counter-clockwise.
    if ears.iter().map(|&ear| area(ear)).sum::<f64>() < 0.0 {
        ears.iter_mut().for_each(|ear| ear.swap(1, 2));
    }
    restore(&mut ears, x.len());
    (!ears.is_empty()).then_some(ears)
}

/// Gives corners on a straight edge, which clipping may leave out, back to the triangle of that edge.
fn restore(ears: &mut Vec<[usize; 3]>, corners: usize) {
    let mut used = vec![false; corners];
    ears.iter().flatten().for_each(|&k| used[k] = true);
    let Some(begin) = used.iter().position(|&used| used) else { return };
    let mut before = begin;
    for k in (begin + 1..begin + corners).map(|k| k % corners) {
        if !used[k] {
            let after = (1..corners).map(|step| (k + step) % corners).find(|&next| used[next]);
            let edge = |ear: &[usize; 3]| {
                (0..3).find(|&e| [ear[e], ear[(e + 1) % 3]] == [before, after.unwrap_or(begin)])
            };
            let Some((place, e)) = ears.iter().enumerate().find_map(|(place, ear)| Some((place, edge(ear)?)))
            else {
                continue;
            };
            let mut other = ears[place];
            ears[place][(e + 1) % 3] = k;
            other[e] = k;
            ears.push(other);
        }
        before = k;
    }
}
