//! Energies of bodies that share no nodes.

use std::sync::Arc;

use coarsen::AnyError;
use coarsen::elastic::{BodyError, Curvature, ElementKernel, Energy, Potential};
use coarsen::sparse::Pattern;

use crate::material::volume;
use crate::part::Part;

/// The sum of the energies of several bodies. The nodes of the bodies are numbered one body after the other.
///
/// The Hessian is block diagonal with one part per body, and the values of a body are contiguous. So each
/// body adds its Hessian in place. [`Total`](coarsen::elastic::Total) would add it through a map.
pub(crate) struct Bodies {
    bodies: Vec<Box<dyn Potential>>,
    /// The tetrahedra of all bodies; each has a positive volume at rest.
    tetrahedra: Vec<[u32; 4]>,
    pattern: Arc<Pattern>,
}

impl Bodies {
    /// Returns the sum of the energies of `bodies`, none of which may have contacts; `tetrahedra` are their
    /// elements, if they are solid.
    pub(crate) fn new(bodies: Vec<Box<dyn Potential>>, tetrahedra: Vec<[u32; 4]>) -> Result<Self, AnyError> {
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        let mut first = 0;
        for body in &bodies {
            let pattern = body.pattern();
            for i in 0..pattern.rows() {
                indices.extend(pattern.row(i).iter().map(|j| first + j));
                offsets.push(indices.len());
            }
            first += pattern.rows() as u32;
        }
        Ok(Self { bodies, tetrahedra, pattern: Arc::new(Pattern::new(first as usize, offsets, indices)?) })
    }

    /// Calls `f` with each body and the range of its entries in a vector of three numbers per node.
    fn each(&mut self, mut f: impl FnMut(&mut dyn Potential, std::ops::Range<usize>)) {
        let mut first = 0;
        for body in &mut self.bodies {
            let next = first + 3 * body.nodes();
            f(&mut **body, first..next);
            first = next;
        }
    }
}

impl Potential for Bodies {
    fn nodes(&self) -> usize {
        self.pattern.rows()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        let mut sum = Energy::default();
        self.each(|body, own| sum = sum + body.energy(&x[own]));
        sum
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.each(|body, own| body.add_gradient(&x[own.clone()], &mut g[own]));
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        let mut rest = values;
        self.each(|body, own| {
            let (values, after) = std::mem::take(&mut rest).split_at_mut(9 * body.pattern().len());
            body.add_hessian(&x[own], curvature, values);
            rest = after;
        });
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        let mut most = f64::INFINITY;
        self.each(|body, own| {
            let step = body.max_step(&x[own.clone()], &d[own]);
            most = if step.is_nan() { 0.0 } else { most.min(step) };
        });
        most
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        let mut rest = forces;
        for body in &self.bodies {
            let (own, after) = rest.split_at_mut(body.nodes());
            body.add_characteristic(own);
            rest = after;
        }
    }

    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        let (mut first, mut all) = (0, Vec::new());
        for body in &self.bodies {
            let moved = |mut kernel: ElementKernel| {
                let is_free = |node: &u32| (*node as usize) < kernel.free;
                let add = |node: &u32| if is_free(node) { first } else { self.nodes() - kernel.free };
                kernel.elements = kernel.elements.iter().map(|node| node + add(node) as u32).collect();
                ElementKernel { free: self.nodes(), ..kernel }
            };
            all.extend(body.kernels()?.into_iter().map(moved));
            first += body.nodes();
        }
        Ok(all)
    }
}

impl Part for Bodies {
    fn inverted(&self, x: &[f64]) -> usize {
        let at = |v: u32| std::array::from_fn(|k| x[3 * v as usize + k]);
        self.tetrahedra.iter().filter(|t| volume(t.map(at)) <= 0.0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Material, Moduli};
    use crate::meshes::MeshChoice;

    /// For two bodies the energies add up, and gradient and Hessian consist of those of the two bodies.
    #[test]
    fn each_body_is_as_it_would_be_alone() {
        let moduli = Moduli { young: 1e3, poisson: 0.3 };
        let meshes = [MeshChoice::Bar(1), MeshChoice::Sheet(3)].map(|mesh| mesh.load().unwrap());
        let make = |k: usize| {
            let side = [None, Some(3)][k];
            Material::fitting(&meshes[k]).energy(&meshes[k], side, moduli).unwrap().unwrap()
        };
        let mut both = Bodies::new(vec![make(0), make(1)], meshes[0].tetrahedra.clone()).unwrap();
        let mut alone = [make(0), make(1)];
        let mut x: Vec<f64> = meshes.iter().flat_map(|mesh| mesh.positions.as_flattened().to_vec()).collect();
        (0..x.len()).for_each(|k| x[k] += 0.01 * (k as f64).sin());
        let cut = 3 * alone[0].nodes();
        let parts = [&x[..cut], &x[cut..]];
        assert_eq!(both.inverted(&x), 0);
        let flipped: Vec<f64> = x.iter().map(|x| -x).collect();
        assert_eq!(both.inverted(&flipped), meshes[0].tetrahedra.len());
        let energies: f64 = (0..2).map(|k| alone[k].energy(parts[k]).value).sum();
        assert!((both.energy(&x).value - energies).abs() < 1e-12 * energies);
        let (mut g, mut own) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        both.add_gradient(&x, &mut g);
        alone[0].add_gradient(parts[0], &mut own[..cut]);
        alone[1].add_gradient(parts[1], &mut own[cut..]);
        assert_eq!(g, own);
        let sizes = [0, 1].map(|k| 9 * alone[k].pattern().len());
        assert_eq!(both.pattern().len() * 9, sizes[0] + sizes[1]);
        let (mut h, mut own) = (vec![0.0; sizes[0] + sizes[1]], vec![0.0; sizes[0] + sizes[1]]);
        both.add_hessian(&x, Curvature::Projected, &mut h);
        alone[0].add_hessian(parts[0], Curvature::Projected, &mut own[..sizes[0]]);
        alone[1].add_hessian(parts[1], Curvature::Projected, &mut own[sizes[0]..]);
        assert_eq!(h, own);
        let mut forces = vec![0.0; both.nodes()];
        both.add_characteristic(&mut forces);
        assert!(forces.iter().all(|force| *force > 0.0));
    }
}
