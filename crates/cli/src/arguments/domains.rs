//! The options of `--precond mas`, and the recipe made from them.

use clap::{Args, ValueEnum};
use coarsen::OverDomains;
use coarsen::multigrid::Multigrid;
use coarsen::schwarz::{Arithmetic, Coarse, Coupling, DampedDomains, Order, Schwarz, Storage, Weights};
use coarsen::smoothed_aggregation::SmoothedAggregation;
use serde::Serialize;

use crate::error::Failure;

/// Options of multilevel additive Schwarz; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args, Serialize)]
#[command(next_help_heading = "Multilevel additive Schwarz")]
pub(crate) struct Domains {
    /// Maximum number of nodes in a domain, of at most 1024 unknowns in all [default: 32]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub(crate) mas_domain: Option<u32>,
    /// Maximum number of levels with domains [default: 8]
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) mas_levels: Option<u32>,
    /// Solve the first level of at most N unknowns exactly, as one system; 0 divides every level into domains
    /// [default: the first level with a small factor]
    #[arg(long, value_name = "N")]
    pub(crate) mas_exact: Option<usize>,
    /// Coarse levels: domains, a factor, or smoothed aggregation [default: a factor if it is small, otherwise
    /// domains]
    #[arg(long, value_enum, conflicts_with = "mas_exact")]
    pub(crate) mas_coarse: Option<CoarseName>,
    /// Combine the levels multiplicatively and not additively
    #[arg(long, conflicts_with_all = ["mas_exact", "mas_coarse"])]
    pub(crate) mas_hybrid: bool,
    /// Coarse unknowns of a supernode, for additive levels [default: constants]
    #[arg(long, value_enum, conflicts_with_all = ["mas_hybrid", "mas_exact", "mas_coarse", "mas_weights"])]
    pub(crate) mas_modes: Option<ModesName>,
    /// Weights of the levels [default: ones]
    #[arg(long, value_enum, conflicts_with = "mas_hybrid")]
    pub(crate) mas_weights: Option<WeightsName>,
    /// Order of the nodes from which domains grow [default: auto]
    #[arg(long, value_enum)]
    pub(crate) mas_order: Option<OrderName>,
    /// Grow along couplings above this fraction of the strongest, or along all couplings [default: 0.25]
    #[arg(long, value_name = "F|adjacency", value_parser = coupling, allow_negative_numbers = true)]
    pub(crate) mas_coupling: Option<CouplingName>,
    /// Precision of the inverses [default: mixed, with --precision f64 f64]
    #[arg(long, value_enum)]
    pub(crate) mas_precision: Option<PrecisionName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CoarseName {
    /// A factor if it is small, otherwise domains
    Auto,
    /// Domains on every level
    Domains,
    /// A sparse factor on the first level with at most 60000 unknowns
    Exact,
    /// Smoothed aggregation, multiplicative
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OrderName {
    /// Morton order if there are coordinates, otherwise Cuthill-McKee order
    Auto,
    /// Morton order of the coordinates
    Curve,
    /// Cuthill-McKee order
    Graph,
    /// Cuthill-McKee order of the strong couplings
    Strong,
    /// The given order
    Natural,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModesName {
    /// One value for each unknown of a node
    Constants,
    /// Rigid-body modes
    Rigid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WeightsName {
    /// 1 on each level
    Ones,
    /// Weights that minimise the energy of the error
    Energy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PrecisionName {
    /// 32 bits
    F32,
    /// Computed in 64 bits, stored in 32
    Mixed,
    /// 64 bits
    F64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CouplingName {
    Adjacency,
    Strength(f64),
}

fn coupling(text: &str) -> Result<CouplingName, String> {
    if text == "adjacency" {
        return Ok(CouplingName::Adjacency);
    }
    super::value::share(text).map(CouplingName::Strength)
}

/// The number of unknowns up to which `--mas-coarse exact` solves a level as one system.
const EXACT: usize = 60_000;

impl Domains {
    /// The recipe; inverses are stored in f64 by default if `double`.
    pub(crate) fn recipe(&self, double: bool) -> Form {
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
            (Some(CoarseName::Sa), Some(WeightsName::Energy)) => Err(Failure::NothingAdded),
            _ => Ok(()),
        }
    }

    /// Multilevel Schwarz below one level of smoothed aggregation.
    pub(crate) fn over(double: bool) -> Form {
        Self { mas_coarse: Some(CoarseName::Sa), ..Self::default() }.recipe(double)
    }

    /// The domains.
    fn schwarz(&self, mut recipe: Schwarz, double: bool) -> Schwarz {
        recipe.domain = self.mas_domain.map_or(recipe.domain, |m| m as usize);
        recipe.levels = self.mas_levels.map_or(recipe.levels, |l| l as usize);
        recipe.coarse = match (self.mas_exact, self.mas_coarse) {
            (Some(0), _) | (None, Some(CoarseName::Domains)) => Coarse::Domains,
            (Some(unknowns), _) => Coarse::Exact { unknowns },
            (None, Some(CoarseName::Exact)) => Coarse::Exact { unknowns: EXACT },
            (None, _) => recipe.coarse,
        };
        recipe.weights = match self.mas_weights {
            None => recipe.weights,
            Some(WeightsName::Ones) => Weights::Ones,
            Some(WeightsName::Energy) => Weights::Energy,
        };
        recipe.order = match self.mas_order {
            None => recipe.order,
            Some(OrderName::Auto) => Order::Auto,
            Some(OrderName::Curve) => Order::Curve,
            Some(OrderName::Graph) => Order::Graph,
            Some(OrderName::Strong) => Order::Strong,
            Some(OrderName::Natural) => Order::Natural,
        };
        recipe.coupling = match self.mas_coupling {
            None => recipe.coupling,
            Some(CouplingName::Adjacency) => Coupling::Adjacency,
            Some(CouplingName::Strength(theta)) => Coupling::Strength { theta },
        };
        (recipe.storage, recipe.arithmetic) =
            match self.mas_precision.or(double.then_some(PrecisionName::F64)) {
                None => (recipe.storage, recipe.arithmetic),
                Some(PrecisionName::F32) => (Storage::Single, Arithmetic::Single),
                Some(PrecisionName::Mixed) => (Storage::Single, Arithmetic::Double),
                Some(PrecisionName::F64) => (Storage::Double, Arithmetic::Double),
            };
        recipe
    }

    /// The given options, as on the command line.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let words = [
            ("--mas-domain", self.mas_domain.map(|v| v.to_string())),
            ("--mas-levels", self.mas_levels.map(|v| v.to_string())),
            ("--mas-exact", self.mas_exact.map(|v| v.to_string())),
            ("--mas-coarse", self.mas_coarse.map(super::names::name)),
            ("--mas-hybrid", self.mas_hybrid.then(String::new)),
            ("--mas-modes", self.mas_modes.map(super::names::name)),
            ("--mas-weights", self.mas_weights.map(super::names::name)),
            ("--mas-order", self.mas_order.map(super::names::name)),
            (
                "--mas-coupling",
                self.mas_coupling.map(|coupling| match coupling {
                    CouplingName::Adjacency => "adjacency".to_owned(),
                    CouplingName::Strength(theta) => theta.to_string(),
                }),
            ),
            ("--mas-precision", self.mas_precision.map(super::names::name)),
        ];
        words.into_iter().filter_map(|(option, value)| value.map(|value| (option, value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_library_default_is_used() {
        assert_eq!(Domains::default().recipe(false), Form::Additive(Schwarz::multilevel()));
        assert_eq!(Domains::over(false), Form::Multiplicative(Box::new(OverDomains::multiplicative())));
        assert!(Domains::default().words().is_empty());
        assert_eq!(coupling("adjacency"), Ok(CouplingName::Adjacency));
        assert!(coupling("1.5").is_err() && coupling("weak").is_err());
    }

    #[test]
    fn the_option_of_the_inverses_comes_before_the_precision_of_the_solve() {
        let storage = |given: &Domains, double| match given.recipe(double) {
            Form::Additive(schwarz) => schwarz.storage,
            Form::Multiplicative(recipe) => recipe.smoothing.domains.schwarz.storage,
        };
        for mas_coarse in [None, Some(CoarseName::Sa)] {
            let given = Domains { mas_coarse, ..Domains::default() };
            assert_eq!(
                [false, true].map(|double| storage(&given, double)),
                [Storage::Single, Storage::Double]
            );
            let mixed = Domains { mas_precision: Some(PrecisionName::Mixed), ..given };
            assert_eq!(storage(&mixed, true), Storage::Single);
        }
    }
}
