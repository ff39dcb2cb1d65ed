//! Matrix or problem, right-hand side, and additional data.

use std::path::Path;

use coarsen::constraints::Filtered;
use coarsen::matrix_market::{Dense, ReadError, Source};
use coarsen::problems::{Options, Problem, random_vector};
use coarsen::sparse::{Bsr, Contacts, NearKernel, Sum, Zeros, assembly};

use super::numpy;
use crate::arguments::files::is_standard;
use crate::arguments::{Given, NullSpace, Rhs, Source as Named};
use crate::error::Failure;

/// The problem of `solve` without arguments.
pub(crate) const DEFAULT_PROBLEM: &str = "elasticity3d:31";

/// A system as it was read.
pub(crate) struct Input {
    /// The file or the problem.
    pub(crate) source: String,
    /// The matrix: in 1x1 blocks from a file, in its natural blocks from the gallery, in 2x2 blocks if it is complex.
    pub(crate) matrix: Bsr<f64>,
    /// Whether the unknowns are real and imaginary parts in turn.
    pub(crate) is_complex: bool,
    pub(crate) b: Vec<f64>,
    pub(crate) x0: Option<Vec<f64>>,
    /// The right-hand sides after the first, each with its guess.
    pub(crate) others: Vec<(Vec<f64>, Option<Vec<f64>>)>,
    /// One point for each node; the number of unknowns of a node is determined later.
    pub(crate) positions: Option<Vec<[f64; 3]>>,
    pub(crate) near_kernel: Option<NearKernel>,
    /// The null space vectors of a file.
    pub(crate) null_space: Option<NearKernel>,
    /// The constraints onto which the matrix and the vectors were projected.
    pub(crate) filter: Option<Filtered<f64>>,
}

impl Input {
    /// Reads or generates all data that the command line names.
    pub(crate) fn load(given: &Given) -> Result<Self, Failure> {
        let mut input = Self::matrix(&given.source, |path| {
            let (is_complex, matrix) = matrix(path, Source::system)?;
            numpy::refusal(path, &matrix).map_or(Ok((is_complex, matrix)), Err)
        })?;
        input.read_beside(given)?;
        Ok(input)
    }

    /// Reads only the matrix and the coordinates, also of a matrix that is no system; returns why it is none.
    pub(crate) fn inspected(named: &Named) -> Result<(Self, Option<Failure>), Failure> {
        let mut refused = None;
        let input = Self::matrix(named, |path| {
            let mut why = None;
            let read = matrix(path, |source| {
                let (matrix, refused) = source.matrix_and_refusal()?;
                why = refused.map(Failure::from);
                Ok(matrix)
            })?;
            refused = why.or_else(|| numpy::refusal(path, &read.1));
            Ok(read)
        })?;
        Ok((input, refused))
    }

    /// Reads what the command line names beside the matrix.
    pub(crate) fn read_beside(&mut self, given: &Given) -> Result<(), Failure> {
        let (n, is_complex) = (self.matrix.shape().0, self.is_complex);
        let b = match &given.rhs {
            Rhs::Ones if is_complex => vec![[1.0, 0.0].repeat(n / 2)],
            Rhs::Ones => vec![vec![1.0; n]],
            Rhs::Random(seed) => vec![random_vector(n, *seed)],
            Rhs::File(path) => vectors(path, n, is_complex)?,
        };
        let x0 = given.x0.as_deref().map(|path| vectors(path, n, is_complex)).transpose()?;
        if let (Some(x0), Some(file)) = (&x0, &given.x0)
            && ![1, b.len()].contains(&x0.len())
        {
            let (expected, found) = (b.len(), x0.len());
            return Err(Failure::input(
                file,
                format!(
                    "{found} columns, but --rhs has {expected}; give one guess for each right-hand side, or one for all"
                ),
            ));
        }
        if let Some(path) = &given.near_kernel {
            self.near_kernel = Some(modes(path, n, is_complex)?);
        }
        let guess = |k: usize| x0.as_ref().map(|x0| x0[if x0.len() == 1 { 0 } else { k }].clone());
        let mut all: Vec<_> = b.into_iter().enumerate().map(|(k, b)| (b, guess(k))).collect();
        if let Some(filter) = &mut self.filter {
            for (b, x0) in &mut all {
                let given = std::mem::replace(b, vec![0.0; n]);
                filter.right_hand_side(&given, b)?;
                if let Some(x0) = x0 {
                    filter.start(x0)?;
                }
            }
        }
        self.others = all.split_off(1);
        (self.b, self.x0) = all.swap_remove(0);
        if let NullSpace::File(path) = &given.null_space {
            self.null_space = Some(modes(path, n, is_complex)?);
        }
        Ok(())
    }

