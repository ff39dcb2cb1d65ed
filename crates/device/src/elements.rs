//! Energies of elements: values, gradients and Hessians computed on the device.

use std::fmt;

use coarsen_core::{Dot, Error, Real, Vector};
use coarsen_elastic::{Curvature, ElementKernel};

use crate::driver::Type;
use crate::error::same_length;
use crate::memory::{Buffer, bytes};
use crate::program::{Module, NONE, kernels};
use crate::queue::{Arg, Items};
use crate::{DeviceBackend, DeviceScalar, DeviceVector};

kernels! {
    Step {
        Energy = "coarsen_elements_energy",
        Forces = "coarsen_elements_forces",
        Gather = "coarsen_elements_gather",
        Hessian = "coarsen_elements_hessian",
        Renew = "coarsen_elements_renew",
        Bounds = "coarsen_elements_bounds",
        Least = "coarsen_elements_max_step",
    }
}

/// An energy E(x) = Σ E_e(x) of elements in device memory, and its derivatives: the counterpart of
/// [`Elements`](coarsen_elastic::Elements).
///
/// x has the positions of free nodes in m, three numbers for each; E is in J. Elements write their forces and nodes add
/// them, in the order of the host, so every run gives the same bits. In `f64` gradients and Hessians have those of the
/// host, if the kernel uses + - * / and √ only. Nothing synchronises or allocates, except [`write`](Self::write), which moves
/// pins and held nodes. *Cost* one launch for a value and for a
/// Hessian, two for a gradient and for a bound of the step. *Memory* 32 K + 4 K² bytes for an element of K nodes in `f64` and
/// the data of its kernel; on the host 8 K². *Use* in [`DeviceImplicitEuler`](crate::DeviceImplicitEuler). *Reference* Sifakis & Barbič 2012, "FEM simulation of 3D deformable
/// solids", chapter 4.
pub struct DeviceElements<V: Real> {
    backend: DeviceBackend<V>,
    module: usize,
    bounds_steps: bool,
    renewed: bool,
    count: usize,
    /// The number of entries by which a reduction chooses its groups.
    summed: usize,
    /// The numbers of an element.
    numbers: usize,
    free: usize,
    held_nodes: usize,
    /// Corners and numbers of the elements, and the corners at each node: those of pairs are written by kernels.
    pub(crate) elements: Buffer,
    held: Buffer,
    pub(crate) data: Buffer,
    common: Buffer,
    blocks: Buffer,
    /// The pairs of free nodes of all blocks.
    places: Vec<(u32, u32)>,
    pub(crate) starts: Buffer,
    pub(crate) around: Buffer,
    /// The forces of elements, or the bounds of their steps.
    forces: Buffer,
}

