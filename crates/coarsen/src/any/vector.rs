//! Vectors and scalars on any backend.

use std::ops::{Add, Div, Mul, Neg};

use coarsen_core::{Dot, Error, Real, Scalar, Vector};
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceScalar, DeviceVector};

/// The message of a panic for operands on different backends.
#[cfg(feature = "opencl")]
const MEET: &str = "operands live on different backends";

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
    /// On a device: a place in its memory that is read later.
    #[cfg(feature = "opencl")]
    OpenCl(DeviceScalar<V>),
}

impl<V: Real> AnyVector<V> {
    pub(super) fn cpu(&self) -> &Vec<V> {
        match self {
            Self::Cpu(v) => v,
            #[cfg(feature = "opencl")]
            Self::OpenCl(_) => panic!("{MEET}"),
        }
    }

    pub(super) fn cpu_mut(&mut self) -> &mut Vec<V> {
        match self {
            Self::Cpu(v) => v,
            #[cfg(feature = "opencl")]
            Self::OpenCl(_) => panic!("{MEET}"),
        }
    }

    #[cfg(feature = "opencl")]
    pub(super) fn device(&self) -> &DeviceVector<V> {
        match self {
            Self::OpenCl(v) => v,
            Self::Cpu(_) => panic!("{MEET}"),
        }
    }

    #[cfg(feature = "opencl")]
    pub(super) fn device_mut(&mut self) -> &mut DeviceVector<V> {
        match self {
            Self::OpenCl(v) => v,
            Self::Cpu(_) => panic!("{MEET}"),
        }
    }
}

impl<V: Real> AnyScalar<V> {
    fn cpu(&self) -> &V {
        match self {
            Self::Cpu(v) => v,
            #[cfg(feature = "opencl")]
            Self::OpenCl(_) => panic!("{MEET}"),
        }
    }

    #[cfg(feature = "opencl")]
    fn device(&self) -> &DeviceScalar<V> {
        match self {
            Self::OpenCl(v) => v,
            Self::Cpu(_) => panic!("{MEET}"),
        }
    }

    /// Combines two scalars with the function for their place.
    fn with(
        self,
        other: &Self,
        cpu: impl FnOnce(V, V) -> V,
        #[cfg(feature = "opencl")] device: impl FnOnce(DeviceScalar<V>, DeviceScalar<V>) -> DeviceScalar<V>,
    ) -> Self {
        match self {
            Self::Cpu(a) => Self::Cpu(cpu(a, *other.cpu())),
            #[cfg(feature = "opencl")]
            Self::OpenCl(a) => Self::OpenCl(device(a, other.device().clone())),
        }
    }
}

impl<V: Real> Scalar for AnyScalar<V> {
    type Real = V;

    fn read(&self) -> V {
        match self {
            Self::Cpu(v) => *v,
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => v.read(),
        }
    }

    fn known(&self) -> Option<V> {
        match self {
            Self::Cpu(v) => Some(*v),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => v.known(),
        }
    }

    fn min(&self, other: &Self) -> Self {
        match self {
            Self::Cpu(v) => Self::Cpu(Scalar::min(v, other.cpu())),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => Self::OpenCl(v.min(other.device())),
        }
    }

    fn over(&self, den: &Self, floor: &Self) -> Self {
        match self {
            Self::Cpu(v) => Self::Cpu(v.over(den.cpu(), floor.cpu())),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => Self::OpenCl(v.over(den.device(), floor.device())),
        }
    }
}

impl<V: Real> Neg for AnyScalar<V> {
    type Output = Self;
    fn neg(self) -> Self {
        match self {
            Self::Cpu(v) => Self::Cpu(-v),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => Self::OpenCl(-v),
        }
    }
}

