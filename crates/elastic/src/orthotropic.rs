//! The stiffness of anisotropic cloth, from samples by direction and strain: Wang, O'Brien & Ramamoorthi 2011,
//! *Data-Driven Elastic Models for Cloth: Modeling and Measurement*.
//!
//! The strain of a triangle is p = (ε_uu, ε_vv, γ) with γ = 2 ε_uv. The stiffness is a matrix of four numbers,
//!
//! > C = (c₁₁ c₁₂ 0; c₁₂ c₂₂ 0; 0 0 c₃₃),    stress = C p    (1)
//!
//! that depend on the largest strain λ and on its direction φ. They are given for φ = 0° (u), 45° and 90° (v) at some
//! strains, are linear in λ between these, and constant below the first and above the last.
//!
//! (1) with such a C is no derivative of an energy. This energy has the work of (1) along proportional strains, as they
//! are measured:
//!
//! > E = ½ pᵀ Σ_k w_k(t) C̄_k(λ) p,    C̄(λ) = 2/λ² ∫₀^λ μ C(μ) dμ    (2)
//! > C̄' = 2 (C − C̄) / λ,    C̄'' = (2 C' − 3 C̄') / λ    (3)
//! > w₀ = max(t, 0)²,    w₄₅ = 1 − t²,    w₉₀ = max(−t, 0)²,    t = cos 2φ    (4)
//!
//! So E has a continuous gradient. With d = (ε_uu − ε_vv)/2, m = (ε_uu + ε_vv)/2 and s = γ/2
//!
//! > R = √(d² + s² + δ²),    λ = m + R − δ,    t = d / R    (5)
//! > ∇R = (d ∇d + s ∇s) / R,    ∇t = (∇d − t ∇R) / R,    ∇λ = ∇m + ∇R    (6)
//! > ∇²R = ∇²λ = (∇d ∇dᵀ + ∇s ∇sᵀ − ∇R ∇Rᵀ) / R,    ∇²t = −(∇t ∇Rᵀ + ∇R ∇tᵀ + t ∇²R) / R    (7)
//!
//! *Deviations*: the paper has (1), interpolates linearly in φ instead of by (4), and δ = 0, where a strain that is equal
//! in all directions has no φ; here it counts as 45°. The numbers of δ are ours. *Limit*: where a strain is nearly equal
//! in all directions, φ turns fast, and E depends on it. So E has a ridge there that (1) has not: a stress in the
//! difference of the directions of up to ½ λ² ΔC / δ, with ΔC the difference of C between directions.

use crate::BodyError;

/// δ: strains that differ by less between directions have a direction of 45°.
const ROUND: f64 = 1e-3;

/// The gradients of d, s and m.
const D: [f64; 3] = [0.5, -0.5, 0.0];
const S: [f64; 3] = [0.0, 0.0, 0.5];
const M: [f64; 3] = [0.5, 0.5, 0.0];

/// The stiffness of a sheet with two orthogonal directions u and v, in N/m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Orthotropic {
    /// Along u.
    pub c11: f64,
    /// Of u by v; c₁₂² ≤ c₁₁ c₂₂.
    pub c12: f64,
    /// Along v.
    pub c22: f64,
    /// Of shearing between u and v.
    pub c33: f64,
}

impl Orthotropic {
    fn check(self) -> Result<Self, BodyError> {
        let Self { c11, c12, c22, c33 } = self;
        let range = "positive and finite, with c12² at most c11 c22";
        for (what, found, good) in [
            ("the stiffness c11", c11, c11 > 0.0),
            ("the stiffness c22", c22, c22 > 0.0),
            ("the stiffness c33", c33, c33 > 0.0),
            ("the stiffness c12", c12, c12 * c12 <= c11 * c22),
        ] {
            if !(good && found.is_finite()) {
                return Err(BodyError::Value { what, found, range });
            }
        }
        Ok(self)
    }

    /// Adds w times another one.
    fn add(&mut self, w: f64, other: &Self) {
        self.c11 += w * other.c11;
        self.c12 += w * other.c12;
        self.c22 += w * other.c22;
        self.c33 += w * other.c33;
    }

    /// C p.
    fn times(&self, [a, b, c]: [f64; 3]) -> [f64; 3] {
        [self.c11 * a + self.c12 * b, self.c12 * a + self.c22 * b, self.c33 * c]
    }

    /// ½ pᵀ C p.
    fn half(&self, p: [f64; 3]) -> f64 {
        0.5 * inner(p, self.times(p))
    }

    /// The largest number, which bounds the forces near rest.
    pub(crate) fn largest(&self) -> f64 {
        (self.c11.max(self.c22) + self.c12.abs()).max(2.0 * self.c33)
    }
}

