//! Counts for each crate, and a line for each survivor.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::CRATES;
use crate::build::LeftOut;
use crate::judge::Verdict;
use crate::sample::Mutant;

/// The table and the list, as the book prints them.
pub(crate) fn table(
    commit: &str,
    mutants: &[&Mutant],
    verdicts: &BTreeMap<u32, Verdict>,
    left_out: &LeftOut,
) -> String {
    let mut text = format!("Commit {commit}\n\n");
    text += "| crate | drawn | do not compile | by hand | judged | by its own tests | by the workspace's | survive | caught |\n";
    text += "|---|---|---|---|---|---|---|---|---|\n";
    for name in CRATES {
        let package = format!("coarsen-{name}");
        let of: Vec<u32> = mutants.iter().filter(|m| m.package == package).map(|m| m.number).collect();
        if of.is_empty() {
            continue;
        }
        let unviable = of.iter().filter(|n| left_out.unviable.contains(n)).count();
        let by_hand = of.iter().filter(|n| left_out.by_hand.contains(n)).count();
        let count = |verdict| of.iter().filter(|n| verdicts.get(n) == Some(&verdict)).count();
        let (own, workspace, survive) =
            (count(Verdict::Own), count(Verdict::Workspace), count(Verdict::Survives));
        let judged = own + workspace + survive;
        let caught = 100.0 * (own + workspace) as f64 / judged.max(1) as f64;
        let drawn = of.len();
        _ = writeln!(
            text,
            "| {name} | {drawn} | {unviable} | {by_hand} | {judged} | {own} | {workspace} | {survive} | {caught:.1} % |"
        );
    }
    for (title, is) in [
        (
            "Survivors",
            Box::new(|n: &u32| verdicts.get(n) == Some(&Verdict::Survives)) as Box<dyn Fn(&u32) -> bool>,
        ),
        ("To be judged by hand", Box::new(|n| left_out.by_hand.contains(n))),
    ] {
        _ = writeln!(text, "\n{title}:\n");
        for mutant in mutants.iter().filter(|m| is(&m.number)) {
            _ = writeln!(text, "{:5}  {}", mutant.number, mutant.name);
        }
    }
    text
}
