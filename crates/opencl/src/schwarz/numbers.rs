//! The numbers (§6, Algorithm 1) from a matrix in device memory.
//!
//! Two nodes of the finest level are apart up to the level on which one domain holds them both, and one node of the level above it. So each
//! block off the diagonal belongs to one level at most, where it is gathered by the one item that needs it; no coarse matrix is stored but its
//! diagonal blocks, which are sums over domains of the level below. All domains of all levels are then inverted at once.

use coarsen_core::{Error, Real};
use coarsen_schwarz::{Arithmetic, Plan, Repair};

use crate::memory::Buffer;
use crate::program::{Entry, INDEX, NONE, real};
use crate::queue::{Arg, Items};
use crate::schwarz::apply::Application;
use crate::schwarz::kernels::{self, Form, Number};
use crate::schwarz::lists::HostLists;
use crate::{DeviceMatrix, OpenCl};

/// Where numbers come from, and what they need on their way.
pub(crate) struct Numbers {
    module: usize,
    /// Pivots of a scaled domain that are trusted.
    trust: f64,
    /// The kernels of a first run in `f32`, where there is one.
    trial: Option<usize>,
    pub(crate) gathered: Gathered,
    marks: Buffer,
    nodes: usize,
    /// Room for a list of nodes of the finest level.
    touched: Buffer,
    diagonals: Buffer,
    sizes: Buffer,
    repairs: Buffer,
    /// The first node of every group that has couplings now, and had none when the structure was chosen.
    released: Buffer,
}

/// What every position gathers: see `kernels/schwarz/numbers.cl`.
pub(crate) struct Gathered {
    pub(crate) own: Buffer,
    pub(crate) starts: Buffer,
    pub(crate) inner: Buffer,
    /// Which nodes have no couplings.
    pub(crate) alone: Buffer,
}

impl Gathered {
    /// Moves couplings to a place.
    pub(crate) fn new<T: Real>(on: &OpenCl<T>, from: &Couplings) -> Result<Self, Error> {
        let mut queue = on.queue();
        let mut list = |list: &[u32]| queue.list(list);
        let [own, starts, inner, alone] = [&from.own, &from.starts, &from.inner, &from.alone];
        Ok(Self { own: list(own)?, starts: list(starts)?, inner: list(inner)?, alone: list(alone)? })
    }

    /// Room for the couplings of so many blocks between so many positions.
    pub(crate) fn room<T: Real>(
        on: &OpenCl<T>,
        nodes: usize,
        positions: usize,
        blocks: usize,
    ) -> Result<Self, Error> {
        let mut queue = on.queue();
        let mut list = |count: usize| queue.allocate(INDEX, 4 * count, None);
        let (own, alone) = (list(nodes)?, list(nodes)?);
        Ok(Self { own, starts: list(positions + 1)?, inner: list(2 * blocks)?, alone })
    }
}

/// Couplings inside domains, on the host.
pub(crate) struct Couplings {
    /// The slot of the diagonal block of each node.
    pub(crate) own: Vec<u32>,
    /// Where the couplings of each position begin.
    pub(crate) starts: Vec<u32>,
    /// The slot of each, and the other position.
    pub(crate) inner: Vec<u32>,
    /// 1 for every node in no domain.
    pub(crate) alone: Vec<u32>,
}

impl Couplings {
    /// Gives every block to the level on which one domain holds both its nodes; the diagonal is stored for every node.
    pub(crate) fn of<V: Real, S: Real>(plan: &Plan, lists: &HostLists, a: &DeviceMatrix<V, S>) -> Self {
        let mut position = vec![NONE; lists.parent.len()];
        lists.order.iter().enumerate().for_each(|(p, &i)| position[i as usize] = p as u32);
        let pattern = a.pattern();
        let own = (0..pattern.rows())
            .map(|i| {
                let at = pattern.row(i).binary_search(&(i as u32));
                at.map_or(NONE, |k| a.slot(i, k) as u32)
            })
            .collect();
        // The position that a block is gathered at, and the other one.
        let place = |i: usize, j: usize| {
            let (mut s, mut t) = (i, j);
            for level in 0..plan.levels() {
                let first = lists.first[level];
                let (d, e) = (plan.domain_of(level, s)?, plan.domain_of(level, t)?);
                if d == e {
                    let (p, q) = (position[first + s], position[first + t]);
                    return (q < p).then_some((p as usize, q));
                }
                (s, t) = (d, e);
            }
            None
        };
        let blocks = |found: &mut dyn FnMut(usize, u32, usize)| {
            for i in 0..pattern.rows() {
                for (k, &j) in pattern.row(i).iter().enumerate().filter(|(_, j)| **j as usize != i) {
                    if let Some((p, q)) = place(i, j as usize) {
                        found(p, q, a.slot(i, k));
                    }
                }
            }
        };
        let mut starts = vec![0; lists.order.len() + 1];
        blocks(&mut |p, _, _| starts[p + 1] += 1);
        (1..starts.len()).for_each(|p| starts[p] += starts[p - 1]);
        let mut next = starts.clone();
        let mut inner = vec![0; 2 * starts[starts.len() - 1] as usize];
        blocks(&mut |p, q, slot| {
            inner[2 * next[p] as usize..][..2].copy_from_slice(&[slot as u32, q]);
            next[p] += 1;
        });
        let mut alone = vec![0; pattern.rows()];
        plan.left_out().iter().for_each(|&i| alone[i as usize] = 1);
        Self { own, starts, inner, alone }
    }
}

