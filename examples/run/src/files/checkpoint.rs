//! Checkpoints: files with the state after a frame.
//!
//! All numbers have eight bytes, the least significant first:
//!
//! | part | contents |
//! |---|---|
//! | [`Saved::MAGIC`] | identifies the program, the file format and its version |
//! | numerics | [`NUMERICS`] of the program |
//! | run | a [`Fingerprint`](examples_scene::Fingerprint) of all that affects the results of the run |
//! | state | the numbers of the state |
//! | shown | [`Shown`] of each frame; nothing if the state alone was written |
//! | sum | a fingerprint of all bytes before it |
//!
//! A checkpoint is written to a temporary file, which then replaces the last checkpoint. So if a run is
//! interrupted while it writes, the last checkpoint stays unchanged.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use examples_scene::identity::fingerprint;

use super::Shown;

/// A state that a run passes from frame to frame.
pub trait Saved: Sized {
    /// The first bytes of a checkpoint.
    const MAGIC: &'static [u8; 24];

    /// The number of the frame; 0 is the start.
    fn frame(&self) -> usize;

    /// Appends the numbers of the state.
    fn save(&self, to: &mut Writer);

    /// Reads the numbers of a state.
    fn load(from: &mut Reader<'_>) -> Result<Self, &'static str>;

    /// Checks the numbers of a state that was read. By default all are taken.
    ///
    /// # Errors
    /// The first number that no run writes, and what it belongs to.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A checkpoint that cannot be read, used or written. An existing file is not changed.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum CheckpointError {
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
        "{}: the checkpoint is damaged ({what}), and nothing was changed; run without --resume to start anew",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The fault.
        what: Cow<'static, str>,
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
    /// The file was written by a program with other numerics.
    #[error(
        "{}: the checkpoint was computed by version {found} of the numerics, but this program has version {own}, whose frames \
         have other bits; continue with the program that wrote it, or run without --resume to start anew", file.display()
    )]
    Numerics {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u64,
        /// [`NUMERICS`].
        own: u64,
    },
}

/// The version of the numerics: it goes up with each change of the library or of an example after which a run has other
/// bits. A run of an older version is not continued, since its frames would not be those of one run.
///
/// Raise it by hand after a change of the order of sums, of default parameters, or of a rule of a solver: no test notices that
/// it was forgotten. The files of the frames of a short run before and after tell.
pub const NUMERICS: u64 = 9;

/// Writes a state as a checkpoint of the run with this fingerprint.
///
/// # Errors
/// [`CheckpointError::Write`]; the last checkpoint is then unchanged.
pub fn write(file: &Path, run: u64, state: &impl Saved) -> Result<(), CheckpointError> {
    write_run(file, run, state, &[])
}

/// Writes a checkpoint of the run with this fingerprint: the state, and what was written of each frame.
///
/// # Errors
/// [`CheckpointError::Write`]; the last checkpoint is then unchanged.
pub fn write_run(file: &Path, run: u64, state: &impl Saved, shown: &[Shown]) -> Result<(), CheckpointError> {
    let beside = file.with_extension("part");
    let save = || {
        let mut part = File::create(&beside)?;
        part.write_all(&encode(run, state, shown))?;
        part.sync_all()?;
        std::fs::rename(&beside, file)
    };
    save().map_err(|error: std::io::Error| CheckpointError::Write { file: file.into(), kind: error.kind() })
}

/// Reads the state of the checkpoint of the run with this fingerprint.
///
/// # Errors
/// [`CheckpointError`]; the file is never changed.
pub fn read<S: Saved>(file: &Path, run: u64) -> Result<S, CheckpointError> {
    read_run(file, run).map(|(state, _)| state)
}

/// Reads the checkpoint of the run with this fingerprint: the state, and what was written of each frame, if the file tells it.
///
/// # Errors
/// [`CheckpointError`]; the file is never changed.
pub fn read_run<S: Saved>(file: &Path, run: u64) -> Result<(S, Vec<Shown>), CheckpointError> {
    match open(file)? {
        ([found, _], ..) if found != NUMERICS => {
            Err(CheckpointError::Numerics { file: file.into(), found, own: NUMERICS })
        }
        ([_, own], state, shown) if own == run => Ok((state, shown)),
        _ => Err(CheckpointError::Other { file: file.into() }),
    }
}

