//! Surfaces with a smooth distance.

use coarsen_contact::{ContactError, Obstacle, Shape, Smoothed};

use crate::common::{check_gradient, check_hessian, noise};
use crate::obstacles::{cuboid, to_cuboid};

const LOW: [f64; 3] = [-0.3, 0.1, -0.2];
const HIGH: [f64; 3] = [0.5, 0.6, 0.33];

fn solid(h: f64) -> Smoothed {
    let (corners, triangles) = cuboid(LOW, HIGH);
    Smoothed::new(&corners, &triangles, h, |x| to_cuboid(LOW, HIGH, x) < 0.0).unwrap()
}

/// Points within 1.4 samples of the surface.
fn near(h: f64, seed: u64) -> Vec<[f64; 3]> {
    let all = noise(300_000, seed);
    let near = all.as_chunks::<3>().0.iter().filter(|x| to_cuboid(LOW, HIGH, **x).abs() < 1.4 * h);
    near.copied().collect()
}

/// The surface is inside, and one corner is at the surface of the solid. Above the middle of a face the distance is that of
/// the box, less one number for all faces, which is below half of the spacing.
#[test]
fn the_solid_contains_the_surface() {
    for h in [0.03, 0.05] {
        let solid = solid(h);
        let (corners, _) = cuboid(LOW, HIGH);
        let highest = corners.iter().map(|x| solid.distance(*x)).fold(f64::NEG_INFINITY, f64::max);
        assert!(highest.abs() < 1e-12, "{highest}");
        let (mut shifts, mut inside) = (Vec::new(), 0);
        for x in near(h, 3) {
            let exact = to_cuboid(LOW, HIGH, x);
            // The nearest points of the box and their faces.
            let foot: [f64; 3] = std::array::from_fn(|k| x[k].clamp(LOW[k], HIGH[k]));
            let sides = (0..3).filter(|&k| (foot[k] - LOW[k]).min(HIGH[k] - foot[k]) < 4.0 * h).count();
            if sides == 1 {
                shifts.push(exact - solid.distance(x));
            }
            assert!(solid.distance(x) < exact + 1e-12, "{x:?}");
            inside += usize::from(exact.abs() < 0.02 * h);
        }
        let (least, most) = shifts.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), s| (a.min(*s), b.max(*s)));
        assert!(shifts.len() > 100 && inside > 20 && most - least < 1e-12, "{least} {most}");
        assert!(most > 0.1 * h && most < 0.5 * h, "{most} of {h}");
        let grown = solid.grown(0.01);
        assert!(near(h, 4).iter().all(|x| (solid.distance(*x) - grown.distance(*x) - 0.01).abs() < 1e-14));
    }
}

/// The force of an obstacle is the gradient of its energy, and its exact Hessian that of the force, at faces, edges and
/// corners; where slopes are not 1, too.
#[test]
fn forces_are_gradients() {
    let h = 0.05;
    let solid = solid(h);
    let x: Vec<f64> = near(h, 5).into_iter().filter(|x| solid.distance(*x) < 0.0).flatten().collect();
    let lengths = x.as_chunks::<3>().0.iter().map(|x| solid.gradient(*x)).map(|g| {
        let squares: f64 = g.iter().map(|g| g * g).sum();
        squares.sqrt()
    });
    let least = lengths.fold(1.0, f64::min);
    assert!(x.len() > 900 && least < 0.8, "{} {least}", x.len());
    let mut obstacle = Obstacle::new(x.len() / 3, solid, 30.0).unwrap();
    check_gradient(&mut obstacle, &x, 1e-6, 1e-6);
    check_hessian(obstacle, &x, 1e-7, 1e-4);
}

/// No slope is larger than the bound, within the samples, across their end and far away.
#[test]
fn slopes_are_bounded() {
    let solid = solid(0.05);
    for (x, by) in noise(9000, 21).as_chunks::<3>().0.iter().zip(noise(9000, 22).as_chunks::<3>().0) {
        for size in [1e-3, 1.0] {
            let y = [0, 1, 2].map(|k| x[k] + size * by[k]);
            let way = (0..3).map(|k| (x[k] - y[k]).powi(2)).sum::<f64>().sqrt();
            let slope = (solid.distance(*x) - solid.distance(y)).abs() / way;
            assert!(slope < solid.steepness() + 1e-9, "{x:?} {by:?}: {slope}");
        }
    }
    assert!(solid.distance([f64::NAN, 0.0, 0.0]).is_nan());
    let far = solid.distance([9.0, 0.3, 0.0]);
    assert!((far - 8.5).abs() < 0.1 && (solid.normal([9.0, 0.3, 0.0])[0] - 1.0).abs() < 1e-6, "{far}");
}

#[test]
fn surfaces_that_cannot_be_sampled_are_refused() {
    let (corners, triangles) = cuboid(LOW, HIGH);
    let refused = |h| Smoothed::new(&corners, &triangles, h, |_| false).err();
    assert!(matches!(refused(0.0), Some(ContactError::Value { .. })));
    assert!(matches!(refused(1e-5), Some(ContactError::TooMany { .. })));
}
