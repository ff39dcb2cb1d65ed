//! A system in blocks, looked at: what `solve` and `compare` begin with.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Instant;

use coarsen::auto::Costs;
use coarsen::diagnose::{Diagnosis, diagnose};
use coarsen::direct::Analysis;
use coarsen::sparse::{Bsr, NearKernel, Permutation, System, Zeros, detect_block_size};

use crate::arguments::{Given, Method, NullSpace, Precond};
use crate::decision::choose::{Choice, Wish};
use crate::error::Failure;
use crate::input::looks::Looks;
use crate::input::renumber;
use crate::input::system::Input;
use crate::run::job::Job;
use crate::run::progress::Progress;

/// ‖A v‖ of a null vector, relative to what it is without cancellation: files round to 6 digits or more.
pub(crate) const NULL: f64 = 1e-6;

/// Unknowns of a node that coordinates alone are believed to mean: shells have 6, a few more belong to several fields.
const MOST: usize = 12;

/// An input, and all that is found out about it before a method is chosen.
pub(crate) struct Ready<'a> {
    pub(crate) input: &'a Input,
    pub(crate) diagnosis: Diagnosis,
    /// The matrix in blocks, renumbered by `order`.
    pub(crate) matrix: Cow<'a, Bsr<f64>>,
    /// The order of the nodes of `matrix` and of all that goes with it, where it is not that of the input.
    pub(crate) order: Option<Permutation>,
    positions: Option<Cow<'a, [[f64; 3]]>>,
    near_kernel: Option<Cow<'a, NearKernel>>,
    null_space: Option<NearKernel>,
    /// When the matrix was parsed.
    pub(crate) parsed: Instant,
    /// What the looks took, here and later.
    pub(crate) looks: RefCell<Looks>,
    /// `matrix` as it was ordered for a factor.
    pub(crate) ordered: Cell<Option<Analysis>>,
}

impl<'a> Ready<'a> {
    /// Looks at the matrix, puts it in blocks and, where that pays and is allowed, in another order.
    pub(crate) fn new(given: &Given, input: &'a Input, renumber: bool) -> Result<Self, Failure> {
        let (parsed, mut looks) = (Instant::now(), Looks::default());
        let block = looks.time("block size", || block_size(given, input))?;
        let mut matrix = if input.matrix.block() == (block, block) {
            Cow::Borrowed(&input.matrix)
        } else {
            let blocked = looks.time("blocks", || input.matrix.reblock((block, block), Zeros::Keep));
            Cow::Owned(blocked.map_err(|_| Failure::BlockSize { size: block, n: input.b.len() })?)
        };
        let diagnosis = looks.time("diagnosis", || diagnose(&matrix));
        let order = looks.time("order", || if renumber { renumber::order(&matrix) } else { None });
        if let Some(order) = &order {
            matrix = Cow::Owned(looks.time("permutation", || matrix.permute(order))?);
        }
        let by = order.as_ref();
        let points = input.positions.as_deref().filter(|points| points.len() * block == input.b.len());
        let arranged = |points| looks.time("positions", || renumber::arranged(by, 1, points));
        let positions = points.map(arranged);
        let arranged = |known| looks.time("near-kernel", || renumber::arranged_modes(by, block, known));
        let near_kernel = input.near_kernel.as_ref().map(arranged).transpose()?;
        let null_space = match given.null_space {
            NullSpace::None => None,
            _ => looks.time("null space", || null_space(given, input, &matrix, by))?,
        };
        let (looks, ordered) = (RefCell::new(looks), Cell::new(None));
        Ok(Self {
            input,
            diagnosis,
            matrix,
            order,
            positions,
            near_kernel,
            null_space,
            parsed,
            looks,
            ordered,
        })
    }

    /// What `auto` makes of it.
    pub(crate) fn choose(&self, wish: Wish) -> Choice {
        let costs = |factor| self.looks.borrow_mut().time("forecasts", || Costs::of(&self.matrix, factor));
        Choice::new(wish, self.input.b.len(), &self.diagnosis, costs)
    }

    /// The system as a job for a method that is yet to be named.
    pub(crate) fn job<'j>(&'j self, given: &Given, progress: &'j Progress) -> Job<'j> {
        let (positions, near_kernel) = (self.positions.as_deref(), self.near_kernel.as_deref());
        Job {
            system: System { positions, near_kernel, ..(&*self.matrix).into() },
            original: &self.input.matrix,
            order: self.order.as_ref(),
            b: &self.input.b,
            x0: self.input.x0.as_deref(),
            method: Method::Cg,
            preconds: vec![Precond::None],
            aggregation: given.aggregation.recipe(),
            domains: given.domains.recipe(),
            overlap: given.overlap.clone(),
            null_space: self.null_space.clone(),
            floats: self.diagnosis.values.as_ref().is_some_and(|values| values.floating > 0),
            tolerance: given.tol,
            max_iterations: given.max_iterations,
            progress,
            begun: self.parsed,
            deadline: None,
            since: Cell::new(self.looks.borrow().mark()),
            looks: &self.looks,
            ordered: &self.ordered,
        }
    }
}

/// What is asked for, else what the coordinates say, else the natural blocks, else what the pattern shows.
fn block_size(given: &Given, input: &Input) -> Result<usize, Failure> {
    let n = input.b.len();
    let natural = input.matrix.block().0;
    let nodes = input.positions.as_ref().filter(|_| given.source.coordinates.is_some()).map(Vec::len);
    let asked = given.block_size.map(|size| size as usize);
    let size = match (asked, nodes) {
        (Some(size), _) => size,
        (None, Some(nodes)) => match n.checked_div(nodes).unwrap_or(1) {
            size if size > MOST => {
                let file = given.source.coordinates.clone().unwrap_or_default();
                return Err(Failure::Blocks { file, nodes, size, n });
            }
            size => size,
        },
        (None, None) if natural > 1 => natural,
        (None, None) => detect_block_size(input.matrix.pattern()),
    };
    if !n.is_multiple_of(size) {
        return Err(Failure::BlockSize { size, n });
    }
    match (nodes, &given.source.coordinates) {
        (Some(nodes), Some(file)) if nodes * size != n => Err(Failure::Rows {
            file: file.clone(),
            what: "one per node of --block-size unknowns",
            expected: n / size,
            found: nodes,
        }),
        _ => Ok(size),
    }
}

/// The vectors that A does not see: those of the file, or constants, one for each unknown of a node where A does
/// not see these either.
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
