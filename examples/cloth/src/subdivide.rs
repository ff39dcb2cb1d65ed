//! Finer sheets, and the states of coarser ones on them.
//!
//! Each triangle is divided into four at the middles of its sides. The surface stays where it is, so a state without a
//! crossing has none on the finer sheet either; its thickness is halved with its edges, unless it is given.

use std::collections::HashMap;

use coarsen::mesh::vector::sub;

use crate::fault::SceneError;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::state::State;

/// The largest number of vertices.
const MOST: usize = 4_000_000;

/// The interval of the difference quotient for velocities of held vertices, in s.
const TICK: f64 = 1e-6;

/// A sheet whose triangles are divided.
pub(crate) struct Finer {
    pub(crate) sheet: Sheet,
    /// The ends of the edge whose middle each vertex is; twice the same for a vertex that was there before. Sorted, so that
    /// vertices that follow each other stay near each other.
    middles: Vec<[u32; 2]>,
}

impl Finer {
    /// Divides each triangle of a sheet into four.
    pub(crate) fn new(coarse: &Sheet) -> Self {
        let mut middles: Vec<[u32; 2]> = coarse.sides().into_iter().map(|(ends, _)| ends).collect();
        middles.extend((0..coarse.rest.len() as u32).map(|v| [v; 2]));
        middles.sort_unstable();
        middles.dedup();
        let numbers: HashMap<[u32; 2], u32> = middles.iter().copied().zip(0..).collect();
        let at = |a: u32, b: u32| numbers[&[a.min(b), a.max(b)]];
        let four = |&[a, b, c]: &[u32; 3]| {
            let ([p, q, r], [ab, bc, ca]) = ([a, b, c].map(|v| at(v, v)), [at(a, b), at(b, c), at(c, a)]);
            [[p, ab, ca], [ab, q, bc], [ca, bc, r], [ab, bc, ca]]
        };
        let flat = |&[a, b, c]: &[[f64; 2]; 3]| {
            let middle = |a: [f64; 2], b: [f64; 2]| [0, 1].map(|k| 0.5 * (a[k] + b[k]));
            let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        };
        let two = |&[[a, b], [c, d]]: &[[u32; 2]; 2]| {
            let ([ab, cd], [a, b, c, d]) = ([at(a, b), at(c, d)], [a, b, c, d].map(|v| at(v, v)));
            [[[a, ab], [c, cd]], [[ab, b], [cd, d]]]
        };
        let sheet = Sheet {
            triangles: coarse.triangles.iter().flat_map(four).collect(),
            pattern: coarse.pattern.as_ref().map(|all| all.iter().flat_map(flat).collect()),
            painted: coarse.painted.as_ref().map(|all| all.iter().flat_map(flat).collect()),
            seams: coarse.seams.iter().flat_map(two).collect(),
            rest: between(&middles, &coarse.rest),
            ..coarse.clone()
        };
        Self { sheet, middles }
    }

    /// Lets go of vertices in the middle of an edge whose ends are not both held.
    pub(crate) fn release(&self, coarse: &[bool], held: &mut [bool]) {
        for (held, ends) in held.iter_mut().zip(&self.middles) {
            *held &= ends.iter().all(|end| coarse[*end as usize]);
        }
    }
}

/// The middles of some points.
fn between(middles: &[[u32; 2]], of: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let middle = |ends: &[u32; 2]| {
        let [a, b] = ends.map(|v| of[v as usize]);
        [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]))
    };
    middles.iter().map(middle).collect()
}

/// A sheet and the finer ones that follow from it, `times` divided.
pub(crate) fn subdivided(coarse: Sheet, times: u8) -> Result<(Sheet, Vec<Finer>), SceneError> {
    // Each edge gets a vertex, and becomes two; each triangle gets three edges, and becomes four.
    let edges = coarse.sides().chunk_by(|a, b| a.0 == b.0).count();
    let grow = |[v, e, t]: [usize; 3], _| [v + e, 2 * e + 3 * t, 4 * t];
    let [vertices, ..] = (0..times).fold([coarse.rest.len(), edges, coarse.triangles.len()], grow);
    if times > 0 && vertices > MOST {
        return Err(SceneError::Fine { vertices, most: MOST });
    }
    let mut finer: Vec<Finer> = Vec::new();
    for _ in 0..times {
        finer.push(Finer::new(finer.last().map_or(&coarse, |finer| &finer.sheet)));
    }
    Ok((coarse, finer))
}

