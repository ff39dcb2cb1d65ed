//! A linear system that changes from step to step, with a preconditioner that is updated to it.

use std::ops::ControlFlow;
use std::sync::Arc;

use coarsen_backend::{Prepared, Reused, SetupError};
use coarsen_constraints::{Constraints, Filtered, prefilter};
use coarsen_core::{
    Cancel, Identity, LinearOperator, MixedPrecision, Monitor, Preconditioner, PreconditionerKind, Report,
    parallel,
};
use coarsen_krylov::{BlockCg, Krylov};
use coarsen_sparse::{Bsr, Contacts, OwnedSystem, Pattern, System};

use crate::solver::owned;
use crate::{Action, AnyError, RebuildPolicy};

/// A preconditioner on the host.
type Built = Box<dyn Prepared<Vec<f64>, f64> + Send>;

/// The function that builds it.
type Build = Box<dyn FnMut(System<'_, f64>) -> Result<Built, SetupError> + Send>;

/// The linear system of a time step, its constraints, and a preconditioner that is updated to them.
///
/// > A = E + C,  A x = b,  subject to the constraints
///
/// In each step, write E, C and the constraints of the step into the fields and call [`solve`](Self::solve). The
/// [`policy`](Self::policy) decides whether the preconditioner is built, updated, patched or kept. A patch
/// recomputes the parts that depend on rows whose contact pairs or constraints came or went; these rows are
/// found here. With constraints, the system is filtered, and its parts stay apart
/// ([`Filtered`]), so that contact and constraints are patched alike. Whatever the policy decides, the preconditioner is
/// built again for another pattern of E or of the filtered E, for example if constraints tie other nodes together.
/// Nodes that were held when multilevel Schwarz was built have no domain, so it is built again when they are released.
///
/// *Use* for sequences of linear systems on the host. For Newton's method use [`descent`](crate::descent).
/// *Cost* in addition to the solve and the preconditioner: a pass over the contact of two steps. With
/// constraints a pass over E, and two with a patch. *Memory* a copy of E; with constraints three more.
/// *Reference* Wu, Wang & Wang 2022, §4.2, §5.3; Tamstorf, Jones & McCormick 2015, §8.
///
/// ```
/// use coarsen::Step;
/// use coarsen::prelude::*;
/// use coarsen::problems::{Options, Sequence};
/// let mut s = Sequence::parse("cloth-contact:8", 4, &Options::default())?;
/// let build = |system: System<'_, f64>| Ok(Box::new(Schwarz::multilevel().build(system, &Cpu::new())?) as _);
/// let mut step = Step::new(s.system(), build)?;
/// let (b, mut cg) = (s.right_hand_side(1), Cg::new(Stop::relative(1e-6)));
/// loop {
///     step.constraints.clear();
///     step.constraints.point(0, &[0.0, 0.0, 1e-3])?; // moves up by 1 mm
///     let mut x = vec![0.0; b.len()];
///     step.solve(&mut cg, &b, &mut x)?.converged()?;
///     assert_eq!(x[..3], [0.0, 0.0, 1e-3]);
///     if !s.advance()? {
///         break;
///     }
///     step.set(s.system())?;
/// }
/// println!("{}", step.policy); // what was decided in each step, and why
/// # Ok::<(), AnyError>(())
/// ```
pub struct Step {
    /// E, C, positions and near-kernel of this step.
    pub system: OwnedSystem<f64>,
    /// The constraints of this step; none at first.
    pub constraints: Constraints,
    /// Decides how the preconditioner is updated.
    pub policy: RebuildPolicy,
    /// A flag that cancels builds and updates from another thread; none at first.
    pub cancel: Option<Arc<Cancel>>,
    build: Build,
    /// The identity until the first build.
    built: Built,
    is_built: bool,
    /// The pattern of E at the last build, with constraints that of the filtered E.
    pattern: Arc<Pattern>,
    /// Whether the preconditioner was updated after the last solve.
    is_current: bool,
    /// E of the last build or update: a patch requires that E is the same in other rows.
    elastic: Bsr<f64>,
    /// C of the last step.
    before: Contacts<f64>,
    touched: Vec<u32>,
    /// The filtered system, if there are or were constraints.
    filtered: Option<Filtered<f64>>,
    /// The filtered system with `elastic`, for patches.
    patched: Option<Filtered<f64>>,
}

/// What an update of the preconditioner did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepUpdate {
    /// What was done.
    pub action: Action,
    /// The part of the preconditioner that was kept; all of it for [`Action::Keep`].
    pub reused: Option<Reused>,
}

