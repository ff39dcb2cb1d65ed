//! Checks before the first write, and vectors that a method keeps between solves.

use coarsen_core::{Class, Dot, Error, LinearOperator, Preconditioner, Real, Stop, Vector, vectors_like};

/// Checks that sizes, layouts and the class of the preconditioner fit; writes nothing.
pub(crate) fn check<V: Vector>(
    method: &'static str,
    needed: Class,
    stop: &Stop<V::Real>,
    a: &dyn LinearOperator<V>,
    m: &dyn Preconditioner<V>,
    b: &V,
    x: &V,
) -> Result<(), Error> {
    stop.validate()?;
    check_shapes(a, m, &[("b", b.size()), ("x", x.size())])?;
    if !x.same_layout(b) {
        return Err(Error::Layout { what: "x" });
    }
    if m.class() > needed {
        return Err(Error::Preconditioner { method, needed, found: m.class() });
    }
    Ok(())
}

/// Checks that A is square, and that M and the named vectors have its size.
pub(crate) fn check_shapes<V: Vector>(
    a: &dyn LinearOperator<V>,
    m: &dyn Preconditioner<V>,
    vectors: &[(&'static str, usize)],
) -> Result<(), Error> {
    let (rows, columns) = a.shape();
    if rows != columns {
        return Err(Error::NotSquare { rows, columns });
    }
    for &(what, found) in vectors.iter().chain(&[("M", m.size().unwrap_or(rows))]) {
        if found != rows {
            return Err(Error::Shape { what, expected: rows, found });
        }
    }
    Ok(())
}

/// Returns an error for the first of the named vectors that contains NaN or infinity. Called if a norm is not
/// finite.
pub(crate) fn check_finite<V: Vector>(vectors: &[(&'static str, &V)]) -> Result<(), Error> {
    let find = |&(what, v): &(&'static str, &V)| v.first_not_finite().map(|index| (what, index));
    match vectors.iter().find_map(find) {
        Some((what, index)) => Err(Error::NotFinite { what, index }),
        None => Ok(()),
    }
}

/// `ROUNDINGS · EPSILON`, the argument of [`Dot::floor`].
pub(crate) fn round_off<T: Real>() -> T {
    T::of(Dot::<T>::ROUNDINGS) * T::EPSILON
}

/// N vectors like b, allocated at the first solve. When the size or the layout changes, they change within the memory that
/// they have.
pub(crate) struct Workspace<V, const N: usize> {
    vectors: Vec<V>,
    spare: Spare<V>,
}

impl<V: Vector, const N: usize> Workspace<V, N> {
    pub(crate) fn new() -> Self {
        Self { vectors: Vec::new(), spare: Spare(Vec::new()) }
    }

    /// The vectors; they contain old values.
    pub(crate) fn like(&mut self, b: &V) -> Result<&mut [V; N], Error> {
        Ok(self.with_spare(b)?.0)
    }

    /// The vectors, and storage for one more vector.
    pub(crate) fn with_spare(&mut self, b: &V) -> Result<(&mut [V; N], &mut Spare<V>), Error> {
        vectors_like(&mut self.vectors, N, b)?;
        let vectors = self.vectors.first_chunk_mut().expect("there are N vectors");
        Ok((vectors, &mut self.spare))
    }
}

/// A vector that only few solves need, allocated by the first of these solves.
pub(crate) struct Spare<V>(Vec<V>);

impl<V: Vector> Spare<V> {
    /// The vector; it is allocated unless a vector like b exists.
    pub(crate) fn like(&mut self, b: &V) -> Result<&mut V, Error> {
        vectors_like(&mut self.0, 1, b)?;
        Ok(&mut self.0[0])
    }

    /// The vector, if it was allocated.
    pub(crate) fn get(&self) -> Option<&V> {
        self.0.first()
    }
}
