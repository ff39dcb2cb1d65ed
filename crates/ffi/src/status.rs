//! What a call returns, and the arguments that are wrong.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, TryLockError};

use coarsen::backend::SetupError;
use coarsen::{AnyError, Error};

/// How a call ended. Unless it is COARSEN_STATUS_OK, coarsen_last_error() is the message.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum coarsen_status {
    /// All is done. Of a solve: the residual, recomputed from x, is within the tolerance.
    Ok = 0,
    /// An argument is wrong: a null pointer, a length that does not fit, NaN or infinity, an unknown name.
    InvalidArgument = 1,
    /// The preconditioner or the factor of this matrix cannot be built. Objects are as before the call.
    SetupFailed = 2,
    /// The solve ended above the tolerance, and x is the best x found. The message has the cause.
    NotConverged = 3,
    /// The observer or coarsen_solver_cancel() ended the solve, and x is the best x found.
    Cancelled = 4,
    /// Another call uses the object.
    InUse = 5,
    /// Threads could not be started, or memory is short.
    OutOfResources = 6,
    /// A fault of the library. The objects of the call can only be freed.
    InternalError = 7,
}

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: coarsen_status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self { status: coarsen_status::InvalidArgument, message: message.into() }
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text =
            text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let message = format!("a fault of the library, please report it: {text}");
        Self { status: coarsen_status::InternalError, message }
    }
}

/// An error of the library, with its own words.
pub(crate) fn raise(error: impl Into<AnyError>) -> Failure {
    let error = error.into();
    let status = match &error {
        AnyError::NotConverged(_) | AnyError::Core(Error::NotConverged(_)) | AnyError::Auto(_) => {
            coarsen_status::NotConverged
        }
        AnyError::Core(error) | AnyError::Setup(SetupError::Core(error)) => match error {
            Error::Threads { .. } | Error::Memory { .. } => coarsen_status::OutOfResources,
            _ => coarsen_status::InvalidArgument,
        },
        AnyError::Setup(SetupError::Matrix(_)) => coarsen_status::InvalidArgument,
        AnyError::Setup(_) | AnyError::Direct(_) => coarsen_status::SetupFailed,
        _ => coarsen_status::InvalidArgument,
    };
    Failure { status, message: error.to_string() }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Text for C; a zero byte inside ends it.
pub(crate) fn text(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).unwrap_or_else(|error| {
        let end = error.nul_position();
        CString::new(&error.into_vec()[..end]).unwrap_or_default()
    })
}

/// The outermost frame of a function of C: no panic leaves it, and the message of a failure is kept for this thread.
pub(crate) fn call(work: impl FnOnce() -> Result<(), Failure>) -> coarsen_status {
    let ended = catch_unwind(AssertUnwindSafe(work));
    let Err(Failure { status, message }) = ended.unwrap_or_else(|panic| Err(Failure::panicked(&*panic)))
    else {
        return coarsen_status::Ok;
    };
    let _ = LAST.try_with(|last| *last.borrow_mut() = text(message)); // a thread that ends has no message
    status
}

/// The message of the last call of this thread that failed: what is wrong, and a remedy; empty at first. Valid until another call of
/// this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn coarsen_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn coarsen_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The object behind a pointer.
///
/// # Safety
/// The pointer is null, or valid for reads of a `T` for `'a`.
pub(crate) unsafe fn object<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: promised by the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::argument(format!("{what} is a null pointer")))
}

/// The object behind a pointer, for changes.
///
/// # Safety
/// The pointer is null, or valid for reads and writes of a `T` for `'a`, and nothing else uses the object.
pub(crate) unsafe fn object_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: promised by the caller.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::argument(format!("{what} is a null pointer")))
}

fn check_array<T>(pointer: *const T, len: usize, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is a null pointer, but {len} entries are needed")));
    }
    if !pointer.is_aligned() {
        let bytes = align_of::<T>();
        return Err(Failure::argument(format!("{what} is not aligned to {bytes} bytes, as its entries are")));
    }
    match len.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize) {
        true => Ok(()),
        false => Err(Failure::argument(format!("{what} cannot have {len} entries"))),
    }
}

