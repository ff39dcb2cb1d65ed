//! Properties of the rasteriser, and round trips of written files.

use std::path::PathBuf;

use examples_render::{
    Animation, Balls, Camera, Colours, Drawing, Picture, PictureError, Projection, Solid, Stage, gif_of_files,
};
use examples_scene::View;
use examples_scene::shape::GROUND;

const SQUARE: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
const HALVES: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

fn small() -> Drawing {
    Drawing { width: 120, height: 90, ..Drawing::default() }
}

/// The pixel for a value on the colour map.
fn colour(t: f64) -> [u8; 3] {
    Colours::Viridis.at(t).map(|c| (255.0 * c).round() as u8)
}

fn near(a: [u8; 3], b: [u8; 3], by: u8) -> bool {
    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= by)
}

/// The path of a separate file in the temporary folder.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("coarsen-{}-{name}", std::process::id()))
}

#[test]
fn flat_colours_are_those_of_the_scale() {
    let drawing = Drawing { range: Some([0.0, 2.0]), ..small() }.flat();
    let picture = drawing.mesh(&SQUARE, &HALVES, &[1.0; 4]).unwrap();
    let (w, h) = picture.size();
    assert!(near(picture.pixel(w / 4, h / 2), colour(0.5), 1));
    assert_eq!(picture.pixel(0, 0), drawing.background);
    // A gradient from left to right: the middle has the colour of the mean value, and triangle edges are
    // invisible.
    let slope = drawing.mesh(&SQUARE, &HALVES, &[0.0, 2.0, 2.0, 0.0]).unwrap();
    let blank = |x: &usize| slope.pixel(*x, h / 2) == drawing.background;
    let square: Vec<usize> = (0..w).skip_while(blank).take_while(|x| !blank(x)).collect();
    let n = square.len() as f64;
    for (k, &x) in square.iter().enumerate().skip(1).take(square.len() - 2) {
        // Within one pixel of the exact position, because the ends of the square lie inside pixels.
        let there = (0..=20)
            .any(|e| near(slope.pixel(x, h / 2), colour((k as f64 - 0.5 + 0.1 * f64::from(e)) / n), 3));
        assert!(there, "{k}: {:?}", slope.pixel(x, h / 2));
    }
}

#[test]
fn the_nearest_triangle_is_seen_whatever_the_order() {
    let mut positions = SQUARE.to_vec();
    positions.extend(SQUARE.map(|[x, y, _]| [x, y, 0.5]));
    let triangles = [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]];
    let values = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    for projection in [Projection::Orthographic, Projection::Perspective(30.0)] {
        let above = Camera { azimuth: -90.0, elevation: 90.0, up: 2, projection };
        for (camera, seen) in [(above, 1.0), (Camera { elevation: -90.0, ..above }, 0.0)] {
            let drawing = Drawing { camera, shading: 0.0, ..small() };
            let there = drawing.mesh(&positions, &triangles, &values).unwrap();
            let mut reversed = triangles;
            reversed.reverse();
            assert_eq!(there, drawing.mesh(&positions, &reversed, &values).unwrap());
            assert!(near(there.pixel(30, 45), colour(seen), 1), "{projection:?} {seen}");
        }
    }
}

#[test]
fn turning_the_mesh_is_turning_the_camera() {
    let tent = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    let turned = tent.map(|[x, y, z]| [-y, x, z]);
    // The light does not turn with the camera.
    let from = |azimuth| Drawing { camera: Camera { azimuth, ..Camera::default() }, shading: 0.0, ..small() };
    let values = [0.0, 0.3, 0.6, 1.0];
    let a = from(20.0).mesh(&tent, &faces, &values).unwrap();
    let b = from(110.0).mesh(&turned, &faces, &values).unwrap();
    let differ = a.pixels().iter().zip(b.pixels()).filter(|(a, b)| !near(**a, **b, 8)).count();
    assert!(differ < 20, "{differ} pixels differ");
    assert!(a.pixels().iter().filter(|p| **p != small().background).count() > 1500);
}

