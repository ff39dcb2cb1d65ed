//! Multilevel domains on the CPU (§7).

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::Cpu;
use coarsen_core::parallel::{self, Groups, Shared, each};
use coarsen_core::simd::{self, Kernel, Set};
use coarsen_core::{Error, Real, compiled};

use crate::backend::{Inverses, Packed, SchwarzBackend, Top};
use crate::packed::{MOST, SIDE, multiply};
use crate::plan::{DomainLevel, Plan};

/// The number of domains per leaf of a parallel loop.
const DOMAINS: usize = 32;

/// Multilevel domains in memory.
pub struct CpuDomains<V> {
    plan: Arc<Plan>,
    inverses: Inverses,
    /// The residual and the correction of each coarse level.
    coarse: Vec<[Vec<V>; 2]>,
}

impl<V: Real, S: Real> SchwarzBackend for Cpu<V, S> {
    type Domains = CpuDomains<V>;

    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<CpuDomains<V>, Error> {
        let zeros = |level| vec![V::zero(); plan.nodes(level) * plan.block()];
        let levels = if plan.top_nodes() > 0 { plan.levels() + 1 } else { plan.levels() };
        let coarse = (1..levels).map(|level| [zeros(level), zeros(level)]).collect();
        Ok(CpuDomains { plan: plan.clone(), inverses, coarse })
    }

    fn inverses<'a>(&self, domains: &'a mut CpuDomains<V>) -> &'a mut Inverses {
        &mut domains.inverses
    }

    fn apply_domains(&self, domains: &mut CpuDomains<V>, r: &Vec<V>, top: &mut Top<'_, V>, z: &mut Vec<V>) {
        let CpuDomains { plan, inverses, coarse } = domains;
        let b = plan.block();
        let n = plan.nodes(0) * b;
        assert!(r.len() == n && z.len() == n, "apply: {n} rows met r of {} and z of {}", r.len(), z.len());
        for level in 0..coarse.len() {
            let (below, above) = coarse.split_at_mut(level);
            let fine = below.last().map_or(&r[..], |pair| &pair[0]);
            restrict(plan, level, fine, &mut above[0][0]);
        }
        if let Some([residual, correction]) = coarse.last_mut().filter(|_| plan.top_nodes() > 0) {
            top(residual, correction);
        }
        for level in (1..plan.levels()).rev() {
            let (below, above) = coarse.split_at_mut(level);
            let [residual, correction] = &mut below[level - 1];
            let coarser = above.first().map(|pair| &pair[1][..]);
            solve(plan, level, inverses, residual, coarser, correction);
        }
        solve(plan, 0, inverses, r, coarse.first().map(|pair| &pair[1][..]), z);
        let blocks = inverses.left_out.chunks_exact(b * b);
        for (&i, d) in plan.left_out().iter().zip(blocks) {
            let at = i as usize * b..(i as usize + 1) * b;
            for (z, row) in z[at.clone()].iter_mut().zip(d.chunks_exact(b)) {
                *z = row.iter().zip(&r[at.clone()]).map(|(&d, &r)| V::from_f64(d) * r).sum();
            }
        }
    }

    fn restrict(&self, domains: &mut CpuDomains<V>, r: &Vec<V>, sums: &mut [V]) {
        restrict(&domains.plan, 0, r, sums);
    }

    fn prolong(&self, domains: &mut CpuDomains<V>, corrections: &[V], z: &mut Vec<V>) {
        let (plan, b) = (&domains.plan, domains.plan.block());
        for (d, correction) in corrections.chunks_exact(b).enumerate() {
            for &i in plan.members(0, d) {
                let node = &mut z[i as usize * b..(i as usize + 1) * b];
                node.iter_mut().zip(correction).for_each(|(z, &c)| *z += c);
            }
        }
    }
}

/// Sums the values of the nodes of each domain.
fn restrict<V: Real>(plan: &Plan, level: usize, fine: &[V], coarse: &mut [V]) {
    let (b, domains) = (plan.block(), &plan.domain_levels[level].domains);
    let leaf = |(range, coarse): (Range<usize>, Groups<&mut [V]>)| {
        for (d, sum) in range.zip(coarse.0.chunks_exact_mut(b)) {
            sum.fill(V::zero());
            for &i in domains.nodes(d) {
                let node = &fine[i as usize * b..(i as usize + 1) * b];
                sum.iter_mut().zip(node).for_each(|(s, &v)| *s += v);
            }
        }
    };
    each((0..domains.count(), Groups(coarse, b)), 64, parallel::worth(2 * fine.len()), &leaf);
}

