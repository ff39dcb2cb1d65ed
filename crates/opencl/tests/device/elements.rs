//! Energies of elements and time steps on the device, beside those of the host.

use std::sync::{Arc, OnceLock};

use coarsen_backend::{Backend, Cpu, NumericBackend, conformance::noise};
use coarsen_contact::{Capsule, Cuboid, Friction, Obstacle, Plane, Shape, Sphere, Spin};
use coarsen_core::{Error, Objective, Real, Scalar, Stop, Vector};
use coarsen_elastic::{
    AnisotropicMembrane, Arap, Attachments, BaraffWitkin, Barrier, Bending, BodyError, CoRotational,
    CoRotationalMembrane, ContactHessian, ContactPotential, Curvature, Density, Element, ElementKernel,
    Elements, Energy, Fabric, Fibers, FixedCoRotated, ImplicitEuler, Lame, Membrane, NeoHookean, Orthotropic,
    Penalty, PlanarStiffness, Potential, Shell, Spring, Springs, StVenantKirchhoff, StableNeoHookean,
    Stiffness, Tetrahedra, Total,
};
use coarsen_krylov::Cg;
use coarsen_mesh::Mesh;
use coarsen_opencl::{
    Counters, Device, DeviceElements, DeviceImplicitEuler, DeviceSchwarz, DeviceStream, DeviceVector, OpenCl,
};
use coarsen_optimize::{Descent, Forcing, Linearized, MoreThuente, Newton, Refresh};
use coarsen_schwarz::{Coarse, Schwarz, Storage};
use coarsen_sparse::{Bsr, Pattern, SystemAt};

use crate::common::{self, data, gpu, read};

const CURVATURES: [Curvature; 3] = [Curvature::Projected, Curvature::Exact, Curvature::Constant];

/// The devices of the tests: the usual one, and one treated as a GPU, whose kernels are compiled once.
fn devices() -> Vec<OpenCl<f64>> {
    static POSED: OnceLock<Option<Device>> = OnceLock::new();
    let posed = POSED.get_or_init(|| Some(common::posing::<f64>(gpu)?.device().clone()));
    common::backend().into_iter().chain(posed.as_ref().map(|device| OpenCl::new(device).unwrap())).collect()
}

/// Returns `count` springs of `nodes` nodes, and the positions of all nodes; every `held`-th node is held.
fn springs(count: usize, nodes: usize, held: usize) -> (Springs, Vec<f64>) {
    let x = noise(3 * nodes, 7);
    let at = x.as_chunks().0;
    let spring = |k: usize| {
        let ends = [k % nodes, (k + 1 + k / nodes % (nodes - 1)) % nodes].map(|i| i as u32);
        Spring { ends, stiffness: 1.0 + (k % 7) as f64, length: 0.1 + 0.3 * (k % 5) as f64 }
    };
    let is_held: Vec<bool> = (0..nodes).map(|i| held > 0 && i % held == 0).collect();
    let springs = Springs::new((0..count).map(spring).collect(), &is_held, at).unwrap();
    let free = springs.free(at);
    (springs, free)
}

/// Returns an energy on the device, in a step that begins at `start`.
fn uploaded<T: Real>(backend: &OpenCl<T>, body: &dyn Potential, start: &[f64]) -> Vec<DeviceElements<T>> {
    let start = vector(backend, start);
    let upload = |kernel: &ElementKernel| {
        let mut part = DeviceElements::new(backend, kernel).unwrap();
        part.renew(&start);
        part
    };
    body.kernels().unwrap().iter().map(upload).collect()
}

fn vector<T: Real>(backend: &OpenCl<T>, x: &[f64]) -> DeviceVector<T> {
    backend.vector(&x.iter().map(|&x| T::from_f64(x)).collect::<Vec<_>>()).unwrap()
}

/// Returns the Hessian of an energy in a step that begins at `start`, assembled on the device.
fn hessian<T: Real>(
    backend: &OpenCl<T>,
    body: &dyn Potential,
    [start, x]: [&[f64]; 2],
    curvature: Curvature,
) -> Bsr<f64> {
    let mut host = Bsr::zeros(body.pattern().clone(), (3, 3)).unwrap();
    let (x, parts) = (vector(backend, x), uploaded(backend, body, start));
    let places: Vec<_> = parts.iter().flat_map(|part| part.places().to_vec()).collect();
    let mut stream = DeviceStream::of_blocks(backend, body.nodes(), places.len()).unwrap();
    stream.write_blocks(&places).unwrap();
    let mut values = backend.zeros(9 * places.len()).unwrap();
    let mut first = 0;
    for part in &parts {
        part.write_hessian(&x, curvature, &mut values, first);
        first += part.places().len();
    }
    let mut on_device = backend.matrix(&host).unwrap();
    on_device.assemble(&stream, &values).unwrap();
    on_device.check().unwrap();
    backend.read_values(&on_device, &mut host).unwrap();
    host
}

/// NaN equals NaN of any sign.
fn same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!(f == e || f.is_nan() && e.is_nan(), "{what}, entry {k}: {f:e} instead of {e:e}");
    }
}

/// As [`same`] if they have the same `bits`, otherwise within the round-off of elementary functions: 4 ulp of an operand of
/// the `size` of the terms of an entry, and what the operations after them add.
fn close(found: &[f64], expected: &[f64], size: impl Fn(usize) -> f64, bits: bool, what: &str) {
    if bits {
        return same(found, expected, what);
    }
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        let is_close = (f - e).abs() <= 1e-14 * size(k).max(e.abs()) || f == e || f.is_nan() && e.is_nan();
        assert!(is_close, "{what}, entry {k}: {f:e} instead of {e:e}, beside {:e}", size(k));
    }
}

/// The largest finite magnitude.
fn largest(of: &[f64]) -> f64 {
    of.iter().filter(|v| v.is_finite()).fold(0.0, |most: f64, v| most.max(v.abs()))
}