macro_rules! operator {
    ($trait:ident $name:ident) => {
        impl<V: Real> $trait for AnyScalar<V> {
            type Output = Self;
            fn $name(self, b: Self) -> Self {
                self.with(
                    &b,
                    $trait::$name,
                    #[cfg(feature = "opencl")]
                    $trait::$name,
                )
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
        match self {
            Self::Cpu(v) => v.size(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => v.size(),
        }
    }

    fn local_size(&self) -> usize {
        self.size() // at these places vectors are not distributed
    }

    fn like(&self) -> Result<Self, Error> {
        match self {
            Self::Cpu(v) => v.like().map(Self::Cpu),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => v.like().map(Self::OpenCl),
        }
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
        match self {
            Self::Cpu(_) => AnyScalar::Cpu(v),
            #[cfg(feature = "opencl")]
            Self::OpenCl(x) => AnyScalar::OpenCl(x.scalar(v)),
        }
    }

    fn fill(&mut self, v: V) {
        match self {
            Self::Cpu(y) => Vector::fill(y, v),
            #[cfg(feature = "opencl")]
            Self::OpenCl(y) => y.fill(v),
        }
    }

    fn first_not_finite(&self) -> Option<usize> {
        match self {
            Self::Cpu(x) => x.first_not_finite(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(x) => x.first_not_finite(),
        }
    }

    fn copy(&mut self, x: &Self) {
        match self {
            Self::Cpu(y) => y.copy(x.cpu()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(y) => y.copy(x.device()),
        }
    }

    fn axpby(&mut self, a: &AnyScalar<V>, x: &Self, b: &AnyScalar<V>) {
        match self {
            Self::Cpu(y) => y.axpby(a.cpu(), x.cpu(), b.cpu()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(y) => y.axpby(a.device(), x.device(), b.device()),
        }
    }

    fn hadamard(&mut self, a: &AnyScalar<V>, d: &Self, x: &Self, b: &AnyScalar<V>) {
        match self {
            Self::Cpu(y) => y.hadamard(a.cpu(), d.cpu(), x.cpu(), b.cpu()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(y) => y.hadamard(a.device(), d.device(), x.device(), b.device()),
        }
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [AnyScalar<V>; N] {
        match self {
            Self::Cpu(x) => x.dots(with.map(Self::cpu)).map(AnyScalar::Cpu),
            #[cfg(feature = "opencl")]
            Self::OpenCl(x) => x.dots(with.map(Self::device)).map(AnyScalar::OpenCl),
        }
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<AnyScalar<V>> {
        match self {
            Self::Cpu(x) => dot(x.dot_magnitude(y.cpu()), AnyScalar::Cpu),
            #[cfg(feature = "opencl")]
            Self::OpenCl(x) => dot(x.dot_magnitude(y.device()), AnyScalar::OpenCl),
        }
    }

    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<AnyScalar<V>>; N] {
        match pairs.first() {
            #[cfg(feature = "opencl")]
            Some((Self::OpenCl(_), _)) => {
                let pairs = pairs.map(|(x, y)| (x.device(), y.device()));
                DeviceVector::dot_magnitudes(pairs).map(|d| dot(d, AnyScalar::OpenCl))
            }
            _ => Vec::dot_magnitudes(pairs.map(|(x, y)| (x.cpu(), y.cpu()))).map(|d| dot(d, AnyScalar::Cpu)),
        }
    }

    fn wait_for<const N: usize>(s: [&AnyScalar<V>; N]) -> [V; N] {
        match s.first() {
            #[cfg(feature = "opencl")]
            Some(AnyScalar::OpenCl(_)) => DeviceVector::wait_for(s.map(AnyScalar::device)),
            _ => s.map(|s| *s.cpu()),
        }
    }

    fn sync(&self) -> Result<(), Error> {
        match self {
            Self::Cpu(_) => Ok(()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(v) => v.sync(),
        }
    }

    fn cg_update(x: &mut Self, r: &mut Self, a: &AnyScalar<V>, p: &Self, q: &Self) -> AnyScalar<V> {
        match x {
            Self::Cpu(x) => AnyScalar::Cpu(Vector::cg_update(x, r.cpu_mut(), a.cpu(), p.cpu(), q.cpu())),
            #[cfg(feature = "opencl")]
            Self::OpenCl(x) => {
                AnyScalar::OpenCl(Vector::cg_update(x, r.device_mut(), a.device(), p.device(), q.device()))
            }
        }
    }

    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        factors: [&AnyScalar<V>; 3],
    ) {
        match x {
            Self::Cpu(x) => {
                let (searched, from) = ([p.cpu_mut(), s.cpu_mut()], [u.cpu(), w.cpu()]);
                Vector::pipelined_update(x, r.cpu_mut(), searched, from, factors.map(AnyScalar::cpu));
            }
            #[cfg(feature = "opencl")]
            Self::OpenCl(x) => {
                let (searched, from) = ([p.device_mut(), s.device_mut()], [u.device(), w.device()]);
                Vector::pipelined_update(x, r.device_mut(), searched, from, factors.map(AnyScalar::device));
            }
        }
    }
}
