//! A point cache: the positions of the nodes of a surface in all frames, which Blender's modifier Mesh Cache plays.
//!
//! *Reference* the PointCache2 format of Autodesk 3ds Max: a header of 32 bytes, then the frames in f32.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The bytes of the header.
const HEADER: u64 = 32;

/// Writes the positions of a frame; frame 0 begins a new file.
///
/// # Errors
/// Those of the file, and [`ErrorKind::InvalidData`] if the file lacks frames before this one.
pub(super) fn write(path: &Path, frame: usize, points: &[f64]) -> io::Result<()> {
    let nodes = points.len() / 3;
    let mut file = if frame == 0 {
        File::create(path)?
    } else {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let (found, frames) = header(&mut file)?;
        if found != nodes || frames < frame {
            return Err(ErrorKind::InvalidData.into());
        }
        file
    };
    let mut bytes = b"POINTCACHE2\0\x01\0\0\0".to_vec();
    bytes.extend((nodes as i32).to_le_bytes());
    bytes.extend(0.0_f32.to_le_bytes()); // the first frame
    bytes.extend(1.0_f32.to_le_bytes()); // a sample for each frame
    bytes.extend((frame as i32 + 1).to_le_bytes());
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&bytes)?;
    file.seek(SeekFrom::Start(HEADER + (frame * nodes) as u64 * 12))?;
    let values: Vec<u8> = points.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
    file.write_all(&values)?;
    file.set_len(HEADER + ((frame + 1) * nodes) as u64 * 12)
}

/// The positions of all frames.
///
/// # Errors
/// Those of the file, and [`ErrorKind::InvalidData`] if it is no point cache.
pub(super) fn read(path: &Path) -> io::Result<Vec<Vec<[f32; 3]>>> {
    let mut file = File::open(path)?;
    let (nodes, frames) = header(&mut file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let values: Vec<f32> = bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    if values.len() != 3 * nodes * frames || nodes == 0 {
        return Err(ErrorKind::InvalidData.into());
    }
    Ok(values.chunks(3 * nodes).map(|frame| frame.as_chunks().0.to_vec()).collect())
}

/// The numbers of nodes and of frames.
fn header(file: &mut File) -> io::Result<(usize, usize)> {
    let mut bytes = [0; HEADER as usize];
    file.read_exact(&mut bytes)?;
    let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[at + k])) as usize;
    if !bytes.starts_with(b"POINTCACHE2\0") {
        return Err(ErrorKind::InvalidData.into());
    }
    Ok((number(16), number(28)))
}
