//! The scenes: where the sheet is, what holds it, and what is in its way.
//!
//! Tamstorf, Jones & McCormick 2015, §10, describe the first five in words: cloth that is held on all sides,
//! on two sides, along a cut-out corner, and that falls flat and upright on a flat box with a hole.
//! The paper has no air: `--air 0` gives its systems.
//! *Assumption*: the two sides meet in a corner, so that the opposite corner droops. Lengths are in m, y points
//! upwards.

use std::sync::Arc;

use clap::ValueEnum;
use coarsen::mesh::Mesh;
use coarsen::mesh::vector::cross;
use coarsen_contact::Spin;
use examples_common::fields;
use examples_common::stage::{GROUND, Solid, View};

use crate::motion::Motion;
use crate::sheet::{Sheet, WAIST};
use crate::shirt::{EDGE, figure};
use crate::statue::Statue;

/// A scene by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SceneChoice {
    /// A sheet that is held along its whole boundary.
    Pinned,
    /// A sheet that is held along two sides.
    Drooping,
    /// A sheet without a quarter that is held along the sides of the cut.
    Reentrant,
    /// A sheet that falls flat on a box with a hole.
    DropHorizontal,
    /// A sheet that falls upright on the same box.
    DropVertical,
    /// A sheet that falls on a ball that turns.
    Sphere,
    /// A sheet that falls on two bars.
    Bars,
    /// A sheet that is held along one side, in the wind.
    Flag,
    /// A sheet that falls into a funnel.
    Funnel,
    /// Three strips that are twisted together.
    Twist,
    /// A skirt, or the garment of --mesh, on hips and legs that walk on the spot.
    Garment,
    /// A sheet that hangs from its upper side and is pushed by a ball that moves to and fro.
    Pushed,
    /// The front and the back of a T-shirt, which are sewn together around a figure.
    Stitching,
    /// The garment of --mesh on the body of --body, which moves; both in m.
    Dressed,
    /// A sheet that falls on the closed mesh of --body, by its signed distance; it is scaled and stands on the ground.
    Statue,
}

/// A scene.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The position of the middle of the sheet, u = v = 1/2.
    pub(crate) middle: [f64; 3],
    /// The directions of u and v.
    pub(crate) axes: [[f64; 3]; 2],
    /// For each vertex, whether it is held where it is.
    pub(crate) held: Vec<bool>,
    /// Obstacles.
    pub(crate) solids: Vec<Solid>,
    /// How the solids turn; those after the list do not.
    pub(crate) spins: Vec<Spin>,
    /// The formula of held vertices and solids.
    pub(crate) motion: Motion,
    /// An obstacle of triangles; may be empty.
    pub(crate) still: Mesh,
    /// The texture coordinates of its triangles in the file, if all have some.
    pub(crate) texture: Option<Vec<[[f64; 2]; 3]>>,
    /// The lowest and highest corners of boxes that fill it, if it is made of boxes.
    pub(crate) blocks: Vec<[[f64; 3]; 2]>,
    /// The solid whose triangles are that obstacle, if it has a signed distance.
    pub(crate) statue: Option<Arc<Statue>>,
    /// The velocity of the air in m/s.
    pub(crate) wind: [f64; 3],
    /// The view of the pictures.
    pub(crate) view: View,
}

fields!(Scene { middle, axes, held, solids, spins, motion, still, blocks, statue, wind } without texture, view);

/// The top of the box, and half its sides outside and inside.
const TOP: f64 = 0.4;
const SIDES: [f64; 2] = [0.3, 0.15];

/// The rim and the hole of the funnel: radius and height.
const RIM: [f64; 2] = [0.55, 0.85];
const HOLE: [f64; 2] = [0.12, 0.4];

/// The number of segments of the funnel.
const SEGMENTS: usize = 24;

/// The height of the part of a garment that the hips hold.
const BAND: f64 = 5e-3;

/// The rate at which the ball turns about the vertical axis, in radians per second.
const TURN: f64 = 2.0;

