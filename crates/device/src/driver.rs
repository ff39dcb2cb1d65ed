//! What an API of devices must be able to do: the one thing that is written anew for another API.

use std::any::Any;
use std::fmt;

use coarsen_core::{Error, Real};

use crate::Device;

/// What a driver holds for a buffer.
pub type Object = Box<dyn Any + Send + Sync>;

/// An API of devices, such as OpenCL.
pub trait Api: Send + Sync + fmt::Debug {
    /// A driver for one queue on one of its devices.
    ///
    /// # Errors
    /// [`Error::Device`] where a call fails.
    fn open(&self, device: &Device) -> Result<Box<dyn Driver>, Error>;
}

/// One queue of commands on a device, which run in the order they were enqueued.
///
/// Lengths and types are checked before a driver is called: buffers are as long as its calls need, and
/// arguments are of the types that [`compile`](Self::compile) told. A driver is only given objects that it
/// made.
pub trait Driver: Send {
    /// A buffer of `bytes` bytes, at least 8. It holds `host` where given, which is as long and is copied
    /// before the call returns.
    ///
    /// # Errors
    /// [`Error::Device`] where a call fails, as for all methods.
    fn allocate(&mut self, bytes: usize, host: Option<&[u8]>) -> Result<Object, Error>;

    /// Enqueues a copy of the first `bytes` bytes.
    ///
    /// # Errors
    /// As above.
    fn copy(&mut self, from: &Object, to: &Object, bytes: usize) -> Result<(), Error>;

    /// Reads the bytes from `start` on, after all commands enqueued before. Waits.
    ///
    /// # Errors
    /// As above.
    fn read(&mut self, from: &Object, start: usize, host: &mut [u8]) -> Result<(), Error>;

    /// Writes stretches of a buffer, each from a byte on, after all commands enqueued before. Waits once.
    ///
    /// # Errors
    /// As above.
    fn write(&mut self, to: &Object, runs: &[(usize, &[u8])]) -> Result<(), Error>;

    /// Lends the first `bytes` bytes of a buffer to the host, in place, after all commands enqueued before,
    /// and takes them back when `with` returns or panics. They are aligned for `f64`. Waits. Called only
    /// where the device is [`shared`](Device::shared).
    ///
    /// # Errors
    /// As above; `with` may then not have been called.
    fn lend(
        &mut self,
        memory: &Object,
        bytes: usize,
        access: Access,
        with: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Error>;

    /// Compiles `sources` as one program, with the definitions `-D NAME=VALUE` of `options`, and returns the
    /// kernels that are named.
    ///
    /// Sources are OpenCL C 1.2. A driver of another language defines its words (`__kernel`, `__global`,
    /// `get_global_id`, `barrier`) before them.
    ///
    /// # Errors
    /// [`Error::Build`] with the log of the compiler, and as above.
    fn compile(&mut self, sources: &[&str], kernels: &[&str], options: &str) -> Result<Built, Error>;

    /// Enqueues `groups` groups of `local` items.
    ///
    /// # Errors
    /// As above.
    fn launch(
        &mut self,
        kernel: &dyn Any,
        groups: usize,
        local: usize,
        args: &[Argument<'_>],
    ) -> Result<(), Error>;

    /// Waits for everything enqueued so far.
    ///
    /// # Errors
    /// As above.
    fn finish(&mut self) -> Result<(), Error>;

    /// The size of work groups that was found best under these options, by this process or another one.
    fn kept_local(&self, _options: &str) -> Option<usize> {
        None
    }

    /// Keeps that size, where there is a place to keep it.
    fn keep_local(&self, _options: &str, _local: usize) {}
}

/// What the host does with what a driver lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It overwrites all of it; what was there need not be seen.
    Overwrite,
}

/// What a kernel is given.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A buffer.
    Memory(&'a Object),
    /// A number of [`Type::Index`].
    Index(u32),
    /// A number of [`Type::Length`].
    Length(u64),
    /// A number of [`Type::Single`].
    Single(f32),
    /// A number of [`Type::Double`].
    Double(f64),
}

/// Kernels that were compiled.
pub struct Built {
    /// In the order in which they were named.
    pub kernels: Vec<Kernel>,
    /// Whether the compiler ran, rather than a cache.
    pub fresh: bool,
}

/// A kernel.
pub struct Kernel {
    /// What the driver launches.
    pub object: Box<dyn Any + Send>,
    /// The type of each parameter, or of the entries that it points to, where the driver tells; empty where
    /// it tells nothing.
    pub parameters: Vec<Option<Type>>,
    /// The most items of a group, at least one.
    pub most: usize,
}

/// The type of a parameter, or of the entries of a buffer. `Display` spells it as sources do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
    /// `u32`.
    Index,
    /// `u64`.
    Length,
    /// Any other, which no argument has.
    Other,
}

impl Type {
    /// The type of `T`.
    pub fn of<T: Real>() -> Self {
        if size_of::<T>() == 4 { Self::Single } else { Self::Double }
    }

    /// Bytes of a number.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Single | Self::Index => 4,
            _ => 8,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "float",
            Self::Double => "double",
            Self::Index => "uint",
            Self::Length => "ulong",
            Self::Other => "other",
        })
    }
}
