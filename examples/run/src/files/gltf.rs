//! An animation as binary glTF, `.glb`: a mesh and a material for each body, and a morph target for each frame.
//!
//! Between two frames positions are interpolated linearly. A vertex with several texture coordinates is split. Normals are
//! the means of those of the triangles, weighted by area.
//!
//! *Reference* Khronos Group 2021, "glTF 2.0 Specification".

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Group;

/// The numbers of the component types, and of the kinds of buffers.
const FLOAT: u32 = 5126;
const UNSIGNED: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// The data of a file, and their descriptions.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Buffer {
    /// Adds an array of numbers in groups of N, and returns its number.
    fn add<const N: usize>(&mut self, values: &[[f32; N]], target: Option<u32>) -> usize {
        let kind = ["SCALAR", "VEC2", "VEC3"][N - 1];
        let range = |of: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..N).map(|k| values.iter().map(|v| v[k]).reduce(of).unwrap_or(0.0)).collect()
        };
        let (least, most) = (range(f32::min), range(f32::max));
        let bytes = values.as_flattened().iter().flat_map(|v| v.to_le_bytes());
        self.push(bytes.collect(), target);
        let view = self.views.len() - 1;
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "count": values.len(), "type": kind, "min": least, "max": most,
        }));
        self.accessors.len() - 1
    }

    /// Adds the corners of triangles.
    fn add_corners(&mut self, corners: &[u32]) -> usize {
        self.push(corners.iter().flat_map(|v| v.to_le_bytes()).collect(), Some(INDICES));
        let view = self.views.len() - 1;
        self.accessors.push(json!({
            "bufferView": view, "componentType": UNSIGNED, "count": corners.len(), "type": "SCALAR",
        }));
        self.accessors.len() - 1
    }

    fn push(&mut self, bytes: Vec<u8>, target: Option<u32>) {
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.views.push(view);
        self.bytes.extend(bytes);
    }
}

