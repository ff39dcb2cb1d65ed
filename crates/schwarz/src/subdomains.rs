//! The built preconditioner: the inverses of every level, their application and their update.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coarsen_backend::{Setup, SetupError};
use coarsen_core::{Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::One;

use crate::backend::{Changed, Inverses, Packed, SchwarzBackend};
use crate::check::{self, Checked};
use crate::exact::Exact;
use crate::numbers::Numbers;
use crate::options::{Coarse, Repair};
use crate::plan::Plan;
use crate::schwarz::Schwarz;
use crate::source::Source;

/// The preconditioner that [`Schwarz`] builds: dense inverses of small domains on every level.
///
/// `Display` prints a table of the levels: nodes, domains, repairs, bytes and weights of the levels, the age
/// of order and domains, and seconds.
pub struct Subdomains<T: Real, B: SchwarzBackend> {
    pub(crate) parameters: Schwarz,
    pub(crate) backend: B,
    pattern: Arc<Pattern>,
    /// The positions of the build; empty if there were none.
    pub(crate) positions: Arc<[[f64; 3]]>,
    /// Whether the positions are those of an earlier build.
    pub(crate) earlier: bool,
    pub(crate) plan: Arc<Plan>,
    pub(crate) domains: B::Domains,
    pub(crate) numbers: Numbers<T>,
    pub(crate) top: Option<Exact>,
    /// The weight of each level, with the weight of `top` at the end.
    pub(crate) weights: Vec<f64>,
    bytes: usize,
    pub(crate) seconds: Seconds,
    pub(crate) updates: usize,
    /// Whether the last update has failed after its checks, so that numbers on the host belong to several systems.
    pub(crate) incomplete: bool,
    /// The domains of each level that the last patch recomputed.
    pub(crate) touched: Vec<Vec<u32>>,
}

/// The seconds of the parts of the last setup.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seconds {
    pub(crate) structure: Duration,
    pub(crate) inverses: Duration,
    pub(crate) top: Duration,
}

coarsen_backend::inherent_build!(Schwarz);

impl<T: Real, B: SchwarzBackend> Setup<T, B> for Schwarz {
    type Built = Subdomains<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Subdomains<T, B>, SetupError> {
        self.validate(system.matrix.block().0)?;
        system.check()?;
        // The host would have to solve the coarsest level of a device.
        let remote = self.coarse == Coarse::Auto && backend.is_remote();
        match Subdomains::new(self, system, backend, if remote { Coarse::Domains } else { self.coarse }) {
            // If the coarsest level cannot be factored, it is divided into domains like all other levels.
            Err(SetupError::Coarsest { .. }) => Subdomains::new(self, system, backend, Coarse::Domains),
            built => built,
        }
    }
}

impl<T: Real, B: SchwarzBackend> Subdomains<T, B> {
    fn new(
        parameters: &Schwarz,
        system: System<'_, T>,
        backend: &B,
        top: Coarse,
    ) -> Result<Self, SetupError> {
        let begun = Instant::now();
        let (plan, checked) = parameters.structure(system, top)?;
        let mut built = Self::on_plan(parameters, Arc::new(plan), system, checked, &[], backend)?;
        built.seconds.structure = begun.elapsed() - built.seconds.inverses - built.seconds.top;
        built.weigh(system)?;
        Ok(built)
    }

    /// Builds the preconditioner on a given plan, for a system that has been checked. `first` has the sums of
    /// diagonal entries if there are finer levels elsewhere.
    pub(crate) fn on_plan(
        parameters: &Schwarz,
        plan: Arc<Plan>,
        system: System<'_, T>,
        checked: Checked<T>,
        first: &[T],
        backend: &B,
    ) -> Result<Self, SetupError> {
        let mut seconds = Seconds::default();
        let begun = Instant::now();
        let mut numbers = Numbers::new(&plan, parameters, checked, first)?;
        numbers.checked.accept();
        let mut inverses = Inverses {
            packed: plan
                .domain_levels
                .iter()
                .map(|level| Packed::zeros(parameters.storage, level.values()))
                .collect(),
            left_out: numbers.checked.left_out.clone(),
            weights: vec![1.0; plan.levels()],
        };
        SetupError::unless_cancelled(system.cancel)?;
        numbers.compute(parameters, &plan, &system, None, &mut inverses)?;
        SetupError::unless_cancelled(system.cancel)?;
        seconds.inverses = begun.elapsed();

        let begun = Instant::now();
        let top = match plan.top_nodes() {
            0 => None,
            _ => numbers.exact(&plan, system.contact)?,
        };
        seconds.top = begun.elapsed();
        let bytes = inverses.packed.iter().map(Packed::bytes).sum::<usize>()
            + numbers.coarse.iter().map(Bsr::bytes).sum::<usize>()
            + plan.bytes()
            + size_of_val(system.positions.unwrap_or_default())
            + top.as_ref().map_or(0, Exact::bytes);
        let weights = vec![1.0; plan.levels() + usize::from(top.is_some())];
        let (domains, pattern) = (backend.domains(&plan, inverses)?, system.matrix.pattern().clone());
        Ok(Self {
            parameters: *parameters,
            backend: backend.clone(),
            pattern,
            positions: system.positions.unwrap_or_default().into(),
            earlier: false,
            plan,
            domains,
            numbers,
            top,
            weights,
            bytes,
            seconds,
            updates: 0,
            incomplete: false,
            touched: Vec::new(),
        })
    }