/// The radius of the ball that pushes, how far it moves in m, and the time until it is back, in s.
const BALL: f64 = 0.2;
const REACH: f64 = 0.7;
const PERIOD: f64 = 2.0;

/// The gap between a falling sheet and what it falls on.
const GAP: f64 = 0.05;

const FLAT: [[f64; 3]; 2] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];

impl SceneChoice {
    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether the sheet lacks a quarter.
    pub(crate) fn cut(self) -> bool {
        self == Self::Reentrant
    }

    /// The scene for a sheet.
    pub(crate) fn scene(self, sheet: &Sheet) -> Scene {
        let hold = |is: &dyn Fn([f64; 3]) -> bool| sheet.rest.iter().map(|&p| is(p)).collect();
        let end =
            |k: usize, far: fn(f64, f64) -> f64, none: f64| sheet.rest.iter().map(|p| p[k]).fold(none, far);
        let [west, south] = [0, 1].map(|k| end(k, f64::min, f64::INFINITY) + 1e-9);
        let north = end(1, f64::max, f64::NEG_INFINITY) - 1e-9;
        let corners = |x: f64, high: f64| Some([[-x, 0.0, -x], [x, high, x]]);
        let view = |x: f64, high: f64, azimuth: f64, elevation: f64| View {
            corners: corners(x, high),
            azimuth,
            elevation,
        };
        let base = Scene {
            middle: [0.0, 1.0, 0.0],
            axes: FLAT,
            held: vec![false; sheet.rest.len()],
            solids: vec![GROUND],
            spins: Vec::new(),
            motion: Motion::Still,
            still: Mesh::default(),
            texture: None,
            blocks: Vec::new(),
            statue: None,
            wind: [0.0; 3],
            view: view(0.6, 1.0, 25.0, 18.0),
        };
        match self {
            Self::Pinned => Scene {
                middle: [0.0, 0.3, 0.0],
                held: sheet.boundary(),
                view: view(0.6, 0.35, 25.0, 25.0),
                ..base
            },
            Self::Drooping => Scene { held: hold(&|p| p[0] <= west || p[1] <= south), ..base },
            Self::Reentrant => Scene {
                held: hold(&|[u, v, _]| u.min(v) >= 0.5 - 1e-9 && u.min(v) <= 0.5 + 1e-9),
                view: view(0.6, 1.0, 215.0, 18.0),
                ..base
            },
            Self::DropHorizontal => Scene {
                middle: [0.0, TOP + GAP, 0.0],
                still: box_with_a_hole(),
                blocks: sides_of_the_box(),
                view: view(0.5, 0.45, 25.0, 28.0),
                ..base
            },
            Self::DropVertical => {
                // Turned a little about both axes: an upright sheet would fold nowhere first.
                let ((s, c), (lean, up)) = (0.35_f64.sin_cos(), 0.04_f64.sin_cos());
                Scene {
                    middle: [0.03, TOP + GAP + 0.5 * up, 0.02],
                    axes: [[c, 0.0, s], [-s * lean, up, c * lean]],
                    still: box_with_a_hole(),
                    blocks: sides_of_the_box(),
                    view: view(0.55, 1.2, 25.0, 18.0),
                    ..base
                }
            }
            Self::Sphere => {
                let ball = Solid::Sphere { centre: [0.0, 0.45, 0.0], radius: 0.3 };
                Scene {
                    middle: [0.0, 0.75 + GAP, 0.0],
                    solids: vec![GROUND, ball],
                    spins: vec![Spin::default(), Spin { rate: [0.0, TURN, 0.0], ..Spin::default() }],
                    view: view(0.55, 0.75, 25.0, 18.0),
                    ..base
                }
            }
            Self::Bars => {
                let bar =
                    |x: f64, y: f64| Solid::Capsule { from: [x, y, -0.6], to: [x, y, 0.6], radius: 0.05 };
                Scene {
                    middle: [0.0, 0.7 + GAP, 0.0],
                    solids: vec![GROUND, bar(-0.2, 0.65), bar(0.2, 0.5)],
                    view: view(0.6, 0.75, 25.0, 18.0),
                    ..base
                }
            }
            Self::Flag => Scene {
                middle: [0.0, 1.0, 0.0],
                axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                held: hold(&|p| p[0] <= west),
                wind: [6.0, 0.0, 1.0],
                view: View {
                    corners: Some([[-0.6, 0.0, -0.4], [0.6, 1.5, 0.4]]),
                    azimuth: 20.0,
                    elevation: 8.0,
                },
                ..base
            },
            Self::Funnel => Scene {
                middle: [0.03, RIM[1] + GAP, 0.02],
                still: funnel(),
                view: view(0.55, 0.95, 25.0, 24.0),
                ..base
            },
            Self::Twist => Scene {
                middle: [0.0, 1.0, 0.0],
                held: hold(&|p| p[0] <= 1e-9 || p[0] >= 1.0 - 1e-9),
                motion: Motion::Twist { through: [0.0, 1.0, 0.0], rate: 1.5 },
                view: View {
                    corners: Some([[-0.5, 0.7, -0.25], [0.5, 1.3, 0.25]]),
                    azimuth: 30.0,
                    elevation: 15.0,
                },
                ..base
            },
            Self::Pushed => {
                let ball = Solid::Sphere { centre: [0.0, 0.8, BALL + GAP], radius: BALL };
                Scene {
                    middle: [0.0, 1.0, 0.0],
                    axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                    held: hold(&|p| p[1] >= north),
                    solids: vec![GROUND, ball],
                    motion: Motion::Push { reach: REACH, period: PERIOD },
                    view: View {
                        corners: Some([[-0.55, 0.35, -0.6], [0.55, 1.5, 0.5]]),
                        azimuth: 50.0,
                        elevation: 12.0,
                    },
                    ..base
                }
            }
            Self::Stitching => Scene {
                middle: [0.0, EDGE, 0.0],
                axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                solids: [GROUND].into_iter().chain(figure()).collect(),
                motion: Motion::Sewing,
                view: View {
                    corners: Some([[-0.65, 0.0, -0.3], [0.65, 1.7, 0.3]]),
                    azimuth: 30.0,
                    elevation: 8.0,
                },
                ..base
            },
            Self::Statue => Scene { view: view(0.55, 0.85, 25.0, 18.0), ..base },
            Self::Dressed => Scene {
                middle: [0.0; 3],
                axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                view: View { corners: None, azimuth: 35.0, elevation: 8.0 },
                ..base
            },
            Self::Garment => {
                let top = sheet.rest.iter().map(|p| p[1]).fold(f64::NEG_INFINITY, f64::max);
                let y = WAIST[1] - 0.05;
                let leg = |x: f64| Solid::Capsule { from: [x, y, 0.0], to: [x, 0.1, 0.0], radius: 0.05 };
                Scene {
                    middle: [0.0; 3],
                    axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                    held: sheet.rest.iter().map(|p| p[1] >= top - BAND).collect(),
                    solids: vec![
                        GROUND,
                        Solid::Sphere { centre: [0.0, y, 0.0], radius: 0.12 },
                        leg(-0.065),
                        leg(0.065),
                    ],
                    motion: Motion::Walk { swing: 0.6, pace: 0.8, bob: 0.03 },
                    view: view(0.45, 1.05, 35.0, 8.0),
                    ..base
                }
            }
        }
    }
}

