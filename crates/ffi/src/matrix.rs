//! Matrices from arrays of C, with what setups may know beside them.

use std::fmt::Display;
use std::sync::Arc;

use coarsen::AnyError;
use coarsen::sparse::{Bsr, NearKernel, OwnedSystem, Pattern, Zeros, detect_block_size};

use crate::status::{Failure, array, call, coarsen_status, give, object_mut, raise, take};
use crate::threads::run;

/// A square sparse matrix of dense blocks, perhaps with the coordinates of its nodes and a near-kernel. A solver and a preconditioner
/// copy what they need.
pub struct coarsen_matrix {
    pub(crate) system: OwnedSystem<f64>,
}

/// Indices in the type of the library; a negative or too large one is named.
fn indices<I: Copy + Display, J: TryFrom<I>>(all: &[I], what: &str) -> Result<Vec<J>, Failure> {
    let whole: Option<Vec<J>> = all.iter().map(|&i| J::try_from(i).ok()).collect();
    whole.ok_or_else(|| {
        let wrong = all.iter().enumerate().find(|(_, i)| J::try_from(**i).is_err());
        let at = wrong.map_or(String::new(), |(k, i)| format!(" {k} is {i}, which"));
        Failure::argument(format!("{what}{at} is no index"))
    })
}

/// # Safety
/// As [`array`], for arrays of the lengths that [`coarsen_matrix_new_i32`] gives.
unsafe fn matrix<I: Copy + Display>(
    (rows, blocks, block): (usize, usize, usize),
    offsets: *const I,
    columns: *const I,
    values: *const f64,
) -> Result<coarsen_matrix, Failure>
where
    usize: TryFrom<I>,
    u32: TryFrom<I>,
{
    let many = |what: &str| Failure::argument(format!("the matrix has too many {what}"));
    let offset_count = rows.checked_add(1).ok_or_else(|| many("rows"))?;
    let size = block.checked_mul(block).and_then(|size| size.checked_mul(blocks));
    let size = size.ok_or_else(|| many("values"))?;
    // SAFETY: promised by the caller.
    let arrays = unsafe {
        (
            array(offsets, offset_count, "offsets")?,
            array(columns, blocks, "columns")?,
            array(values, size, "values")?,
        )
    };
    let offsets = indices::<I, usize>(arrays.0, "offset")?;
    let columns = indices::<I, u32>(arrays.1, "column")?;
    let build = || -> Result<_, AnyError> {
        let pattern = Arc::new(Pattern::new(rows, offsets, columns)?);
        let matrix = Bsr::new(pattern, (block, block), arrays.2.to_vec())?;
        matrix.check_finite()?;
        Ok(coarsen_matrix { system: OwnedSystem::from(matrix) })
    };
    // SAFETY: numbers alone cross.
    unsafe { run(build) }?.map_err(raise)
}

/// Copies a square matrix from compressed rows, in `*matrix`. Both triangles of a symmetric matrix are stored.
///
/// There are `rows` rows of blocks and `blocks` blocks of `block` x `block` numbers; with `block` 1 the arrays are those of CSR.
/// `offsets` has `rows` + 1 entries, which begin with 0 and end with `blocks`; `columns` has `blocks` entries, which increase within a
/// row; `values` has `blocks` * `block` * `block` numbers, each block row by row. A block should have the unknowns of a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_matrix_new_i32(
    rows: usize,
    blocks: usize,
    block: usize,
    offsets: *const i32,
    columns: *const i32,
    values: *const f64,
    matrix: *mut *mut coarsen_matrix,
) -> coarsen_status {
    // SAFETY: as the crate says.
    unsafe { give(matrix, || self::matrix((rows, blocks, block), offsets, columns, values)) }
}

/// As coarsen_matrix_new_i32(), with indices of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_matrix_new_i64(
    rows: usize,
    blocks: usize,
    block: usize,
    offsets: *const i64,
    columns: *const i64,
    values: *const f64,
    matrix: *mut *mut coarsen_matrix,
) -> coarsen_status {
    // SAFETY: as the crate says.
    unsafe { give(matrix, || self::matrix((rows, blocks, block), offsets, columns, values)) }
}

/// Groups the unknowns of a node, which have consecutive numbers, in blocks of `size` x `size`; places that are not stored become
/// zeros. With 0 the size is that which needs the fewest bytes. With scalars in place of blocks, elasticity needs two to four times
/// as many iterations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_matrix_set_block_size(
    matrix: *mut coarsen_matrix,
    size: usize,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let coarsen_matrix { system } = unsafe { object_mut(matrix, "matrix") }?;
        let regroup = || {
            let known = system.matrix.block();
            let size = match size {
                0 if known == (1, 1) => detect_block_size(system.matrix.pattern()),
                0 => known.0,
                size => size,
            };
            if (size, size) != known {
                system.matrix = system.matrix.reblock((size, size), Zeros::Keep)?;
            }
            Ok(())
        };
        // SAFETY: numbers alone cross.
        unsafe { run(regroup) }?.map_err(|error: coarsen::sparse::SparseError| raise(error))
    })
}

/// Copies the coordinates of the nodes, in any unit of length; rigid-body modes follow from them. `points` has `dimension` (1, 2 or 3)
/// numbers for each of `nodes` nodes, which are as many as the rows of blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_matrix_set_coordinates(
    matrix: *mut coarsen_matrix,
    nodes: usize,
    dimension: usize,
    points: *const f64,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let coarsen_matrix { system } = unsafe { object_mut(matrix, "matrix") }?;
        if !(1..=3).contains(&dimension) {
            return Err(Failure::argument(format!("dimension is {dimension}, but must be 1, 2 or 3")));
        }
        let expected = system.matrix.pattern().rows();
        if nodes != expected {
            let (what, found) = ("coordinates (one point for each row of blocks)", nodes);
            return Err(raise(coarsen::Error::Shape { what, expected, found }));
        }
        // SAFETY: as the crate says; the product is at most three times the rows, which fit 32 bits.
        let points = unsafe { array(points, nodes * dimension, "points") }?;
        if let Some(at) = points.iter().position(|v| !v.is_finite()) {
            let index = at / dimension;
            return Err(raise(coarsen::Error::NotFinite { what: "coordinates", index }));
        }
        let point = |p: &[f64]| std::array::from_fn(|k| p.get(k).copied().unwrap_or(0.0));
        system.positions = points.chunks_exact(dimension).map(point).collect();
        Ok(())
    })
}

/// Copies vectors v with A v small, such as rigid-body modes. `rows` has `count` numbers for each of `n` unknowns: row by row, one
/// vector in each column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_matrix_set_near_kernel(
    matrix: *mut coarsen_matrix,
    n: usize,
    count: usize,
    rows: *const f64,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let coarsen_matrix { system } = unsafe { object_mut(matrix, "matrix") }?;
        let expected = system.matrix.shape().0;
        if n != expected {
            let (what, found) = ("near-kernel (one row for each unknown)", n);
            return Err(raise(coarsen::Error::Shape { what, expected, found }));
        }
        let size = n.checked_mul(count).ok_or_else(|| Failure::argument("there are too many vectors"))?;
        // SAFETY: as the crate says.
        let values = unsafe { array(rows, size, "rows") }?;
        let vectors = NearKernel::from_rows(count, values.to_vec()).map_err(raise)?;
        system.near_kernel = Some(vectors).filter(|_| count > 0);
        Ok(())
    })
}

/// Frees a matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_matrix_free(matrix: *mut coarsen_matrix) {
    // SAFETY: as the crate says.
    unsafe { take(matrix) }
}
