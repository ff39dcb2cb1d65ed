//! Vectors and scalars on any backend.

use std::ops::{Add, Div, Mul, Neg};

use coarsen_core::{Dot, Error, Real, Scalar, Vector};
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceScalar, DeviceVector};

use super::operand::{Operand, operand};

/// A vector of an [`AnyBackend`](crate::AnyBackend).
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyVector<V: Real = f64> {
    /// On the CPU.
    Cpu(Vec<V>),
    /// On a device.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceVector<V>),
}

/// A scalar of an [`AnyBackend`](crate::AnyBackend).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyScalar<V: Real = f64> {
    /// On the CPU: the number itself.
    Cpu(V),
    /// On a device: a position in its memory that is read later.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceScalar<V>),
}

operand!(AnyVector<V>, Vec<V>, DeviceVector<V>);
operand!(AnyScalar<V>, V, DeviceScalar<V>);

impl<V: Real> Scalar for AnyScalar<V> {
    type Real = V;

    fn read(&self) -> V {
        dispatch!(self, v => Scalar::read(v))
    }

    fn known(&self) -> Option<V> {
        dispatch!(self, v => v.known())
    }

    fn min(&self, other: &Self) -> Self {
        dispatch!(self, v, Self as wrap => wrap(Scalar::min(v, other.inner())))
    }

    fn over(&self, den: &Self, bound: &Self) -> Self {
        dispatch!(self, v, Self as wrap => wrap(v.over(den.inner(), bound.inner())))
    }
}

impl<V: Real> Neg for AnyScalar<V> {
    type Output = Self;
    fn neg(self) -> Self {
        dispatch!(self, v, Self as wrap => wrap(-v))
    }
}

macro_rules! operator {
    ($trait:ident $name:ident) => {
        impl<V: Real> $trait for AnyScalar<V> {
            type Output = Self;
            fn $name(self, b: Self) -> Self {
                dispatch!(self, a, Self as wrap => wrap($trait::$name(a, Clone::clone(b.inner()))))
            }
        }
    };
}
operator!(Add add);
operator!(Mul mul);
operator!(Div div);

/// Converts the scalars of a `Dot`.
pub(super) fn dot<V: Real, S>(dot: Dot<S>, wrap: impl Fn(S) -> AnyScalar<V>) -> Dot<AnyScalar<V>> {
    Dot { value: wrap(dot.value), magnitude: wrap(dot.magnitude) }
}

impl<V: Real> Vector for AnyVector<V> {
    type Real = V;
    type Scalar = AnyScalar<V>;

    fn size(&self) -> usize {
        dispatch!(self, v => v.size())
    }

    fn local_size(&self) -> usize {
        self.size() // on these backends vectors are not distributed
    }

    fn like(&self) -> Result<Self, Error> {
        dispatch!(self, v, Self as wrap => v.like().map(wrap))
    }

    fn renew_like(&mut self, other: &Self) -> Result<(), Error> {
        match (&mut *self, other) {
            (Self::Cpu(x), Self::Cpu(y)) => x.renew_like(y),
            #[cfg(feature = "opencl")]
            (Self::OpenCl(x), Self::OpenCl(y)) => x.renew_like(y),
            #[cfg(feature = "opencl")]
            _ => {
                *self = other.like()?;
                Ok(())
            }
        }
    }

    fn same_layout(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cpu(x), Self::Cpu(y)) => x.same_layout(y),
            #[cfg(feature = "opencl")]
            (Self::OpenCl(x), Self::OpenCl(y)) => x.same_layout(y),
            #[cfg(feature = "opencl")]
            _ => false,
        }
    }

    fn scalar(&self, v: V) -> AnyScalar<V> {
        dispatch!(self, x, AnyScalar as wrap => wrap(x.scalar(v)))
    }

    fn fill(&mut self, v: V) {
        dispatch!(self, y => Vector::fill(y, v))
    }

    fn first_not_finite(&self) -> Option<usize> {
        dispatch!(self, x => x.first_not_finite())
    }

    fn copy(&mut self, x: &Self) {
        dispatch!(self, y => y.copy(x.inner()))
    }

    fn axpby(&mut self, a: &AnyScalar<V>, x: &Self, b: &AnyScalar<V>) {
        dispatch!(self, y => y.axpby(a.inner(), x.inner(), b.inner()))
    }

    fn hadamard(&mut self, a: &AnyScalar<V>, d: &Self, x: &Self, b: &AnyScalar<V>) {
        dispatch!(self, y => y.hadamard(a.inner(), d.inner(), x.inner(), b.inner()))
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [AnyScalar<V>; N] {
        dispatch!(self, x, AnyScalar as wrap => x.dots(with.map(|y| y.inner())).map(wrap))
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<AnyScalar<V>> {
        dispatch!(self, x, AnyScalar as wrap => dot(x.dot_magnitude(y.inner()), wrap))
    }

    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<AnyScalar<V>>; N] {
        match pairs.first() {
            #[cfg(feature = "opencl")]
            Some((Self::OpenCl(_), _)) => {
                DeviceVector::dot_magnitudes(pairs.map(|(x, y)| (x.inner(), y.inner())))
                    .map(|d| dot(d, AnyScalar::OpenCl))
            }
            _ => Vec::dot_magnitudes(pairs.map(|(x, y)| (x.inner(), y.inner())))
                .map(|d| dot(d, AnyScalar::Cpu)),
        }
    }

    fn wait_for<const N: usize>(s: [&AnyScalar<V>; N]) -> [V; N] {
        match s.first() {
            #[cfg(feature = "opencl")]
            Some(AnyScalar::OpenCl(_)) => DeviceVector::wait_for(s.map(|s| s.inner())),
            _ => s.map(|s| *s.inner()),
        }
    }

    fn sync(&self) -> Result<(), Error> {
        dispatch!(self, v => v.sync())
    }

    fn cg_update(x: &mut Self, r: &mut Self, a: &AnyScalar<V>, p: &Self, q: &Self) -> AnyScalar<V> {
        dispatch!(x, x, AnyScalar as wrap => {
            wrap(Vector::cg_update(x, r.inner_mut(), a.inner(), p.inner(), q.inner()))
        })
    }

    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        factors: [&AnyScalar<V>; 3],
    ) {
        dispatch!(x, x => {
            let (searched, from) = ([p.inner_mut(), s.inner_mut()], [u.inner(), w.inner()]);
            Vector::pipelined_update(x, r.inner_mut(), searched, from, factors.map(|a| a.inner()));
        })
    }
}
