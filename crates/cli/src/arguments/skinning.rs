//! The options of `--precond skinning`, and the recipe made from them.

use clap::{Args, ValueEnum};
use coarsen::multigrid::Multigrid;
use coarsen::skinning::{Sampling, Skinning};
use coarsen::skinning::{skinning, skinning_levels};
use serde::Serialize;

/// Options of skinning-space multigrid; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args, Serialize)]
#[command(next_help_heading = "Skinning-space multigrid")]
pub(crate) struct Sampled {
    /// Number of handles of each level, from fine to coarse, as 1000,50 [default: a handle for 80 nodes, then
    /// for 8 handles]
    #[arg(long, value_name = "K,K,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) skinning_handles: Option<Vec<u32>>,
    /// The metric in which handles are far from each other [default: uniform]
    #[arg(long, value_enum)]
    pub(crate) skinning_sampling: Option<SamplingName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SamplingName {
    /// Lengths of edges
    Uniform,
    /// Lengths of edges, longer where the coupling is weak
    Stiffness,
}

impl Sampled {
    /// The recipe.
    pub(crate) fn recipe(&self) -> Multigrid<Skinning> {
        let mut recipe = match &self.skinning_handles {
            None => skinning(),
            Some(counts) => skinning_levels(&counts.iter().map(|&k| k as usize).collect::<Vec<_>>()),
        };
        if self.skinning_sampling == Some(SamplingName::Stiffness) {
            recipe.coarsening.sampling = Sampling::Stiffness;
        }
        recipe
    }

    /// The given options, as on the command line.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let list = |counts: &Vec<u32>| counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let words = [
            ("--skinning-handles", self.skinning_handles.as_ref().map(list)),
            ("--skinning-sampling", self.skinning_sampling.map(super::names::name)),
        ];
        words.into_iter().filter_map(|(option, value)| value.map(|value| (option, value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_command_line() {
        assert_eq!(Sampled::default().recipe(), skinning());
        assert!(Sampled::default().words().is_empty());
        let given = Sampled {
            skinning_handles: Some(vec![100, 10]),
            skinning_sampling: Some(SamplingName::Stiffness),
        };
        assert_eq!(given.recipe().coarsening.handles, [100, 10]);
        let words = [("--skinning-handles", "100,10".into()), ("--skinning-sampling", "stiffness".into())];
        assert_eq!(given.words(), words);
    }
}