/// The stiffness of a sheet by the direction of its largest strain and by this strain.
///
/// ```
/// use coarsen_elastic::{Orthotropic, PlanarStiffness};
/// let weft = Orthotropic { c11: 2000.0, c12: 300.0, c22: 2000.0, c33: 400.0 };
/// let stiff = Orthotropic { c11: 6000.0, ..weft };
/// // Stiffer along u from a strain of 5 % on, up to 10 %.
/// let planar = PlanarStiffness::new(&[0.05, 0.1], [&[weft, stiff], &[weft, weft], &[weft, weft]])?;
/// assert!(planar.energy([0.2, 0.0, 0.0]) > 2.0 * planar.energy([0.0, 0.2, 0.0]));
/// assert!((planar.energy([0.02, 0.0, 0.0]) - 0.5 * 2000.0 * 0.02 * 0.02).abs() < 1e-12);
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlanarStiffness {
    strains: Vec<f64>,
    directions: [Vec<Sample>; 3],
}

/// C at a strain, and what (2) has up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    c: Orthotropic,
    /// ∫₀^λ μ C(μ) dμ.
    integral: Orthotropic,
    /// C' after it.
    slope: Orthotropic,
}

/// E and its derivatives by p.
pub(crate) struct Planar {
    pub(crate) energy: f64,
    /// The second Piola-Kirchhoff stress (S_uu, S_vv, S_uv).
    pub(crate) stress: [f64; 3],
    pub(crate) hessian: [[f64; 3]; 3],
}

