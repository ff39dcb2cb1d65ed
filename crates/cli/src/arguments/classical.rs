//! The options of `--precond rs`, and the parameters made from them.

use clap::Args;
use coarsen::multigrid::Multigrid;
use coarsen::ruge_stueben::{Interpolation, RugeStueben, ruge_stueben};

use super::value::{named, share};

/// Options of classical multigrid; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Classical multigrid")]
pub(crate) struct Classical {
    /// Couplings below this share of the largest of their row are weak [default: 0.25]
    #[arg(long, value_name = "F", value_parser = share, allow_negative_numbers = true)]
    pub(crate) rs_theta: Option<f64>,
    /// How a fine unknown is interpolated from its strong coarse neighbours [default: direct]
    #[arg(long, value_parser = named([
        ("direct", "By its couplings to them, scaled to the sum of all its couplings", Interpolation::Direct),
        (
            "classical",
            "Strong fine neighbours are replaced by their own coarse neighbours; takes more coarse unknowns",
            Interpolation::Classical,
        ),
        (
            "modified",
            "As classical, but only for fine neighbours with a common coarse neighbour; as few coarse unknowns as direct",
            Interpolation::Modified,
        ),
    ]))]
    pub(crate) rs_interpolation: Option<Interpolation>,
}

impl Classical {
    /// The parameters.
    pub(crate) fn parameters(&self) -> Multigrid<RugeStueben> {
        let mut parameters = ruge_stueben();
        let RugeStueben { theta, interpolation } = &mut parameters.coarsening;
        *theta = self.rs_theta.unwrap_or(*theta);
        *interpolation = self.rs_interpolation.unwrap_or(*interpolation);
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_change_the_defaults_of_the_library() {
        assert_eq!(Classical::default().parameters(), ruge_stueben());
        let given = Classical { rs_theta: Some(0.5), rs_interpolation: Some(Interpolation::Modified) };
        let expected = RugeStueben { theta: 0.5, interpolation: Interpolation::Modified };
        assert_eq!(given.parameters().coarsening, expected);
    }
}
