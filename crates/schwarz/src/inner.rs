//! Solvers of the domains of one level: dense inverses, sweeps, or sparse factors.

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::{Cpu, DenseBlocks, SetupError};
use coarsen_core::parallel::{self, each};
use coarsen_core::{Cancel, Preconditioner, PreconditionerKind, Real};
use coarsen_direct::{Direct, DirectError, Factor};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

use crate::additive::METHOD;
use crate::check::Checked;
use crate::cover::Cover;
use crate::options::{Coarse, Storage};
use crate::plan::Plan;
use crate::schwarz::Schwarz;
use crate::subdomains::Subdomains;
use crate::sweep::{DomainSweep, Stretches};

/// The solver of the domains of [`AdditiveSchwarz`](crate::AdditiveSchwarz).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inner {
    /// Exact solves by dense inverses, for symmetric positive definite matrices and up to 1024 unknowns per
    /// domain. *Cost* m² / 2 values per domain of m unknowns.
    Inverses,
    /// Pairs of a forward and a backward Gauss-Seidel sweep over the colours of the domain; four pairs are
    /// the eight sweeps of §6.1.
    ///
    /// *Cost* two passes over the parts of A per pair.
    Sweeps {
        /// The number of pairs, at least 1.
        pairs: usize,
    },
    /// Exact solves by one sparse factor per domain, for any matrix whose restrictions are regular. *Cost* as
    /// for [`Direct`], on all threads.
    Factors,
}

/// A factored domain and its vectors.
pub(crate) struct Part {
    factor: Factor,
    b: Vec<f64>,
    x: Vec<f64>,
    matrix: Bsr<f64>,
    /// The values of `matrix` before the last update, which a failed update restores.
    before: Vec<f64>,
}

impl Part {
    /// Factors the matrix of the domain again; after an error the old factor is kept.
    fn recompute(&mut self) -> Result<(), DirectError> {
        if self.factor.refactor(&self.matrix).is_err() {
            self.factor = Direct::default().factor(&self.matrix)?;
        }
        Ok(())
    }
}

/// The solvers of all domains.
pub(crate) enum Solver<T: Real, V: Real, S: Real> {
    Inverses(Box<Subdomains<T, Cpu<V, S>>>),
    Sweeps { pairs: usize, matrix: Bsr<S>, inverses: DenseBlocks<T>, of_places: Vec<V>, work: Vec<V> },
    Factors(Vec<Part>),
}

impl<T: Real, V: Real, S: Real> Solver<T, V, S> {
    /// Builds the solvers for the block-diagonal matrix `restricted` of all domains of `a`. The caller has
    /// checked `a`.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] once `cancel` is set; otherwise those of the solver.
    pub(crate) fn new(
        inner: Inner,
        storage: Storage,
        a: &Bsr<T>,
        cover: &Cover,
        restricted: &Bsr<T>,
        backend: &Cpu<V, S>,
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
        Ok(match inner {
            Inner::Inverses => {
                let parameters =
                    Schwarz { storage, levels: 1, coarse: Coarse::Domains, ..Schwarz::multilevel() };
                let plan = Arc::new(Plan::apart(a.block().0, &cover.starts)?);
                let system = System { cancel, ..System::from(restricted) };
                Self::Inverses(Box::new(Subdomains::on_plan(
                    &parameters,
                    plan,
                    system,
                    Checked::default(),
                    &[],
                    backend,
                )?))
            }
            Inner::Sweeps { pairs } => {
                coarsen_backend::check_range::<T, S>("the matrix", a.values())?;
                let inverses = DenseBlocks::inverse_diagonal(a, METHOD)?;
                let mut of_places = vec![zero(); cover.nodes.len() * a.block().0.pow(2)];
                spread(&inverses, cover, &mut of_places);
                let work = vec![zero(); cover.nodes.len() * a.block().0];
                Self::Sweeps { pairs, matrix: restricted.to::<S>(), inverses, of_places, work }
            }
            Inner::Factors => {
                let parts =
                    (0..cover.count()).map(|d| cover.part(d, restricted)).collect::<Result<Vec<_>, _>>()?;
                let mut built: Vec<Option<Result<Part, SetupError>>> = parts.iter().map(|_| None).collect();
                let factored = |d: usize, matrix: &Bsr<f64>| -> Result<Part, SetupError> {
                    SetupError::unless_cancelled(cancel)?;
                    let n = matrix.shape().0;
                    let factor = Direct::default().factor(matrix).map_err(|why| cover.refused(d, n, why))?;
                    let (b, x, before) = (vec![0.0; n], vec![0.0; n], matrix.values().to_vec());
                    Ok(Part { factor, b, x, matrix: matrix.clone(), before })
                };
                let leaf = |(range, parts, built): (Range<usize>, &[Bsr<f64>], &mut [Option<_>])| {
                    for ((d, matrix), built) in range.zip(parts).zip(built) {
                        *built = Some(factored(d, matrix));
                    }
                };
                let worth = parallel::worth(restricted.nnz());
                each((0..parts.len(), &parts[..], &mut built[..]), 1, worth, &leaf);
                Self::Factors(built.into_iter().flatten().collect::<Result<_, _>>()?)
            }
        })
    }

    /// Returns the weakest kind of the solvers of all domains. The factor of an indefinite domain defines no
    /// inner product, so it is only linear.
    pub(crate) fn kind(&self) -> PreconditionerKind {
        match self {
            Self::Factors(parts) => {
                let kinds = parts.iter().map(|part| Preconditioner::<Vec<f64>>::kind(&part.factor));
                kinds.fold(PreconditionerKind::Symmetric, Ord::max)
            }
            _ => PreconditionerKind::Symmetric, // indefinite diagonal blocks are refused earlier
        }
    }

