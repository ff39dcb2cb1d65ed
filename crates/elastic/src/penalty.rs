//! A quadratic penalty.
//!
//! > φ(d) = k/2 min(d, 0)²

/// The energy k/2 times the square of the penetration depth. Nodes penetrate by about load / k.
///
/// *Reference* Xian, Tong & Liu 2019, §5: its Hessian is k n nᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalty {
    /// k, N/m, positive.
    pub stiffness: f64,
}

impl Penalty {
    /// φ, φ' and φ'' at a distance.
    pub fn at(&self, distance: f64) -> [f64; 3] {
        if distance >= 0.0 {
            return [0.0; 3];
        }
        let k = self.stiffness;
        [0.5 * k * distance * distance, k * distance, k]
    }
}
