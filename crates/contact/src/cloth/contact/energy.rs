//! Energy (1) of the pairs that are near, and its derivatives: [`Potential`].

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_elastic::{BodyError, ContactHessian, Curvature, Energy, Potential};
use coarsen_sparse::Pattern;

use super::{ClothContact, LONGEST};
use crate::cloth::turning::hessian;
use crate::error::undetected;
use crate::shape::size;
use crate::{Search, Touch};

/// The number of contacts per task of a parallel loop, and of scalar operations per contact.
const LEAF: usize = 256;
const WORK: usize = 60;

impl<S: Search> Potential for ClothContact<S> {
    fn nodes(&self) -> usize {
        self.nodes.free()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        if !(self.find_at(x) && self.knows_all()) {
            return Energy { value: f64::NAN, magnitude: f64::NAN };
        }
        // The search need not be shared by threads.
        let (at, found, potential, thickness) = (&self.at, &self.found, self.resistance, self.thickness);
        let energy = |touch: &Touch| {
            let [value, slope, _] = potential.at(touch.distance, thickness);
            let points = touch.pair.nodes().map(|node| at[node as usize]);
            let terms = points.iter().zip(touch.weights).map(|(x, w)| w.abs() * size(*x)).sum::<f64>();
            touch.share * Energy { value, magnitude: slope.abs() * terms } // (1)
        };
        let leaf = |range: Range<usize>| found[range].iter().map(energy).sum::<Energy>();
        let count = found.len();
        parallel::tree(0..count, LEAF, parallel::worth(count * WORK), &leaf, &|a, b| a + b)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.check("add_gradient", g);
        if !self.find_at(x) {
            return g.fill(f64::NAN);
        }
        for touch in &self.found {
            for (node, slope) in touch.pair.nodes().into_iter().zip(self.slopes(touch)) {
                let Some(slot) = self.nodes.slot(node) else { continue };
                (0..3).for_each(|c| g[3 * slot + c] += slope[c]); // (1)
            }
        }
    }

    fn add_hessian(&mut self, _: &[f64], _: Curvature, _: &mut [f64]) {}

    /// Adds the same contacts for each kind of curvature, unless [`turning`](ClothContact::turning) is chosen.
    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut ContactHessian) {
        if !self.find_at(x) {
            return;
        }
        let exact = self.turns && curvature == Curvature::Exact;
        for touch in &self.found {
            if exact {
                // Also for parallel edges, whose m = 0: φ ∇²m is not 0.
                let points = touch.pair.nodes().map(|node| self.at[node as usize]);
                let slots = self.slots(touch).map(|slot| slot.map(|slot| slot as u32));
                contacts.push_blocks(slots, &hessian(touch, &points, self.potential(touch)));
                continue;
            }
            if touch.share == 0.0 {
                continue;
            }
            let (n, k) = (touch.normal, self.resistance(touch));
            contacts.push(touch.stencil(&self.nodes), n.map(|p| n.map(|q| k * p * q))); // (1)
        }
    }

    fn has_contact_hessian(&self) -> bool {
        true
    }

    /// An α until which no pair comes nearer than a tenth of the thickness, or than it is at x if that is less. It is
    /// the largest one below 1; above, it ends where the candidates of the last search do, or at 16.
    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.check("max_step", d);
        self.blocking = None;
        if let Err(error) = self.approach(x) {
            self.fault = Some(error);
            return f64::NAN;
        }
        let dx: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(|node| self.moved(node, d)).collect();
        match self.sweep(&dx, LONGEST) {
            Ok((blocking, last)) => {
                self.blocking = blocking;
                blocking.map_or(last, |(t, _)| t)
            }
            Err(error) => {
                self.fault = Some(error);
                f64::NAN
            }
        }
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        self.detect(x).map(|_| false).map_err(undetected)
    }
}
