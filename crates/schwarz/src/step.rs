//! One level of domains as a smoother: x ← x + ω M (b − A x), M = Σ_d S_dᵀ A_d⁻¹ S_d, with a computed ω.
//!
//! A node in no domain is solved by its own diagonal block, without ω.
//!
//! | symbol | here |
//! |---|---|
//! | ρ | `radius` of M A |
//! | ω | `factor` / ρ, stored as the weight of the level |

use std::mem;

use coarsen_backend::{Matrix, Merged, Reused, Setup, SetupError, Smoother, SmootherFacts, Update};
use coarsen_core::{Cancel, Error, LinearOperator, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_krylov::{SpectralRadius, start_vector};
use coarsen_sparse::{Bsr, System};
use num_traits::one;

use crate::backend::{Changed, SchwarzBackend};
use crate::options::Coarse;
use crate::options::Weights;
use crate::schwarz::Schwarz;
use crate::subdomains::Subdomains;

/// Damped domains as a smoother: ω = `factor` / ρ(M A), so that the step converges in energy.
///
/// After a step, errors are smooth on the scale of a domain of 32 nodes, so the next coarser grid may have
/// one node per domain ([`SmootherFacts::sets`]). A hierarchy over domains therefore needs few levels and
/// little memory. ρ is between 1 and the number of domains that meet, about 2 on sheets. *Use* as the finest
/// smoother of a hierarchy. Damping has no effect if this is the only preconditioner of conjugate gradients.
/// Contact is merged into A. Build again after constraints are released: nodes without couplings at the build
/// remain in no domain. *Cost* of a step from zero: one pass over the inverses; other steps also read A. The
/// setup costs as much as that of the domains, a copy of A on the backend, and `lanczos_steps` steps for ρ, or
/// more while ρ grows; the first update allocates domains and the copy again. *Reference* Wu, Wang, Wang 2022, §5 and §6, for M; Smith, Bjørstad, Gropp 1996,
/// "Domain Decomposition", §3.2, for the damping.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_schwarz::DampedDomains;
/// let a = coarsen_problems::poisson2d(30)?.matrix;
/// let step = DampedDomains::default().build(&a, &Cpu::new())?;
/// assert!((1.0..4.0).contains(&step.radius()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DampedDomains {
    /// The domains; only the finest level is built.
    pub schwarz: Schwarz,
    /// The product ω ρ, above 0 and below 2.
    pub factor: f64,
    /// The minimal number of generalized Lanczos steps for ρ; they continue until ω ρ < 2 is certain.
    pub lanczos_steps: usize,
    /// The factor that multiplies the estimate of ρ, because the estimate is a lower bound.
    pub safety: f64,
}

impl Default for DampedDomains {
    /// Returns domains of 32 nodes, ω = 1.6 / ρ, 6 Lanczos steps, safety 1.1.
    fn default() -> Self {
        Self { schwarz: Schwarz::multilevel(), factor: 1.6, lanczos_steps: 6, safety: 1.1 }
    }
}

/// The smoother that [`DampedDomains`] builds.
pub struct DomainStep<T: Real, B: SchwarzBackend> {
    parameters: DampedDomains,
    now: Damped<T, B>,
    /// The memory in which updates prepare.
    next: Option<Damped<T, B>>,
    /// The domain of each node.
    sets: Vec<u32>,
    spectrum: SpectralRadius<B::Vector>,
    start: B::Vector,
    residual: B::Vector,
    step: B::Vector,
    nnz: usize,
    merged: Merged,
}

/// Domains with the weight ω, and A on the backend.
struct Damped<T: Real, B: SchwarzBackend> {
    domains: Subdomains<T, B>,
    a: B::Matrix,
    radius: f64,
}

coarsen_backend::inherent_build!(DampedDomains);

impl<T: Real, B: SchwarzBackend> Setup<T, B> for DampedDomains {
    type Built = DomainStep<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<DomainStep<T, B>, SetupError> {
        if !(self.factor > 0.0 && self.factor < 2.0) {
            let (name, range) = ("DampedDomains::factor", "above 0 and below 2");
            return Err(Error::Parameter { name, value: self.factor, range }.into());
        }
        let one_level = Schwarz {
            levels: 1,
            coarse: Coarse::Domains,
            refresh: None,
            weights: Weights::Ones,
            ..self.schwarz
        };
        let whole = system.whole()?;
        let merged = System { contact: None, matrix: &whole, ..system }; // the pattern of updates
        let domains = one_level.build_from(merged, backend)?;
        let plan = domains.plan();
        let sets = (0..plan.nodes(0)).map(|i| plan.domain_of(0, i).map_or(u32::MAX, |d| d as u32)).collect();
        let start = backend.vector(&start_vector::<B::Real>(whole.shape().0))?;
        let mut spectrum = SpectralRadius::default();
        (spectrum.steps, spectrum.safety) = (self.lanczos_steps, self.safety);
        spectrum.margin = 2.0 / self.factor; // ω ρ < 2
        let mut now = Damped { domains, a: backend.matrix(&whole)?, radius: 1.0 };
        SetupError::unless_cancelled(system.cancel)?;
        now.damp(self.factor, &mut spectrum, &start)?;
        Ok(DomainStep {
            parameters: *self,
            now,
            next: None,
            sets,
            spectrum,
            residual: start.like()?,
            step: start.like()?,
            start,
            nnz: whole.nnz(),
            merged: Merged::default(),
        })
    }
}