/// Reads the state of a checkpoint of any run and any numerics. *Use* if the state alone matters, such as the start of one time step by
/// several methods; a run that continues needs [`read`].
///
/// # Errors
/// [`CheckpointError`] for a file that cannot be read or is damaged; the file is never changed.
pub fn read_state<S: Saved>(file: &Path) -> Result<S, CheckpointError> {
    open(file).map(|(_, state, _)| state)
}

/// The version of the numerics and the fingerprint of the run, the state, and what was written of each frame.
type Parts<S> = ([u64; 2], S, Vec<Shown>);

fn open<S: Saved>(file: &Path) -> Result<Parts<S>, CheckpointError> {
    let fail = |error: std::io::Error| CheckpointError::Read { file: file.into(), kind: error.kind() };
    let bytes = std::fs::read(file).map_err(fail)?;
    let damaged = |what: Cow<'static, str>| CheckpointError::Damaged { file: file.into(), what };
    let parts: Parts<S> = decode(&bytes).map_err(|what| damaged(what.into()))?;
    parts.1.check().map_err(|what| damaged(what.into()))?;
    Ok(parts)
}

fn encode<S: Saved>(run: u64, state: &S, shown: &[Shown]) -> Vec<u8> {
    let mut writer = Writer(S::MAGIC.to_vec());
    writer.number(NUMERICS);
    writer.number(run);
    state.save(&mut writer);
    shown.iter().for_each(|frame| frame.save(&mut writer));
    let sum = fingerprint(&writer.0);
    writer.number(sum);
    writer.0
}

/// Returns the parts of a checkpoint, or the fault of the file.
fn decode<S: Saved>(bytes: &[u8]) -> Result<Parts<S>, &'static str> {
    let words = bytes.strip_prefix(S::MAGIC).ok_or("its first bytes are not those of a checkpoint")?;
    let (words, []) = words.as_chunks::<8>() else { return Err("it ends inside a number") };
    let (&sum, body) = words.split_last().ok_or("it ends after its first bytes")?;
    if u64::from_le_bytes(sum) != fingerprint(&bytes[..bytes.len() - 8]) {
        return Err("its check sum is wrong");
    }
    let mut reader = Reader(body);
    let head = [reader.number()?, reader.number()?];
    let state = S::load(&mut reader)?;
    let mut shown = Vec::new();
    while !reader.is_empty() {
        shown.push(Shown::load(&mut reader)?);
    }
    match shown.len() {
        0 => Ok((head, state, shown)),
        frames if frames.checked_sub(1) == Some(state.frame()) => Ok((head, state, shown)),
        _ => Err("it has more numbers than it declares"),
    }
}

/// The bytes of a checkpoint that is being written.
pub struct Writer(Vec<u8>);

impl Writer {
    /// Appends a whole number.
    pub fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    /// Appends numbers, which are read back without rounding.
    pub fn floats<'a>(&mut self, floats: impl IntoIterator<Item = &'a f64>) {
        floats.into_iter().for_each(|v| self.number(v.to_bits()));
    }
}

/// The fault of a file with too few numbers.
const SHORT: &str = "it has fewer numbers than it declares";

/// The numbers that have not been read yet.
pub struct Reader<'a>(&'a [[u8; 8]]);

