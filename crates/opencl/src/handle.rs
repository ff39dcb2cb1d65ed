//! Objects of the driver, released without a word.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use ocl::core::{CommandQueue, Context, Kernel, Mem, Program};
use ocl::ffi::{self, cl_int};

/// An object of the driver.
///
/// The types of `ocl` panic where a release fails, as releases do once a device is lost: while a typed error is on its way to the caller, or while another
/// panic unwinds, which ends the process. What a release answers is of no use to anybody, so this one does not look at it.
pub(crate) struct Handle<T: Object>(ManuallyDrop<T>);

/// What has a reference count of the driver's.
pub(crate) trait Object {
    /// Gives back one reference.
    ///
    /// # Safety
    /// The caller owns one, and uses it no more.
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
        // SAFETY: the object in here has one reference, whose own drop never runs.
        let _ = unsafe { self.0.release() };
    }
}

impl Object for Mem {
    unsafe fn release(&self) -> cl_int {
        // SAFETY: as the trait says.
        unsafe { ffi::clReleaseMemObject(self.as_ptr()) }
    }
}

impl Object for Kernel {
    unsafe fn release(&self) -> cl_int {
        // SAFETY: as the trait says.
        unsafe { ffi::clReleaseKernel(self.as_ptr()) }
    }
}

impl Object for Program {
    unsafe fn release(&self) -> cl_int {
        // SAFETY: as the trait says.
        unsafe { ffi::clReleaseProgram(self.as_ptr()) }
    }
}

impl Object for CommandQueue {
    unsafe fn release(&self) -> cl_int {
        // SAFETY: as the trait says.
        unsafe { ffi::clReleaseCommandQueue(self.as_ptr()) }
    }
}

impl Object for Context {
    unsafe fn release(&self) -> cl_int {
        // SAFETY: as the trait says.
        unsafe { ffi::clReleaseContext(self.as_ptr()) }
    }
}
