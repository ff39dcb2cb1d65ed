//! The numeric phase (§6, Algorithm 1) from a matrix in device memory.
//!
//! There is at most one level on which two coupled nodes of the finest level are in the same domain but not
//! in the same node. On finer levels their domains differ; on coarser levels they belong to the same node. So
//! each off-diagonal block is used on at most one level, and one work item gathers it there. Coarse matrices
//! store only their diagonal blocks, which are sums over domains of the next finer level. All domains of all
//! levels are then inverted in one launch.

use coarsen_core::{Error, Real};
use coarsen_schwarz::{Arithmetic, Repair, Storage};

use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::NONE;
use crate::queue::{Arg, Items, Queue};
use crate::schwarz::Touched;
use crate::schwarz::apply::Application;
use crate::schwarz::couplings::Gathered;
use crate::schwarz::kernels::{self, Form, Number, SMALLER};
use crate::schwarz::meeting::Meeting;
use crate::{DeviceBackend, DeviceContacts, DeviceMatrix};

/// The lists and buffers of the numeric phase.
pub(crate) struct Numbers {
    module: usize,
    /// The smallest trusted pivot of a scaled domain.
    trust: f64,
    /// The number of the module with the kernels of the first run, in `f32`; `None` if there is no such run.
    first_run: Option<usize>,
    pub(crate) gathered: Gathered,
    /// Where contact blocks meet; `None` if there is never a contact part.
    pub(crate) meeting: Option<Meeting>,
    marks: Buffer,
    nodes: usize,
    /// A buffer for a list of nodes of the finest level.
    touched: Buffer,
    diagonals: Buffer,
    sizes: Buffer,
    repairs: Buffer,
    /// For every work group, the first node that has couplings now but had no couplings when the structure
    /// was chosen.
    released: Buffer,
}

impl Numbers {
    /// Compiles the kernels and allocates the buffers. Inverses are stored in `stored`, the matrix in `S`.
    pub(crate) fn new<T: Real, S: Real>(
        to: &Application<T>,
        gathered: Gathered,
        arithmetic: Arithmetic,
        stored: Type,
        slice: usize,
        meeting: Option<Meeting>,
    ) -> Result<Self, Error> {
        let (backend, lists, b) = (&to.backend, &to.lists, to.block);
        let Work { kind, trust, single_first } = work(backend, to.form, arithmetic, stored, lists.tiles)?;
        let mut queue = backend.queue();
        let mut module = |work| {
            let types = [stored, Type::of::<S>(), work];
            queue.module(&kernels::numbers(to.form, types, [b, lists.tiles, slice], meeting.is_some()))
        };
        let first_run = single_first.then(|| module(Type::of::<f32>())).transpose()?;
        let module = module(kind)?;
        let sum = queue.program.sum;
        let size = sum.size();
        let nodes = lists.fine + lists.coarse();
        let domains = lists.domains[0] + lists.domains[1];
        let groups = vec![NONE; queue.program.groups(lists.fine)];
        let released = queue.list(&groups)?;
        let mut allocate = |entry, bytes| queue.allocate(entry, bytes, None);
        Ok(Self {
            module,
            trust,
            first_run,
            marks: allocate(Type::Index, 4 * nodes)?,
            nodes,
            touched: allocate(Type::Index, 4 * lists.fine)?,
            diagonals: allocate(sum, lists.coarse() * b * b * size)?,
            sizes: allocate(sum, lists.coarse() * b * size)?,
            repairs: allocate(Type::Index, 4 * (domains + to.left_out.count))?,
            released,
            gathered,
            meeting,
        })
    }

