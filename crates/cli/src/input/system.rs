//! Matrix or problem, right-hand side, and additional data.

use std::path::Path;

use coarsen::constraints::Filtered;
use coarsen::matrix_market::{ReadError, Source};
use coarsen::problems::{Options, Problem, random_vector};
use coarsen::sparse::{Bsr, Contacts, NearKernel, Sum, Zeros};

use crate::arguments::files::is_standard;
use crate::arguments::{Given, NullSpace, Rhs, Source as Named};
use crate::error::Failure;

/// The problem of `solve` without arguments.
pub(crate) const DEFAULT_PROBLEM: &str = "elasticity3d:31";

/// A system as it was read.
pub(crate) struct Input {
    /// The file or the problem.
    pub(crate) source: String,
    /// The matrix: in 1x1 blocks from a file, in its natural blocks from the gallery.
    pub(crate) matrix: Bsr<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) x0: Option<Vec<f64>>,
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
        let mut input = Self::matrix(&given.source, |source| source.system())?;
        input.read_beside(given)?;
        Ok(input)
    }

    /// Reads what the command line names beside the matrix.
    pub(crate) fn read_beside(&mut self, given: &Given) -> Result<(), Failure> {
        let input = self;
        let n = input.matrix.shape().0;
        input.b = match &given.rhs {
            Rhs::Ones => vec![1.0; n],
            Rhs::Random(seed) => random_vector(n, *seed),
            Rhs::File(path) => vector(path, n)?,
        };
        input.x0 = given.x0.as_deref().map(|path| vector(path, n)).transpose()?;
        if let Some(path) = &given.near_kernel {
            input.near_kernel = Some(columns(path, n)?);
        }
        if let Some(filter) = &mut input.filter {
            let b = std::mem::take(&mut input.b);
            input.b.resize(n, 0.0);
            filter.right_hand_side(&b, &mut input.b)?;
            if let Some(x0) = &mut input.x0 {
                filter.start(x0)?;
            }
        }
        if let NullSpace::File(path) = &given.null_space {
            input.null_space = Some(columns(path, n)?);
        }
        Ok(())
    }

    /// Reads only the matrix and the coordinates; `read` determines which kinds of matrices are accepted.
    pub(crate) fn matrix(
        named: &Named,
        read: impl FnOnce(Source) -> Result<Bsr<f64>, ReadError>,
    ) -> Result<Self, Failure> {
        let mut input = match &named.matrix {
            Some(path) => Self {
                source: if is_standard(path) { "<stdin>".into() } else { path.display().to_string() },
                matrix: read(open(path)?)?,
                b: Vec::new(),
                x0: None,
                positions: None,
                near_kernel: None,
                null_space: None,
                filter: None,
            },
            None => {
                let spec = named.problem.as_deref().unwrap_or(DEFAULT_PROBLEM);
                Self::problem(problem(spec, Options { dt: named.dt, jump: named.jump, share: named.share })?)?
            }
        };
        if let Some(path) = &named.contact {
            input.matrix = sum(&input.matrix, path)?;
        }
        if let Some(path) = &named.coordinates {
            input.positions = Some(points(path, input.matrix.shape().0)?);
        }
        Ok(input)
    }

    /// A problem of the gallery, projected onto its constraints.
    fn problem(problem: Problem) -> Result<Self, Failure> {
        let filter = problem.prefilter()?;
        let Problem { name, mut matrix, positions, mut near_kernel, .. } = problem;
        if let Some(filter) = &filter {
            (matrix, near_kernel) = (filter.matrix().clone(), filter.near_kernel().clone());
        }
        Ok(Self {
            source: name,
            matrix,
            b: Vec::new(),
            x0: None,
            positions: Some(positions),
            near_kernel: Some(near_kernel),
            null_space: None,
            filter,
        })
    }
}

/// A problem of the gallery.
pub(crate) fn problem(spec: &str, options: Options) -> Result<Problem, Failure> {
    Ok(Problem::parse(spec, &options)?)
}

/// A file, or the standard input for `-`.
pub(crate) fn open(path: &Path) -> Result<Source, Failure> {
    Ok(if is_standard(path) { Source::stdin() } else { Source::open(path)? })
}

fn vector(path: &Path, n: usize) -> Result<Vec<f64>, Failure> {
    let v = open(path)?.vector()?;
    rows(path, "one per unknown", n, v.len())?;
    Ok(v)
}

fn columns(path: &Path, n: usize) -> Result<NearKernel, Failure> {
    let vectors = open(path)?.dense()?;
    rows(path, "one per unknown", n, vectors.rows())?;
    if vectors.columns() == 0 {
        return Err(Failure::NoColumns { file: path.into() });
    }
    let columns: Vec<&[f64]> = (0..vectors.columns()).map(|j| vectors.column(j)).collect();
    Ok(NearKernel::from_columns(&columns)?)
}

/// The sum A + C; the file of C has entries in few rows.
fn sum(a: &Bsr<f64>, path: &Path) -> Result<Bsr<f64>, Failure> {
    let (n, c) = (a.shape().0, open(path)?.matrix()?);
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
            Err(Failure::Extent { file: file.clone(), side })
        }
        _ => Ok(()),
    }
}

/// One point for each row; missing axes are 0.
fn points(path: &Path, n: usize) -> Result<Vec<[f64; 3]>, Failure> {
    let xyz = open(path)?.dense()?;
    let (nodes, axes) = (xyz.rows(), xyz.columns());
    if !(1..=3).contains(&axes) {
        return Err(Failure::Axes { file: path.into(), found: axes });
    }
    if n != 0 && n.checked_rem(nodes) != Some(0) {
        return Err(Failure::Nodes { file: path.into(), nodes, n });
    }
    let at = |i: usize, axis: usize| if axis < axes { xyz.get(i, axis) } else { 0.0 };
    Ok((0..nodes).map(|i| [0, 1, 2].map(|axis| at(i, axis))).collect())
}

fn rows(path: &Path, what: &'static str, expected: usize, found: usize) -> Result<(), Failure> {
    let file = path.to_path_buf();
    if expected == found { Ok(()) } else { Err(Failure::Rows { file, what, expected, found }) }
}
