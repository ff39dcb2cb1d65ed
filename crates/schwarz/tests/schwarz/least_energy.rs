//! The weights of least energy, by hand and over all choices of levels. No public function takes energies, so
//! the file of `src` is compiled here again.

#[path = "../../src/least_energy.rs"]
mod least;

use least::least_energy;

#[test]
fn the_least_energy_by_hand() {
    let check = |g: [f64; 2], e: [[f64; 2]; 2], expected: [f64; 2]| {
        let found = least_energy(&g, &e.map(Vec::from));
        assert!(
            found.len() == 2 && found.iter().zip(expected).all(|(w, e)| (w - e).abs() <= 1e-15 * e),
            "{found:?}"
        );
    };
    check([2.0, 3.0], [[1.0, 0.0], [0.0, 2.0]], [2.0, 1.5]);
    // The correction of the second level has the same direction and another length: candidates are 1 x 1
    // and x² − 2 x.
    check([4.0, 1.0], [[2.0, 3.0], [3.0, 5.0]], [2.0, 0.0]);
    check([1.0, 1.0], [[1.0, 1.0], [1.0, 1.0]], [1.0, 0.0]); // singular
    check([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]); // none is positive
}

/// All subsets of the levels are tried: here the third level without the second is best.
#[test]
fn every_choice_of_levels_is_tried() {
    let e = [[9.7145, 10.6766, 8.5360], [10.6766, 13.3162, 8.1564], [8.5360, 8.1564, 9.9847]].map(Vec::from);
    let w = least_energy(&[8.4912, 9.9277, 9.2064], &e);
    assert!((w[0] - 0.257).abs() < 1e-3 && w[1] == 0.0 && (w[2] - 0.703).abs() < 1e-3, "{w:?}");
}