/// An array that is read.
///
/// # Safety
/// The pointer is null, or valid for reads of `len` entries for `'a`, which nothing writes meanwhile.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check_array(pointer, len, what)?;
    // SAFETY: promised by the caller, and checked to be aligned and no longer than memory.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// An array that is written.
///
/// # Safety
/// The pointer is null, or valid for reads and writes of `len` entries for `'a`, which nothing else uses meanwhile.
pub(crate) unsafe fn array_mut<'a, T>(
    pointer: *mut T,
    len: usize,
    what: &str,
) -> Result<&'a mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, len, what)?;
    // SAFETY: promised by the caller, and checked to be aligned and no longer than memory.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len) })
}

/// Checks that two arrays of `len` numbers have no entry in common.
pub(crate) fn check_apart(b: *const f64, x: *const f64, len: usize) -> Result<(), Failure> {
    match (b as usize).abs_diff(x as usize) < len.saturating_mul(size_of::<f64>()) {
        true => Err(Failure::argument("the two vectors overlap; pass different arrays")),
        false => Ok(()),
    }
}

/// A name.
///
/// # Safety
/// The pointer is null, or the start of a string that ends with a zero byte, for `'a`.
unsafe fn name<'a>(pointer: *const c_char) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller, and not null.
    let name = unsafe { CStr::from_ptr(pointer) }.to_str();
    name.map(Some).map_err(|_| Failure::argument("a name is not UTF-8"))
}

/// One of `all` by the name that reports have; `None` for "auto".
///
/// # Safety
/// As [`name`].
pub(crate) unsafe fn one_of<T: Copy + ToString, const N: usize>(
    what: &str,
    pointer: *const c_char,
    all: [T; N],
) -> Result<Option<T>, Failure> {
    // SAFETY: promised by the caller.
    let asked = unsafe { name(pointer) }?.unwrap_or("auto");
    let found = all.into_iter().find(|one| one.to_string() == asked);
    if found.is_none() && asked != "auto" {
        let names = all.map(|one| one.to_string()).join(", ");
        return Err(Failure::argument(format!("{what} is '{asked}', but must be auto or one of {names}")));
    }
    Ok(found)
}

/// Locks what one call at a time may use.
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, what: &str) -> Result<MutexGuard<'a, T>, Failure> {
    mutex.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            let message =
                format!("another call uses {what}; make one for each thread, or wait for that call");
            Failure { status: coarsen_status::InUse, message }
        }
        TryLockError::Poisoned(_) => {
            let message = format!("an earlier call at {what} ended by a fault of the library; free it");
            Failure { status: coarsen_status::InternalError, message }
        }
    })
}

/// Stores a new object for the caller.
///
/// # Safety
/// The pointer is null, or valid for a write.
pub(crate) unsafe fn give<T>(to: *mut *mut T, new: impl FnOnce() -> Result<T, Failure>) -> coarsen_status {
    call(|| {
        const WHAT: &str = "the place for the new object";
        if to.is_null() {
            return Err(Failure::argument(format!("{WHAT} is a null pointer")));
        }
        check_array(to, 1, WHAT)?;
        // SAFETY: promised by the caller, and checked. What is there may be uninitialised, so that there is no reference to it.
        unsafe { to.write(std::ptr::null_mut()) };
        let new = Box::into_raw(Box::new(new()?));
        // SAFETY: as above.
        unsafe { to.write(new) };
        Ok(())
    })
}

/// Drops an object of the caller.
///
/// # Safety
/// The pointer is null, or from [`give`] and not dropped yet, and nothing uses the object.
pub(crate) unsafe fn take<T>(pointer: *mut T) {
    if !pointer.is_null() {
        let _ = call(|| {
            // SAFETY: promised by the caller.
            drop(unsafe { Box::from_raw(pointer) });
            Ok(())
        });
    }
}
