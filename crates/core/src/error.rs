//! Failures of the machine or of the input.

use crate::{NotConverged, PreconditionerKind};

/// The property of a preconditioner of this kind, as text of an error message.
fn needs(kind: PreconditionerKind) -> &'static str {
    match kind {
        PreconditionerKind::Symmetric => "symmetric positive definite and fixed",
        PreconditionerKind::Linear => "the same linear map at every application",
        PreconditionerKind::Variable => "a map of vectors",
    }
}

/// A failure of the machine or of the input. The way a solve ended is reported as an
/// [`Outcome`](crate::Outcome).
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two objects have incompatible sizes.
    #[error("{what}: found size {found}, expected {expected}; a vector or matrix belongs to another system")]
    Shape {
        /// The object that does not fit.
        what: &'static str,
        /// The size that the other object requires.
        expected: usize,
        /// The size of this object.
        found: usize,
    },
    /// A vector of the right length but of another layout.
    #[error(
        "{what} has the right length, but is stored on another device or split among ranks in another way; create it with `like`"
    )]
    Layout {
        /// The vector that does not fit.
        what: &'static str,
    },
    /// A square operator is needed.
    #[error("the operator is {rows} x {columns}, but a square one is needed")]
    NotSquare {
        /// The number of rows found.
        rows: usize,
        /// The number of columns found.
        columns: usize,
    },
    /// NaN or infinity in the input.
    #[error("{what} holds NaN or infinity at index {index}; check the code that computed it")]
    NotFinite {
        /// The object that contains the NaN or infinity.
        what: &'static str,
        /// The index of the entry, in scalars.
        index: usize,
    },
    /// The sparsity pattern differs from the expected pattern.
    #[error("{what} has another sparsity pattern than the object it updates; build that object again")]
    Pattern {
        /// The object.
        what: &'static str,
    },
    /// A value outside the range of the precision in which it is stored.
    #[error(
        "the largest value of {what} is {value:e}, outside the range of {storage}; scale the system, or store it in f64"
    )]
    Range {
        /// The object.
        what: &'static str,
        /// The largest value of the object.
        value: f64,
        /// The precision of the storage.
        storage: &'static str,
    },
    /// A count does not fit its index type.
    #[error("{what}: {count} exceeds the limit {limit}; split the system, or use larger blocks")]
    TooLarge {
        /// The quantity that is counted.
        what: &'static str,
        /// The count found.
        count: usize,
        /// The largest count allowed.
        limit: usize,
    },
    /// A buffer of fixed size is too small for the entries; its content is unchanged.
    #[error(
        "{what}: {count} entries are needed, but the capacity is {capacity}; create it again with a capacity of {count}"
    )]
    Capacity {
        /// The quantity that is counted.
        what: &'static str,
        /// The count found.
        count: usize,
        /// The capacity of the buffer.
        capacity: usize,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}, but must be {range}")]
    Parameter {
        /// The path of the parameter in code.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The range allowed.
        range: &'static str,
    },
    /// A preconditioner that the method cannot use.
    #[error(
        "{method} needs a preconditioner that is {}, but this one {}", needs(*.needed), .found.instead_of(*.needed)
    )]
    Preconditioner {
        /// The method.
        method: &'static str,
        /// The kind that the method requires.
        needed: PreconditionerKind,
        /// The kind of the preconditioner given.
        found: PreconditionerKind,
    },
    /// A device call failed.
    #[error("device call {call} failed with status {status}; the device may be lost or out of memory")]
    Device {
        /// The call.
        call: &'static str,
        /// The status of the driver.
        status: i32,
    },
    /// Too little device memory is free.
    #[error(
        "{needed} bytes of device memory are needed, but {available} are free; take a smaller system, f32 storage, or another device"
    )]
    Memory {
        /// The number of bytes requested.
        needed: u64,
        /// The number of free bytes.
        available: u64,
    },
    /// Something that a device stores in one buffer exceeds its largest single allocation.
    #[error(
        "{what}{} takes {needed} bytes in one buffer, but the device allocates at most {limit}; store it in f32, divide the system among ranks, or compute it on the host or another device",
        .row.map_or(String::new(), |row| format!(" {row}"))
    )]
    Allocation {
        /// What is stored.
        what: &'static str,
        /// The row of the matrix, in scalars, if this row alone is too long.
        row: Option<usize>,
        /// The number of bytes requested.
        needed: u64,
        /// The largest single allocation of the device in bytes.
        limit: u64,
    },
    /// The compiler of a device could not compile a program.
    #[error("the compiler of {device} could not compile the kernels: {log}")]
    Build {
        /// The name of the device.
        device: String,
        /// The log of the compiler.
        log: String,
    },
    /// A thread pool could not be started.
    #[error("a pool of {threads} threads could not be started; use fewer threads")]
    Threads {
        /// The number of threads requested.
        threads: usize,
    },
    /// The ranks of a distributed solve cannot continue.
    #[error("rank {rank} cannot continue after {stage}: {reason}")]
    Ranks {
        /// The rank that found the fault.
        rank: usize,
        /// The communication during which it was found.
        stage: &'static str,
        /// The fault, its likely cause and a remedy.
        reason: String,
    },
    /// A solve ended without convergence, and the caller requested an error.
    #[error(transparent)]
    NotConverged(#[from] NotConverged),
}

/// Implements `Debug` with the text of [`Display`](std::fmt::Display), so that an error returned from `main` prints as a
/// sentence.
#[macro_export]
macro_rules! debug_as_display {
    ($error:ty) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
debug_as_display!(Error);

#[cfg(test)]
mod tests {
    use super::*;

    /// The advice names only methods that accept the given preconditioner.
    #[test]
    fn advice_follows_the_kind_found() {
        let refusal = |needed, found| Error::Preconditioner { method: "Cg", needed, found }.to_string();
        let unsymmetric = refusal(PreconditionerKind::Symmetric, PreconditionerKind::Linear);
        assert!(
            unsymmetric.contains("Gmres or BiCgStab") && !unsymmetric.contains("lexible"),
            "{unsymmetric}"
        );
        let varying = refusal(PreconditionerKind::Symmetric, PreconditionerKind::Variable);
        assert!(varying.contains("FlexibleCg") && varying.contains("flexible Gmres"), "{varying}");
        let varying = refusal(PreconditionerKind::Linear, PreconditionerKind::Variable);
        assert!(!varying.contains("FlexibleCg") && varying.contains("flexible"), "{varying}");
    }
}