impl Step {
    /// Copies the first system. `build` builds a preconditioner, now and whenever the policy decides so, possibly on a thread of
    /// the pool.
    ///
    /// # Errors
    /// [`AnyError::Core`] if the parts of the system do not fit.
    pub fn new(
        system: System<'_, f64>,
        build: impl FnMut(System<'_, f64>) -> Result<Built, SetupError> + Send + 'static,
    ) -> Result<Self, AnyError> {
        system.check()?;
        let (nodes, b) = (system.matrix.pattern().rows(), system.matrix.block().0);
        let none = Contacts::new(nodes, b)?;
        let mut owned = owned(system);
        owned.contact.get_or_insert_with(|| none.clone());
        Ok(Self {
            system: owned,
            constraints: Constraints::new(nodes, b)?,
            policy: RebuildPolicy::default(),
            cancel: None,
            build: Box::new(build),
            built: Box::new(Identity),
            is_built: false,
            pattern: system.matrix.pattern().clone(),
            is_current: false,
            elastic: system.matrix.clone(),
            before: none,
            touched: Vec::new(),
            filtered: None,
            patched: None,
        })
    }

    /// Copies the system of the next step. Nothing is allocated if its parts are not larger than before. With another
    /// number of nodes or of unknowns of a node, there are no constraints until they are added. With as many, positions
    /// and near-kernel stay where `system` has none.
    ///
    /// # Errors
    /// [`AnyError::Core`] if the parts do not fit. Nothing has then changed.
    pub fn set(&mut self, system: System<'_, f64>) -> Result<(), AnyError> {
        system.check()?;
        let (places, values) = system.contact.map_or((&[][..], &[][..]), |c| (c.places(), c.values()));
        let (nodes, b) = (system.matrix.pattern().rows(), system.matrix.block().0);
        let own = &mut self.system;
        match &mut own.contact {
            Some(contact) if (contact.nodes(), contact.block()) == (nodes, b) => {
                contact.replace(places, values)?
            }
            contact => *contact = Some(system.contact.cloned().map_or_else(|| Contacts::new(nodes, b), Ok)?),
        }
        if (self.constraints.nodes(), self.constraints.block()) != (nodes, b) {
            self.constraints = Constraints::new(nodes, b)?;
        }
        copy(system.matrix, &mut own.matrix);
        match system.positions {
            Some(points) => {
                own.positions.clear();
                own.positions.extend_from_slice(points);
            }
            None if own.positions.len() != nodes => own.positions.clear(),
            None => (),
        }
        match (&mut own.near_kernel, system.near_kernel) {
            (Some(own), Some(given)) => own.set(given),
            (own, Some(given)) => *own = Some(given.clone()),
            (own, None) => _ = own.take_if(|own| own.size() != nodes * b),
        }
        self.is_current = false;
        Ok(())
    }

    /// Updates the preconditioner to the system and the constraints as the policy decides.
    /// [`solve`](Self::solve) calls this unless it was called after the last solve.
    ///
    /// # Errors
    /// The errors of `build` and of the update; [`AnyError::Constraint`] for contradictory constraints.
    /// After an error, the next action is a build.
    pub fn update(&mut self) -> Result<StepUpdate, AnyError> {
        self.update_as(|decided| decided)
    }

    /// As [`update`](Self::update); `choose` replaces the decision of the policy. Where a build is required, before the
    /// first one, after an error and with another pattern, the action is a build.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_as(&mut self, choose: impl FnOnce(Action) -> Action) -> Result<StepUpdate, AnyError> {
        let was_built = std::mem::replace(&mut self.is_built, false); // until nothing has failed
        self.is_current = false;
        self.find_touched()?;
        let rows = self.system.matrix.pattern().rows().max(1);
        let decided = self.policy.decide(self.touched.len() as f64 / rows as f64);
        let chosen = choose(decided);
        parallel::enter(self.system.matrix.nnz(), || self.adapt(was_built, decided, chosen))
    }

