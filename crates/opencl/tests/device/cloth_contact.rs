//! Contact of triangles on the device, beside that of the host.

use coarsen_backend::Backend;
use coarsen_backend::conformance::noise;
use coarsen_contact::{Aabb, BroadPhase, ClothContact, ClothFriction, Crossings, Pair, Topology};
use coarsen_core::{Error, Scalar, Vector};
use coarsen_elastic::{ContactHessian, Curvature, Potential};
use coarsen_opencl::{DeviceClothContact, DeviceContacts, DeviceVector, OpenCl};
use coarsen_sparse::Contacts;

use crate::common::{self, in_step, read};

/// Numbers of triangles, and which nodes are held.
const CASES: [(usize, usize); 8] = [(1, 0), (2, 0), (31, 0), (31, 7), (32, 7), (33, 0), (33, 7), (1000, 7)];

/// The thickness, and the distance of layers.
const THICKNESS: f64 = 0.4;
const LAYERS: f64 = 0.2;

fn backends() -> Vec<OpenCl<f64>> {
    common::backend().into_iter().flat_map(|here| [in_step(&here), here]).collect()
}

/// Backends and cases; the largest on the default device alone.
fn cases() -> Vec<(OpenCl<f64>, (usize, usize))> {
    let large = |of: &OpenCl<f64>, count: usize| count > 100 && of.device().accelerator;
    let all = backends().into_iter().flat_map(|backend| CASES.map(|case| (backend.clone(), case)));
    all.filter(|(backend, (count, _))| !large(backend, *count)).collect()
}

/// A surface, at rest.
struct Surface {
    triangles: Vec<[u32; 3]>,
    held: Vec<bool>,
    positions: Vec<[f64; 3]>,
}

/// Strips of 20 triangles on each other, `count` triangles in all; every `held`-th node is held.
fn layers(count: usize, held: usize) -> Surface {
    let (mut triangles, mut positions) = (Vec::new(), Vec::new());
    while triangles.len() < count {
        let first = positions.len() as u32;
        let own = (count - triangles.len()).min(20);
        let height = LAYERS * (first / 22) as f64;
        let shift = 0.3 * f64::from(first / 22 % 3);
        positions.extend((0..own + 2).map(|k| [0.5 * k as f64 + shift, (k % 2) as f64 + shift, height]));
        let triangle = |k: u32| if k.is_multiple_of(2) { [k, k + 1, k + 2] } else { [k + 1, k, k + 2] };
        triangles.extend((0..own as u32).map(|k| triangle(k).map(|v| v + first)));
    }
    let held = (0..positions.len()).map(|i| held > 0 && i % held == 0).collect();
    Surface { triangles, held, positions }
}

impl Surface {
    fn contact(&self) -> ClothContact {
        ClothContact::new(&self.triangles, &self.held, &self.positions, THICKNESS, 50.0).unwrap()
    }

    /// The entries of free nodes.
    fn free(&self, all: &[[f64; 3]]) -> Vec<f64> {
        all.iter().zip(&self.held).filter(|(_, held)| !**held).flat_map(|(x, _)| *x).collect()
    }

    /// The positions of all nodes.
    fn all(&self, x: &[f64]) -> Vec<[f64; 3]> {
        let mut own = x.as_chunks().0.iter();
        let at = |(held, rest): (&bool, &[f64; 3])| if *held { *rest } else { *own.next().unwrap() };
        self.held.iter().zip(&self.positions).map(at).collect()
    }

    /// Positions at rest, with noise of this size, and where all nodes of a third of the strips are in one point.
    fn states(&self) -> Vec<Vec<f64>> {
        let moved = |size: f64, seed: u64| {
            let noise = noise(3 * self.positions.len(), seed);
            let at = |(x, by): (&[f64; 3], &[f64; 3])| [0, 1, 2].map(|k| x[k] + size * by[k]);
            self.free(&self.positions.iter().zip(noise.as_chunks().0).map(at).collect::<Vec<_>>())
        };
        let collapsed = |(i, x): (usize, &[f64; 3])| if i / 22 % 3 == 0 { [1.0, 0.5, 0.1] } else { *x };
        let collapsed: Vec<[f64; 3]> = self.positions.iter().enumerate().map(collapsed).collect();
        vec![moved(0.0, 1), moved(0.02, 2), moved(0.06, 3), moved(1.0, 4), self.free(&collapsed)]
    }