fn inner(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl PlanarStiffness {
    /// The stiffness with the largest strain in the directions 0° (u), 45° and 90° (v), at the same `strains` for each:
    /// Green strains, positive and increasing.
    ///
    /// # Errors
    /// [`BodyError::Length`] without strains or for other numbers of samples, [`BodyError::Value`] for strains that do not
    /// increase from above 0, and for a C that is not positive definite.
    pub fn new(strains: &[f64], samples: [&[Orthotropic]; 3]) -> Result<Self, BodyError> {
        let what = "samples of a stiffness by direction";
        for of_direction in samples {
            let (expected, found) = (strains.len().max(1), of_direction.len());
            if found != expected {
                return Err(BodyError::Length { what, expected, found });
            }
        }
        let before = std::iter::once(&0.0).chain(strains);
        if let Some((_, &found)) = before.zip(strains).find(|(a, b)| !(b > a && b.is_finite())) {
            let (what, range) = ("a strain of a stiffness", "finite, and above the one before and above 0");
            return Err(BodyError::Value { what, found, range });
        }
        let all = |cs: &[Orthotropic]| -> Result<Vec<Sample>, BodyError> {
            let mut all: Vec<Sample> = Vec::with_capacity(cs.len());
            for (k, c) in cs.iter().enumerate() {
                let c = c.check()?;
                let mut integral = Orthotropic::default();
                match all.last_mut() {
                    None => integral.add(0.5 * strains[0] * strains[0], &c),
                    Some(last) => {
                        let width = strains[k] - strains[k - 1];
                        last.slope.add(1.0 / width, &c);
                        last.slope.add(-1.0 / width, &last.c.clone());
                        integral = last.integral_to(strains[k - 1], strains[k]);
                    }
                }
                all.push(Sample { c, integral, slope: Orthotropic::default() });
            }
            Ok(all)
        };
        let [first, second, third] = samples.map(all);
        Ok(Self { strains: strains.to_vec(), directions: [first?, second?, third?] })
    }

    /// The same stiffness in all directions and at all strains.
    ///
    /// # Errors
    /// [`BodyError::Value`] for a C that is not positive definite.
    pub fn constant(c: Orthotropic) -> Result<Self, BodyError> {
        Self::new(&[1.0], [&[c]; 3])
    }

    /// E of a strain (ε_uu, ε_vv, 2 ε_uv), in J/m².
    pub fn energy(&self, p: [f64; 3]) -> f64 {
        self.at(p).energy
    }

    /// C at rest, which has no direction.
    pub(crate) fn at_rest(&self) -> Orthotropic {
        self.directions[1][0].c
    }

    /// The numbers that `anisotropic_membrane.cl` reads.
    pub(crate) fn data(&self) -> Vec<f64> {
        let samples = self.directions.iter().flatten();
        let numbers = samples.flat_map(|sample| [sample.c, sample.integral, sample.slope]);
        let numbers = numbers.flat_map(|Orthotropic { c11, c12, c22, c33 }| [c11, c12, c22, c33]);
        self.strains.iter().copied().chain(numbers).collect()
    }

    /// C̄ of a direction, and its derivatives, by (2) and (3).
    fn mean(&self, direction: usize, lambda: f64) -> [Orthotropic; 3] {
        let samples = &self.directions[direction];
        let next = self.strains.partition_point(|&strain| strain < lambda);
        let Some(last) = next.checked_sub(1) else {
            return [samples[0].c, Default::default(), Default::default()];
        };
        let (sample, start) = (&samples[last], self.strains[last]);
        let [mut mean, mut first, mut second] = [Orthotropic::default(); 3];
        mean.add(2.0 / (lambda * lambda), &sample.integral_to(start, lambda)); // (2)
        let mut c = sample.c;
        c.add(lambda - start, &sample.slope);
        first.add(2.0 / lambda, &c); // (3)
        first.add(-2.0 / lambda, &mean);
        second.add(2.0 / lambda, &sample.slope); // (3)
        second.add(-3.0 / lambda, &first);
        [mean, first, second]
    }

    /// E and its derivatives, by (2) and (5) to (7).
    // A line search uses no Hessian, and what is inlined and not used is not computed.
    #[inline(always)]
    pub(crate) fn at(&self, p: [f64; 3]) -> Planar {
        let (d, s, m) = (inner(D, p), inner(S, p), inner(M, p));
        let r = (d * d + s * s + ROUND * ROUND).sqrt(); // (5)
        let (lambda, t) = (m + r - ROUND, d / r); // (5)
        let each = |f: &dyn Fn(usize) -> f64| -> [f64; 3] { std::array::from_fn(f) };
        let outer = |a: [f64; 3], b: [f64; 3]| a.map(|a| b.map(|b| a * b));
        let grad_r = each(&|i| (d * D[i] + s * S[i]) / r); // (6)
        let grad_t = each(&|i| (D[i] - t * grad_r[i]) / r); // (6)
        let grad_l = each(&|i| M[i] + grad_r[i]); // (6)

        // Σ w C̄, and its derivatives by t and λ.
        let (plus, minus) = (t.max(0.0), (-t).max(0.0));
        let weights = [
            [plus * plus, 2.0 * plus, if t > 0.0 { 2.0 } else { 0.0 }], // (4) and its derivatives
            [1.0 - t * t, -2.0 * t, -2.0],
            [minus * minus, -2.0 * minus, if t < 0.0 { 2.0 } else { 0.0 }],
        ];
        let mut sums = [[Orthotropic::default(); 3]; 3];
        for (direction, weights) in weights.iter().enumerate() {
            let mean = self.mean(direction, lambda);
            for (by_t, sums) in sums.iter_mut().enumerate() {
                sums.iter_mut().zip(&mean).for_each(|(sum, mean)| sum.add(weights[by_t], mean));
            }
        }
        let [[c, c_l, c_ll], [c_t, c_tl, _], [c_tt, ..]] = sums;
        let (of_t, of_l) = (c_t.half(p), c_l.half(p));
        let pull = c.times(p);
        let stress = each(&|i| pull[i] + of_t * grad_t[i] + of_l * grad_l[i]);

        let (along_t, along_l) = (c_t.times(p), c_l.times(p));
        let hess_r: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| (D[i] * D[j] + S[i] * S[j] - grad_r[i] * grad_r[j]) / r) // (7)
        });
        let [tr, tt, tl, ll] =
            [outer(grad_t, grad_r), outer(grad_t, grad_t), outer(grad_t, grad_l), outer(grad_l, grad_l)];
        let [at, al] = [outer(along_t, grad_t), outer(along_l, grad_l)];
        let fixed = [[c.c11, c.c12, 0.0], [c.c12, c.c22, 0.0], [0.0, 0.0, c.c33]];
        let (tt_half, tl_half, ll_half) = (c_tt.half(p), c_tl.half(p), c_ll.half(p));
        let hessian = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let hess_t = -(tr[i][j] + tr[j][i] + t * hess_r[i][j]) / r; // (7)
                fixed[i][j]
                    + (at[i][j] + at[j][i])
                    + (al[i][j] + al[j][i])
                    + tt_half * tt[i][j]
                    + tl_half * (tl[i][j] + tl[j][i])
                    + ll_half * ll[i][j]
                    + of_t * hess_t
                    + of_l * hess_r[i][j]
            })
        });
        Planar { energy: c.half(p), stress, hessian }
    }
}

impl Sample {
    /// ∫₀^λ μ C(μ) dμ for λ after this sample, which is at `start`, and before the next.
    fn integral_to(&self, start: f64, lambda: f64) -> Orthotropic {
        let squares = 0.5 * (lambda * lambda - start * start);
        let cubes = (lambda * lambda * lambda - start * start * start) / 3.0;
        let mut integral = self.integral;
        integral.add(squares, &self.c);
        integral.add(cubes - start * squares, &self.slope);
        integral
    }
}
