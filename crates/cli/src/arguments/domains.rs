//! The options of `--precond mas`, and the parameters made from them.

use clap::{Args, ValueEnum};
use coarsen::OverDomains;
use coarsen::multigrid::Multigrid;
use coarsen::schwarz::{Arithmetic, Coarse, Coupling, DampedDomains, Order, Schwarz, Storage, Weights};
use coarsen::smoothed_aggregation::SmoothedAggregation;

use super::value::{named, share};
use crate::error::Failure;

const DOUBLE: (Storage, Arithmetic) = (Storage::Double, Arithmetic::Double);

/// Options of multilevel additive Schwarz; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Multilevel additive Schwarz")]
pub(crate) struct Domains {
    /// Maximum number of nodes in a domain, of at most 1024 unknowns in all [default: 32]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub(crate) mas_domain: Option<u32>,
    /// Maximum number of levels with domains [default: 8]
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) mas_levels: Option<u32>,
    /// Solve the finest level that has at most N unknowns exactly, as one system; 0 divides every level into
    /// domains; not with --mas-coarse [default: the finest level with a small factor]
    #[arg(long, value_name = "N")]
    pub(crate) mas_exact: Option<usize>,
    /// Coarse levels: domains, a factor, or smoothed aggregation [default: a factor if it is small, otherwise
    /// domains]
    #[arg(long, value_enum, conflicts_with = "mas_exact")]
    pub(crate) mas_coarse: Option<CoarseName>,
    /// Combine the levels multiplicatively and not additively; not with --mas-exact or --mas-coarse
    #[arg(long, conflicts_with_all = ["mas_exact", "mas_coarse"])]
    pub(crate) mas_hybrid: bool,
    /// Coarse unknowns of each domain, for additive levels [default: constants]
    #[arg(long, value_enum, conflicts_with_all = ["mas_hybrid", "mas_exact", "mas_coarse", "mas_weights"])]
    pub(crate) mas_modes: Option<ModesName>,
    /// Weights of the levels [default: ones]
    #[arg(long, conflicts_with = "mas_hybrid", value_parser = named([
        ("ones", "1 on each level", Weights::Ones),
        ("energy", "Weights that minimise e^T A e, with the error e", Weights::Energy),
    ]))]
    pub(crate) mas_weights: Option<Weights>,
    /// Order of the nodes from which domains grow [default: auto]
    #[arg(long, value_parser = named([
        ("auto", "Morton order if there are coordinates, otherwise Cuthill-McKee order", Order::Auto),
        ("curve", "Morton order of the coordinates", Order::Curve),
        ("graph", "Cuthill-McKee order", Order::Graph),
        ("strong", "Cuthill-McKee order of the strong couplings", Order::Strong),
        ("natural", "The given order", Order::Natural),
    ]))]
    pub(crate) mas_order: Option<Order>,
    /// Grow along couplings above this fraction of the strongest, or along all couplings [default: 0.25]
    #[arg(long, value_name = "F|adjacency", value_parser = coupling, allow_negative_numbers = true)]
    pub(crate) mas_coupling: Option<Coupling>,
    /// Precision of the inverses [default: mixed; f64 if --precision is f64]
    #[arg(long, value_parser = named([
        ("f32", "32 bits", (Storage::Single, Arithmetic::Single)),
        ("mixed", "Computed in 64 bits, stored in 32", (Storage::Single, Arithmetic::Double)),
        ("f64", "64 bits", DOUBLE),
    ]))]
    pub(crate) mas_precision: Option<(Storage, Arithmetic)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoarseName {
    /// A factor if it is small, otherwise domains
    Auto,
    /// Domains on every level
    Domains,
    /// A sparse factor on the finest level with at most 60000 unknowns
    Exact,
    /// Smoothed aggregation below domains on the finest level, multiplicative
    Sa,
}