/// The light is fixed in the world: a surface is as bright from every direction, and its other side is dark.
#[test]
fn light_does_not_turn_with_the_camera() {
    let shades: Vec<[u8; 3]> = [(-60.0, 20.0), (30.0, 50.0), (140.0, 10.0), (250.0, 70.0), (250.0, -30.0)]
        .into_iter()
        .map(|(azimuth, elevation)| {
            let camera = Camera { azimuth, elevation, ..Camera::default() };
            let drawing = Drawing { camera, shading: 1.0, ..small() };
            let solid = Solid { positions: &SQUARE, triangles: &HALVES, colour: [200, 180, 160] };
            let picture = drawing.solids(&SQUARE, &[solid]).unwrap();
            picture.pixel(60, 45)
        })
        .collect();
    let (below, above) = shades.split_last().unwrap();
    assert!(
        above.iter().all(|shade| near(*shade, shades[0], 1)) && below[0] + 30 < shades[0][0],
        "{shades:?}"
    );
}

/// The sides of a box are flat up to its edges, and a surface of many triangles is smooth.
#[test]
fn creases_are_sharp_and_curves_are_smooth() {
    let corner = |k: usize| [k & 1, k >> 1 & 1, k >> 2].map(|c| c as f64);
    let corners: Vec<[f64; 3]> = (0..8).map(corner).collect();
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles: Vec<[u32; 3]> = sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let drawing = Drawing { shading: 1.0, samples: 1, ..small() };
    let cube = Solid { positions: &corners, triangles: &triangles, colour: [200, 180, 160] };
    let picture = drawing.solids(&corners, &[cube]).unwrap();
    let mut shades: Vec<[u8; 3]> = picture.pixels().to_vec();
    shades.sort_unstable();
    shades.dedup();
    assert_eq!(shades.len(), 4, "three sides and the background: {shades:?}");
    let arc: Vec<[f64; 3]> = (0..40)
        .map(|k| {
            let (sin, cos) = (f64::from(k / 2) * 0.08).sin_cos();
            [cos, f64::from(k % 2), sin]
        })
        .collect();
    let strips: Vec<[u32; 3]> =
        (0..19).map(|k| 2 * k).flat_map(|k| [[k, k + 1, k + 3], [k, k + 3, k + 2]]).collect();
    let curve = Solid { positions: &arc, triangles: &strips, colour: [200, 180, 160] };
    let picture = drawing.solids(&arc, &[curve]).unwrap();
    let mut shades: Vec<[u8; 3]> = picture.pixels().to_vec();
    shades.sort_unstable();
    shades.dedup();
    assert!(shades.len() > 30, "{} shades of a curve", shades.len());
}

/// The shadow of a body is where the light that shades it is taken away: on the line through a corner along the light, and on
/// the side of the ground away from the lamp.
#[test]
fn shadows_agree_with_the_light() {
    let height = 0.5;
    let tile = SQUARE.map(|[x, z, _]| [0.2 * x - 0.1, height, 0.2 * z - 0.1]);
    let corners = Some([[-1.0, 0.0, -1.0], [1.0, 0.6, 1.0]]);
    let view = View { corners, azimuth: 0.0, elevation: 89.0, cut: false };
    let stage = Stage::new(&view, &[GROUND], vec![HALVES.to_vec()], &tile, 160);
    let with = stage.frame(tile.as_flattened(), "").unwrap();
    let without = stage.frame(&[9.0; 12], "").unwrap();
    let (mut sum, mut count) = ([0.0; 2], 0.0);
    for (x, y) in (0..160 * 120).map(|k| (k % 160, k / 160)) {
        let [new, old] = [&with, &without].map(|picture| picture.pixel(x, y));
        if !near(new, old, 8) && near([new[0]; 3], new, 12) {
            (sum, count) = ([sum[0] + x as f64, sum[1] + y as f64], count + 1.0);
        }
    }
    // From above, x grows to the right and z downwards; the lamp is at the left and in front.
    assert!(count > 20.0, "{count} pixels of shadow");
    let middle = sum.map(|sum| sum / count);
    assert!(middle[0] > 82.0 && middle[1] < 58.0, "{middle:?}");
}

/// A view that is cut shows what is behind the near half of a mesh, and the far half as before.
#[test]
fn a_cut_opens_the_near_half() {
    let tile = |z: f64| SQUARE.map(|[x, y, _]| [2.0 * x - 1.0, 2.0 * y - 1.0, z]);
    let sides = [tile(0.5), tile(-0.5)];
    let body = SQUARE.map(|[x, y, _]| [0.4 * x - 0.2, 0.4 * y - 0.2, 0.0]);
    let picture = |cut: bool, sides: &[[[f64; 3]; 4]]| {
        let view = View { corners: Some([[-1.0; 3], [1.0; 3]]), azimuth: 0.0, elevation: 0.0, cut };
        let mut stage = Stage::new(&view, &[], vec![HALVES.to_vec()], &body, 80);
        sides.iter().for_each(|side| stage.add_still(side, &HALVES));
        stage.frame(body.as_flattened(), "").unwrap()
    };
    assert!(picture(true, &sides) == picture(false, &sides[1..]));
    assert!(picture(false, &sides) != picture(false, &sides[1..]));
}