impl Numbers {
    /// Moves lists to the place of an application; `stored` is what its inverses are stored in, `S` what the matrix is.
    pub(crate) fn new<T: Real, S: Real>(
        to: &Application<T>,
        gathered: Gathered,
        arithmetic: Arithmetic,
        stored: &'static str,
        slice: usize,
    ) -> Result<Self, Error> {
        let (on, lists, b) = (&to.on, &to.lists, to.block);
        let Work { kind, trust, trial } = work(on, to.form, arithmetic, stored, lists.tiles)?;
        let mut queue = on.queue();
        let mut module = |work| {
            queue.module(&kernels::numbers(to.form, [stored, real::<S>(), work], [b, lists.tiles, slice]))
        };
        let trial = trial.then(|| module(real::<f32>())).transpose()?;
        let module = module(kind)?;
        let sum = queue.sum();
        let size = if sum == real::<f64>() { size_of::<f64>() } else { size_of::<f32>() };
        let nodes = lists.fine + lists.coarse();
        let domains = lists.domains[0] + lists.domains[1];
        let groups = vec![NONE; queue.groups(lists.fine)];
        let released = queue.list(&groups)?;
        let mut room = |entry, bytes| queue.allocate(entry, bytes, None);
        Ok(Self {
            module,
            trust,
            trial,
            marks: room(INDEX, 4 * nodes)?,
            nodes,
            touched: room(INDEX, 4 * lists.fine)?,
            diagonals: room(sum, lists.coarse() * b * b * size)?,
            sizes: room(sum, lists.coarse() * b * size)?,
            repairs: room(INDEX, 4 * (domains + to.left_out.count))?,
            released,
            gathered,
        })
    }

    /// All inverses from a matrix; where `touched` is given, those of the domains above these nodes alone. Waits for
    /// nothing but the way of the list.
    pub(crate) fn compute<T: Real, S: Real>(
        &self,
        to: &Application<T>,
        a: &DeviceMatrix<T, S>,
        touched: Option<&[u32]>,
    ) -> Result<(), Error> {
        let (lists, domains) = (&to.lists, to.lists.domains[0] + to.lists.domains[1]);
        let mut queue = to.on.queue();
        let [order, children, ranges, offsets, marks] =
            [&lists.order, &lists.children, &lists.ranges, &lists.offsets, &self.marks].map(Arg::Memory);
        let [_, width, slices, lengths, columns, values] = a.args();
        let Gathered { own, starts, inner, alone } = &self.gathered;
        let [own, starts, inner, alone, diagonals, sizes, repairs, released] =
            [own, starts, inner, alone, &self.diagonals, &self.sizes, &self.repairs, &self.released]
                .map(Arg::Memory);
        let (fine, some) = (Arg::Count(lists.fine), Arg::Count(usize::from(touched.is_some())));
        if let Some(nodes) = touched {
            queue.write_list(&self.touched, nodes)?;
            queue.launch(
                self.kernel(Number::Clear),
                Items::Entries(self.nodes),
                &[Arg::Count(self.nodes), marks],
            );
            let args = [Arg::Count(nodes.len()), Arg::Memory(&self.touched), marks];
            queue.launch(self.kernel(Number::Mark), Items::Entries(nodes.len()), &args);
            for &[first, last] in &lists.levels {
                let args = [Arg::Count(first), Arg::Count(last), fine, order, children, marks];
                queue.launch(self.kernel(Number::Raise), Items::Entries(last - first), &args);
            }
        }
        for &[first, last] in &lists.levels {
            let args = [
                Arg::Count(first),
                Arg::Count(last),
                fine,
                order,
                own,
                starts,
                inner,
                values,
                children,
                some,
                marks,
                diagonals,
                sizes,
            ];
            let items = Items::Entries((last - first) * to.block * to.block);
            queue.launch(self.kernel(Number::Diagonals), items, &args);
        }
        let mut invert = |module: usize, run: Run, trust: f64| {
            let args = [
                Arg::Count(domains),
                fine,
                order,
                own,
                starts,
                inner,
                values,
                ranges,
                offsets,
                some,
                marks,
                diagonals,
                sizes,
                Arg::Index(run as u32),
                Arg::Number(T::of(trust)),
                Arg::Memory(&to.packed),
                repairs,
            ];
            let kernel = Entry { module, kernel: Number::Invert as usize };
            queue.launch(kernel, to.form.items(domains), &args);
        };
        match self.trial {
            None => invert(self.module, Run::All, self.trust),
            Some(trial) => {
                invert(trial, Run::Once, TRUST_SINGLE);
                invert(self.module, Run::Left, self.trust);
            }
        }
        let left_out = &to.left_out;
        let args = [
            Arg::Count(left_out.count),
            Arg::Memory(&left_out.nodes),
            fine,
            order,
            own,
            starts,
            inner,
            values,
            diagonals,
            Arg::Memory(&left_out.inverses),
            Arg::Count(domains),
            repairs,
        ];
        queue.launch(self.kernel(Number::Alone), Items::Entries(left_out.count), &args);
        let args = [fine, width, slices, lengths, columns, values, alone, released];
        let groups = Items::Groups(queue.groups(lists.fine));
        queue.launch(self.kernel(Number::Released), groups, &args);
        queue.state()
    }

