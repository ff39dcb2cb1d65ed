//! The values of a matrix.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Values of one matrix, or of several until one of them is changed.
#[derive(Clone, Debug)]
pub(super) enum Values<T> {
    Own(Vec<T>),
    Shared(Arc<Vec<T>>),
}

impl<T> Values<T> {
    pub(super) fn shared(self) -> Self {
        match self {
            Self::Own(values) => Self::Shared(Arc::new(values)),
            shared => shared,
        }
    }
}

impl<T: Clone> Values<T> {
    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            Self::Own(values) => values,
            Self::Shared(values) => Arc::unwrap_or_clone(values),
        }
    }
}

impl<T> Deref for Values<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Own(values) => values,
            Self::Shared(values) => values,
        }
    }
}

impl<T: Clone> DerefMut for Values<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Own(values) => values,
            Self::Shared(values) => Arc::<Vec<T>>::make_mut(values),
        }
    }
}

impl<T: PartialEq> PartialEq for Values<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
