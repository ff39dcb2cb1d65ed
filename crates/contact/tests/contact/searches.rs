//! How often pairs are searched for, and where.

use std::sync::Mutex;

use coarsen_contact::{
    Aabb, BroadPhase, ClothContact, ContactError, Impact, IncrementalBroadPhase, Pair, Search, Topology,
    Touch,
};
use coarsen_core::SplitMix64;
use coarsen_elastic::Potential;

use crate::cloth::{grid, rolled};

/// [`BroadPhase`] that counts its searches for all pairs, and those for the pairs of some nodes.
#[derive(Default)]
struct Counted {
    broad: BroadPhase,
    whole: usize,
    some: usize,
    /// The nodes of the last search for the pairs of some.
    changed: Vec<bool>,
    /// The largest extent of a box in the last search for all pairs.
    widest: f64,
}

impl Search for Counted {
    fn pairs(
        &mut self,
        parts: &Topology,
        changed: Option<&[bool]>,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        if let Some(changed) = changed {
            self.some += 1;
            self.changed = changed.to_vec();
            return self.broad.pairs(parts, Some(changed), of, keep, found);
        }
        self.whole += 1;
        let widest = Mutex::new(0.0_f64);
        let watched = |node: u32| {
            let own = of(node);
            let mut widest = widest.lock().unwrap();
            *widest = widest.max(own.extent());
            own
        };
        self.broad.pairs(parts, None, &watched, keep, found)?;
        self.widest = widest.into_inner().unwrap();
        Ok(())
    }

    fn touches(
        &mut self,
        candidates: &[Pair],
        of: &(impl Fn(&Pair) -> Option<Touch> + Sync),
        found: &mut Vec<Touch>,
    ) -> Result<(), ContactError> {
        self.broad.touches(candidates, of, found)
    }

    /// The time of a pair is the same for every end after it, so that ranks that share a list find the same minimum.
    fn first(
        &mut self,
        candidates: &[Pair],
        last: f64,
        time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
    ) -> Result<Impact, ContactError> {
        for pair in candidates {
            let Some(t) = time(pair, last).filter(|t| *t < 1.0) else { continue };
            for share in [1e-12, 1e-3, 0.05, 0.2, 1.0] {
                let end = t + share * (1.0 - t);
                assert_eq!(time(pair, end), Some(t), "{pair} until {end}");
            }
        }
        self.broad.first(candidates, last, time)
    }
}

/// Cloth that falls has the same pairs without another search, and steps are bounded without one.
#[test]
fn falling_cloth_needs_no_search() {
    let (n, thickness) = (30, 0.03);
    let x = rolled(n, 1e-3);
    let held = vec![false; x.len()];
    let mut contact = ClothContact::with(Counted::default(), &grid(n), &held, &x, thickness, 40.0).unwrap();
    let before: Vec<Pair> = contact.found().iter().map(|touch| touch.pair).collect();
    let fallen: Vec<f64> = x.iter().flat_map(|x| [x[0], x[1] - 0.5, x[2] + 0.25]).collect();
    let found: Vec<Pair> = contact.detect(&fallen).unwrap().iter().map(|touch| touch.pair).collect();
    let mut down: Vec<f64> = (0..fallen.len()).map(|k| if k % 3 == 1 { -2.0 } else { 0.0 }).collect();
    assert!(!found.is_empty() && found == before && contact.max_step(&fallen, &down) == 16.0);
    assert_eq!(contact.search().whole, 1);
    // Half of it falls faster, by more than the candidates allow, and passes through the other half.
    let half = down.len() / 6 * 3;
    down[..half].iter_mut().for_each(|d| *d *= 2.0);
    let step = contact.max_step(&fallen, &down);
    assert!(step < 1.0 && contact.blocking().is_some() && contact.search().whole == 2, "{step}");
    // The same bound as for the difference alone.
    down.iter_mut().enumerate().for_each(|(k, d)| *d += if k % 3 == 1 { 2.0 } else { 0.0 });
    let alone = contact.max_step(&fallen, &down);
    assert!((step / alone - 1.0).abs() < 1e-9, "{step} {alone}");
}