impl Reader<'_> {
    /// Whether all numbers were read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a whole number.
    pub fn number(&mut self) -> Result<u64, &'static str> {
        let (&first, rest) = self.0.split_first().ok_or(SHORT)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(first))
    }

    /// Reads a number.
    pub fn float(&mut self) -> Result<f64, &'static str> {
        self.number().map(f64::from_bits)
    }

    /// Reads several numbers.
    pub fn floats(&mut self, count: usize) -> Result<Vec<f64>, &'static str> {
        let (floats, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(floats.iter().map(|&bytes| f64::from_bits(u64::from_le_bytes(bytes))).collect())
    }

    /// Reads several points.
    pub fn points(&mut self, count: usize) -> Result<Vec<[f64; 3]>, &'static str> {
        Ok(self.floats(count.checked_mul(3).ok_or(SHORT)?)?.as_chunks().0.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Format;
    use crate::folder::Folder;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct State {
        frame: u64,
        x: Vec<f64>,
        points: Vec<[f64; 3]>,
    }

    impl Saved for State {
        const MAGIC: &'static [u8; 24] = b"coarsen test of states 1";

        fn frame(&self) -> usize {
            self.frame as usize
        }

        fn save(&self, to: &mut Writer) {
            to.number(self.frame);
            to.number(self.x.len() as u64);
            to.floats(&self.x);
            to.number(self.points.len() as u64);
            to.floats(self.points.as_flattened());
        }

        fn load(from: &mut Reader<'_>) -> Result<Self, &'static str> {
            let frame = from.number()?;
            let n = from.number()? as usize;
            let x = from.floats(n)?;
            let n = from.number()? as usize;
            Ok(Self { frame, x, points: from.points(n)? })
        }
    }

    fn states() -> impl Strategy<Value = State> {
        let point = || prop::array::uniform3(any::<i32>().prop_map(|v| f64::from(v) * 0.37));
        let points = (vec(any::<i32>().prop_map(f64::from), 0..9), vec(point(), 0..5));
        (any::<u32>(), points).prop_map(|(frame, (x, points))| State { frame: frame.into(), x, points })
    }

    proptest! {
        #[test]
        fn states_come_back(state in states(), run in any::<u64>()) {
            prop_assert_eq!(decode(&encode(run, &state, &[])), Ok(([NUMERICS, run], state.clone(), vec![])));
            let (state, shown) = (State { frame: 1, ..state }, vec![Shown::new(Format::Gltf, true), Shown::new(Format::None, false)]);
            prop_assert_eq!(decode(&encode(run, &state, &shown)), Ok(([NUMERICS, run], state, shown)));
        }

        /// Rejects files with a changed byte, with missing bytes and with additional bytes.
        #[test]
        fn damage_is_found(
            state in states(),
            at in any::<prop::sample::Index>(),
            flip in 1_u8..=255,
            cut in 1_usize..40,
        ) {
            let bytes = encode(7, &state, &[]);
            let mut changed = bytes.clone();
            changed[at.index(bytes.len())] ^= flip;
            prop_assert!(decode::<State>(&changed).is_err());
            prop_assert!(decode::<State>(&bytes[..bytes.len().saturating_sub(cut)]).is_err());
            prop_assert!(decode::<State>(&[&bytes[..], &vec![flip; cut]].concat()).is_err());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..200), declared in any::<u64>()) {
            let mut file = [&State::MAGIC[..], &bytes, &declared.to_le_bytes()].concat();
            let sum = fingerprint(&file);
            file.extend(sum.to_le_bytes());
            let _ = decode::<State>(&file);
        }
    }

    #[test]
    fn a_checkpoint_of_another_run_is_refused_and_kept() {
        let of_test = Folder::new("checkpoint");
        let folder = &of_test.0;
        let file = folder.join("checkpoint.bin");
        let state = State { frame: 3, x: vec![1.0; 3], points: vec![[2.0; 3]] };
        write(&file, 5, &state).unwrap();
        assert_eq!(read(&file, 5), Ok(state.clone()));
        assert_eq!(read::<State>(&file, 6), Err(CheckpointError::Other { file: file.clone() }));
        assert_eq!(read_state(&file), Ok(state.clone()));
        // A version of the numerics that computes other bits.
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[24] += 1;
        let body = bytes.len() - 8;
        let sum = fingerprint(&bytes[..body]);
        bytes[body..].copy_from_slice(&sum.to_le_bytes());
        let other = folder.join("other.bin");
        std::fs::write(&other, bytes).unwrap();
        let refused = CheckpointError::Numerics { file: other.clone(), found: NUMERICS + 1, own: NUMERICS };
        assert_eq!(read::<State>(&other, 5), Err(refused));
        assert_eq!(read_state(&other), Ok(state.clone()));
        // If the temporary file cannot be written, the last checkpoint stays.
        std::fs::create_dir(file.with_extension("part")).unwrap();
        let failed = write(&file, 5, &State::default());
        assert!(matches!(failed, Err(CheckpointError::Write { .. })), "{failed:?}");
        assert_eq!(read(&file, 5), Ok(state));
        std::fs::remove_dir_all(folder).unwrap();
        assert!(matches!(
            read::<State>(&file, 5),
            Err(CheckpointError::Read { kind: ErrorKind::NotFound, .. })
        ));
    }
}
