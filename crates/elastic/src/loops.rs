//! The loops over elements.
//!
//! Energies of this crate return a static from [`Element::loops`], so that their loops are compiled once,
//! here. A program that is built without optimisation still runs optimised loops.

use std::ops::Range;

use coarsen_core::parallel;

use crate::elements::{BATCH, Element, Elements, LEAF, Stiffness};
use crate::{Curvature, Energy};

/// The loops over elements of kind M with K nodes, as pointers to functions.
///
/// *Use* in [`Element::loops`] and [`Density::loops`](crate::Density::loops) of a crate whose energies many
/// programs use: a static [`Loops::GENERIC`] is compiled in that crate only.
pub struct Loops<M, const K: usize> {
    pub(crate) energy: fn(&Elements<M, K>, &[f64]) -> Energy,
    pub(crate) add_gradient: fn(&mut Elements<M, K>, &[f64], &mut [f64]),
    pub(crate) add_hessian: fn(&mut Elements<M, K>, &[f64], Curvature, &mut [f64]),
}

impl<M: Element<K>, const K: usize> Loops<M, K> {
    /// The loops for any kind of elements.
    pub const GENERIC: Self = Self {
        energy: Elements::sum_energy,
        add_gradient: Elements::sum_gradient,
        add_hessian: Elements::sum_hessian,
    };
}

impl<M: Element<K>, const K: usize> Elements<M, K> {
    fn sum_energy(&self, x: &[f64]) -> Energy {
        let Self { model, corners, nodes, .. } = self;
        let leaf = |range: Range<usize>| {
            range.map(|e| model.energy(e, &corners[e].map(|c| nodes.at(c, x)))).sum::<Energy>()
        };
        let parallel = parallel::worth(corners.len() * M::WORK);
        parallel::tree(0..corners.len(), LEAF, parallel, &leaf, &|a, b| a + b)
    }

    fn sum_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        let Self { model, corners, nodes, around, starts, forces, .. } = self;
        let parallel = parallel::worth(corners.len() * M::WORK);
        let force = |(range, forces): (Range<usize>, &mut [[[f64; 3]; K]])| {
            for (e, force) in range.zip(forces) {
                *force = model.gradient(e, &corners[e].map(|c| nodes.at(c, x)));
            }
        };
        parallel::each((0..corners.len(), &mut forces[..]), LEAF, parallel, &force);
        let sum = |(range, g): (Range<usize>, parallel::Groups<&mut [f64]>)| {
            for (i, g) in range.zip(g.0.chunks_exact_mut(3)) {
                for &(e, corner) in &around[starts[i]..starts[i + 1]] {
                    let force = &forces[e as usize][corner as usize];
                    (0..3).for_each(|k| g[k] += force[k]);
                }
            }
        };
        parallel::each((0..nodes.free, parallel::Groups(g, 3)), LEAF, parallel, &sum);
    }

    fn sum_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        let Self { model, corners, nodes, blocks, hessians, .. } = self;
        let element = |(range, hessians): (Range<usize>, &mut [Stiffness<K>])| {
            for (e, hessian) in range.zip(hessians) {
                *hessian = [[[[0.0; 3]; K]; 3]; K];
                model.add_hessian(e, &corners[e].map(|c| nodes.at(c, x)), curvature, hessian);
            }
        };
        for first in (0..corners.len()).step_by(BATCH) {
            let range = first..corners.len().min(first + BATCH);
            let hessians = &mut hessians[..range.len()];
            let parallel = parallel::worth(range.len() * M::WORK);
            parallel::each((range.clone(), &mut hessians[..]), LEAF, parallel, &element);
            for (hessian, blocks) in hessians.iter().zip(&blocks[range]) {
                for (a, b) in
                    (0..K * K).map(|ab| (ab / K, ab % K)).filter(|&(a, b)| blocks[a][b] != usize::MAX)
                {
                    let block = &mut values[9 * blocks[a][b]..9 * blocks[a][b] + 9];
                    for p in 0..3 {
                        (0..3).for_each(|q| block[3 * p + q] += hessian[a][p][b][q]);
                    }
                }
            }
        }
    }
}
