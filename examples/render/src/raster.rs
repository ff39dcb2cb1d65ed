//! Rasterisation of triangles, with a depth test.
//!
//! A pixel is divided into a square of samples. Each sample stores the colour and depth of the nearest
//! triangle. The pixel shows the mean light intensity of its samples.
//! *Reference* Pineda 1988, "A parallel algorithm for polygon rasterization", SIGGRAPH (edge functions);
//! Blinn 1992, "Hyperbolic interpolation" (values in perspective).

use coarsen_mesh::vector::{cross, dot, sub};

use crate::Picture;
use crate::camera::Fitted;
use crate::colour::{bytes, from_light, to_light};
use crate::drawing::Drawing;

/// The cosine of the angle between a triangle and the mean of those around a vertex, below which there is a crease.
const CREASE: f64 = 0.85;

/// The ambient light.
const AMBIENT: f64 = 0.35;

/// Half the width of isolines, in pixels.
const PEN: f64 = 0.55;

/// How much an isoline darkens the surface.
const INK: f64 = 0.45;

/// How near to the eye a corner may be, as the perspective scale; triangles that reach closer, or behind the
/// eye, are left out.
const NEAREST: f64 = 50.0;

/// A surface to draw.
pub(crate) struct Surface<'a> {
    pub(crate) positions: &'a [[f64; 3]],
    pub(crate) triangles: &'a [[u32; 3]],
    pub(crate) paint: Paint<'a>,
}

/// Balls to draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balls<'a> {
    /// Their centres.
    pub centres: &'a [[f64; 3]],
    /// The radius of each.
    pub radii: &'a [f64],
    /// The colour of each in sRGB.
    pub colours: &'a [[u8; 3]],
}

/// The colour of a surface.
#[derive(Clone, Copy)]
pub(crate) enum Paint<'a> {
    /// One value from 0 to 1 per vertex, on the colour map of the drawing.
    Values(&'a [f64]),
    /// One colour, in sRGB from 0 to 1.
    Colour([f64; 3]),
}

/// A rectangle in the picture: left, top, width and height in pixels.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Colour and depth of each sample.
struct Samples {
    side: usize,
    width: usize,
    height: usize,
    light: Vec<[f32; 3]>,
    depth: Vec<f64>,
}

/// A projected corner: x and y in pixels, depth, perspective scale, value, normal.
#[derive(Clone, Copy)]
struct Corner {
    x: f64,
    y: f64,
    depth: f64,
    nearness: f64,
    value: f64,
    normal: [f64; 3],
}

