//! A system in blocks with its diagnosis: the start of `solve` and `compare`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

use coarsen::auto::Problem;
use coarsen::diagnose::{Diagnosis, Finding, diagnose};
use coarsen::sparse::{Bsr, NearKernel, Permutation, Zeros, detect_block_size};

use super::analysis::AnalysisTimes;
use super::renumber;
use super::system::{Input, check_extent};
use crate::arguments::{Given, NullSpace};
use crate::error::Failure;

/// The tolerance for ‖A v‖ of a null vector, relative to ‖|A| |v|‖. Numbers in files have at least 6 digits.
pub(crate) const NULL: f64 = 1e-6;

/// The maximum number of unknowns per node that the number of coordinates may imply: shells have 6, several
/// coupled fields a few more.
const MOST: usize = 12;

/// An input and its analysis before a method is chosen.
pub(crate) struct Ready<'a> {
    pub(crate) input: &'a Input,
    /// The diagnosis of the matrix as it is given.
    pub(crate) diagnosis: Diagnosis,
    /// The matrix in blocks, renumbered by `order`, and what is solved in its place.
    pub(crate) problem: Problem<'a>,
    /// Warnings about the data beside the matrix.
    pub(crate) warnings: Vec<String>,
    /// The order of the nodes in the matrix and its vectors, if it differs from the input.
    pub(crate) order: Option<Permutation>,
    pub(crate) positions: Option<Cow<'a, [[f64; 3]]>>,
    pub(crate) near_kernel: Option<Cow<'a, NearKernel>>,
    /// When the matrix was parsed.
    pub(crate) parsed: Instant,
    /// The times of the analysis steps, here and later in the run.
    pub(crate) analysis: RefCell<AnalysisTimes>,
}

impl<'a> Ready<'a> {
    /// Analyses the matrix, converts it to blocks and reorders it if this saves time. With
    /// `symmetrise`, a matrix that is symmetric to single precision counts as symmetric.
    pub(crate) fn new(given: &Given, input: &'a Input, symmetrise: bool) -> Result<Self, Failure> {
        let (parsed, mut times) = (Instant::now(), AnalysisTimes::default());
        let block = times.time("block size", || block_size(given, input))?;
        let mut matrix = if input.matrix.block() == (block, block) {
            Cow::Borrowed(&input.matrix)
        } else {
            let blocked = times.time("blocks", || input.matrix.reblock((block, block), Zeros::Keep));
            Cow::Owned(blocked.map_err(|_| no_divisor(block, input.b.len()))?)
        };
        let diagnosis = times.time("diagnosis", || diagnose(&matrix));
        // Prescribed rows are those of the given order.
        let renumber = diagnosis.values.as_ref().is_none_or(|values| values.prescribed.is_empty());
        let order = times.time("order", || if renumber { renumber::order(&matrix) } else { None });
        if let Some(order) = &order {
            matrix = Cow::Owned(times.time("permutation", || matrix.permute(order))?);
        }
        let by = order.as_ref();
        let points = input.positions.as_deref().filter(|points| points.len() * block == input.b.len());
        let flat = points.map_or(Ok(()), |points| check_extent(&given.source, points)).err();
        let points = points.filter(|_| flat.is_none());
        let arranged = |points| times.time("positions", || renumber::arranged(by, 1, points));
        let positions = points.map(arranged);
        let arranged = |known| times.time("near-kernel", || renumber::arranged_modes(by, block, known));
        let near_kernel = input.near_kernel.as_ref().map(arranged).transpose()?;
        let null_space = match given.null_space {
            NullSpace::None => None,
            _ => times.time("null space", || null_space(given, input, &matrix, by))?,
        };
        let warnings = match flat {
            Some(flat) => vec![flat.to_string()],
            None => times.time("order of the near-kernel", || by_component(given, input, &matrix, by))?,
        };
        let mut problem = times.time("adaptation", || Problem::new(matrix, &diagnosis, symmetrise));
        problem.null_space = null_space;
        let analysis = RefCell::new(times);
        Ok(Self { input, diagnosis, problem, warnings, order, positions, near_kernel, parsed, analysis })
    }

