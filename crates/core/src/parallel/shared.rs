//! A slice that several threads write at once.

use std::marker::PhantomData;

/// A slice that several threads write at once, each in places of its own: what coloured sweeps and factorisations share.
///
/// It borrows the slice for `'a`, so that nobody else can look at it for as long as a copy of the pointer is in use. Making and copying it
/// is safe; whoever reads or writes through it proves in a SAFETY comment that no other thread writes there.
///
/// ```
/// use coarsen_core::parallel::{self, Shared, items};
/// let mut x = vec![0; 4];
/// let shared = Shared::new(&mut x);
/// items(&[0, 1, 2, 3], true, &|&i| {
///     // SAFETY: i is in range, and no other item writes there.
///     unsafe { *shared.get().add(i) = 10 * i };
/// });
/// assert_eq!(x, [0, 10, 20, 30]);
/// ```
///
/// The slice cannot be used meanwhile:
///
/// ```compile_fail,E0506
/// use coarsen_core::parallel::Shared;
/// let mut x = vec![0; 4];
/// let shared = Shared::new(&mut x);
/// x = Vec::new();
/// unsafe { *shared.get() = 1 };
/// ```
#[derive(Debug)]
pub struct Shared<'a, T> {
    at: *mut T,
    size: usize,
    of: PhantomData<&'a mut [T]>,
}

impl<'a, T> Shared<'a, T> {
    /// The slice, to be shared for as long as the pointer is used.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { at: slice.as_mut_ptr(), size: slice.len(), of: PhantomData }
    }

    /// Where the slice begins. What is done with it is for the caller to prove.
    #[inline(always)]
    pub fn get(self) -> *mut T {
        self.at
    }

    /// How many items there are.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.size
    }
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

// SAFETY: the pointer alone does nothing; every use of it is unsafe and says why threads do not meet.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