    /// Updates the preconditioner as it was chosen.
    fn adapt(&mut self, was_built: bool, decided: Action, chosen: Action) -> Result<StepUpdate, AnyError> {
        let Self { system, constraints, build, built, elastic, touched, patched, pattern, .. } = self;
        let cancel = self.cancel.as_deref();
        let positions = Some(&system.positions[..]).filter(|points| !points.is_empty());
        let now = || match &self.filtered {
            Some(filtered) => System { cancel, ..filtered.system(positions) },
            None => System { cancel, ..system.system() },
        };
        let new = now().matrix;
        let known = Pattern::same(pattern, new.pattern())
            && Pattern::same(elastic.pattern(), system.matrix.pattern())
            && elastic.block() == new.block();
        let action = if was_built && known { chosen } else { Action::Build };
        if action != decided {
            self.policy.overrule(action);
        }
        let reused = match action {
            Action::Keep => None,
            Action::Patch => {
                // Patches take E of the last build or update, because only the touched rows may change.
                let old = System { matrix: elastic, cancel, ..system.system() };
                Some(match &self.filtered {
                    None => built.patch_from(old, touched)?,
                    Some(_) => {
                        let old = renewed(patched, old, constraints)?;
                        built.patch_from(System { cancel, ..old.system(positions) }, touched)?
                    }
                })
            }
            Action::Update => {
                let reused = built.update_from(now())?;
                if reused == Reused::Nothing {
                    self.policy.overrule(Action::Build); // it was one
                }
                Some(reused)
            }
            Action::Build => {
                *built = build(now())?;
                Some(Reused::Nothing)
            }
        };
        if !known {
            *pattern = now().matrix.pattern().clone();
        }
        if matches!(action, Action::Build | Action::Update) {
            copy(&system.matrix, elastic);
        }
        (self.is_built, self.is_current) = (true, true);
        Ok(StepUpdate { action, reused })
    }

    /// Solves A x = b under the constraints, from the guess x; both have one number for each scalar unknown. Tells the policy the
    /// number of iterations and how the solve ended.
    ///
    /// # Errors
    /// As [`update`](Self::update), and as [`Krylov::solve_with`].
    pub fn solve(
        &mut self,
        method: &mut (dyn Krylov<Vec<f64>> + Send),
        b: &Vec<f64>,
        x: &mut Vec<f64>,
    ) -> Result<Report<f64>, AnyError> {
        parallel::enter(self.system.matrix.nnz(), || {
            self.solve_with(method, None, b, x, &mut |_| ControlFlow::Continue(()))
        })
    }

    /// The matrix of the last build or update in fewer digits, where the preconditioner keeps one.
    pub(crate) fn rounded(&self) -> Option<Box<dyn LinearOperator<Vec<f64>>>> {
        self.filtered.is_none().then(|| self.built.rounded()).flatten()
    }

