//! One implicit Euler step as an objective in device memory.
//!
//! > f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² a    (2)
//!
//! with masses M, acceleration a and energy E, as in `coarsen_elastic`. Martin et al. 2011; Xian, Tong & Liu 2019, Eq. 2.

use std::fmt;

use coarsen_core::{Dot, Error, Objective, Real, Scalar, Vector};
use coarsen_elastic::{Curvature, ElementKernel, SurfaceKernel};

use crate::driver::Type;
use crate::memory::{Buffer, bytes};
use crate::program::{Module, kernels};
use crate::queue::{Arg, Items};
use crate::{
    DeviceBackend, DeviceClothContact, DeviceContacts, DeviceElements, DeviceMatrix, DeviceScalar,
    DeviceStream, DeviceVector,
};

kernels! {
    Step {
        Target = "coarsen_step_target",
        Predict = "coarsen_step_predict",
        End = "coarsen_step_end",
        Energy = "coarsen_step_energy",
        Gradient = "coarsen_step_gradient",
    }
}

/// The objective (2) of one time step in device memory: the counterpart of
/// [`ImplicitEuler`](coarsen_elastic::ImplicitEuler).
///
/// It owns the positions x_n in m and the velocities v_n in m/s. Newton's method with conjugate gradients on device vectors
/// minimises it, with a matrix that [`hessian`](Self::hessian) assembles and a preconditioner that is updated from this matrix;
/// then a step transfers scalars only. In `f64` gradients have the bits of the host if the kernels use + - * / and √ only, and so have
/// Hessians of one energy and pins; values, and sums of several Hessians, differ by round-off, since sums have another order. *Use* for energies that have
/// [kernels](coarsen_elastic::Potential::kernels). Kernels have copies of the data of an energy: a pin that moves is written to
/// [`energies`](Self::energies). With [contact of triangles](Self::with_contact) it is evaluated at points on the line of the last
/// bound of a step, as a descent does. *Not* with contact of bodies. *Cost* one launch for each value and two for each gradient of an energy, and one more;
/// a Hessian takes one for each energy and three for its assembly. *Memory* 116 bytes for each block of an element, in `f64`.
/// *Reference* Xian, Tong & Liu 2019, "A Scalable Galerkin Multigrid Method", ACM TOG 38(6), Alg. 4.
pub struct DeviceImplicitEuler<V: Real> {
    /// The kind of Hessian that [`hessian`](Self::hessian) computes.
    pub curvature: Curvature,
    backend: DeviceBackend<V>,
    module: usize,
    energies: Vec<DeviceElements<V>>,
    contact: Option<DeviceClothContact<V>>,
    h: V,
    /// M / h² of each node.
    inertia: Buffer,
    target: DeviceVector<V>,
    x: DeviceVector<V>,
    v: DeviceVector<V>,
    /// The blocks of all energies and of the inertia.
    stream: DeviceStream<V>,
    values: DeviceVector<V>,
}

impl<V: Real> DeviceImplicitEuler<V> {
    /// Uploads the objective for steps of `h` seconds of nodes with these `masses` in kg, whose energies are `kernels`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a time step h or an m / h² that is not positive and finite in `V`, [`Error::Shape`] for a kernel of
    /// another number of nodes, and the errors of [`DeviceElements::new`] and [`DeviceStream::of_blocks`].
    pub fn new<S>(
        backend: &DeviceBackend<V, S>,
        kernels: &[ElementKernel],
        masses: &[f64],
        h: f64,
    ) -> Result<Self, Error> {
        let (n, range) = (masses.len(), "positive and finite in the precision of the backend");
        let positive = |name, value| match V::from_f64(value) {
            stored if stored.is_finite() && stored > V::zero() => Ok(stored),
            _ => Err(Error::Parameter { name, value, range }),
        };
        let ratio = |m: &f64| positive("DeviceImplicitEuler, m / h² of a node", m / (h * h));
        let (step, inertia) = (positive("DeviceImplicitEuler, the time step", h)?, masses.iter().map(ratio));
        let inertia: Vec<V> = inertia.collect::<Result<_, _>>()?;
        if let Some(kernel) = kernels.iter().find(|kernel| kernel.free != n) {
            return Err(Error::Shape { what: "free nodes of a kernel", expected: n, found: kernel.free });
        }
        let energies = kernels.iter().map(|kernel| DeviceElements::new(backend, kernel));
        let energies = energies.collect::<Result<Vec<_>, _>>()?;
        let mut places: Vec<_> = energies.iter().flat_map(|energy| energy.places()).copied().collect();
        let mut values = vec![V::zero(); 9 * places.len()];
        for (i, &m) in inertia.iter().enumerate() {
            places.push((i as u32, i as u32));
            values.extend((0..9).map(|k| if k % 4 == 0 { m } else { V::zero() }));
        }
        let mut stream = DeviceStream::of_blocks(backend, n, places.len())?;
        stream.write_blocks(&places)?;
        let mut queue = backend.queue();
        let kernels =
            Module { sources: &coarsen_kernels::STEP, kernels: Step::NAMES, options: String::new() };
        let module = queue.module(&kernels)?;
        let mut upload = |host: &[V]| queue.allocate(Type::of::<V>(), size_of_val(host), Some(bytes(host)));
        let (inertia, memory) = (upload(&inertia)?, upload(&values)?);
        drop(queue);
        let values = DeviceVector { backend: backend.plain(), memory, n: values.len() };
        let zeros = || backend.zeros(3 * n);
        let (target, x, v) = (zeros()?, zeros()?, zeros()?);
        let (curvature, backend) = (Curvature::Projected, backend.plain());
        let contact = None;
        Ok(Self {
            curvature,
            backend,
            module,
            energies,
            contact,
            h: step,
            inertia,
            target,
            x,
            v,
            stream,
            values,
        })
    }

