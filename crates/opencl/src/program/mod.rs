//! Kernels by name: compiled for one device and one precision, and the types of their parameters.

mod cache;

use std::ffi::CString;

use coarsen_core::{Error, Real};
use ocl::core::{
    self, KernelArgInfo, KernelArgInfoResult, KernelInfo, KernelInfoResult, KernelWorkGroupInfo,
    KernelWorkGroupInfoResult,
};

use crate::Device;
use crate::error::failed;
use crate::handle::Handle;
use cache::Cache;

/// Most items in a work group of a reduction where items run in step; a power of two.
const WIDTH: usize = 256;

/// The same where one core runs all items of a group: a core reads one stretch in order.
const WIDTH_OF_A_CORE: usize = 1;

/// Items in a work group of an entry-wise kernel, unless `tune` has found better.
const LOCAL: usize = 256;

/// The smallest and the largest number that `tune` tries.
const LOCALS: [usize; 2] = [32, 1024];

/// Most groups of a reduction.
const GROUPS: usize = 1024;

/// Entries that are worth a group.
const ENTRIES: usize = 2048;

/// Rows or blocks side by side where items run in step: what they read at once lies together.
const SLICE: usize = 32;

/// How OpenCL C spells an entry of a buffer or a parameter.
pub(crate) const INDEX: &str = "uint";
pub(crate) const LENGTH: &str = "ulong";

/// What kernels call `NONE`: no node, no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// How OpenCL C spells `T`.
pub(crate) fn real<T: Real>() -> &'static str {
    if size_of::<T>() == 4 { "float" } else { "double" }
}

/// Sources that are compiled together, and the kernels wanted of them.
pub(crate) struct Module {
    pub(crate) sources: &'static [&'static str],
    pub(crate) kernels: &'static [&'static str],
    /// Build options beside those of the place.
    pub(crate) options: String,
}

/// A kernel of a module that a place has compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) module: usize,
    pub(crate) kernel: usize,
}

/// The kernels that every place has, in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Set,
    Neg,
    Add,
    Mul,
    Div,
    Over,
    Fill,
    Axpby,
    Hadamard,
    Recur,
    Dots,
    DotMagnitude,
    DotMagnitudes,
    Advance,
    Total,
}

const NAMES: [&str; 15] = [
    "coarsen_set",
    "coarsen_neg",
    "coarsen_add",
    "coarsen_mul",
    "coarsen_div",
    "coarsen_over",
    "coarsen_fill",
    "coarsen_axpby",
    "coarsen_hadamard",
    "coarsen_recur",
    "coarsen_dots",
    "coarsen_dot_magnitude",
    "coarsen_dot_magnitudes",
    "coarsen_advance",
    "coarsen_total",
];

impl From<Kernel> for Entry {
    fn from(kernel: Kernel) -> Self {
        Self { module: 0, kernel: kernel as usize }
    }
}

/// All that a place has compiled so far.
pub(crate) struct Program {
    device: Device,
    /// Options of every module.
    options: String,
    cache: Cache,
    modules: Vec<Compiled>,
    /// Items in a work group of a reduction.
    pub(crate) width: usize,
    /// Items in a work group of an entry-wise kernel.
    pub(crate) local: usize,
    /// Entries that an item takes at once.
    pub(crate) lanes: usize,
    /// Rows or blocks that lie side by side.
    pub(crate) slice: usize,
    /// How OpenCL C spells the type of partial sums.
    pub(crate) sum: &'static str,
    /// Modules that the driver's compiler was asked for, rather than the cache.
    pub(crate) compiled: u64,
}

struct Compiled {
    sources: &'static [&'static str],
    options: String,
    kernels: Vec<Built>,
}

/// A kernel of the driver's.
struct Built {
    object: Handle<core::Kernel>,
    /// What its parameters are, or point to, as OpenCL C spells it; empty where the driver does not tell.
    types: Vec<String>,
    /// The most items of a group, which its registers decide: at least one.
    most: usize,
}

impl Program {
    /// The kernels that every place has.
    pub(crate) fn build<T: Real>(context: &core::Context, device: &Device) -> Result<Self, Error> {
        let (most, lanes, slice) =
            if device.accelerator { (WIDTH, 1, SLICE) } else { (WIDTH_OF_A_CORE, 8, 1) };
        let width = 1 << device.width.clamp(1, most).ilog2();
        let local = 1 << device.width.clamp(1, LOCAL).ilog2();
        let sum = if device.double { "double" } else { "float" };
        let double = if device.double { " -D DOUBLE" } else { "" };
        // Version 1.2 also keeps one vendor from miscompiling array parameters; argument info lets `kernel` check types.
        let options = format!(
            "-cl-std=CL1.2 -cl-kernel-arg-info -D REAL={} -D SUM={sum} -D WIDTH={width} -D LANES={lanes}{double}",
            real::<T>()
        );
        let (cache, modules) = (Cache::of(device), Vec::new());
        let device = device.clone();
        let mut all = Self { device, options, cache, modules, width, local, lanes, slice, sum, compiled: 0 };
        let vectors = Module { sources: &coarsen_kernels::VECTOR, kernels: &NAMES, options: String::new() };
        all.module(context, &vectors)?;
        let kept = all.cache.local(&all.options);
        all.local = all.locals().find(|&local| Some(local) == kept).unwrap_or(all.local);
        Ok(all)
    }

