//! How often pairs are searched for.

use coarsen_contact::{
    Aabb, Broad, ClothContact, ContactError, Fresh, Impact, Pair, Search, Topology, Touch,
};
use coarsen_core::SplitMix64;
use coarsen_elastic::Potential;

use crate::cloth::{grid, rolled};

/// [`Broad`] that counts its searches for all pairs, and those for the pairs of some nodes.
struct Counted(Broad, usize, usize);

impl Search for Counted {
    fn pairs(
        &mut self,
        parts: &Topology,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        self.1 += 1;
        self.0.pairs(parts, of, keep, found)
    }

    fn pairs_of(
        &mut self,
        parts: &Topology,
        fresh: &[bool],
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        self.2 += 1;
        self.0.pairs_of(parts, fresh, of, keep, found)
    }

    fn touches(
        &mut self,
        candidates: &[Pair],
        of: &(impl Fn(&Pair) -> Option<Touch> + Sync),
        found: &mut Vec<Touch>,
    ) -> Result<(), ContactError> {
        self.0.touches(candidates, of, found)
    }

    fn first(
        &mut self,
        candidates: &[Pair],
        last: f64,
        time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
    ) -> Result<Impact, ContactError> {
        self.0.first(candidates, last, time)
    }
}

/// Cloth that falls has the same pairs without another search, and steps are bounded without one.
#[test]
fn falling_cloth_needs_no_search() {
    let (n, thickness) = (30, 0.03);
    let x = rolled(n, 1e-3);
    let held = vec![false; x.len()];
    let mut contact =
        ClothContact::with(Counted(Broad::default(), 0, 0), &grid(n), &held, &x, thickness, 40.0).unwrap();
    let before: Vec<Pair> = contact.found().iter().map(|touch| touch.pair).collect();
    let fallen: Vec<f64> = x.iter().flat_map(|x| [x[0], x[1] - 0.5, x[2] + 0.25]).collect();
    let found: Vec<Pair> = contact.detect(&fallen).unwrap().iter().map(|touch| touch.pair).collect();
    let mut down: Vec<f64> = (0..fallen.len()).map(|k| if k % 3 == 1 { -2.0 } else { 0.0 }).collect();
    assert!(!found.is_empty() && found == before && contact.max_step(&fallen, &down) == 16.0);
    assert_eq!(contact.search().1, 1);
    // Half of it falls faster, by more than the candidates allow, and passes through the other half.
    let half = down.len() / 6 * 3;
    down[..half].iter_mut().for_each(|d| *d *= 2.0);
    let step = contact.max_step(&fallen, &down);
    assert!(step < 1.0 && contact.blocking().is_some() && contact.search().1 == 2, "{step}");
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
        let (mut contact, by) = (new(), vec![[0.0, 0.01, 0.0]; rest.len()]);
        for by in [by.clone(), by.iter().enumerate().map(|(v, d)| d.map(|d| d * v as f64)).collect()] {
            contact.start_step(&start);
            assert_eq!(contact.detect(&x).unwrap(), new().detect(&x).unwrap());
            assert_eq!(contact.impacts(&x, &by).unwrap(), new().impacts(&x, &by).unwrap());
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
        let way: Vec<f64> = x.iter().map(|_| random.numbers(1)[0] - 0.5).collect();
        let first = new().max_step(x, &way);
        assert!(first < 1.0);
        let mut raised = rest.clone();
        raised[..3].iter_mut().for_each(|x| x[1] += 0.9 * first * (random.numbers(1)[0] - 0.5));
        for k in 0..10 {
            // The first impact is near 1, also after it.
            let scale = first * (0.8 + 0.05 * f64::from(k));
            let scaled = |by: f64| way.iter().map(|d| by * scale * d).collect::<Vec<_>>();
            let (mut wide, mut narrow) = (new(), new());
            wide.max_step(x, &scaled(4.0));
            let [one, other] = [&mut wide, &mut narrow].map(|contact| {
                let step = contact.max_step(x, &scaled(1.0));
                (step.min(1.0), contact.blocking().filter(|_| step < 1.0), step)
            });
            assert_eq!((one.0.to_bits(), one.1), (other.0.to_bits(), other.1), "{round}, {k}");
            (bounded, ended) = (bounded + usize::from(one.0 < 1.0), ended + usize::from(one.2 > other.2));
            let [one, other] =
                [&mut wide, &mut narrow].map(|contact| contact.carry(x, &scaled(1.0), &raised));
            assert_eq!(one, other, "{round}, {k}");
        }
    }
    assert!(bounded > 20 && ended > 20, "{bounded} {ended}");
}

