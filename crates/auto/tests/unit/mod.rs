//! Tests of the parts that are not public: the bound, the rule of a factor, forecasts, the sample and the plan.

mod bound;
mod plan;
mod problem;
mod sample;
mod schedule;

use coarsen_sparse::Bsr;

use crate::cost::Costs;
use crate::plan::{FactorCost, Plan};
use crate::{Auto, Method, Precond};

/// A plan with these candidates.
fn plan_of(auto: Auto, candidates: &[(Method, Precond)], symmetric: bool) -> Plan {
    let costs = Costs::of(&Bsr::identity(1000, 1).unwrap(), true);
    Plan {
        candidates: candidates.to_vec(),
        auto,
        costs,
        factor: FactorCost::Estimated {
            ordering: costs.ordering(),
            least: costs.least(),
            total: costs.direct(),
        },
        factor_first: false,
        negate: false,
        symmetric,
        unconstrained: false,
        matrix: String::new(),
    }
}
