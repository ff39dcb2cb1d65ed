//! A slice that several threads write at the same time.

use std::marker::PhantomData;

/// A slice that several threads write at the same time, each to different entries, as in coloured sweeps and
/// factorisations.
///
/// `Shared` borrows the slice for `'a`, so that the slice cannot be used while a copy of the pointer is in
/// use. Creating and copying it is safe. Code that reads or writes through the pointer states in a SAFETY
/// comment why no other thread writes to the same entries.
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
/// The compiler rejects code that uses the slice while the pointer is in use:
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
    /// Borrows the slice for as long as the pointer is used.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { at: slice.as_mut_ptr(), size: slice.len(), of: PhantomData }
    }

    /// The address of the first entry. The caller must justify every access through this pointer.
    #[inline(always)]
    pub fn get(self) -> *mut T {
        self.at
    }

    /// The number of entries.
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

// SAFETY: the pointer alone accesses nothing. Every access through it is unsafe and justified where it is
// made.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
