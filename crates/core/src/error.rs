//! When the machine or the input failed.

use crate::{Class, NotConverged};

/// What a method asks of a preconditioner.
fn needs(class: Class) -> &'static str {
    match class {
        Class::Symmetric => "symmetric positive definite and fixed",
        Class::Linear => "the same linear map at every application",
        Class::Variable => "a map of vectors",
    }
}

/// What stops a computation before or outside the mathematics; see [`Outcome`](crate::Outcome) for the rest.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two objects do not fit together.
    #[error("{what}: expected size {expected}, found {found}; a vector or matrix belongs to another system")]
    Shape {
        /// The object that does not fit.
        what: &'static str,
        /// The size its partner asks for.
        expected: usize,
        /// Its own size.
        found: usize,
    },
    /// A vector of the right length that is laid out otherwise.
    #[error(
        "{what} has the right length, but another place or other shares of the ranks; make it with `like`"
    )]
    Layout {
        /// The vector that does not fit.
        what: &'static str,
    },
    /// A square operator is needed.
    #[error("the operator is {rows} x {columns}, but a square one is needed")]
    NotSquare {
        /// Rows found.
        rows: usize,
        /// Columns found.
        columns: usize,
    },
    /// NaN or infinity in the input.
    #[error("{what} holds a value that is not finite at index {index}; look at what computed it")]
    NotFinite {
        /// The object that holds it.
        what: &'static str,
        /// Where it is, in scalars.
        index: usize,
    },
    /// Values of another sparsity pattern.
    #[error("{what} belongs to another sparsity pattern; build it anew")]
    Pattern {
        /// The object.
        what: &'static str,
    },
    /// Values outside the range of the precision they are stored in.
    #[error("{what} reaches {value:e}, outside the range of {storage}; scale the system, or store it in f64")]
    Range {
        /// The object.
        what: &'static str,
        /// Its largest value.
        value: f64,
        /// The precision of the place.
        storage: &'static str,
    },
    /// A count does not fit its index type.
    #[error("{what}: {count} exceeds the limit {limit}; split the system, or use larger blocks")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// More than a buffer of fixed size holds; what it held before is still there.
    #[error(
        "{what}: {count} are needed and there is room for {capacity}; make it anew with room for {count}"
    )]
    Capacity {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there is room for.
        capacity: usize,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}, but must be {range}")]
    Parameter {
        /// Its path, as written in code.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The range allowed.
        range: &'static str,
    },
    /// A method was given a preconditioner it cannot use.
    #[error(
        "{method} needs a preconditioner that is {}, but this one {}", needs(*.needed), .found.instead_of(*.needed)
    )]
    Preconditioner {
        /// The method.
        method: &'static str,
        /// What it needs.
        needed: Class,
        /// What it was given.
        found: Class,
    },
    /// A device call failed.
    #[error("device call {call} failed with status {status}; the device may be lost or out of memory")]
    Device {
        /// The call.
        call: &'static str,
        /// The status of the driver.
        status: i32,
    },
    /// More device memory than is left.
    #[error(
        "{needed} bytes of device memory are needed and {available} are left; take a smaller system, f32 storage, or another device"
    )]
    Memory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes left in all, or the most that one buffer may have where that is less.
        available: u64,
    },
    /// The compiler of a device refused a program.
    #[error("the compiler of {device} refused the kernels: {log}")]
    Build {
        /// The name of the device.
        device: String,
        /// What the compiler said.
        log: String,
    },
    /// A thread pool could not be started.
    #[error("a pool of {threads} threads could not be started; ask for fewer threads")]
    Threads {
        /// The number asked for.
        threads: usize,
    },
    /// A solve ended without convergence, and the caller asked for an error.
    #[error(transparent)]
    NotConverged(#[from] NotConverged),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal advises what takes the preconditioner found, never what would fail with it.
    #[test]
    fn advice_follows_the_class_found() {
        let refusal = |needed, found| Error::Preconditioner { method: "Cg", needed, found }.to_string();
        let unsymmetric = refusal(Class::Symmetric, Class::Linear);
        assert!(
            unsymmetric.contains("Gmres or BiCgStab") && !unsymmetric.contains("lexible"),
            "{unsymmetric}"
        );
        let varying = refusal(Class::Symmetric, Class::Variable);
        assert!(varying.contains("FlexibleCg") && varying.contains("flexible Gmres"), "{varying}");
        let varying = refusal(Class::Linear, Class::Variable);
        assert!(!varying.contains("FlexibleCg") && varying.contains("flexible"), "{varying}");
    }
}
