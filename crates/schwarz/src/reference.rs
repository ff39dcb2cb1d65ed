//! Multilevel domains by plain loops, the reference of tests.

use std::sync::Arc;

use coarsen_backend::{Reference, SetupError};
use coarsen_core::Error;

use crate::backend::{Change, Changed, Domains, Inverses, SchwarzBackend, Top};
use crate::packed::{SIDE, entry, side, tile};
use crate::plan::Plan;

/// Multilevel domains as loops over entries.
struct ReferenceDomains {
    plan: Arc<Plan>,
    inverses: Inverses,
}

impl SchwarzBackend for Reference {
    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<Box<dyn Domains<Vec<f64>>>, Error> {
        Ok(Box::new(ReferenceDomains { plan: plan.clone(), inverses }))
    }
}

impl ReferenceDomains {
    /// Returns the correction of a level and all coarser levels.
    #[allow(clippy::ptr_arg)] // `top` takes vectors of the backend
    fn correction(&self, level: usize, r: &Vec<f64>, top: &mut Top<'_, f64>) -> Vec<f64> {
        let (plan, b) = (&self.plan, self.plan.block());
        let mut z = vec![0.0; r.len()];
        if level == plan.levels() {
            top(r, &mut z);
            return z;
        }
        let count = plan.domains(level);
        let mut coarse = vec![0.0; count * b];
        for d in 0..count {
            let rows: Vec<usize> = plan
                .members(level, d)
                .iter()
                .flat_map(|&i| (0..b).map(move |k| i as usize * b + k))
                .collect();
            let (side, first) = (side(rows.len()), plan.offsets(level)[d]);
            for (p, &row) in rows.iter().enumerate() {
                for (q, &column) in rows.iter().enumerate() {
                    let at = if p / SIDE == q / SIDE {
                        tile(side, p / SIDE, q / SIDE) + q % SIDE * SIDE + p % SIDE
                    } else {
                        entry(side, p.max(q), p.min(q))
                    };
                    z[row] += self.inverses.weights[level]
                        * self.inverses.packed[level].get(first + at)
                        * r[column];
                }
                coarse[d * b + p % b] += r[row];
            }
        }
        if level + 1 < plan.levels() || plan.top_nodes() > 0 {
            let above = self.correction(level + 1, &coarse, top);
            for i in 0..plan.nodes(level) {
                if let Some(d) = plan.domain_of(level, i) {
                    (0..b).for_each(|k| z[i * b + k] += above[d * b + k]);
                }
            }
        }
        z
    }
}

impl Domains<Vec<f64>> for ReferenceDomains {
    fn apply(&mut self, r: &Vec<f64>, top: &mut Top<'_, f64>, z: &mut Vec<f64>) {
        assert!(
            r.len() == z.len() && r.len() == self.plan.nodes(0) * self.plan.block(),
            "apply: lengths differ"
        );
        z.copy_from_slice(&self.correction(0, r, top));
        let b = self.plan.block();
        for (k, &i) in self.plan.left_out().iter().enumerate() {
            for row in 0..b {
                let d = &self.inverses.left_out[k * b * b + row * b..][..b];
                z[i as usize * b + row] = (0..b).map(|c| d[c] * r[i as usize * b + c]).sum();
            }
        }
    }

    fn restrict(&mut self, r: &Vec<f64>, sums: &mut [f64]) {
        let b = self.plan.block();
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum = self.plan.members(0, at / b).iter().map(|&i| r[i as usize * b + at % b]).sum();
        }
    }

    fn prolong(&mut self, corrections: &[f64], z: &mut Vec<f64>) {
        let b = self.plan.block();
        for (at, z) in z.iter_mut().enumerate() {
            *z += self.plan.domain_of(0, at / b).map_or(0.0, |d| corrections[d * b + at % b]);
        }
    }

    fn edit(&mut self, _: Changed<'_>, change: Change<'_>) -> Result<(), SetupError> {
        change(&mut self.inverses)
    }
}