/// The largest entry of a Hessian of the host in the row of each node.
fn rows(body: &mut dyn Potential, x: &[f64], curvature: Curvature) -> (Bsr<f64>, Vec<f64>) {
    let pattern = body.pattern().clone();
    let mut host = Bsr::zeros(pattern.clone(), (3, 3)).unwrap();
    body.add_hessian(x, curvature, host.values_mut());
    let blocks = host.values().as_chunks::<9>().0;
    let mut first = 0;
    let most = (0..pattern.rows()).map(|i| {
        let own = &blocks[first..][..pattern.row(i).len()];
        first += own.len();
        largest(own.as_flattened())
    });
    let most = most.collect();
    (host, most)
}

/// Gradients and Hessians have the bits of the host.
fn equals_host(backend: &OpenCl<f64>, body: &mut impl Potential, x: &[f64], what: &str) {
    compare(backend, body, [x, x], true, what);
}

/// In a step that begins at `start`, gradients and Hessians at x are those of the host, with its `bits` or close; energies are
/// equal up to the round-off of their sums.
fn compare(backend: &OpenCl<f64>, body: &mut dyn Potential, [start, x]: [&[f64]; 2], bits: bool, what: &str) {
    body.renew(start).unwrap();
    let parts = uploaded(backend, body, start);
    let on_device = backend.vector(x).unwrap();
    let before = noise(x.len(), 3);
    let mut expected = before.clone();
    body.add_gradient(x, &mut expected);
    let mut g = backend.vector(&before).unwrap();
    let host = body.energy(x);
    let mut found = [0.0; 2];
    for part in &parts {
        part.add_gradient(&on_device, &mut g);
        let energy = part.energy(&on_device);
        found = [found[0] + energy.value.read(), found[1] + energy.magnitude.read()];
    }
    // Forces at rest are round-off of stiffness times position.
    let (_, stiffest) = rows(body, x, Curvature::Projected);
    let pattern = body.pattern().clone();
    let reach = |i: usize| {
        pattern.row(i).iter().fold(1.0, |most: f64, &j| most.max(largest(&x[3 * j as usize..][..3])))
    };
    let force = |k: usize| stiffest[k / 3] * reach(k / 3);
    close(&read(&g), &expected, force, bits, &format!("{what}, gradient"));
    let along = noise(x.len(), 11);
    let direction = backend.vector(&along).unwrap();
    let bounds = parts.iter().filter_map(|part| part.max_step(&on_device, &direction));
    let bounds = bounds.map(|bound| bound.read());
    let bound = bounds.fold(f64::INFINITY, f64::min);
    same(&[bound], &[body.max_step(x, &along)], &format!("{what}, largest step"));
    let expected = [host.value, host.magnitude];
    let least = if bits { 0.0 } else { x.len() as f64 }; // at rest both are round-off of terms of about 1
    let most = expected.iter().filter(|e| e.is_finite()).fold(least, |most: f64, e| most.max(e.abs()));
    for (f, e) in found.iter().zip(&expected) {
        let is_close = (f - e).abs() <= 1e-14 * most || f == e || f.is_nan() && e.is_nan();
        assert!(is_close, "{what}: {found:?} {host:?}");
    }
    for curvature in CURVATURES {
        let (host, own) = rows(body, x, curvature);
        let found = hessian(backend, body, [start, x], curvature);
        let row_of: Vec<usize> =
            (0..pattern.rows()).flat_map(|i| std::iter::repeat_n(i, pattern.row(i).len())).collect();
        let size = |k: usize| own[row_of[k / 9]].max(stiffest[row_of[k / 9]]);
        close(found.values(), host.values(), size, bits, &format!("{what}, {curvature:?}"));
    }
}

/// Returns `count` tetrahedra that share nodes, at rest; every `held`-th node is held.
fn helix(count: usize, held: usize) -> (Mesh, Vec<bool>) {
    let noise = noise(3 * (count + 3), 5);
    // Corners of a tetrahedron are next to each other on a helix.
    let at = |k: usize| {
        let turn = 2.0 * k as f64;
        let near: [f64; 3] = std::array::from_fn(|c| 0.02 * noise[3 * k + c]);
        [turn.cos() + near[0], turn.sin() + near[1], 0.3 * k as f64 + near[2]]
    };
    let positions: Vec<[f64; 3]> = (0..count + 3).map(at).collect();
    let tetrahedra = (0..count as u32).map(|k| [k, k + 1, k + 2, k + 3]).collect();
    let mesh = Mesh { positions, tetrahedra, ..Mesh::default() }.oriented();
    (mesh, (0..count + 3).map(|i| held > 0 && i % held == 0).collect())
}

fn tetrahedra<D: Density>(density: D, count: usize, held: usize) -> (Box<dyn Potential>, Vec<f64>) {
    let (mesh, held) = helix(count, held);
    let lame = |e: usize| Lame::new(1.0 + (e % 5) as f64, 0.4 - 0.01 * (e % 7) as f64);
    let body = Tetrahedra::new(density, &mesh, &held, lame).unwrap();
    let free = body.free(&mesh.positions);
    (Box::new(body), free)
}

fn fibers(count: usize, held: usize) -> (Box<dyn Potential>, Vec<f64>) {
    let (mesh, held) = helix(count, held);
    let fibers = |e: usize| Fibers { stretch: 1.0 + (e % 5) as f64, shear: 2.0 + (e % 3) as f64 };
    let (cos, sin) = (0.6, 0.8);
    let axes = |e: usize| {
        [[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, if e.is_multiple_of(2) { 1.0 } else { -1.0 }]]
    };
    let body = BaraffWitkin::along(&mesh, &held, fibers, axes).unwrap();
    let free = body.free(&mesh.positions);
    (Box::new(body), free)
}