    /// All right-hand sides, each with its guess.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (&[f64], Option<&[f64]>)> {
        let others = self.others.iter().map(|(b, x0)| (&b[..], x0.as_deref()));
        std::iter::once((&self.b[..], self.x0.as_deref())).chain(others)
    }

    /// Reads only the matrix and the coordinates; `read` reads a file, and tells whether it is complex.
    fn matrix(
        named: &Named,
        read: impl FnOnce(&Path) -> Result<(bool, Bsr<f64>), Failure>,
    ) -> Result<Self, Failure> {
        let mut input = match &named.matrix {
            Some(path) => {
                let (is_complex, matrix) = read(path)?;
                let source = if is_standard(path) { "<stdin>".into() } else { path.display().to_string() };
                Self { is_complex, ..Self::new(source, matrix) }
            }
            None => {
                let spec = named.problem.as_deref().unwrap_or(DEFAULT_PROBLEM);
                let options = Options { dt: named.dt, jump: named.jump, share: named.share };
                Self::problem(Problem::parse(spec, &options)?)?
            }
        };
        if let Some(path) = &named.contact {
            input.matrix = sum(&input.matrix, input.is_complex, path)?;
        }
        if let Some(path) = &named.coordinates {
            input.positions = Some(points(path, input.matrix.shape().0)?);
        }
        Ok(input)
    }

    /// A matrix alone.
    fn new(source: String, matrix: Bsr<f64>) -> Self {
        Self {
            source,
            matrix,
            is_complex: false,
            b: Vec::new(),
            x0: None,
            others: Vec::new(),
            positions: None,
            near_kernel: None,
            null_space: None,
            filter: None,
        }
    }

    /// A problem of the gallery, projected onto its constraints.
    fn problem(problem: Problem) -> Result<Self, Failure> {
        let filter = problem.prefilter()?;
        let Problem { name, mut matrix, positions, mut near_kernel, .. } = problem;
        if let Some(filter) = &filter {
            (matrix, near_kernel) = (filter.matrix().clone(), filter.near_kernel().clone());
        }
        let (positions, near_kernel) = (Some(positions), Some(near_kernel));
        Ok(Self { positions, near_kernel, filter, ..Self::new(name, matrix) })
    }
}

/// A file, or the standard input for `-`.
pub(crate) fn open(path: &Path) -> Result<Source, Failure> {
    Ok(if is_standard(path) { Source::stdin() } else { Source::open(path)? })
}

/// A matrix, and whether it is complex: a file of NumPy, or what `read` takes from Matrix Market.
fn matrix(
    path: &Path,
    read: impl FnOnce(Source) -> Result<Bsr<f64>, ReadError>,
) -> Result<(bool, Bsr<f64>), Failure> {
    if numpy::is_numpy(path) {
        return numpy::matrix(path);
    }
    let matrix = read(open(path)?)?;
    Ok((matrix.block() == (2, 2), matrix))
}

/// A dense matrix: an array of NumPy, or Matrix Market.
fn dense(path: &Path) -> Result<Dense, Failure> {
    if numpy::is_numpy(path) { numpy::dense(path) } else { Ok(open(path)?.dense()?) }
}

/// The columns of a file, of n unknowns each; a single row is a column. Of a complex system real columns may have half as
/// many, and their imaginary part is then 0.
fn vectors(path: &Path, n: usize, is_complex: bool) -> Result<Vec<Vec<f64>>, Failure> {
    let all = dense(path)?;
    if all.is_complex() && !is_complex {
        return Err(complex(path, "the matrix is real"));
    }
    let row = if all.is_complex() { 2 } else { 1 };
    let values = all.values().len();
    let (length, columns) = match all.rows() == row && all.columns() > 1 && n != row {
        true => (values, 1),
        false => (all.rows(), all.columns()),
    };
    if columns == 0 {
        return Err(Failure::input(path, "expected one column for each vector, found none"));
    }
    let is_real = is_complex && !all.is_complex() && 2 * length == n;
    rows(path, "one per unknown", n, if is_real { n } else { length })?;
    let columns = all.values().chunks(length.max(1));
    let whole = |column: &[f64]| {
        if is_real { column.iter().flat_map(|v| [*v, 0.0]).collect() } else { column.to_vec() }
    };
    let columns: Vec<Vec<f64>> = columns.map(whole).collect();
    Ok(if columns.is_empty() { vec![Vec::new()] } else { columns })
}

