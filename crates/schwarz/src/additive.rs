//! One level of additive Schwarz with overlap: the parameters, and the preconditioner that it builds.
//!
//! | symbol | here |
//! |---|---|
//! | R_d, nodes of domain d and its overlap | `cover.nodes` between `cover.starts` |
//! | R̃_d, the nodes of domain d without its overlap (its own nodes) | `cover.own` |
//! | diag(R_d A R_dᵀ) | `restricted` |
//! | R_d r of all domains | `residual` |
//! | (R_d A R_dᵀ)⁻¹ R_d r | `correction` |

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::{Cpu, Merged, Reused, Setup, SetupError, Update};
use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

use crate::check::Checked;
use crate::cover::{Cover, copy};
use crate::inner::{Inner, Solver};
use crate::links::{Coupling, Links};
use crate::options::Storage;
use crate::order::Order;
use crate::packed::MOST;
use crate::source::Source;
use crate::table::EARLIER_POSITIONS;

/// The name of this method in errors.
pub(crate) const METHOD: &str = "additive schwarz";

/// One-level additive Schwarz: M⁻¹ = Σ_d R_dᵀ (R_d A R_dᵀ)⁻¹ R_d, with domains that overlap by some layers of
/// nodes.
///
/// In the restricted form each domain corrects only its own nodes, M⁻¹ = Σ_d R̃_dᵀ (R_d A R_dᵀ)⁻¹ R_d. It
/// usually takes fewer iterations but is not symmetric: use it with `Gmres` or `BiCgStab`. Without overlap
/// both forms are the same. The number of iterations grows with the number of domains across the mesh. *Use*
/// for unsymmetric matrices, for which [`Schwarz`](crate::Schwarz) cannot be used, or to measure the effect
/// of its coarse levels. *Cost* a copy of the parts of A inside domains, and the cost of [`Inner`]; a node of
/// the overlap counts once for each domain that contains it. *Reference* Wu, Wang, Wang 2022, §3.2 and §6.1;
/// Cai and Sarkis 1999, "A restricted additive Schwarz preconditioner for general sparse linear systems",
/// SIAM J. Sci. Comput. 21(2), 792–797.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Stop;
/// use coarsen_krylov::Gmres;
/// let p = coarsen_problems::poisson2d(40)?;
/// let (b, mut x) = (p.right_hand_side(1), vec![0.0; 1600]);
/// let mut m = coarsen_schwarz::AdditiveSchwarz::restricted().build(p.system(), &Cpu::new())?;
/// let report = Gmres::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdditiveSchwarz {
    /// M: the maximal number of nodes of a domain, without its overlap.
    pub domain: usize,
    /// The number of layers of neighbours that are added to the own nodes of a domain, as far as there are any.
    pub overlap: usize,
    /// Whether a domain corrects only its own nodes.
    pub restricted: bool,
    /// The solver of the domains.
    pub inner: Inner,
    /// The order of the nodes from which domains grow.
    pub order: Order,
    /// The couplings along which domains grow.
    pub coupling: Coupling,
    /// The precision of stored dense inverses.
    pub storage: Storage,
}

impl AdditiveSchwarz {
    /// Returns the symmetric form: domains of 32 nodes and one layer, solved by dense inverses.
    pub fn overlapping() -> Self {
        Self {
            domain: 32,
            overlap: 1,
            restricted: false,
            inner: Inner::Inverses,
            order: Order::Auto,
            coupling: Coupling::Strength { theta: 0.25 },
            storage: Storage::Single,
        }
    }

    /// Returns the restricted form, for any matrix: domains of 256 nodes and one layer, solved by sparse
    /// factors.
    pub fn restricted() -> Self {
        Self { domain: 256, restricted: true, inner: Inner::Factors, ..Self::overlapping() }
    }

    /// Returns domains without overlap. Eight multicolour Gauss-Seidel sweeps solve each domain approximately
    /// (Wu et al. 2022, §6.1: 256 to 3,820 nodes).
    pub fn swept(domain: usize) -> Self {
        Self { domain, overlap: 0, inner: Inner::Sweeps { pairs: 4 }, ..Self::overlapping() }
    }

    fn validate(&self) -> Result<(), Error> {
        let bad = |name, value: usize, range| Err(Error::Parameter { name, value: value as f64, range });
        if self.domain == 0 {
            return bad("AdditiveSchwarz::domain", 0, "1 or more");
        }
        if self.inner == (Inner::Sweeps { pairs: 0 }) {
            return bad("Inner::Sweeps::pairs", 0, "1 or more");
        }
        self.coupling.validate()
    }
}