    /// What was done to every domain, and to every node in none. One wait.
    pub(crate) fn repairs<T: Real>(&self, of: &Application<T>) -> Result<Vec<Option<Repair>>, Error> {
        let mut codes = vec![0; of.lists.domains[0] + of.lists.domains[1] + of.left_out.count];
        of.on.queue().read_list(&self.repairs, &mut codes)?;
        let repair = |code| match code {
            0 => None,
            1 => Some(Repair::Shifted),
            _ => Some(Repair::BlockDiagonal),
        };
        Ok(codes.into_iter().map(repair).collect())
    }

    /// The first node that had no couplings when the structure was chosen, and has some now. One wait.
    pub(crate) fn released<T: Real>(&self, of: &Application<T>) -> Result<Option<usize>, Error> {
        let mut queue = of.on.queue();
        let mut first = vec![NONE; queue.groups(of.lists.fine)];
        queue.read_list(&self.released, &mut first)?;
        Ok(first.into_iter().min().filter(|&node| node != NONE).map(|node| node as usize))
    }

    fn kernel(&self, kernel: Number) -> Entry {
        Entry { module: self.module, kernel: kernel as usize }
    }
}

/// How domains are eliminated.
struct Work {
    kind: &'static str,
    /// The smallest pivot of a matrix with a unit diagonal that is trusted.
    trust: f64,
    /// Whether they are first tried in `f32`.
    trial: bool,
}

/// Which domains a run inverts, as `kernels/schwarz/numbers.cl` numbers them.
#[derive(Clone, Copy)]
enum Run {
    All,
    Once,
    Left,
}

/// The smallest pivots that are trusted, those of the host: in an elimination in `f32` that may be repeated, and in `f64` for inverses stored in `f32`, which
/// then stay positive definite, and in `f64`.
const TRUST_SINGLE: f64 = 1e-3;
const TRUST_STORED_SINGLE: f64 = 1e-6;
const TRUST_DOUBLE: f64 = 1e-13;

/// Where there is no `f64` to repeat it in, an elimination in `f32` is trusted until it has lost its digits.
const TRUST_SINGLE_ALONE: f64 = 1e-5;

/// `f64` where the device has it and the matrix of a domain fits what a group may take, after a trial in `f32` where that is asked for and is
/// what inverses are stored in, as on the host; else `f32` alone.
fn work<T: Real>(
    on: &OpenCl<T>,
    form: Form,
    arithmetic: Arithmetic,
    stored: &str,
    tiles: usize,
) -> Result<Work, Error> {
    let (device, single) = (on.device(), stored == real::<f32>());
    if device.double && form.elimination(tiles, size_of::<f64>()) <= form.room(device)? {
        let trust = if single { TRUST_STORED_SINGLE } else { TRUST_DOUBLE };
        return Ok(Work { kind: real::<f64>(), trust, trial: single && arithmetic == Arithmetic::Single });
    }
    form.check(device, tiles, form.elimination(tiles, size_of::<f32>()))?;
    Ok(Work { kind: real::<f32>(), trust: TRUST_SINGLE_ALONE, trial: false })
}