    /// [`solve`](Self::solve) with a monitor. Products are those of `rounded`, if it is given.
    pub(crate) fn solve_with(
        &mut self,
        method: &mut dyn Krylov<Vec<f64>>,
        rounded: Option<&dyn LinearOperator<Vec<f64>>>,
        b: &Vec<f64>,
        x: &mut Vec<f64>,
        monitor: &mut Monitor<'_, Vec<f64>>,
    ) -> Result<Report<f64>, AnyError> {
        if !self.is_current {
            self.update()?;
        }
        self.is_current = false;
        let m = &mut self.built;
        let report = match (&mut self.filtered, rounded) {
            (Some(filtered), _) => {
                filtered.solve(b, x, |a, c, y| method.solve_with(a, m, c, y, monitor))??
            }
            (None, Some(rounded)) => {
                let a = MixedPrecision::new::<Vec<f64>>(&self.system, rounded)?;
                method.solve_with(&a, m, b, x, monitor)?
            }
            (None, None) => method.solve_with(&self.system, m, b, x, monitor)?,
        };
        self.policy.learn(report.iterations, report.outcome);
        Ok(report)
    }

    /// Solves A xⱼ = bⱼ for all j at once, with the preconditioner of the last update and without constraints. Tells the policy
    /// the largest number of iterations.
    pub(crate) fn solve_many(
        &mut self,
        method: &mut BlockCg,
        b: &[Vec<f64>],
        x: &mut [Vec<f64>],
        observe: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<Vec<Report<f64>>, AnyError> {
        self.is_current = false;
        let reports = method.solve_with(&self.system, &mut self.built, b, x, observe)?;
        if let Some(last) = reports.iter().max_by_key(|report| report.iterations) {
            self.policy.learn(last.iterations, last.outcome);
        }
        Ok(reports)
    }

    /// The kind of the preconditioner of the last update.
    pub(crate) fn kind(&self) -> PreconditionerKind {
        self.built.kind()
    }

    /// The rows whose contact pairs or constraints came or went with the last call of [`update`](Self::update).
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Finds the touched rows, and filters the system if there are constraints.
    fn find_touched(&mut self) -> Result<(), AnyError> {
        let system = self.system.system();
        let (nodes, b) = (system.matrix.pattern().rows(), system.matrix.block().0);
        let fits = |filtered: &Filtered<f64>| {
            let matrix = filtered.matrix();
            (matrix.pattern().rows(), matrix.block().0) == (nodes, b)
        };
        self.filtered.take_if(|filtered| !fits(filtered));
        self.patched.take_if(|filtered| !fits(filtered));
        if self.filtered.is_some() || !self.constraints.is_empty() {
            let filtered = renewed(&mut self.filtered, system, &self.constraints)?;
            self.touched.clear();
            self.touched.extend_from_slice(filtered.touched());
            return Ok(());
        }
        let before = &mut self.before;
        if (before.nodes(), before.block()) != (nodes, b) {
            *before = system.contact.cloned().map_or_else(|| Contacts::new(nodes, b), Ok)?;
            self.touched.clear();
            self.touched.extend(0..nodes as u32);
        } else if let Some(contact) = system.contact {
            contact.touched_since(before, &mut self.touched);
            before.replace(contact.places(), contact.values())?;
        } else {
            Contacts::new(nodes, b)?.touched_since(before, &mut self.touched);
            before.replace(&[], &[])?;
        }
        Ok(())
    }
}

/// Updates a filtered system, or builds it.
fn renewed<'f>(
    filtered: &'f mut Option<Filtered<f64>>,
    system: System<'_, f64>,
    constraints: &Constraints,
) -> Result<&'f Filtered<f64>, AnyError> {
    match filtered {
        Some(known) => {
            known.update(system, constraints)?;
            Ok(known)
        }
        none => Ok(none.insert(prefilter(system, constraints)?)),
    }
}

/// Copies a matrix, in place if the pattern is the same.
fn copy(from: &Bsr<f64>, to: &mut Bsr<f64>) {
    if from.pattern() == to.pattern() && from.block() == to.block() {
        to.values_mut().copy_from_slice(from.values());
    } else {
        *to = from.clone();
    }
}
