//! One cycle: smooth, correct on the coarser level, smooth.
//!
//! *Reference* Tamstorf, Jones, McCormick 2015, §4; K-cycle: Notay & Vassilevski 2008, Numer. Linear Algebra
//! Appl. 15, Algorithm 3.2. It always takes two steps, so that the host reads no scalar.

use coarsen_backend::Backend;
use coarsen_core::{Real, Scalar, Vector};
use num_traits::zero;

use super::Level;
use super::coarsest::CoarsestSolve;
use super::vectors::LevelVectors;
use crate::Cycle;

/// Computes x ≈ A⁻¹ b on the finest of `levels`, from x = 0 or from the given x.
pub(super) fn cycle<T: Real, B: Backend>(
    levels: &mut [Level<T, B>],
    bottom: &mut dyn CoarsestSolve<T, B>,
    kind: Cycle,
    b: &B::Vector,
    x: &mut B::Vector,
    from_zero: bool,
) {
    if levels.first().is_some_and(|level| level.vectors.coarse_whole.is_some()) {
        return v_cycle_with_rhs(levels, bottom, (b, b), x);
    }
    let Some((level, coarser)) = levels.split_first_mut() else {
        return bottom.solve(b, b, x);
    };
    let Level { smoother, transfer, vectors, .. } = level;
    let LevelVectors { residual, coarse_b, coarse_x, krylov: vectors, .. } = vectors;
    if kind == Cycle::Additive {
        smoother.pre_smooth(b, x);
        if !smoother.solves_sets() {
            smoother.post_smooth(b, x);
        }
        transfer.restrict(b, coarse_b);
        cycle(coarser, bottom, kind, coarse_b, coarse_x, true);
        return transfer.prolong_add(coarse_x, x);
    }
    if from_zero {
        smoother.pre_smooth_residual(b, x, residual);
    } else {
        smoother.smooth(b, x);
        smoother.operator().residual(b, x, residual);
    }
    transfer.restrict(residual, coarse_b);
    let again = !coarser.is_empty(); // the coarsest level is solved once
    match (kind, vectors) {
        (Cycle::K, Some(vectors)) if again => krylov(coarser, bottom, vectors, coarse_b, coarse_x),
        (Cycle::W, _) => {
            cycle(coarser, bottom, Cycle::W, coarse_b, coarse_x, true);
            if again {
                cycle(coarser, bottom, Cycle::W, coarse_b, coarse_x, false);
            }
        }
        (Cycle::F, _) if again => {
            // Deviation: a V-cycle comes first. Without it the cycle (I − M_V A)(I − M_F A) is not symmetric,
            // but `Cg` requires symmetry.
            cycle(coarser, bottom, Cycle::V, coarse_b, coarse_x, true);
            cycle(coarser, bottom, Cycle::F, coarse_b, coarse_x, false);
            cycle(coarser, bottom, Cycle::V, coarse_b, coarse_x, false);
        }
        (Cycle::V | Cycle::F | Cycle::K | Cycle::Additive, _) => {
            cycle(coarser, bottom, kind, coarse_b, coarse_x, true)
        }
    }
    transfer.prolong_add(coarse_x, x);
    smoother.post_smooth(b, x);
}

/// A V-cycle from x = 0 that also restricts the right-hand side of the finest level, `whole`, with which the coarsest
/// solve compares its residual. Only levels of a hierarchy whose whole cycle is V have the vectors for it.
fn v_cycle_with_rhs<T: Real, B: Backend>(
    levels: &mut [Level<T, B>],
    bottom: &mut dyn CoarsestSolve<T, B>,
    (b, whole): (&B::Vector, &B::Vector),
    x: &mut B::Vector,
) {
    let Some((level, coarser)) = levels.split_first_mut() else {
        return bottom.solve(b, whole, x);
    };
    let Level { smoother, transfer, vectors, .. } = level;
    let LevelVectors { residual, coarse_b, coarse_x, coarse_whole, .. } = vectors;
    smoother.pre_smooth_residual(b, x, residual);
    transfer.restrict(residual, coarse_b);
    let coarse_whole = coarse_whole.as_mut().expect("all levels of a hierarchy have it, or none");
    transfer.restrict(whole, coarse_whole);
    v_cycle_with_rhs(coarser, bottom, (coarse_b, coarse_whole), coarse_x);
    transfer.prolong_add(coarse_x, x);
    smoother.post_smooth(b, x);
}

/// Runs two steps of flexible conjugate gradients on a coarser level, with the K-cycle of that level as
/// preconditioner.
///
/// c and d are the two directions, v = A c, w = A d. The solution is the combination of c and d with the
/// smallest error in the energy norm.
fn krylov<T: Real, B: Backend>(
    levels: &mut [Level<T, B>],
    bottom: &mut dyn CoarsestSolve<T, B>,
    [c, v, w]: &mut [B::Vector; 3],
    b: &B::Vector,
    x: &mut B::Vector,
) {
    let nothing = b.scalar(zero());
    cycle(levels, bottom, Cycle::K, b, c, true);
    levels[0].smoother.operator().apply(c, v);
    let [rho, first] = c.dots([&*v, b]);
    let alpha = first.over(&rho, &nothing);
    w.copy(b);
    w.axpy(&-alpha.clone(), v); // the residual after the first step
    cycle(levels, bottom, Cycle::K, w, x, true); // d, kept in x
    let second = x.dot(w);
    let gamma = x.dot(v);
    levels[0].smoother.operator().apply(x, w);
    let beta = x.dot(w);
    let share = gamma.over(&rho, &nothing);
    // If ρ₂ is below this fraction of β, it is cancellation error: d is linearly dependent on c.
    let round_off = beta.clone() * b.scalar(B::Real::from_f64(64.0 * B::Real::EPSILON.as_f64()));
    let rho2 = beta + -(gamma * share.clone());
    let step = second.over(&rho2, &round_off);
    x.axpby(&(alpha + -(share * step.clone())), c, &step);
}
