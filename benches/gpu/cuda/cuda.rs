//! The CUDA driver and its compiler, NVRTC, loaded at run time and never linked.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

/// A pointer owned by another library.
pub(crate) type Handle = *mut c_void;

const DRIVERS: [&str; 2] = ["libcuda.so.1", "libcuda.so"];
const COMPILERS: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];

/// Attributes of `cuDeviceGetAttribute`.
pub(crate) const MOST_THREADS: i32 = 1;
pub(crate) const SHARED_MEMORY: i32 = 8;
pub(crate) const PROCESSORS: i32 = 16;
const MAJOR: i32 = 75;
const MINOR: i32 = 76;

/// The functions of both libraries that are used. All return 0 or an error number.
pub(crate) struct Cuda {
    device_count: unsafe extern "C" fn(*mut i32) -> i32,
    device_name: unsafe extern "C" fn(*mut c_char, i32, i32) -> i32,
    device_attribute: unsafe extern "C" fn(*mut i32, i32, i32) -> i32,
    device_memory: unsafe extern "C" fn(*mut usize, i32) -> i32,
    driver_version: unsafe extern "C" fn(*mut i32) -> i32,
    pub(crate) retain_context: unsafe extern "C" fn(*mut Handle, i32) -> i32,
    pub(crate) set_context: unsafe extern "C" fn(Handle) -> i32,
    pub(crate) synchronize: unsafe extern "C" fn() -> i32,
    pub(crate) allocate: unsafe extern "C" fn(*mut u64, usize) -> i32,
    pub(crate) free: unsafe extern "C" fn(u64) -> i32,
    pub(crate) upload: unsafe extern "C" fn(u64, *const c_void, usize) -> i32,
    pub(crate) download: unsafe extern "C" fn(*mut c_void, u64, usize) -> i32,
    pub(crate) copy: unsafe extern "C" fn(u64, u64, usize, Handle) -> i32,
    pub(crate) load: unsafe extern "C" fn(*mut Handle, *const c_void) -> i32,
    pub(crate) function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> i32,
    pub(crate) launch: unsafe extern "C" fn(
        Handle,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        Handle,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> i32,
    compiler: Compiler,
}

struct Compiler {
    version: unsafe extern "C" fn(*mut i32, *mut i32) -> i32,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        i32,
        *const *const c_char,
        *const *const c_char,
    ) -> i32,
    compile: unsafe extern "C" fn(Handle, i32, *const *const c_char) -> i32,
    log_size: unsafe extern "C" fn(Handle, *mut usize) -> i32,
    log: unsafe extern "C" fn(Handle, *mut c_char) -> i32,
    ptx_size: unsafe extern "C" fn(Handle, *mut usize) -> i32,
    ptx: unsafe extern "C" fn(Handle, *mut c_char) -> i32,
    destroy: unsafe extern "C" fn(*mut Handle) -> i32,
}

impl Cuda {
    /// Both libraries, or the name of the missing library.
    pub(crate) fn get() -> Result<&'static Self, &'static str> {
        static CUDA: OnceLock<Result<Cuda, &'static str>> = OnceLock::new();
        CUDA.get_or_init(Self::open).as_ref().map_err(|missing| *missing)
    }

