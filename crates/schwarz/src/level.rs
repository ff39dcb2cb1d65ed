//! Levels of a hierarchy that the caller builds, such as one over ranks.
//!
//! | symbol | here |
//! |---|---|
//! | A_l | [`Level::matrix`] |
//! | Σ of the diagonal of A_0 in a node | [`Level::sizes`] |
//! | Σ_d S_dᵀ (S_d A_l S_dᵀ)⁻¹ S_d | [`Schwarz::build_level`] |
//! | C_l r, C_lᵀ z | [`Subdomains::restrict`], [`Subdomains::prolong`] |
//! | the levels from A_l on | [`Schwarz::build_coarse`] |

use std::sync::Arc;

use coarsen_backend::{Cpu, SetupError};
use coarsen_core::{Error, Preconditioner, Real, Vector};
use coarsen_sparse::{Pattern, System};

use crate::backend::SchwarzBackend;
use crate::check::{self, Checked};
use crate::exact::Exact;
use crate::links::Links;
use crate::options::{Coarse, Weights};
use crate::order::Order;
use crate::plan::{Limits, Plan};
use crate::schwarz::Schwarz;
use crate::source::Source;
use crate::subdomains::Subdomains;

/// A level whose nodes are in a given order.
#[derive(Clone, Copy, Debug)]
pub struct Level<'a, T: Real> {
    /// The matrix of the level, or the part of it in which domains grow.
    pub matrix: &'a coarsen_sparse::Bsr<T>,
    /// For each node, whether it is in a domain. Other nodes are solved by their diagonal blocks.
    pub coupled: &'a [bool],
    /// For each unknown, the sum of its diagonal entries on the finest level, so that an unconstrained body can be told
    /// from round-off; empty if this is the finest level. The values must be finite.
    pub sizes: &'a [T],
}

impl<T: Real> Level<'_, T> {
    /// Refuses slices of other lengths than the matrix has nodes and unknowns.
    fn check(&self) -> Result<(), SetupError> {
        System::from(self.matrix).check()?;
        let (nodes, unknowns) = (self.matrix.pattern().rows(), self.matrix.shape().0);
        if self.coupled.len() != nodes {
            return Err(shape("coupled (one per block row)", nodes, self.coupled.len()));
        }
        if !self.sizes.is_empty() && self.sizes.len() != unknowns {
            return Err(shape("sizes (one per unknown, or none)", unknowns, self.sizes.len()));
        }
        match self.sizes.iter().position(|size| !size.is_finite()) {
            Some(index) => Err(Error::NotFinite { what: "sizes", index }.into()),
            None => Ok(()),
        }
    }
}

fn shape(what: &'static str, expected: usize, found: usize) -> SetupError {
    Error::Shape { what, expected, found }.into()
}

impl Schwarz {
    /// Builds the domains of one level. They grow in the order of the matrix; `order`, `levels`, `coarse`,
    /// `weights` and `refresh` are not used.
    ///
    /// Domains, their inverses and the numbers of domains depend only on parts of the matrix that are coupled.
    /// So a matrix of uncoupled parts gives the domains of its parts, one after the other.
    ///
    /// # Errors
    /// The errors of a build, with rows of this matrix; [`Error::Shape`] if `coupled` or `sizes` has another length.
    /// On a coarse level only nodes in no domain need positive diagonal entries.
    pub fn build_level<T: Real, B: SchwarzBackend>(
        &self,
        level: &Level<'_, T>,
        backend: &B,
    ) -> Result<Subdomains<T, B>, SetupError> {
        self.levels_from(level, 1, Coarse::Domains, backend)
    }

