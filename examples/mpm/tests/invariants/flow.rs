//! Plastic flow.

use clap::Parser;
use coarsen::elastic::{Lame, Svd};
use coarsen::prelude::*;
use coarsen_core::SplitMix64;
use mpm::collider::Obstacle;
use mpm::energy::Memory;
use mpm::material::Plasticity;
use mpm::options::Options;
use mpm::particles::{IDENTITY, Matrix, mul};
use mpm::scene::Setting;
use mpm::seed::Seeds;
use mpm::solver::Minimizer;
use mpm::state::State;
use mpm::step::Stepper;

use super::Folder;

/// Two boxes that hit a plane: one yields, one is granular.
const CRUSHED: &str = r#"
grid.dx = 0.1
time.dt = 0.02
time.rate = 50.0

[[body]]
shape = { box = { low = [-0.3, 0.12, -0.2], high = [0.3, 0.4, 0.2] } }
material = { density = 2000.0, young = 1e6, poisson = 0.4, yield_stress = 2e4 }
velocity = [0.0, -3.0, 0.0]

[[body]]
shape = { box = { low = [1.7, 0.12, -0.2], high = [2.3, 0.4, 0.2] } }
material = { density = 1000.0, young = 1e5, poisson = 0.3, granular = [0.99, 1.001] }
velocity = [0.0, -3.0, 0.0]

[[obstacle]]
shape = { plane = { point = [0.0, 0.1, 0.0], normal = [0.0, 1.0, 0.0] } }
kind = "sticky"
"#;

/// The bounds of Wang et al. 2020, Table 2.
const GRANULAR: Plasticity = Plasticity::Granular { bounds: [0.99, 1.001] };

fn random(size: f64, seed: u64) -> impl Iterator<Item = Matrix> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(move || {
        std::array::from_fn(|i| std::array::from_fn(|j| IDENTITY[i][j] + size * random.number()))
    })
    .take(200)
}

fn determinant(f: &Matrix) -> f64 {
    Svd::of(f).sigma.iter().product()
}

/// The size of the deviator of the Hencky strain.
fn deviator(f: &Matrix) -> f64 {
    let strain = Svd::of(f).sigma.map(f64::ln);
    let mean = strain.iter().sum::<f64>() / 3.0;
    strain.iter().map(|e| (e - mean).powi(2)).sum::<f64>().sqrt()
}

/// Flow ends on the yield surface, keeps the volume and the rotation, and does not flow again.
#[test]
fn von_mises_returns_to_the_yield_surface() {
    let lame = Lame::new(1e6, 0.3);
    let rule = Plasticity::VonMises { yield_stress: 2e4 };
    let most = (2.0_f64 / 3.0).sqrt() * 2e4 / (2.0 * lame.mu);
    let mut flowed = 0;
    for f in random(0.02, 1).chain(random(0.2, 2)) {
        let after = rule.project(lame, f);
        if deviator(&f) <= most {
            assert_eq!(after, f);
            continue;
        }
        flowed += 1;
        assert!((deviator(&after) / most - 1.0).abs() < 1e-9);
        assert!((determinant(&after) / determinant(&f) - 1.0).abs() < 1e-12);
        // F_after F⁻¹ is symmetric in the basis of U: the flow turns nothing.
        let (u, own) = (Svd::of(&f), Svd::of(&after));
        let rotation = |s: &Svd| mul(&s.u, &std::array::from_fn(|i| std::array::from_fn(|j| s.v[j][i])));
        let (a, b) = (rotation(&u), rotation(&own));
        assert!(a.as_flattened().iter().zip(b.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-9));
        let again = rule.project(lame, after);
        assert!(again.as_flattened().iter().zip(after.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    assert!((50..390).contains(&flowed), "{flowed}");
}

/// A flat or an inverted particle has no Hencky strain, and does not flow.
#[test]
fn flat_particles_do_not_flow() {
    let rule = Plasticity::VonMises { yield_stress: 2e4 };
    for stretch in [1e-5, 0.0, -0.5] {
        let mut f = IDENTITY;
        f[2][2] = stretch;
        assert_eq!(rule.project(Lame::new(1e6, 0.3), f), f);
    }
}

#[test]
fn granular_stretches_are_clamped() {
    for f in random(0.2, 3) {
        let after = Svd::of(&GRANULAR.project(Lame::new(1e5, 0.3), f)).sigma;
        let before = Svd::of(&f).sigma;
        for (after, before) in after.iter().zip(before) {
            assert!((after - before.clamp(0.99, 1.001)).abs() < 1e-12, "{after} {before}");
        }
    }
    assert_eq!(GRANULAR.project(Lame::new(1e5, 0.3), IDENTITY), IDENTITY);
    assert_eq!(Plasticity::Elastic.project(Lame::new(1e5, 0.3), [[2.0; 3]; 3]), [[2.0; 3]; 3]);
}

/// Every step ends with the flow of each body: its particles lie on or within its own yield surface, and some on it.
#[test]
fn steps_end_with_the_flow_of_each_body() {
    let folder = Folder::new("flow");
    let setting = Setting::read(&folder.write("crushed.toml", CRUSHED), None, 1, None).unwrap();
    let (particles, bodies) = Seeds::new(&setting).unwrap().fill(setting.dx).unwrap();
    let obstacles = &Obstacle::all(&setting.collider, setting.dx).unwrap()[..];
    let minimizer = Minimizer::new(&Options::parse_from(["mpm"]).method, Cpu::<f64>::new());
    let (dx, largest, memory) = (setting.dx, setting.largest_step(None).unwrap(), Memory::default());
    let mut stepper =
        Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
    let mut state = State { emitted: f64::NEG_INFINITY, particles, ..State::default() };
    let most = (2.0_f64 / 3.0).sqrt() * 2e4 / (2.0 * bodies[0].lame.mu);
    let mut on_surface = [0; 2];
    for _ in 0..3 {
        stepper.frame(&mut state).unwrap();
        for p in &state.particles {
            let (bound, least) = match p.body {
                0 => (deviator(&p.f) / most - 1.0, 0.0),
                _ => {
                    let sigma = Svd::of(&p.f).sigma;
                    let [low, high] = [0.99, 1.001].map(|b: f64| sigma.map(|s| s - b));
                    assert!(low.iter().all(|s| *s > -1e-9), "{sigma:?}");
                    (high.into_iter().fold(f64::MIN, f64::max), low.into_iter().fold(f64::MAX, f64::min))
                }
            };
            assert!(bound < 1e-9, "{p:?}");
            on_surface[p.body as usize] += usize::from(bound > -1e-9 || p.body == 1 && least < 1e-9);
        }
    }
    assert!(on_surface.iter().all(|count| *count > 20), "{on_surface:?}");
}