/// The form that the options select.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// Additive levels.
    Additive(Schwarz),
    /// Multiplicative levels.
    Multiplicative(Box<Multigrid<SmoothedAggregation, OverDomains>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModesName {
    /// One value for each unknown of a node
    Constants,
    /// Rigid-body modes
    Rigid,
}

fn coupling(text: &str) -> Result<Coupling, String> {
    match text {
        "adjacency" => Ok(Coupling::Adjacency),
        _ => share(text).map(|theta| Coupling::Strength { theta }),
    }
}

/// The number of unknowns up to which `--mas-coarse exact` solves a level as one system.
const EXACT: usize = 60_000;

impl Domains {
    /// The parameters; inverses are stored in f64 by default if `double`.
    pub(crate) fn parameters(&self, double: bool) -> Form {
        let over = match (self.mas_hybrid, self.mas_coarse) {
            (true, _) => OverDomains::hybrid(),
            (false, Some(CoarseName::Sa)) => OverDomains::multiplicative(),
            (false, _) if self.mas_modes == Some(ModesName::Rigid) => OverDomains::additive(),
            _ => return Form::Additive(self.schwarz(Schwarz::multilevel(), double)),
        };
        let OverDomains { domains, levels, below } = over.smoothing;
        let schwarz = self.schwarz(domains.schwarz, double);
        let levels = self.mas_levels.map_or(levels, |l| l as usize);
        let smoothing = OverDomains { domains: DampedDomains { schwarz, ..domains }, levels, below };
        Form::Multiplicative(Box::new(Multigrid { smoothing, ..over }))
    }

    /// Rejects weights for multiplicative levels.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match (self.mas_coarse, self.mas_weights) {
            (Some(CoarseName::Sa), Some(Weights::Energy)) => Err(Failure::usage(
                "--mas-weights energy needs additive levels, and with --mas-coarse sa levels are multiplicative; leave one of the \
                 two out",
            )),
            _ => Ok(()),
        }
    }

    /// The domains.
    fn schwarz(&self, mut parameters: Schwarz, double: bool) -> Schwarz {
        parameters.domain = self.mas_domain.map_or(parameters.domain, |m| m as usize);
        parameters.levels = self.mas_levels.map_or(parameters.levels, |l| l as usize);
        parameters.coarse = match (self.mas_exact, self.mas_coarse) {
            (Some(0), _) | (None, Some(CoarseName::Domains)) => Coarse::Domains,
            (Some(unknowns), _) => Coarse::Exact { unknowns },
            (None, Some(CoarseName::Exact)) => Coarse::Exact { unknowns: EXACT },
            (None, _) => parameters.coarse,
        };
        parameters.weights = self.mas_weights.unwrap_or(parameters.weights);
        parameters.order = self.mas_order.unwrap_or(parameters.order);
        parameters.coupling = self.mas_coupling.unwrap_or(parameters.coupling);
        let precision = self.mas_precision.or(double.then_some(DOUBLE));
        (parameters.storage, parameters.arithmetic) =
            precision.unwrap_or((parameters.storage, parameters.arithmetic));
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_library_default_is_used() {
        assert_eq!(Domains::default().parameters(false), Form::Additive(Schwarz::multilevel()));
        assert_eq!(coupling("adjacency"), Ok(Coupling::Adjacency));
        assert!(coupling("1.5").is_err() && coupling("weak").is_err());
    }

    #[test]
    fn the_option_of_the_inverses_comes_before_the_precision_of_the_solve() {
        let storage = |given: &Domains, double| match given.parameters(double) {
            Form::Additive(schwarz) => schwarz.storage,
            Form::Multiplicative(parameters) => parameters.smoothing.domains.schwarz.storage,
        };
        for mas_coarse in [None, Some(CoarseName::Sa)] {
            let given = Domains { mas_coarse, ..Domains::default() };
            assert_eq!(
                [false, true].map(|double| storage(&given, double)),
                [Storage::Single, Storage::Double]
            );
            let mixed = Domains { mas_precision: Some((Storage::Single, Arithmetic::Double)), ..given };
            assert_eq!(storage(&mixed, true), Storage::Single);
        }
    }
}