    pub(crate) fn update(
        &mut self,
        a: &Bsr<T>,
        cover: &Cover,
        restricted: &Bsr<T>,
    ) -> Result<(), SetupError> {
        match self {
            Self::Inverses(domains) => domains.recompute(System::from(restricted), None),
            Self::Sweeps { matrix, inverses, of_places, .. } => {
                coarsen_backend::check_range::<T, S>("the matrix", a.values())?;
                inverses.invert_diagonal(a, METHOD)?;
                spread(inverses, cover, of_places);
                parallel::map(restricted.values(), matrix.values_mut(), |v| S::from_f64(v.as_f64()));
                Ok(())
            }
            Self::Factors(parts) => {
                for d in 0..parts.len() {
                    let part = &mut parts[d];
                    part.before.copy_from_slice(part.matrix.values());
                    cover.values(d, restricted, &mut part.matrix);
                    if let Err(why) = part.recompute() {
                        let refused = cover.refused(d, part.x.len(), why);
                        // After an error all domains keep their old factors.
                        for part in &mut parts[..=d] {
                            part.matrix.values_mut().copy_from_slice(&part.before);
                            let _ = part.recompute();
                        }
                        return Err(refused);
                    }
                }
                Ok(())
            }
        }
    }

    /// Computes x = A_d⁻¹ b on every domain d, or an approximation by sweeps.
    pub(crate) fn solve(&mut self, cover: &Cover, b: &Vec<V>, x: &mut Vec<V>) {
        match self {
            Self::Inverses(domains) => domains.apply(b, x),
            Self::Sweeps { pairs, matrix, of_places, work, .. } => {
                let sweep = DomainSweep { pairs: *pairs, matrix, inverses: of_places, right: b };
                let block = matrix.block().0;
                let worth = parallel::worth(matrix.nnz());
                let parts = [x, work].map(|values| Stretches { starts: &cover.starts, block, values });
                let [x, work] = parts;
                each((x, work), 1, worth, &|(x, work): (Stretches<'_, V>, Stretches<'_, V>)| {
                    sweep.domains(x, work);
                });
            }
            Self::Factors(parts) => {
                let block = b.len() / cover.nodes.len().max(1);
                let worth = parallel::worth(8 * b.len());
                let stretches = Stretches { starts: &cover.starts, block, values: x };
                each((&mut parts[..], stretches), 1, worth, &|(parts, to): (
                    &mut [Part],
                    Stretches<'_, V>,
                )| {
                    for (part, (range, x)) in parts.iter_mut().zip(to.each()) {
                        part.b.iter_mut().zip(&b[range]).for_each(|(to, v)| *to = v.as_f64());
                        part.factor.apply(&part.b, &mut part.x);
                        x.iter_mut().zip(&part.x).for_each(|(x, v)| *x = V::from_f64(*v));
                    }
                });
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Inverses(domains) => domains.bytes(),
            Self::Sweeps { matrix, inverses, of_places, work, .. } => {
                matrix.bytes()
                    + size_of_val(inverses.values())
                    + size_of_val(&of_places[..])
                    + size_of_val(&work[..])
            }
            Self::Factors(parts) => {
                let vectors = |part: &Part| size_of_val(&part.before[..]) + 2 * size_of_val(&part.x[..]);
                parts.iter().map(|p| p.factor.stats().bytes + p.matrix.bytes() + vectors(p)).sum()
            }
        }
    }
}

/// Copies to each place the inverse of the diagonal block of its node.
fn spread<T: Real, V: Real>(inverses: &DenseBlocks<T>, cover: &Cover, to: &mut [V]) {
    let area = inverses.size().pow(2);
    for (&i, to) in cover.nodes.iter().zip(to.chunks_exact_mut(area)) {
        to.iter_mut().zip(inverses.block(i as usize)).for_each(|(to, v)| *to = V::from_f64(v.as_f64()));
    }
}

impl Cover {
    /// Returns the matrix of one domain.
    fn part<T: Real>(&self, d: usize, restricted: &Bsr<T>) -> Result<Bsr<f64>, SetupError> {
        let (places, pattern) = (self.starts[d] as usize..self.starts[d + 1] as usize, restricted.pattern());
        let blocks = pattern.offsets()[places.start]..pattern.offsets()[places.end];
        let offsets = pattern.offsets()[places.start..=places.end].iter().map(|k| k - blocks.start).collect();
        let indices = pattern.indices()[blocks].iter().map(|j| j - places.start as u32).collect();
        let pattern = Arc::new(Pattern::new(places.len(), offsets, indices)?);
        let mut part = Bsr::zeros(pattern, restricted.block())?;
        self.values(d, restricted, &mut part);
        Ok(part)
    }

    fn values<T: Real>(&self, d: usize, restricted: &Bsr<T>, part: &mut Bsr<f64>) {
        let area = restricted.block().0.pow(2);
        let first = restricted.pattern().offsets()[self.starts[d] as usize] * area;
        let values = &restricted.values()[first..first + part.values().len()];
        part.values_mut().iter_mut().zip(values).for_each(|(to, v)| *to = v.as_f64());
    }

    fn refused(&self, d: usize, unknowns: usize, why: DirectError) -> SetupError {
        let node = self.nodes[self.starts[d] as usize] as usize;
        SetupError::Domain { node, unknowns, why: why.to_string() }
    }
}
