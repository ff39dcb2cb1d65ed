//! The results as tables: times and iterations, and speed-ups beside those of the paper.

use crate::paper::speed_ups;
use crate::rows::{Case, Row};
use crate::{METHODS, SYSTEMS};

/// The rows of one animation, in the order of [`METHODS`].
pub(crate) struct Group<'a> {
    pub(crate) case: &'a Case,
    pub(crate) rows: [Option<&'a Row>; METHODS.len()],
}

/// The rows by animation, in the order in which they were measured.
pub(crate) fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let Some(k) = METHODS.iter().position(|name| *name == row.method) else { continue };
        match groups.iter_mut().find(|group| *group.case == row.case) {
            Some(group) => group.rows[k] = Some(row),
            None => {
                let mut own = [None; METHODS.len()];
                own[k] = Some(row);
                groups.push(Group { case: &row.case, rows: own });
            }
        }
    }
    groups
}

impl Group<'_> {
    /// How many times faster the second method is than the first; `None` if one was not measured or failed.
    pub(crate) fn ratio(&self, slow: &str, fast: &str, norm: usize) -> Option<f64> {
        let total = |method: &str| {
            let k = METHODS.iter().position(|name| *name == method)?;
            self.rows[k]?.total(norm)
        };
        Some(total(slow)? / total(fast)?)
    }
}

/// Prints the tables as Markdown.
pub(crate) fn print(rows: &[Row]) {
    println!("\n| scene | vertices | method | setup s | iterations M⁻¹ | s | iterations ‖r‖ | s |");
    println!("|---|---|---|---|---|---|---|---|");
    for group in groups(rows) {
        for (method, row) in METHODS.iter().zip(&group.rows) {
            let Some(row) = row else { continue };
            let each = |seconds: f64| seconds / row.systems as f64;
            let solves = [0, 1].map(|norm| match row.failed[norm] {
                0 => {
                    let count = row.iterations[norm] as f64 / row.systems as f64;
                    format!("{count:.0} | {:.4}", each(row.solve[norm]))
                }
                failed => format!("failed on {failed} of {} | ", row.systems),
            });
            println!(
                "| {} | {} | {method} | {:.4} | {} | {} |",
                name(group.case),
                group.case.vertices,
                each(row.setup),
                solves[0],
                solves[1]
            );
        }
    }
    println!("\nspeed-up of smoothed aggregation in the norm of the preconditioner (paper), in ‖r‖");
    println!(
        "| scene | vertices | over block Jacobi | over Cholesky | over block Jacobi, ‖r‖ | over Cholesky, ‖r‖ |"
    );
    println!("|---|---|---|---|---|---|");
    for group in groups(rows) {
        let paper = speed_ups(group.case);
        let beside = |ours: Option<f64>, k: usize| match (ours, paper) {
            (Some(ours), Some(paper)) => format!("{ours:.2} ({:.2})", paper[k]),
            (Some(ours), None) => format!("{ours:.2}"),
            _ => String::new(),
        };
        let ratio = |slow: &str, norm: usize| group.ratio(slow, "sa", norm);
        let plain = |ours: Option<f64>| ours.map_or(String::new(), |ours| format!("{ours:.2}"));
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            name(group.case),
            group.case.vertices,
            beside(ratio("block-jacobi", 0), 0),
            beside(ratio("cholesky", 0), 1),
            plain(ratio("block-jacobi", 1)),
            plain(ratio("cholesky", 1))
        );
    }
}

/// Prints how long `auto` takes, in units of the fastest method, to the true residual.
pub(crate) fn print_auto(rows: &[Row]) {
    println!("\n| scene | vertices | fastest | s | auto s | ratio |");
    println!("|---|---|---|---|---|---|");
    for group in groups(rows) {
        let totals = METHODS.iter().zip(&group.rows).filter_map(|(method, row)| {
            let row = (*row)?;
            Some((*method, row.total(1)? / row.systems as f64))
        });
        let (auto, others): (Vec<_>, Vec<_>) = totals.partition(|(method, _)| *method == "auto");
        let best = others.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let (Some((_, own)), Some((method, least))) = (auto.first(), best) else { continue };
        let ratio = own / least;
        println!(
            "| {} | {} | {method} | {least:.4} | {own:.4} | {ratio:.2} |",
            name(group.case),
            group.case.vertices
        );
    }
}

/// The scene, with what differs from the regular sheet of cotton in the steps of the paper.
fn name(case: &Case) -> String {
    let mut name = case.scene.clone();
    if case.tessellation != "regular" {
        name += ", irregular";
    }
    if case.stiffness != "1" {
        name += &format!(", stiffness {}", case.stiffness);
    }
    if case.newton != "1" {
        name += &format!(", {} Newton iterations", case.newton);
    }
    if case.systems != SYSTEMS {
        name += &format!(", {} systems", case.systems);
    }
    name
}