    /// Computes the inverses of all domains from a matrix and its contact part, or on every level only those of the
    /// domains that contain a touched node. `contact` is given if, and only if, there is a [`Meeting`].
    pub(crate) fn compute<T: Real, S: Real>(
        &self,
        to: &Application<T>,
        a: &DeviceMatrix<T, S>,
        contact: Option<&DeviceContacts<T, S>>,
        touched: Option<Touched<'_, T>>,
    ) -> Result<(), Error> {
        let (lists, domains) = (&to.lists, to.lists.domains[0] + to.lists.domains[1]);
        let mut queue = to.backend.queue();
        let [order, children, ranges, offsets, marks] =
            [&lists.order, &lists.children, &lists.ranges, &lists.offsets, &self.marks].map(Arg::Memory);
        let values = Arg::Memory(&a.whole()?.values);
        let Gathered { own, starts, inner, .. } = &self.gathered;
        let [own, starts, inner, diagonals, sizes, repairs] =
            [own, starts, inner, &self.diagonals, &self.sizes, &self.repairs].map(Arg::Memory);
        let (fine, some) = (Arg::Count(lists.fine), Arg::Count(usize::from(touched.is_some())));
        let mut numbers = vec![fine, order, own, starts, inner, values];
        if let Some((meeting, contact)) = self.meeting.as_ref().zip(contact) {
            let [touch_starts, touch_places, touch_values] = contact.args();
            meeting.meet(&mut queue, lists, [touch_starts, touch_places]);
            numbers.extend(meeting.args());
            numbers.push(touch_values);
        }
        if let Some(touched) = touched {
            self.mark(&mut queue, lists.fine, touched)?;
            for &[first, last] in &lists.levels {
                let args = [Arg::Count(first), Arg::Count(last), fine, order, children, marks];
                queue.launch(Number::Raise.of(self.module), Items::Entries(last - first), &args);
            }
        }
        for &[first, last] in &lists.levels {
            let head = [Arg::Count(first), Arg::Count(last)];
            let args = [&head[..], &numbers, &[children, some, marks, diagonals, sizes]].concat();
            let items = Items::Entries((last - first) * to.block * to.block);
            queue.launch(Number::Diagonals.of(self.module), items, &args);
        }
        let mut invert = |module: usize, run: DomainChoice, trust: f64| {
            let tail = [
                ranges,
                offsets,
                some,
                marks,
                diagonals,
                sizes,
                Arg::Index(run as u32),
                Arg::Number(T::from_f64(trust)),
                Arg::Memory(&to.packed),
                repairs,
            ];
            let args = [&[Arg::Count(domains)][..], &numbers, &tail].concat();
            queue.launch(Number::Invert.of(module), to.form.items(domains), &args);
        };
        match self.first_run {
            None => invert(self.module, DomainChoice::All, self.trust),
            Some(first_run) => {
                invert(first_run, DomainChoice::Once, Arithmetic::LEAST_PIVOT_SINGLE);
                invert(self.module, DomainChoice::Left, self.trust);
            }
        }
        let left_out = &to.left_out;
        let head = [Arg::Count(left_out.count), Arg::Memory(&left_out.nodes)];
        let tail = [diagonals, Arg::Memory(&left_out.inverses), Arg::Count(domains), repairs];
        let args = [&head[..], &numbers, &tail].concat();
        queue.launch(Number::Alone.of(self.module), Items::Entries(left_out.count), &args);
        queue.state()
    }

    /// Finds nodes that the matrix couples now, but not when the structure was chosen. Does not synchronise.
    pub(crate) fn find_released<T: Real, S: Real>(
        &self,
        to: &Application<T>,
        a: &DeviceMatrix<T, S>,
    ) -> Result<(), Error> {
        let [_, _, width, slices, lengths, columns, values] = a.whole()?.args();
        let [alone, released] = [&self.gathered.alone, &self.released].map(Arg::Memory);
        let fine = Arg::Count(to.lists.fine);
        let mut queue = to.backend.queue();
        let groups = Items::Groups(queue.program.groups(to.lists.fine));
        let args = [fine, width, slices, lengths, columns, values, alone, released];
        queue.launch(Number::Released.of(self.module), groups, &args);
        queue.state()
    }

