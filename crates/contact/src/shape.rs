//! The trait of obstacles.

use crate::ContactError;
use crate::error::{finite, positive};

pub(crate) use coarsen_mesh::vector::norm;

/// The least ‖∇d‖ of [`Shape::displacement_to`].
const LEAST_SLOPE: f64 = 0.25;

/// A solid shape, given by its signed distance d(x) in m. For a position with NaN, d is NaN.
pub trait Shape: Send + Sync {
    /// d(x): positive outside, negative inside. Along a displacement of length l it changes by at most l times the
    /// [`lipschitz`](Self::lipschitz).
    fn distance(&self, x: [f64; 3]) -> f64;

    /// The direction of ∇d, the outward unit normal at the nearest point of the surface. If several points are nearest, as for
    /// the centre of a sphere, it is the normal at one of them.
    fn normal(&self, x: [f64; 3]) -> [f64; 3];

    /// ∇d itself: the normal by default, as for exact distances; of another length where d is an approximation.
    fn gradient(&self, x: [f64; 3]) -> [f64; 3] {
        self.normal(x)
    }

    /// ∇²d in 1/m; returns 0 where it is infinite.
    fn curvature(&self, x: [f64; 3]) -> [[f64; 3]; 3];

    /// The magnitude of the terms of d. Rounding changes d by a few ε times this magnitude.
    fn magnitude(&self, x: [f64; 3]) -> f64;

    /// The normal n at x, and the displacement in m along n to where d, continued as a linear function, is `level`:
    /// (`level` − d)/‖∇d‖. Where ‖∇d‖ is small, d is far from linear, and the displacement is that for a slope of 1/4.
    fn displacement_to(&self, x: [f64; 3], level: f64) -> ([f64; 3], f64) {
        (self.normal(x), (level - self.distance(x)) / norm(self.gradient(x)).max(LEAST_SLOPE))
    }

    /// Whether the solid is convex, so that d along a line is at least its linearisation; false if not known.
    fn is_convex(&self) -> bool {
        false
    }

    /// A bound s on the slope of d: |d(x) − d(y)| ≤ s ‖x − y‖. 1 by default, as for exact distances; an approximation
    /// may be steeper. Steps before a barrier rely on it for solids that are not convex or that move.
    fn lipschitz(&self) -> f64 {
        1.0
    }

    /// The source of a device that computes contact and friction with the shape, and the numbers of the shape that it reads;
    /// `None` if there is none. See [`ElementKernel`](coarsen_elastic::ElementKernel).
    fn kernel(&self) -> Option<(&'static str, Vec<f64>)> {
        None
    }
}

/// The source of contact and friction with the shape of a file of this folder.
macro_rules! kernel {
    ($shape:literal) => {
        concat!(
            include_str!("solid.cl"),
            include_str!(concat!($shape, ".cl")),
            include_str!("potential.cl"),
            include_str!("obstacle.cl"),
            include_str!("friction_terms.cl"),
            include_str!("friction.cl")
        )
    };
}
pub(crate) use kernel;

/// A shape of another owner, or one that is chosen at run time.
macro_rules! forward {
    ($pointer:ty) => {
        impl<S: Shape + ?Sized> Shape for $pointer {
            fn distance(&self, x: [f64; 3]) -> f64 {
                (**self).distance(x)
            }

            fn normal(&self, x: [f64; 3]) -> [f64; 3] {
                (**self).normal(x)
            }

            fn gradient(&self, x: [f64; 3]) -> [f64; 3] {
                (**self).gradient(x)
            }

            fn curvature(&self, x: [f64; 3]) -> [[f64; 3]; 3] {
                (**self).curvature(x)
            }

            fn magnitude(&self, x: [f64; 3]) -> f64 {
                (**self).magnitude(x)
            }

            fn is_convex(&self) -> bool {
                (**self).is_convex()
            }

            fn lipschitz(&self) -> f64 {
                (**self).lipschitz()
            }

            fn kernel(&self) -> Option<(&'static str, Vec<f64>)> {
                (**self).kernel()
            }
        }
    };
}
forward!(&S);
forward!(Box<S>);

/// Returns the unit vector along v and ‖v‖.
///
/// # Errors
/// [`ContactError::Value`] for a length that is 0 or not finite.
pub(crate) fn unit(what: &'static str, v: [f64; 3]) -> Result<([f64; 3], f64), ContactError> {
    // v is scaled to size 1, so that squares neither overflow nor underflow.
    let size = positive(what, finite(what, v)?.iter().fold(0.0, |m: f64, x| m.max(x.abs())))?;
    let scaled = v.map(|x| x / size);
    let length = norm(scaled);
    Ok((scaled.map(|x| x / length), size * length))
}

/// The sum of the magnitudes of the coordinates.
pub(crate) fn size(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x.abs()).sum()
}

/// Returns (I − Σ u uᵀ) / ρ for orthonormal vectors u: the Hessian of the distance ρ to a point or a line.
pub(crate) fn across<const N: usize>(units: [[f64; 3]; N], rho: f64) -> [[f64; 3]; 3] {
    let inverse = if rho > 0.0 { rho.recip() } else { 0.0 };
    let entry = |p: usize, q: usize| {
        let along: f64 = units.iter().map(|u| u[p] * u[q]).sum();
        inverse * (f64::from(p == q) - along)
    };
    std::array::from_fn(|p| std::array::from_fn(|q| entry(p, q)))
}
