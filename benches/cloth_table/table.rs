//! The results as tables: times and iterations, and speed-ups beside those of the paper.

use crate::METHODS;
use crate::paper::speed_ups;
use crate::rows::Row;

/// The rows of one scene and size, in the order of [`METHODS`].
pub(crate) struct Group<'a> {
    pub(crate) scene: &'a str,
    pub(crate) tessellation: &'a str,
    pub(crate) stiffness: &'a str,
    pub(crate) newton: &'a str,
    pub(crate) vertices: usize,
    pub(crate) rows: [Option<&'a Row>; METHODS.len()],
}

/// The rows by scene and size, in the order in which they were measured.
pub(crate) fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let words: Vec<&str> = row.key.split(',').collect();
        let &[scene, tessellation, stiffness, newton, vertices, method] = &words[..] else { continue };
        let (Ok(vertices), Some(k)) = (vertices.parse(), METHODS.iter().position(|name| *name == method))
        else {
            continue;
        };
        let same = |g: &&mut Group<'_>| {
            let own = (g.scene, g.tessellation, g.stiffness, g.newton, g.vertices);
            own == (scene, tessellation, stiffness, newton, vertices)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.rows[k] = Some(row),
            None => {
                let mut own = [None; METHODS.len()];
                own[k] = Some(row);
                groups.push(Group { scene, tessellation, stiffness, newton, vertices, rows: own });
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
                name(&group),
                group.vertices,
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
        let paper = speed_ups(group.tessellation, group.vertices, group.scene);
        let beside = |ours: Option<f64>, k: usize| match (ours, paper) {
            (Some(ours), Some(paper)) => format!("{ours:.2} ({:.2})", paper[k]),
            (Some(ours), None) => format!("{ours:.2}"),
            _ => String::new(),
        };
        let ratio = |slow: &str, norm: usize| group.ratio(slow, "sa", norm);
        let plain = |ours: Option<f64>| ours.map_or(String::new(), |ours| format!("{ours:.2}"));
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            name(&group),
            group.vertices,
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
        println!("| {} | {} | {method} | {least:.4} | {own:.4} | {ratio:.2} |", name(&group), group.vertices);
    }
}

/// The scene, with what differs from the regular sheet of cotton in the steps of the paper.
fn name(group: &Group<'_>) -> String {
    let mut name = group.scene.to_owned();
    if group.tessellation != "regular" {
        name += ", irregular";
    }
    if group.stiffness != "1" {
        name += &format!(", stiffness {}", group.stiffness);
    }
    if group.newton != "1" {
        name += &format!(", {} Newton iterations", group.newton);
    }
    name
}
