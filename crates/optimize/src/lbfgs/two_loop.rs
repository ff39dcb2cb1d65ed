//! H g by the two loops, with separate or gathered reductions.
//!
//! Numbers at line ends are the lines of Nocedal & Wright 2006, Algorithm 7.4.

use coarsen_core::{Preconditioner, Vector};

use super::pairs::Pairs;

/// Computes r = H₀ q, multiplied by γ if given.
fn initial<V: Vector>(h0: &mut dyn Preconditioner<V>, gamma: Option<V::Real>, q: &mut V, r: &mut V) {
    h0.apply(q, r); // 6
    if let Some(gamma) = gamma {
        q.copy(r);
        r.scaled(&q.scalar(gamma), q);
    }
}

/// Computes r = H q with 2 m separate reductions, without synchronisation; q is overwritten.
pub(super) fn in_sequence<V: Vector>(
    pairs: &Pairs<V>,
    h0: &mut dyn Preconditioner<V>,
    gamma: Option<V::Real>,
    alphas: &mut Vec<V::Scalar>,
    q: &mut V,
    r: &mut V,
) {
    alphas.clear();
    for a in (0..pairs.len()).rev() {
        let pair = pairs.get(a);
        let alpha = q.scalar(pair.rho) * pair.s.dot(q); // 3
        q.axpy(&-alpha.clone(), &pair.y); // 4
        alphas.push(alpha);
    }
    initial(h0, gamma, q, r);
    for (a, alpha) in alphas.drain(..).rev().enumerate() {
        let pair = pairs.get(a);
        let beta = r.scalar(pair.rho) * pair.y.dot(r); // 8
        r.axpy(&(alpha + -beta), &pair.s); // 9
    }
}

/// Computes r = H q with two reductions, one for the inner products with g and one for those with H₀ q.
///
/// In the first loop q_a = g − Σ_{b > a} α_b y_b, so (s_a, q_a) = (s_a, g) − Σ_{b > a} α_b (s_a, y_b). In the
/// second loop (y_a, r_a) = (y_a, H₀ q) + Σ_{b < a} (α_b − β_b)(s_b, y_a). The stored table contains all
/// (s_a, y_b).
pub(super) fn gathered<V: Vector>(
    pairs: &Pairs<V>,
    h0: &mut dyn Preconditioner<V>,
    gamma: Option<V::Real>,
    numbers: &mut [V::Real],
    q: &mut V,
    r: &mut V,
) {
    let m = pairs.len();
    pairs.all_dots(q, |pair| &pair.s, numbers);
    for a in (0..m).rev() {
        let later: V::Real = (a + 1..m).map(|b| numbers[b] * pairs.product(a, b)).sum();
        numbers[a] = pairs.get(a).rho * (numbers[a] - later); // 3
    }
    for a in 0..m {
        q.axpy(&q.scalar(-numbers[a]), &pairs.get(a).y); // 4
    }
    initial(h0, gamma, q, r);
    let (alphas, betas) = numbers.split_at_mut(pairs.window());
    pairs.all_dots(r, |pair| &pair.y, betas);
    for a in 0..m {
        let earlier: V::Real = (0..a).map(|b| alphas[b] * pairs.product(b, a)).sum();
        alphas[a] -= pairs.get(a).rho * (betas[a] + earlier); // 8: alpha − beta
    }
    for a in 0..m {
        r.axpy(&r.scalar(alphas[a]), &pairs.get(a).s); // 9
    }
}
