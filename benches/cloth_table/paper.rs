//! Table 1 of Tamstorf, Jones & McCormick 2015: how many times faster smoothed aggregation is than conjugate gradients
//! with the diagonal, and than PARDISO. 32 cores; regular tessellation and irregular tessellation.

use crate::rows::Case;
use crate::walk;

/// The scenes, in the order of the table.
pub(crate) const SCENES: [&str; 5] = ["pinned", "drooping", "reentrant", "drop-horizontal", "drop-vertical"];

/// The number of frames of an animation: 208, 312 and 520 steps of 2 ms (§10).
pub(crate) fn frames(scene: &str) -> usize {
    match scene {
        "drop-horizontal" => 15,
        "drop-vertical" => 25,
        walk::SCENE => 24,
        _ => 10,
    }
}

/// The time step in s: that of the paper, or that of a walk.
pub(crate) fn step(scene: &str) -> f64 {
    if scene == walk::SCENE { 0.01 } else { 0.002 }
}

/// The number of steps of an animation whose frames are 1/24 s.
pub(crate) fn steps(scene: &str) -> usize {
    (frames(scene) as f64 / (24.0 * step(scene))) as usize
}

/// The speed-ups over the diagonal and over PARDISO, if the paper has them.
pub(crate) fn speed_ups(case: &Case) -> Option<[f64; 2]> {
    let rows = if case.tessellation == "regular" { &REGULAR } else { &IRREGULAR };
    let (_, row) = rows.iter().find(|(n, _)| *n == case.vertices)?;
    let k = SCENES.iter().position(|name| *name == case.scene)?;
    Some([row[2 * k], row[2 * k + 1]])
}

type Line = (usize, [f64; 10]);

const REGULAR: [Line; 12] = [
    (961, [0.39, 0.76, 0.58, 0.72, 0.55, 0.72, 0.57, 0.61, 0.53, 0.61]),
    (1_681, [0.45, 1.06, 0.63, 0.99, 0.60, 0.95, 0.57, 0.75, 0.51, 0.80]),
    (3_721, [0.40, 1.31, 0.50, 1.18, 0.54, 1.17, 0.62, 0.96, 0.35, 0.94]),
    (6_561, [0.43, 1.51, 0.53, 1.35, 0.50, 1.31, 0.65, 1.14, 0.35, 1.04]),
    (10_201, [0.54, 1.78, 0.66, 1.57, 0.72, 1.53, 0.77, 1.37, 0.40, 1.06]),
    (22_801, [0.85, 2.23, 1.03, 1.89, 1.02, 1.86, 1.07, 1.69, 0.50, 1.14]),
    (40_401, [1.07, 2.29, 1.35, 2.03, 1.36, 2.01, 1.40, 1.89, 0.60, 1.18]),
    (90_601, [2.23, 2.27, 2.87, 2.07, 2.67, 1.95, 2.27, 1.92, 2.35, 1.11]),
    (160_801, [3.89, 2.14, 5.01, 1.95, 4.87, 1.92, 3.64, 1.84, 1.14, 0.77]),
    (361_201, [5.48, 2.21, 7.10, 2.01, 6.38, 1.76, 4.70, 1.85, 2.29, 1.32]),
    (641_601, [7.12, 2.26, 9.28, 2.10, 8.84, 1.96, 6.09, 1.89, 3.46, 1.53]),
    (1_002_001, [9.20, 2.40, 11.64, 2.20, 10.89, 2.04, 7.53, 2.13, 3.01, 1.80]),
];

const IRREGULAR: [Line; 12] = [
    (961, [0.43, 0.87, 0.49, 0.80, 0.51, 0.80, 0.52, 0.64, 0.56, 0.71]),
    (1_681, [0.46, 1.17, 0.52, 1.12, 0.62, 1.04, 0.60, 0.94, 0.54, 1.01]),
    (3_721, [0.43, 1.61, 0.46, 1.45, 0.55, 1.39, 0.56, 1.21, 0.38, 1.06]),
    (6_561, [0.46, 1.86, 0.50, 1.65, 0.56, 1.72, 0.69, 1.44, 0.44, 1.32]),
    (10_201, [0.56, 2.06, 0.61, 1.87, 0.67, 1.93, 0.89, 1.74, 0.53, 1.42]),
    (22_801, [0.81, 2.49, 0.87, 2.11, 0.97, 2.20, 1.13, 2.13, 0.57, 1.43]),
    (40_401, [1.22, 2.61, 1.19, 2.21, 1.43, 2.32, 1.33, 2.23, 0.76, 1.56]),
    (90_601, [2.32, 2.54, 2.51, 2.21, 2.36, 2.33, 2.20, 2.19, 1.29, 1.39]),
    (160_801, [3.78, 2.45, 4.20, 2.18, 4.22, 2.16, 3.26, 2.10, 2.03, 1.39]),
    (361_201, [5.32, 2.49, 5.98, 2.22, 6.13, 2.21, 4.63, 2.13, 2.63, 1.57]),
    (641_601, [7.02, 2.56, 7.84, 2.24, 7.72, 2.19, 5.93, 2.21, 2.39, 1.68]),
    (1_002_001, [8.97, 2.73, 9.82, 2.56, 9.59, 2.47, 5.74, 2.08, 2.81, 1.71]),
];