impl Scene {
    /// The positions of the vertices of a sheet at the start, and then those of the obstacle of triangles.
    pub(crate) fn positions(&self, sheet: &Sheet) -> Vec<[f64; 3]> {
        // (u, v) of a flat sheet begin at its corner.
        let ([s, t], shift) = (self.axes, if sheet.curved { 0.0 } else { 0.5 });
        let n = cross(s, t);
        let place = |&[u, v, w]: &[f64; 3]| -> [f64; 3] {
            std::array::from_fn(|k| self.middle[k] + (u - shift) * s[k] + (v - shift) * t[k] + w * n[k])
        };
        sheet.rest.iter().map(place).chain(self.still.positions.iter().copied()).collect()
    }

    /// The scene with a statue below the sheet.
    pub(crate) fn above(self, statue: Statue) -> Self {
        let [_, [_, top, _]] = statue.mesh().bounds();
        let still = statue.mesh().clone();
        Self { middle: [0.0, top + GAP, 0.0], still, statue: Some(Arc::new(statue)), ..self }
    }
}

/// A flat box on the ground with a square hole from its top to its bottom.
fn box_with_a_hole() -> Mesh {
    let corner = |half: f64, y: f64, k: usize| {
        let (x, z) = [(-half, -half), (half, -half), (half, half), (-half, half)][k % 4];
        [x, y, z]
    };
    // Four rings of four corners: outside at the bottom and the top, inside at the top and the bottom.
    let rings = [(SIDES[0], BOTTOM), (SIDES[0], TOP), (SIDES[1], TOP), (SIDES[1], BOTTOM)];
    let positions = rings.iter().flat_map(|&(half, y)| (0..4).map(move |k| corner(half, y, k))).collect();
    let mut triangles = Vec::new();
    for (ring, k) in (0..4).flat_map(|ring| (0..4).map(move |k| (ring, k))) {
        let number = |ring: u32, k: u32| 4 * (ring % 4) + k % 4;
        let [a, b] = [number(ring, k), number(ring, k + 1)];
        let [c, d] = [number(ring + 1, k), number(ring + 1, k + 1)];
        triangles.extend([[a, c, b], [b, c, d]]);
    }
    Mesh { positions, triangles, tetrahedra: Vec::new() }
}