    /// Builds a coarse level and the coarser ones: one factor, if [`coarse`](Self::coarse) takes this level
    /// beside `values` values of inverses on finer levels, or else domains.
    ///
    /// # Errors
    /// As [`build_level`](Self::build_level).
    pub fn build_coarse<T: Real, V: Real, S: Real>(
        &self,
        level: &Level<'_, T>,
        values: usize,
        backend: &Cpu<V, S>,
    ) -> Result<LevelSolver<T, V, S>, SetupError> {
        level.check()?;
        self.validate(level.matrix.block().0)?;
        level.matrix.check_finite()?;
        if self.coarse.takes(level.matrix.pattern(), level.matrix.block().0, values) {
            match Exact::build(level.matrix, level.sizes, None) {
                Ok(exact) => return Ok(LevelSolver(Solver::Exact(Box::new(exact)))),
                Err(SetupError::Coarsest { .. }) => (), // by domains
                Err(error) => return Err(error),
            }
        }
        let domains = self.levels_or_domains(level, backend)?;
        Ok(LevelSolver(Solver::Domains(Box::new(domains))))
    }

    /// Builds the levels from a coarse one on; if the coarsest cannot be factored, it is divided into domains.
    fn levels_or_domains<T: Real, B: SchwarzBackend>(
        &self,
        level: &Level<'_, T>,
        backend: &B,
    ) -> Result<Subdomains<T, B>, SetupError> {
        match self.levels_from(level, self.levels, self.coarse, backend) {
            Err(SetupError::Coarsest { .. }) => {
                self.levels_from(level, self.levels, Coarse::Domains, backend)
            }
            built => built,
        }
    }

    fn levels_from<T: Real, B: SchwarzBackend>(
        &self,
        level: &Level<'_, T>,
        levels: usize,
        top: Coarse,
        backend: &B,
    ) -> Result<Subdomains<T, B>, SetupError> {
        let parameters =
            Self { levels, order: Order::Natural, weights: Weights::Ones, refresh: None, ..*self };
        level.check()?;
        parameters.validate(level.matrix.block().0)?;
        let system = System::from(level.matrix);
        let nodes = level.matrix.pattern().rows() as u32;
        let left_out: Vec<u32> = (0..nodes).filter(|&i| !level.coupled[i as usize]).collect();
        let mut checked = Checked::default();
        check_level(&parameters, level, &left_out, &mut checked)?;
        let (links, _) = Links::of(Source::new(level.matrix), parameters.coupling);
        let order: Vec<u32> = (0..nodes).collect();
        let limits = Limits { domain: parameters.domain, levels, top };
        let plan = Plan::new(level.matrix.block().0, links, &order, level.coupled, limits, None)?;
        Subdomains::on_plan(&parameters, Arc::new(plan), system, checked, level.sizes, backend)
    }
}

/// Checks the values of a level, and computes the inverses of nodes in no domain. Other diagonal entries of a coarse
/// level may be round-off.
fn check_level<T: Real>(
    parameters: &Schwarz,
    level: &Level<'_, T>,
    left_out: &[u32],
    checked: &mut Checked<T>,
) -> Result<(), SetupError> {
    let source = Source::new(level.matrix);
    if level.sizes.is_empty() {
        return check::check(check::METHOD, source, None, left_out, parameters.storage, checked);
    }
    check::check_left_out(source, left_out, parameters.storage, checked)
}

impl<T: Real, B: SchwarzBackend> Subdomains<T, B> {
    /// Whether a level has the pattern and the nodes in domains of the level that [`Schwarz::build_level`] has built.
    pub fn serves_level(&self, level: &Level<'_, T>) -> bool {
        let left_out = self.plan.left_out();
        level.matrix.block() == (self.plan.block(), self.plan.block())
            && level.coupled.len() == self.plan.nodes(0)
            && left_out.iter().all(|&i| level.coupled.get(i as usize) == Some(&false))
            && left_out.len() == level.coupled.iter().filter(|coupled| !**coupled).count()
            && Pattern::same(level.matrix.pattern(), self.pattern())
    }

