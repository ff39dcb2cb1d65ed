//! How often pairs are searched for.

use coarsen_contact::{Aabb, Broad, ClothContact, ContactError, Impact, Pair, Search, Topology, Touch};
use coarsen_elastic::Potential;

use crate::cloth::{grid, rolled};

/// [`Broad`] that counts its searches for pairs.
struct Counted(Broad, usize);

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
        ClothContact::with(Counted(Broad::default(), 0), &grid(n), &held, &x, thickness, 40.0).unwrap();
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