/// Returns a strip of `count` triangles, its positions at rest and whether each node is held.
fn strip(count: usize, held: usize) -> (Vec<[u32; 3]>, Vec<[f64; 2]>, Vec<bool>) {
    let noise = noise(2 * (count + 2), 6);
    let at = |k: usize| [0.5 * k as f64 + 0.1 * noise[2 * k], (k % 2) as f64 + 0.1 * noise[2 * k + 1]];
    let triangle = |k: u32| if k.is_multiple_of(2) { [k, k + 1, k + 2] } else { [k + 1, k, k + 2] };
    let is_held = (0..count + 2).map(|i| held > 0 && i % held == 0).collect();
    ((0..count as u32).map(triangle).collect(), (0..count + 2).map(at).collect(), is_held)
}

/// The membrane of a strip that `make` returns, and the positions of its free nodes at rest.
fn membrane<M: Element<3>>(
    count: usize,
    held: usize,
    make: impl Fn(&[[u32; 3]], &[[f64; 2]], &[bool], &[[f64; 3]]) -> Elements<M, 3>,
) -> (Box<dyn Potential>, Vec<f64>) {
    let (triangles, rest, held) = strip(count, held);
    let positions: Vec<[f64; 3]> = rest.iter().map(|[u, v]| [*u, *v, 0.0]).collect();
    let cloth = make(&triangles, &rest, &held, &positions);
    let free = cloth.free(&positions);
    (Box::new(cloth), free)
}

/// The bending energy of `count` hinges that `make` returns, and the positions of the free nodes; at rest, z is `bent` times
/// a parabola.
fn hinges<M: Element<4>>(
    count: usize,
    held: usize,
    bent: f64,
    make: impl Fn(&[[u32; 3]], &[[f64; 3]], &[bool]) -> Elements<M, 4>,
) -> (Box<dyn Potential>, Vec<f64>) {
    let (triangles, rest, held) = strip(count + 1, held);
    let positions: Vec<[f64; 3]> = rest.iter().map(|[u, v]| [*u, *v, bent * (v * v + 0.1 * u)]).collect();
    let cloth = make(&triangles, &positions, &held);
    let free = cloth.free(&positions);
    (Box::new(cloth), free)
}

/// Makes an energy of a number of elements, some of whose nodes are held, and the positions of its free nodes at rest.
type Make = fn(usize, usize) -> (Box<dyn Potential>, Vec<f64>);

/// The energies that devices compute, and whether derivatives need + - * / and √ alone.
const ENERGIES: [(&str, Make, bool); 14] = [
    (
        "springs",
        |count, held| {
            let (springs, x) = springs(count, 40, held);
            (Box::new(springs), x)
        },
        true,
    ),
    ("arap", |count, held| tetrahedra(Arap, count, held), true),
    ("corotational", |count, held| tetrahedra(CoRotational, count, held), true),
    ("fixed corotated", |count, held| tetrahedra(FixedCoRotated, count, held), true),
    ("St. Venant-Kirchhoff", |count, held| tetrahedra(StVenantKirchhoff, count, held), true),
    ("stable neo-Hookean", |count, held| tetrahedra(StableNeoHookean, count, held), true),
    ("neo-Hookean", |count, held| tetrahedra(NeoHookean, count, held), false),
    ("Baraff-Witkin", fibers, true),
    (
        "membrane",
        |count, held| {
            let fabric = Fabric { stretch: 5.0, coupling: 1.0, shear: 2.0 };
            membrane(count, held, |t, rest, held, x| Membrane::new(fabric, t, rest, held, x).unwrap())
        },
        true,
    ),
    (
        "membrane without coupling",
        |count, held| {
            let fabric = Fabric { stretch: 5.0, coupling: 0.0, shear: 2.0 };
            membrane(count, held, |t, rest, held, x| Membrane::new(fabric, t, rest, held, x).unwrap())
        },
        true,
    ),
    (
        "corotational membrane",
        |count, held| {
            let law = Lame { lambda: 1.0, mu: 3.0 };
            membrane(count, held, |t, rest, held, x| {
                CoRotationalMembrane::new(law, t, rest, held, x).unwrap()
            })
        },
        false,
    ),
    (
        "anisotropic membrane",
        |count, held| {
            let of = |c11, c33| Orthotropic { c11, c12: 0.3, c22: 4.0, c33 };
            let (soft, stiff) = ([of(2.0, 1.0), of(3.0, 1.0)], [of(8.0, 1.0), of(5.0, 4.0)]);
            let planar = PlanarStiffness::new(&[0.1, 0.5], [&soft, &stiff, &soft]).unwrap();
            membrane(count, held, |t, rest, held, x| {
                AnisotropicMembrane::new(planar.clone(), t, rest, held, x).unwrap()
            })
        },
        false,
    ),
    (
        "bending",
        |count, held| hinges(count, held, 0.0, |t, x, held| Bending::new(2.0, t, x, held, x).unwrap()),
        true,
    ),
    (
        "shell",
        |count, held| hinges(count, held, 0.2, |t, x, held| Shell::new(2.0, t, x, held, x).unwrap()),
        false,
    ),
];

/// At rest, stretched, compressed, and far from rest, where elements are inverted.
#[test]
fn energies_are_those_of_the_host() {
    for backend in devices() {
        for (name, make, bits) in ENERGIES {
            for count in [1, 31, 32, 33, 1000] {
                for held in [0, 4] {
                    let (mut body, rest) = make(count, held);
                    for (stretch, move_by) in [(1.0, 0.0), (1.0, 0.05), (2.0, 0.1), (0.2, 0.02), (1.0, 2.0)] {
                        let at = |(x, d): (&f64, f64)| stretch * x + move_by * d;
                        let x: Vec<f64> = rest.iter().zip(noise(rest.len(), 9)).map(at).collect();
                        let what = format!("{name}, {count} elements, held {held}, {stretch} {move_by}");
                        compare(&backend, &mut *body, [&x, &x], bits, &what);
                    }
                }
            }
        }
    }
}

