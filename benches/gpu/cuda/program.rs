//! Programs, kernels and launches.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cuda::Handle;
use crate::{Context, FAILED, INVALID, SUCCESS, answer, checked, ended, enter, release, status};

const NOT_BUILT: i32 = -11;

/// The sources of a program, and the result of compiling them.
struct Program {
    context: usize,
    source: String,
    built: Mutex<Built>,
}

#[derive(Default)]
struct Built {
    module: usize,
    log: String,
}

/// A function and its current arguments.
struct Kernel {
    function: usize,
    arguments: Mutex<Vec<u64>>,
}

/// Adapts a source to CUDA: `__local` is removed from pointers and kept for arrays.
fn spelled(source: &str) -> String {
    let mut parts = source.split("__local ");
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |text, part| {
        let pointer = part.split_once(' ').is_some_and(|(_, rest)| rest.starts_with('*'));
        text + if pointer { "" } else { "__local " } + part
    })
}

/// The definitions of an OpenCL build, and the options of CUDA.
fn options(given: &str, source: &str) -> Vec<String> {
    let words: Vec<&str> = given.split_whitespace().collect();
    let defined = words.windows(2).filter(|pair| pair[0] == "-D").map(|pair| format!("-D{}", pair[1]));
    let fused = source.contains("FP_CONTRACT ON");
    let fixed = ["--std=c++17", "--device-as-default-execution-space", "--disable-warnings"];
    let fixed = fixed.into_iter().map(str::to_owned);
    defined.chain(fixed).chain([format!("--fmad={fused}")]).collect()
}

fn handle<T>(value: T) -> Handle {
    Arc::into_raw(Arc::new(value)).cast_mut().cast()
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clCreateProgramWithSource(
    context: Handle,
    count: u32,
    texts: *const *const c_char,
    lengths: *const usize,
    code: *mut i32,
) -> Handle {
    let mut source = include_str!("opencl.cuh").to_owned();
    for k in 0..count as usize {
        // SAFETY: there are `count` texts, each with a length or a terminating 0.
        let bytes = unsafe {
            let text = *texts.add(k);
            match if lengths.is_null() { 0 } else { *lengths.add(k) } {
                0 => CStr::from_ptr(text).to_bytes(),
                length => std::slice::from_raw_parts(text.cast(), length),
            }
        };
        source += &spelled(String::from_utf8_lossy(bytes).trim_end_matches('\0'));
        source.push('\n');
    }
    // SAFETY: `code` is valid.
    unsafe { *code = SUCCESS };
    handle(Program { context: context.expose_provenance(), source, built: Mutex::default() })
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clBuildProgram(
    program: Handle,
    _: u32,
    _: Handle,
    given: *const c_char,
    _: Handle,
    _: Handle,
) -> i32 {
    // SAFETY: the program was created here, its options end with 0, and its context exists.
    let (program, given, entered) = unsafe {
        let program = &*program.cast::<Program>();
        let context = ptr::with_exposed_provenance_mut::<c_void>(program.context);
        (program, CStr::from_ptr(given).to_string_lossy(), enter(context))
    };
    let (cuda, Context { device, .. }) = match entered {
        Ok(entered) => entered,
        Err(code) => return code,
    };
    let mut built = program.built.lock().unwrap_or_else(PoisonError::into_inner);
    match cuda.compile(&program.source, &options(&given, &program.source), *device) {
        Ok(ptx) => {
            let mut module = ptr::null_mut();
            // SAFETY: PTX ends with 0.
            let code = unsafe { (cuda.load)(&mut module, ptx.as_ptr().cast()) };
            built.module = module.expose_provenance();
            status("cuModuleLoadData", code)
        }
        Err(log) => {
            built.log = log;
            NOT_BUILT
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetProgramBuildInfo(
    program: Handle,
    _: Handle,
    _: u32,
    size: usize,
    value: *mut c_void,
    needed: *mut usize,
) -> i32 {
    // SAFETY: the program was created here.
    let built = unsafe { &*program.cast::<Program>() }.built.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the arguments are those of OpenCL.
    unsafe { answer(built.log.as_bytes(), size, value, needed) }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clReleaseProgram(program: Handle) -> i32 {
    // SAFETY: the handle was created here. The loaded module stays loaded, because kernels may use it.
    unsafe { release::<Program>(program) }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clCreateKernel(program: Handle, name: *const c_char, code: *mut i32) -> Handle {
    // SAFETY: the program was created here, and its context exists.
    let made = unsafe {
        let program = &*program.cast::<Program>();
        let module = program.built.lock().unwrap_or_else(PoisonError::into_inner).module;
        enter(ptr::with_exposed_provenance_mut(program.context)).and_then(|(cuda, _)| {
            let mut function = ptr::null_mut();
            let module = ptr::with_exposed_provenance_mut(module);
            checked("cuModuleGetFunction", (cuda.function)(&mut function, module, name))?;
            Ok(function.expose_provenance())
        })
    };
    // SAFETY: `code` is valid.
    unsafe { *code = made.err().unwrap_or(SUCCESS) };
    made.map_or(ptr::null_mut(), |function| handle(Kernel { function, arguments: Mutex::default() }))
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clReleaseKernel(kernel: Handle) -> i32 {
    // SAFETY: the handle was created here.
    unsafe { release::<Kernel>(kernel) }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clSetKernelArg(kernel: Handle, at: u32, size: usize, value: *const c_void) -> i32 {
    if size > size_of::<u64>() {
        return INVALID;
    }
    let mut word = 0_u64;
    // SAFETY: the kernel was created here, and `value` has `size` bytes, at most one word.
    let kernel = unsafe {
        ptr::copy_nonoverlapping(value.cast::<u8>(), (&raw mut word).cast(), size);
        &*kernel.cast::<Kernel>()
    };
    let mut arguments = kernel.arguments.lock().unwrap_or_else(PoisonError::into_inner);
    let count = arguments.len().max(at as usize + 1);
    arguments.resize(count, 0);
    arguments[at as usize] = word;
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clEnqueueNDRangeKernel(
    queue: Handle,
    kernel: Handle,
    _: u32,
    _: *const usize,
    global: *const usize,
    local: *const usize,
    _: u32,
    _: Handle,
    _: Handle,
) -> i32 {
    // SAFETY: queue and kernel were created here, and there is one dimension with a local size.
    let (entered, kernel, global, local) =
        unsafe { (enter(queue), &*kernel.cast::<Kernel>(), *global, *local) };
    ended(entered.and_then(|(cuda, _)| {
        let arguments = kernel.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words: Vec<*mut c_void> =
            arguments.iter().map(|word| ptr::from_ref(word).cast_mut().cast()).collect();
        let Ok(groups) = u32::try_from(global / local) else { return Err(FAILED) };
        let function = ptr::with_exposed_provenance_mut(kernel.function);
        // SAFETY: all arguments are set and at most one word long; the call copies them.
        let code = unsafe {
            let (none, words) = (ptr::null_mut(), words.as_mut_ptr());
            (cuda.launch)(function, groups, 1, 1, local as u32, 1, 1, 0, none, words, ptr::null_mut())
        };
        checked("cuLaunchKernel", code)
    }))
}
