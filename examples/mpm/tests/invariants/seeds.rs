//! Seeding, meshes, emitters.

use std::path::Path;

use coarsen::contact::ContactError;
use coarsen::mesh::{Format, Mesh, parse};
use coarsen_core::SplitMix64;
use examples_scene::closed::{MeshFault, closed};
use mpm::material::Material;
use mpm::scene::{Body, Emitter, Setting};
use mpm::seed::{Seeds, emit};
use mpm::shape::Shape;

fn material() -> Material {
    Material { density: Some(1e3), young: Some(1e5), poisson: Some(0.3), ..Material::default() }
}

fn body(shape: Shape) -> Body {
    Body { shape: Some(shape), material: material(), ..Body::default() }
}

/// The volume of the particles is that of the shape, up to the lattice.
#[test]
fn particles_fill_their_shape() {
    use std::f64::consts::PI;
    let (from, to) = ([0.0; 3], [0.0, 0.3, 0.4]);
    for (shape, volume) in [
        (Shape::Sphere { centre: [0.3; 3], radius: 0.4 }, 4.0 / 3.0 * PI * 0.064),
        (Shape::Box { low: [0.0; 3], high: [0.5, 0.4, 0.7] }, 0.14),
        (
            Shape::Torus { centre: [0.0; 3], axis: [1.0, 1.0, 0.0], radii: [0.5, 0.2] },
            2.0 * PI * PI * 0.5 * 0.04,
        ),
        (Shape::Capsule { from, to, radius: 0.3 }, PI * 0.09 * 0.5 + 4.0 / 3.0 * PI * 0.027),
        (Shape::Cylinder { from, to, radius: 0.3 }, PI * 0.09 * 0.5),
    ] {
        let setting = Setting { body: vec![body(shape)], ..Setting::default() };
        let (particles, bodies) = Seeds::new(&setting).unwrap().fill(0.04).unwrap();
        let filled = particles.len() as f64 * bodies[0].volume;
        assert!((filled / volume - 1.0).abs() < 0.02, "{shape:?}: {filled} of {volume}");
        let solid = shape.solid().unwrap();
        assert!(particles.iter().all(|p| solid.distance(p.x) < 0.0));
        let [low, high] = shape.bounds().unwrap();
        assert!(particles.iter().all(|p| (0..3).all(|k| (low[k]..high[k]).contains(&p.x[k]))));
    }
}

/// Where bodies overlap, the material is that of the later one, and no particle is there twice.
#[test]
fn later_bodies_replace_earlier_ones() {
    let inner = Shape::Sphere { centre: [0.25; 3], radius: 0.2 };
    let outer = Shape::Box { low: [0.0; 3], high: [0.5; 3] };
    let setting = Setting { body: vec![body(outer), body(inner)], ..Setting::default() };
    let (particles, _) = Seeds::new(&setting).unwrap().fill(0.05).unwrap();
    let solid = inner.solid().unwrap();
    assert!(particles.iter().all(|p| (p.body == 1) == (solid.distance(p.x) < 0.0)));
    let alone = Setting { body: vec![body(outer)], ..Setting::default() };
    let (all, _) = Seeds::new(&alone).unwrap().fill(0.05).unwrap();
    assert!((particles.len() as f64 / all.len() as f64 - 1.0).abs() < 0.02);
}

/// `--particles` gives the number asked for, up to the lattice.
#[test]
fn the_spacing_follows_the_number_of_particles() {
    let ring = Shape::Torus { centre: [0.0; 3], axis: [0.0, 1.0, 0.0], radii: [0.5, 0.1] };
    let setting = Setting { body: vec![body(ring)], ..Setting::default() };
    let seeds = Seeds::new(&setting).unwrap();
    for count in [3000, 30_000] {
        let (particles, _) = seeds.fill(seeds.spacing_for(count).unwrap()).unwrap();
        assert!((particles.len() as f64 / count as f64 - 1.0).abs() < 0.03, "{}", particles.len());
    }
}

