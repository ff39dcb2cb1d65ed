//! Values of options.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::thread::available_parallelism;

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use coarsen::{BackendChoice, Unavailable};
use serde::Serialize;

/// A backend by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BackendOption(pub(crate) BackendChoice);

impl FromStr for BackendOption {
    type Err = Unavailable;

    fn from_str(text: &str) -> Result<Self, Unavailable> {
        text.parse().map(Self)
    }
}

/// As on the command line.
impl fmt::Display for BackendOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for BackendOption {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The source of a right-hand side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rhs {
    Ones,
    Random(u64),
    File(PathBuf),
}

impl FromStr for Rhs {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match (text, text.strip_prefix("random:")) {
            ("ones", _) => Self::Ones,
            (_, Some(seed)) => Self::Random(seed.parse()?),
            _ => Self::File(text.into()),
        })
    }
}

/// The null space of A.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NullSpace {
    None,
    Constants,
    File(PathBuf),
}

impl FromStr for NullSpace {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "none" => Self::None,
            "constants" => Self::Constants,
            file => Self::File(file.into()),
        })
    }
}

/// Values by name, each with its help.
pub(crate) fn named<const N: usize, T: Clone + Send + Sync + 'static>(
    values: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = values.each_ref().map(|&(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).try_map(move |name: String| {
        let found = values.iter().find(|(own, ..)| *own == name);
        found.map(|(.., value)| value.clone()).ok_or("expected one of the possible values")
    })
}

/// The number of threads that is given, or one for each core.
pub(crate) fn threads(given: Option<u32>) -> usize {
    given.map_or_else(|| available_parallelism().map_or(1, usize::from), |n| n as usize)
}

/// A tolerance relative to the start.
pub(crate) fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(t) if (0.0..f64::INFINITY).contains(&t) => Ok(t),
        _ => Err("expected a finite number, 0 or more, like 1e-8".to_owned()),
    }
}

/// Names of files that end with an extension, or, if `other`, with any other one.
fn ending(extension: &'static str, other: bool, why: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |file| {
        let has_it = file.extension().is_some_and(|kind| kind.eq_ignore_ascii_case(extension));
        if has_it != other { Ok(file) } else { Err(why) }
    })
}

/// A plot is always written as SVG, so its name must end with .svg.
pub(crate) fn svg() -> impl TypedValueParser<Value = PathBuf> {
    ending("svg", false, "plots are SVG files: give a name that ends with .svg")
}

/// A pattern is always drawn as PNG.
pub(crate) fn png() -> impl TypedValueParser<Value = PathBuf> {
    ending("png", false, "the picture is written as PNG: give a name that ends with .png")
}

/// A file of an array; `.npz` is the name of a sparse matrix.
pub(crate) fn array() -> impl TypedValueParser<Value = PathBuf> {
    let why = "a solution is an array, and .npz files hold sparse matrices: give a name that ends with .npy or .mtx";
    ending("npz", true, why)
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if s > 0.0 && s <= 1e6 => Ok(s),
        _ => Err("expected seconds, above 0 and up to 1e6".to_owned()),
    }
}

/// A fraction of 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(v) if (0.0..1.0).contains(&v) => Ok(v),
        _ => Err("expected 0 or more and less than 1".to_owned()),
    }
}