impl<V: Real> DeviceElements<V> {
    /// Uploads the elements of an energy, and compiles its kernels unless the backend has them.
    ///
    /// # Errors
    /// [`Error::Shape`] for a kernel whose lists do not fit, [`Error::TooLarge`] for more than 2³² corners or blocks,
    /// [`Error::Build`] for numbers that its source does not read, [`Error::Memory`], [`Error::Build`] and [`Error::Device`] of
    /// the backend.
    pub fn new<S>(backend: &DeviceBackend<V, S>, kernel: &ElementKernel) -> Result<Self, Error> {
        let (k, free) = (kernel.corners.max(1), kernel.free);
        let count = kernel.elements.len() / k;
        same_length("corners of the elements of a kernel", count * kernel.corners, kernel.elements.len())?;
        let numbers = kernel.data.len() / count.max(1);
        same_length("numbers of the elements of a kernel", count * numbers, kernel.data.len())?;
        let nodes = free.saturating_add(kernel.held.len());
        if let Some(&node) = kernel.elements.iter().max().filter(|node| **node as usize >= nodes) {
            let (what, found) = ("nodes that the elements of a kernel use", node as usize + 1);
            return Err(Error::Shape { what, expected: nodes, found });
        }
        let limit = NONE as usize;
        let pairs = count.max(1).saturating_mul(k.saturating_mul(k));
        if pairs >= limit || free >= limit {
            let (what, count) = ("blocks of elements", pairs.max(free));
            return Err(Error::TooLarge { what, count, limit });
        }

        let is_free = |node: u32| (node as usize) < free;
        let (mut places, mut blocks) = (Vec::new(), Vec::with_capacity(pairs));
        for element in kernel.elements.chunks_exact(k) {
            for (&i, &j) in element.iter().flat_map(|i| element.iter().map(move |j| (i, j))) {
                let inside = is_free(i) && is_free(j);
                blocks.push(if inside { places.len() as u32 } else { NONE });
                places.extend(inside.then_some((i, j)));
            }
        }
        let mut starts = vec![0; free + 1];
        let corners = || (0..).zip(&kernel.elements).filter(|(_, node)| is_free(**node));
        corners().for_each(|(_, &node)| starts[node as usize + 1] += 1);
        (0..free).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts.clone();
        let mut around = vec![0; starts[free] as usize];
        for (corner, &node) in corners() {
            let at: &mut u32 = &mut next[node as usize];
            around[*at as usize] = corner;
            *at += 1;
        }

        let (round_off, tiny) = (V::EPSILON.as_f64(), V::min_positive_value().as_f64());
        let bounded = if kernel.bounds_steps { " -D BOUNDED" } else { "" };
        let renewed = if kernel.renewed { " -D RENEWED" } else { "" };
        let counts = format!("-D CORNERS={k} -D DATA={numbers} -D COMMON={}", kernel.common.len());
        let none = if count == 0 { " -D EMPTY" } else { "" };
        let options = format!("{counts} -D EPSILON={round_off:e} -D TINY={tiny:e}{bounded}{renewed}{none}");
        let module = Module { sources: &coarsen_kernels::ELEMENTS, kernels: Step::NAMES, options };
        let mut queue = backend.queue();
        let module = queue.module_with(&module, kernel.source)?;
        let real = |queue: &mut crate::queue::Queue<V>, host: &[f64]| {
            let host: Vec<V> = host.iter().map(|&v| V::from_f64(v)).collect();
            queue.allocate(Type::of::<V>(), size_of_val(&host[..]), Some(bytes(&host)))
        };
        let (held, data) = (real(&mut queue, kernel.held.as_flattened())?, real(&mut queue, &kernel.data)?);
        let common = real(&mut queue, &kernel.common)?;
        let elements = queue.list(&kernel.elements)?;
        let (blocks, starts, around) = (queue.list(&blocks)?, queue.list(&starts)?, queue.list(&around)?);
        let forces = queue.allocate(Type::of::<V>(), 3 * count * k * size_of::<V>(), None)?;
        drop(queue);
        let backend = backend.plain();
        Ok(Self {
            backend,
            module,
            bounds_steps: kernel.bounds_steps,
            renewed: kernel.renewed,
            count,
            summed: count,
            numbers,
            free,
            held_nodes: kernel.held.len(),
            elements,
            held,
            data,
            common,
            blocks,
            places,
            starts,
            around,
            forces,
        })
    }

    /// Writes the positions of held nodes and the numbers of the elements again, as [`ElementKernel`] has them, for pins and held
    /// nodes that move. Two transfers at most, each of which synchronises.
    ///
    /// # Errors
    /// [`Error::Shape`] for other lengths than those of the kernel, and errors of the backend.
    pub fn write(&mut self, held: &[[f64; 3]], data: &[f64]) -> Result<(), Error> {
        same_length("held nodes of elements", self.held_nodes, held.len())?;
        same_length("numbers of elements", self.count * self.numbers, data.len())?;
        let mut queue = self.backend.queue();
        for (to, host) in [(&self.held, held.as_flattened()), (&self.data, data)] {
            if !host.is_empty() {
                let fill =
                    |there: &mut [V]| there.iter_mut().zip(host).for_each(|(to, v)| *to = V::from_f64(*v));
                queue.put(to, host.len(), fill)?;
            }
        }
        Ok(())
    }

    /// Computes the numbers of elements that the start of a step at x decides, such as those of friction, without synchronisation;
    /// the counterpart of [`Potential::renew`](coarsen_elastic::Potential::renew). *Panics* on a wrong length.
    pub fn renew(&mut self, x: &DeviceVector<V>) {
        let args = self.args(x);
        if self.renewed {
            self.backend.queue().launch(Step::Renew.of(self.module), Items::Entries(self.count), &args);
        }
    }

    /// Sums energies in one group, so that the sum does not depend on how many elements without an energy follow the others.
    pub(crate) fn in_one_group(self) -> Self {
        Self { summed: 1, ..self }
    }

    pub(crate) fn bounds_steps(&self) -> bool {
        self.bounds_steps
    }

    /// Whether [`renew`](Self::renew) computes numbers of the elements.
    pub(crate) fn is_renewed(&self) -> bool {
        self.renewed
    }