/// The four boxes around the hole.
fn sides_of_the_box() -> Vec<[[f64; 3]; 2]> {
    let [out, hole] = SIDES;
    [
        [[-out, -out], [-hole, out]],
        [[hole, -out], [out, out]],
        [[-hole, -out], [hole, -hole]],
        [[-hole, hole], [hole, out]],
    ]
    .map(|[low, high]| [[low[0], BOTTOM, low[1]], [high[0], TOP, high[1]]])
    .to_vec()
}

/// A cone without a tip, from its rim to a hole, and a pipe below it.
fn funnel() -> Mesh {
    let rings = [RIM, HOLE, [HOLE[0], HOLE[1] - 0.2]];
    let point = |&[radius, y]: &[f64; 2], k: usize| {
        let (sin, cos) = (std::f64::consts::TAU * k as f64 / SEGMENTS as f64).sin_cos();
        [radius * sin, y, radius * cos]
    };
    let positions = rings.iter().flat_map(|ring| (0..SEGMENTS).map(move |k| point(ring, k))).collect();
    let side = |c: usize| {
        let number = |ring: usize, k: usize| (ring * SEGMENTS + k % SEGMENTS) as u32;
        let (ring, k) = (c / SEGMENTS, c % SEGMENTS);
        let [a, b] = [number(ring, k), number(ring, k + 1)];
        let [c, d] = [number(ring + 1, k), number(ring + 1, k + 1)];
        [[a, c, b], [b, c, d]]
    };
    let triangles = (0..(rings.len() - 1) * SEGMENTS).flat_map(side).collect();
    Mesh { positions, triangles, tetrahedra: Vec::new() }
}

/// The bottom of the box, a little above the ground, so that no two obstacles coincide.
const BOTTOM: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::mesh::vector::dot;

    /// The triangles of the box enclose its volume, with normals to the outside.
    #[test]
    fn the_box_is_closed() {
        let mesh = box_with_a_hole();
        let volume: f64 = mesh
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
                dot(a, cross(b, c)) / 6.0
            })
            .sum();
        let expected = (TOP - BOTTOM) * 4.0 * (SIDES[0] * SIDES[0] - SIDES[1] * SIDES[1]);
        assert!((volume - expected).abs() < 1e-12, "{volume} of {expected}");
    }
}
