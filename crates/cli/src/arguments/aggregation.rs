//! The options of `--precond sa`, and the recipe made from them.

use coarsen::smoothed_aggregation::{smoothed_aggregation, tamstorf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use coarsen::multigrid::{Cycle, Multigrid, Smoothing};
use coarsen::relax::{DampedJacobi, GaussSeidel, Spai0};
use coarsen::smoothed_aggregation::{Modes, SmoothedAggregation, Spread};
use coarsen::sparse::Strength;
use serde::Serialize;

use super::value::share;

/// Options of smoothed aggregation; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args, Serialize)]
#[command(next_help_heading = "Smoothed aggregation")]
pub(crate) struct Aggregation {
    /// Couplings below this share of the strongest of their row are weak [default: 0.48]
    #[arg(long, value_name = "F", value_parser = share, allow_negative_numbers = true)]
    pub(crate) sa_theta: Option<f64>,
    /// Multigrid cycle [default: v]
    #[arg(long, value_enum)]
    pub(crate) sa_cycle: Option<CycleName>,
    /// Smoother of each level [default: on a CPU, jacobi for scalars and gs for most symmetric matrices of
    /// 2x2, 3x3 or 6x6 blocks; otherwise chebyshev]
    #[arg(long, value_enum)]
    pub(crate) sa_smoother: Option<SmootherName>,
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
    /// Near-kernel: `known` (the given vectors, otherwise rigid-body modes or constants, scaled like the
    /// matrix), `constants`, or K vectors computed by relaxation [default: known]
    #[arg(long, value_name = "known|constants|found:K")]
    pub(crate) sa_modes: Option<ModesName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CycleName {
    /// Each level once
    V,
    /// Each coarser level twice at each visit
    W,
    /// V-cycle, F-cycle, V-cycle at each visit
    F,
    /// Two flexible conjugate gradient steps on each coarser level; needs the method fcg
    K,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SmootherName {
    /// A Chebyshev polynomial of degree 2
    Chebyshev,
    /// Gauss-Seidel, forward as pre-smoothing and backward as post-smoothing
    Gs,
    /// Block Jacobi, with an estimated damping factor
    Jacobi,
    /// SPAI-0, with an estimated damping factor
    Spai0,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModesName {
    Known,
    Constants,
    Found(usize),
}

impl FromStr for ModesName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = text.strip_prefix("found:").and_then(|k| k.parse().ok()).filter(|k| (1..=64).contains(k));
        match (text, found) {
            ("known", _) => Ok(Self::Known),
            ("constants", _) => Ok(Self::Constants),
            (_, Some(k)) => Ok(Self::Found(k)),
            _ => Err("expected known, constants, or found:K with K from 1 to 64".to_owned()),
        }
    }
}

impl Aggregation {
    /// Whether the cycle is not a linear map and needs a flexible method.
    pub(crate) fn varies(&self) -> bool {
        self.sa_cycle == Some(CycleName::K)
    }

    /// The recipe.
    pub(crate) fn recipe(&self) -> Multigrid<SmoothedAggregation> {
        let mut recipe = smoothed_aggregation();
        if let Some(theta) = self.sa_theta {
            recipe.coarsening.strength = Strength::SpectralRadius { theta };
        }
        recipe.cycle = match self.sa_cycle {
            None => recipe.cycle,
            Some(CycleName::V) => Cycle::V,
            Some(CycleName::W) => Cycle::W,
            Some(CycleName::F) => Cycle::F,
            Some(CycleName::K) => Cycle::K,
        };
        recipe.smoothing = match self.sa_smoother {
            None => recipe.smoothing,
            Some(SmootherName::Chebyshev) => tamstorf().smoothing,
            Some(SmootherName::Gs) => Smoothing::GaussSeidel(GaussSeidel::default()),
            Some(SmootherName::Jacobi) => Smoothing::DampedJacobi(DampedJacobi::default()),
            Some(SmootherName::Spai0) => Smoothing::Spai0(Spai0::default()),
        };
        recipe.coarsening.spread = match self.sa_spread {
            None => recipe.coarsening.spread,
            Some(1) => Spread::Neighbours,
            Some(_) => Spread::Second,
        };
        recipe.levels = self.sa_levels.map_or(recipe.levels, |n| n as usize);
        recipe.coarse_size = self.sa_coarse_size.unwrap_or(recipe.coarse_size);
        recipe.coarsening.modes = match self.sa_modes {
            None | Some(ModesName::Known) => Modes::Known,
            Some(ModesName::Constants) => Modes::Constants,
            Some(ModesName::Found(k)) => Modes::Found(k),
        };
        recipe
    }

    /// The given options, as on the command line.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let modes = |modes: ModesName| match modes {
            ModesName::Known => "known".to_owned(),
            ModesName::Constants => "constants".to_owned(),
            ModesName::Found(k) => format!("found:{k}"),
        };
        let words = [
            ("--sa-theta", self.sa_theta.map(|v| v.to_string())),
            ("--sa-cycle", self.sa_cycle.map(super::names::name)),
            ("--sa-smoother", self.sa_smoother.map(super::names::name)),
            ("--sa-spread", self.sa_spread.map(|v| v.to_string())),
            ("--sa-levels", self.sa_levels.map(|v| v.to_string())),
            ("--sa-coarse-size", self.sa_coarse_size.map(|v| v.to_string())),
            ("--sa-modes", self.sa_modes.map(modes)),
        ];
        words.into_iter().filter_map(|(option, value)| value.map(|value| (option, value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_library_default_is_used() {
        assert_eq!(Aggregation::default().recipe(), smoothed_aggregation());
        assert!(Aggregation::default().words().is_empty());
    }

    #[test]
    fn modes_are_words() {
        assert_eq!("found:7".parse(), Ok(ModesName::Found(7)));
        for bad in ["found:0", "found:", "found", "rigid", ""] {
            assert!(bad.parse::<ModesName>().is_err(), "{bad}");
        }
    }
}