    /// The pairs of candidates of a device.
    fn pairs(&self, found: &[[u32; 2]]) -> Vec<Pair> {
        let mut vertices = self.triangles.as_flattened().to_vec();
        vertices.sort_unstable();
        vertices.dedup();
        let mut triangles = self.triangles.clone();
        triangles.sort_unstable();
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]);
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        edges.sort_unstable();
        edges.dedup();
        let pair = |[query, part]: &[u32; 2]| match (*query as usize).checked_sub(vertices.len()) {
            None => Pair::VertexFace { vertex: vertices[*query as usize], face: triangles[*part as usize] },
            Some(edge) => Pair::EdgeEdge { edges: [edges[edge], edges[*part as usize - triangles.len()]] },
        };
        found.iter().map(pair).collect()
    }
}

/// Runs `work` until no list is too small, and returns its result and how often it ran.
fn grown<R>(
    contact: &mut DeviceClothContact<f64>,
    mut work: impl FnMut(&mut DeviceClothContact<f64>) -> R,
) -> (R, usize) {
    let mut runs = 1;
    loop {
        let result = work(contact);
        if !contact.grow().unwrap() {
            return (result, runs);
        }
        runs += 1;
    }
}

/// Gaps of NaN and of infinities are 0.
fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let most = expected.iter().filter(|e| e.is_finite()).fold(0.0, |most: f64, e| most.max(e.abs()));
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        let is_close = (f - e).abs() <= tolerance * most || f == e || f.is_nan() && e.is_nan();
        assert!(is_close, "{what}, entry {k}: {f:e} instead of {e:e}, beside {most:e}");
    }
}

/// The candidates are the pairs whose boxes overlap, in the order of the host: around positions, and along displacements.
#[test]
fn candidates_are_those_of_the_host() {
    for (backend, (count, held)) in cases() {
        let surface = layers(count, held);
        let parts = Topology::new(&surface.triangles, &surface.held, &surface.positions).unwrap();
        let mut contact = DeviceClothContact::new(&backend, &surface.contact().kernel().unwrap()).unwrap();
        let states = surface.states();
        for (state, x) in states.iter().enumerate() {
            let still = vec![0.0; x.len()];
            let far: Vec<f64> = states[3].iter().zip(x).map(|(to, from)| to - from).collect();
            for d in [&still, &far] {
                let mut all = d.as_chunks().0.iter();
                let along: Vec<[f64; 3]> = surface
                    .held
                    .iter()
                    .map(|held| if *held { [0.0; 3] } else { *all.next().unwrap() })
                    .collect();
                let at = surface.all(x);
                let of = |node: u32| {
                    let (x, d) = (at[node as usize], along[node as usize]);
                    Aabb::of([x, [0, 1, 2].map(|k| x[k] + d[k])]).grown(0.75 * THICKNESS)
                };
                let mut expected = Vec::new();
                BroadPhase::default().find(&parts, of, |_| true, &mut expected).unwrap();
                let [x, d] = [x, d].map(|v| backend.vector(v).unwrap());
                let (found, _) = grown(&mut contact, |contact| {
                    contact.search(&x, Some(&d));
                    contact.candidates()
                });
                let found = surface.pairs(&found.unwrap());
                assert_eq!(found, expected, "{count} triangles, {held} held, state {state}");
            }
        }
    }
}

/// The sum of the Hessians of the host, as blocks.
fn blocks(all: &mut [&mut dyn Potential], x: &[f64], curvature: Curvature) -> Contacts<f64> {
    let (mut hessian, n) = (ContactHessian::default(), all[0].nodes());
    all.iter_mut().for_each(|potential| potential.add_contacts(x, curvature, &mut hessian));
    let mut set = Contacts::new(n, 3).unwrap();
    set.assemble(hessian.stencils(), hessian.stiffness()).unwrap();
    set
}

