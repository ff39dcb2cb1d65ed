//! OpenCL found when a program runs, not when it is linked.
//!
//! The crate `ocl` asks the linker for `libOpenCL` and calls its functions by name, so a program that may use
//! a device would not even link on a machine without an OpenCL development package. This crate defines every
//! such function itself: each looks up its namesake in the OpenCL library of the machine at its first call
//! and passes the call on. Where there is no library, calls return the status −1001 (no platform).
//!
//! Call [`probe`] before anything else of OpenCL. It answers at once, while `ocl::Platform::list` sleeps ten
//! seconds and panics where there is no platform; and a program that refers to nothing in this crate does not
//! get its functions linked in.
//!
//! | file | what |
//! |---|---|
//! | `lib.rs` | which library, and whether there is a platform |
//! | `forward.rs` | the functions that pass calls on (macOS links its framework instead) |

#[cfg(not(target_os = "macos"))]
mod forward;

use std::ffi::c_void;
use std::sync::OnceLock;

use libloading::Library;

/// The environment variable that names the OpenCL library to load, instead of the usual ones.
pub const LIBRARY_VARIABLE: &str = "COARSEN_OPENCL_LIB";

/// What an ICD loader is called, most specific first.
#[cfg(windows)]
const NAMES: &[&str] = &["OpenCL.dll"];
#[cfg(target_os = "macos")]
const NAMES: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL"];
#[cfg(not(any(windows, target_os = "macos")))]
const NAMES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

/// The status of calls that find no library or no driver: `CL_PLATFORM_NOT_FOUND_KHR`.
const PLATFORM_NOT_FOUND: i32 = -1001;

/// Why there is no OpenCL on this machine.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absent {
    /// No library by any of the usual names, or by the name in [`LIBRARY_VARIABLE`].
    #[error(
        "no OpenCL library can be loaded; install a driver and its ICD loader (libOpenCL.so.1, OpenCL.dll), or name the library in COARSEN_OPENCL_LIB"
    )]
    Library,
    /// The library is there, but lists no platform.
    #[error(
        "the OpenCL library lists no platform (status {status}); install a driver, such as the package pocl-opencl-icd, and look at OCL_ICD_VENDORS"
    )]
    Platform {
        /// What `clGetPlatformIDs` returned.
        status: i32,
    },
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Whether this machine has an OpenCL platform, without waiting and without a panic; returns how many.
///
/// The machine is asked once in a process, by one thread: not every driver bears being loaded by two threads.
/// *Cost* the first call loads the library and its drivers (some start a compiler, which takes a while),
/// later ones nothing.
///
/// ```
/// match coarsen_opencl_loader::probe() {
///     Ok(platforms) => assert!(platforms > 0),
///     Err(absent) => println!("{absent}"),
/// }
/// ```
///
/// # Errors
/// [`Absent`] says whether the library or a driver is missing.
pub fn probe() -> Result<u32, Absent> {
    static PLATFORMS: OnceLock<Result<u32, Absent>> = OnceLock::new();
    *PLATFORMS.get_or_init(ask)
}

fn ask() -> Result<u32, Absent> {
    type GetPlatformIds = unsafe extern "system" fn(u32, *mut *mut c_void, *mut u32) -> i32;
    // SAFETY: the type above is that of the OpenCL standard.
    let get = unsafe { symbol::<GetPlatformIds>("clGetPlatformIDs") }.ok_or(Absent::Library)?;
    let mut platforms = 0;
    // SAFETY: with no room for entries only the count is written.
    match unsafe { get(0, std::ptr::null_mut(), &mut platforms) } {
        0 if platforms > 0 => Ok(platforms),
        0 => Err(Absent::Platform { status: PLATFORM_NOT_FOUND }),
        status => Err(Absent::Platform { status }),
    }
}

/// The OpenCL library of this machine, loaded once and never unloaded.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let load = || {
        // SAFETY: loading runs the initialisers of an OpenCL library, which is what its installer trusts it
        // to do.
        let open = |name: &std::ffi::OsStr| unsafe { Library::new(name) }.ok();
        match std::env::var_os(LIBRARY_VARIABLE) {
            Some(name) => open(&name),
            None => NAMES.iter().find_map(|name| open(name.as_ref())),
        }
    };
    LIBRARY.get_or_init(load).as_ref()
}

/// The function `name` of that library.
///
/// # Safety
/// `F` must be the type of that function.
unsafe fn symbol<F: Copy>(name: &str) -> Option<F> {
    // SAFETY: the caller vouches for the type, and the library is never unloaded.
    unsafe { library()?.get::<F>(name.as_bytes()) }.ok().map(|f| *f)
}
