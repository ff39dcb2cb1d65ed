//! The interface of a device API. Another API needs only a [`Driver`] and a function that opens it.

use std::any::Any;
use std::fmt;

use coarsen_core::{Error, Real};

use crate::Device;

/// A buffer; the driver chooses the concrete type.
pub type Object = Box<dyn Any + Send + Sync>;

/// Memory of the host that lies at addresses aligned for `f64`.
pub type Staging = Box<dyn AsMut<[u8]> + Send>;

/// Opens one queue on a device: the function of a device API, such as OpenCL. It returns [`Error::Device`] if a call of the
/// API fails.
pub type Open = dyn Fn(&Device) -> Result<Box<dyn Driver>, Error> + Send + Sync;

/// One queue of commands on a device. Commands run in the order in which they were enqueued.
///
/// Lengths and types are checked before a driver is called. Buffers are long enough, and arguments have the
/// types that [`compile`](Self::compile) returned. A driver receives only objects that it created. Every method returns
/// [`Error::Device`] if a call of the API fails.
#[allow(clippy::missing_errors_doc)] // said once, above
pub trait Driver: Send {
    /// Allocates a buffer of `bytes` bytes, at least 8. If `host` is given, it has the same length and is
    /// copied into the buffer before the call returns.
    fn allocate(&mut self, bytes: usize, host: Option<&[u8]>) -> Result<Object, Error>;

    /// Enqueues a copy of the first `bytes` bytes of `from` to the start of `to`.
    fn copy(&mut self, from: &Object, to: &Object, bytes: usize) -> Result<(), Error>;

    /// Reads `host.len()` bytes from offset `start`, after all commands enqueued so far, and synchronises.
    fn read(&mut self, from: &Object, start: usize, host: &mut [u8]) -> Result<(), Error>;

    /// Writes runs of bytes, each at the given offset in the buffer, after all commands enqueued so far.
    /// Synchronises once for all runs.
    fn write(&mut self, to: &Object, runs: &[(usize, &[u8])]) -> Result<(), Error>;

    /// Returns `bytes` bytes of the host from which [`write`](Self::write) is faster than from other memory, if the API has
    /// such memory.
    fn staging(&mut self, _bytes: usize) -> Option<Staging> {
        None
    }

    /// Maps the first `bytes` bytes of a buffer for the host, after all commands enqueued so far, and
    /// synchronises. The bytes are aligned for `f64`. They are unmapped when `with` returns or panics.
    /// Called only if the device is [`shared`](Device::shared).
    /// If an error is returned, `with` may or may not have been called.
    fn map_buffer(
        &mut self,
        memory: &Object,
        bytes: usize,
        access: Access,
        with: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Error>;

    /// Compiles `sources` as one program, with the definitions `-D NAME=VALUE` of `options`, and returns the
    /// kernels named in `kernels`.
    ///
    /// Sources are OpenCL C 1.2. A driver for another language must define the OpenCL keywords and functions
    /// (`__kernel`, `__global`, `get_global_id`, `barrier`) before the sources.
    ///
    /// # Errors
    /// [`Error::Build`] with the log of the compiler, and [`Error::Device`] if a call fails.
    fn compile(&mut self, sources: &[&str], kernels: &[&str], options: &str) -> Result<Built, Error>;

    /// Enqueues a kernel with `groups` work groups of `local` items each.
    fn launch(
        &mut self,
        kernel: &dyn Any,
        groups: usize,
        local: usize,
        args: &[Argument<'_>],
    ) -> Result<(), Error>;

    /// Starts what is enqueued, without synchronisation; some drivers begin with nothing before a synchronisation.
    fn flush(&mut self) -> Result<(), Error>;

    /// Begins a second queue, beside the queue of the other commands: its commands run after all commands that
    /// have been enqueued so far, at the same time as later ones. Reads the first `bytes` bytes of `from` there, into
    /// the memory of `read`, which the driver makes if there is none; does not synchronise. Each `read` has memory and
    /// event of its own, so several are under way at once. A read that is under way in the same one ends first, and so
    /// does one that is dropped.
    fn begin_read(&mut self, from: &Object, bytes: usize, read: &mut Option<Object>) -> Result<(), Error>;

    /// Waits for the read that [`begin_read`](Self::begin_read) has begun in `read`, and copies its bytes to `host`, which
    /// has their number. Starts what has been enqueued since.
    fn end_read(&mut self, read: &mut Object, host: &mut [u8]) -> Result<(), Error>;

    /// Writes bytes at an offset of a buffer on the second queue, and synchronises. Commands enqueued later see them,
    /// and no command that may still run uses the buffer.
    fn write_beside(&mut self, to: &Object, start: usize, host: &[u8]) -> Result<(), Error>;

    /// Waits for everything enqueued so far, and then records times of commands, or records none.
    fn record(&mut self, on: bool) -> Result<(), Error>;

    /// Waits for everything enqueued so far, and returns the recorded commands since the last call, in the order in
    /// which they were enqueued: kernels, and transfers of the second queue.
    fn recorded(&mut self) -> Result<Vec<Recorded>, Error>;

    /// Waits for everything enqueued so far, on both queues.
    fn finish(&mut self) -> Result<(), Error>;

    /// Returns the work-group size that this process or an earlier process has stored for these options.
    fn kept_local(&self, _options: &str) -> Option<usize> {
        None
    }

    /// Stores the work-group size for these options, if the driver has a cache.
    fn keep_local(&self, _options: &str, _local: usize) {}
}

/// A command that a queue has run. Times are nanoseconds of the clock of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The name of the kernel, or `read`, `write` of the second queue.
    pub name: String,
    /// When the host enqueued it.
    pub queued: u64,
    /// When it began to run.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

/// How the host uses mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The host only reads.
    Read,
    /// The host overwrites all of the memory; the old contents are not needed.
    Overwrite,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A buffer.
    Memory(&'a Object),
    /// A number of type [`Type::Index`].
    Index(u32),
    /// A number of type [`Type::Length`].
    Length(u64),
    /// A number of type [`Type::Single`].
    Single(f32),
    /// A number of type [`Type::Double`].
    Double(f64),
}

/// Compiled kernels.
pub struct Built {
    /// The kernels in the order in which they were requested.
    pub kernels: Vec<Kernel>,
    /// Whether the compiler ran; `false` if the program was in a cache or is shared with another backend.
    pub compiled: bool,
}

/// A kernel.
pub struct Kernel {
    /// The kernel object of the driver.
    pub object: Box<dyn Any + Send>,
    /// The type of each parameter, or of the entries that it points to; `None` if the driver does not report
    /// the type. Empty if the driver reports no types at all.
    pub parameters: Vec<Option<Type>>,
    /// The largest number of items in a work group, at least 1.
    pub most: usize,
}

/// The type of a parameter, or of the entries of a buffer. `Display` writes the name used in the sources.
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
    /// Any other type. No argument has this type.
    Other,
}

impl Type {
    /// Returns the type of `T`.
    pub(crate) fn of<T: Real>() -> Self {
        if size_of::<T>() == 4 { Self::Single } else { Self::Double }
    }

    /// Returns the size of a number in bytes.
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