/// The device keeps blocks of edges that are parallel, which are 0.
fn same_blocks(found: &DeviceContacts<f64>, expected: &Contacts<f64>, what: &str) {
    found.check().unwrap();
    let (places, values) = found.read().unwrap();
    let nonzero = |places: &[(u32, u32)], values: &[f64]| {
        let all = places.iter().zip(values.as_chunks::<9>().0).filter(|(_, block)| **block != [0.0; 9]);
        let (places, blocks): (Vec<_>, Vec<_>) = all.map(|(place, block)| (*place, *block)).unzip();
        (places, blocks.concat())
    };
    let (found, expected) = (nonzero(&places, &values), nonzero(expected.places(), expected.values()));
    assert_eq!(found.0, expected.0, "{what}");
    close(&found.1, &expected.1, 1e-13, &format!("{what}, Hessian"));
}

/// Energies and their derivatives are those of the host, up to the logarithm of the barrier and, for energies, the order of sums.
#[test]
fn energies_are_those_of_the_host() {
    for (backend, (count, held)) in cases() {
        let surface = layers(count, held);
        let mut host = surface.contact();
        let mut contact = DeviceClothContact::new(&backend, &host.kernel().unwrap()).unwrap();
        let mut acts = 0;
        for (state, x) in surface.states().iter().enumerate() {
            let what = format!("{count} triangles, {held} held, state {state}");
            let before = noise(x.len(), 3);
            let mut gradient = before.clone();
            host.add_gradient(x, &mut gradient);
            let energy = host.energy(x);
            let at = backend.vector(x).unwrap();
            let ((found, g, set), _) = grown(&mut contact, |contact| {
                contact.search(&at, None);
                let mut g = backend.vector(&before).unwrap();
                contact.add_gradient(&at, &mut g);
                let mut set = DeviceContacts::new(&backend, x.len() / 3, 3, contact.blocks()).unwrap();
                contact.hessian(&at, Curvature::Exact, &mut set).unwrap();
                let energy = contact.energy(&at);
                ([energy.value.read(), energy.magnitude.read()], read(&g), set)
            });
            close(&found[..1], &[energy.value], 1e-12, &format!("{what}, energy"));
            close(&found[1..], &[energy.magnitude], 1e-12, &format!("{what}, magnitude"));
            close(&g, &gradient, 1e-13, &format!("{what}, gradient"));
            same_blocks(&set, &blocks(&mut [&mut host], x, Curvature::Exact), &what);
            acts += usize::from(energy.value != 0.0);
        }
        assert!(count < 31 || acts > 2, "{count} triangles: {acts}");
    }
}

/// Friction of the pairs that are near at the start of a step is that of the host, where they stick and where they slide.
#[test]
fn friction_is_that_of_the_host() {
    for backend in backends() {
        let surface = layers(64, 7);
        let mut host = surface.contact();
        let mut friction = ClothFriction::new(&host, 0.3, 0.01).unwrap();
        let mut kernel = host.kernel().unwrap();
        kernel.friction = friction.kernel(&kernel);
        let mut contact = DeviceClothContact::new(&backend, &kernel).unwrap();
        let start = &surface.states()[1];
        friction.grip(&mut host, start).unwrap();
        for size in [0.0, 1e-6, 0.05] {
            let x: Vec<f64> = start.iter().zip(noise(start.len(), 9)).map(|(x, d)| x + size * d).collect();
            let energy = [host.energy(&x), friction.energy(&x)];
            let mut gradient = vec![0.0; x.len()];
            host.add_gradient(&x, &mut gradient);
            friction.add_gradient(&x, &mut gradient);
            let [begin, at] = [start, &x].map(|x| backend.vector(x).unwrap());
            for curvature in [Curvature::Projected, Curvature::Exact] {
                let ((found, g, set), _) = grown(&mut contact, |contact| {
                    contact.grip(&begin);
                    let mut g = backend.zeros(x.len()).unwrap();
                    contact.add_gradient(&at, &mut g);
                    let mut set = DeviceContacts::new(&backend, x.len() / 3, 3, contact.blocks()).unwrap();
                    contact.hessian(&at, curvature, &mut set).unwrap();
                    let energy = contact.energy(&at);
                    ([energy.value.read(), energy.magnitude.read()], read(&g), set)
                });
                let what = format!("a slip of {size}, {curvature:?}");
                close(&found[..1], &[energy[0].value + energy[1].value], 1e-13, &what);
                close(&found[1..], &[energy[0].magnitude + energy[1].magnitude], 1e-13, &what);
                close(&g, &gradient, 1e-12, &what);
                same_blocks(&set, &blocks(&mut [&mut host, &mut friction], &x, curvature), &what);
            }
            assert!(energy[1].value > 0.0);
        }
    }
}

