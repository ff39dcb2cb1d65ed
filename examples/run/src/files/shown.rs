//! What a run wrote of each frame, so that frames of another run in the same folder are not taken for its own.

use std::path::Path;

use clap::ValueEnum;
use examples_render::name;

use super::{OutputError, Reader, Writer};

/// What a run writes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The name of the format, and zeros.
    format: [u8; 8],
    has_picture: bool,
}

impl Shown {
    /// A surface or points in a format, and a picture or none.
    pub fn new(format: impl ValueEnum, has_picture: bool) -> Self {
        let value = format.to_possible_value();
        let mut format = [0; 8];
        let name = value.iter().flat_map(|value| value.get_name().bytes());
        format.iter_mut().zip(name).for_each(|(to, byte)| *to = byte);
        Self { format, has_picture }
    }

    fn format(&self) -> &str {
        str::from_utf8(&self.format).unwrap_or_default().trim_end_matches('\0')
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.number(u64::from_le_bytes(self.format));
        to.number(self.has_picture.into());
    }

    pub(super) fn load(from: &mut Reader<'_>) -> Result<Self, &'static str> {
        Ok(Self { format: from.number()?.to_le_bytes(), has_picture: from.number()? != 0 })
    }
}

/// Checks that a run which wrote these frames can write the next one: formats with one file for all frames have all of
/// them, and there is no file of an earlier frame that the run did not write.
///
/// # Errors
/// [`OutputError::Cache`] and [`OutputError::Stale`]
pub fn check_shown(shown: &[Shown], next: Shown, folder: &Path) -> Result<(), OutputError> {
    let lacking = |formats: &[&str]| shown.iter().rposition(|frame| !formats.contains(&frame.format()));
    let file = match next.format() {
        "pvd" => lacking(&["pvd"]).map(|frame| name(frame, "vtu")),
        "pc2" if shown.first().is_some_and(|first| first.format() != "pc2") => Some("surface.obj".to_owned()),
        "pc2" | "gltf" => lacking(&["pc2", "gltf"]).map(|_| "surface.pc2".to_owned()),
        _ => None,
    };
    if let Some(file) = file {
        return Err(OutputError::Cache { file: folder.join(file), frame: shown.len() });
    }
    for (frame, own) in shown.iter().enumerate() {
        let other_format = (own.format != next.format).then(|| next.format());
        let no_picture = (next.has_picture && !own.has_picture).then_some("png");
        for extension in other_format.into_iter().chain(no_picture) {
            let file = folder.join(name(frame, extension));
            if file.exists() {
                return Err(OutputError::Stale { file, frame });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Format;

    /// Files of another run are in the folder in every format.
    #[test]
    fn frames_of_another_run_are_refused() {
        let folder = std::env::temp_dir().join(format!("coarsen-shown-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for frame in 0..4 {
            for extension in ["vtk", "obj", "vtu", "png"] {
                std::fs::write(folder.join(name(frame, extension)), "").unwrap();
            }
        }
        for file in ["surface.pc2", "surface.obj", "frames.pvd"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let check = |before: [Format; 3], next: Format| {
            let refused =
                check_shown(&before.map(|of| Shown::new(of, false)), Shown::new(next, false), &folder);
            refused.map_err(|error| error.to_string())
        };
        use Format::{Gltf, None, Obj, Pc2, Pvd, Vtk};
        for (before, next, told) in [
            (None, Pvd, "frame_0002.vtu: the frames before frame 3"),
            (None, Pc2, "surface.obj: the frames before frame 3"),
            (None, Gltf, "surface.pc2: the frames before frame 3"),
            (Gltf, Pc2, "surface.obj: the frames before frame 3"),
            (None, Vtk, "frame_0000.vtk: frame 0 was not written by the run that is continued"),
            (Vtk, Obj, "frame_0000.obj: frame 0 was not written by the run that is continued"),
        ] {
            let refused = check([before; 3], next).unwrap_err();
            assert!(refused.contains(told), "{before:?}, {next:?}: {refused}");
        }
        assert!(check([Pvd, None, Pvd], Pvd).unwrap_err().contains("frame_0001.vtu"));
        for (before, next) in [
            (None, None),
            (Vtk, None),
            (Vtk, Vtk),
            (Obj, Obj),
            (Pvd, Pvd),
            (Pc2, Gltf),
            (Gltf, Gltf),
            (Pc2, Pc2),
        ] {
            assert_eq!(check([before; 3], next), Ok(()), "{before:?}, {next:?}");
        }
        assert_eq!(check([Pc2, Gltf, Gltf], Pc2), Ok(()));
        let [with, without] = [true, false].map(|has_picture| Shown::new(None, has_picture));
        let stale = check_shown(&[with, without, with], with, &folder).unwrap_err();
        assert!(matches!(stale, OutputError::Stale { frame: 1, .. }), "{stale}");
        check_shown(&[with, without, with], without, &folder).unwrap();
        // Without files of another run, a format may change.
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(check([Vtk; 3], Obj), Ok(()));
    }
}
