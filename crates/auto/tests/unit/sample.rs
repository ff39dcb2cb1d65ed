//! The sample of the rows, the width of the graph, and solids.

use coarsen_problems::{Options, Problem, anisotropic2d, elasticity3d, poisson2d, poisson3d, scrambled};

use crate::sample::{Sample, is_solid, sample, width};

#[test]
fn a_sample_shows_uneven_couplings_and_jumps() {
    let Sample { uniformity, mixed, couplings, rayleigh_quotient: quotient, diagonal_jump } =
        sample(&poisson2d(200).unwrap().matrix);
    assert!(uniformity > 0.99 && mixed == 0.0 && diagonal_jump == 1.0 && (couplings - 1.0).abs() < 0.02);
    // 4 · 200 · 1 / (4 · 200²), from the missing neighbours outside of the boundary.
    assert!((quotient * 200.0 - 1.0).abs() < 0.3, "{quotient}");
    assert!(sample(&anisotropic2d(20).unwrap().matrix).uniformity < 0.7);
    let rescaled = scrambled(&poisson2d(60).unwrap().matrix, 3).unwrap();
    assert!(sample(&rescaled).rayleigh_quotient < 0.05, "the units of the unknowns do not matter");
}

/// The width of a large graph is estimated from a part of it.
#[test]
fn widths_of_large_graphs_are_near_the_width() {
    for (a, expected) in [(poisson2d(300).unwrap().matrix, 150.0), (poisson3d(50).unwrap().matrix, 845.0)] {
        let ratio = width(&a) / expected;
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }
}

#[test]
fn widths_are_those_of_the_graph() {
    let w = width(&poisson2d(40).unwrap().matrix);
    assert!((15.0..45.0).contains(&w), "{w}");
}

/// Sheets are not solid, also if they are turned and sheared; blocks and bodies are.
#[test]
fn edges_of_solids_have_all_directions() {
    let of = |p: &Problem| is_solid(&p.matrix, &p.positions);
    assert!(of(&elasticity3d(6, 1.0).unwrap()));
    for (name, solid) in [("softbody:7", true), ("cloth:12", false), ("cloth:30", false)] {
        let p = Problem::parse(name, &Options::default()).unwrap();
        assert_eq!(of(&p), solid, "{name}");
        let turned = p.positions.iter().map(|[x, y, z]| [0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y, z + x]);
        let turned: Vec<[f64; 3]> = turned.collect();
        assert_eq!(is_solid(&p.matrix, &turned), solid, "{name}");
    }
}
