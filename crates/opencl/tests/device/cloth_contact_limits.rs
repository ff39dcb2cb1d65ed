//! Contact of triangles on the device where memory, lists or numbers end.

use coarsen_backend::Backend;
use coarsen_contact::{ClothContact, ClothFriction};
use coarsen_core::{Error, Scalar, Vector};
use coarsen_elastic::{Curvature, SurfaceKernel};
use coarsen_opencl::{DeviceClothContact, DeviceContacts, DeviceVector, OpenCl};

use crate::common::{self, read};

const THICKNESS: f64 = 0.4;

/// Nodes along a side of a sheet.
const SIDE: u32 = 8;

/// Two sheets of squares of this size at half the thickness, with friction, of which node 0 is held, and where the others are.
fn sheets(spacing: f64) -> (SurfaceKernel, Vec<f64>) {
    let node = |i: u32, j: u32, layer: u32| (layer * SIDE + j) * SIDE + i;
    let (mut triangles, mut positions) = (Vec::new(), Vec::new());
    for (layer, j, i) in
        (0..2).flat_map(|layer| (0..SIDE).flat_map(move |j| (0..SIDE).map(move |i| (layer, j, i))))
    {
        positions.push([f64::from(i), f64::from(j), 0.0].map(|x| spacing * x));
        positions.last_mut().unwrap()[2] = 0.5 * THICKNESS * f64::from(layer);
        if i + 1 < SIDE && j + 1 < SIDE {
            let [a, b, c, d] = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[p, q]| node(i + p, j + q, layer));
            triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    let held: Vec<bool> = (0..positions.len()).map(|i| i == 0).collect();
    let contact = ClothContact::new(&triangles, &held, &positions, THICKNESS, 50.0).unwrap();
    let kernel = contact.kernel().unwrap();
    let friction = ClothFriction::new(&contact, 0.3, 0.01).unwrap().kernel(&kernel);
    (SurfaceKernel { friction, ..kernel }, positions[1..].as_flattened().to_vec())
}

/// Whether energy, magnitude, gradient and Hessian are NaN; either all of them are or none.
fn are_nan(contact: &mut DeviceClothContact<f64>, x: &DeviceVector<f64>, what: &str) -> bool {
    let mut g = x.like().unwrap();
    g.fill(0.0);
    contact.add_gradient(x, &mut g);
    let mut set = DeviceContacts::new(x.backend(), x.size() / 3, 3, contact.blocks()).unwrap();
    contact.hessian(x, Curvature::Projected, &mut set).unwrap();
    let (energy, has_nan) = (contact.energy(x), |all: &[f64]| all.iter().any(|v| v.is_nan()));
    let found = [energy.value.read().is_nan(), energy.magnitude.read().is_nan()];
    let found = [found[0], found[1], has_nan(&read(&g)), has_nan(&set.read().unwrap().1)];
    assert!(found.iter().all(|nan| *nan == found[0]), "{what}: {found:?}");
    found[0]
}

/// The energy after a search.
fn energy(contact: &mut DeviceClothContact<f64>, x: &DeviceVector<f64>) -> f64 {
    contact.search(x, None);
    contact.energy(x).value.read()
}

/// Takes friction at x, and grows until no list is too small.
fn known_energy(contact: &mut DeviceClothContact<f64>, x: &DeviceVector<f64>) -> f64 {
    loop {
        contact.grip(x);
        let energy = energy(contact, x);
        if !contact.grow().unwrap() {
            return energy;
        }
    }
}

/// A growth that does not fit into the memory changes nothing, wherever it fails; it succeeds once there is memory.
#[test]
fn growth_without_memory_changes_nothing() {
    const MEMORY: u64 = 96 << 20;
    let Some(backend): Option<OpenCl<f64>> = common::posing(|device| device.memory = MEMORY) else { return };
    let (kernel, narrow) = sheets(0.3);
    let wide: Vec<f64> = narrow.chunks(3).flat_map(|x| [10.0 * x[0], 10.0 * x[1], x[2]]).collect();
    let [narrow, wide] = [narrow, wide].map(|x| backend.vector(&x).unwrap());
    // The list of pairs that are near is too short for the first positions, that of candidates for the second.
    let begin = || {
        let mut contact = DeviceClothContact::new(&backend, &kernel).unwrap();
        assert!(energy(&mut contact, &wide).is_nan() && contact.candidates().is_ok());
        assert!(energy(&mut contact, &narrow).is_nan() && contact.candidates().is_err());
        contact
    };
    let (needed, expected) = {
        let mut contact = begin();
        let before = backend.counters().bytes;
        assert!(contact.grow().unwrap());
        (backend.counters().bytes - before, known_energy(&mut contact, &narrow))
    };
    assert!(expected > 0.0);
    for eighths in 0..8 {
        let mut contact = begin();
        let left = MEMORY - backend.counters().bytes - needed * eighths / 8;
        let ballast: DeviceVector<f64> = backend.zeros(left as usize / 8).unwrap();
        let before = backend.counters().bytes;
        for _ in 0..2 {
            let found = contact.grow();
            assert!(matches!(found, Err(Error::Memory { .. })), "{eighths} eighths: {found:?}");
            assert_eq!(backend.counters().bytes, before, "{eighths} eighths");
        }
        assert!(energy(&mut contact, &narrow).is_nan() && contact.candidates().is_err());
        assert!(contact.max_step(&narrow, &narrow).read().is_nan());
        drop(ballast);
        assert!(contact.grow().unwrap());
        assert_eq!(known_energy(&mut contact, &narrow), expected, "{eighths} eighths");
    }
}

/// Energy, gradient and Hessian are NaN where pairs are missing, for contact alone and with friction: before the first search, where a
/// list is too small, at positions that are not finite, and outside of the last search.
#[test]
fn missing_pairs_make_everything_nan() {
    let Some(backend) = common::backend::<f64>() else { return };
    let (with_friction, x) = sheets(0.3);
    let moved = |by: f64| backend.vector(&x.iter().map(|x| x + by).collect::<Vec<_>>()).unwrap();
    let (at, near, far) = (moved(0.0), moved(0.1 * THICKNESS), moved(THICKNESS));
    let mut last = x.clone();
    *last.last_mut().unwrap() = f64::INFINITY;
    let infinite = backend.vector(&last).unwrap();
    for kernel in [SurfaceKernel { friction: None, ..with_friction.clone() }, with_friction] {
        let mut contact = DeviceClothContact::new(&backend, &kernel).unwrap();
        assert!(are_nan(&mut contact, &at, "before the first search") && !contact.grow().unwrap());
        let mut lengths = 0;
        loop {
            contact.grip(&at);
            contact.search(&at, None);
            let nan = are_nan(&mut contact, &at, "lists that are too small");
            if !contact.grow().unwrap() {
                assert!(!nan);
                break;
            }
            assert!(nan);
            lengths += 1;
        }
        assert!(lengths > 1, "{lengths}");
        assert!(!are_nan(&mut contact, &near, "inside"));
        assert!(are_nan(&mut contact, &infinite, "not finite") && !contact.grow().unwrap());
        assert!(are_nan(&mut contact, &far, "outside") && contact.grow().is_err());
        assert!(!are_nan(&mut contact, &near, "inside again") && !contact.grow().unwrap());
        contact.search(&infinite, None);
        assert!(are_nan(&mut contact, &at, "a search that is not finite") && !contact.grow().unwrap());
    }
}

/// Friction is NaN, not absent, until the start of a step has taken its pairs: in new lists, and in lists that have grown. Longer lists
/// of candidates keep it.
#[test]
fn friction_is_nan_until_it_is_taken() {
    let Some(backend) = common::backend::<f64>() else { return };
    let (kernel, x) = sheets(0.3);
    let scaled = |by: [f64; 2], slip: f64| {
        let slip = |z: f64| if z > 0.0 { slip } else { 0.0 };
        let at = |x: &[f64]| [by[0] * x[0] + slip(x[2]), by[0] * x[1], by[1] * x[2]];
        backend.vector(&x.chunks(3).flat_map(at).collect::<Vec<_>>()).unwrap()
    };
    let (wide, slid, apart) = (scaled([10.0, 1.0], 0.0), scaled([10.0, 1.0], 0.05), scaled([100.0; 2], 0.0));
    let mut contact = DeviceClothContact::new(&backend, &kernel).unwrap();
    contact.search(&apart, None);
    assert!(are_nan(&mut contact, &apart, "new lists") && !contact.grow().unwrap(), "all lists suffice");
    contact.grip(&apart);
    assert!(!are_nan(&mut contact, &apart, "no pair"));
    // More pairs are near than the lists hold: those of friction are replaced too.
    contact.search(&wide, None);
    assert!(are_nan(&mut contact, &wide, "a short list") && contact.grow().unwrap());
    contact.search(&wide, None);
    assert!(are_nan(&mut contact, &wide, "lists that have grown") && !contact.grow().unwrap());
    contact.grip(&wide);
    assert!(!are_nan(&mut contact, &wide, "taken"));
    let before = contact.energy(&slid).value.read();
    let alone = SurfaceKernel { friction: None, ..kernel };
    let alone = known_energy(&mut DeviceClothContact::new(&backend, &alone).unwrap(), &slid);
    assert!(before > 1.001 * alone, "{before:e}, {alone:e}");
    contact.max_step(&wide, &wide);
    assert!(contact.energy(&slid).value.read().is_nan() && contact.grow().unwrap());
    contact.search(&wide, None);
    assert_eq!(contact.energy(&slid).value.read(), before);
}

/// Surfaces whose lists do not fit or whose numbers are no distances are refused, and the backend goes on.
#[test]
fn surfaces_that_do_not_fit_are_refused() {
    let Some(backend) = common::backend::<f32>() else { return };
    let (kernel, _) = sheets(0.3);
    let refused = |change: &dyn Fn(&mut SurfaceKernel)| {
        let mut other = kernel.clone();
        change(&mut other);
        let found = DeviceClothContact::new(&backend, &other).map(drop).unwrap_err();
        assert!(DeviceClothContact::new(&backend, &kernel).is_ok(), "{found}");
        found
    };
    let lists: [&dyn Fn(&mut SurfaceKernel); 9] = [
        &|k| k.triangles.clear(),
        &|k| k.vertices[3] = 1000,
        &|k| k.edges[3][1] = 1000,
        &|k| k.triangles[3][2] = 1000,
        &|k| k.rest.truncate(1),
        &|k| k.rest.push(1.0),
        &|k| k.friction.as_mut().unwrap().free += 1,
        &|k| k.friction.as_mut().unwrap().held.clear(),
        // All nodes are held.
        &|k| {
            k.pair.held.extend(vec![[0.0; 3]; k.pair.free]);
            k.pair.free = 0;
            k.friction = None;
        },
    ];
    for (case, change) in lists.into_iter().enumerate() {
        let found = refused(change);
        assert!(matches!(found, Error::Shape { .. }), "case {case}: {found}");
    }
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-60] {
        let found = refused(&|k| k.thickness = value);
        assert!(matches!(found, Error::Parameter { name: "SurfaceKernel::thickness", .. }), "{found}");
    }
    for value in [-1e-3, f64::NAN, f64::INFINITY, THICKNESS, THICKNESS * (1.0 - 1e-12)] {
        let found = refused(&|k| k.min_distance = value);
        assert!(matches!(found, Error::Parameter { name: "SurfaceKernel::min_distance", .. }), "{found}");
    }
    let moved = refused(&|k| k.friction.as_mut().unwrap().held[0][1] += 1.0);
    assert!(matches!(moved, Error::Parameter { .. }), "{moved}");
    let (rest, held) = (
        refused(&|k| k.rest[1] = f64::NAN),
        refused(&|k| {
            k.pair.held[0][2] = 1e60;
            k.friction = None;
        }),
    );
    assert!(matches!((rest, held), (Error::NotFinite { index: 1, .. }, Error::NotFinite { index: 2, .. })));
}