/// Bounds below 1 have the bits of the host. Where nothing meets, they are at least 1. After a step up to them, nothing crosses.
#[test]
fn bounds_are_those_of_the_host() {
    let mut bounded = 0;
    for (backend, (count, held)) in cases() {
        let surface = layers(count, held);
        let crossings = Crossings::new(surface.triangles.clone(), surface.held.clone());
        let mut host = surface.contact();
        let mut contact = DeviceClothContact::new(&backend, &host.kernel().unwrap()).unwrap();
        let x = &surface.states()[1];
        for (seed, size) in [(5, 0.01), (6, 0.2), (7, 1.0), (8, 20.0), (9, 0.0)] {
            if size > 1.0 && count > 100 {
                continue; // all boxes overlap
            }
            let d: Vec<f64> = noise(x.len(), seed).iter().map(|d| size * d).collect();
            let expected = host.max_step(x, &d);
            let [at, along] = [x, &d].map(|v| backend.vector(v).unwrap());
            let (found, _) = grown(&mut contact, |contact| contact.max_step(&at, &along).read());
            let what = format!("{count} triangles, {held} held, steps of {size}");
            match expected < 1.0 {
                true => assert_eq!(found, expected, "{what}"),
                false => assert!((1.0..=16.0).contains(&found), "{what}: {found}"),
            }
            bounded += usize::from(expected < 1.0);
            let moved: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + found * d).collect();
            assert!(crossings.find(&surface.all(&moved)).is_empty(), "{what}: {found}");
            // The energy is known where a line search may go.
            let moved = backend.vector(&moved).unwrap();
            let (energy, _) = grown(&mut contact, |contact| {
                contact.max_step(&at, &along);
                contact.energy(&moved).value.read()
            });
            assert!(!energy.is_nan(), "{what}");
        }
        let nan = backend.vector(&vec![f64::NAN; x.len()]).unwrap();
        let at = backend.vector(x).unwrap();
        assert!(contact.max_step(&at, &nan).read().is_nan() && contact.energy(&at).value.read().is_nan());
        assert!(contact.candidates().is_err() && !contact.grow().unwrap());
    }
    assert!(bounded > 20, "{bounded}");
}

/// Lists that are too small make everything NaN, and grow; then the results are those of lists that were large from the start, to the
/// last bit.
#[test]
fn lists_grow_and_no_pair_is_lost() {
    let Some(backend) = common::backend::<f64>() else { return };
    let surface = layers(1000, 7);
    let kernel = surface.contact().kernel().unwrap();
    let x = backend.vector(&surface.states()[1]).unwrap();
    let evaluate = |contact: &mut DeviceClothContact<f64>| {
        contact.search(&x, None);
        let mut g = x.like().unwrap();
        g.fill(0.0);
        contact.add_gradient(&x, &mut g);
        let energy = contact.energy(&x);
        (energy.value.read(), energy.magnitude.read(), read(&g))
    };
    let mut contact = DeviceClothContact::new(&backend, &kernel).unwrap();
    assert!(evaluate(&mut contact).0.is_nan() && contact.grow().unwrap());
    assert!(contact.energy(&x).value.read().is_nan());
    let (first, runs) = grown(&mut contact, evaluate);
    assert!(runs > 1 && first.0 > 0.0, "{runs}");
    let counted = backend.counters();
    let again = {
        contact.search(&x, None);
        contact.energy(&x)
    };
    let now = backend.counters();
    assert_eq!((now.synchronisations, now.allocations), (counted.synchronisations, counted.allocations));
    assert_eq!(again.value.read(), first.0);
    let mut other = DeviceClothContact::new(&backend, &kernel).unwrap();
    assert_eq!(grown(&mut other, evaluate), (first.clone(), runs + 1));
    // In longer lists than needed.
    let half: Vec<f64> = surface.states()[1].iter().map(|x| 0.5 * x).collect();
    let half = backend.vector(&half).unwrap();
    let crowded = |contact: &mut DeviceClothContact<f64>| {
        contact.search(&half, None);
        contact.energy(&half).value.read()
    };
    assert!(grown(&mut other, crowded).1 > 1);
    assert_eq!(evaluate(&mut other), first);
}

