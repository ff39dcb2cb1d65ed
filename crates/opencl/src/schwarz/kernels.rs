//! Which kernels multilevel domains run, and how they are compiled.

use crate::Device;
use crate::program::Module;
use crate::queue::Items;

/// The kernels of an application, in the order of [`APPLY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apply {
    Restrict,
    Coarse,
    Fine,
    LeftOut,
}

const APPLY: [&str; 4] = [
    "coarsen_schwarz_restrict",
    "coarsen_schwarz_coarse",
    "coarsen_schwarz_fine",
    "coarsen_schwarz_left_out",
];

/// Items of a group that share a domain.
pub(crate) const GROUP: usize = 64;

/// How domains are shared among items: two kernels behind one contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A group of [`GROUP`] items a domain, which meet in local memory: for devices whose items run in step.
    Group,
    /// An item several domains, by wide registers: for processors.
    Item,
}

impl Form {
    /// What suits a device.
    pub(crate) fn of(device: &Device) -> Self {
        if device.accelerator { Self::Group } else { Self::Item }
    }

    /// Groups and their size for that many domains.
    pub(crate) fn items(self, domains: usize) -> Items {
        match self {
            Self::Group => Items::Shaped(domains, GROUP),
            Self::Item => Items::Shaped(domains.div_ceil(DOMAINS), 1),
        }
    }
}

/// Domains of an item.
const DOMAINS: usize = 8;

/// The kernels of an application for blocks of `block` unknowns and inverses of up to `tiles` tiles along a side.
pub(crate) fn apply(form: Form, stored: &str, [block, tiles]: [usize; 2]) -> Module {
    let wide = u8::from(form == Form::Item);
    let options = format!("-D STORED={stored} -D BLOCK={block} -D TILES={tiles} -D WIDE={wide}");
    Module { sources: &coarsen_kernels::SCHWARZ, kernels: &APPLY, options }
}
