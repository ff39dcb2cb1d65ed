//! Programs, compiled by the driver, read from disk or shared with another backend, and the parameters of their kernels.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use coarsen_core::Error;
use coarsen_device::{Built, Kernel, Type};
use ocl::core::{
    self, KernelArgInfo, KernelArgInfoResult, KernelInfo, KernelInfoResult, KernelWorkGroupInfo,
    KernelWorkGroupInfoResult,
};

use crate::cache::Cache;
use crate::error::failed;
use crate::handle::Handle;

/// OpenCL C 1.2, because one vendor miscompiles array parameters of later versions. The argument info is
/// needed for the type check of launches.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-kernel-arg-info";

/// The environment variable that turns optimisations off in builds with debug assertions: PoCL compiles a kernel in half the time.
/// `.cargo/config.toml` of this workspace sets it for its tests.
const QUICK: &str = "COARSEN_OPENCL_QUICK";

/// The programs of a context by their keys, so that its backends compile and load each of them once. As the context, they are
/// kept until the process ends. Locked while one is compiled, so that two backends do not compile the same one.
pub(crate) type Programs = Mutex<HashMap<u64, Handle<core::Program>>>;

/// The compiler of a device, its programs on disk, and those of its context.
pub(crate) struct Compiler {
    pub(crate) device: core::DeviceId,
    /// The name of the device.
    pub(crate) name: String,
    pub(crate) cache: Cache,
    pub(crate) programs: Arc<Programs>,
}

impl Compiler {
    /// Returns the kernels of a program that the context has, that is stored on disk, or that is compiled now.
    pub(crate) fn compile(
        &self,
        context: &core::Context,
        sources: &[&str],
        kernels: &[&str],
        options: &str,
    ) -> Result<Built, Error> {
        let quick = cfg!(debug_assertions) && std::env::var_os(QUICK).is_some_and(|quick| !quick.is_empty());
        let options = format!("{OPTIONS}{} {options}", if quick { " -cl-opt-disable" } else { "" });
        let key = self.cache.key(&options, sources);
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut compiled = false;
        let program = match programs.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(match self.load(context, key, &options) {
                Some(program) => program,
                None => {
                    compiled = true;
                    let program = self.build_source(context, sources, &options)?;
                    self.cache.store(key, &program);
                    program
                }
            }),
        };
        let kernels = kernels.iter().map(|name| {
            let kernel = core::create_kernel(program, name).map_err(failed("clCreateKernel"))?;
            let kernel = Handle::new(kernel);
            let parameters = parameter_types(&kernel).unwrap_or_default();
            let most = largest_group(&kernel, self.device).unwrap_or(usize::MAX).max(1);
            Ok(Kernel { object: Box::new(kernel), parameters, most })
        });
        Ok(Built { kernels: kernels.collect::<Result<_, Error>>()?, compiled })
    }

    /// Returns a program stored by an earlier process, if the driver still accepts it.
    fn load(&self, context: &core::Context, key: u64, options: &str) -> Option<Handle<core::Program>> {
        let binary = self.cache.load(key)?;
        let program = core::create_program_with_binary(context, &[self.device], &[&binary]).ok()?;
        let program = Handle::new(program);
        core::build_program(&program, Some(&[self.device]), &text(options), None, None).ok()?;
        Some(program)
    }

    fn build_source(
        &self,
        context: &core::Context,
        sources: &[&str],
        options: &str,
    ) -> Result<Handle<core::Program>, Error> {
        let sources: Vec<CString> = sources.iter().map(|s| text(s)).collect();
        let program = core::create_program_with_source(context, &sources)
            .map_err(failed("clCreateProgramWithSource"))?;
        let program = Handle::new(program);
        core::build_program(&program, Some(&[self.device]), &text(options), None, None).map_err(
            |e| match e {
                core::Error::ProgramBuild(log) => {
                    Error::Build { device: self.name.clone(), log: log.to_string() }
                }
                other => failed("clBuildProgram")(other),
            },
        )?;
        Ok(program)
    }
}

fn text(s: &str) -> CString {
    CString::new(s).expect("sources and options hold no NUL")
}

fn largest_group(kernel: &core::Kernel, device: core::DeviceId) -> Option<usize> {
    match core::get_kernel_work_group_info(kernel, device, KernelWorkGroupInfo::WorkGroupSize) {
        Ok(KernelWorkGroupInfoResult::WorkGroupSize(most)) => Some(most),
        _ => None,
    }
}

fn parameter_types(kernel: &core::Kernel) -> core::Result<Vec<Option<Type>>> {
    let count = match core::get_kernel_info(kernel, KernelInfo::NumArgs)? {
        KernelInfoResult::NumArgs(count) => count,
        _ => 0,
    };
    let type_of = |k| match core::get_kernel_arg_info(kernel, k, KernelArgInfo::TypeName, None) {
        Ok(KernelArgInfoResult::TypeName(name)) => spelled(name.trim_matches(['\0', ' ', '*'])),
        _ => None, // programs from the cache may have no argument info
    };
    Ok((0..count).map(type_of).collect())
}

/// Returns the type with this name in OpenCL C.
fn spelled(name: &str) -> Option<Type> {
    let known = [Type::Single, Type::Double, Type::Index, Type::Length];
    let found = known.into_iter().find(|known| known.to_string() == name).unwrap_or(Type::Other);
    (!name.is_empty()).then_some(found)
}
