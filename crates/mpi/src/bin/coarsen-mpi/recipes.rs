//! The options of `--precond sa` and `--precond mas`, and the recipes made from them; those of `coarsen` that hold over ranks.

use clap::{Args, ValueEnum};
use coarsen_distributed_solvers::{DistMultigrid, DistSchwarz};
use coarsen_schwarz::{Arithmetic, Coupling, Storage};
use coarsen_smoothed_aggregation::Spread;
use coarsen_sparse::Strength;
use serde::Serialize;

use crate::arguments::{Precond, Solve, name};
use crate::failure::Failure;

/// Options of smoothed aggregation; `None` means the default of the library.
#[derive(Clone, Debug, Args, Serialize)]
#[command(next_help_heading = "Smoothed aggregation")]
pub(crate) struct Aggregation {
    /// Couplings below this share of the strongest of their row are weak [default: 0.48]
    #[arg(long, value_name = "F", value_parser = share, allow_negative_numbers = true)]
    sa_theta: Option<f64>,
    /// Radius of aggregates, in strong couplings [default: 1]
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u32).range(1..=2))]
    sa_spread: Option<u32>,
    /// Maximum number of levels [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    sa_levels: Option<u32>,
    /// Unknowns up to which a level is gathered on one rank [default: 1000]
    #[arg(long, value_name = "N")]
    sa_gather: Option<usize>,
}

/// Options of multilevel additive Schwarz; `None` means the default of the library.
#[derive(Clone, Debug, Args, Serialize)]
#[command(next_help_heading = "Multilevel additive Schwarz")]
pub(crate) struct Domains {
    /// Maximum number of nodes in a domain, of at most 1024 unknowns in all [default: 32]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(2..=1024))]
    mas_domain: Option<u32>,
    /// Maximum number of levels with domains [default: 8]
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..=64))]
    mas_levels: Option<u32>,
    /// Grow along couplings above this fraction of the strongest [default: 0.25]
    #[arg(long, value_name = "F", value_parser = share, allow_negative_numbers = true)]
    mas_coupling: Option<f64>,
    /// Precision of the inverses [default: mixed]
    #[arg(long, value_enum)]
    mas_precision: Option<PrecisionName>,
    /// Unknowns up to which a level is gathered on one rank [default: 40000]
    #[arg(long, value_name = "N")]
    mas_gather: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PrecisionName {
    /// 32 bits
    F32,
    /// Computed in 64 bits, stored in 32
    Mixed,
    /// 64 bits
    F64,
}

impl Aggregation {
    pub(crate) fn recipe(&self) -> DistMultigrid {
        let mut recipe = DistMultigrid::default();
        let multigrid = &mut recipe.multigrid;
        if let Some(theta) = self.sa_theta {
            multigrid.coarsening.strength = Strength::SpectralRadius { theta };
        }
        multigrid.coarsening.spread = match self.sa_spread {
            None => multigrid.coarsening.spread,
            Some(1) => Spread::Neighbours,
            Some(_) => Spread::Second,
        };
        multigrid.levels = self.sa_levels.map_or(multigrid.levels, |n| n as usize);
        recipe.gather_below = self.sa_gather.unwrap_or(recipe.gather_below);
        recipe
    }

    /// The first option that is given.
    fn first(&self) -> Option<&'static str> {
        let given = [
            ("--sa-theta", self.sa_theta.is_some()),
            ("--sa-spread", self.sa_spread.is_some()),
            ("--sa-levels", self.sa_levels.is_some()),
            ("--sa-gather", self.sa_gather.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

impl Domains {
    pub(crate) fn recipe(&self) -> DistSchwarz {
        let mut recipe = DistSchwarz::default();
        let schwarz = &mut recipe.schwarz;
        schwarz.domain = self.mas_domain.map_or(schwarz.domain, |m| m as usize);
        schwarz.levels = self.mas_levels.map_or(schwarz.levels, |l| l as usize);
        schwarz.coupling = self.mas_coupling.map_or(schwarz.coupling, |theta| Coupling::Strength { theta });
        (schwarz.storage, schwarz.arithmetic) = match self.mas_precision {
            None => (schwarz.storage, schwarz.arithmetic),
            Some(PrecisionName::F32) => (Storage::Single, Arithmetic::Single),
            Some(PrecisionName::Mixed) => (Storage::Single, Arithmetic::Double),
            Some(PrecisionName::F64) => (Storage::Double, Arithmetic::Double),
        };
        recipe.gather_below = self.mas_gather.unwrap_or(recipe.gather_below);
        recipe
    }

    /// The first option that is given.
    fn first(&self) -> Option<&'static str> {
        let given = [
            ("--mas-domain", self.mas_domain.is_some()),
            ("--mas-levels", self.mas_levels.is_some()),
            ("--mas-coupling", self.mas_coupling.is_some()),
            ("--mas-precision", self.mas_precision.is_some()),
            ("--mas-gather", self.mas_gather.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// Refuses options of another preconditioner.
pub(crate) fn check(options: &Solve) -> Result<(), Failure> {
    let of_sa = options.aggregation.first().map(|option| (option, Precond::Sa));
    let of_mas = options.domains.first().map(|option| (option, Precond::Mas));
    match of_sa.into_iter().chain(of_mas).find(|(_, of)| *of != options.precond) {
        Some((option, of)) => Err(Failure::Unused { option, of: name(of), precond: name(options.precond) }),
        None => Ok(()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(f) if (0.0..1.0).contains(&f) => Ok(f),
        _ => Err("expected 0 or more and less than 1".to_owned()),
    }
}