    fn open() -> Result<Self, &'static str> {
        // Libraries are never unloaded, because their functions are stored.
        let driver = Box::leak(Box::new(library(&DRIVERS).ok_or("no CUDA driver (libcuda.so.1)")?));
        let nvrtc = Box::leak(Box::new(library(&COMPILERS).ok_or("no CUDA compiler (libnvrtc.so)")?));
        // SAFETY: the types of the fields are those of the CUDA driver API and of NVRTC.
        let cuda = unsafe {
            let initialise: unsafe extern "C" fn(u32) -> i32 = symbol(driver, "cuInit")?;
            if initialise(0) != 0 {
                return Err("a CUDA driver without a GPU");
            }
            Self {
                device_count: symbol(driver, "cuDeviceGetCount")?,
                device_name: symbol(driver, "cuDeviceGetName")?,
                device_attribute: symbol(driver, "cuDeviceGetAttribute")?,
                device_memory: symbol(driver, "cuDeviceTotalMem_v2")?,
                driver_version: symbol(driver, "cuDriverGetVersion")?,
                retain_context: symbol(driver, "cuDevicePrimaryCtxRetain")?,
                set_context: symbol(driver, "cuCtxSetCurrent")?,
                synchronize: symbol(driver, "cuCtxSynchronize")?,
                allocate: symbol(driver, "cuMemAlloc_v2")?,
                free: symbol(driver, "cuMemFree_v2")?,
                upload: symbol(driver, "cuMemcpyHtoD_v2")?,
                download: symbol(driver, "cuMemcpyDtoH_v2")?,
                copy: symbol(driver, "cuMemcpyDtoDAsync_v2")?,
                load: symbol(driver, "cuModuleLoadData")?,
                function: symbol(driver, "cuModuleGetFunction")?,
                launch: symbol(driver, "cuLaunchKernel")?,
                compiler: Compiler {
                    version: symbol(nvrtc, "nvrtcVersion")?,
                    create: symbol(nvrtc, "nvrtcCreateProgram")?,
                    compile: symbol(nvrtc, "nvrtcCompileProgram")?,
                    log_size: symbol(nvrtc, "nvrtcGetProgramLogSize")?,
                    log: symbol(nvrtc, "nvrtcGetProgramLog")?,
                    ptx_size: symbol(nvrtc, "nvrtcGetPTXSize")?,
                    ptx: symbol(nvrtc, "nvrtcGetPTX")?,
                    destroy: symbol(nvrtc, "nvrtcDestroyProgram")?,
                },
            }
        };
        if cuda.devices() == 0 { Err("a CUDA driver without a GPU") } else { Ok(cuda) }
    }

    pub(crate) fn devices(&self) -> usize {
        let mut count = 0;
        // SAFETY: the call writes one number.
        let status = unsafe { (self.device_count)(&mut count) };
        if status == 0 { count.max(0) as usize } else { 0 }
    }

    pub(crate) fn name(&self, device: i32) -> String {
        let mut name = [0; 256];
        // SAFETY: the call writes at most 256 bytes, the last one 0.
        unsafe {
            (self.device_name)(name.as_mut_ptr(), name.len() as i32, device);
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        }
    }

    pub(crate) fn attribute(&self, device: i32, attribute: i32) -> u64 {
        let mut value = 0;
        // SAFETY: the call writes one number.
        unsafe { (self.device_attribute)(&mut value, attribute, device) };
        value.max(0) as u64
    }

    pub(crate) fn memory(&self, device: i32) -> u64 {
        let mut bytes = 0;
        // SAFETY: the call writes one number.
        unsafe { (self.device_memory)(&mut bytes, device) };
        bytes as u64
    }

    /// The versions of driver and compiler.
    pub(crate) fn version(&self) -> String {
        let (mut driver, mut major, mut minor) = (0, 0, 0);
        // SAFETY: each call writes numbers.
        unsafe {
            (self.driver_version)(&mut driver);
            (self.compiler.version)(&mut major, &mut minor);
        }
        format!("CUDA {}.{}, NVRTC {major}.{minor}", driver / 1000, driver % 1000 / 10)
    }

    /// The PTX of a CUDA program for a device; on error, the log of the compiler.
    pub(crate) fn compile(&self, source: &str, options: &[String], device: i32) -> Result<Vec<u8>, String> {
        let (major, minor) = (self.attribute(device, MAJOR), self.attribute(device, MINOR));
        let architecture = format!("--gpu-architecture=compute_{major}{minor}");
        let words = options.iter().map(String::as_str).chain([&architecture[..]]).map(text);
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
        let (source, nvrtc) = (text(source)?, &self.compiler);
        let mut program = ptr::null_mut();
        // SAFETY: texts end with 0 and outlive the calls; buffers have the lengths returned by the library.
        unsafe {
            (nvrtc.create)(&mut program, source.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null());
            let status = (nvrtc.compile)(program, pointers.len() as i32, pointers.as_ptr());
            let (size, get) =
                if status == 0 { (nvrtc.ptx_size, nvrtc.ptx) } else { (nvrtc.log_size, nvrtc.log) };
            let mut count = 0;
            size(program, &mut count);
            let mut found = vec![0_u8; count];
            get(program, found.as_mut_ptr().cast());
            (nvrtc.destroy)(&mut program);
            if status == 0 { Ok(found) } else { Err(String::from_utf8_lossy(&found).into_owned()) }
        }
    }
}

fn text(s: &str) -> Result<CString, String> {
    CString::new(s).map_err(|_| "a program contains a zero byte".to_owned())
}

fn library(names: &[&str]) -> Option<Library> {
    // SAFETY: loading runs the initialisers of a vendor library, which the user has installed.
    names.iter().find_map(|name| unsafe { Library::new(name) }.ok())
}

/// # Safety
/// `F` must be the type of the function.
unsafe fn symbol<F: Copy>(library: &'static Library, name: &str) -> Result<F, &'static str> {
    // SAFETY: the caller guarantees the type, and the library is never unloaded.
    unsafe { library.get::<F>(name.as_bytes()) }.map(|f| *f).map_err(|_| "a CUDA library that is too old")
}
