//! The table of frames: the file `frames.csv`, one line per frame, and the summary of a run.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{OutputError, failed};

/// The columns of a table, which are read back without rounding; [`record`](crate::record) lists them.
pub trait Columns: Sized {
    /// Their names.
    const NAMES: &'static [&'static str];

    /// The line of a row.
    fn line(&self) -> String;

    /// Reads a line; `None` for one that no row has.
    fn parse(line: &str) -> Option<Self>;
}

/// The results of a frame: a line of the table.
pub trait Record: Clone + Columns + 'static {
    /// The lines of the summary: the mean, the least, the median and the largest value of all frames.
    const SUMMARY: &'static [(&'static str, fn(&Self) -> Option<f64>)];

    /// The number of the frame; 0 is the start.
    fn frame(&self) -> usize;

    /// A few words for the progress bar.
    fn note(&self) -> String;

    /// What follows the lines of the summary; `rows` has the start too.
    fn ending(rows: &[Self]) -> String;
}

/// A value of a row: one field of a line, or several.
pub trait Cell: Sized {
    /// The number of its fields.
    const FIELDS: usize = 1;

    /// Appends its fields.
    fn write(&self, to: &mut Vec<String>);

    /// Reads its fields; `None` for a number that cannot be read or is not finite.
    fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self>;
}

/// Defines the rows of a table, whose columns have names, and implements [`Columns`] for them.
///
/// ```
/// use examples_run::files::Columns;
/// examples_run::record! {
///     /// A row.
///     struct Row {
///         /// The number of the frame.
///         frame: usize = "frame",
///         /// m/s.
///         velocity: [f64; 2] = "u" "v",
///     }
/// }
/// let row = Row { frame: 3, velocity: [0.5, -1.0] };
/// assert_eq!(row.line(), "3,5e-1,-1e0");
/// assert_eq!((Row::parse(&row.line()), Row::NAMES), (Some(row), &["frame", "u", "v"][..]));
/// assert!(["", "3,5e-1", "3,5e-1,inf", "3,5e-1,0,0"].iter().all(|line| Row::parse(line).is_none()));
/// ```
///
/// A field without a name does not compile:
///
/// ```compile_fail,E0080
/// examples_run::record! {
///     struct Row {
///         velocity: [f64; 2] = "u",
///     }
/// }
/// ```
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $seen:vis struct $row:ident {
        $($(#[$doc:meta])* $of:vis $field:ident: $type:ty = $($name:literal)+,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $seen struct $row {
            $($(#[$doc])* $of $field: $type,)*
        }

        const _: () = {
            $(assert!(<$type as $crate::files::Cell>::FIELDS == [$($name),+].len(), "a name for each field");)*
        };

        impl $crate::files::Columns for $row {
            const NAMES: &'static [&'static str] = &[$($($name,)+)*];

            fn line(&self) -> String {
                let mut fields = Vec::with_capacity(Self::NAMES.len());
                $($crate::files::Cell::write(&self.$field, &mut fields);)*
                fields.join(",")
            }

            fn parse(line: &str) -> Option<Self> {
                let mut fields = line.split(',');
                $(let $field = $crate::files::Cell::read(&mut fields)?;)*
                fields.next().is_none().then_some(Self { $($field),* })
            }
        }

        impl ::std::fmt::Display for $row {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&$crate::files::Columns::line(self))
            }
        }
    };
}

macro_rules! whole {
    ($($type:ty)*) => { $(impl Cell for $type {
        fn write(&self, to: &mut Vec<String>) {
            to.push(self.to_string());
        }

        fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
            from.next()?.parse().ok()
        }
    })* };
}

whole!(usize u64 String);

impl Cell for f64 {
    fn write(&self, to: &mut Vec<String>) {
        to.push(format!("{self:e}"));
    }

    fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        from.next()?.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// A number that is not known is an empty field.
impl Cell for Option<f64> {
    fn write(&self, to: &mut Vec<String>) {
        to.push(self.map_or_else(String::new, |number| format!("{number:e}")));
    }

    fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let field = from.next()?;
        if field.is_empty() { Some(None) } else { f64::read(&mut [field].into_iter()).map(Some) }
    }
}

impl<const N: usize> Cell for [f64; N] {
    const FIELDS: usize = N;

    fn write(&self, to: &mut Vec<String>) {
        self.iter().for_each(|number| number.write(to));
    }

    fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut numbers = [0.0; N];
        numbers.iter_mut().try_for_each(|number| f64::read(from).map(|found| *number = found))?;
        Some(numbers)
    }
}

/// The table of frames, and its file, to which each frame adds a line.
pub struct Table<R> {
    path: PathBuf,
    file: File,
    /// The rows of the start and of all frames so far.
    pub rows: Vec<R>,
}

impl<R: Record> Table<R> {
    /// Reads the rows of the start and of the first `frames` frames from the folder of an earlier run.
    ///
    /// # Errors
    /// [`OutputError::Table`] if a frame is missing or its line cannot be read; nothing is changed.
    pub fn read(folder: &Path, frames: usize) -> Result<Vec<R>, OutputError> {
        let file = folder.join("frames.csv");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(&R::NAMES.join(",")) {
            return Err(OutputError::Table { file, line: 1 });
        }
        let row = |frame: usize| {
            let row = lines.next().and_then(R::parse).filter(|row| row.frame() == frame);
            row.ok_or_else(|| OutputError::Table { file: file.clone(), line: frame + 2 })
        };
        (0..=frames).map(row).collect()
    }

    /// Writes a new file with these rows; creates the folder if necessary.
    pub fn create(folder: &Path, rows: Vec<R>) -> Result<Self, OutputError> {
        let path = folder.join("frames.csv");
        let beside = folder.join("frames.part");
        let lines = rows.iter().map(Columns::line);
        let text: String = [R::NAMES.join(",")].into_iter().chain(lines).map(|line| line + "\n").collect();
        let open = || {
            std::fs::create_dir_all(folder)?;
            let mut part = File::create(&beside)?;
            part.write_all(text.as_bytes())?;
            part.sync_all()?;
            std::fs::rename(&beside, &path)?;
            OpenOptions::new().append(true).open(&path)
        };
        let file = open().map_err(failed(&path))?;
        Ok(Self { path, file, rows })
    }

    /// Adds a row.
    pub fn push(&mut self, row: R) -> Result<(), OutputError> {
        writeln!(self.file, "{}", row.line()).map_err(failed(&self.path))?;
        self.rows.push(row);
        Ok(())
    }

    /// Returns once all rows are on the disk.
    pub fn sync(&self) -> Result<(), OutputError> {
        self.file.sync_data().map_err(failed(&self.path))
    }
}

/// The summary of a run: [`Record::SUMMARY`] of all rows after the start, and [`Record::ending`].
pub fn summary<R: Record>(rows: &[R]) -> String {
    let mut text = format!("{:<22}{:>12}{:>12}{:>12}{:>12}\n", "", "mean", "least", "median", "most");
    let frames = rows.get(1..).unwrap_or_default();
    for (name, of) in R::SUMMARY {
        let mut values: Vec<f64> = frames.iter().filter_map(of).collect();
        if !rows.is_empty() && rows.iter().all(|row| of(row).is_none()) {
            let _ = writeln!(text, "{name:<22}{:>12}", "not tested");
            continue;
        }
        values.sort_unstable_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let at = |share: f64| values.get((share * (values.len() as f64 - 1.0)) as usize).copied();
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|share| at(share).unwrap_or(0.0));
        let _ = writeln!(text, "{name:<22}{mean:>12.4}{low:>12.4}{middle:>12.4}{high:>12.4}");
    }
    text + &R::ending(rows)
}