    /// Whether there are no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rows and columns of the blocks that [`write_hessian`](Self::write_hessian) writes.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// The energy E(x) and the magnitude of its terms, without synchronisation. *Panics* on a wrong length, as do gradient and
    /// Hessian.
    pub fn energy(&self, x: &DeviceVector<V>) -> Dot<DeviceScalar<V>> {
        let [value, magnitude] = DeviceScalar::results(&self.backend);
        let [n, free, elements, x, held, data, common] = self.args(x);
        let args = [n, free, elements, x, held, data, common, Arg::Partial];
        let out = [value.slot(), magnitude.slot()];
        self.backend.queue().reduce(Step::Energy.of(self.module), self.summed, &args, &out);
        Dot { value, magnitude }
    }

    /// Adds the gradient: g += ∇E(x), in N.
    pub fn add_gradient(&self, x: &DeviceVector<V>, g: &mut DeviceVector<V>) {
        assert_eq!(g.size(), 3 * self.free, "add_gradient: wrong length");
        self.backend.assert_same(&g.backend);
        let [n, free, elements, x, held, data, common] = self.args(x);
        let [starts, around, forces, g] =
            [&self.starts, &self.around, &self.forces, &g.memory].map(Arg::Memory);
        let mut queue = self.backend.queue();
        let args = [n, free, elements, x, held, data, common, forces];
        queue.launch(Step::Forces.of(self.module), Items::Entries(self.count), &args);
        if self.count > 0 {
            let gathered = [free, starts, around, forces, g];
            queue.launch(Step::Gather.of(self.module), Items::Entries(self.free), &gathered);
        }
    }

    /// The largest α for which x + α d is known to be valid, without synchronisation; `None` if no step is bounded. *Panics* on a
    /// wrong length.
    pub fn max_step(&self, x: &DeviceVector<V>, d: &DeviceVector<V>) -> Option<DeviceScalar<V>> {
        assert_eq!(d.size(), 3 * self.free, "max_step: wrong length");
        self.backend.assert_same(&d.backend);
        if !self.bounds_steps {
            return None;
        }
        let [n, free, elements, x, held, data, common] = self.args(x);
        let [bound] = DeviceScalar::results(&self.backend);
        let [d, bounds, least] = [&d.memory, &self.forces, &self.forces].map(Arg::Memory);
        let mut queue = self.backend.queue();
        let args = [n, free, elements, x, held, data, common, d, bounds];
        queue.launch(Step::Bounds.of(self.module), Items::Entries(self.count), &args);
        let (args, out) = ([Arg::Length(self.count), least, Arg::Partial], [bound.slot()]);
        queue.reduce(Step::Least.of(self.module), 1, &args, &out); // one group
        drop(queue);
        Some(bound)
    }

    /// Writes the blocks of the Hessian of every element in N/m, row-major, at [`places`](Self::places), from block `first` of a
    /// stream on. *Panics* if the stream is too short.
    pub fn write_hessian(
        &self,
        x: &DeviceVector<V>,
        curvature: Curvature,
        stream: &mut DeviceVector<V>,
        first: usize,
    ) {
        assert!(9 * (first + self.places.len()) <= stream.size(), "write_hessian: a short stream");
        self.backend.assert_same(&stream.backend);
        let code = match curvature {
            Curvature::Projected => 0,
            Curvature::Exact => 1,
            Curvature::Constant => 2,
        };
        let [n, free, elements, x, held, data, common] = self.args(x);
        let [blocks, stream] = [&self.blocks, &stream.memory].map(Arg::Memory);
        let args =
            [n, free, elements, x, held, data, common, blocks, Arg::Index(code), Arg::Count(first), stream];
        self.backend.queue().launch(Step::Hessian.of(self.module), Items::Entries(self.count), &args);
    }

    /// The arguments that every kernel of elements begins with.
    fn args<'a>(&'a self, x: &'a DeviceVector<V>) -> [Arg<'a, V>; 7] {
        assert_eq!(x.size(), 3 * self.free, "elements: wrong length");
        self.backend.assert_same(&x.backend);
        let [elements, x, held] = [&self.elements, &x.memory, &self.held].map(Arg::Memory);
        let [data, common] = [&self.data, &self.common].map(Arg::Memory);
        [Arg::Length(self.count), Arg::Count(self.free), elements, x, held, data, common]
    }
}

impl<V: Real> fmt::Debug for DeviceElements<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements of {} free nodes on {:?}", self.count, self.free, self.backend)
    }
}
