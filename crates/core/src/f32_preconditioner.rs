//! A preconditioner in f32 for vectors in f64.

use crate::parallel::{self, LEAF, each};
use crate::{Error, Preconditioner, PreconditionerKind, Real, largest, power_of_two};

/// M applied in f32, to vectors rounded to f32: z = s M⁻¹ (r / s). Here s is a power of two that scales r
/// into the range of f32.
///
/// If memory bandwidth limits a preconditioner, f32 halves its run time. The 7 digits of f32 suffice, because
/// z is a less accurate approximation of A⁻¹ r anyway. The Krylov method and its residual stay in f64. *Use*
/// for multigrid and other strong preconditioners of methods in f64. *Not* if M itself needs more digits than
/// f32 has, such as factorisations of ill-conditioned matrices. The wrapper has the kind of M. *Cost* three
/// passes over r or z and two vectors in f32.
/// *Reference* Higham & Mary 2022, Acta Numerica 31 (mixed precision).
///
/// ```
/// use coarsen_core::{Identity, F32Preconditioner, Preconditioner};
/// let mut m = F32Preconditioner::new(Identity, 2)?;
/// let mut z = vec![0.0_f64; 2];
/// m.apply(&vec![1e-60, 3e-60], &mut z); // out of the range of f32
/// assert!((z[1] / 3e-60 - 1.0).abs() < 1e-7);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct F32Preconditioner<M> {
    m: M,
    r: Vec<f32>,
    z: Vec<f32>,
}

impl<M: Preconditioner<Vec<f32>>> F32Preconditioner<M> {
    /// Wraps M for vectors of length n.
    ///
    /// # Errors
    /// [`Error::Shape`] if M has another size.
    pub fn new(m: M, n: usize) -> Result<Self, Error> {
        match m.size() {
            Some(found) if found != n => Err(Error::Shape { what: "M in f32", expected: n, found }),
            _ => Ok(Self { m, r: vec![0.0; n], z: vec![0.0; n] }),
        }
    }
}

impl<M> F32Preconditioner<M> {
    /// The preconditioner M.
    pub fn get(&self) -> &M {
        &self.m
    }

    /// Mutable access to M, for updates.
    pub fn get_mut(&mut self) -> &mut M {
        &mut self.m
    }
}

impl<V: Real, M: Preconditioner<Vec<f32>>> Preconditioner<Vec<V>> for F32Preconditioner<M> {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let n = self.m.size().unwrap_or(self.r.len());
        if n != self.r.len() {
            (self.r, self.z) = (vec![0.0; n], vec![0.0; n]); // M was updated to another size
        }
        assert!(
            r.len() == n && z.len() == n,
            "apply: a preconditioner of size {n} met vectors of {} and {}",
            r.len(),
            z.len()
        );
        let scale = power_of_two(largest(r).as_f64());
        let reciprocal = scale.recip(); // exact for a power of two
        let down = |(r, to): (&[V], &mut [f32])| {
            to.iter_mut().zip(r).for_each(|(t, r)| *t = (r.as_f64() * reciprocal) as f32)
        };
        each((&r[..], &mut self.r[..]), LEAF, parallel::worth(r.len()), &down);
        self.m.apply(&self.r, &mut self.z);
        let up = |(z, to): (&[f32], &mut [V])| {
            to.iter_mut().zip(z).for_each(|(t, z)| *t = V::from_f64(f64::from(*z) * scale))
        };
        each((&self.z[..], &mut z[..]), LEAF, parallel::worth(r.len()), &up);
    }

    fn kind(&self) -> PreconditionerKind {
        self.m.kind()
    }

    fn size(&self) -> Option<usize> {
        self.m.size().or(Some(self.r.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    #[test]
    fn nan_stays_nan() {
        let mut m = F32Preconditioner::new(Identity, 3).unwrap();
        let mut z = vec![0.0; 3];
        m.apply(&vec![1.0, f64::NAN, 2.0], &mut z);
        assert!(z[1].is_nan());
        m.apply(&vec![0.0; 3], &mut z);
        assert_eq!(z, [0.0; 3]);
    }

    #[test]
    fn other_lengths_are_refused() {
        let inner = F32Preconditioner::new(Identity, 3).unwrap();
        let wrong = F32Preconditioner::new(inner, 4).err();
        assert_eq!(wrong, Some(Error::Shape { what: "M in f32", expected: 4, found: 3 }));
        for (r, z) in [(2, 3), (3, 2), (4, 3), (3, 4)] {
            let meet =
                || F32Preconditioner::new(Identity, 3).unwrap().apply(&vec![1.0; r], &mut vec![0.0; z]);
            assert!(std::panic::catch_unwind(meet).is_err(), "{r} and {z}");
        }
    }

    #[test]
    fn f32_preconditioner_is_linear_to_round_off() {
        let r: Vec<f64> = (0..10_000).map(|i| f64::from(i).sin()).collect();
        let mut z = r.clone();
        for size in [1e-300, 1e-20, 1.0, 1e300] {
            let mut m = F32Preconditioner::new(Identity, r.len()).unwrap();
            m.apply(&r.iter().map(|r| r * size).collect(), &mut z);
            assert!(z.iter().zip(&r).all(|(z, r)| (z / size - r).abs() < 1e-7), "{size}");
        }
    }
}
