//! The printed table of levels.

use std::fmt;

use coarsen_core::Real;

use crate::backend::SchwarzBackend;
use crate::options::Repair;
use crate::plan::Plan;
use crate::schwarz::Schwarz;
use crate::subdomains::{Seconds, Subdomains};

/// What is printed if a rebuild has used the positions of an earlier build.
pub(crate) const EARLIER_POSITIONS: &str = "positions of an earlier build, because the last build had none";

/// What is printed of multilevel domains. It has no type parameters, so that its formatting is compiled once.
struct Table<'a> {
    parameters: &'a Schwarz,
    plan: &'a Plan,
    bytes: usize,
    repairs: Vec<(usize, usize, Repair)>,
    /// The shift of the factor of the top level, if there is one.
    shift: Option<f64>,
    weights: &'a [f64],
    age: usize,
    earlier: bool,
    seconds: Seconds,
}

impl<T: Real, B: SchwarzBackend> fmt::Display for Subdomains<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = Table {
            parameters: self.parameters(),
            plan: self.plan(),
            bytes: self.bytes(),
            repairs: self.repairs().collect(),
            shift: self.top.as_ref().map(|top| top.shift()),
            weights: &self.weights,
            age: self.age(),
            earlier: self.earlier,
            seconds: self.seconds,
        };
        table.fmt(f)
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "multilevel additive schwarz, domains of {} nodes, {} {}, {} {} left out, {:.1} MiB",
            self.parameters.domain,
            plan.levels(),
            if plan.levels() == 1 { "level" } else { "levels" },
            plan.left_out().len(),
            if plan.left_out().len() == 1 { "node" } else { "nodes" },
            mib(self.bytes)
        )?;
        writeln!(
            f,
            "{:>5} {:>9} {:>9} {:>10} {:>9} {:>9}",
            "level", "nodes", "domains", "a domain", "shifted", "diagonal"
        )?;
        for level in 0..plan.levels() {
            let count = plan.domains(level);
            let nodes: usize = (0..count).map(|d| plan.members(level, d).len()).sum();
            let repaired = |what| self.repairs.iter().filter(|r| r.0 == level && r.2 == what).count();
            writeln!(
                f,
                "{level:>5} {:>9} {count:>9} {:>10.1} {:>9} {:>9}",
                plan.nodes(level),
                nodes as f64 / count.max(1) as f64,
                repaired(Repair::Shifted),
                repaired(Repair::BlockDiagonal)
            )?;
        }
        if let Some(shift) = self.shift {
            let shifted = if shift > 0.0 { ", shifted" } else { "" };
            writeln!(f, "{:>5} {:>9}  solved by a factor{shifted}", plan.levels(), plan.top_nodes())?;
        }
        if self.weights.iter().any(|&w| w != 1.0) {
            let weights: Vec<String> = self.weights.iter().map(|w| format!("{w:.3}")).collect();
            writeln!(f, "factors of the levels: {}", weights.join(" "))?;
        }
        let age = self.age;
        match self.parameters.refresh {
            Some(every) => {
                writeln!(f, "order and domains: chosen {age} updates and patches ago, anew every {every}")?
            }
            None => writeln!(f, "order and domains: chosen {age} updates and patches ago, kept")?,
        }
        if self.earlier {
            writeln!(f, "{EARLIER_POSITIONS}")?;
        }
        let s = self.seconds;
        let [structure, inverses, top] = [s.structure, s.inverses, s.top].map(|t| t.as_secs_f64());
        write!(f, "seconds: structure {structure:.3}, inverses {inverses:.3}, coarse solve {top:.3}")
    }
}