/// A start that is not finite does not change later searches.
#[test]
fn a_start_that_is_not_finite_is_no_start() {
    let (n, thickness) = (10, 0.03);
    let rest = rolled(n, 1e-3);
    let new = || ClothContact::new(&grid(n), &vec![false; rest.len()], &rest, thickness, 40.0).unwrap();
    let x: Vec<f64> =
        rest.iter().zip(0..).flat_map(|(x, v)| [x[0], x[1], x[2] + 0.002 * f64::from(v % 5)]).collect();
    for (bad, which) in [f64::NAN, f64::INFINITY, 1e308].into_iter().flat_map(|bad| [(bad, 1), (bad, 300)]) {
        let start: Vec<f64> = x.iter().enumerate().map(|(k, x)| if k < which { bad } else { *x }).collect();
        let (mut contact, dx) = (new(), vec![[0.0, 0.01, 0.0]; rest.len()]);
        for dx in [dx.clone(), dx.iter().enumerate().map(|(v, d)| d.map(|d| d * v as f64)).collect()] {
            contact.start_step(&start);
            assert_eq!(contact.detect(&x).unwrap(), new().detect(&x).unwrap());
            assert_eq!(contact.impacts(&x, &dx).unwrap(), new().impacts(&x, &dx).unwrap());
        }
    }
}

/// Bounds below 1 are those of a new search, however far the candidates serve.
#[test]
fn bounds_do_not_depend_on_earlier_searches() {
    let (n, thickness) = (10, 0.03);
    let rest = rolled(n, 1e-3);
    let held: Vec<bool> = (0..rest.len()).map(|v| v < 3).collect();
    let new = || ClothContact::new(&grid(n), &held, &rest, thickness, 40.0).unwrap();
    let x = rest[3..].as_flattened();
    let mut random = SplitMix64::new(2);
    let (mut bounded, mut ended) = (0, 0);
    for round in 0..8 {
        let dx: Vec<f64> = x.iter().map(|_| random.numbers(1)[0] - 0.5).collect();
        let first = new().max_step(x, &dx);
        assert!(first < 1.0);
        let mut raised = rest.clone();
        raised[..3].iter_mut().for_each(|x| x[1] += 0.9 * first * (random.numbers(1)[0] - 0.5));
        for k in 0..10 {
            // The first impact is near 1, also after it.
            let scale = first * (0.8 + 0.05 * f64::from(k));
            let scaled = |by: f64| dx.iter().map(|d| by * scale * d).collect::<Vec<_>>();
            let (mut searched, mut unsearched) = (new(), new());
            searched.max_step(x, &scaled(4.0));
            let [one, other] = [&mut searched, &mut unsearched].map(|contact| {
                let step = contact.max_step(x, &scaled(1.0));
                (step.min(1.0), contact.blocking().filter(|_| step < 1.0), step)
            });
            assert_eq!((one.0.to_bits(), one.1), (other.0.to_bits(), other.1), "{round}, {k}");
            (bounded, ended) = (bounded + usize::from(one.0 < 1.0), ended + usize::from(one.2 > other.2));
            let [one, other] =
                [&mut searched, &mut unsearched].map(|contact| contact.carry(x, &scaled(1.0), &raised));
            assert_eq!(one, other, "{round}, {k}");
        }
    }
    assert!(bounded > 20 && ended > 20, "{bounded} {ended}");
}