/// The preconditioner that [`AdditiveSchwarz`] builds. `Display` names its size, and positions kept from an earlier build.
pub struct OverlappingDomains<T: Real, V: Real, S: Real> {
    parameters: AdditiveSchwarz,
    backend: Cpu<V, S>,
    pattern: Arc<Pattern>,
    /// The positions of the build; empty if there were none.
    positions: Vec<[f64; 3]>,
    /// Whether they are those of an earlier build, because the last one had none.
    earlier: bool,
    block: usize,
    cover: Cover,
    /// For each block of `restricted`, the block of A that it copies.
    from: Vec<u32>,
    restricted: Bsr<T>,
    solver: Solver<T, V, S>,
    kind: PreconditionerKind,
    residual: Vec<V>,
    correction: Vec<V>,
    /// The scratch memory of checks.
    checked: Checked<T>,
    merged: Merged,
}

coarsen_backend::inherent_build!(AdditiveSchwarz);

impl<T: Real, V: Real, S: Real> Setup<T, Cpu<V, S>> for AdditiveSchwarz {
    type Built = OverlappingDomains<T, V, S>;

    fn build_from(
        &self,
        system: System<'_, T>,
        backend: &Cpu<V, S>,
    ) -> Result<OverlappingDomains<T, V, S>, SetupError> {
        self.validate()?;
        system.check()?;
        let a = &*system.whole()?;
        let (pattern, block) = (a.pattern().clone(), a.block().0);
        let mut checked = Checked::default();
        let kind = self.check::<T, V>(a, &mut checked)?;
        let (links, coupled) = Links::of(Source::new(a), self.coupling);
        SetupError::unless_cancelled(system.cancel)?;
        let order = self.order.of(&System { contact: None, matrix: a, ..system }, &links)?;
        let sizes = [self.domain, self.overlap];
        let mut cover = Cover::grow(&links, &coupled, &pattern, &order, sizes, system.cancel)?;
        if self.inner == Inner::Inverses && cover.largest().saturating_mul(block) > MOST {
            let (name, value) = ("AdditiveSchwarz::domain", (cover.largest() * block) as f64);
            let range = "at most 1024 unknowns with the overlap, for dense inverses; take smaller domains, or factors";
            return Err(Error::Parameter { name, value, range }.into());
        }
        if matches!(self.inner, Inner::Sweeps { .. }) {
            cover.colour(&pattern, system.cancel)?;
        }
        SetupError::unless_cancelled(system.cancel)?;
        let (parts, from) = cover.restrict(&pattern, system.cancel)?;
        let mut restricted = Bsr::zeros(Arc::new(parts), (block, block))?;
        copy(a, &from, &mut restricted);
        SetupError::unless_cancelled(system.cancel)?;
        let solver = Solver::new(self.inner, self.storage, a, &cover, &restricted, backend, system.cancel)?;
        let places = vec![zero(); cover.nodes.len() * block];
        Ok(OverlappingDomains {
            parameters: *self,
            backend: *backend,
            pattern,
            positions: system.positions.unwrap_or_default().to_vec(),
            earlier: false,
            block,
            cover,
            from,
            restricted,
            kind: kind.max(solver.kind()),
            solver,
            residual: places.clone(),
            correction: places,
            checked,
            merged: Merged::default(),
        })
    }
}

impl AdditiveSchwarz {
    /// Returns the kind of the preconditioner for this matrix, found from its values.
    fn check<T: Real, V: Real>(
        &self,
        a: &Bsr<T>,
        checked: &mut Checked<T>,
    ) -> Result<PreconditionerKind, SetupError> {
        let pair = a.asymmetric_pair(Bsr::<T>::symmetry_tolerance());
        if self.inner == Inner::Factors {
            a.check_finite()?;
        } else {
            // Dense inverses are stored in the precision of the parameters, inverses for sweeps in that of the
            // vectors.
            let single = match self.inner {
                Inner::Inverses => self.storage == Storage::Single,
                _ => V::NAME == f32::NAME,
            };
            let storage = if single { Storage::Single } else { Storage::Double };
            crate::check::check(METHOD, Source::new(a), None, &[], storage, checked)?;
        }
        match pair {
            Some((row, column)) if self.inner == Inner::Inverses => {
                Err(SetupError::Unsymmetric { method: METHOD, row, column })
            }
            None if !(self.restricted && self.overlap > 0) => Ok(PreconditionerKind::Symmetric),
            _ => Ok(PreconditionerKind::Linear),
        }
    }
}