/// In `f32` a vertex below the least distance slides along a triangle as far as the step goes, whatever the round-off of the distance.
#[test]
fn pairs_slide_in_single_precision() {
    let Some(backend) = common::backend::<f32>() else { return };
    let at = |height: f64| {
        [
            [0.0, 0.0, 0.0],
            [0.5, 0.0, 0.0],
            [0.0, 0.5, 0.0],
            [0.15, 0.15, height],
            [0.5, 0.15, 1.0],
            [0.2, 0.5, 1.0],
        ]
    };
    let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &at(1.0), 4.0, 50.0).unwrap();
    let kernel = contact.kernel().unwrap();
    let none = SurfaceKernel { edges: Vec::new(), rest: Vec::new(), ..kernel };
    let one = SurfaceKernel { vertices: vec![3], triangles: vec![[0, 1, 2]], ..none };
    let mut contact = DeviceClothContact::new(&backend, &one).unwrap();
    let slide: [[f64; 3]; 6] = std::array::from_fn(|i| if i == 3 { [0.1, -0.05, 0.0] } else { [0.0; 3] });
    for turn in 1..20 {
        let (sine, cosine) = (0.3 * f64::from(turn)).sin_cos();
        let turned = |all: &[[f64; 3]]| {
            let about_x = |[x, y, z]: [f64; 3]| [x, cosine * y - sine * z, sine * y + cosine * z];
            let about_z = |[x, y, z]: [f64; 3]| [cosine * x - sine * y, sine * x + cosine * y, z];
            let all: Vec<f32> = all.iter().flat_map(|x| about_z(about_x(*x))).map(|x| x as f32).collect();
            backend.vector(&all).unwrap()
        };
        let (x, d) = (turned(&at(0.35)), turned(&slide)); // the least distance is 0.4
        let bound = contact.max_step(&x, &d).read();
        assert!(bound >= 1.0 && !contact.grow().unwrap(), "turn {turn}: {bound}");
    }
}