    /// The checks of an update, before anything changes. *Use* if nothing may change on any rank unless all ranks pass.
    ///
    /// # Errors
    /// The errors of a build; [`Error::Pattern`] unless this [serves](Self::serves_level) the level; [`Error::Shape`]
    /// if `sizes` was empty in the build and is not now, or the reverse.
    pub fn check_level(&mut self, level: &Level<'_, T>) -> Result<(), SetupError> {
        if !self.serves_level(level) {
            return Err(Error::Pattern { what: "the level" }.into());
        }
        level.check()?;
        let (expected, found) = (self.numbers.first.len(), level.sizes.len());
        if expected != found {
            return Err(shape("sizes (those of the build)", expected, found));
        }
        check_level(&self.parameters, level, self.plan.left_out(), &mut self.numbers.checked)
    }

    /// Computes the inverses for the level that [`check_level`](Self::check_level) has passed last. *Panics* for a level
    /// with another number of sizes.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn renew_level(&mut self, level: &Level<'_, T>) -> Result<(), SetupError> {
        self.numbers.first.copy_from_slice(level.sizes);
        self.recompute(System::from(level.matrix), None)
    }

    /// Sums r over the domains of the finest level: the residual of the next level of the caller. *Panics* if a
    /// length is wrong.
    pub fn restrict(&mut self, r: &B::Vector, sums: &mut [B::Real]) {
        self.assert_fits(r, sums);
        self.backend.restrict(&mut self.domains, r, sums);
    }

    /// Adds the correction of the next level of the caller to z. *Panics* if a length is wrong.
    pub fn prolong(&mut self, corrections: &[B::Real], z: &mut B::Vector) {
        self.assert_fits(z, corrections);
        self.backend.prolong(&mut self.domains, corrections, z);
    }

    fn assert_fits(&self, fine: &B::Vector, coarse: &[B::Real]) {
        let (plan, b) = (&self.plan, self.plan.block());
        let found = [fine.size(), coarse.len()];
        assert_eq!(found, [plan.nodes(0) * b, plan.domains(0) * b], "a level and its domains");
    }
}

/// The solver of a coarse level and the coarser ones, which [`Schwarz::build_coarse`] builds.
pub struct LevelSolver<T: Real, V: Real, S: Real>(Solver<T, V, S>);

enum Solver<T: Real, V: Real, S: Real> {
    Exact(Box<Exact>),
    Domains(Box<Subdomains<T, Cpu<V, S>>>),
}

impl<T: Real, V: Real, S: Real> LevelSolver<T, V, S> {
    /// z = M r. *Cost* a solve with the factor, or an application of the domains.
    pub fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        match &mut self.0 {
            Solver::Exact(exact) => exact.solve(r, z),
            Solver::Domains(domains) => domains.apply(r, z),
        }
    }

    /// Computes new values of the level, with the pattern of the build. If a coarser level can no longer be
    /// factored, all levels are built again.
    ///
    /// # Errors
    /// The errors of the build, and [`SetupError::Coarsest`] if the level itself is factored and can no longer be: then
    /// build again. Nothing has then changed.
    pub fn update(&mut self, level: &Level<'_, T>) -> Result<(), SetupError> {
        match &mut self.0 {
            Solver::Exact(exact) => {
                level.check()?;
                level.matrix.check_finite()?;
                if !exact.serves(level.matrix) {
                    return Err(Error::Pattern { what: "the level" }.into());
                }
                exact.update(level.matrix, level.sizes, None)
            }
            Solver::Domains(domains) => {
                match domains.check_level(level).and_then(|()| domains.renew_level(level)) {
                    Err(SetupError::Coarsest { .. }) => {
                        **domains = domains.parameters.levels_or_domains(level, domains.backend())?;
                        Ok(())
                    }
                    done => done,
                }
            }
        }
    }

    /// The number of levels with domains; 0 for a factor.
    pub fn levels(&self) -> usize {
        match &self.0 {
            Solver::Exact(_) => 0,
            Solver::Domains(domains) => domains.plan().levels(),
        }
    }

    /// The number of values that an application reads.
    pub fn values(&self) -> usize {
        match &self.0 {
            Solver::Exact(exact) => exact.values(),
            Solver::Domains(domains) => domains.plan().values(),
        }
    }
}