/// The animation of bodies whose nodes have these positions in each frame; `delay` is the time between frames in s.
/// `None` for more bytes than a file can have.
pub(super) fn animation(groups: &[Group], frames: &[Vec<[f32; 3]>], delay: f64) -> Option<Vec<u8>> {
    let mut buffer = Buffer::default();
    let targets = frames.len().saturating_sub(1);
    let times: Vec<[f32; 1]> = (0..frames.len()).map(|k| [(k as f64 * delay) as f32]).collect();
    let weights: Vec<[f32; 1]> = (0..frames.len())
        .flat_map(|frame| (1..=targets).map(move |k| [if k == frame { 1.0 } else { 0.0 }]))
        .collect();
    let moves = targets > 0;
    let sampler = moves.then(|| {
        let (input, output) = (buffer.add(&times, None), buffer.add(&weights, None));
        json!({ "input": input, "output": output, "interpolation": "LINEAR" })
    });
    let (mut meshes, mut nodes, mut materials, mut channels) = (vec![], vec![], vec![], vec![]);
    for (k, group) in groups.iter().filter(|group| !group.triangles.is_empty()).enumerate() {
        let (vertices, texture, corners) = split(group);
        let normals: Vec<Vec<[f32; 3]>> = frames.iter().map(|points| normals(group, points)).collect();
        let of = |points: &[[f32; 3]]| vertices.iter().map(|v| points[*v as usize]).collect::<Vec<_>>();
        let (first, upright) = (of(&frames[0]), of(&normals[0]));
        let mut attributes = json!({
            "POSITION": buffer.add(&first, Some(VERTICES)), "NORMAL": buffer.add(&upright, Some(VERTICES)),
        });
        if !texture.is_empty() {
            attributes["TEXCOORD_0"] = buffer.add(&texture, Some(VERTICES)).into();
        }
        let indices = buffer.add_corners(&corners);
        let change = |now: Vec<[f32; 3]>, base: &[[f32; 3]]| -> Vec<[f32; 3]> {
            now.iter().zip(base).map(|(a, b)| [0, 1, 2].map(|k| a[k] - b[k])).collect()
        };
        let moved: Vec<Value> = (1..frames.len())
            .map(|frame| {
                let (x, n) = (change(of(&frames[frame]), &first), change(of(&normals[frame]), &upright));
                json!({ "POSITION": buffer.add(&x, Some(VERTICES)), "NORMAL": buffer.add(&n, Some(VERTICES)) })
            })
            .collect();
        let mut primitive = json!({ "attributes": attributes, "indices": indices, "material": k });
        let mut mesh = json!({ "name": group.name });
        if moves {
            primitive["targets"] = moved.into();
            mesh["weights"] = vec![0.0; targets].into();
            channels.push(json!({ "sampler": 0, "target": { "node": k, "path": "weights" } }));
        }
        mesh["primitives"] = json!([primitive]);
        meshes.push(mesh);
        nodes.push(json!({ "name": group.name, "mesh": k }));
        // Factors are linear, colours of pictures are not.
        let [r, g, b] = group.colour.map(|c| (f64::from(c) / 255.0).powf(2.2));
        materials.push(json!({
            "name": group.name, "doubleSided": true,
            "pbrMetallicRoughness": { "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8 },
        }));
    }
    let mut root = json!({
        "asset": { "version": "2.0", "generator": "coarsen" },
        "scene": 0,
        "scenes": [{ "nodes": (0..nodes.len()).collect::<Vec<_>>() }],
        "nodes": nodes, "meshes": meshes, "materials": materials,
        "accessors": buffer.accessors, "bufferViews": buffer.views,
        "buffers": [{ "byteLength": buffer.bytes.len() }],
    });
    if let Some(sampler) = sampler {
        root["animations"] = json!([{ "name": "simulation", "channels": channels, "samplers": [sampler] }]);
    }
    binary(root.to_string().into_bytes(), buffer.bytes)
}

/// The file: a header, and a chunk each of JSON and of data; `None` if its length is not below 4 GiB.
fn binary(mut json: Vec<u8>, mut data: Vec<u8>) -> Option<Vec<u8>> {
    json.resize(json.len().next_multiple_of(4), b' ');
    data.resize(data.len().next_multiple_of(4), 0);
    let length = u32::try_from(12 + 8 + json.len() + 8 + data.len()).ok()?;
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend(length.to_le_bytes());
    for (name, chunk) in [(b"JSON", json), (b"BIN\0", data)] {
        file.extend((chunk.len() as u32).to_le_bytes());
        file.extend(name);
        file.extend(chunk);
    }
    Some(file)
}

/// The vertices of a body, of which each has one texture coordinate: their nodes, their coordinates if there are any, and the
/// corners of the triangles. In glTF the second coordinate counts downwards.
fn split(group: &Group) -> (Vec<u32>, Vec<[f32; 2]>, Vec<u32>) {
    let (mut vertices, mut texture, mut corners) = (Vec::new(), Vec::new(), Vec::new());
    let mut numbers: HashMap<(u32, [u32; 2]), u32> = HashMap::new();
    for (k, triangle) in group.triangles.iter().enumerate() {
        for (corner, &node) in triangle.iter().enumerate() {
            let point = group.texture.as_ref().map(|all| all[k][corner].map(|v| v as f32));
            let next = vertices.len() as u32;
            corners.push(*numbers.entry((node, point.unwrap_or_default().map(f32::to_bits))).or_insert_with(
                || {
                    vertices.push(node);
                    texture.extend(point.map(|[u, v]| [u, 1.0 - v]));
                    next
                },
            ));
        }
    }
    (vertices, texture, corners)
}

/// The normals of the nodes of a body; those of other nodes are zero.
fn normals(group: &Group, points: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let points: Vec<f64> = points.as_flattened().iter().map(|v| f64::from(*v)).collect();
    super::surface::normals(&group.triangles, &points).iter().map(|n| n.map(|v| v as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths in a file have 32 bits. Memory that is zero is not touched.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn files_end_below_four_gibibytes() {
        assert_eq!(binary(b"{}".to_vec(), vec![0; 4]).map(|file| file.len()), Some(12 + 12 + 12));
        assert!(binary(b"{}".to_vec(), vec![0; (1 << 32) - 32]).is_none());
    }
}
