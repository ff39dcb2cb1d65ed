//! The options of `--precond as` and `--precond ras`, and the recipe made from them.

use clap::{Args, ValueEnum};
use coarsen::schwarz::{AdditiveSchwarz, Inner, Storage};
use serde::Serialize;

/// Options of additive Schwarz on one level; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args, Serialize)]
#[command(next_help_heading = "Additive Schwarz on one level")]
pub(crate) struct Overlap {
    /// Maximum number of nodes in a domain, without its overlap [default: 32, with ras 256]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) as_domain: Option<u32>,
    /// Overlap, in layers of neighbours [default: 1]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(crate) as_overlap: Option<u32>,
    /// Solver of the domains [default: inverses up to 64 nodes, sweeps for larger domains; with ras factors]
    #[arg(long, value_enum)]
    pub(crate) as_inner: Option<InnerName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InnerName {
    /// Dense inverses, for symmetric matrices
    Inverses,
    /// Eight multicolour Gauss-Seidel sweeps
    Sweeps,
    /// Sparse factors, for any matrix
    Factors,
}

/// The number of nodes up to which a domain is inverted by default.
const SMALL: usize = 64;

impl Overlap {
    /// The recipe; inverses are stored in f64 if `double`.
    pub(crate) fn recipe(&self, restricted: bool, double: bool) -> AdditiveSchwarz {
        let mut recipe =
            if restricted { AdditiveSchwarz::restricted() } else { AdditiveSchwarz::overlapping() };
        recipe.domain = self.as_domain.map_or(recipe.domain, |m| m as usize);
        recipe.overlap = self.as_overlap.map_or(recipe.overlap, |k| k as usize);
        recipe.storage = if double { Storage::Double } else { recipe.storage };
        let sweeps = Inner::Sweeps { pairs: 4 };
        recipe.inner = match self.as_inner {
            Some(InnerName::Inverses) => Inner::Inverses,
            Some(InnerName::Sweeps) => sweeps,
            Some(InnerName::Factors) => Inner::Factors,
            None if !restricted && recipe.domain > SMALL => sweeps,
            None => recipe.inner,
        };
        recipe
    }

    /// The given options, as on the command line.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let words = [
            ("--as-domain", self.as_domain.map(|v| v.to_string())),
            ("--as-overlap", self.as_overlap.map(|v| v.to_string())),
            ("--as-inner", self.as_inner.map(super::names::name)),
        ];
        words.into_iter().filter_map(|(option, value)| value.map(|value| (option, value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_library_default_is_used() {
        assert_eq!(Overlap::default().recipe(false, false), AdditiveSchwarz::overlapping());
        assert_eq!(Overlap::default().recipe(true, false), AdditiveSchwarz::restricted());
        assert!(Overlap::default().words().is_empty());
        let large = Overlap { as_domain: Some(1000), as_overlap: Some(0), as_inner: None };
        assert_eq!(large.recipe(false, false), AdditiveSchwarz::swept(1000));
        assert_eq!(large.recipe(true, false).inner, Inner::Factors);
        assert_eq!(large.recipe(false, true).storage, Storage::Double);
    }
}