    /// Adds the energy of a surface of triangles that touch, whose held nodes do not move.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of free nodes, and those of [`DeviceClothContact::new`].
    pub fn with_contact(self, surface: &SurfaceKernel) -> Result<Self, Error> {
        let (expected, found) = (self.target.n / 3, surface.pair.free);
        if found != expected {
            return Err(Error::Shape { what: "free nodes of a surface", expected, found });
        }
        let contact = Some(DeviceClothContact::new(&self.backend, surface)?);
        Ok(Self { contact, ..self })
    }

    /// The contact of triangles, whose lists a program [enlarges](DeviceClothContact::grow) after a step.
    pub fn contact(&mut self) -> Option<&mut DeviceClothContact<V>> {
        self.contact.as_mut()
    }

    /// The positions x_n and the velocities v_n; a program writes them before its first step.
    pub fn state(&mut self) -> [&mut DeviceVector<V>; 2] {
        [&mut self.x, &mut self.v]
    }

    /// The energies, in the order of the kernels; a program writes pins and held nodes that move before a step begins.
    pub fn energies(&mut self) -> &mut [DeviceElements<V>] {
        &mut self.energies
    }

    /// Begins a step with the same acceleration a for all nodes in m/s², and renews the energies at x_n.
    pub fn begin(&mut self, acceleration: [f64; 3]) {
        self.energies.iter_mut().for_each(|energy| energy.renew(&self.x));
        self.contact.iter_mut().for_each(|contact| contact.grip(&self.x));
        let [a0, a1, a2] = acceleration.map(|a| Arg::Number(V::from_f64(a)));
        let [x, v, y] = [&self.x, &self.v, &self.target].map(|v| Arg::Memory(&v.memory));
        let args = [self.length(), x, v, Arg::Number(self.h), a0, a1, a2, y];
        self.launch(Step::Target, &args);
    }

    /// The largest share of h v_n for which x_n plus it is known to be valid; `None` if no energy bounds steps. `d` is
    /// overwritten. Does not synchronise.
    pub fn max_start(&mut self, d: &mut DeviceVector<V>) -> Option<DeviceScalar<V>> {
        if !self.energies.iter().any(DeviceElements::bounds_steps) && self.contact.is_none() {
            return None;
        }
        self.predict(V::one(), d);
        d.axpby(&d.scalar(-V::one()), &self.x, &d.scalar(V::one()));
        let Self { energies, contact, x, .. } = self;
        bound(energies, contact.as_mut(), x, d)
    }

    /// Writes where the descent of a step may start: x_n + `share` h v_n. *Panics* on a wrong length, as do the others.
    pub fn predict(&self, share: V, next: &mut DeviceVector<V>) {
        self.assert_fits(next);
        let [x, v, next] = [&self.x, &self.v, next].map(|v| Arg::Memory(&v.memory));
        let args = [self.length(), x, v, Arg::Number(self.h), Arg::Number(share), next];
        self.launch(Step::Predict, &args);
    }

    /// The work in J of friction from x_n to `next`, with its force at `next`: that of the energies that a step renews. `None` if
    /// there are none. `g` is overwritten. Does not synchronise.
    pub fn friction_work(&self, next: &DeviceVector<V>, g: &mut DeviceVector<V>) -> Option<DeviceScalar<V>> {
        let (all, pairs) = (self.energies.iter().filter(|energy| energy.is_renewed()), self.contact.as_ref());
        let pairs = pairs.filter(|contact| contact.has_friction());
        if all.clone().next().is_none() && pairs.is_none() {
            return None;
        }
        g.fill(V::zero());
        all.for_each(|energy| energy.add_gradient(next, g));
        pairs.into_iter().for_each(|contact| contact.add_friction(next, g));
        let [before, after] = g.dots([&self.x, next]);
        Some(before + -after)
    }

