//! Multilevel domains by plain loops, the reference of tests.

use std::sync::Arc;

use coarsen_backend::Reference;
use coarsen_core::Error;

use crate::backend::{Inverses, SchwarzBackend, Top};
use crate::packed::{SIDE, entry, side, tile};
use crate::plan::Plan;

/// Multilevel domains as loops over entries.
pub struct ReferenceDomains {
    plan: Arc<Plan>,
    inverses: Inverses,
}

impl SchwarzBackend for Reference {
    type Domains = ReferenceDomains;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<ReferenceDomains, Error> {
        Ok(ReferenceDomains { plan: plan.clone(), inverses })
    }

    fn inverses<'a>(&self, domains: &'a mut ReferenceDomains) -> &'a mut Inverses {
        &mut domains.inverses
    }

    fn apply_domains(
        &self,
        domains: &mut ReferenceDomains,
        r: &Vec<f64>,
        top: &mut Top<'_, f64>,
        z: &mut Vec<f64>,
    ) {
        assert!(
            r.len() == z.len() && r.len() == domains.plan.nodes(0) * domains.plan.block(),
            "apply: lengths differ"
        );
        z.copy_from_slice(&domains.correction(0, r, top));
        let b = domains.plan.block();
        for (k, &i) in domains.plan.left_out().iter().enumerate() {
            for row in 0..b {
                let d = &domains.inverses.left_out[k * b * b + row * b..][..b];
                z[i as usize * b + row] = (0..b).map(|c| d[c] * r[i as usize * b + c]).sum();
            }
        }
    }

    fn restrict(&self, domains: &mut ReferenceDomains, r: &Vec<f64>, sums: &mut [f64]) {
        let b = domains.plan.block();
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum = domains.plan.members(0, at / b).iter().map(|&i| r[i as usize * b + at % b]).sum();
        }
    }

    fn prolong(&self, domains: &mut ReferenceDomains, corrections: &[f64], z: &mut Vec<f64>) {
        let b = domains.plan.block();
        for (at, z) in z.iter_mut().enumerate() {
            *z += domains.plan.domain_of(0, at / b).map_or(0.0, |d| corrections[d * b + at % b]);
        }
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