    /// Work groups that this device allows, for `tune` to try.
    pub(crate) fn locals(&self) -> impl Iterator<Item = usize> + use<> {
        let most = self.device.width.min(LOCALS[1]);
        std::iter::successors(Some(LOCALS[0]), |n| Some(2 * n)).take_while(move |&n| n <= most)
    }

    /// Keeps the size of work groups for places to come.
    pub(crate) fn store_local(&self) {
        self.cache.store_local(&self.options, self.local);
    }

    /// The number of a module: compiled, or loaded from the cache, unless the place already has it.
    pub(crate) fn module(&mut self, context: &core::Context, wanted: &Module) -> Result<usize, Error> {
        let same =
            |have: &Compiled| std::ptr::eq(have.sources, wanted.sources) && have.options == wanted.options;
        if let Some(at) = self.modules.iter().position(same) {
            return Ok(at);
        }
        let options = format!("{} {}", self.options, wanted.options);
        let key = self.cache.key(&options, wanted.sources);
        let program = match self.load(context, key, &options) {
            Some(program) => program,
            None => {
                let program = self.compile(context, wanted.sources, &options)?;
                self.compiled += 1;
                self.cache.store(key, &program);
                program
            }
        };
        let kernels = wanted.kernels.iter().map(|name| {
            let kernel = core::create_kernel(&program, name).map_err(failed("clCreateKernel"))?;
            let kernel = Handle::new(kernel);
            let types = parameter_types(&kernel).unwrap_or_default();
            let most = largest_group(&kernel, self.device.id).unwrap_or(self.device.width).max(1);
            Ok(Built { object: kernel, types, most })
        });
        let kernels = kernels.collect::<Result<_, Error>>()?;
        self.modules.push(Compiled { sources: wanted.sources, options: wanted.options.clone(), kernels });
        Ok(self.modules.len() - 1)
    }

    /// A program that an earlier process left, if the driver still takes it.
    fn load(&self, context: &core::Context, key: u64, options: &str) -> Option<Handle<core::Program>> {
        let binary = self.cache.load(key)?;
        let program = core::create_program_with_binary(context, &[self.device.id], &[&binary]).ok()?;
        let program = Handle::new(program);
        core::build_program(&program, Some(&[self.device.id]), &text(options), None, None).ok()?;
        Some(program)
    }

    fn compile(
        &self,
        context: &core::Context,
        sources: &[&str],
        options: &str,
    ) -> Result<Handle<core::Program>, Error> {
        let sources: Vec<CString> = sources.iter().map(|s| text(s)).collect();
        let program = core::create_program_with_source(context, &sources)
            .map_err(failed("clCreateProgramWithSource"))?;
        let program = Handle::new(program);
        core::build_program(&program, Some(&[self.device.id]), &text(options), None, None).map_err(|e| {
            match e {
                core::Error::ProgramBuild(log) => {
                    Error::Build { device: self.device.name.clone(), log: log.to_string() }
                }
                other => failed("clBuildProgram")(other),
            }
        })?;
        Ok(program)
    }

    /// A kernel and what its parameters are, or point to; empty where the driver does not tell.
    pub(crate) fn kernel(&self, entry: Entry) -> (&core::Kernel, &[String]) {
        let Built { object, types, .. } = &self.modules[entry.module].kernels[entry.kernel];
        (object, types)
    }

    /// Items in a work group of an entry-wise kernel: as many as `tune` or a guess say, or as it can have.
    pub(crate) fn local_of(&self, entry: Entry) -> usize {
        self.local.min(self.modules[entry.module].kernels[entry.kernel].most)
    }

    /// Work groups of a reduction over `n` entries: a function of n alone, so that sums have the same bits every time.
    pub(crate) fn groups(&self, n: usize) -> usize {
        n.div_ceil(ENTRIES).clamp(1, GROUPS)
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

fn parameter_types(kernel: &core::Kernel) -> core::Result<Vec<String>> {
    let count = match core::get_kernel_info(kernel, KernelInfo::NumArgs)? {
        KernelInfoResult::NumArgs(count) => count,
        _ => 0,
    };
    let type_of = |k| match core::get_kernel_arg_info(kernel, k, KernelArgInfo::TypeName, None) {
        Ok(KernelArgInfoResult::TypeName(name)) => name.trim_matches(['\0', ' ', '*']).to_owned(),
        _ => String::new(), // a program from the cache need not know it
    };
    Ok((0..count).map(type_of).collect())
}
