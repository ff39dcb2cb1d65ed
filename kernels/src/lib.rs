//! OpenCL C sources as constants.
//!
//! The driver of the device compiles each list of this crate as one program. Every kernel has the prefix
//! `coarsen_`, because a kernel called `dot` would collide with the language. A comment above each kernel
//! names the function of the host that computes the same.
//!
//! | file | what |
//! |---|---|
//! | `real.cl` | types, defined by build options |
//! | `tree.cl` | partial sums |
//! | `scalar.cl` | arithmetic on scalars in device memory |
//! | `vector.cl` | entry-wise operations |
//! | `reduce.cl` | sums that are bitwise the same in every run |
//! | `three.cl` | 3x3 blocks on processors |
//! | `matrix.cl` | products and relaxation with block sparse rows |
//! | `rows.cl` | where the blocks of such a row are |
//! | `diagonal.cl` | inverses of the diagonal blocks of such rows |
//! | `galerkin.cl` | coarse matrices |
//! | `filter.cl` | constraints of single nodes filtered out of a matrix |
//! | `sort.cl` | prefix sums of a list, a stable sort |
//! | `assembly.cl` | matrices from streams of blocks |
//! | `elements.cl` | energies of elements; the source of one energy is added, such as `springs.cl` of `crates/elastic` |
//! | `step.cl` | the inertia of a time step |
//! | `blocks.cl`, `dense.cl` | small and large blocks along a diagonal |
//! | `border.cl` | entries that other ranks need, and sums of theirs |
//! | `contact/` | contact of triangles: boxes, cells, pairs, those that are near, and the bound of a step |
//! | `schwarz/` | multilevel additive Schwarz: structure, numbers, contact, application |

const REAL: &str = include_str!("../real.cl");
const ROWS: &str = include_str!("../rows.cl");
const TREE: &str = include_str!("../tree.cl");
const THREE: &str = include_str!("../three.cl");

/// The operations on scalars, entry-wise operations and sums, which every backend needs.
pub const VECTOR: [&str; 5] =
    [REAL, TREE, include_str!("../scalar.cl"), include_str!("../vector.cl"), include_str!("../reduce.cl")];
/// Block sparse matrices of one block size in one layout.
pub const MATRIX: [&str; 4] = [REAL, TREE, THREE, include_str!("../matrix.cl")];
/// Inverses of the diagonal blocks of such matrices.
pub const DIAGONAL: [&str; 3] = [REAL, ROWS, include_str!("../diagonal.cl")];
/// Galerkin products of matrices of one block size each.
pub const GALERKIN: [&str; 2] = [REAL, include_str!("../galerkin.cl")];
/// Constraints of single nodes filtered out of matrices of one block size in one layout.
pub const FILTER: [&str; 4] = [REAL, TREE, ROWS, include_str!("../filter.cl")];
/// Prefix sums and sorts of lists.
pub const SORT: [&str; 2] = [REAL, include_str!("../sort.cl")];
/// Matrices from streams of blocks.
pub const ASSEMBLY: [&str; 3] = [REAL, ROWS, include_str!("../assembly.cl")];
/// Small dense blocks of one size.
pub const BLOCKS: [&str; 4] = [REAL, TREE, THREE, include_str!("../blocks.cl")];
/// Entries at the border of a rank.
pub const BORDER: [&str; 2] = [REAL, include_str!("../border.cl")];
/// Energies of elements, without the functions of one element.
pub const ELEMENTS: [&str; 3] = [REAL, TREE, include_str!("../elements.cl")];
/// The inertia of a time step.
pub const STEP: [&str; 3] = [REAL, TREE, include_str!("../step.cl")];
/// Contact of triangles, without the detection of a pair.
pub const CONTACT: [&str; 7] = [
    REAL,
    include_str!("../contact/surface.cl"),
    include_str!("../contact/boxes.cl"),
    include_str!("../contact/cells.cl"),
    include_str!("../contact/pairs.cl"),
    include_str!("../contact/touches.cl"),
    include_str!("../contact/bound.cl"),
];
/// Dense blocks of any size.
pub const DENSE: [&str; 3] = [REAL, TREE, include_str!("../dense.cl")];

const SCHWARZ_LISTS: &str = include_str!("../schwarz/lists.cl");

/// The inverses of multilevel domains, computed from a matrix.
pub const SCHWARZ_NUMBERS: [&str; 5] = [
    REAL,
    ROWS,
    SCHWARZ_LISTS,
    include_str!("../schwarz/numbers.cl"),
    include_str!("../schwarz/eliminate.cl"),
];
/// The structure of multilevel domains.
pub const SCHWARZ_STRUCTURE: [&str; 4] = [REAL, ROWS, SCHWARZ_LISTS, include_str!("../schwarz/structure.cl")];
/// Where contact blocks meet in multilevel domains.
pub const SCHWARZ_CONTACT: [&str; 2] = [REAL, include_str!("../schwarz/contact.cl")];
/// The application of multilevel domains.
pub const SCHWARZ: [&str; 3] = [REAL, SCHWARZ_LISTS, include_str!("../schwarz/apply.cl")];

#[cfg(test)]
mod tests {
    #[test]
    fn kernels_bear_the_prefix_and_name_the_host() {
        let all = [
            &super::VECTOR[..],
            &super::MATRIX,
            &super::SORT,
            &super::ASSEMBLY,
            &super::DIAGONAL,
            &super::GALERKIN,
            &super::FILTER,
            &super::BLOCKS,
            &super::BORDER,
            &super::ELEMENTS,
            &super::STEP,
            &super::CONTACT,
            &super::DENSE,
            &super::SCHWARZ,
            &super::SCHWARZ_NUMBERS,
            &super::SCHWARZ_STRUCTURE,
            &super::SCHWARZ_CONTACT,
        ]
        .concat();
        for source in all {
            let lines: Vec<&str> = source.lines().collect();
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("__kernel")) {
                let declaration =
                    if line.contains('(') && !line.ends_with("))") { line } else { &lines[at + 1] };
                assert!(declaration.contains("void coarsen_"), "{declaration}");
                assert!(lines[at - 1].contains("Host: "), "{declaration} names no function of the host");
            }
        }
    }
}
