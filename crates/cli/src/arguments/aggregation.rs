//! The options of `--precond sa`, and the parameters made from them.

use clap::Args;
use coarsen::multigrid::{Cycle, Multigrid, Smoothing};
use coarsen::relax::{DampedJacobi, GaussSeidel, Spai0};
use coarsen::smoothed_aggregation::{Modes, SmoothedAggregation, Spread, smoothed_aggregation, tamstorf};
use coarsen::sparse::Strength;

use super::value::{named, share};

/// Options of smoothed aggregation; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Smoothed aggregation")]
pub(crate) struct Aggregation {
    /// Couplings below this share of the strongest of their row are weak [default: 0.48]
    #[arg(long, value_name = "F", value_parser = share, allow_negative_numbers = true)]
    pub(crate) sa_theta: Option<f64>,
    /// Multigrid cycle [default: v]
    #[arg(long, value_parser = named([
        ("v", "Each level once", Cycle::V),
        ("w", "Each coarser level twice at each visit", Cycle::W),
        ("f", "V-cycle, F-cycle, V-cycle at each visit", Cycle::F),
        ("k", "Two flexible conjugate gradient steps on each coarser level; needs the method fcg", Cycle::K),
    ]))]
    pub(crate) sa_cycle: Option<Cycle>,
    /// Smoother of each level [default: on a CPU, jacobi for scalars and gs for most symmetric matrices of
    /// 2x2, 3x3 or 6x6 blocks; otherwise chebyshev]
    #[arg(long, value_parser = named([
        ("chebyshev", "A Chebyshev polynomial of degree 2", tamstorf().smoothing),
        (
            "gs",
            "Gauss-Seidel, forward before the coarser level corrects and backward after it",
            Smoothing::GaussSeidel(GaussSeidel::default()),
        ),
        (
            "jacobi",
            "Block Jacobi, with an estimated damping factor",
            Smoothing::DampedJacobi(DampedJacobi::default()),
        ),
        ("spai0", "SPAI-0, with an estimated damping factor", Smoothing::Spai0(Spai0::default())),
    ]))]
    pub(crate) sa_smoother: Option<Smoothing>,
    /// Radius of aggregates, in strong couplings [default: 1; 2 for scalars if a coarse matrix would be
    /// half full]
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u32).range(1..=2))]
    pub(crate) sa_spread: Option<u32>,
    /// Maximum number of levels [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) sa_levels: Option<u32>,
    /// Unknowns up to which a level is solved directly [default: 500]
    #[arg(long, value_name = "N")]
    pub(crate) sa_coarse_size: Option<usize>,
    /// Near-kernel: `known` (the given vectors; otherwise rigid-body modes or constants, rescaled if the
    /// unknowns of the matrix are), `constants`, or K vectors computed by relaxation [default: known]
    #[arg(long, value_name = "known|constants|found:K", value_parser = modes)]
    pub(crate) sa_modes: Option<Modes>,
}

fn modes(text: &str) -> Result<Modes, &'static str> {
    let found = text.strip_prefix("found:").and_then(|k| k.parse().ok()).filter(|k| (1..=64).contains(k));
    match (text, found) {
        ("known", _) => Ok(Modes::Known),
        ("constants", _) => Ok(Modes::Constants),
        (_, Some(k)) => Ok(Modes::Found(k)),
        _ => Err("expected known, constants, or found:K with K from 1 to 64"),
    }
}

impl Aggregation {
    /// Whether the cycle is not a linear map and needs a flexible method.
    pub(crate) fn varies(&self) -> bool {
        self.sa_cycle == Some(Cycle::K)
    }

    /// The parameters.
    pub(crate) fn parameters(&self) -> Multigrid<SmoothedAggregation> {
        let mut parameters = smoothed_aggregation();
        let coarsening = &mut parameters.coarsening;
        if let Some(theta) = self.sa_theta {
            coarsening.strength = Strength::SpectralRadius { theta };
        }
        coarsening.spread = match self.sa_spread {
            None => coarsening.spread,
            Some(1) => Spread::Neighbours,
            Some(_) => Spread::Second,
        };
        coarsening.modes = self.sa_modes.unwrap_or(Modes::Known);
        parameters.cycle = self.sa_cycle.unwrap_or(parameters.cycle);
        parameters.smoothing = self.sa_smoother.unwrap_or(parameters.smoothing);
        parameters.levels = self.sa_levels.map_or(parameters.levels, |n| n as usize);
        parameters.coarse_size = self.sa_coarse_size.unwrap_or(parameters.coarse_size);
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_library_default_is_used() {
        assert_eq!(Aggregation::default().parameters(), smoothed_aggregation());
    }

    #[test]
    fn modes_are_words() {
        assert_eq!(modes("found:7"), Ok(Modes::Found(7)));
        for bad in ["found:0", "found:", "found", "rigid", ""] {
            assert!(modes(bad).is_err(), "{bad}");
        }
    }
}