/// Flat elements, elements that are points, and positions that are infinite or NaN.
#[test]
fn degenerate_elements_are_those_of_the_host() {
    for backend in devices() {
        for (name, make, bits) in ENERGIES {
            let (mut body, rest) = make(20, 0);
            let mut check = |x: &[f64], what: &str| {
                compare(&backend, &mut *body, [x, x], bits, &format!("{name}, {what}"));
            };
            check(&vec![0.0; rest.len()], "points");
            let only = |axes: usize| -> Vec<f64> {
                rest.iter().enumerate().map(|(k, x)| if k % 3 >= axes { 0.0 } else { *x }).collect()
            };
            check(&only(2), "flat");
            check(&only(1), "on a line");
            let mut coincident = rest.clone();
            coincident.copy_within(0..3, 3);
            check(&coincident, "coincident nodes");
            for bad in [f64::NAN, f64::INFINITY, 1e200, 1e-200] {
                let mut x = rest.clone();
                x[20] = bad;
                check(&x, &format!("a position of {bad}"));
            }
        }
    }
}

/// Contact whose Hessian is part of the matrix, as on a device.
struct InMatrix<P>(P, Arc<Pattern>);

impl<P: Potential> Potential for InMatrix<P> {
    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.1
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.0.energy(x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.0.add_gradient(x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        let mut contacts = ContactHessian::default();
        self.0.add_contacts(x, curvature, &mut contacts);
        for (stencil, k) in contacts.stencils().iter().zip(contacts.stiffness().as_chunks::<9>().0) {
            let ends = || stencil.nodes().iter().zip(stencil.weights());
            for ((i, v), (j, w)) in ends().flat_map(|i| ends().map(move |j| (i, j))) {
                let block = self.1.find(*i as usize, *j as usize).unwrap();
                (0..9).for_each(|c| values[9 * block + c] += v * w * k[c]);
            }
        }
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.0.max_step(x, d).max(0.0) // 0 for NaN, as in a sum
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        self.0.renew(x)
    }

    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        self.0.kernels()
    }
}

/// Obstacles and friction are those of the host, for nodes and edges outside, within reach, inside and at places where a
/// normal or a curvature is not defined.
#[test]
fn obstacles_are_those_of_the_host() {
    fn check(shape: impl Shape + Clone, name: &str) {
        let count = 40;
        let rest = noise(3 * count, 7);
        let at = rest.as_chunks().0;
        let held: Vec<bool> = (0..count).map(|i| i % 9 == 4).collect();
        let edges: Vec<[u32; 2]> = (0..count as u32 - 7).flat_map(|i| [[i, i + 1], [i, i + 7]]).collect();
        let springs = edges.iter().map(|&ends| Spring { ends, stiffness: 1.0, length: 1.0 }).collect();
        let springs = Springs::new(springs, &held, at).unwrap();
        let (pattern, rest) = (springs.pattern().clone(), springs.free(at));
        let scaled = |scale: f64| rest.iter().map(|x| scale * x).collect::<Vec<_>>();
        let all = |point: [f64; 3]| point.repeat(rest.len() / 3);
        let mut states = vec![
            ("rest", rest.clone()),
            ("outside", scaled(2.0)),
            ("inside", scaled(0.3)),
            ("the centre", all([0.1, 0.0, 0.0])),
            ("the origin", all([0.0; 3])),
            ("the axis", rest.iter().enumerate().map(|(k, x)| if k % 3 == 0 { *x } else { 0.0 }).collect()),
            ("a face", rest.iter().enumerate().map(|(k, x)| if k % 3 == 0 { 0.5 } else { *x }).collect()),
        ];
        for bad in [f64::NAN, f64::INFINITY, 1e200, 1e-200] {
            for at in 18..21 {
                let mut x = scaled(1.5);
                x[at] = bad;
                states.push(("a bad position", x));
            }
        }
        let potentials: [ContactPotential; 2] =
            [Penalty { stiffness: 8.0 }.into(), Barrier { stiffness: 2.0, reach: 0.5 }.into()];
        for (backend, potential) in devices().iter().flat_map(|b| potentials.iter().map(move |p| (b, p))) {
            let nodes =
                || Obstacle::with_potential(rest.len() / 3, shape.clone(), potential.clone()).unwrap();
            let whole = || nodes().edges(&edges, &held, at).unwrap();
            let spin = Spin { through: [0.1; 3], rate: [0.3, -1.0, 0.2], drift: [0.5, 0.0, 0.1] };
            let at_rest = Spin { through: [0.1; 3], rate: [0.0; 3], drift: [0.0; 3] };
            let mut parts: Vec<(&str, Box<dyn Potential>)> = vec![
                ("nodes", Box::new(InMatrix(nodes().only(&[3, 0, 30]).unwrap(), pattern.clone()))),
                ("nodes and edges", Box::new(InMatrix(whole(), pattern.clone()))),
                (
                    "friction",
                    Box::new(InMatrix(Friction::new(whole(), spin, 0.4, 0.01).unwrap(), pattern.clone())),
                ),
                (
                    "friction at rest",
                    Box::new(InMatrix(Friction::new(whole(), at_rest, 0.4, 0.01).unwrap(), pattern.clone())),
                ),
            ];
            for (what, part) in &mut parts {
                for (state, x) in &states {
                    let what = format!("{name}, {potential:?}, {what}, {state}");
                    // Sliding, sticking, and without any slip.
                    for slip in [0.02, 1e-6, 0.0] {
                        let start: Vec<f64> =
                            x.iter().zip(noise(x.len(), 5)).map(|(x, d)| x + slip * d).collect();
                        compare(backend, &mut **part, [&start, x], false, &what);
                    }
                }
            }
        }
    }
    check(Plane::through([0.1, 0.0, 0.0], [1.0, 2.0, 0.5]).unwrap(), "plane");
    check(Sphere::new([0.1, 0.0, 0.0], 0.6).unwrap(), "sphere");
    check(Capsule::new([-0.4, 0.0, 0.0], [0.4, 0.0, 0.0], 0.4).unwrap(), "capsule");
    check(Cuboid::new([[-0.4, -0.5, -0.3], [0.4, 0.5, 0.3]], 0.1).unwrap(), "box");
}