/// The pairs of some nodes are those of all pairs that have one of them, in any number of shares.
#[test]
fn pairs_of_changed_nodes_are_those_of_all_pairs() {
    let n = 40;
    let x = rolled(n, 1e-3);
    let held: Vec<bool> = (0..x.len()).map(|v| v % 7 == 0).collect();
    let parts = Topology::new(&grid(n), &held, &x).unwrap();
    let of = |node: u32| Aabb::of([x[node as usize]]).grown(0.02);
    let keep = |pair: &Pair| pair.nodes().iter().sum::<u32>() % 3 != 0;
    let mut all = Vec::new();
    BroadPhase::default().find(&parts, of, keep, &mut all).unwrap();
    let mut random = SplitMix64::new(4);
    for case in 0..8 {
        let some = |v: usize, random: &mut SplitMix64| match case {
            0 => false,
            1 => true,
            2 => v == 820,
            3 => (500..560).contains(&v),
            _ => random.bits().is_multiple_of(1 << case),
        };
        let changed: Vec<bool> = (0..x.len()).map(|v| some(v, &mut random)).collect();
        let mut expected = all.clone();
        expected.retain(|pair| pair.nodes().iter().any(|&node| changed[node as usize]));
        assert_eq!(expected.is_empty(), case == 0, "{case}");
        for shares in [1, 2, 5] {
            let (mut search, mut together) = (IncrementalBroadPhase::default(), Vec::new());
            for share in 0..shares {
                let mut found = Vec::new();
                search.find(&parts, &changed, [share, shares], of, keep, &mut found).unwrap();
                assert!(found.is_sorted_by(|a, b| a < b) && (shares < 5 || found.len() < all.len()));
                together.extend(found);
            }
            together.sort();
            assert!(together == expected, "{case}: {} of {}", together.len(), expected.len());
        }
    }
}

#[test]
fn steps_have_the_pairs_of_new_searches() {
    let [met, touched, some, whole] = pairs_of_steps(8);
    assert!(met > 0 && touched > 0 && whole < some, "{met} {touched} {some} {whole}");
}

#[test]
#[ignore = "10 s: run by .ci/full"]
fn long_steps_have_the_pairs_of_new_searches() {
    let [met, touched, some, whole] = pairs_of_steps(25);
    assert!(met > 10 && touched > 1000 && some > 20 && whole < 15, "{met} {touched} {some} {whole}");
}

/// Steps of a rolled sheet whose displacements change from step to step have the touches and impacts of a new search in
/// each place. Returns the numbers of impacts, of touches, of searches for the pairs of some nodes, and of those for all
/// pairs.
fn pairs_of_steps(steps: usize) -> [usize; 4] {
    let (n, thickness) = (30, 0.03);
    let rest = rolled(n, 1e-3);
    let held: Vec<bool> = (0..rest.len()).map(|v| v < 3).collect();
    let search = Counted::default();
    let mut contact = ClothContact::with(search, &grid(n), &held, &rest, thickness, 40.0).unwrap();
    let mut random = SplitMix64::new(8);
    let mut x: Vec<f64> = rest[3..].as_flattened().to_vec();
    let mut v: Vec<f64> = x.iter().map(|_| 0.1 * thickness * (random.numbers(1)[0] - 0.5)).collect();
    let (mut met, mut touched) = (0, 0);
    for step in 0..steps {
        contact.start_step(&x);
        // The displacement by the velocities, and two changes of it, of which the second is for some nodes alone.
        for part in 0..3 {
            let scale = [1.0, 0.02, 0.0][part] * f64::from(u8::from(part != 1 || step % 3 > 0));
            let mut dx = vec![[0.0; 3]; rest.len()];
            for (node, dx) in dx.iter_mut().enumerate().skip(3) {
                let pushed = (node + 31 * step) % 97 < 2 && part > 0;
                let push = if pushed { thickness * (random.numbers(1)[0] - 0.3) } else { 0.0 };
                *dx = [0, 1, 2]
                    .map(|k| scale * v[3 * (node - 3) + k] + push + if k == 1 { -0.3 * scale } else { 0.0 });
            }
            let impacts = contact.impacts(&x, &dx).unwrap();
            let mut new = ClothContact::new(&grid(n), &held, &rest, thickness, 40.0).unwrap();
            assert_eq!(impacts, new.impacts(&x, &dx).unwrap(), "{step}, {part}");
            met += impacts.len();
            // Shortened, so that nothing crosses.
            let share = if impacts.is_empty() { 1.0 } else { 0.1 };
            x.iter_mut().zip(dx[3..].as_flattened()).for_each(|(x, d)| *x += share * d);
            let found = contact.detect(&x).unwrap();
            assert_eq!(found, new.detect(&x).unwrap(), "{step}, {part}");
            touched += found.len();
        }
        v.iter_mut().for_each(|v| *v *= 0.98);
        let Counted { whole, some, .. } = contact.search();
        println!("step {step}: {met} impacts, {touched} touches, {some} searches for some, {whole} for all");
    }
    let Counted { whole, some, .. } = contact.search();
    [met, touched, *some, *whole]
}