    /// Builds the same domains for new values on the pattern of the build, beside those in use.
    pub(crate) fn again(&self, system: System<'_, T>) -> Result<Self, SetupError> {
        let (mut checked, left_out) = (Checked::default(), self.plan.left_out());
        let source = Source::new(system.matrix);
        check::check(check::METHOD, source, None, left_out, self.parameters.storage, &mut checked)?;
        let built = Self::on_plan(&self.parameters, self.plan.clone(), system, checked, &[], &self.backend)?;
        Ok(Self { positions: self.positions.clone(), earlier: self.earlier, ..built })
    }

    /// Returns the levels, domains and maps.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    pub(crate) fn backend(&self) -> &B {
        &self.backend
    }

    /// Returns the parameters.
    pub(crate) fn parameters(&self) -> &Schwarz {
        &self.parameters
    }

    /// Returns the matrix of a coarse level, without contact; `None` if no level uses it.
    pub fn matrix(&self, level: usize) -> Option<&Bsr<T>> {
        self.numbers.coarse.get(level.checked_sub(1)?)
    }

    /// Returns the domains whose matrices were not positive definite to round-off: (level, domain, repair).
    pub fn repairs(&self) -> impl Iterator<Item = (usize, usize, Repair)> + '_ {
        let of_level = |(level, repairs): (usize, &'_ Vec<Option<Repair>>)| {
            let named: Vec<_> =
                repairs.iter().enumerate().filter_map(|(d, r)| r.map(|r| (level, d, r))).collect();
            named
        };
        self.numbers.repairs.iter().enumerate().flat_map(of_level)
    }

    /// Returns the size in bytes of inverses, level matrices, maps and the coarse factor.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of updates and patches since the order and the domains were chosen.
    pub fn age(&self) -> usize {
        self.updates
    }

    /// Whether the structure fits another system, as [`Plan::serves`] says.
    pub(crate) fn serves(&self, system: &System<'_, T>) -> bool {
        self.plan.serves(&self.pattern, *system)
    }

    /// Runs all checks of new values, before anything changes.
    pub(crate) fn check(&mut self, system: &System<'_, T>) -> Result<(), SetupError> {
        let Self { parameters, plan, numbers, .. } = self;
        let source = Source::of(system, &mut numbers.starts);
        check::check(
            check::METHOD,
            source,
            system.contact,
            plan.left_out(),
            parameters.storage,
            &mut numbers.checked,
        )
    }

    /// Recomputes some domains of every level, or all domains, from values that have been checked. Once domains are
    /// overwritten, the update is completed: no copy of the old ones is kept.
    ///
    /// # Errors
    /// [`SetupError::Coarsest`] if the coarsest level can no longer be factored. The factor is then old, and so are domains
    /// on a device, but domains on the host are new: the caller divides that level into domains.
    /// [`SetupError::Cancelled`] if the flag is set before; nothing has then changed.
    pub(crate) fn recompute(
        &mut self,
        system: System<'_, T>,
        which: Option<&[Vec<u32>]>,
    ) -> Result<(), SetupError> {
        SetupError::unless_cancelled(system.cancel)?;
        self.overwrite(System { cancel: None, ..system }, which)
    }

    /// As [`recompute`](Self::recompute), but ends once the flag of the system is set. *Use* for domains that are not in use:
    /// some are then those of the last system, until a call for all domains succeeds.
    ///
    /// # Errors
    /// As [`recompute`](Self::recompute).
    pub(crate) fn overwrite(
        &mut self,
        system: System<'_, T>,
        which: Option<&[Vec<u32>]>,
    ) -> Result<(), SetupError> {
        let Self { parameters, backend, plan, numbers, domains, top, seconds, .. } = self;
        self.incomplete = true;
        numbers.checked.accept();
        let begun = Instant::now();
        let inverses = backend.inverses(domains);
        inverses.left_out.copy_from_slice(&numbers.checked.left_out);
        numbers.compute(parameters, plan, &system, which, inverses)?;
        seconds.inverses = begun.elapsed();
        let begun = Instant::now();
        if let Some(top) = top {
            let last = numbers.coarse.len() - 1;
            let (matrix, sizes) = (&numbers.coarse[last], &numbers.sizes[last]);
            top.update(matrix, sizes, system.contact.map(|contact| (&**plan, contact)))?;
        }
        seconds.top = begun.elapsed();
        let begun = Instant::now();
        backend.upload(domains, which.map_or(Changed::All, Changed::Domains))?;
        seconds.inverses += begun.elapsed();
        self.incomplete = false;
        self.updates += 1;
        Ok(())
    }
}

impl<T: Real, B: SchwarzBackend> Preconditioner<B::Vector> for Subdomains<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        let (top, weight) = (&mut self.top, B::Real::from_f64(self.weights[self.weights.len() - 1]));
        self.backend.apply_domains(
            &mut self.domains,
            r,
            &mut |r, z| {
                if let Some(top) = top {
                    top.solve(r, z);
                    if weight != B::Real::one() {
                        z.iter_mut().for_each(|z| *z *= weight);
                    }
                }
            },
            z,
        );
    }

    /// The inverses and their sum are symmetric to the last bit, and they are positive definite: in a domain
    /// that is not positive definite, the diagonal blocks are inverted.
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.plan.nodes(0) * self.plan.block())
    }
}
