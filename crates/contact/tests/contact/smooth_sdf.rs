//! Surfaces with a smooth distance.

use coarsen_contact::{ContactError, Friction, Obstacle, Shape, SmoothSdf, Spin};
use coarsen_elastic::Potential;
use coarsen_mesh::vector::{cross, dot, norm, sub};

use crate::common::{check_gradient, check_hessian, noise};
use crate::obstacles::{cuboid, to_cuboid};

const LOW: [f64; 3] = [-0.3, 0.1, -0.2];
const HIGH: [f64; 3] = [0.5, 0.6, 0.33];

fn solid(h: f64) -> SmoothSdf {
    let (corners, triangles) = cuboid(LOW, HIGH);
    SmoothSdf::new(&corners, &triangles, h, |x| to_cuboid(LOW, HIGH, x) < 0.0).unwrap()
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

/// Coulomb's law where slopes are not 1: friction of a node that slides is μ times the force with which the obstacle
/// presses it.
#[test]
fn friction_follows_the_force_of_the_obstacle() {
    let (h, k, mu) = (0.05, 30.0, 0.5);
    let solid = solid(h);
    let x: Vec<f64> = near(h, 5).into_iter().filter(|x| solid.distance(*x) < 0.0).flatten().collect();
    let nodes = x.len() / 3;
    let mut obstacle = Obstacle::new(nodes, solid.clone(), k).unwrap();
    let mut friction = Friction::new(obstacle.clone(), Spin::default(), mu, 0.01).unwrap();
    friction.renew(&x).unwrap();
    let [mut pressed, mut held] = [0; 2].map(|_| vec![0.0; x.len()]);
    obstacle.add_gradient(&x, &mut pressed);
    // All nodes slide by 1 m across their normals.
    let across = |x: &[f64; 3]| {
        let n = solid.normal(*x);
        let least = (0..3).min_by(|a, b| n[*a].abs().total_cmp(&n[*b].abs())).unwrap();
        let tangent: [f64; 3] = std::array::from_fn(|c| f64::from(c == least) - n[least] * n[c]);
        [0, 1, 2].map(|c| x[c] + tangent[c] / norm(tangent))
    };
    let slid: Vec<f64> = x.as_chunks().0.iter().flat_map(across).collect();
    friction.add_gradient(&slid, &mut held);
    for (held, pressed) in held.as_chunks().0.iter().zip(pressed.as_chunks().0) {
        let (held, limit) = (norm(*held), mu * norm(*pressed));
        assert!((held - limit).abs() <= 1e-12 * k, "{held} of {limit}");
    }
}

/// No slope is larger than the bound, within the samples, across their end and far away.
#[test]
fn slopes_are_bounded() {
    let solid = solid(0.05);
    for (x, direction) in noise(9000, 21).as_chunks::<3>().0.iter().zip(noise(9000, 22).as_chunks::<3>().0) {
        for size in [1e-3, 1.0] {
            let y = [0, 1, 2].map(|k| x[k] + size * direction[k]);
            let length = (0..3).map(|k| (x[k] - y[k]).powi(2)).sum::<f64>().sqrt();
            let slope = (solid.distance(*x) - solid.distance(y)).abs() / length;
            assert!(slope < solid.lipschitz() + 1e-9, "{x:?} {direction:?}: {slope}");
        }
    }
    assert!(solid.distance([f64::NAN, 0.0, 0.0]).is_nan());
    let far = solid.distance([9.0, 0.3, 0.0]);
    assert!((far - 8.5).abs() < 0.1 && (solid.normal([9.0, 0.3, 0.0])[0] - 1.0).abs() < 1e-6, "{far}");
}

/// However sharp a corner is, the solid is larger by less than 0.87 of the spacing, and its gradient is continuous
/// where it is grown by 1.5 samples.
#[test]
fn sharp_corners_stay_within_the_samples() {
    let h = 0.05;
    let corners = [[0.0, 0.0, 0.0], [-0.2, -0.02, 0.0], [0.0, -0.2, -0.03], [-1.011, -1.003, -1.017]];
    let triangles = [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]];
    let inside = |x: [f64; 3]| {
        let under = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| corners[v as usize]);
            dot(cross(sub(b, a), sub(c, a)), sub(x, a)) < 0.0
        };
        triangles.iter().all(under)
    };
    let solid = SmoothSdf::new(&corners, &triangles, h, inside).unwrap();
    let highest = corners.iter().map(|x| solid.distance(*x)).fold(f64::NEG_INFINITY, f64::max);
    assert!(highest.abs() < 1e-12, "{highest}");
    let (tip, far) = (corners[3], [-9.0, -1.003, -1.017]);
    let shift = norm(sub(far, tip)) - solid.distance(far);
    assert!(shift > 0.3 * h && shift < 0.87 * h, "{}", shift / h);
    let grown = solid.grown(1.5 * h);
    let directions = noise(1500, 8);
    let (mut farthest, mut crossings) = (0.0_f64, 0);
    for direction in directions.as_chunks::<3>().0 {
        let length = norm(*direction);
        let at = |t: f64| [0, 1, 2].map(|k| tip[k] + t * direction[k] / length);
        // From the tip outwards to the surface of the grown solid.
        let mut before = grown.gradient(at(0.0));
        for step in 1..400 {
            let t = 0.01 * h * f64::from(step);
            if grown.distance(at(t)) > 0.0 {
                crossings += 1;
                farthest = farthest.max(t / h);
                break;
            }
            let now = grown.gradient(at(t));
            let jump = norm(sub(now, before));
            assert!(jump < 0.05, "{jump} at {:?}", at(t));
            before = now;
        }
    }
    assert!(crossings > 250 && farthest > 2.0, "{crossings} {farthest}");
}

#[test]
fn surfaces_that_cannot_be_sampled_are_refused() {
    let (corners, triangles) = cuboid(LOW, HIGH);
    let refused = |h| SmoothSdf::new(&corners, &triangles, h, |_| false).err();
    assert!(matches!(refused(0.0), Some(ContactError::Value { .. })));
    assert!(matches!(refused(1e-5), Some(ContactError::TooMany { .. })));
}

/// A triangle is in the solid: its corners up to round-off, and all points up to the spacing of samples. Triangles that are
/// thin, long or a point are sampled in a short time.
#[test]
fn solids_contain_triangles_of_any_shape() {
    let h = 0.1;
    for corners in [
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.2], [0.1, 0.9, 0.0]],
        [[0.0; 3], [0.01, 0.0, 0.0], [0.0, 0.02, 0.0]],
        [[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [0.0, 0.0, 1000.0]], // longer sides meet at a point
        [[0.0, 0.0, 0.0], [0.0, 1e-9, 500.0], [0.0, 0.0, 1000.0]], // a flat angle
        [[1.0, 2.0, 3.0]; 3],
    ] {
        let solid = SmoothSdf::new(&corners, &[[0, 1, 2]], h, |_| false).unwrap();
        assert!(corners.iter().all(|x| solid.distance(*x) <= 1e-12), "{corners:?}");
        let most = h * solid.lipschitz();
        for k in 0..30 {
            let [a, b] = [0.618, 0.414].map(|step: f64| (step * f64::from(k)).fract());
            let [a, b] = if a + b > 1.0 { [1.0 - a, 1.0 - b] } else { [a, b] };
            let x = [0, 1, 2].map(|c| {
                corners[0][c] + a * (corners[1][c] - corners[0][c]) + b * (corners[2][c] - corners[0][c])
            });
            assert!(solid.distance(x) <= most, "{corners:?}: {} at {x:?}", solid.distance(x));
        }
    }
}