/// Positions for which the last search does not serve have no energy, and are named.
#[test]
fn positions_outside_of_the_search_are_named() {
    let Some(backend) = common::backend::<f64>() else { return };
    let surface = layers(40, 0);
    let mut contact = DeviceClothContact::new(&backend, &surface.contact().kernel().unwrap()).unwrap();
    let x = surface.states()[0].clone();
    let moved = |by: f64| backend.vector(&x.iter().map(|x| x + by).collect::<Vec<_>>()).unwrap();
    let at = |contact: &mut DeviceClothContact<f64>, x: &DeviceVector<f64>| contact.energy(x).value.read();
    assert!(
        at(&mut contact, &moved(0.0)).is_nan() && !contact.grow().unwrap() && contact.candidates().is_err()
    );
    grown(&mut contact, |contact| {
        contact.search(&moved(0.0), None);
        at(contact, &moved(0.0))
    });
    assert!(at(&mut contact, &moved(0.2 * THICKNESS)) > 0.0);
    assert!(!contact.grow().unwrap());
    assert!(at(&mut contact, &moved(0.3 * THICKNESS)).is_nan());
    assert!(matches!(contact.grow(), Err(Error::Parameter { .. })));
    assert!(!contact.grow().unwrap());
    let springs = surface.contact().with_springs();
    assert!(springs.kernel().is_err() && surface.contact().turning().kernel().is_err());
    let empty = ClothContact::new(&[], &surface.held, &surface.positions, THICKNESS, 50.0).unwrap();
    assert!(DeviceClothContact::new(&backend, &empty.kernel().unwrap()).is_err());
}

/// In `f32` energies are those of `f64` to round-off, and bounds are safe.
#[test]
fn single_precision_is_safe() {
    let Some(backend) = common::backend::<f32>() else { return };
    let surface = layers(200, 7);
    let crossings = Crossings::new(surface.triangles.clone(), surface.held.clone());
    let mut host = surface.contact();
    let mut contact = DeviceClothContact::new(&backend, &host.kernel().unwrap()).unwrap();
    let x: Vec<f32> = surface.states()[1].iter().map(|x| *x as f32).collect();
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    for (seed, size) in [(5, 0.01), (6, 0.2), (7, 1.0)] {
        let d: Vec<f32> = noise(x.len(), seed).iter().map(|d| (size * d) as f32).collect();
        let [at, along] = [&x, &d].map(|v| backend.vector(v).unwrap());
        let (bound, energy) = loop {
            let bound = contact.max_step(&at, &along).read();
            let energy = contact.energy(&at).value.read();
            if !contact.grow().unwrap() {
                break (bound, energy);
            }
        };
        let moved: Vec<f64> = wide(&x).iter().zip(wide(&d)).map(|(x, d)| x + f64::from(bound) * d).collect();
        assert!(bound > 0.0 && crossings.find(&surface.all(&moved)).is_empty(), "steps of {size}: {bound}");
        let expected = host.energy(&wide(&x)).value;
        assert!((f64::from(energy) - expected).abs() < 1e-4 * expected, "{energy} instead of {expected}");
    }
}
