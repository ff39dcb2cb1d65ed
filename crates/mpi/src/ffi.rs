//! The calls of MPI, as safe functions. All `unsafe` code of the crate is in this file.
//!
//! Every call needs a running MPI. `session` keeps MPI running as long as a communicator or a message exists:
//! both hold the session, and it ends MPI when the last is dropped. A program that starts MPI itself must keep it
//! running for as long, as for every MPI object.
//!
//! MPI is asked for the level `MPI_THREAD_SERIALIZED`: any thread may call it, one at a time. Every function takes
//! [`lock`] for its calls. Handles belong to the process and not to a thread, so they can be sent.

use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi::ffi::*;

/// The text of an error of MPI.
pub(crate) type Fault = String;

static CALLS: Mutex<()> = Mutex::new(());

/// The right to call MPI.
fn lock() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check(code: c_int) -> Result<(), Fault> {
    if code as u32 == MPI_SUCCESS {
        return Ok(());
    }
    let (mut text, mut length) = ([0_u8; MPI_MAX_ERROR_STRING as usize], 0);
    // SAFETY: the buffer has the length that MPI demands, and `length` is valid for a write.
    unsafe { MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = &text[..(length.max(0) as usize).min(text.len())];
    Err(String::from_utf8_lossy(text).into_owned())
}

fn is_truncation(code: c_int) -> bool {
    let mut class = 0;
    // SAFETY: `kind` is valid for a write.
    let found = unsafe { MPI_Error_class(code, &mut class) };
    found as u32 == MPI_SUCCESS && class as u32 == MPI_ERR_TRUNCATE
}

/// The type of all messages.
fn byte() -> MPI_Datatype {
    // SAFETY: a constant of the C library, which is never written.
    unsafe { RSMPI_UINT8_T }
}

fn bytes_in(status: &MPI_Status) -> usize {
    let mut count = 0;
    // SAFETY: the status was filled by MPI, and `count` is valid for a write.
    unsafe { MPI_Get_count(status, byte(), &mut count) };
    count.max(0) as usize
}

/// The communicator of all processes.
pub(crate) fn world() -> MPI_Comm {
    // SAFETY: a constant of the C library, which is never written.
    unsafe { RSMPI_COMM_WORLD }
}

/// The largest tag of a message. It is an attribute of the communicator of all processes only.
pub(crate) fn largest_tag() -> i64 {
    let _lock = lock();
    let (mut value, mut flag) = (ptr::null_mut::<c_int>(), 0);
    // SAFETY: the attribute is a pointer to an int, which MPI owns; both pointers are valid for writes.
    unsafe {
        MPI_Comm_get_attr(RSMPI_COMM_WORLD, MPI_TAG_UB as c_int, (&raw mut value).cast(), &mut flag);
        if flag == 0 || value.is_null() { 32767 } else { i64::from(*value) }
    }
}

/// Ends all processes of the group, and of most MPI libraries all processes that were started together.
pub(crate) fn abort(comm: MPI_Comm, code: i32) -> ! {
    let _lock = lock();
    // SAFETY: the handle is that of a communicator, and MPI runs.
    unsafe { MPI_Abort(comm, code) };
    std::process::exit(code) // MPI_Abort does not return
}

/// A call under way.
pub(crate) struct Pending(MPI_Request);

// SAFETY: handles belong to the process, and calls take turns.
unsafe impl Send for Pending {}

impl Pending {
    /// Whether the call is complete.
    pub(crate) fn test(&mut self) -> Result<bool, Fault> {
        let _lock = lock();
        let (mut flag, mut status) = (0, MaybeUninit::uninit());
        // SAFETY: all pointers are valid for writes; the request is active, or null after completion.
        check(unsafe { MPI_Test(&mut self.0, &mut flag, status.as_mut_ptr()) })?;
        Ok(flag != 0)
    }
}

/// A barrier under way on all processes of a communicator.
pub(crate) fn barrier(comm: MPI_Comm) -> Result<Pending, Fault> {
    let _lock = lock();
    // SAFETY: the handle is a constant of the C library; the request is written by the next call.
    let mut request = unsafe { RSMPI_REQUEST_NULL };
    // SAFETY: the communicator is valid, and `request` is valid for a write.
    check(unsafe { MPI_Ibarrier(comm, &mut request) })?;
    Ok(Pending(request))
}

/// A duplication of a communicator under way. MPI writes the new handle into memory that nothing else owns: a `Box` that
/// is moved may be taken to be the only way to its memory. The memory is leaked if the call never completes.
pub(crate) struct Duplication {
    /// `None` after the call is complete.
    comm: Option<NonNull<MPI_Comm>>,
    pending: Pending,
    pub(crate) rank: usize,
    size: usize,
}

impl Duplication {
    /// The new communicator, as soon as the call is complete.
    pub(crate) fn test(&mut self) -> Result<Option<Group>, Fault> {
        if !self.pending.test()? {
            return Ok(None);
        }
        // SAFETY: the memory is that of a box, and MPI no longer writes into it, since the request has ended.
        let comm = self.comm.take().map(|comm| *unsafe { Box::from_raw(comm.as_ptr()) });
        Ok(comm.map(|comm| Group { comm, rank: self.rank, size: self.size }))
    }
}

/// A communicator of our own. Its messages cannot be mixed up with those of the program.
pub(crate) struct Group {
    comm: MPI_Comm,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

// SAFETY: handles belong to the process, and calls take turns.
unsafe impl Send for Group {}
// SAFETY: as above; functions with `&self` do not change the handle.
unsafe impl Sync for Group {}

impl Group {
    /// Begins the duplication of a communicator.
    pub(crate) fn duplicate(of: MPI_Comm) -> Result<Duplication, Fault> {
        let _lock = lock();
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the communicator is valid, and the numbers are valid for writes.
        check(unsafe { MPI_Comm_rank(of, &mut rank) })?;
        // SAFETY: as above.
        check(unsafe { MPI_Comm_size(of, &mut size) })?;
        // SAFETY: constants of the C library, which are never written.
        let (null, mut request) = unsafe { (RSMPI_COMM_NULL, RSMPI_REQUEST_NULL) };
        let comm = NonNull::from(Box::leak(Box::new(null)));
        // SAFETY: the memory lives until `Duplication::test` has seen the end of the call.
        check(unsafe { MPI_Comm_idup(of, comm.as_ptr(), &mut request) })?;
        let (rank, size) = (rank as usize, size as usize);
        Ok(Duplication { comm: Some(comm), pending: Pending(request), rank, size })
    }

    /// Makes calls return errors instead of ending the process.
    pub(crate) fn return_errors(&self) -> Result<(), Fault> {
        let _lock = lock();
        // SAFETY: both handles are valid.
        check(unsafe { MPI_Comm_set_errhandler(self.comm, RSMPI_ERRORS_RETURN) })
    }

    pub(crate) fn handle(&self) -> MPI_Comm {
        self.comm
    }

    /// Begins to send; `None` if there are more bytes than a message of MPI has.
    pub(crate) fn send(&self, to: usize, tag: i32, data: Vec<u8>) -> Option<Result<Message, Fault>> {
        let count = c_int::try_from(data.len()).ok()?;
        // SAFETY: a constant of the C library, which is never written.
        let request = unsafe { RSMPI_REQUEST_NULL };
        let mut message =
            Message { request, data: ManuallyDrop::new(data), receives: false, under_way: true };
        let _lock = lock();
        let from: *const c_void = message.data.as_ptr().cast();
        // SAFETY: the buffer holds `count` bytes and is neither moved, changed nor freed while the message is under
        // way: `Message` owns it, and leaks it if it is dropped before.
        let code =
            unsafe { MPI_Isend(from, count, byte(), to as c_int, tag, self.comm, &mut message.request) };
        Some(message.begun(code))
    }

    /// Begins to receive; `None` if there are more bytes than a message of MPI has.
    pub(crate) fn receive(&self, from: usize, tag: i32, buffer: Vec<u8>) -> Option<Result<Message, Fault>> {
        let count = c_int::try_from(buffer.len()).ok()?;
        // SAFETY: a constant of the C library, which is never written.
        let request = unsafe { RSMPI_REQUEST_NULL };
        let mut message =
            Message { request, data: ManuallyDrop::new(buffer), receives: true, under_way: true };
        let _lock = lock();
        let to: *mut c_void = message.data.as_mut_ptr().cast();
        // SAFETY: as in `send`; nothing reads the buffer before the message has arrived.
        let code =
            unsafe { MPI_Irecv(to, count, byte(), from as c_int, tag, self.comm, &mut message.request) };
        Some(message.begun(code))
    }

    /// A message with this tag from any rank, if one has arrived.
    pub(crate) fn arrived(&self, tag: i32) -> Result<Option<Vec<u8>>, Fault> {
        let _lock = lock();
        let (mut flag, mut status) = (0, MaybeUninit::<MPI_Status>::uninit());
        // SAFETY: the communicator is valid, and both pointers are valid for writes.
        check(unsafe { MPI_Iprobe(RSMPI_ANY_SOURCE, tag, self.comm, &mut flag, status.as_mut_ptr()) })?;
        if flag == 0 {
            return Ok(None);
        }
        // SAFETY: MPI fills the status if the flag is set.
        let status = unsafe { status.assume_init() };
        let mut data = vec![0; bytes_in(&status)];
        let (to, count) = (data.as_mut_ptr().cast(), data.len() as c_int);
        // SAFETY: the buffer holds `count` bytes. The message has arrived, so the call does not wait.
        check(unsafe {
            MPI_Recv(to, count, byte(), status.MPI_SOURCE, tag, self.comm, RSMPI_STATUS_IGNORE)
        })?;
        Ok(Some(data))
    }

    /// Frees the communicator; all ranks do it, and no message is under way.
    pub(crate) fn free(&mut self) {
        let _lock = lock();
        // SAFETY: the handle is valid, and is not used again.
        unsafe { MPI_Comm_free(&mut self.comm) };
    }
}

/// A message under way, and its buffer.
pub(crate) struct Message {
    request: MPI_Request,
    data: ManuallyDrop<Vec<u8>>,
    receives: bool,
    under_way: bool,
}

// SAFETY: handles belong to the process, and calls take turns.
unsafe impl Send for Message {}

/// How far a message is.
pub(crate) enum Progress {
    UnderWay,
    /// Sent, or received completely.
    Complete,
    /// Received, but with another number of bytes.
    OtherLength(usize),
}

impl Message {
    fn begun(mut self, code: c_int) -> Result<Self, Fault> {
        let begun = check(code);
        self.under_way = begun.is_ok();
        begun.map(|()| self)
    }

    /// Whether the message is complete.
    pub(crate) fn test(&mut self) -> Result<Progress, Fault> {
        if !self.under_way {
            return Ok(Progress::Complete);
        }
        let _lock = lock();
        let (mut flag, mut status) = (0, MaybeUninit::<MPI_Status>::zeroed());
        // SAFETY: the request is active, and all pointers are valid for writes.
        let code = unsafe { MPI_Test(&mut self.request, &mut flag, status.as_mut_ptr()) };
        // SAFETY: integers, for which zeros are valid if MPI has not filled them.
        let status = unsafe { status.assume_init() };
        if self.receives && is_truncation(code) {
            self.under_way = false;
            return Ok(Progress::OtherLength(bytes_in(&status)));
        }
        check(code)?;
        if flag == 0 {
            return Ok(Progress::UnderWay);
        }
        self.under_way = false;
        match bytes_in(&status) {
            found if self.receives && found != self.data.len() => Ok(Progress::OtherLength(found)),
            _ => Ok(Progress::Complete),
        }
    }

    /// The buffer of a complete message; an empty one of a message under way, whose buffer is leaked.
    pub(crate) fn into_data(mut self) -> Vec<u8> {
        if self.under_way { Vec::new() } else { std::mem::take(&mut *self.data) }
    }
}

impl Drop for Message {
    /// MPI may still read or write the buffer of a message under way, so that buffer is leaked. This happens after
    /// faults only.
    fn drop(&mut self) {
        if !self.under_way {
            // SAFETY: the buffer is not used again.
            return unsafe { ManuallyDrop::drop(&mut self.data) };
        }
        if self.receives {
            let _lock = lock();
            // SAFETY: the request is active, and its buffer is never freed.
            unsafe {
                MPI_Cancel(&mut self.request);
                MPI_Request_free(&mut self.request);
            }
        }
    }
}
