//! The cost of a factor, and when it is due.

use crate::Ending;

/// The cost of a factor, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FactorCost {
    /// No factor is possible, and why.
    None(Ending),
    /// The matrix is not ordered yet: O, the lower bound C₀, and the estimate of C from the structure of the matrix.
    Estimated { ordering: f64, least: f64, total: f64 },
    /// The matrix is ordered: F and C.
    Known { factor: f64, total: f64 },
}

impl FactorCost {
    /// The R before which neither the factor nor its ordering may follow, the R that a setup must not exceed, and the forecast
    /// above which a factor is cheaper.
    pub(crate) fn limits(&self) -> (f64, f64, f64) {
        match *self {
            Self::None(_) => (f64::INFINITY, f64::INFINITY, f64::INFINITY),
            Self::Estimated { ordering, least, total } => (0.5 * ordering, 2.0 * least, total),
            Self::Known { factor, total } => (0.5 * total, 2.0 * total, factor),
        }
    }

    /// Whether a candidate with this forecast runs before the factor and its ordering; `with` is R with its setup, and it is the
    /// `first` if no method has begun.
    pub(crate) fn is_deferred(&self, forecast: f64, with: f64, first: bool) -> bool {
        let (earliest, most, cost) = self.limits();
        // A cheap setup begins before an ordering that costs more than twice as much.
        let cheap = first && !matches!(self, Self::Known { .. }) && with < earliest;
        forecast <= cost && with <= most || cheap
    }
}
