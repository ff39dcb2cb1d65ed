//! Kernels by name: compiled for one device and one precision, and the types of their parameters.

use std::ffi::CString;

use coarsen_core::Real;
use ocl::core::{self, KernelArgInfo, KernelArgInfoResult, KernelInfo, KernelInfoResult};

use crate::error::failed;
use crate::{Device, OpenClError};

/// Most items in a work group of a reduction; a power of two.
const WIDTH: usize = 256;

/// The kernels of `coarsen-kernels`, in the order of [`NAMES`].
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
    Dots,
    DotMagnitude,
    Advance,
    Total,
    Multiply,
    MultiplyDot,
    Residual,
}

const NAMES: [&str; 16] = [
    "coarsen_set",
    "coarsen_neg",
    "coarsen_add",
    "coarsen_mul",
    "coarsen_div",
    "coarsen_over",
    "coarsen_fill",
    "coarsen_axpby",
    "coarsen_hadamard",
    "coarsen_dots",
    "coarsen_dot_magnitude",
    "coarsen_advance",
    "coarsen_total",
    "coarsen_multiply",
    "coarsen_multiply_dot",
    "coarsen_residual",
];

/// How OpenCL C spells an entry of a buffer or a parameter.
pub(crate) const INDEX: &str = "uint";
pub(crate) const LENGTH: &str = "ulong";

/// How OpenCL C spells `T`.
pub(crate) fn real<T: Real>() -> &'static str {
    if size_of::<T>() == 4 { "float" } else { "double" }
}

/// All kernels, compiled.
pub(crate) struct Program {
    kernels: Vec<(core::Kernel, Vec<String>)>,
    /// Items in a work group.
    pub(crate) width: usize,
    /// How OpenCL C spells the type of partial sums.
    pub(crate) sum: &'static str,
}

impl Program {
    pub(crate) fn build<T: Real>(context: &core::Context, device: &Device) -> Result<Self, OpenClError> {
        let width = 1 << device.width.clamp(1, WIDTH).ilog2();
        let sum = if device.double { "double" } else { "float" };
        let double = if device.double { " -D DOUBLE" } else { "" };
        // Version 1.2 also keeps one vendor from miscompiling array parameters; argument info lets `kernel` check types.
        let options = format!(
            "-cl-std=CL1.2 -cl-kernel-arg-info -D REAL={} -D SUM={sum} -D WIDTH={width}{double}",
            real::<T>()
        );
        let text = |s: &str| CString::new(s).expect("sources hold no NUL");
        let program = core::create_program_with_source(context, &coarsen_kernels::ALL.map(text))
            .map_err(failed("clCreateProgramWithSource"))?;
        core::build_program(&program, Some(&[device.id]), &text(&options), None, None).map_err(
            |e| match e {
                core::Error::ProgramBuild(log) => {
                    OpenClError::Build { device: device.name.clone(), log: log.to_string() }
                }
                other => failed("clBuildProgram")(other).into(),
            },
        )?;
        let kernels = NAMES.iter().map(|name| {
            let kernel = core::create_kernel(&program, name).map_err(failed("clCreateKernel"))?;
            let types = parameter_types(&kernel).map_err(failed("clGetKernelArgInfo"))?;
            Ok((kernel, types))
        });
        Ok(Self { kernels: kernels.collect::<Result<_, OpenClError>>()?, width, sum })
    }

    /// A kernel and the spelling of its parameters' types.
    pub(crate) fn kernel(&self, kernel: Kernel) -> (&core::Kernel, &[String]) {
        let (object, types) = &self.kernels[kernel as usize];
        (object, types)
    }

    /// Work groups of a reduction over `n` entries: a function of n alone, so that sums have the same bits every time.
    pub(crate) fn groups(&self, n: usize) -> usize {
        n.div_ceil(self.width).clamp(1, WIDTH)
    }
}

fn parameter_types(kernel: &core::Kernel) -> core::Result<Vec<String>> {
    let count = match core::get_kernel_info(kernel, KernelInfo::NumArgs)? {
        KernelInfoResult::NumArgs(count) => count,
        _ => 0,
    };
    let type_of = |k| match core::get_kernel_arg_info(kernel, k, KernelArgInfo::TypeName, None)? {
        KernelArgInfoResult::TypeName(name) => Ok(name.trim_matches(['\0', ' ']).to_owned()),
        _ => Ok(String::new()),
    };
    (0..count).map(type_of).collect()
}
