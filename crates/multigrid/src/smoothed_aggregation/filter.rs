//! Which couplings smooth the prolongation: A_F, that is A without its weak couplings, each added to the diagonal block of its row instead.
//!
//! Where many couplings are weak, smoothing along them makes P and PᵀAP fuller, and D holds stiffness against motions that P̂ makes anyway: on
//! cloth that of bending, which adds up to nothing when neighbours move together. Moved to the diagonal, what a weak coupling adds to rigid
//! translations stays and the rest goes: D_F is what holds a node against its strong neighbours.
//! *Reference* Vaněk, Mandel & Brezina 1996, "Algebraic multigrid by smoothed aggregation", §5.1, on blocks; θ as there, halved from level to level.

use coarsen_sparse::Strength;

/// θ of the finest level: couplings up to θ (‖A_ii‖ ‖A_jj‖)^½ are weak.
const WEAK: f64 = 0.08;

/// Share of the couplings of the finest level that must be weak for them to be left out on all levels.
const MANY: f64 = 0.45;

/// Which couplings of a level are strong here.
pub(super) fn measure(depth: usize) -> Strength {
    Strength::Symmetric { theta: WEAK * 0.5_f64.powi(depth.min(60) as i32) }
}

/// Whether so many couplings are weak that they are better left out.
pub(super) fn many_weak(weights: &[f32], strong: &[bool], nodes: usize) -> bool {
    let coupled = weights.iter().filter(|w| **w > 0.0).count().saturating_sub(nodes);
    let weak = weights.iter().zip(strong).filter(|(w, s)| **w > 0.0 && !**s).count();
    weak as f64 > MANY * coupled as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Multigrid;
    use coarsen_backend::{Cpu, Setup};
    use coarsen_core::Stop;
    use coarsen_krylov::{Cg, Krylov};
    use coarsen_sparse::System;

    #[test]
    fn sheets_and_rotated_layers_have_many_weak_couplings() {
        for (spec, expected) in [
            ("cloth:21", true),
            ("anisotropic2d:40", true),
            ("poisson2d:40", false),
            ("poisson3d:12", false),
            ("jump3d:16", false),
            ("elasticity3d:6", false),
        ] {
            let a = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix;
            let weights = measure(0).weights(&a).unwrap();
            let strong = measure(0).strong(a.pattern(), &weights);
            assert_eq!(many_weak(&weights, &strong, a.pattern().rows()), expected, "{spec}");
        }
    }

    #[test]
    fn leaving_weak_couplings_out_saves_iterations_and_entries() {
        for (spec, fewer) in [("anisotropic2d:150", 0.85), ("cloth:61", 1.0)] {
            let problem = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap();
            let (a, b) = (&problem.matrix, problem.right_hand_side(1));
            let system = System { near_kernel: Some(&problem.near_kernel), ..a.into() };
            let run = |filter: bool| {
                let mut recipe = Multigrid::smoothed_aggregation();
                recipe.coarsening.filter = filter;
                let mut m = recipe.build_from(system, &Cpu::new()).unwrap();
                let mut x = vec![0.0; b.len()];
                let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap();
                (report.converged().unwrap().iterations as f64, m.operator_complexity())
            };
            let ((its, complexity), (its_of_all, complexity_of_all)) = (run(true), run(false));
            assert!(its <= fewer * its_of_all, "{spec}: {its} of {its_of_all}");
            assert!(complexity < 0.95 * complexity_of_all, "{spec}: {complexity} of {complexity_of_all}");
        }
    }
}