impl<T: Real, B: SchwarzBackend> DomainStep<T, B> {
    /// Returns ρ, an estimate of the spectral radius of M A.
    pub fn radius(&self) -> f64 {
        self.now.radius
    }

    /// Returns the domains.
    pub fn domains(&self) -> &Subdomains<T, B> {
        &self.now.domains
    }
}

impl<T: Real, B: SchwarzBackend> Damped<T, B> {
    /// Estimates ρ and sets ω.
    fn damp(
        &mut self,
        factor: f64,
        spectrum: &mut SpectralRadius<B::Vector>,
        start: &B::Vector,
    ) -> Result<(), SetupError> {
        self.weigh(1.0)?;
        if start.size() > 0 && self.domains.plan().domains(0) > 0 {
            self.radius = spectrum.estimate(&self.a, &mut self.domains, start)?.as_f64();
        }
        Ok(self.weigh(factor / self.radius)?)
    }

    fn weigh(&mut self, omega: f64) -> Result<(), Error> {
        let Subdomains { backend, domains, .. } = &mut self.domains;
        backend.inverses(domains).weights.fill(omega);
        backend.upload(domains, Changed::Weights)
    }
}

impl<T: Real, B: SchwarzBackend> Preconditioner<B::Vector> for DomainStep<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.now.domains.apply(r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.now.domains.kind()
    }

    fn size(&self) -> Option<usize> {
        self.now.domains.size()
    }
}

impl<T: Real, B: SchwarzBackend> Smoother<B, T> for DomainStep<T, B> {
    fn kind(&self) -> PreconditionerKind {
        self.now.domains.kind()
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        Some(&self.now.a)
    }

    fn pre_smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.now.domains.apply(b, x);
    }

    fn smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.now.a.residual(b, x, &mut self.residual);
        self.now.domains.apply(&self.residual, &mut self.step);
        x.axpy(&b.scalar(one()), &self.step);
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        SmootherFacts { sets: Some(&self.sets), ..SmootherFacts::default() }
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        self.prepare_until(None, a)?;
        Ok(Reused::Structure)
    }

    fn commit(&mut self, _: &Bsr<T>) -> Result<(), SetupError> {
        if let Some(next) = &mut self.next {
            mem::swap(&mut self.now, next);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let matrix = self.nnz * size_of::<B::Stored>();
        let numbers = [Some(&self.now), self.next.as_ref()].into_iter().flatten();
        let vectors = 7 * self.start.size() * size_of::<B::Real>();
        numbers.map(|numbers| numbers.domains.bytes() + matrix).sum::<usize>()
            + vectors
            + size_of_val(&self.sets[..])
            + self.merged.bytes()
    }
}

coarsen_backend::inherent_update!(DomainStep<T: Real, B: SchwarzBackend>);

impl<T: Real, B: SchwarzBackend> Update<T> for DomainStep<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = self.now.domains.pattern().clone();
        Merged::update(
            self,
            |step| &mut step.merged,
            &system,
            &pattern,
            |step, whole| step.recompute(System { contact: None, matrix: whole, ..system }),
        )
    }
}

impl<T: Real, B: SchwarzBackend> DomainStep<T, B> {
    /// Updates to a system without contact, or builds again.
    fn recompute(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let domains = &self.now.domains;
        if !domains.serves(&system) {
            let complete = system.with_kept(&domains.positions, None);
            let mut built = self.parameters.build_from(complete, domains.backend())?;
            built.now.domains.earlier = system.positions.is_none() && complete.positions.is_some();
            *self = built;
            return Ok(Reused::Nothing);
        }
        self.prepare_until(system.cancel, system.matrix)?;
        self.commit(system.matrix)?;
        Ok(Reused::Structure)
    }

    /// As [`Smoother::prepare`]; ends once `cancel` is set, since the domains in use stay.
    fn prepare_until(&mut self, cancel: Option<&Cancel>, a: &Bsr<T>) -> Result<(), SetupError> {
        coarsen_backend::check_range::<T, B::Stored>("the matrix", a.values())?;
        let (now, system) = (&self.now, System { cancel, ..System::from(a) });
        let next = match &mut self.next {
            Some(next) => {
                next.domains.check(&system)?;
                next.domains.overwrite(system, None)?;
                next.a.set_values(a)?;
                next
            }
            none => {
                let (domains, backend) = (now.domains.again(system)?, now.domains.backend());
                none.insert(Damped { domains, a: backend.matrix(a)?, radius: 1.0 })
            }
        };
        SetupError::unless_cancelled(cancel)?;
        next.damp(self.parameters.factor, &mut self.spectrum, &self.start)
    }
}
