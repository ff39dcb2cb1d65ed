//! Contact of triangles on the device where memory, lists or numbers end.

use coarsen_backend::Backend;
use coarsen_contact::ClothContact;
use coarsen_core::{Error, Scalar};
use coarsen_elastic::SurfaceKernel;
use coarsen_opencl::{DeviceClothContact, DeviceVector, OpenCl};

use crate::common;

const THICKNESS: f64 = 0.4;

/// Nodes along a side of a sheet.
const SIDE: u32 = 8;

/// Two sheets of squares of this size at half the thickness, of which node 0 is held.
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
    (contact.kernel().unwrap(), positions[1..].as_flattened().to_vec())
}

/// The energy after a search.
fn energy(contact: &mut DeviceClothContact<f64>, x: &DeviceVector<f64>) -> f64 {
    contact.search(x, None);
    contact.energy(x).value.read()
}

/// Grows until no list is too small.
fn known_energy(contact: &mut DeviceClothContact<f64>, x: &DeviceVector<f64>) -> f64 {
    loop {
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
        assert!(contact.max_step(&wide, &narrow).read().is_nan());
        drop(ballast);
        assert!(contact.grow().unwrap());
        assert_eq!(known_energy(&mut contact, &narrow), expected, "{eighths} eighths");
    }
}
