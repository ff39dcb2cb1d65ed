//! The number of contacts and the largest depth.

/// The number of contacts and the largest depth. `Display` prints both on one line.
///
/// ```
/// use coarsen_contact::Penetration;
/// let both = Penetration { contacts: 2, deepest: 0.1 }.and(Penetration { contacts: 1, deepest: 0.3 });
/// assert_eq!(both, Penetration { contacts: 3, deepest: 0.3 });
/// assert_eq!(both.to_string(), "3 contacts, 3.000e-1 m deep");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penetration {
    /// The number of contacts: those with a negative gap, or those with a force if the energy is a barrier.
    pub contacts: usize,
    /// The largest depth in m: 0 without contact, NaN if positions are not finite.
    pub deepest: f64,
}

impl Penetration {
    /// Returns the statistics of one contact with this gap; a gap of 0 or more is no contact.
    pub(crate) fn of(gap: f64) -> Self {
        if gap >= 0.0 { Self::default() } else { Self { contacts: usize::from(gap < 0.0), deepest: -gap } }
    }

    /// Returns the statistics of both sets of contacts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let nan = self.deepest.is_nan() || other.deepest.is_nan();
        let deepest = if nan { f64::NAN } else { self.deepest.max(other.deepest) };
        Self { contacts: self.contacts + other.contacts, deepest }
    }
}

impl std::fmt::Display for Penetration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} contacts, {:.3e} m deep", self.contacts, self.deepest)
    }
}