impl<T: Real, V: Real, S: Real> OverlappingDomains<T, V, S> {
    /// Returns the number of domains.
    pub fn domains(&self) -> usize {
        self.cover.count()
    }

    /// Returns the sum of the sizes of all domains in nodes, divided by the number of nodes.
    pub fn redundancy(&self) -> f64 {
        self.cover.nodes.len() as f64 / self.pattern.rows().max(1) as f64
    }

    /// Returns the size in bytes of maps, of the parts of A and of their solvers.
    pub fn bytes(&self) -> usize {
        self.cover.bytes()
            + size_of_val(&self.from[..])
            + size_of_val(&self.positions[..])
            + self.restricted.bytes()
            + self.solver.bytes()
            + self.merged.bytes()
            + 2 * size_of_val(&self.residual[..])
    }
}

impl<T: Real, V: Real, S: Real> fmt::Display for OverlappingDomains<T, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "additive schwarz, {} domains with {:.2} times the nodes, {:.1} MiB",
            self.domains(),
            self.redundancy(),
            self.bytes() as f64 / f64::from(1 << 20)
        )?;
        if self.earlier { write!(f, "; {EARLIER_POSITIONS}") } else { Ok(()) }
    }
}

impl<T: Real, V: Real, S: Real> Preconditioner<Vec<V>> for OverlappingDomains<T, V, S> {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let (b, cover) = (self.block, &self.cover);
        let n = self.pattern.rows() * b;
        assert!(r.len() == n && z.len() == n, "apply: {n} rows met r of {} and z of {}", r.len(), z.len());
        let worth = parallel::worth(2 * self.residual.len());
        let gather = |(nodes, to): (&[u32], Groups<&mut [V]>)| {
            for (&i, to) in nodes.iter().zip(to.0.chunks_exact_mut(b)) {
                to.copy_from_slice(&r[i as usize * b..(i as usize + 1) * b]);
            }
        };
        each((&cover.nodes[..], Groups(&mut self.residual[..], b)), 2048, worth, &gather);
        self.solver.solve(cover, &self.residual, &mut self.correction);
        let (correction, own) = (&self.correction, self.parameters.restricted);
        let combine = |(nodes, z): (Range<usize>, Groups<&mut [V]>)| {
            for (i, z) in nodes.zip(z.0.chunks_exact_mut(b)) {
                let places = cover.of_node[i]..cover.of_node[i + 1];
                let places = if own { &cover.own[i..=i] } else { &cover.places[places] };
                z.fill(zero());
                for &place in places {
                    let said = &correction[place as usize * b..(place as usize + 1) * b];
                    z.iter_mut().zip(said).for_each(|(z, &v)| *z += v);
                }
            }
        };
        each((0..self.pattern.rows(), Groups(&mut z[..], b)), 2048, worth, &combine);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.pattern.rows() * self.block)
    }
}

coarsen_backend::inherent_update!(OverlappingDomains<T: Real, V: Real, S: Real>);

impl<T: Real, V: Real, S: Real> Update<T> for OverlappingDomains<T, V, S> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = self.pattern.clone();
        Merged::update(
            self,
            |domains| &mut domains.merged,
            &system,
            &pattern,
            |domains, whole| domains.recompute(System { contact: None, matrix: whole, ..system }),
        )
    }
}

impl<T: Real, V: Real, S: Real> OverlappingDomains<T, V, S> {
    /// Updates to a system without contact, or builds again.
    fn recompute(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let a = system.matrix;
        if a.block().0 != self.block || !Pattern::same(a.pattern(), &self.pattern) {
            let complete = system.with_kept(&self.positions, None);
            let built = self.parameters.build_from(complete, &self.backend)?;
            *self = Self { earlier: system.positions.is_none() && complete.positions.is_some(), ..built };
            return Ok(Reused::Nothing);
        }
        let kind = self.parameters.check::<T, V>(a, &mut self.checked)?;
        SetupError::unless_cancelled(system.cancel)?;
        copy(a, &self.from, &mut self.restricted);
        self.solver.update(a, &self.cover, &self.restricted)?;
        self.kind = kind.max(self.solver.kind());
        Ok(Reused::Structure)
    }
}
