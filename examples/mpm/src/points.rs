//! Particles as points, for other programs.
//!
//! *Reference* PLY: Turk 1994, "The PLY polygon file format".

use std::path::Path;

use clap::ValueEnum;
use examples_common::files::{OutputError, failed, name};

use crate::particles::Particle;

/// The format of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Stanford PLY, binary: position, velocity and number of the body of each particle.
    Ply,
    /// VTK legacy, binary, with the same data.
    Vtk,
    /// No points.
    None,
}

impl Format {
    /// Writes the particles of a frame.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn write(self, folder: &Path, frame: usize, particles: &[Particle]) -> Result<(), OutputError> {
        let (extension, bytes) = match self {
            Self::Ply => ("ply", ply(particles)),
            Self::Vtk => ("vtk", vtk(particles)),
            Self::None => return Ok(()),
        };
        let path = folder.join(name(frame, extension));
        std::fs::write(&path, bytes).map_err(failed(&path))
    }
}

/// The bytes of a PLY file.
pub fn ply(particles: &[Particle]) -> Vec<u8> {
    let mut text = format!("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", particles.len());
    for key in ["x", "y", "z", "vx", "vy", "vz"] {
        text += &format!("property float {key}\n");
    }
    text += "property uint body\nend_header\n";
    let mut bytes = text.into_bytes();
    for p in particles {
        p.x.iter().chain(&p.v).for_each(|v| bytes.extend((*v as f32).to_le_bytes()));
        bytes.extend(p.body.to_le_bytes());
    }
    bytes
}

/// The bytes of a VTK file, whose numbers have the most significant byte first.
pub fn vtk(particles: &[Particle]) -> Vec<u8> {
    let n = particles.len();
    let mut bytes = b"# vtk DataFile Version 3.0\nparticles\nBINARY\nDATASET POLYDATA\n".to_vec();
    let triples = |bytes: &mut Vec<u8>, of: fn(&Particle) -> &[f64; 3]| {
        particles.iter().flat_map(of).for_each(|v| bytes.extend((*v as f32).to_be_bytes()));
    };
    bytes.extend(format!("POINTS {n} float\n").bytes());
    triples(&mut bytes, |p| &p.x);
    bytes.extend(format!("\nVERTICES {n} {}\n", 2 * n).bytes());
    (0..n as u32).for_each(|k| [1, k].iter().for_each(|v| bytes.extend(v.to_be_bytes())));
    bytes.extend(format!("\nPOINT_DATA {n}\nVECTORS velocity float\n").bytes());
    triples(&mut bytes, |p| &p.v);
    bytes.extend(b"\nSCALARS body int 1\nLOOKUP_TABLE default\n");
    particles.iter().for_each(|p| bytes.extend(p.body.to_be_bytes()));
    bytes.push(b'\n');
    bytes
}
