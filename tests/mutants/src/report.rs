//! Counts per crate, and a line per survivor.

use std::fmt::Write;

use crate::build::LeftOut;
use crate::mutant::{CRATES, Mutant};
use crate::verdicts::{Asked, Verdict, Verdicts};

/// The table and the list for the book. If only the tests of a mutant's own crate are used, mutants that the
/// workspace caught earlier count as survivors.
pub(crate) fn table(asked: &Asked, mutants: &[&Mutant], verdicts: &Verdicts, left_out: &LeftOut) -> String {
    let verdict = |number: u32| {
        verdicts.get(number).map(|v| if asked.own && v == Verdict::Workspace { Verdict::Survives } else { v })
    };
    let by = if asked.own { ", by the tests of each mutant's own crate alone" } else { "" };
    let mut text = format!("Commit {}{by}\n\n", asked.commit);
    text += "| crate | drawn | do not compile | judged | by its own tests | by the workspace's | survive | caught |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    for name in CRATES {
        let package = format!("coarsen-{name}");
        let of: Vec<u32> = mutants.iter().filter(|m| m.package == package).map(|m| m.number).collect();
        if of.is_empty() {
            continue;
        }
        let unviable = of.iter().filter(|n| left_out.unviable.contains(n)).count();
        let count = |wanted| of.iter().filter(|n| verdict(**n) == Some(wanted)).count();
        let (own, workspace, survive) =
            (count(Verdict::Own), count(Verdict::Workspace), count(Verdict::Survives));
        let judged = own + workspace + survive;
        let caught = 100.0 * (own + workspace) as f64 / judged.max(1) as f64;
        let drawn = of.len();
        let workspace = if asked.own { "not asked".to_string() } else { workspace.to_string() };
        _ = writeln!(
            text,
            "| {name} | {drawn} | {unviable} | {judged} | {own} | {workspace} | {survive} | {caught:.1} % |"
        );
    }
    text += "\nSurvivors:\n\n";
    for mutant in mutants.iter().filter(|m| verdict(m.number) == Some(Verdict::Survives)) {
        _ = writeln!(text, "{:5}  {}", mutant.number, mutant.name);
    }
    text
}