/// Computes z = w A_d⁻¹ r on every domain, plus the correction of the coarser level.
fn solve<V: Real>(
    plan: &Plan,
    level: usize,
    inverses: &Inverses,
    r: &[V],
    coarser: Option<&[V]>,
    z: &mut [V],
) {
    let (domain_level, b) = (&plan.domain_levels[level], plan.block());
    let weight = V::from_f64(inverses.weights[level]);
    let whole = Shared::new(z);
    match &inverses.packed[level] {
        Packed::Single(packed) => {
            let step = Step { domain_level, b, packed, weight, r, coarser, z: whole };
            each(0..domain_level.domains.count(), DOMAINS, plan.worth(level), &|range| step.domains(range));
        }
        Packed::Double(packed) => {
            let step = Step { domain_level, b, packed, weight, r, coarser, z: whole };
            each(0..domain_level.domains.count(), DOMAINS, plan.worth(level), &|range| step.domains(range));
        }
    }
}

/// The data to solve domains. Tasks write z in parallel, each only at the nodes of its domains. No two tasks
/// write the same node: a node is in one domain (`Domains::grow`), and a domain is in one task.
struct Step<'a, V, S> {
    domain_level: &'a DomainLevel,
    b: usize,
    packed: &'a [S],
    weight: V,
    r: &'a [V],
    coarser: Option<&'a [V]>,
    z: Shared<'a, V>,
}

impl<V: Real, S: Real> Step<'_, V, S> {
    fn domains(&self, range: Range<usize>) {
        SOLVE.of::<Solve<V, S>>()(self, range);
    }
}

compiled!(SOLVE: Solve<V, S> = fn(&Step<'_, V, S>, Range<usize>), solve_domains);

fn solve_domains<V: Real, S: Real>(step: &Step<'_, V, S>, range: Range<usize>) {
    match step.b {
        1 => simd::run(Domain::<V, S, 1> { step, range }),
        2 => simd::run(Domain::<V, S, 2> { step, range }),
        3 => simd::run(Domain::<V, S, 3> { step, range }),
        6 => simd::run(Domain::<V, S, 6> { step, range }),
        _ => simd::run(Domain::<V, S, 0> { step, range }),
    }
}

/// A range of domains, solved one after the other. `B` is the block size if it has its own kernel, otherwise
/// 0.
struct Domain<'a, V, S, const B: usize> {
    step: &'a Step<'a, V, S>,
    range: Range<usize>,
}

impl<V: Real, S: Real, const B: usize> Kernel<V> for Domain<'_, V, S, B> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        let step = self.step;
        let b = if B == 0 { step.b } else { B };
        // y follows x directly. If x and y were a multiple of a page apart, loads of one would wait for
        // stores of the other.
        let mut buffer = [V::zero(); 2 * MOST];
        for d in self.range {
            let nodes = step.domain_level.domains.nodes(d);
            let m = (nodes.len() * b).next_multiple_of(SIDE);
            let (x, y) = buffer[..2 * m].split_at_mut(m);
            for (x, &i) in x.chunks_exact_mut(b).zip(nodes) {
                x.copy_from_slice(&step.r[i as usize * b..(i as usize + 1) * b]);
            }
            x[nodes.len() * b..].fill(V::zero());
            multiply(set, &step.packed[step.domain_level.offsets[d]..step.domain_level.offsets[d + 1]], x, y);
            for (y, &i) in y.chunks_exact(b).zip(nodes) {
                let first = i as usize * b;
                debug_assert!(first + b <= step.z.size());
                for k in 0..b {
                    let more = step.coarser.map_or(V::zero(), |c| c[d * b + k]);
                    // SAFETY: node i is below the number of nodes of the level. z has b entries for each
                    // node, asserted by `apply` for the finest level and allocated so for the other levels.
                    // Only this task writes these entries, see `Step`.
                    unsafe { *step.z.get().add(first + k) = step.weight * y[k] + more };
                }
            }
        }
    }
}
