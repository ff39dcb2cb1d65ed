//! The exact coarse solve: the coarsest level as one system, by a sparse Cholesky factor.
//!
//! Deviation: Wu et al. divide every level into domains, including the coarsest; their §6.1 notes that an
//! exact coarse solve would converge faster.

use coarsen_backend::SetupError;
use coarsen_core::{Preconditioner, Real};
use coarsen_direct::{Direct, Factor, Method};
use coarsen_sparse::{Bsr, Contacts, Pattern, Sum};

use crate::domains::NONE;
use crate::plan::Plan;

/// The fractions of the diagonal that are added in turn to a singular matrix. An unconstrained body of several
/// supernodes has such a matrix.
const SHIFTS: [f64; 3] = [0.0, 1e-10, 1e-7];

/// A diagonal entry below this multiple of EPSILON times the sum of its terms is round-off.
const ROUND_OFF: f64 = 64.0;

/// The factored matrix of the coarsest level.
pub(crate) struct Exact {
    factor: Factor,
    contact: Mapped,
    /// The matrix in `f64`, without contact.
    in_f64: Bsr<f64>,
    shift: f64,
}

/// Contact on the coarsest level, and the memory in which it is computed.
struct Mapped {
    set: Contacts<f64>,
    places: Vec<(u32, u32)>,
    values: Vec<f64>,
    /// The matrix with contact.
    whole: Option<Bsr<f64>>,
}

impl Exact {
    /// Factors the matrix of a level. `sizes` contains, for each unknown of this matrix, the sum of its diagonal
    /// entries on the finest level; it is empty on that level. The plan of contact maps its nodes to this level, the last one.
    ///
    /// # Errors
    /// [`SetupError::Coarsest`] if the matrix is not positive definite, even after shifts.
    pub(crate) fn build<T: Real>(
        matrix: &Bsr<T>,
        sizes: &[T],
        contact: Option<(&Plan, &Contacts<T>)>,
    ) -> Result<Self, SetupError> {
        let set = Contacts::new(matrix.pattern().rows(), matrix.block().0)?;
        let mut mapped = Mapped { set, places: Vec::new(), values: Vec::new(), whole: None };
        let mut in_f64 = matrix.to::<f64>();
        let (factor, shift) = factored(&mut in_f64, matrix, sizes, contact, &mut mapped, &mut |a| {
            Direct { method: Method::Cholesky, ..Direct::default() }.factor(a).ok()
        })?;
        Ok(Self { factor, contact: mapped, in_f64, shift })
    }

    /// Whether a matrix has the pattern and the blocks of the factored one.
    pub(crate) fn serves<T: Real>(&self, matrix: &Bsr<T>) -> bool {
        matrix.block() == self.in_f64.block() && Pattern::same(matrix.pattern(), self.in_f64.pattern())
    }

    /// Factors new values of a matrix that this [serves](Self::serves).
    ///
    /// # Errors
    /// The errors of [`build`](Self::build); the old factor is then kept.
    pub(crate) fn update<T: Real>(
        &mut self,
        matrix: &Bsr<T>,
        sizes: &[T],
        contact: Option<(&Plan, &Contacts<T>)>,
    ) -> Result<(), SetupError> {
        let factor = &mut self.factor;
        let (new, shift) = factored(&mut self.in_f64, matrix, sizes, contact, &mut self.contact, &mut |a| {
            if factor.refactor(a).is_ok() {
                return Some(None);
            }
            Direct { method: Method::Cholesky, ..Direct::default() }.factor(a).ok().map(Some)
        })?;
        self.shift = shift;
        if let Some(new) = new {
            self.factor = new;
        }
        Ok(())
    }

    /// Computes x = A⁻¹ b.
    pub(crate) fn solve<V: Real>(&mut self, b: &Vec<V>, x: &mut Vec<V>) {
        self.factor.apply(b, x);
    }

    /// Returns the fraction of the diagonal that was added.
    pub(crate) fn shift(&self) -> f64 {
        self.shift
    }

    /// Returns the number of values that a solve reads: the factor, forward and backward.
    pub(crate) fn values(&self) -> usize {
        2 * self.factor.stats().nnz
    }

    /// Returns the size in bytes of the factor and its copies of the matrix.
    pub(crate) fn bytes(&self) -> usize {
        self.factor.stats().bytes
    }
}

/// Tries the shifts in turn until `make` succeeds.
fn factored<T: Real, R>(
    in_f64: &mut Bsr<f64>,
    matrix: &Bsr<T>,
    sizes: &[T],
    contact: Option<(&Plan, &Contacts<T>)>,
    mapped: &mut Mapped,
    make: &mut dyn FnMut(&Bsr<f64>) -> Option<R>,
) -> Result<(R, f64), SetupError> {
    in_f64.values_mut().iter_mut().zip(matrix.values()).for_each(|(w, v)| *w = v.as_f64());
    let whole = match contact.filter(|(_, c)| !c.is_empty()) {
        None => in_f64,
        Some((plan, contact)) => {
            mapped.map(plan, contact)?;
            Sum { elastic: in_f64, contact: &mapped.set }.merge_in(&mut mapped.whole, in_f64.pattern())?
        }
    };
    let (b, pattern) = (whole.block().0, whole.pattern().clone());
    let mut before = 0.0;
    for shift in SHIFTS {
        for i in 0..pattern.rows() {
            let Some(k) = pattern.find(i, i) else { continue };
            let block = &mut whole.values_mut()[k * b * b..(k + 1) * b * b];
            for (k, d) in block.iter_mut().step_by(b + 1).enumerate() {
                let size = sizes.get(i * b + k).map_or(*d, |size| size.as_f64());
                *d = if *d <= ROUND_OFF * T::EPSILON.as_f64() * size {
                    size
                } else {
                    *d * (1.0 + shift) / (1.0 + before)
                };
            }
        }
        before = shift;
        if let Some(made) = make(whole) {
            return Ok((made, shift));
        }
    }
    let why = "it is not positive definite, even after shifts of its diagonal".to_owned();
    Err(SetupError::Coarsest { unknowns: whole.shape().0, why })
}

impl Mapped {
    /// Computes the contact blocks between supernodes of the coarsest level.
    fn map<T: Real>(&mut self, plan: &Plan, contact: &Contacts<T>) -> Result<(), SetupError> {
        let (maps, area) = (plan.maps(plan.levels()), plan.block().pow(2));
        self.places.clear();
        self.values.clear();
        for (&(i, j), block) in contact.places().iter().zip(contact.values().chunks_exact(area)) {
            let (s, t) = (maps[i as usize], maps[j as usize]);
            if s != NONE && t != NONE {
                self.places.push((s, t));
                self.values.extend(block.iter().map(|v| v.as_f64()));
            }
        }
        self.set.replace(&self.places, &self.values)?;
        Ok(())
    }
}
