//! Kernels by name, compiled for one device and one precision, with the types of their parameters.

use coarsen_core::{Error, Real};

use crate::Device;
use crate::driver::{self, Driver, Type};

/// The largest number of items in a work group of a reduction on an accelerator; a power of two.
const WIDTH: usize = 256;

/// The number of items in a work group of a reduction on a processor. A core runs all items of a group, and a
/// single item reads its entries in order.
const WIDTH_OF_A_CORE: usize = 1;

/// The number of items in a work group of an entry-wise kernel, unless `tune` has found a better size.
const LOCAL: usize = 256;

/// The smallest and the largest work-group size that `tune` tries.
const LOCALS: [usize; 2] = [32, 1024];

/// The largest number of groups of a reduction.
const GROUPS: usize = 1024;

/// The number of entries per group of a reduction on an accelerator: a vector of 10⁵ entries occupies all multiprocessors.
const ENTRIES: usize = 512;

/// The number of entries per group of a reduction on a processor.
const ENTRIES_OF_A_CORE: usize = 2048;

/// The number of rows or blocks in a slice on an accelerator; entries that its items read at the same time
/// are adjacent.
const SLICE: usize = 32;

/// The constant `NONE` of the kernels: no node, or no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Sources that are compiled together, and the kernels requested from them.
pub(crate) struct Module {
    pub(crate) sources: &'static [&'static str],
    pub(crate) kernels: &'static [&'static str],
    /// The definitions `-D NAME=VALUE` in addition to the definitions of the backend.
    pub(crate) options: String,
}

/// A kernel of a module that a backend has compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) module: usize,
    pub(crate) kernel: usize,
}

/// Declares an enum of the kernels of a module, with their names in the sources.
macro_rules! kernels {
    ($(#[$doc:meta])* $set:ident { $($kernel:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $set { $($kernel),* }

        impl $set {
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),*];

            pub(crate) fn of(self, module: usize) -> $crate::program::Entry {
                $crate::program::Entry { module, kernel: self as usize }
            }
        }
    };
}
pub(crate) use kernels;

kernels! {
    /// The kernels that every backend has.
    Kernel {
        Scalars = "coarsen_scalars",
        Fill = "coarsen_fill",
        FillList = "coarsen_fill_list",
        Axpby = "coarsen_axpby",
        Hadamard = "coarsen_hadamard",
        PipelinedUpdate = "coarsen_pipelined_update",
        Dots = "coarsen_dots",
        DotMagnitudes = "coarsen_dot_magnitudes",
        CgUpdate = "coarsen_cg_update",
    }
}

impl From<Kernel> for Entry {
    fn from(kernel: Kernel) -> Self {
        kernel.of(0)
    }
}

/// All modules that a backend has compiled so far.
pub(crate) struct Program {
    device: Device,
    /// The definitions used in every module.
    options: String,
    modules: Vec<Compiled>,
    /// The number of items in a work group of a reduction.
    pub(crate) width: usize,
    /// The number of items in a work group of an entry-wise kernel.
    pub(crate) local: usize,
    /// The number of consecutive entries of one item.
    pub(crate) lanes: usize,
    /// The number of rows or blocks in a slice.
    pub(crate) slice: usize,
    /// The type of partial sums.
    pub(crate) sum: Type,
    /// The number of modules that were compiled, not loaded from the cache or shared with another backend.
    pub(crate) compiled: u64,
}

struct Compiled {
    sources: &'static [&'static str],
    /// The source of one element of an energy, or nothing.
    element: &'static str,
    options: String,
    kernels: Vec<driver::Kernel>,
}

impl Program {
    /// Compiles the kernels that every backend has.
    pub(crate) fn build<T: Real>(driver: &mut dyn Driver, device: &Device) -> Result<Self, Error> {
        let (most, lanes, slice) =
            if device.accelerator { (WIDTH, 1, SLICE) } else { (WIDTH_OF_A_CORE, 8, 1) };
        let width = 1 << device.width.clamp(1, most).ilog2();
        let local = 1 << device.width.clamp(1, LOCAL).ilog2();
        let sum = if device.double { Type::Double } else { Type::Single };
        let double = if device.double { " -D DOUBLE" } else { "" };
        let real = Type::of::<T>();
        let options = format!("-D REAL={real} -D SUM={sum} -D WIDTH={width} -D LANES={lanes}{double}");
        let device = device.clone();
        let modules = Vec::new();
        let mut all = Self { device, options, modules, width, local, lanes, slice, sum, compiled: 0 };
        let vectors =
            Module { sources: &coarsen_kernels::VECTOR, kernels: Kernel::NAMES, options: String::new() };
        all.module(driver, &vectors, "")?;
        let kept = driver.kept_local(&all.options);
        all.local = all.locals().find(|&local| Some(local) == kept).unwrap_or(all.local);
        Ok(all)
    }

    /// Returns the work-group sizes that `tune` tries on this device.
    pub(crate) fn locals(&self) -> impl Iterator<Item = usize> + use<> {
        let most = self.device.width.min(LOCALS[1]);
        std::iter::successors(Some(LOCALS[0]), |n| Some(2 * n)).take_while(move |&n| n <= most)
    }

    /// Stores the work-group size for later backends.
    pub(crate) fn keep_local(&self, driver: &mut dyn Driver) {
        driver.keep_local(&self.options, self.local);
    }

    /// Returns the number of a module and compiles it, with `element` as its last source, if the backend does not have it yet.
    pub(crate) fn module(
        &mut self,
        driver: &mut dyn Driver,
        wanted: &Module,
        element: &'static str,
    ) -> Result<usize, Error> {
        let same = |have: &Compiled| {
            std::ptr::eq(have.sources, wanted.sources)
                && have.options == wanted.options
                && have.element == element
        };
        if let Some(at) = self.modules.iter().position(same) {
            return Ok(at);
        }
        let options = format!("{} {}", self.options, wanted.options);
        let last: &[_] = if element.is_empty() { &[] } else { &[element] };
        let sources = [wanted.sources, last].concat();
        let built = driver.compile(&sources, wanted.kernels, &options)?;
        self.compiled += u64::from(built.compiled);
        let (options, kernels) = (wanted.options.clone(), built.kernels);
        self.modules.push(Compiled { sources: wanted.sources, element, options, kernels });
        Ok(self.modules.len() - 1)
    }

    /// Returns a kernel and the types of its parameters.
    pub(crate) fn kernel(&self, entry: Entry) -> &driver::Kernel {
        &self.modules[entry.module].kernels[entry.kernel]
    }

    /// Returns the number of items in a work group of an entry-wise kernel: the chosen size, limited to the
    /// largest size that the kernel allows.
    pub(crate) fn local_of(&self, entry: Entry) -> usize {
        self.local.min(self.kernel(entry).most)
    }

    /// Returns the number of work groups of a reduction over `n` entries. It depends only on n and the device, so that sums
    /// have the same bits in every run.
    pub(crate) fn groups(&self, n: usize) -> usize {
        let entries = if self.device.accelerator { ENTRIES } else { ENTRIES_OF_A_CORE };
        n.div_ceil(entries).clamp(1, GROUPS)
    }
}