#[test]
fn isolines_and_shade_only_darken() {
    let values = [0.0, 1.0, 1.0, 0.0];
    let plain = small().flat();
    let sum = |d: &Drawing| -> u64 {
        let picture = d.mesh(&SQUARE, &HALVES, &values).unwrap();
        picture.pixels().iter().flatten().map(|&c| u64::from(c)).sum()
    };
    let before = sum(&plain);
    assert!(sum(&Drawing { isolines: 10, ..plain.clone() }) < before);
    assert!(sum(&Drawing { shading: 1.0, ..plain }) < before);
}

#[test]
fn drawings_with_bad_values_are_refused() {
    let drawing = small();
    let mesh = |values: &[f64], t: [u32; 3]| drawing.mesh(&SQUARE, &[t], values).unwrap_err();
    assert_eq!(mesh(&[0.0; 3], [0, 1, 2]), PictureError::Values { expected: 4, found: 3 });
    assert_eq!(mesh(&[0.0, 0.0, f64::NAN, 0.0], [0, 1, 2]), PictureError::NotFinite { index: 2 });
    assert_eq!(mesh(&[0.0; 4], [0, 1, 4]), PictureError::Corner { triangle: 0 });
    let empty = Drawing { width: 0, ..small() };
    assert!(matches!(empty.mesh(&[], &[], &[]), Err(PictureError::Size { .. })));
    assert!(matches!(
        Picture::new(0, 0, [0; 3]).write_png(file("empty.png")),
        Err(PictureError::Size { .. })
    ));
    let nowhere = Picture::new(1, 1, [0; 3]).write_png("no/such/folder.png");
    assert!(matches!(nowhere, Err(PictureError::Write { .. })));
}