/// Two triangles that are 10 apart, with a thickness of 1: candidates serve until a node is half of it from the
/// displacement, beside a translation of all.
const APART: [[f64; 3]; 6] =
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 10.0, 0.0], [1.0, 10.0, 0.0], [0.0, 11.0, 0.0]];

fn apart() -> ClothContact<Counted> {
    let triangles = [[0, 1, 2], [3, 4, 5]];
    ClothContact::with(Counted::default(), &triangles, &[false; 6], &APART, 1.0, 40.0).unwrap()
}

/// The displacements, or the positions, of both triangles.
fn both(first: [f64; 3], second: [f64; 3]) -> Vec<f64> {
    [[first; 3], [second; 3]].as_flattened().as_flattened().to_vec()
}

/// The positions after a share of a displacement.
fn there(t: f64, by: &[f64]) -> Vec<f64> {
    APART.as_flattened().iter().zip(by).map(|(x, d)| x + t * d).collect()
}

#[test]
fn translations_need_no_search() {
    let searches = |by: &[f64]| {
        let mut contact = apart();
        contact.detect(&there(1.0, by)).unwrap();
        contact.search().whole - 1
    };
    let down = [0.0, -5.0, 0.0];
    assert_eq!(searches(&both(down, down)), 0);
    // One triangle moves by nearly the thickness or by more: both are half of that from the mean.
    for (length, expected) in [(0.98, 0), (1.02, 1)] {
        assert_eq!(searches(&both([0.0; 3], [0.0, 0.0, length])), expected, "{length}");
        assert_eq!(searches(&both(down, [0.0, -5.0, length])), expected, "{length}");
    }
    // Equal displacements leave nothing, although the sum of three tenths is not 0.3.
    let mut contact = apart();
    assert_eq!(contact.max_step(APART.as_flattened(), &[0.1, 0.2, 0.7].repeat(6)), 16.0);
    assert_eq!(contact.search().whole, 1);
}

/// A bound on a step searches along its displacement. Positions near any share of it, and displacements that stay near
/// it, need no other search.
#[test]
fn one_search_serves_a_whole_displacement() {
    let dx = both([8.0, 0.0, -1.0], [0.0, 0.0, 7.0]);
    let searches = |check: &dyn Fn(&mut ClothContact<Counted>) -> f64| {
        let mut contact = apart();
        assert!(contact.max_step(APART.as_flattened(), &dx) >= 1.0);
        assert_eq!(contact.search().whole, 2);
        assert!(check(&mut contact) >= 0.0);
        contact.search().whole - 2
    };
    for t in [0.0, 0.3, 1.0] {
        for (aside, expected) in [(0.0, 0), (0.8, 0), (1.2, 1)] {
            let mut x = there(t, &dx);
            x[9..].iter_mut().skip(1).step_by(3).for_each(|y| *y += aside);
            let found = searches(&|contact| contact.detect(&x).unwrap().len() as f64);
            assert_eq!(found, expected, "{t}, {aside} aside");
        }
    }
    for t in [-0.2, 1.2] {
        assert_eq!(searches(&|contact| contact.detect(&there(t, &dx)).unwrap().len() as f64), 1, "{t}");
    }
    let scaled = |by: f64| -> Vec<f64> { dx.iter().map(|d| by * d + 0.3).collect() };
    let steps = |place: f64, by: &[f64]| searches(&|contact| contact.max_step(&there(place, &dx), by));
    for longer in [1.0, 1.001, 1.01, 0.999, 0.5] {
        assert_eq!(steps(0.0, &scaled(longer)), 0, "{longer}");
    }
    // The way back, and short steps at the ends.
    for (place, by, expected) in
        [(0.0, 2.0, 1), (0.25, -1.0, 1), (1.0, -1.0, 0), (1.0, 1e-3, 0), (0.0, -1e-3, 0)]
    {
        assert_eq!(steps(place, &scaled(by)), expected, "{by} from {place}");
    }
    assert_eq!(steps(0.0, &both([0.0; 3], [0.0, 8.0, 0.0])), 1);
    let vast = both([1e300; 3], [-1e300, 0.0, 0.0]);
    let mut contact = apart();
    assert!(contact.max_step(APART.as_flattened(), &vast).is_nan());
    assert!(matches!(contact.take_fault(), Some(ContactError::Box { .. })));
}

