//! A hierarchy that a driver keeps from step to step, so that the next one is built in its memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use coarsen_backend::{Reused, Setup, SetupError, Update};
use coarsen_core::{Class, Dot, Preconditioner, Vector};
use coarsen_multigrid::{Coarsest, Hierarchy, Multigrid};
use coarsen_node_embedding::NodeEmbedding;
use coarsen_schwarz::Place;
use coarsen_sparse::System;

use super::Built;

/// Where a hierarchy lies between two steps, and what it counts in one.
pub(super) struct Home<B: Place<Real = f64>> {
    hierarchy: Rc<RefCell<Option<Hierarchy<f64, B, NodeEmbedding>>>>,
    /// The iterations of its coarsest solves since its build, as of its last cycle.
    pub coarsest: Rc<Cell<usize>>,
}

impl<B: Place<Real = f64>> Default for Home<B> {
    fn default() -> Self {
        Self { hierarchy: Rc::default(), coarsest: Rc::default() }
    }
}

impl<B: Place<Real = f64>> Clone for Home<B> {
    fn clone(&self) -> Self {
        Self { hierarchy: self.hierarchy.clone(), coarsest: self.coarsest.clone() }
    }
}

/// Builds the hierarchy of a system in the memory of the one at home, to which it returns when it is dropped.
///
/// # Errors
/// The errors of the build; nothing is at home then.
pub(super) fn build<B: Place<Real = f64>>(
    home: &Home<B>,
    recipe: Multigrid<NodeEmbedding>,
    system: System<'_, f64>,
    on: &B,
) -> Result<Built<B::Vector>, SetupError> {
    let old = home.hierarchy.borrow_mut().take();
    let hierarchy = match old {
        Some(mut old) => {
            if let Coarsest::Iterative(cg) = recipe.coarsest {
                old.limit_coarsest(cg.total);
            }
            old.replace_method(recipe.coarsening);
            old.update_from(system)?;
            old
        }
        None => recipe.build_from(system, on)?,
    };
    Ok(Box::new(Lent { hierarchy: Some(hierarchy), home: home.clone() }))
}

/// A hierarchy on loan.
struct Lent<B: Place<Real = f64>> {
    /// `None` only while it is dropped.
    hierarchy: Option<Hierarchy<f64, B, NodeEmbedding>>,
    home: Home<B>,
}

impl<B: Place<Real = f64>> Lent<B> {
    fn count(&self) {
        self.home
            .coarsest
            .set(self.hierarchy.as_ref().map_or(0, |hierarchy| hierarchy.coarsest_iterations()));
    }
}

impl<B: Place<Real = f64>> Drop for Lent<B> {
    fn drop(&mut self) {
        self.home.hierarchy.replace(self.hierarchy.take());
    }
}

impl<B: Place<Real = f64>> Preconditioner<B::Vector> for Lent<B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        if let Some(hierarchy) = &mut self.hierarchy {
            hierarchy.apply(r, z);
        }
        self.count();
    }

    fn apply_dot(&mut self, r: &B::Vector, z: &mut B::Vector) -> Dot<<B::Vector as Vector>::Scalar> {
        let dot = match &mut self.hierarchy {
            Some(hierarchy) => hierarchy.apply_dot(r, z),
            None => r.dot_magnitude(z),
        };
        self.count();
        dot
    }

    fn class(&self) -> Class {
        self.hierarchy.as_ref().map_or(Class::Variable, |hierarchy| hierarchy.class())
    }

    fn size(&self) -> Option<usize> {
        self.hierarchy.as_ref()?.size()
    }
}

impl<B: Place<Real = f64>> Update<f64> for Lent<B> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        self.hierarchy.as_mut().map_or(Ok(Reused::Nothing), |hierarchy| hierarchy.update_from(system))
    }

    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        self.hierarchy.as_mut().map_or(Ok(Reused::Nothing), |hierarchy| hierarchy.patch_from(system, touched))
    }
}