/// The state of a run with one of these sheets, on the finest of them: positions and velocities of new vertices are the means
/// of those at the ends of their edges. `scenes` are those of the sheets.
///
/// # Errors
/// [`SceneError::Start`] if no sheet has as many free vertices as the state.
pub(crate) fn refined(
    state: State,
    coarse: &Sheet,
    finer: &[Finer],
    scenes: &[Scene],
) -> Result<State, SceneError> {
    let sheets: Vec<&Sheet> = [coarse].into_iter().chain(finer.iter().map(|finer| &finer.sheet)).collect();
    let free = |scene: &Scene| scene.held.iter().filter(|held| !**held).count();
    let counts: Vec<usize> = scenes.iter().map(free).collect();
    let Some(level) = counts.iter().position(|&free| 3 * free == state.x.len()) else {
        return Err(SceneError::Start { found: state.x.len() / 3, counts });
    };
    let (own, start) = (&scenes[level], scenes[level].positions(sheets[level]));
    let at = |time: f64| own.motion.held(&start, time);
    let (held, before) = (at(state.time), at(state.time - TICK));
    let (mut x, mut v): (Vec<[f64; 3]>, Vec<[f64; 3]>) = (held.clone(), vec![[0.0; 3]; held.len()]);
    for node in (0..own.held.len()).filter(|&node| own.held[node]) {
        v[node] = sub(held[node], before[node]).map(|d| d / TICK);
    }
    let free = (0..own.held.len()).filter(|&node| !own.held[node]);
    for (node, (place, velocity)) in free.zip(state.x.as_chunks().0.iter().zip(state.v.as_chunks().0)) {
        (x[node], v[node]) = (*place, *velocity);
    }
    for Finer { middles, .. } in &finer[level..] {
        (x, v) = (between(middles, &x), between(middles, &v));
    }
    let finest = &scenes[scenes.len() - 1].held;
    let gather = |all: &[[f64; 3]]| -> Vec<f64> {
        all.iter().zip(finest).filter(|(_, held)| !**held).flat_map(|(x, _)| *x).collect()
    };
    Ok(State { frame: 0, begun: state.time, x: gather(&x), v: gather(&v), ..state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Tessellation;
    use crate::shirt::shirt;

    /// A finer sheet covers the same area with four times the triangles, and its seams those of the coarse one. Vertices
    /// between held ones alone are held.
    #[test]
    fn finer_sheets_are_the_same_surface() {
        for coarse in [Sheet::square(6, Tessellation::Irregular, true), Sheet::skirt(60), shirt(200)] {
            let (coarse, finer) = subdivided(coarse, 2).unwrap();
            let area = |sheet: &Sheet| (0..sheet.triangles.len()).map(|t| sheet.area(t)).sum::<f64>();
            let seam = |sheet: &Sheet| sheet.seams.iter().map(|[ends, _]| sheet.length(*ends)).sum::<f64>();
            let (whole, sewn) = (area(&coarse), seam(&coarse));
            for (k, Finer { sheet, .. }) in finer.into_iter().enumerate() {
                assert_eq!(sheet.triangles.len(), coarse.triangles.len() << (2 * (k + 1)));
                let [own, first] = [&sheet, &coarse].map(|sheet| sheet.boundary().len());
                assert_eq!(own, first << (k + 1), "the boundary is divided");
                assert!((area(&sheet) - whole).abs() < 1e-12 && (seam(&sheet) - sewn).abs() < 1e-12);
                let shortest = coarse.edges()[0].0 / f64::from(2 << k);
                let sheet = sheet.checked().unwrap();
                assert!((sheet.edges()[0].0 - shortest).abs() < 1e-12);
                assert!(sheet.seams.iter().all(|[a, b]| sheet.length(*a) == sheet.length(*b)));
            }
        }
        let coarse = Sheet::square(4, Tessellation::Regular, false);
        let (fine, first) = (Finer::new(&coarse), |p: &[f64; 3]| p[0] < 1e-9);
        let ends: Vec<bool> = coarse.rest.iter().map(first).collect();
        let mut held = vec![true; fine.sheet.rest.len()];
        fine.release(&ends, &mut held);
        assert_eq!(held, fine.sheet.rest.iter().map(first).collect::<Vec<bool>>());
        assert!(matches!(
            subdivided(Sheet::square(40, Tessellation::Regular, false), 8),
            Err(SceneError::Fine { .. })
        ));
    }
}