/// Contact without kernels is named.
#[test]
fn contact_without_a_kernel_is_named() {
    let cubic = ContactPotential::Other {
        at: Arc::new(|d: f64| if d < 0.0 { [-d.powi(3), -3.0 * d * d, -6.0 * d] } else { [0.0; 3] }),
        max_step: Arc::new(|_, _| f64::INFINITY),
    };
    let ball = Sphere::new([0.0; 3], 1.0).unwrap();
    let error = Obstacle::with_potential(2, ball, cubic).unwrap().kernels().unwrap_err();
    assert!(error.to_string().contains("neither a penalty nor a barrier"), "{error}");
}

/// An energy without elements changes nothing.
#[test]
fn no_elements_add_nothing() {
    for backend in devices() {
        for (name, make, _) in ENERGIES {
            let (body, x) = make(1, 0);
            let kernel = body.kernels().unwrap().remove(0);
            let part = DeviceElements::new(
                &backend,
                &ElementKernel { elements: Vec::new(), data: Vec::new(), ..kernel },
            );
            let (part, x) = (part.unwrap(), backend.vector(&x).unwrap());
            let before = noise(x.size(), 3);
            let mut g = backend.vector(&before).unwrap();
            part.add_gradient(&x, &mut g);
            let energy = part.energy(&x);
            assert_eq!((energy.value.read(), energy.magnitude.read()), (0.0, 0.0), "{name}");
            assert_eq!((read(&g), part.places()), (before, &[][..]), "{name}");
        }
    }
}

#[test]
fn elements_are_close_in_single_precision() {
    let Some(backend) = common::backend::<f32>() else { return };
    let mut pins = Attachments::new(40).unwrap();
    (0..5).for_each(|k| pins.attach(k, [0.1, 0.2, 0.3], 3.0 + k as f64).unwrap());
    let mut bodies: Vec<(&str, Box<dyn Potential>, Vec<f64>)> = vec![("pins", Box::new(pins), noise(120, 7))];
    for (name, make, _) in ENERGIES {
        let (body, rest) = make(100, 4);
        let moved = rest.iter().zip(noise(rest.len(), 9)).map(|(x, d)| x + 0.05 * d);
        bodies.push((name, body, moved.map(|x| f64::from(x as f32)).collect()));
    }
    for (name, mut body, x) in bodies {
        let part = DeviceElements::new(&backend, &body.kernels().unwrap()[0]).unwrap();
        let on_device = backend.vector(&x.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap();
        let (host, found) = (body.energy(&x), part.energy(&on_device));
        let gap = (f64::from(found.value.read()) - host.value).abs();
        assert!(gap < 1e-5 * host.magnitude, "{name}: {gap:e}");
        let (mut g, mut expected) = (backend.zeros(x.len()).unwrap(), vec![0.0; x.len()]);
        part.add_gradient(&on_device, &mut g);
        body.add_gradient(&x, &mut expected);
        let found: Vec<f64> = read(&g).into_iter().map(f64::from).collect();
        let gap = common::difference(&found, &expected);
        assert!(gap < 1e-4, "{name}: {gap:e}");
        for curvature in CURVATURES {
            let mut host = Bsr::zeros(body.pattern().clone(), (3, 3)).unwrap();
            body.add_hessian(&x, curvature, host.values_mut());
            let gap =
                common::difference(hessian(&backend, &*body, [&x, &x], curvature).values(), host.values());
            assert!(gap < 1e-4, "{name}, {curvature:?}: {gap:e}");
        }
    }
}

/// The host adds the sums of two energies, the device their elements one after the other.
#[test]
fn hessians_of_sums_are_equal_up_to_round_off() {
    for backend in devices() {
        let [(first, x), (second, _)] = [200, 300].map(|count| springs(count, 40, 0));
        let mut both = Total::new(vec![first, second]).unwrap();
        for curvature in CURVATURES {
            let mut host = Bsr::zeros(both.pattern().clone(), (3, 3)).unwrap();
            both.add_hessian(&x, curvature, host.values_mut());
            let gap =
                common::difference(hessian(&backend, &both, [&x, &x], curvature).values(), host.values());
            assert!(gap < 1e-14, "{curvature:?}: {gap:e}");
        }
    }
}

#[test]
fn pins_are_those_of_the_host() {
    for backend in devices() {
        for count in [0, 1, 31, 32, 33] {
            let (body, x) = springs(200, 50, 0);
            let mut pins = Attachments::new(50).unwrap();
            let point = |k: usize| [0.1 * k as f64, 0.3, -0.2];
            (0..count).for_each(|k| pins.attach(49 - k, point(k), 3.0 + k as f64).unwrap());
            equals_host(&backend, &mut pins, &x, &format!("{count} pins"));
            let parts: Vec<Box<dyn Potential>> = vec![Box::new(body), Box::new(pins)];
            equals_host(&backend, &mut Total::new(parts).unwrap(), &x, &format!("springs, {count} pins"));
        }
    }
}

/// Pins and held nodes that move are written; numbers of other elements are refused.
#[test]
fn written_elements_are_those_of_the_host() {
    for backend in devices() {
        let (mut body, x) = springs(33, 20, 4);
        let mut part = DeviceElements::new(&backend, &body.kernels().unwrap()[0]).unwrap();
        body.hold(noise(60, 8).as_chunks().0);
        let moved = body.kernels().unwrap().remove(0);
        part.write(&moved.held, &moved.data).unwrap();
        let mut expected = vec![0.0; x.len()];
        body.add_gradient(&x, &mut expected);
        let mut g = backend.zeros(x.len()).unwrap();
        part.add_gradient(&backend.vector(&x).unwrap(), &mut g);
        same(&read(&g), &expected, "springs of held nodes that moved");

        let mut pins = Attachments::new(20).unwrap();
        (0..5).for_each(|k| pins.attach(k, [0.1, 0.2, 0.3], 3.0 + k as f64).unwrap());
        let mut part = DeviceElements::new(&backend, &pins.kernels().unwrap()[0]).unwrap();
        (0..5).for_each(|k| pins.attach(k, [k as f64, 0.4, 0.3], 2.0).unwrap());
        let moved = pins.kernels().unwrap().remove(0);
        part.write(&moved.held, &moved.data).unwrap();
        let x = noise(60, 2);
        let mut expected = vec![0.0; 60];
        pins.add_gradient(&x, &mut expected);
        let mut g = backend.zeros(60).unwrap();
        part.add_gradient(&backend.vector(&x).unwrap(), &mut g);
        same(&read(&g), &expected, "pins that moved");

        pins.attach(7, [0.0; 3], 1.0).unwrap();
        let more = pins.kernels().unwrap().remove(0);
        assert!(matches!(part.write(&more.held, &more.data), Err(Error::Shape { .. })), "six pins");
        assert!(matches!(part.write(&[[0.0; 3]], &moved.data), Err(Error::Shape { .. })), "a held node");
    }
}

/// The tetrahedra of a real mesh, and springs along their edges.
#[test]
fn elements_of_a_real_mesh_are_those_of_the_host() {
    let Some(folder) = data::data() else { return };
    let mesh = coarsen_mesh::read(folder.join("meshes/ipc_sphere1K.msh.gz")).unwrap();
    let mut ends: Vec<_> = mesh
        .tetrahedra
        .iter()
        .flat_map(|t| [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]].map(|e| e.map(|k: usize| t[k])))
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let springs = ends.into_iter().map(|ends| Spring { ends, stiffness: 3.0, length: 0.01 }).collect();
    let free = vec![false; mesh.positions.len()];
    let mut body = Springs::new(springs, &free, &mesh.positions).unwrap();
    let solid = Tetrahedra::new(StableNeoHookean, &mesh, &free, |_| Lame::new(1e4, 0.45));
    let (mut solid, x) = (solid.unwrap(), mesh.positions.as_flattened());
    let moved: Vec<f64> = x.iter().zip(noise(x.len(), 4)).map(|(x, d)| 0.9 * x + 0.02 * d).collect();
    if let Some(backend) = common::backend() {
        equals_host(&backend, &mut body, x, "springs of a sphere");
        equals_host(&backend, &mut solid, &moved, "a sphere");
    }
}

