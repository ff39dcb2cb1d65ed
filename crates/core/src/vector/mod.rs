//! Vector operations of Krylov methods and descent.

mod host;
mod loops;

pub use host::products;

use num_traits::{one, zero};

use crate::{Dot, Error, Real, Scalar};

/// A vector of reals: `Vec<f64>` on the host, a buffer on a device, or one rank's share of a distributed
/// vector.
///
/// Operations may return before their work is done, and sums are [`Scalar`]s that may be pending. An
/// implementation may wait when a scalar is used: when it is read, or when an operation takes it as a factor.
/// [`wait_for`](Self::wait_for) waits once for several scalars. Operations require vectors of the [same
/// layout](Self::same_layout) and *panic* otherwise.
///
/// A vector may be one rank's share of a longer vector. All ranks then call the same operations in the same
/// order. Every query except [`local_size`](Self::local_size) returns the same value on all ranks, so that
/// all ranks take the same branches.
///
/// ```
/// use coarsen_core::Vector;
/// let (x, mut y) = (vec![1.0, 2.0], vec![3.0, 4.0]);
/// y.axpby(&2.0, &x, &1.0);
/// assert_eq!(y, [5.0, 8.0]);
/// assert_eq!(x.dot(&y), 21.0);
/// ```
pub trait Vector: Sized + 'static {
    /// The type of the entries.
    type Real: Real;
    /// A scalar whose value may be pending.
    type Scalar: Scalar<Real = Self::Real>;

    /// The length in scalars, summed over all ranks.
    fn size(&self) -> usize;

    /// The number of scalars on this rank, which may be 0; equal to [`size`](Self::size) for a vector that is
    /// not distributed.
    fn local_size(&self) -> usize;

    /// A zero vector on the same device, of the same length and layout.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory cannot be allocated.
    fn like(&self) -> Result<Self, Error>;

    /// Becomes a zero vector like `other`, which may have another length, layout or device.
    ///
    /// Implementations keep the memory of self if it suffices, so that vectors kept between solves allocate nothing once
    /// the longest was seen. The default allocates a new vector.
    ///
    /// # Errors
    /// The errors of [`like`](Self::like); the layout of self may then be the old or the new one.
    fn renew_like(&mut self, other: &Self) -> Result<(), Error> {
        *self = other.like()?;
        Ok(())
    }

    /// Whether both vectors have the same length, the same device and the same shares on each rank, so that
    /// operations may combine them. Methods use it to check their arguments and the vectors kept between
    /// solves.
    fn same_layout(&self, other: &Self) -> bool;

    /// The number v as a scalar on the device of this vector.
    fn scalar(&self, v: Self::Real) -> Self::Scalar;

    /// Sets every entry to v. 1 pass.
    fn fill(&mut self, v: Self::Real);

    /// self = x. 2 passes.
    fn copy(&mut self, x: &Self);

    /// self = a x + b self; with b = 0 the old entries are not read. 3 passes.
    fn axpby(&mut self, a: &Self::Scalar, x: &Self, b: &Self::Scalar);

    /// selfᵢ = a dᵢ xᵢ + b selfᵢ; with b = 0 the old entries are not read. 4 passes.
    fn hadamard(&mut self, a: &Self::Scalar, d: &Self, x: &Self, b: &Self::Scalar);

    /// self · with\[k\] for all k, in one pass over self and one reduction.
    fn dots<const N: usize>(&self, with: [&Self; N]) -> [Self::Scalar; N];

    /// Appends self · with\[k\] for all k to `sums`, bitwise equal to [`dot`](Self::dot).
    ///
    /// The default makes one pass over self and one reduction for every four vectors. Overrides may use one
    /// reduction.
    fn dots_with(&self, with: &[Self], sums: &mut Vec<Self::Scalar>) {
        let (groups, rest) = with.as_chunks::<4>();
        groups.iter().for_each(|group| sums.extend(self.dots(group.each_ref())));
        sums.extend(rest.iter().map(|y| self.dot(y)));
    }

    /// self += Σₖ a\[k\] x\[k\], bitwise equal to calling [`axpy`](Self::axpy) for each k in order.
    /// *Panics* if the numbers of factors and vectors differ.
    ///
    /// The default makes 3 passes per vector; implementations override it with one loop over self.
    fn axpys(&mut self, a: &[Self::Scalar], x: &[Self]) {
        assert_eq!(a.len(), x.len(), "axpys: factors and vectors");
        a.iter().zip(x).for_each(|(a, x)| self.axpy(a, x));
    }

    /// Σ xᵢyᵢ and Σ |xᵢyᵢ| in one pass.
    fn dot_magnitude(&self, y: &Self) -> Dot<Self::Scalar>;

    /// [`dot_magnitude`](Self::dot_magnitude) of several pairs; overrides may use one reduction for all.
    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<Self::Scalar>; N] {
        pairs.map(|(x, y)| x.dot_magnitude(y))
    }

    /// The values of several scalars, with one synchronisation for all of them.
    fn wait_for<const N: usize>(s: [&Self::Scalar; N]) -> [Self::Real; N];

    /// Waits until all work on this vector is done.
    ///
    /// # Errors
    /// [`Error::Device`] if some of this work failed.
    fn sync(&self) -> Result<(), Error>;

    /// The index of the first NaN or infinite entry, counted in the whole vector. Methods call it if a norm
    /// is not finite. It costs 1 pass and a synchronisation.
    ///
    /// `None` if all entries are finite, or if the implementation cannot find the index; the default returns
    /// `None`.
    fn first_not_finite(&self) -> Option<usize> {
        None
    }

    /// x·y.
    fn dot(&self, y: &Self) -> Self::Scalar {
        let [s] = self.dots([y]);
        s
    }

    /// ‖x‖₂; waits for its value. Overflow and underflow of the squares are not prevented.
    fn norm(&self) -> Self::Real {
        num_traits::Float::sqrt(self.dot(self).read())
    }

    /// self += a x.
    fn axpy(&mut self, a: &Self::Scalar, x: &Self) {
        self.axpby(a, x, &x.scalar(one()));
    }

    /// x += a p and r −= a q, returning r·r: the update of conjugate gradients.
    ///
    /// The default makes 7 passes. Implementations override it with one loop of 6 passes: x and r are read
    /// and written, p and q are read.
    fn cg_update(x: &mut Self, r: &mut Self, a: &Self::Scalar, p: &Self, q: &Self) -> Self::Scalar {
        x.axpy(a, p);
        r.axpy(&-a.clone(), q);
        r.dot(r)
    }

    /// p = a u + b p, s = a w + b s, then x += c p and r −= c s: the recurrences of single-reduction
    /// and pipelined conjugate gradients. With b = 0 the old p and s are not read.
    ///
    /// The default makes 14 passes; implementations override it with one loop of 10 passes.
    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        [a, b, c]: [&Self::Scalar; 3],
    ) {
        p.axpby(a, u, b);
        s.axpby(a, w, b);
        x.axpy(c, p);
        r.axpy(&-c.clone(), s);
    }

    /// self = a x: [`axpby`](Self::axpby) with b = 0.
    fn scaled(&mut self, a: &Self::Scalar, x: &Self) {
        self.axpby(a, x, &x.scalar(zero()));
    }
}

/// Makes `kept` at least `count` vectors like x. Vectors of another layout [become](Vector::renew_like) zero vectors like x,
/// and missing vectors are allocated. Methods call it for the vectors that they keep between solves.
///
/// ```
/// use coarsen_core::vectors_like;
/// let mut kept = vec![vec![5.0; 3]];
/// vectors_like(&mut kept, 2, &vec![1.0; 2])?;
/// assert_eq!(kept, [[0.0; 2]; 2]);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// The errors of [`Vector::like`]; no vector of another layout is kept then.
pub fn vectors_like<V: Vector>(kept: &mut Vec<V>, count: usize, x: &V) -> Result<(), Error> {
    if kept.first().is_some_and(|v| !v.same_layout(x)) {
        let mut old = std::mem::take(kept); // dropped after an error
        old.iter_mut().try_for_each(|v| v.renew_like(x))?;
        *kept = old;
    }
    while kept.len() < count {
        kept.push(x.like()?);
    }
    Ok(())
}
