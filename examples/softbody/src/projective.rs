//! Projective Dynamics: descent with a constant matrix.
//!
//! > A = M/h² + L + pins + C,    d = −A⁻¹ ∇f
//!
//! L sums, over the elements, a weighted Laplacian that bounds the Hessian of the element from above. C is
//! the stiffness of the contacts at x. For `arap` and springs one iteration is a local and a global step
//! (Bouaziz et al. 2014; Liu, Bouaziz & Kavan 2017). L is assembled again when pins are added or removed. The
//! preconditioner or factor is updated then, and when contacts change: Xian, Tong & Liu 2019, Alg. 4,
//! line 10.

use std::cell::Cell;
use std::mem::swap;
use std::rc::Rc;
use std::sync::Arc;

use coarsen::backend::Matrix;
use coarsen::elastic::{ContactHessian, Curvature, Potential};
use coarsen::optimize::{Constant, DescentError, Direction, Proposal, Refusal};
use coarsen::prelude::*;
use coarsen::sparse::{Contacts, OwnedSystem, Pattern};
use examples_run::solver::{Build, Built};

use crate::step::Step;

/// The global step of Projective Dynamics, solved by preconditioned conjugate gradients. With a factor as the
/// preconditioner they take one iteration.
pub(crate) struct Projective<B: Backend> {
    backend: B,
    build: Build<B::Vector>,
    stop: Stop<f64>,
    /// Whether pins have been added or removed.
    stale: Rc<Cell<bool>>,
    system: Option<OwnedSystem<f64>>,
    contact_hessian: ContactHessian,
    /// Storage for the next set of contacts.
    next_contact: Option<Contacts<f64>>,
    global: Option<Global<B>>,
    pattern: Arc<Pattern>,
    /// The gradient and the direction on the backend.
    vectors: Option<[B::Vector; 2]>,
}

/// The direction for A on the backend.
type Global<B> = Constant<
    <B as Backend>::Vector,
    <B as Backend>::Matrix,
    Built<<B as Backend>::Vector>,
    Cg<<B as Backend>::Vector>,
>;

impl<B: Backend<Real = f64>> Projective<B> {
    /// Returns the direction on `backend`, with A and its preconditioner built for x. `build` builds
    /// the preconditioner, `stop` is the stopping rule of the global step, and `stale` is set when pins are
    /// added or removed.
    pub(crate) fn new(
        backend: &B,
        f: &mut Step,
        x: &[f64],
        build: Build<B::Vector>,
        stop: Stop<f64>,
        stale: Rc<Cell<bool>>,
    ) -> Result<Self, DescentError> {
        let mut direction = Self {
            backend: backend.clone(),
            build,
            stop,
            stale,
            system: None,
            contact_hessian: ContactHessian::default(),
            next_contact: None,
            global: None,
            pattern: f.potential.pattern().clone(),
            vectors: None,
        };
        direction.assemble(f, x)?;
        Ok(direction)
    }

    /// Updates A and its preconditioner to x.
    fn assemble(&mut self, f: &mut Step, x: &[f64]) -> Result<(), DescentError> {
        let mut changed = self.stale.take() || self.system.is_none();
        if changed {
            f.curvature = Curvature::Constant;
            let matrix = f.hessian(x).clone();
            let new = || Contacts::new(f.potential.nodes(), 3).map_err(DescentError::linearize);
            let contact = if f.potential.has_contact_hessian() { Some(new()?) } else { None };
            self.next_contact.clone_from(&contact);
            self.system = Some(OwnedSystem { contact, ..OwnedSystem::from(matrix) });
        }
        let Some(system) = &mut self.system else { return Ok(()) };
        if let (Some(old), Some(new)) = (&mut system.contact, &mut self.next_contact) {
            self.contact_hessian.clear();
            f.potential.add_contacts(x, Curvature::Constant, &mut self.contact_hessian);
            let (stencils, stiffness) = (self.contact_hessian.stencils(), self.contact_hessian.stiffness());
            new.assemble(stencils, stiffness).map_err(DescentError::linearize)?;
            if old.places() != new.places() || old.values() != new.values() {
                swap(old, new);
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
        system.positions.clear();
        system.positions.extend_from_slice(x.as_chunks().0);
        let view = system.system();
        let whole = view.whole().map_err(DescentError::linearize)?;
        let Some(global) = &mut self.global else {
            let inverse = (self.build)(view).map_err(DescentError::linearize)?;
            self.pattern = whole.pattern().clone();
            self.global = Some(Constant::new(self.backend.matrix(&whole)?, inverse, Cg::new(self.stop)));
            return Ok(());
        };
        if self.pattern == *whole.pattern() {
            global.matrix.set_values(&whole).map_err(DescentError::linearize)?;
        } else {
            (global.matrix, self.pattern) = (self.backend.matrix(&whole)?, whole.pattern().clone());
        }
        global.inverse.update_from(view).map_err(DescentError::linearize)?;
        Ok(())
    }
}

impl<B: Backend<Real = f64>> Direction<Vec<f64>, Step> for Projective<B> {
    fn propose(
        &mut self,
        f: &mut Step,
        x: &Vec<f64>,
        g: &Vec<f64>,
        d: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        self.assemble(f, x)?;
        let [there, p] = match &mut self.vectors {
            Some(vectors) => vectors,
            none => none.insert([self.backend.vector(g)?, self.backend.vector(g)?]),
        };
        let Some(global) = &mut self.global else {
            return Ok(Proposal::Refused(Refusal::NotFinite));
        };
        self.backend.write(g, there)?;
        let proposal = global.propose(f, there, there, p)?; // A does not depend on x
        self.backend.read(p, d)?;
        Ok(proposal)
    }

    fn inner_iterations(&self) -> usize {
        self.global.as_ref().map_or(0, Direction::<B::Vector, Step>::inner_iterations)
    }
}