    /// The matrix of which preconditioners are built.
    pub(crate) fn matrix(&self) -> &Bsr<f64> {
        self.problem.preconditioned()
    }

    /// The findings that are reported: not that constants are in the kernel, if a null space is given.
    pub(crate) fn findings(&self, given: &Given) -> impl Iterator<Item = &Finding> {
        let known = given.null_space != NullSpace::None;
        self.diagnosis.findings.iter().filter(move |f| !(known && matches!(f, Finding::Unconstrained { .. })))
    }

    /// The diagnosis of that matrix.
    pub(crate) fn adapted_diagnosis(&self) -> &Diagnosis {
        self.problem.diagnosis().unwrap_or(&self.diagnosis)
    }
}

/// A warning if the vectors or coordinates of a file are in another order than the unknowns of the matrix: by component and
/// not by node.
fn by_component(
    given: &Given,
    input: &Input,
    a: &Bsr<f64>,
    order: Option<&Permutation>,
) -> Result<Vec<String>, Failure> {
    let n = input.b.len();
    let vectors = match (&given.near_kernel, &given.source.coordinates, &input.near_kernel, &input.positions)
    {
        (Some(_), _, Some(vectors), _) => vectors.clone(),
        (None, Some(_), None, Some(points)) if n == 2 * points.len() || n == 3 * points.len() => {
            NearKernel::rigid_body_modes(points, n / points.len())?
        }
        _ => return Ok(Vec::new()),
    };
    // The matrix in its given order.
    let restored = order.map(|order| a.permute(&order.inverse())).transpose()?;
    let found = vectors.by_component(restored.as_ref().unwrap_or(a))?;
    Ok(found.iter().map(ToString::to_string).collect())
}

/// The block size: the option, otherwise from the coordinates, the problem or the pattern, in this order.
fn block_size(given: &Given, input: &Input) -> Result<usize, Failure> {
    let n = input.b.len();
    let natural = input.matrix.block().0;
    let nodes = input.positions.as_ref().filter(|_| given.source.coordinates.is_some()).map(Vec::len);
    let asked = given.block_size.map(|size| size as usize);
    let size = match (asked, nodes) {
        (Some(size), _) => size,
        (None, Some(nodes)) => match n.checked_div(nodes).unwrap_or(1) {
            size if size > MOST => {
                let file = given.source.coordinates.as_deref().unwrap_or(Path::new(""));
                return Err(Failure::input(
                    file,
                    format!(
                        "{nodes} rows, one for each node, give each node {size} of the {n} unknowns; the file seems to belong to \
                         another system; if {size} is right, give --block-size {size}"
                    ),
                ));
            }
            size => size,
        },
        (None, None) if natural > 1 => natural,
        (None, None) => detect_block_size(input.matrix.pattern()),
    };
    if !n.is_multiple_of(size) {
        return Err(no_divisor(size, n));
    }
    match (nodes, &given.source.coordinates) {
        (Some(nodes), Some(file)) if nodes * size != n => {
            Err(Failure::rows_differ(file, "one per node of --block-size unknowns", n / size, nodes))
        }
        _ => Ok(size),
    }
}

fn no_divisor(size: usize, n: usize) -> Failure {
    Failure::usage(format!(
        "--block-size {size} does not divide the {n} unknowns; leave it out to have it detected"
    ))
}

/// The null space: the vectors of the file, or constants. The constants are one vector per unknown of a node
/// if A maps all these vectors to zero, otherwise a single vector.
fn null_space(
    given: &Given,
    input: &Input,
    a: &Bsr<f64>,
    order: Option<&Permutation>,
) -> Result<Option<NearKernel>, Failure> {
    Ok(match given.null_space {
        NullSpace::None => None,
        NullSpace::File(_) => match &input.null_space {
            Some(vectors) => Some(renumber::arranged_modes(order, a.block().0, vectors)?.into_owned()),
            None => None,
        },
        NullSpace::Constants => {
            let n = input.b.len();
            let each = NearKernel::constants(n, a.block().0)?;
            let unseen = each.quality(a)?.iter().all(|q| q.all <= NULL);
            Some(if unseen { each } else { NearKernel::constants(n, 1)? })
        }
    })
}