/// The pairs of some nodes are those of all pairs that have one of them, in any number of shares.
#[test]
fn pairs_of_fresh_nodes_are_those_of_all_pairs() {
    let n = 40;
    let x = rolled(n, 1e-3);
    let held: Vec<bool> = (0..x.len()).map(|v| v % 7 == 0).collect();
    let parts = Topology::new(&grid(n), &held, &x).unwrap();
    let of = |node: u32| Aabb::of([x[node as usize]]).grown(0.02);
    let keep = |pair: &Pair| pair.nodes().iter().sum::<u32>() % 3 != 0;
    let mut all = Vec::new();
    Broad::default().find(&parts, of, keep, &mut all).unwrap();
    let mut random = SplitMix64::new(4);
    for case in 0..8 {
        let some = |v: usize, random: &mut SplitMix64| match case {
            0 => false,
            1 => true,
            2 => v == 820,
            3 => (500..560).contains(&v),
            _ => random.bits().is_multiple_of(1 << case),
        };
        let fresh: Vec<bool> = (0..x.len()).map(|v| some(v, &mut random)).collect();
        let mut expected = all.clone();
        expected.retain(|pair| pair.nodes().iter().any(|&node| fresh[node as usize]));
        assert_eq!(expected.is_empty(), case == 0, "{case}");
        for shares in [1, 2, 5] {
            let (mut search, mut together) = (Fresh::default(), Vec::new());
            for share in 0..shares {
                let mut found = Vec::new();
                search.find(&parts, &fresh, [share, shares], of, keep, &mut found).unwrap();
                assert!(found.is_sorted_by(|a, b| a < b) && (shares < 5 || found.len() < all.len()));
                together.extend(found);
            }
            together.sort();
            assert!(together == expected, "{case}: {} of {}", together.len(), expected.len());
        }
    }
}

/// Steps of a rolled sheet whose ways change from step to step have the touches and impacts of a new search in each
/// place, and most of them search for the pairs of some nodes alone.
#[test]
fn steps_have_the_pairs_of_new_searches() {
    let (n, thickness) = (30, 0.03);
    let rest = rolled(n, 1e-3);
    let held: Vec<bool> = (0..rest.len()).map(|v| v < 3).collect();
    let search = Counted(Broad::default(), 0, 0);
    let mut contact = ClothContact::with(search, &grid(n), &held, &rest, thickness, 40.0).unwrap();
    let mut random = SplitMix64::new(8);
    let mut x: Vec<f64> = rest[3..].as_flattened().to_vec();
    let mut v: Vec<f64> = x.iter().map(|_| 0.1 * thickness * (random.numbers(1)[0] - 0.5)).collect();
    let (mut met, mut touched) = (0, 0);
    for step in 0..25_usize {
        contact.start_step(&x);
        // The way of the velocities, and two changes of it, of which the second is for some nodes alone.
        for part in 0..3 {
            let scale = [1.0, 0.02, 0.0][part] * f64::from(u8::from(part != 1 || step % 3 > 0));
            let mut by = vec![[0.0; 3]; rest.len()];
            for (node, by) in by.iter_mut().enumerate().skip(3) {
                let pushed = (node + 31 * step) % 97 < 2 && part > 0;
                let push = if pushed { thickness * (random.numbers(1)[0] - 0.3) } else { 0.0 };
                *by = [0, 1, 2]
                    .map(|k| scale * v[3 * (node - 3) + k] + push + if k == 1 { -0.3 * scale } else { 0.0 });
            }
            let impacts = contact.impacts(&x, &by).unwrap();
            let mut new = ClothContact::new(&grid(n), &held, &rest, thickness, 40.0).unwrap();
            assert_eq!(impacts, new.impacts(&x, &by).unwrap(), "{step}, {part}");
            met += impacts.len();
            // Shortened, so that nothing crosses.
            let share = if impacts.is_empty() { 1.0 } else { 0.1 };
            x.iter_mut().zip(by[3..].as_flattened()).for_each(|(x, d)| *x += share * d);
            let found = contact.detect(&x).unwrap();
            assert_eq!(found, new.detect(&x).unwrap(), "{step}, {part}");
            touched += found.len();
        }
        v.iter_mut().for_each(|v| *v *= 0.98);
    }
    let Counted(_, whole, some) = contact.search();
    assert!(met > 10 && touched > 1000 && *some > 20 && *whole < 15, "{met} {touched} {some} {whole}");
}
