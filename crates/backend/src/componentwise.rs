//! Matrices whose components are not coupled: A = a ⊗ I_b.
//!
//! | symbol | here |
//! |---|---|
//! | b | the number of scalars of a node |
//! | a | the scalar matrix, one entry per block of A |
//! | C | contact, which couples components |

use coarsen_core::{Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, Contacts, System};

use crate::{Backend, Reused, Setup, SetupError, Update};

/// An entry of A − a ⊗ I counts as 0 up to this multiple of ε times the largest entry of its block.
const ROUND_OFF: f64 = 16.0;

/// A preconditioner of A = a ⊗ I_b that is built from the scalar matrix a and applied to each component.
///
/// *Use* for the constant matrix M/h² + L of Projective Dynamics (Bouaziz et al. 2014), also with attachments
/// whose stiffness is a multiple of I. The matrix a has one number per block of A instead of b². So setup and
/// memory are those of a scalar problem, and the coarse blocks of skinning are 4 x 4 instead of 12 x 12.
/// Contact C is allowed: an entry of a is then the mean of the diagonal of a block of A + C, and the
/// preconditioner neglects the coupling of components by C. A new contact changes the pattern of a, so that
/// the scalar method is built again. *Cost* of an application: b applications of the scalar method, and a
/// copy of both vectors. *Reference* Xian, Tong & Liu 2019, §4.2, which first uses it for the matrix of
/// Projective Dynamics.
///
/// ```
/// use coarsen_backend::{Componentwise, Cpu};
/// use coarsen_core::Preconditioner;
/// # use coarsen_backend::{Reused, Setup, SetupError, Update};
/// # struct Scale(f64);
/// # impl Preconditioner<Vec<f64>> for Scale {
/// #     fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) { z.iter_mut().zip(r).for_each(|(z, r)| *z = r / self.0) }
/// #     fn kind(&self) -> coarsen_core::PreconditionerKind { coarsen_core::PreconditionerKind::Symmetric }
/// #     fn size(&self) -> Option<usize> { Some(1) }
/// # }
/// # impl Update<f64> for Scale {
/// #     fn update_from(&mut self, s: coarsen_sparse::System<'_, f64>) -> Result<Reused, SetupError> { self.0 = s.matrix.get(0, 0); Ok(Reused::Structure) }
/// # }
/// # struct Scaling;
/// # impl Setup<f64, Cpu> for Scaling {
/// #     type Built = Scale;
/// #     fn build_from(&self, s: coarsen_sparse::System<'_, f64>, _: &Cpu) -> Result<Scale, SetupError> { Ok(Scale(s.matrix.get(0, 0))) }
/// # }
/// let a = coarsen_sparse::Bsr::<f64>::identity(1, 3)?; // one node: 1 ⊗ I₃
/// let mut m = Componentwise { scalar: Scaling }.build(&a, &Cpu::new())?; // any method for scalars
/// let mut z = vec![0.0; 3];
/// m.apply(&vec![1.0, 2.0, 3.0], &mut z);
/// assert_eq!(z, [1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Componentwise<R> {
    /// The parameters for a.
    pub scalar: R,
}

/// The preconditioner that [`Componentwise`] builds.
pub struct Components<M, V> {
    each: M,
    block: usize,
    /// One component of the residual.
    r: Vec<V>,
    /// One component of the correction.
    z: Vec<V>,
}

crate::inherent_build!(Componentwise<R>);

impl<T: Real, V: Real, B: Backend<Vector = Vec<V>>, R: Setup<T, B>> Setup<T, B> for Componentwise<R> {
    type Built = Components<R::Built, V>;

    /// # Errors
    /// The errors of `scalar`, [`SetupError::Coupled`] if a block of A is not a multiple of I, and
    /// [`SetupError::NotSquare`].
    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        let (a, contact) = scalar(&system)?;
        let each = self.scalar.build_from(of_scalars(&system, &a, contact.as_ref()), backend)?;
        let (n, block) = (a.shape().0, system.matrix.block().0);
        let zeros = vec![V::zero(); n];
        Ok(Components { each, block, r: zeros.clone(), z: zeros })
    }
}