    /// Marks the touched nodes of the finest level, and no other node.
    fn mark<T: Real>(&self, queue: &mut Queue<T>, fine: usize, touched: Touched<'_, T>) -> Result<(), Error> {
        let marks = Arg::Memory(&self.marks);
        match touched {
            Touched::Rows(list) => {
                queue.write_list(&self.touched, list)?;
                queue.fill_list(&self.marks, self.nodes, 0);
                let args = [Arg::Count(list.len()), Arg::Memory(&self.touched), marks];
                queue.launch(Number::Mark.of(self.module), Items::Entries(list.len()), &args);
            }
            Touched::Marked(rows) => queue.copy(&rows.marks, &self.marks, 4 * fine),
        }
        Ok(())
    }

    /// Returns the repair of every domain, followed by the repair of every node in no domain. Synchronises once.
    pub(crate) fn repairs<T: Real>(&self, of: &Application<T>) -> Result<Vec<Option<Repair>>, Error> {
        let mut codes = vec![0; of.lists.domains[0] + of.lists.domains[1] + of.left_out.count];
        of.backend.queue().read_list(&self.repairs, &mut codes)?;
        let repair = |code| match code {
            0 => None,
            1 => Some(Repair::Shifted),
            _ => Some(Repair::BlockDiagonal),
        };
        Ok(codes.into_iter().map(repair).collect())
    }

    /// Returns the first node that [`find_released`](Self::find_released) has found. Synchronises once.
    pub(crate) fn released<T: Real>(&self, of: &Application<T>) -> Result<Option<usize>, Error> {
        let mut queue = of.backend.queue();
        let mut first = vec![NONE; queue.program.groups(of.lists.fine)];
        queue.read_list(&self.released, &mut first)?;
        Ok(first.into_iter().min().filter(|&node| node != NONE).map(|node| node as usize))
    }
}

/// How domains are eliminated.
struct Work {
    kind: Type,
    /// The smallest trusted pivot of a matrix with a unit diagonal.
    trust: f64,
    /// Whether elimination is first tried in `f32`.
    single_first: bool,
}

/// The domains that a run inverts: the constants `ALL`, `ONCE` and `LEFT` of `kernels/schwarz/numbers.cl`.
#[derive(Clone, Copy)]
enum DomainChoice {
    All,
    Once,
    Left,
}

/// The smallest trusted pivot in `f32` if no run in `f64` can follow. With a smaller pivot the inverse may
/// have no correct digit.
const TRUST_SINGLE_ALONE: f64 = 1e-5;

/// The cure of a domain that does not fit in `f64` alone.
const SMALLER_OR_SINGLE: &str = "small enough for an elimination in f64 in the memory that this device has for one domain; use \
                                 smaller domains, or store and eliminate in f32";

/// Chooses `f64` if the device supports it. As on the host, an elimination in `f64` is first tried in `f32` if
/// `arithmetic` requests it and inverses are stored in `f32`; if the matrix of a domain fits into memory in `f32` alone,
/// no run in `f64` follows.
///
/// # Errors
/// [`Error::Parameter`] for a domain that does not fit, in `f64` if the parameters ask for it.
fn work<T: Real>(
    backend: &DeviceBackend<T>,
    form: Form,
    arithmetic: Arithmetic,
    stored: Type,
    tiles: usize,
) -> Result<Work, Error> {
    let (device, single) = (backend.device(), stored == Type::of::<f32>());
    if device.double && form.elimination(tiles, size_of::<f64>()) <= form.local_memory(device) {
        let trust = if single { Storage::Single } else { Storage::Double }.least_pivot();
        return Ok(Work {
            kind: Type::of::<f64>(),
            trust,
            single_first: single && arithmetic == Arithmetic::Single,
        });
    }
    let bytes = |size: usize| form.elimination(tiles, size);
    form.check(device, tiles, bytes(size_of::<f32>()), SMALLER)?;
    if device.double && !(single && arithmetic == Arithmetic::Single) {
        form.check(device, tiles, bytes(size_of::<f64>()), SMALLER_OR_SINGLE)?;
    }
    Ok(Work { kind: Type::of::<f32>(), trust: TRUST_SINGLE_ALONE, single_first: false })
}