#[test]
fn a_png_comes_back() {
    let picture = small().mesh(&SQUARE, &HALVES, &[0.0, 1.0, 2.0, 3.0]).unwrap();
    let path = file("square.png");
    picture.write_png(&path).unwrap();
    let read = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut reader = png::Decoder::new(read).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!(pixels, picture.pixels().as_flattened());
    assert_eq!(Picture::read_png(&path).unwrap(), picture);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(Picture::read_png(&path), Err(PictureError::Read { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Picture::read_png(&path), Err(PictureError::Read { .. })));
}

/// Solids have their own colours, hide each other, and do not move the camera.
#[test]
fn solids_are_seen_by_a_camera_that_stays() {
    let drawing = Drawing { shading: 0.0, ..small() }.flat();
    let view = [[0.0, 0.0, 0.0], [4.0, 3.0, 0.0]];
    let (red, blue) = ([200, 30, 20], [10, 60, 180]);
    let draw = |low: f64| {
        let floor = SQUARE.map(|[x, y, _]| [4.0 * x, 3.0 * y, -0.1]);
        let tile = SQUARE.map(|[x, y, _]| [low + x, 1.0 + y, 0.0]);
        let solid = |positions, colour| Solid { positions, triangles: &HALVES, colour };
        drawing.solids(&view, &[solid(&tile, red), solid(&floor, blue)]).unwrap()
    };
    // 120 x 90 pixels for 4 x 3: 30 pixels are one unit.
    for low in [0.0, 1.0, 2.0] {
        let picture = draw(low);
        for column in 0..4 {
            let seen = if f64::from(column) == low { red } else { blue };
            let pixel = picture.pixel(30 * column as usize + 15, 45);
            assert!(near(pixel, seen, 1), "{low}, {column}: {pixel:?}");
        }
    }
    let lost = Solid { positions: &SQUARE, triangles: &[[0, 1, 4]], colour: red };
    assert_eq!(drawing.solids(&view, &[lost]), Err(PictureError::Corner { triangle: 0 }));
}

/// A ball covers π r² of a parallel view, in front of what is behind it and behind what is in front, and is
/// brighter on the side of the lamp, which for z upwards is at positive x and negative y.
#[test]
fn balls_are_round_and_have_a_depth() {
    let drawing = Drawing { samples: 4, ..small() }.flat();
    let view = [[-2.0, -1.5, 0.0], [2.0, 1.5, 0.0]];
    let red = [250, 0, 0];
    let draw = |height: f64, drawing: &Drawing| {
        let balls = Balls { centres: &[[0.0, 0.0, height]], radii: &[1.0], colours: &[red] };
        let sheet = SQUARE.map(|x| x.map(|x| 4.0 * x)); // in the quarter of positive x and y
        let sheet = Solid { positions: &sheet, triangles: &HALVES, colour: [0, 0, 250] };
        drawing.solids_and_balls(&view, &[sheet], balls).unwrap()
    };
    let share = |picture: &Picture| {
        let covered: f64 =
            picture.pixels().iter().map(|p| if p[1] == 0 && p[0] > 100 { 1.0 } else { 0.0 }).sum();
        covered / picture.pixels().len() as f64 * 12.0 // the area of the view
    };
    let above = share(&draw(2.0, &drawing));
    let half = share(&draw(0.0, &drawing)); // the half above the sheet is seen, as is all beside it
    let below = share(&draw(-2.0, &drawing));
    let area = std::f64::consts::PI;
    assert!((above / area - 1.0).abs() < 0.05 && (half / area - 1.0).abs() < 0.05, "{above} {half}");
    assert!((below / (0.75 * area) - 1.0).abs() < 0.05, "{below}");
    let shaded = draw(2.0, &Drawing { shading: 1.0, ..drawing.clone() });
    let (w, h) = shaded.size();
    let [lit, dark] = [[w * 5 / 9, h * 2 / 3], [w * 4 / 9, h / 3]].map(|[x, y]| shaded.pixel(x, y)[0]);
    assert!(lit > dark, "{lit} {dark}");
    let wrong = Balls { centres: &[[0.0; 3]], radii: &[], colours: &[red] };
    let refused = drawing.solids_and_balls(&view, &[], wrong);
    assert_eq!(refused, Err(PictureError::Values { expected: 1, found: 0 }));
}

/// A floor that reaches behind the eye is drawn as far as it is seen, and nothing else.
#[test]
fn behind_the_eye_is_nothing() {
    let camera = Camera { azimuth: 0.0, elevation: 5.0, up: 1, projection: Projection::Perspective(40.0) };
    let drawing = Drawing { camera, ..small() };
    let view = [[-1.0; 3], [1.0; 3]];
    let behind = [[-1.0, 0.0, 400.0], [1.0, 0.0, 400.0], [0.0, 1.0, 500.0]];
    let solid = Solid { positions: &behind, triangles: &[[0, 1, 2]], colour: [0; 3] };
    let picture = drawing.solids(&view, &[solid]).unwrap();
    assert!(picture.pixels().iter().all(|p| *p == drawing.background));
}

#[test]
fn a_gif_comes_back_close() {
    let drawing = small();
    let frames: Vec<Picture> =
        (0..3).map(|k| drawing.mesh(&SQUARE, &HALVES, &[0.0, 1.0, f64::from(k), 3.0]).unwrap()).collect();
    let animation = Animation { frames, delay: 5 };
    let path = file("square.gif");
    animation.write_gif(&path).unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(std::fs::File::open(&path).unwrap()).unwrap();
    let mut delays = Vec::new();
    for picture in &animation.frames {
        let frame = decoder.read_next_frame().unwrap().expect("a frame");
        let pixels = frame.buffer.chunks_exact(4).map(|p| [p[0], p[1], p[2]]);
        let far = pixels.zip(picture.pixels()).filter(|(a, b)| !near(*a, **b, 16)).count();
        assert!(far < 50, "{far} pixels are far off");
        assert_eq!(frame.buffer[..3], drawing.background);
        delays.push(frame.delay);
    }
    assert_eq!(delays, [5, 5, 150], "the end is held");
    // The same from files.
    let files: Vec<_> = (0..3).map(|k| file(&format!("frame{k}.png"))).collect();
    animation.frames.iter().zip(&files).for_each(|(frame, file)| frame.write_png(file).unwrap());
    let streamed = file("streamed.gif");
    gif_of_files(&files, 5, &streamed).unwrap();
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&streamed).unwrap());
    std::fs::remove_file(&files[1]).unwrap();
    assert!(matches!(gif_of_files(&files, 5, &streamed), Err(PictureError::Read { .. })));
    assert_eq!(gif_of_files(&files[..0], 5, &streamed), Err(PictureError::Frame { frame: 0 }));
    let unequal =
        Animation { frames: vec![animation.frames[0].clone(), Picture::new(2, 2, [0; 3])], delay: 5 };
    assert_eq!(unequal.write_gif(file("unequal.gif")), Err(PictureError::Frame { frame: 1 }));
}