/// Ten nodes of a sheet that is still have half of their displacement behind them. Of all nodes, only three that turn
/// aside are searched for: still nodes have no say on the share of the displacement that is done.
#[test]
fn only_nodes_that_turn_aside_are_searched_for() {
    let (n, thickness) = (10_u32, 0.03);
    let flat: Vec<[f64; 3]> = (0..n * n).map(|v| [f64::from(v % n), f64::from(v / n), 0.0]).collect();
    let mut contact =
        ClothContact::with(Counted::default(), &grid(n), &[false; 100], &flat, thickness, 40.0).unwrap();
    let x = flat.as_flattened();
    contact.start_step(x);
    let mut dx = vec![[0.0; 3]; 100];
    dx[..10].fill([0.0, 0.0, 5.0 * thickness]);
    assert!(contact.impacts(x, &dx).unwrap().is_empty());
    let (whole, some) = (contact.search().whole, contact.search().some);
    let half: Vec<[f64; 3]> = dx.iter().map(|d| d.map(|d| 0.5 * d)).collect();
    let there: Vec<f64> = x.iter().zip(half.as_flattened()).map(|(x, d)| x + d).collect();
    assert!(contact.impacts(&there, &half).unwrap().is_empty());
    assert_eq!((contact.search().whole, contact.search().some), (whole, some), "the same displacement");
    let mut aside = half.clone();
    [33, 55, 77].into_iter().for_each(|v| aside[v][2] = -5.0 * thickness);
    assert!(contact.impacts(&there, &aside).unwrap().is_empty());
    let search = contact.search();
    assert_eq!((search.whole, search.some), (whole, some + 1));
    let changed: Vec<usize> = (0..100).filter(|&v| search.changed[v]).collect();
    assert_eq!(changed, [33, 55, 77]);
}

/// A search for several steps has boxes around the displacements of nodes, and those of a node that is much faster than
/// the others are not as long as all these steps.
#[test]
fn boxes_of_fast_nodes_are_limited() {
    let (n, thickness) = (14_u32, 0.03);
    let flat: Vec<[f64; 3]> = (0..n * n).map(|v| [f64::from(v % n), f64::from(v / n), 0.0]).collect();
    let held = vec![false; flat.len()];
    let widest = |fast: f64| {
        let mut contact =
            ClothContact::with(Counted::default(), &grid(n), &held, &flat, thickness, 40.0).unwrap();
        let x = flat.as_flattened();
        contact.start_step(x);
        let mut random = SplitMix64::new(4);
        let mut dx: Vec<[f64; 3]> = flat.iter().map(|_| [0.0, 0.0, thickness * random.number()]).collect();
        dx[7][1] -= fast;
        contact.impacts(x, &dx).unwrap();
        contact.search().widest
    };
    let (slow, fast) = (widest(0.0), widest(100.0 * thickness));
    assert!(slow > thickness && fast < 150.0 * thickness, "{slow} {fast}");
}