/// Draws surfaces and balls into a frame of a new picture.
pub(crate) fn draw(
    surfaces: &[Surface<'_>],
    balls: Balls<'_>,
    drawing: &Drawing,
    camera: &Fitted,
    frame: Frame,
) -> Picture {
    let side = drawing.samples.clamp(1, 8);
    let (width, height) = (drawing.width * side, drawing.height * side);
    let background = to_light(drawing.background.map(|c| f64::from(c) / 255.0));
    let mut samples = Samples {
        side,
        width,
        height,
        light: vec![background; width * height],
        depth: vec![f64::NEG_INFINITY; width * height],
    };
    for surface in surfaces {
        let corners = corners(surface, camera, frame);
        for t in surface.triangles {
            let own = normal(surface, t);
            let corner = |v: u32| corners[v as usize].on(own);
            samples.triangle(t.map(corner), surface.paint, drawing, camera);
        }
    }
    for ((centre, radius), colour) in balls.centres.iter().zip(balls.radii).zip(balls.colours) {
        samples.ball(*centre, *radius, *colour, drawing, camera, frame);
    }
    samples.resolve(drawing)
}

/// The projected vertices of a surface.
fn corners(surface: &Surface<'_>, camera: &Fitted, frame: Frame) -> Vec<Corner> {
    let normals = normals(surface);
    let corner = |v: usize| {
        let [x, y, depth] = camera.project(surface.positions[v]);
        Corner {
            x: frame.left + 0.5 * (1.0 + x) * frame.width,
            y: frame.top + 0.5 * (1.0 - y) * frame.height,
            depth,
            nearness: camera.nearness(depth),
            value: if let Paint::Values(values) = surface.paint { values[v] } else { 0.0 },
            normal: normals[v],
        }
    };
    (0..surface.positions.len()).map(corner).collect()
}

impl Corner {
    /// The corner of a triangle with this normal: beyond a crease, its surface is flat.
    fn on(self, own: [f64; 3]) -> Self {
        let smooth = dot(own, self.normal) >= CREASE * (dot(own, own) * dot(self.normal, self.normal)).sqrt();
        if smooth { self } else { Self { normal: own, ..self } }
    }
}

/// The normal of a triangle, as long as twice its area.
fn normal(surface: &Surface<'_>, t: &[u32; 3]) -> [f64; 3] {
    let [a, b, c] = t.map(|v| surface.positions[v as usize]);
    cross(sub(b, a), sub(c, a))
}

/// The area-weighted mean normal of the triangles around each vertex.
fn normals(surface: &Surface<'_>) -> Vec<[f64; 3]> {
    let mut normals = vec![[0.0; 3]; surface.positions.len()];
    for t in surface.triangles {
        let n = normal(surface, t);
        for &v in t {
            (0..3).for_each(|k| normals[v as usize][k] += n[k]);
        }
    }
    normals
}

impl Samples {
    fn triangle(&mut self, [a, b, c]: [Corner; 3], paint: Paint<'_>, drawing: &Drawing, camera: &Fitted) {
        let (lamp, [_, _, towards]) = (drawing.camera.lamp(), *camera.axes());
        let double = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
        if double == 0.0 || !double.is_finite() || [a, b, c].iter().any(|c| c.nearness > NEAREST) {
            return; // seen edge-on, or at the eye
        }
        let slope = [
            ((b.value - a.value) * (c.y - a.y) - (c.value - a.value) * (b.y - a.y)) / double,
            ((c.value - a.value) * (b.x - a.x) - (b.value - a.value) * (c.x - a.x)) / double,
        ];
        let slope = slope[0].hypot(slope[1]) * drawing.isolines as f64; // isolines per pixel
        let range = |p: [f64; 3], limit: usize| {
            let low = p.iter().fold(f64::INFINITY, |m, x| m.min(*x)) * self.side as f64;
            let high = p.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x)) * self.side as f64;
            low.floor().clamp(0.0, limit as f64) as usize..high.ceil().clamp(0.0, limit as f64) as usize
        };
        let (columns, rows) = (range([a.x, b.x, c.x], self.width), range([a.y, b.y, c.y], self.height));
        for row in rows {
            for column in columns.clone() {
                let x = (column as f64 + 0.5) / self.side as f64;
                let y = (row as f64 + 0.5) / self.side as f64;
                let wa = ((b.x - x) * (c.y - y) - (c.x - x) * (b.y - y)) / double;
                let wb = ((c.x - x) * (a.y - y) - (a.x - x) * (c.y - y)) / double;
                let w = [wa, wb, 1.0 - wa - wb];
                if w.iter().any(|w| *w < 0.0) {
                    continue;
                }
                let depth = w[0] * a.depth + w[1] * b.depth + w[2] * c.depth;
                let at = row * self.width + column;
                if depth <= self.depth[at] {
                    continue;
                }
                self.depth[at] = depth;
                let near = [w[0] * a.nearness, w[1] * b.nearness, w[2] * c.nearness];
                let sum = near[0] + near[1] + near[2];
                let mix = |f: fn(&Corner) -> f64| (near[0] * f(&a) + near[1] * f(&b) + near[2] * f(&c)) / sum;
                let value = mix(|c| c.value);
                let normal = [mix(|c| c.normal[0]), mix(|c| c.normal[1]), mix(|c| c.normal[2])];
                let mut light = shade(normal, lamp, towards, drawing.shading);
                let line = value * drawing.isolines as f64;
                let off = (line - line.round()).abs();
                if slope > 1e-9
                    && off < PEN * slope
                    && line.round() > 0.0
                    && line.round() < drawing.isolines as f64
                {
                    light *= 1.0 - INK;
                }
                let colour = match paint {
                    Paint::Values(_) => drawing.colours.at(value),
                    Paint::Colour(colour) => colour,
                };
                self.light[at] = to_light(colour).map(|l| l * light as f32);
            }
        }
    }

    /// A ball as a disc with the depths and normals of a ball. In perspective its outline is an ellipse; for
    /// balls of a few pixels the difference cannot be seen.
    fn ball(
        &mut self,
        centre: [f64; 3],
        radius: f64,
        colour: [u8; 3],
        drawing: &Drawing,
        camera: &Fitted,
        frame: Frame,
    ) {
        let along = |axis: [f64; 3]| camera.project(std::array::from_fn(|k| centre[k] + radius * axis[k]));
        let (lamp, [right, up, towards]) = (drawing.camera.lamp(), *camera.axes());
        let ([x, y, depth], beside, front) = (camera.project(centre), along(right), along(towards));
        if camera.nearness(front[2]) > NEAREST {
            return;
        }
        let side = self.side as f64;
        let at = [frame.left + 0.5 * (1.0 + x) * frame.width, frame.top + 0.5 * (1.0 - y) * frame.height];
        let reach = 0.5 * (beside[0] - x).abs() * frame.width;
        let range = |middle: f64, limit: usize| {
            let ends = [-reach, reach].map(|d| (side * (middle + d)).clamp(0.0, limit as f64));
            ends[0].floor() as usize..ends[1].ceil() as usize
        };
        let colour = to_light(colour.map(|c| f64::from(c) / 255.0));
        for row in range(at[1], self.height) {
            for column in range(at[0], self.width) {
                let u = ((column as f64 + 0.5) / side - at[0]) / reach;
                let v = (at[1] - (row as f64 + 0.5) / side) / reach;
                let rest = 1.0 - u * u - v * v;
                let sample = row * self.width + column;
                let height = rest.max(0.0).sqrt();
                let own = depth + (front[2] - depth) * height;
                if rest < 0.0 || own <= self.depth[sample] {
                    continue;
                }
                self.depth[sample] = own;
                let normal = [0, 1, 2].map(|k| u * right[k] + v * up[k] + height * towards[k]);
                let light = shade(normal, lamp, towards, drawing.shading);
                self.light[sample] = colour.map(|l| l * light as f32);
            }
        }
    }

    /// The mean light intensity of each pixel.
    fn resolve(&self, drawing: &Drawing) -> Picture {
        let mut picture = Picture::new(drawing.width, drawing.height, drawing.background);
        let share = 1.0 / (self.side * self.side) as f32;
        for y in 0..drawing.height {
            for x in 0..drawing.width {
                let mut mean = [0.0_f32; 3];
                for row in 0..self.side {
                    let start = (y * self.side + row) * self.width + x * self.side;
                    for light in &self.light[start..start + self.side] {
                        mean.iter_mut().zip(light).for_each(|(m, l)| *m += l * share);
                    }
                }
                picture.blend(x, y, bytes(from_light(mean)), 1.0);
            }
        }
        picture
    }
}

/// The light of a lamp on a surface with this normal, on the side that faces the eye; 1 without shading.
fn shade(normal: [f64; 3], lamp: [f64; 3], towards: [f64; 3], shading: f64) -> f64 {
    let length = dot(normal, normal).sqrt();
    if shading == 0.0 || length == 0.0 {
        return 1.0;
    }
    let facing = if dot(normal, towards) < 0.0 { -1.0 } else { 1.0 };
    let lit = (facing * dot(normal, lamp) / length).max(0.0);
    1.0 - shading.clamp(0.0, 1.0) * (1.0 - (AMBIENT + (1.0 - AMBIENT) * lit))
}
