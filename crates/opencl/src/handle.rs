//! Objects of the driver; errors on release are ignored.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use ocl::core::{CommandQueue, Context, Kernel, Mem, Program};
use ocl::ffi::{self, cl_int};

/// An object of the driver.
///
/// The types of `ocl` panic if a release fails, and releases fail once a device is lost. Such a panic would
/// hide a typed error that is being returned, or end the process during another panic. A caller cannot act on
/// a failed release, so this type ignores it.
#[derive(Debug)]
pub(crate) struct Handle<T: Object>(ManuallyDrop<T>);

/// An object whose references the driver counts.
pub(crate) trait Object {
    /// Releases one reference.
    ///
    /// # Safety
    /// The caller owns one reference and does not use it afterwards.
    unsafe fn release(&self) -> cl_int;
}

impl<T: Object> Handle<T> {
    pub(crate) fn new(object: T) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl<T: Object> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the object holds one reference, and its own `drop` never runs.
        let _ = unsafe { self.0.release() };
    }
}

macro_rules! objects {
    ($($object:ident: $release:ident,)*) => {$(
        impl Object for $object {
            unsafe fn release(&self) -> cl_int {
                // SAFETY: by the contract of the trait.
                unsafe { ffi::$release(self.as_ptr()) }
            }
        }
    )*};
}

objects! {
    Mem: clReleaseMemObject,
    Kernel: clReleaseKernel,
    Program: clReleaseProgram,
    CommandQueue: clReleaseCommandQueue,
    Context: clReleaseContext,
}
