//! What a product is computed from.

use crate::{Bsr, ProlongationRef, TransposePlan};

/// A, P and the transpose plan that maps coarse rows to fine rows.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a, T> {
    pub(super) a: &'a Bsr<T>,
    pub(super) p: ProlongationRef<'a, T>,
    pub(super) transpose: &'a TransposePlan,
}