    /// Ends a step at the positions x_{n+1}: v_{n+1} = (x_{n+1} − x_n) / h.
    pub fn end(&mut self, next: &DeviceVector<V>) {
        self.assert_fits(next);
        let [next, x, v] = [next, &self.x, &self.v].map(|v| Arg::Memory(&v.memory));
        self.launch(Step::End, &[self.length(), next, Arg::Number(self.h), x, v]);
    }

    /// Assembles ∇²f(x), without contact of triangles, into a matrix whose pattern has all pairs of nodes of the elements and the
    /// diagonal. Does not synchronise.
    ///
    /// # Errors
    /// The errors of [`DeviceMatrix::assemble`]; [`DeviceMatrix::check`] tells of a block that the matrix lacks.
    pub fn hessian<S: Real>(&mut self, x: &DeviceVector<V>, a: &mut DeviceMatrix<V, S>) -> Result<(), Error> {
        let Self { energies, curvature, stream, values, .. } = self;
        let mut first = 0;
        for energy in energies {
            energy.write_hessian(x, *curvature, values, first);
            first += energy.places().len();
        }
        a.assemble(stream, values)
    }

    /// Replaces a set by the Hessian of contact of triangles, if there is any. Does not synchronise.
    ///
    /// # Errors
    /// Those of [`DeviceClothContact::hessian`].
    pub fn contact_hessian(&mut self, x: &DeviceVector<V>, to: &mut DeviceContacts<V>) -> Result<(), Error> {
        let curvature = self.curvature;
        self.contact.as_mut().map_or(Ok(()), |contact| contact.hessian(x, curvature, to))
    }

    fn length(&self) -> Arg<'_, V> {
        Arg::Length(self.target.n)
    }

    fn launch(&self, step: Step, args: &[Arg<'_, V>]) {
        self.backend.queue().launch(step.of(self.module), Items::Entries(self.target.n), args);
    }

    fn assert_fits(&self, x: &DeviceVector<V>) {
        assert_eq!(x.size(), self.target.n, "an implicit Euler step: wrong length");
        self.backend.assert_same(&x.backend);
    }
}

/// The largest step that all energies allow; `None` if none bounds steps.
fn bound<V: Real>(
    energies: &[DeviceElements<V>],
    contact: Option<&mut DeviceClothContact<V>>,
    x: &DeviceVector<V>,
    d: &DeviceVector<V>,
) -> Option<DeviceScalar<V>> {
    let own = energies.iter().filter_map(|energy| energy.max_step(x, d));
    own.chain(contact.map(|contact| contact.max_step(x, d))).reduce(|a, b| a.min(&b))
}

impl<V: Real> Objective<DeviceVector<V>> for DeviceImplicitEuler<V> {
    fn value(&mut self, x: &DeviceVector<V>) -> Dot<DeviceScalar<V>> {
        self.assert_fits(x);
        let [kinetic] = DeviceScalar::results(&self.backend);
        let [inertia, at, y] = [&self.inertia, &x.memory, &self.target.memory].map(Arg::Memory);
        let nodes = self.target.n / 3;
        let (args, out) = ([Arg::Length(nodes), inertia, at, y, Arg::Partial], [kinetic.slot()]);
        self.backend.queue().reduce(Step::Energy.of(self.module), nodes, &args, &out);
        let inertia = Dot { value: kinetic.clone(), magnitude: kinetic };
        let energies =
            self.energies.iter().filter(|energy| !energy.is_empty()).map(|energy| energy.energy(x));
        let contact = self.contact.iter().map(|contact| contact.energy(x));
        energies.chain(contact).fold(inertia, |sum, Dot { value, magnitude }| Dot {
            value: sum.value + value,
            magnitude: sum.magnitude + magnitude,
        })
    }

    fn gradient(&mut self, x: &DeviceVector<V>, g: &mut DeviceVector<V>) {
        self.assert_fits(x);
        self.assert_fits(g);
        let [inertia, at, y, to] =
            [&self.inertia, &x.memory, &self.target.memory, &g.memory].map(Arg::Memory);
        self.launch(Step::Gradient, &[self.length(), inertia, at, y, to]);
        self.energies.iter().for_each(|energy| energy.add_gradient(x, g));
        self.contact.iter().for_each(|contact| contact.add_gradient(x, g));
    }

    fn max_step(&mut self, x: &DeviceVector<V>, d: &DeviceVector<V>) -> DeviceScalar<V> {
        let Self { energies, contact, .. } = self;
        bound(energies, contact.as_mut(), x, d).unwrap_or_else(|| x.scalar(V::infinity()))
    }
}

impl<V: Real> fmt::Debug for DeviceImplicitEuler<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a step of {} energies of {} nodes on {:?}",
            self.energies.len(),
            self.target.n / 3,
            self.backend
        )
    }
}