crate::inherent_update!(Components<M, V>);

impl<M: Update<T>, T: Real, V> Update<T> for Components<M, V> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let (next, contact) = scalar(&system)?;
        if next.shape().0 != self.r.len() || system.matrix.block().0 != self.block {
            let (what, expected) = ("rows of the matrix", self.block * self.r.len());
            let found = system.matrix.shape().0;
            return Err(coarsen_core::Error::Shape { what, expected, found }.into());
        }
        self.each.update_from(of_scalars(&system, &next, contact.as_ref()))
    }
}

/// Returns the system with its scalar matrix and contact, without a near-kernel.
fn of_scalars<'a, T: Real>(
    system: &System<'a, T>,
    matrix: &'a Bsr<T>,
    contact: Option<&'a Contacts<T>>,
) -> System<'a, T> {
    System { matrix, contact, near_kernel: None, ..*system }
}

/// Returns a and its contact part, with one number per block: of A, its multiple of I; of C, the mean of the
/// diagonal.
fn scalar<T: Real>(system: &System<'_, T>) -> Result<(Bsr<T>, Option<Contacts<T>>), SetupError> {
    let (a, (rows, columns)) = (system.matrix, system.matrix.block());
    if rows != columns {
        let (n, m) = a.shape();
        return Err(SetupError::NotSquare { rows: n, columns: m, block_rows: rows, block_columns: columns });
    }
    check_apart(a)?;
    let b = rows;
    let mean =
        |block: &[T]| block.iter().step_by(b + 1).fold(T::zero(), |sum, &v| sum + v) / T::from_f64(b as f64);
    let means = |values: &[T]| -> Vec<T> { values.chunks_exact(b * b).map(mean).collect() };
    let contact = match system.contact {
        None => None,
        Some(c) => {
            let mut scalars = Contacts::new(c.nodes(), 1)?;
            scalars.replace(c.places(), &means(c.values()))?;
            Some(scalars)
        }
    };
    Ok((Bsr::new(a.pattern().clone(), (1, 1), means(a.values()))?, contact))
}

/// Checks that every block of A is a multiple of I.
fn check_apart<T: Real>(a: &Bsr<T>) -> Result<(), SetupError> {
    let b = a.block().0;
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            let largest = block.iter().fold(T::zero(), |m, v| m.max(v.abs()));
            let small = T::EPSILON * T::from_f64(ROUND_OFF) * largest;
            let off = |(e, v): (usize, &T)| {
                let expected = if e % (b + 1) == 0 { block[0] } else { T::zero() };
                let gap = (*v - expected).abs();
                gap > small || gap.is_nan()
            };
            if let Some(e) = block.iter().enumerate().position(off) {
                return Err(SetupError::Coupled { row: i * b + e / b, column: j * b + e % b });
            }
        }
    }
    Ok(())
}

impl<M: Preconditioner<Vec<V>>, V: Real> Preconditioner<Vec<V>> for Components<M, V> {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let Self { each, block, r: of_r, z: of_z, .. } = self;
        assert!(r.len() == *block * of_r.len() && z.len() == r.len(), "apply: wrong length");
        for c in 0..*block {
            of_r.iter_mut().zip(r.iter().skip(c).step_by(*block)).for_each(|(to, from)| *to = *from);
            each.apply(of_r, of_z);
            z.iter_mut().skip(c).step_by(*block).zip(&*of_z).for_each(|(to, from)| *to = *from);
        }
    }

    fn kind(&self) -> PreconditionerKind {
        self.each.kind()
    }

    fn size(&self) -> Option<usize> {
        Some(self.block * self.r.len())
    }
}
