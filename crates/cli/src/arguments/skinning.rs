//! The options of `--precond skinning`, and the parameters made from them.

use clap::Args;
use coarsen::multigrid::Multigrid;
use coarsen::skinning::{Sampling, Skinning};
use coarsen::skinning::{skinning, skinning_levels};

use super::value::named;

/// Options of skinning-space multigrid; `None` means the default of the library.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Skinning-space multigrid")]
pub(crate) struct ControlPoints {
    /// Number of control points (handles of the paper) of each level, from fine to coarse, as 1000,50 [default: one for
    /// 80 nodes, then one for 8 of these]
    #[arg(long, alias = "skinning-handles", value_name = "K,K,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) skinning_control_points: Option<Vec<u32>>,
    /// The metric in which control points are far from each other [default: uniform]
    #[arg(long, value_parser = named([
        ("uniform", "Lengths of edges", Sampling::Uniform),
        ("stiffness", "Lengths of edges, longer where the coupling is weak", Sampling::Stiffness),
    ]))]
    pub(crate) skinning_sampling: Option<Sampling>,
}

impl ControlPoints {
    /// The parameters.
    pub(crate) fn parameters(&self) -> Multigrid<Skinning> {
        let mut parameters = match &self.skinning_control_points {
            None => skinning(),
            Some(counts) => skinning_levels(&counts.iter().map(|&k| k as usize).collect::<Vec<_>>()),
        };
        parameters.coarsening.sampling = self.skinning_sampling.unwrap_or(parameters.coarsening.sampling);
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_change_the_defaults_of_the_library() {
        assert_eq!(ControlPoints::default().parameters(), skinning());
        let given = ControlPoints {
            skinning_control_points: Some(vec![100, 10]),
            skinning_sampling: Some(Sampling::Stiffness),
        };
        assert_eq!(given.parameters().coarsening.control_points, [100, 10]);
        assert_eq!(given.parameters().coarsening.sampling, Sampling::Stiffness);
    }
}