/// The vectors of a near-kernel or null space. Those of a complex system are followed by themselves times i.
fn modes(path: &Path, n: usize, is_complex: bool) -> Result<NearKernel, Failure> {
    let mut columns = vectors(path, n, is_complex)?;
    if is_complex {
        let turned = |column: &Vec<f64>| column.as_chunks().0.iter().flat_map(|[a, b]| [-b, *a]).collect();
        let turned: Vec<Vec<f64>> = columns.iter().map(turned).collect();
        columns.extend(turned);
    }
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    Ok(NearKernel::from_columns(&columns)?)
}

/// The sum A + C; the file of C has entries in few rows. Of a complex system a real C may have half as many rows, and its
/// imaginary part is then 0.
fn sum(a: &Bsr<f64>, is_complex: bool, path: &Path) -> Result<Bsr<f64>, Failure> {
    let (n, (c_is_complex, mut c)) = (a.shape().0, matrix(path, Source::matrix)?);
    if c_is_complex && !is_complex {
        return Err(complex(path, "the matrix is real"));
    }
    if is_complex && !c_is_complex && c.shape() == (n / 2, n / 2) {
        c = doubled(&c)?;
    }
    rows(path, "as many as the matrix has", n, c.shape().0)?;
    rows(path, "and columns as many", n, c.shape().1)?;
    let c = c.reblock(a.block(), Zeros::Keep)?;
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..c.pattern().rows() {
        for (j, value) in c.row(i) {
            places.push((i as u32, j as u32));
            values.extend_from_slice(value);
        }
    }
    let mut contact = Contacts::new(c.pattern().rows(), a.block().0)?;
    contact.replace(&places, &values)?;
    Ok(Sum { elastic: a, contact: &contact }.merge()?)
}

/// A real matrix as a complex one: each entry c is the block [c 0; 0 c].
fn doubled(c: &Bsr<f64>) -> Result<Bsr<f64>, Failure> {
    let (rows, columns) = c.shape();
    let scalars = c.reblock((1, 1), Zeros::Keep)?;
    let parts = |i: usize, j: usize, v: f64| [0, 1].map(|k| ((2 * i + k) as u32, (2 * j + k) as u32, v));
    let row = |i: usize| scalars.row(i).flat_map(move |(j, v)| parts(i, j, v[0]));
    let entries: Vec<_> = (0..rows).flat_map(row).collect();
    Ok(assembly::from_triplets(2 * rows, 2 * columns, &entries)?)
}

/// An error if all points are equal, or if their extent overflows.
pub(crate) fn check_extent(named: &Named, points: &[[f64; 3]]) -> Result<(), Failure> {
    let side = |axis: usize| {
        let range = points.iter().map(|p| p[axis]);
        let (low, high) = range.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        high - low
    };
    let side = [0, 1, 2].map(side).into_iter().fold(0.0, f64::max);
    match &named.coordinates {
        Some(file) if points.len() > 1 && !(side > 0.0 && side.is_finite()) => {
            let side = format!("the longest side of the bounding box of the coordinates is {side:e}");
            Err(Failure::input(file, format!("{side}, but must be positive and finite; check the file")))
        }
        _ => Ok(()),
    }
}

/// One point for each row; missing axes are 0.
fn points(path: &Path, n: usize) -> Result<Vec<[f64; 3]>, Failure> {
    let xyz = dense(path)?;
    if xyz.is_complex() {
        return Err(complex(path, "coordinates are real"));
    }
    let (nodes, axes) = (xyz.rows(), xyz.columns());
    if !(1..=3).contains(&axes) {
        let expected = "expected 1 to 3 columns, one for each axis";
        return Err(Failure::input(
            path,
            format!("{expected}, found {axes}; a row holds the coordinates of a node"),
        ));
    }
    if n != 0 && n.checked_rem(nodes) != Some(0) {
        let nodes = format!("{nodes} rows, one for each node, do not divide the {n} unknowns");
        return Err(Failure::input(path, format!("{nodes}; the file seems to belong to another system")));
    }
    let at = |i: usize, axis: usize| if axis < axes { xyz.get(i, axis) } else { 0.0 };
    Ok((0..nodes).map(|i| [0, 1, 2].map(|axis| at(i, axis))).collect())
}

fn rows(path: &Path, what: &str, expected: usize, found: usize) -> Result<(), Failure> {
    if expected == found { Ok(()) } else { Err(Failure::rows_differ(path, what, expected, found)) }
}

/// Complex numbers where real ones are needed.
fn complex(path: &Path, what: &str) -> Failure {
    Failure::input(path, format!("has complex numbers, but {what}; give a file of real numbers"))
}
