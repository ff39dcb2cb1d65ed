//! OpenCL C sources as constants.
//!
//! They are compiled by the driver of the device, in the order of [`ALL`], as one program. Every kernel bears the prefix
//! `coarsen_` (a kernel called `dot` would collide with the language) and names its twin in Rust.
//!
//! | file | what |
//! |---|---|
//! | `real.cl` | the types: what build options define |
//! | `scalar.cl` | arithmetic on promised scalars |
//! | `vector.cl` | entry-wise operations |
//! | `reduce.cl` | sums with the same bits at every run |
//! | `matrix.cl` | products with block sparse rows |

/// The types, and what build options must define.
pub const REAL: &str = include_str!("../real.cl");
/// Arithmetic on slots.
pub const SCALAR: &str = include_str!("../scalar.cl");
/// Entry-wise vector operations.
pub const VECTOR: &str = include_str!("../vector.cl");
/// Sums over vectors.
pub const REDUCE: &str = include_str!("../reduce.cl");
/// Products with block sparse matrices; uses [`REDUCE`].
pub const MATRIX: &str = include_str!("../matrix.cl");

/// One program, in the order of use.
pub const ALL: [&str; 5] = [REAL, SCALAR, VECTOR, REDUCE, MATRIX];

#[cfg(test)]
mod tests {
    #[test]
    fn kernels_bear_the_prefix_and_name_their_twin() {
        for source in super::ALL {
            let lines: Vec<&str> = source.lines().collect();
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("__kernel")) {
                let declaration =
                    if line.contains('(') && !line.ends_with("))") { line } else { &lines[at + 1] };
                assert!(declaration.contains("void coarsen_"), "{declaration}");
                assert!(lines[at - 1].contains("Twin: "), "{declaration} names no twin");
            }
        }
    }
}
