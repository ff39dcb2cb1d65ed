//! The options of `--precond as` and `--precond ras`, and the parameters made from them.

use clap::Args;
use coarsen::schwarz::{AdditiveSchwarz, Inner, Storage};

use super::value::named;

const SWEEPS: Inner = Inner::Sweeps { pairs: 4 };

/// Options of additive Schwarz on one level; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Additive Schwarz on one level")]
pub(crate) struct Overlap {
    /// Maximum number of nodes in a domain, without its overlap [default: 32, with ras 256]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) as_domain: Option<u32>,
    /// Overlap, in layers of neighbours [default: 1]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(crate) as_overlap: Option<u32>,
    /// Solver of the domains [default: inverses up to 64 nodes, sweeps for larger domains; with ras factors]
    #[arg(long, value_parser = named([
        ("inverses", "Dense inverses, for symmetric matrices", Inner::Inverses),
        ("sweeps", "Eight multicolour Gauss-Seidel sweeps", SWEEPS),
        ("factors", "Sparse factors, for any matrix", Inner::Factors),
    ]))]
    pub(crate) as_inner: Option<Inner>,
}

/// The number of nodes up to which a domain is inverted by default.
const SMALL: usize = 64;

impl Overlap {
    /// The parameters; inverses are stored in f64 if `double`.
    pub(crate) fn parameters(&self, restricted: bool, double: bool) -> AdditiveSchwarz {
        let mut parameters =
            if restricted { AdditiveSchwarz::restricted() } else { AdditiveSchwarz::overlapping() };
        parameters.domain = self.as_domain.map_or(parameters.domain, |m| m as usize);
        parameters.overlap = self.as_overlap.map_or(parameters.overlap, |k| k as usize);
        parameters.storage = if double { Storage::Double } else { parameters.storage };
        parameters.inner = match self.as_inner {
            None if !restricted && parameters.domain > SMALL => SWEEPS,
            given => given.unwrap_or(parameters.inner),
        };
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_library_default_is_used() {
        assert_eq!(Overlap::default().parameters(false, false), AdditiveSchwarz::overlapping());
        assert_eq!(Overlap::default().parameters(true, false), AdditiveSchwarz::restricted());
        let large = Overlap { as_domain: Some(1000), as_overlap: Some(0), as_inner: None };
        assert_eq!(large.parameters(false, false), AdditiveSchwarz::swept(1000));
        assert_eq!(large.parameters(true, false).inner, Inner::Factors);
        assert_eq!(large.parameters(false, true).storage, Storage::Double);
    }
}
