//! OpenCL, loaded when a program runs instead of when it is linked.
//!
//! The crate `ocl` links `libOpenCL` and calls its functions by name, so that a program would not link on a
//! machine without an OpenCL development package. `forward` defines all these functions itself. The first
//! call of each function looks up the function of the same name in the OpenCL library of the machine; this
//! and later calls are forwarded to it. Without a library, calls return the status −1001 (no platform).
//!
//! Call [`probe`] before any other call of OpenCL. It returns at once, whereas `ocl::Platform::list` sleeps
//! ten seconds and panics if there is no platform.

use std::ffi::c_void;
use std::sync::OnceLock;

use libloading::Library;

/// The environment variable that names the OpenCL library to load, instead of the usual ones.
const LIBRARY_VARIABLE: &str = "COARSEN_OPENCL_LIB";

/// The names of an ICD loader, most specific first.
#[cfg(windows)]
const NAMES: &[&str] = &["OpenCL.dll"];
#[cfg(target_os = "macos")]
const NAMES: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL"];
#[cfg(not(any(windows, target_os = "macos")))]
const NAMES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

/// The status of calls that find no library or no driver: `CL_PLATFORM_NOT_FOUND_KHR`.
pub(crate) const PLATFORM_NOT_FOUND: i32 = -1001;

/// Why there is no OpenCL on this machine.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absent {
    /// No library with one of the usual names, or with the name in the environment variable `COARSEN_OPENCL_LIB`.
    #[error(
        "no OpenCL library can be loaded; install a driver and its ICD loader (libOpenCL.so.1, OpenCL.dll), or name the library in COARSEN_OPENCL_LIB"
    )]
    Library,
    /// The library exists, but lists no platform.
    #[error(
        "the OpenCL library lists no platform (status {status}); install a driver, such as the package pocl-opencl-icd, and look at OCL_ICD_VENDORS"
    )]
    Platform {
        /// The status that `clGetPlatformIDs` returned.
        status: i32,
    },
}

coarsen_core::debug_as_display!(Absent);

/// Returns the number of OpenCL platforms of this machine, without a retry loop or a panic.
///
/// One thread queries the machine, once per process, because some drivers cannot be loaded by two threads.
/// *Cost* the first call loads the library and its drivers, some of which start a compiler. Later calls cost
/// nothing.
///
/// # Errors
/// [`Absent`] names the missing part: the library or a driver.
pub(crate) fn probe() -> Result<u32, Absent> {
    static PLATFORMS: OnceLock<Result<u32, Absent>> = OnceLock::new();
    *PLATFORMS.get_or_init(ask)
}

fn ask() -> Result<u32, Absent> {
    type GetPlatformIds = unsafe extern "system" fn(u32, *mut *mut c_void, *mut u32) -> i32;
    // SAFETY: the type above is the type in the OpenCL standard.
    let get = unsafe { symbol::<GetPlatformIds>("clGetPlatformIDs") }.ok_or(Absent::Library)?;
    let mut platforms = 0;
    // SAFETY: without an array for entries only the count is written.
    match unsafe { get(0, std::ptr::null_mut(), &mut platforms) } {
        0 if platforms > 0 => Ok(platforms),
        0 => Err(Absent::Platform { status: PLATFORM_NOT_FOUND }),
        status => Err(Absent::Platform { status }),
    }
}

/// Returns the OpenCL library of this machine, which is loaded once and never unloaded.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let load = || {
        // SAFETY: loading runs the initialisers of an OpenCL library that was installed on this machine.
        let open = |name: &std::ffi::OsStr| unsafe { Library::new(name) }.ok();
        match std::env::var_os(LIBRARY_VARIABLE) {
            Some(name) => open(&name),
            None => NAMES.iter().find_map(|name| open(name.as_ref())),
        }
    };
    LIBRARY.get_or_init(load).as_ref()
}

/// Returns the function `name` of the OpenCL library.
///
/// # Safety
/// `F` must be the type of this function.
pub(crate) unsafe fn symbol<F: Copy>(name: &str) -> Option<F> {
    // SAFETY: the caller ensures the type, and the library is never unloaded.
    unsafe { library()?.get::<F>(name.as_bytes()) }.ok().map(|f| *f)
}