#[test]
fn kernels_that_do_not_fit_are_refused() {
    let Some(backend) = common::backend::<f64>() else { return };
    let (body, _) = springs(4, 5, 0);
    let kernel = body.kernels().unwrap().remove(0);
    let refused = |kernel: &ElementKernel| DeviceElements::new(&backend, kernel).unwrap_err();
    let broken = [
        ElementKernel { corners: 0, ..kernel.clone() },
        ElementKernel { corners: 3, ..kernel.clone() },
        ElementKernel { free: 4, ..kernel.clone() },
        ElementKernel { data: vec![1.0; 9], ..kernel.clone() },
    ];
    for kernel in &broken {
        assert!(matches!(refused(kernel), Error::Shape { .. }), "{kernel:?}");
    }
    let unread = [
        ElementKernel { source: "no C", ..kernel.clone() },
        ElementKernel { data: vec![1.0; 12], ..kernel.clone() },
        ElementKernel { common: vec![1.0], ..kernel.clone() },
        ElementKernel { corners: 1, data: vec![1.0; 16], ..kernel.clone() },
    ];
    for kernel in &unread {
        assert!(matches!(refused(kernel), Error::Build { .. }), "{kernel:?}");
    }
    for (name, make, _) in ENERGIES {
        let kernel = make(3, 0).0.kernels().unwrap().remove(0);
        let short = ElementKernel { common: [&kernel.common[..], &[1.0]].concat(), ..kernel };
        assert!(matches!(refused(&short), Error::Build { .. }), "{name}");
    }
    for (masses, h) in [(vec![1.0; 5], 0.0), (vec![0.0; 5], 0.1), (vec![1.0; 5], f64::NAN)] {
        let refused =
            DeviceImplicitEuler::new(&backend, std::slice::from_ref(&kernel), &masses, h).unwrap_err();
        assert!(matches!(refused, Error::Parameter { .. }), "{refused}");
    }
    let huge = [
        ElementKernel { free: usize::MAX, held: vec![[0.0; 3]], ..kernel.clone() },
        ElementKernel { corners: usize::MAX, elements: Vec::new(), data: Vec::new(), ..kernel.clone() },
    ];
    assert!(huge.iter().all(|kernel| matches!(refused(kernel), Error::TooLarge { .. })));
    let wrong =
        DeviceImplicitEuler::new(&backend, std::slice::from_ref(&kernel), &[1.0; 4], 0.1).unwrap_err();
    assert!(matches!(wrong, Error::Shape { .. }), "{wrong}");
    // m / h² overflows or vanishes in f32.
    let Some(single) = common::backend::<f32>() else { return };
    for (mass, h) in [(1e37, 0.1), (1e-48, 0.1), (1e-30, 1e-46)] {
        let kernels = std::slice::from_ref(&kernel);
        let wrong = DeviceImplicitEuler::new(&single, kernels, &[mass; 5], h).unwrap_err();
        assert!(matches!(wrong, Error::Parameter { .. }), "{wrong}");
    }
}

// ---- time steps

/// The number of vertices along a side of the sheet, and the length of an edge.
const SIDE: usize = 12;
const EDGE: f64 = 1.0 / (SIDE - 1) as f64;
const H: f64 = 1.0 / 30.0;
const GRAVITY: [f64; 3] = [0.0, -9.81, 0.0];

