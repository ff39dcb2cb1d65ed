//! The numeric phase: matrices and inverses, level by level.

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Contacts, System};

use crate::backend::Inverses;
use crate::check::Checked;
use crate::domain_contacts::{Buckets, DomainContacts};
use crate::exact::Exact;
use crate::options::Repair;
use crate::plan::Plan;
use crate::precompute::{Next, Stage};
use crate::schwarz::Schwarz;
use crate::source::Source;
use crate::tasks::TaskWorkspace;

/// The host data of the numeric phase.
pub(crate) struct Numbers<T> {
    /// The matrices A_(1), A_(2), … of the coarse levels that are needed.
    pub(crate) coarse: Vec<Bsr<T>>,
    /// For each unknown of the first matrix, the sum of its diagonal entries on a finer level of the caller;
    /// empty if there is none.
    pub(crate) first: Vec<T>,
    /// For each unknown of these matrices, the sum of its diagonal entries on the finest level.
    pub(crate) sizes: Vec<Vec<T>>,
    /// The repair of each domain of each level.
    pub(crate) repairs: Vec<Vec<Option<Repair>>>,
    pub(crate) touching: Vec<DomainContacts>,
    pub(crate) starts: Vec<u32>,
    pub(crate) checked: Checked<T>,
    pub(crate) workspaces: Vec<TaskWorkspace<T>>,
}

impl<T: Real> Numbers<T> {
    pub(crate) fn new(
        plan: &Plan,
        parameters: &Schwarz,
        checked: Checked<T>,
        first: &[T],
    ) -> Result<Self, SetupError> {
        let (b, levels) = (plan.block(), &plan.domain_levels);
        let finer = &levels[..levels.len() - usize::from(plan.top_nodes() == 0)];
        let coarse = finer.iter().map(|level| Bsr::zeros(level.coarse.clone(), (b, b)));
        let coarse: Vec<Bsr<T>> = coarse.collect::<Result<_, _>>()?;
        Ok(Self {
            first: first.to_vec(),
            sizes: coarse.iter().map(|a| vec![T::zero(); a.shape().0]).collect(),
            coarse,
            repairs: levels.iter().map(|level| vec![None; level.domains.count()]).collect(),
            touching: vec![DomainContacts::default(); plan.levels()],
            starts: Vec::new(),
            checked,
            workspaces: TaskWorkspace::of(plan, parameters.arithmetic),
        })
    }

    /// Computes all levels; with `which`, only these domains of each level.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once the flag of the system is set: some domains are then those of this system.
    pub(crate) fn compute(
        &mut self,
        parameters: &Schwarz,
        plan: &Plan,
        system: &System<'_, T>,
        which: Option<&[Vec<u32>]>,
        inverses: &mut Inverses,
    ) -> Result<(), SetupError> {
        let contact = system.contact.filter(|c| !c.is_empty());
        for level in 0..plan.levels() {
            let (below, above) = self.coarse.split_at_mut(level);
            let (sizes_below, sizes_above) = self.sizes.split_at_mut(level);
            let source = match below.last() {
                None => Source::of(system, &mut self.starts),
                Some(coarse) => Source::new(coarse),
            };
            let touching = &mut self.touching[level];
            let contact = contact.filter(|_| level > 0).map(|contacts| {
                touching.sort(plan, level, contacts, which.map(|which| &which[level][..]));
                Buckets { contacts, touching }
            });
            let stage = Stage {
                plan,
                level,
                source,
                sizes: sizes_below.last().unwrap_or(&self.first),
                contact,
                arithmetic: parameters.arithmetic,
                cancel: system.cancel,
            };
            let which = which.map_or(&plan.domain_levels[level].all, |which| &which[level]);
            let next = above.first_mut().zip(sizes_above.first_mut());
            let next = next.map(|(a, sizes)| Next { values: a.values_mut(), sizes });
            stage.run(
                which,
                &mut inverses.packed[level],
                &mut self.repairs[level],
                next,
                &mut self.workspaces,
            )?;
        }
        Ok(())
    }

    pub(crate) fn exact(
        &self,
        plan: &Plan,
        contact: Option<&Contacts<T>>,
    ) -> Result<Option<Exact>, SetupError> {
        let Some((matrix, sizes)) = self.coarse.last().zip(self.sizes.last()) else { return Ok(None) };
        Exact::build(matrix, sizes, contact.map(|contact| (plan, contact))).map(Some)
    }
}
