//! The kernels of multilevel domains, and their build options.

use coarsen_core::Error;

use crate::Device;
use crate::driver::Type;
use crate::program::{Module, kernels};
use crate::queue::Items;

kernels! {
    /// The kernels of an application.
    Apply {
        Restrict = "coarsen_schwarz_restrict",
        Domains = "coarsen_schwarz_domains",
        LeftOut = "coarsen_schwarz_left_out",
        Prolong = "coarsen_schwarz_prolong",
    }
}

/// The number of items in a group that shares a domain.
pub(crate) const GROUP: usize = 64;

/// How domains are distributed over items: two forms of the same kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A group of [`GROUP`] items per domain, with local memory: for devices whose items run in lockstep.
    Group,
    /// One item for several domains, with vector registers: for processors.
    Item,
}

impl Form {
    pub(crate) fn of(device: &Device) -> Self {
        if device.accelerator { Self::Group } else { Self::Item }
    }

    /// Returns the number of groups and their size for a number of domains.
    pub(crate) fn items(self, domains: usize) -> Items {
        match self {
            Self::Group => Items::Shaped(domains, GROUP),
            Self::Item => Items::Shaped(domains.div_ceil(DOMAINS), 1),
        }
    }
}

/// The number of domains per item.
const DOMAINS: usize = 8;

/// Returns the kernels of an application for blocks of `block` unknowns and inverses of up to `tiles` tiles
/// along a side.
pub(crate) fn apply(form: Form, stored: Type, [block, tiles]: [usize; 2]) -> Module {
    let wide = u8::from(form == Form::Item);
    let options = format!("-D STORED={stored} -D BLOCK={block} -D TILES={tiles} -D WIDE={wide}");
    Module { sources: &coarsen_kernels::SCHWARZ, kernels: Apply::NAMES, options }
}

kernels! {
    /// The kernels of the numeric phase.
    Number {
        Diagonals = "coarsen_schwarz_diagonals",
        Mark = "coarsen_schwarz_mark",
        Raise = "coarsen_schwarz_raise",
        Alone = "coarsen_schwarz_alone",
        Released = "coarsen_schwarz_released",
        Invert = "coarsen_schwarz_invert",
    }
}

/// Returns the kernels of the numeric phase. Inverses are stored in `stored`, the matrix in `values`, in
/// slices of `slice` rows, with a contact part beside it if `contact`; domains are eliminated in `work`.
pub(crate) fn numbers(
    form: Form,
    [stored, values, work]: [Type; 3],
    [block, tiles, slice]: [usize; 3],
    contact: bool,
) -> Module {
    let wide = u8::from(form == Form::Item);
    let epsilon = if values == Type::Single { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let options = format!(
        "-D STORED={stored} -D VALUES={values} -D WORK={work} -D EPSILON={epsilon:e} -D BLOCK={block} -D TILES={tiles} -D SLICE={slice} -D WIDE={wide}{}",
        beside(contact)
    );
    Module { sources: &coarsen_kernels::SCHWARZ_NUMBERS, kernels: Number::NAMES, options }
}

/// Returns the bytes that an application needs per group, with numbers of `size` bytes; an item needs less.
pub(crate) fn application(tiles: usize, size: usize) -> usize {
    tiles * (8 + 64) * size
}

/// The cure of a domain that does not fit.
pub(crate) const SMALLER: &str =
    "small enough for the memory that this device has for one domain; use smaller domains";

/// The bytes that an item may use of the stack of its thread, which is usually 8 MiB. Drivers do not check
/// this.
const STACK: usize = 4 << 20;

impl Form {
    /// Returns the bytes that an elimination needs, with numbers of `size` bytes. These are a packed matrix
    /// and three vectors, or in the form `Item` two packed matrices and two columns of tiles.
    pub(crate) fn elimination(self, tiles: usize, size: usize) -> usize {
        let (packed, scale) = (tiles * (tiles + 1) / 2 * 64, 8 * tiles * size_of::<f64>());
        match self {
            Self::Group => (packed + 3 * 8 * tiles) * size + scale,
            Self::Item => (2 * packed + 2 * 64 * tiles) * size + scale,
        }
    }

    /// Returns the bytes that a kernel may use for one domain. They are in the local memory of a group, or on
    /// the stack of an item.
    pub(crate) fn local_memory(self, device: &Device) -> usize {
        match self {
            Self::Group => device.local,
            Self::Item => STACK,
        }
    }

    /// Checks that the device can process domains of `tiles` tiles along a side, which need `bytes`.
    ///
    /// # Errors
    /// [`Error::Parameter`] with this `range` if they are too large.
    pub(crate) fn check(
        self,
        device: &Device,
        tiles: usize,
        bytes: usize,
        range: &'static str,
    ) -> Result<(), Error> {
        if bytes <= self.local_memory(device) {
            return Ok(());
        }
        Err(Error::Parameter {
            name: "unknowns of a domain, rounded up to tiles",
            value: (8 * tiles) as f64,
            range,
        })
    }
}

kernels! {
    /// The kernels of the structure.
    Build {
        Box = "coarsen_schwarz_box",
        WholeBox = "coarsen_schwarz_whole_box",
        Codes = "coarsen_schwarz_codes",
        Alike = "coarsen_schwarz_alike",
        Degrees = "coarsen_schwarz_degrees",
        Couplings = "coarsen_schwarz_couplings",
        Empty = "coarsen_schwarz_empty",
        Ranks = "coarsen_schwarz_ranks",
        Split = "coarsen_schwarz_split",
        Tally = "coarsen_schwarz_tally",
        Decide = "coarsen_schwarz_decide",
        Link = "coarsen_schwarz_link",
    }
}

/// Returns the kernels of the structure, for a matrix of `values` in slices of `slice` rows, with a contact part
/// beside it if `contact`, and domains of `nodes` nodes.
pub(crate) fn structure(values: Type, [block, slice, nodes]: [usize; 3], contact: bool) -> Module {
    let options = format!(
        "-D STORED=float -D VALUES={values} -D BLOCK={block} -D TILES=1 -D SLICE={slice} -D NODES={nodes}{}",
        beside(contact)
    );
    Module { sources: &coarsen_kernels::SCHWARZ_STRUCTURE, kernels: Build::NAMES, options }
}

/// The option of a contact part beside the matrix.
fn beside(contact: bool) -> &'static str {
    if contact { " -D CONTACT" } else { "" }
}

kernels! {
    /// The kernels that find where contact blocks meet.
    Contact {
        Locate = "coarsen_schwarz_locate",
        Meet = "coarsen_schwarz_meet",
        Gather = "coarsen_schwarz_gather",
        Touched = "coarsen_schwarz_touched",
    }
}

pub(crate) fn meet() -> Module {
    Module { sources: &coarsen_kernels::SCHWARZ_CONTACT, kernels: Contact::NAMES, options: String::new() }
}