/// A horizontal sheet of springs, pinned at two corners: its energies, positions and masses.
fn sheet() -> (Total, Vec<f64>, Vec<f64>) {
    let at = |k: usize| [EDGE * (k % SIDE) as f64, 0.0, EDGE * (k / SIDE) as f64];
    let x: Vec<[f64; 3]> = (0..SIDE * SIDE).map(at).collect();
    let mut springs = Vec::new();
    for (i, j) in (0..SIDE * SIDE).map(|k| (k % SIDE, k / SIDE)) {
        for (di, dj, stiffness) in [(1, 0, 100.0), (0, 1, 100.0), (1, 1, 100.0), (2, 0, 20.0), (0, 2, 20.0)] {
            if i + di < SIDE && j + dj < SIDE {
                let ends = [j * SIDE + i, (j + dj) * SIDE + i + di].map(|k| k as u32);
                let length = EDGE * ((di * di + dj * dj) as f64).sqrt();
                springs.push(Spring { ends, stiffness, length });
            }
        }
    }
    let mut pins = Attachments::new(x.len()).unwrap();
    [0, SIDE - 1].into_iter().for_each(|k| pins.attach(k, x[k], 1e4).unwrap());
    let springs = Springs::new(springs, &vec![false; x.len()], &x).unwrap();
    let parts: Vec<Box<dyn Potential>> = vec![Box::new(springs), Box::new(pins)];
    let masses = vec![1.0 / x.len() as f64; x.len()];
    (Total::new(parts).unwrap(), x.concat(), masses)
}

/// The domains of both: inverses in `f64`, so that they differ by round-off alone.
fn domains() -> Schwarz {
    Schwarz { coarse: Coarse::Domains, storage: Storage::Double, ..Schwarz::multilevel() }
}

/// Newton's method with a fixed number of iterations, each of a fixed number of iterations of CG.
fn newton<V: Vector<Real = f64>>(iterations: usize) -> (Descent<V, MoreThuente<f64>>, Newton<V, Cg<V>>) {
    let stop = |max_iterations, check_every| Stop { max_iterations, check_every, ..Stop::relative(0.0) };
    let mut descent = Descent::new(MoreThuente::default(), stop(iterations, 1));
    descent.refresh = Refresh::AtStart;
    (descent, Newton::with(Cg::new(stop(20, 10)), Forcing::AsGiven))
}

/// The positions after each step on the host.
fn on_host(steps: usize, iterations: usize) -> Vec<Vec<f64>> {
    let (forces, mut x, masses) = sheet();
    let mut step = ImplicitEuler::new(forces, &masses, H).unwrap();
    let a = step.hessian(&x).clone();
    let m = domains().build(step.system_at(&x).unwrap().system(), &Cpu::new()).unwrap();
    let assemble = |f: &mut ImplicitEuler<Total>, x: &Vec<f64>, a: &mut Bsr<f64>| {
        a.values_mut().copy_from_slice(f.hessian(x).values());
        Ok(())
    };
    let update = |a: &Bsr<f64>, _: &Vec<f64>, m: &mut coarsen_schwarz::Subdomains<f64, Cpu>| {
        m.update(a).map(|_| ()).map_err(coarsen_optimize::DescentError::linearize)
    };
    let mut f = Linearized::new(step, a, m, assemble, update)
        .projecting(|f, on| f.curvature = if on { Curvature::Projected } else { Curvature::Exact });
    let (mut descent, mut rule) = newton(iterations);
    let mut v = vec![0.0; x.len()];
    let step = |_| {
        f.objective.begin(&x, &v, GRAVITY).unwrap();
        let mut next: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + H * v).collect();
        rule.forget();
        let report = descent.minimize(&mut f, &mut rule, &mut next).unwrap();
        assert_eq!(report.iterations, iterations, "{report}");
        v = next.iter().zip(&x).map(|(next, x)| (next - x) / H).collect();
        x = next;
        x.clone()
    };
    (0..steps).map(step).collect()
}

/// The positions after each step on a device, and what the steps without their reads have counted.
fn on_device(backend: &OpenCl<f64>, steps: usize, iterations: usize) -> (Vec<Vec<f64>>, Counters) {
    let (forces, x, masses) = sheet();
    let mut step = DeviceImplicitEuler::new(backend, &forces.kernels().unwrap(), &masses, H).unwrap();
    let host = ImplicitEuler::new(forces, &masses, H).unwrap().hessian(&x).clone();
    let a = backend.matrix(&host).unwrap();
    let mut parameters = DeviceSchwarz { schwarz: domains(), ..DeviceSchwarz::default() };
    parameters.schwarz.coarse = Coarse::Domains;
    let positions = x.as_chunks().0.to_vec();
    let system = coarsen_sparse::System { positions: Some(&positions), ..(&host).into() };
    let m = parameters.build(system, backend).unwrap();
    backend.write(&x, step.state()[0]).unwrap();
    let assemble = |f: &mut DeviceImplicitEuler<f64>, x: &_, a: &mut _| Ok(f.hessian(x, a)?);
    let mut f = Linearized::new(step, a, m, assemble, |a, _, m| Ok(m.update_on_device(a)?))
        .projecting(|f, on| f.curvature = if on { Curvature::Projected } else { Curvature::Exact });
    let (mut descent, mut rule) = newton(iterations);
    let mut next = backend.zeros(x.len()).unwrap();
    let (mut frames, mut counted) = (Vec::new(), Counters::default());
    for step in 0..steps {
        let before = backend.counters();
        f.objective.begin(GRAVITY);
        f.objective.predict(1.0, &mut next);
        rule.forget();
        let report = descent.minimize(&mut f, &mut rule, &mut next).unwrap();
        assert_eq!(report.iterations, iterations, "{report}");
        f.objective.end(&next);
        let (after, later) = (backend.counters(), u64::from(step > 0)); // the first step makes workspace
        counted = Counters {
            synchronisations: counted.synchronisations + after.synchronisations - before.synchronisations,
            allocations: counted.allocations + later * (after.allocations - before.allocations),
            uploads: counted.uploads + later * (after.uploads - before.uploads),
            large: counted.large + after.large - before.large,
            ..counted
        };
        frames.push(read(f.objective.state()[0]));
    }
    f.hessian.check().unwrap();
    f.inverse.check().unwrap();
    (frames, counted)
}

