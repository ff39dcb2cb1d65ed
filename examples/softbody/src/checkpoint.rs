//! Checkpoints: files with the state after a frame.
//!
//! All numbers have eight bytes, the least significant first:
//!
//! | part | contents |
//! |---|---|
//! | `MAGIC` | identifies the file format and its version |
//! | run | a fingerprint of all settings that affect the results of the run |
//! | frame, energy of pins, work of pins | one number each |
//! | n, x, v | positions and velocities of n / 3 nodes |
//! | attachments | their number; for each attachment the number of its anchors, and the anchors |
//! | sum | a fingerprint of all bytes before it |
//!
//! A checkpoint is written to a temporary file, which then replaces the last checkpoint. So if a run is
//! interrupted while it writes, the last checkpoint stays unchanged.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::state::State;

/// The first bytes of a checkpoint.
const MAGIC: &[u8; 24] = b"coarsen softbody state 1";

/// A checkpoint that cannot be read, used or written. An existing file is not changed.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum CheckpointError {
    /// The file does not exist or cannot be read.
    #[error("{}: the checkpoint cannot be read ({kind}); run without --resume to start anew", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// The file cannot be written.
    #[error("{}: the checkpoint cannot be written ({kind}); the last one is still there", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// The file is damaged.
    #[error(
        "{}: the checkpoint is damaged ({what}), so the run cannot continue; nothing was changed",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The fault.
        what: &'static str,
    },
    /// The file belongs to a run with other settings.
    #[error(
        "{}: the checkpoint belongs to a run with another scene, mesh, method or backend; use the options of \
         that run, or another --out", file.display()
    )]
    Other {
        /// The file.
        file: PathBuf,
    },
}

/// The fingerprint of bytes: the 64-bit hash FNV-1a. It changes whenever a single byte changes.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let (start, prime) = (0xcbf2_9ce4_8422_2325, 0x0100_0000_01b3);
    bytes.iter().fold(start, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(prime))
}

/// Writes a checkpoint of the run with this fingerprint.
///
/// # Errors
/// [`CheckpointError::Write`]; the last checkpoint is then unchanged.
pub(crate) fn write(file: &Path, run: u64, state: &State) -> Result<(), CheckpointError> {
    let beside = file.with_extension("part");
    let save = || {
        let mut part = File::create(&beside)?;
        part.write_all(&encode(run, state))?;
        part.sync_all()?;
        std::fs::rename(&beside, file)
    };
    save().map_err(|error: std::io::Error| CheckpointError::Write { file: file.into(), kind: error.kind() })
}

/// Reads the checkpoint of the run with this fingerprint.
///
/// # Errors
/// [`CheckpointError`]; the file is never changed.
pub(crate) fn read(file: &Path, run: u64) -> Result<State, CheckpointError> {
    let fail = |error: std::io::Error| CheckpointError::Read { file: file.into(), kind: error.kind() };
    let bytes = std::fs::read(file).map_err(fail)?;
    let (own, state) = decode(&bytes).map_err(|what| CheckpointError::Damaged { file: file.into(), what })?;
    if own == run { Ok(state) } else { Err(CheckpointError::Other { file: file.into() }) }
}

fn encode(run: u64, state: &State) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let mut put = |number: u64| bytes.extend(number.to_le_bytes());
    put(run);
    put(state.frame as u64);
    put(state.pinned.to_bits());
    put(state.work.to_bits());
    put(state.x.len() as u64);
    state.x.iter().chain(&state.v).for_each(|v| put(v.to_bits()));
    put(state.anchors.len() as u64);
    for anchors in &state.anchors {
        put(anchors.len() as u64);
        anchors.as_flattened().iter().for_each(|v| put(v.to_bits()));
    }
    let sum = fingerprint(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Returns the fingerprint of the run and the state, or the fault of the file.
fn decode(bytes: &[u8]) -> Result<(u64, State), &'static str> {
    let words = bytes.strip_prefix(MAGIC).ok_or("its first bytes are not those of a checkpoint")?;
    let (words, []) = words.as_chunks::<8>() else { return Err("it ends inside a number") };
    let (&sum, body) = words.split_last().ok_or("it ends after its first bytes")?;
    if u64::from_le_bytes(sum) != fingerprint(&bytes[..bytes.len() - 8]) {
        return Err("its check sum is wrong");
    }
    let mut reader = Reader(body);
    let run = reader.number()?;
    let frame = reader.number()? as usize;
    let [pinned, work] = [reader.float()?, reader.float()?];
    let n = reader.number()? as usize;
    let (x, v) = (reader.floats(n)?, reader.floats(n)?);
    let attachments = reader.number()?;
    let mut anchors = Vec::new();
    for _ in 0..attachments {
        let count = reader.number()? as usize;
        let own = reader.floats(count.checked_mul(3).ok_or(SHORT)?)?;
        anchors.push(own.as_chunks().0.to_vec());
    }
    if reader.0.is_empty() {
        Ok((run, State { frame, x, v, anchors, pinned, work }))
    } else {
        Err("it has more numbers than it declares")
    }
}