/// The surface of a cube with corners at 0 and 1; the corners of faces are counter-clockwise from outside.
fn cube(shift: [f64; 3]) -> String {
    let mut text = String::new();
    for c in 0..8 {
        let [x, y, z] = [0, 1, 2].map(|k| f64::from(c >> k & 1) + shift[k]);
        text += &format!("v {x} {y} {z}\n");
    }
    text + "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
}

fn read(text: &str) -> Mesh {
    parse(Format::Obj, text.as_bytes()).unwrap()
}

/// Rays through edges and vertices count once, and each of two shells counts.
#[test]
fn winding_numbers_tell_the_inside() {
    let one = closed(read(&cube([0.0; 3])), Path::new("cube.obj")).unwrap();
    let mut random = SplitMix64::new(5);
    for _ in 0..2000 {
        // Multiples of 1/8 lie above edges and vertices; none lies on the surface.
        let x: [f64; 3] = std::array::from_fn(|k| {
            let eighth = (8.0 * random.number()).floor() / 8.0 + 0.5;
            if k == 2 { eighth + 1.0 / 16.0 } else { eighth }
        });
        if x[..2].iter().any(|v| *v == 0.0 || *v == 1.0) {
            continue;
        }
        let inside = x.iter().all(|v| (0.0..1.0).contains(v));
        assert_eq!(one.winding(x), i32::from(inside), "{x:?}");
    }
    let mut both = read(&cube([0.0; 3]));
    let other = read(&cube([0.5; 3]));
    both.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + 8)));
    both.positions.extend(other.positions);
    let both = closed(both, Path::new("cubes.obj")).unwrap();
    assert_eq!([[0.3; 3], [0.7; 3], [1.3; 3], [1.7; 3]].map(|x| both.winding(x)), [1, 2, 1, 0]);
}

#[test]
fn open_and_inverted_surfaces_are_refused() {
    let mut open = read(&cube([0.0; 3]));
    open.triangles.remove(1);
    let refused = closed(open, Path::new("open.obj")).unwrap_err();
    assert!(refused.to_string().contains("open.obj"));
    let MeshFault::Surface { source, .. } = refused else { panic!("{refused}") };
    assert!(matches!(source, ContactError::Open { edge: [0, 1] | [0, 2] | [0, 3] | [1, 3], .. }), "{source}");
    let mut inverted = read(&cube([0.0; 3]));
    inverted.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let refused = closed(inverted, Path::new("in.obj")).unwrap_err();
    let MeshFault::Surface { source, .. } = refused else { panic!("{refused}") };
    assert!(matches!(source, ContactError::Inverted { volume } if (volume + 1.0).abs() < 1e-12));
}

/// What flows in a second is the shadow of the region times the speed, however time is divided into steps.
#[test]
fn emitters_flow_evenly() {
    let emitter = Emitter {
        shape: Shape::Sphere { centre: [0.0; 3], radius: 0.3 },
        material: material(),
        velocity: [0.0, -2.0, 0.0],
        until: 0.5,
        swing: [0.0; 3],
        swing_rate: [0.0; 3],
    };
    let volume = |cuts: &[f64]| {
        let mut particles = Vec::new();
        let mut from = f64::NEG_INFINITY;
        for &to in cuts {
            emit(&emitter, 0, 0.05, [from, to], &mut particles).unwrap();
            from = to;
        }
        particles.len()
    };
    let steps = |n: u32| (0..=n).map(|k| f64::from(k) / f64::from(n)).collect::<Vec<f64>>();
    let h3 = 0.05_f64.powi(3) / 8.0;
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 0.027;
    let expected = ball + std::f64::consts::PI * 0.09 * 2.0 * 0.5;
    for n in [100, 271] {
        let found = volume(&steps(n)) as f64 * h3;
        assert!((found / expected - 1.0).abs() < 0.03, "{n}: {found} of {expected}");
    }
    // No particle is emitted twice at the end of a step.
    let mut particles = Vec::new();
    emit(&emitter, 0, 0.05, [f64::NEG_INFINITY, 0.0], &mut particles).unwrap();
    let first = particles.len();
    emit(&emitter, 0, 0.05, [0.0, 0.0], &mut particles).unwrap();
    emit(&emitter, 0, 0.05, [0.6, 0.7], &mut particles).unwrap();
    assert_eq!(particles.len(), first);
}