#[test]
fn objectives_have_the_derivatives_of_the_host() {
    for backend in devices() {
        let (forces, x, masses) = sheet();
        let mut on_device =
            DeviceImplicitEuler::new(&backend, &forces.kernels().unwrap(), &masses, H).unwrap();
        let mut on_host = ImplicitEuler::new(forces, &masses, H).unwrap();
        let (v, moved) = (noise(x.len(), 1), noise(x.len(), 2));
        let at: Vec<f64> = x.iter().zip(&moved).map(|(x, d)| x + 0.1 * d).collect();
        on_host.begin(&x, &v, GRAVITY).unwrap();
        let [own_x, own_v] = on_device.state();
        backend.write(&x, own_x).unwrap();
        backend.write(&v, own_v).unwrap();
        on_device.begin(GRAVITY);
        let (point, mut g) = (backend.vector(&at).unwrap(), backend.zeros(x.len()).unwrap());
        let (found, host) = (on_device.value(&point), on_host.value(&at));
        assert!((found.value.read() - host.value).abs() <= 1e-14 * host.magnitude);
        assert!((found.magnitude.read() - host.magnitude).abs() <= 1e-14 * host.magnitude);
        let mut expected = vec![0.0; x.len()];
        on_host.gradient(&at, &mut expected);
        on_device.gradient(&point, &mut g);
        same(&read(&g), &expected, "the gradient of a step");
        for curvature in CURVATURES {
            (on_device.curvature, on_host.curvature) = (curvature, curvature);
            let mut host = on_host.hessian(&at).clone();
            let mut a = backend.matrix(&host).unwrap();
            let expected = host.values().to_vec();
            on_device.hessian(&point, &mut a).unwrap();
            a.check().unwrap();
            backend.read_values(&a, &mut host).unwrap();
            same(host.values(), &expected, "the Hessian of a step");
        }
        let mut next = backend.zeros(x.len()).unwrap();
        on_device.predict(0.5, &mut next);
        let expected: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + 0.5 * (H * v)).collect();
        same(&read(&next), &expected, "the start of a step");
        on_device.end(&next);
        let expected: Vec<f64> = expected.iter().zip(&x).map(|(next, x)| (next - x) / H).collect();
        same(&read(on_device.state()[1]), &expected, "the velocities after a step");
    }
}

/// The bound of a step is the least of its energies, some of which have none.
#[test]
fn objectives_bound_steps_as_the_host_does() {
    for backend in devices() {
        let (solid, x) = tetrahedra(NeoHookean, 20, 0);
        let parts: Vec<Box<dyn Potential>> = vec![Box::new(springs(40, x.len() / 3, 0).0), solid];
        let (forces, masses) = (Total::new(parts).unwrap(), vec![1.0; x.len() / 3]);
        let mut on_device =
            DeviceImplicitEuler::new(&backend, &forces.kernels().unwrap(), &masses, H).unwrap();
        let mut on_host = ImplicitEuler::new(forces, &masses, H).unwrap();
        let shrink: Vec<f64> = x.iter().map(|x| -2.0 * x).collect();
        let at = backend.vector(&x).unwrap();
        for (d, is_bound) in [(shrink, true), (noise(x.len(), 11), true), (vec![0.0; x.len()], false)] {
            let found = on_device.max_step(&at, &backend.vector(&d).unwrap()).read();
            let expected = on_host.max_step(&x, &d);
            assert_eq!(found.to_bits(), expected.to_bits(), "{found:e} instead of {expected:e}");
            assert_eq!(expected < 1.0, is_bound, "{expected:e}");
        }
    }
}

/// Steps are those of the host, their bits are the same in every run, and they transfer scalars only.
#[test]
fn steps_stay_on_the_device() {
    let on_cpu = on_host(4, 3);
    for backend in devices() {
        let (frames, counted) = on_device(&backend, 4, 3);
        for (k, (found, expected)) in frames.iter().zip(&on_cpu).enumerate() {
            let gap = found.iter().zip(expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-10 * EDGE, "step {k}: {gap:e}");
        }
        let fall = frames[3].iter().skip(1).step_by(3).fold(0.0, |low: f64, y| low.min(*y));
        assert!(fall < -0.05, "the sheet falls: {fall}");
        assert_eq!((counted.large, counted.uploads, counted.allocations), (0, 0, 0), "{counted:?}");
        // The end of the descent, and in an iteration: direction, first trial, and four of conjugate gradients.
        assert!(counted.synchronisations <= 4 * (1 + 6 * 3 + 1), "{counted:?}");
        assert!(on_device(&backend, 4, 3).0 == frames, "two runs");
    }
}

#[test]
fn energies_without_kernels_are_named() {
    let body = Elements::of("point", Point, vec![[0]], &[false], &[[0.0; 3]]).unwrap();
    let refused = body.kernels().unwrap_err();
    assert!(matches!(refused, BodyError::NoKernel { .. }), "{refused}");
    assert!(refused.to_string().starts_with("Elements<Point, 1> has no kernels"), "{refused}");
    assert_eq!(Total::new(vec![body]).unwrap().kernels().unwrap_err(), refused);
}

/// An element without a kernel.
struct Point;

impl Element<1> for Point {
    const WORK: usize = 1;

    fn energy(&self, _: usize, _: &[[f64; 3]; 1]) -> Energy {
        Energy::default()
    }

    fn gradient(&self, _: usize, _: &[[f64; 3]; 1]) -> [[f64; 3]; 1] {
        [[0.0; 3]]
    }

    fn add_hessian(&self, _: usize, _: &[[f64; 3]; 1], _: Curvature, _: &mut Stiffness<1>) {}
}