/// The fault of a file with too few numbers.
const SHORT: &str = "it has fewer numbers than it declares";

/// The numbers that have not been read yet.
struct Reader<'a>(&'a [[u8; 8]]);

impl Reader<'_> {
    fn number(&mut self) -> Result<u64, &'static str> {
        let (&first, rest) = self.0.split_first().ok_or(SHORT)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(first))
    }

    fn float(&mut self) -> Result<f64, &'static str> {
        self.number().map(f64::from_bits)
    }

    fn floats(&mut self, count: usize) -> Result<Vec<f64>, &'static str> {
        let (floats, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(floats.iter().map(|&bytes| f64::from_bits(u64::from_le_bytes(bytes))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn states() -> impl Strategy<Value = State> {
        let point = || prop::array::uniform3(any::<i32>().prop_map(|v| f64::from(v) * 0.37));
        let points = (0_usize..5).prop_flat_map(move |n| (vec(point(), n), vec(point(), n)));
        (any::<u32>(), points, vec(vec(point(), 0..3), 0..3), any::<(i32, i32)>()).prop_map(
            |(frame, (x, v), anchors, (pinned, work))| State {
                frame: frame as usize,
                x: x.as_flattened().to_vec(),
                v: v.as_flattened().to_vec(),
                anchors,
                pinned: f64::from(pinned),
                work: f64::from(work) / 3.0,
            },
        )
    }

    proptest! {
        #[test]
        fn states_come_back(state in states(), run in any::<u64>()) {
            prop_assert_eq!(decode(&encode(run, &state)), Ok((run, state)));
        }

        /// Rejects files with a changed byte, with missing bytes and with additional bytes.
        #[test]
        fn damage_is_found(
            state in states(),
            at in any::<prop::sample::Index>(),
            flip in 1_u8..=255,
            cut in 1_usize..40,
        ) {
            let bytes = encode(7, &state);
            let mut changed = bytes.clone();
            changed[at.index(bytes.len())] ^= flip;
            prop_assert!(decode(&changed).is_err());
            prop_assert!(decode(&bytes[..bytes.len().saturating_sub(cut)]).is_err());
            prop_assert!(decode(&[&bytes[..], &vec![flip; cut]].concat()).is_err());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..200), declared in any::<u64>()) {
            let mut file = [&MAGIC[..], &bytes, &declared.to_le_bytes()].concat();
            let sum = fingerprint(&file);
            file.extend(sum.to_le_bytes());
            let _ = decode(&file);
        }
    }

    #[test]
    fn a_checkpoint_of_another_run_is_refused_and_kept() {
        let folder = std::env::temp_dir().join(format!("coarsen-checkpoint-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("checkpoint.bin");
        let state = State { frame: 3, x: vec![1.0; 3], v: vec![2.0; 3], ..State::default() };
        write(&file, 5, &state).unwrap();
        assert_eq!(read(&file, 5), Ok(state.clone()));
        assert_eq!(read(&file, 6), Err(CheckpointError::Other { file: file.clone() }));
        // If the temporary file cannot be written, the last checkpoint stays.
        std::fs::create_dir(file.with_extension("part")).unwrap();
        let failed = write(&file, 5, &State::default());
        assert!(matches!(failed, Err(CheckpointError::Write { .. })), "{failed:?}");
        assert_eq!(read(&file, 5), Ok(state));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(read(&file, 5), Err(CheckpointError::Read { kind: ErrorKind::NotFound, .. })));
    }
}
