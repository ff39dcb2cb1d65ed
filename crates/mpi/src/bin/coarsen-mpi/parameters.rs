//! The options of `--precond sa` and `--precond mas`, and the parameters made from them; those of `coarsen` that hold over ranks.

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
    pub(crate) fn parameters(&self) -> DistMultigrid {
        let mut parameters = DistMultigrid::default();
        let multigrid = &mut parameters.multigrid;
        if let Some(theta) = self.sa_theta {
            multigrid.coarsening.strength = Strength::SpectralRadius { theta };
        }
        multigrid.coarsening.spread = match self.sa_spread {
            None => multigrid.coarsening.spread,
            Some(1) => Spread::Neighbours,
            Some(_) => Spread::Second,
        };
        multigrid.levels = self.sa_levels.map_or(multigrid.levels, |n| n as usize);
        parameters.gather_below = self.sa_gather.unwrap_or(parameters.gather_below);
        parameters
    }
}

impl Domains {
    pub(crate) fn parameters(&self) -> DistSchwarz {
        let mut parameters = DistSchwarz::default();
        let schwarz = &mut parameters.schwarz;
        schwarz.domain = self.mas_domain.map_or(schwarz.domain, |m| m as usize);
        schwarz.levels = self.mas_levels.map_or(schwarz.levels, |l| l as usize);
        schwarz.coupling = self.mas_coupling.map_or(schwarz.coupling, |theta| Coupling::Strength { theta });
        (schwarz.storage, schwarz.arithmetic) = match self.mas_precision {
            None => (schwarz.storage, schwarz.arithmetic),
            Some(PrecisionName::F32) => (Storage::Single, Arithmetic::Single),
            Some(PrecisionName::Mixed) => (Storage::Single, Arithmetic::Double),
            Some(PrecisionName::F64) => (Storage::Double, Arithmetic::Double),
        };
        parameters.gather_below = self.mas_gather.unwrap_or(parameters.gather_below);
        parameters
    }
}

/// Refuses options of another preconditioner.
pub(crate) fn check(options: &Solve) -> Result<(), Failure> {
    let of_sa = first(&options.aggregation).map(|option| (option, Precond::Sa));
    let of_mas = first(&options.domains).map(|option| (option, Precond::Mas));
    match of_sa.into_iter().chain(of_mas).find(|(_, of)| *of != options.precond) {
        Some((option, of)) => {
            let (of, precond) = (name(of), name(options.precond));
            let what =
                format!("{option} is an option of --precond {of}, and the preconditioner is {precond}");
            Err(Failure::Usage(format!("{what}; give --precond {of}")))
        }
        None => Ok(()),
    }
}

/// The first option of a group that is given.
fn first(options: &impl Serialize) -> Option<String> {
    let fields = serde_json::to_value(options).ok()?;
    let (name, _) = fields.as_object()?.iter().find(|(_, value)| !value.is_null())?;
    Some(format!("--{}", name.replace('_', "-")))
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(f) if (0.0..1.0).contains(&f) => Ok(f),
        _ => Err("expected 0 or more and less than 1".to_owned()),
    }
}
