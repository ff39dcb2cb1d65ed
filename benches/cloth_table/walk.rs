//! The time of a solve over an animation: a skirt on a body that walks (Fig. 9).

use std::path::Path;

use coarsen_core::parallel;

use crate::{Asked, FOLDER, Outcome, animate, solve};

/// The scene, and the number of systems of its animation.
pub(crate) const SCENE: &str = "garment";
const SYSTEMS: usize = 12;

/// Prints a row for each system: its frame, and the milliseconds of each method with setup, in the norm of the
/// preconditioner. The last row has the largest divided by the smallest.
pub(crate) fn walk(asked: &Asked) -> Outcome<()> {
    for &vertices in &asked.sizes {
        let case = asked.case(SCENE, vertices, SYSTEMS);
        let folder = Path::new(FOLDER).join(case.folder());
        let files = animate(&case, &folder)?;
        println!("\n{SCENE}, {vertices} vertices: milliseconds with setup (iterations)\n");
        println!("| frame | {} |", asked.methods.join(" | "));
        println!("|---|{}", "---|".repeat(asked.methods.len()));
        let mut ends = vec![[f64::INFINITY, 0.0]; asked.methods.len()];
        parallel::threads(2, || rows(asked, &folder, &files, &mut ends))??;
        let spreads = ends.iter().map(|[least, most]| format!(" {:.2} |", most / least)).collect::<String>();
        println!("| most / least |{spreads}");
    }
    Ok(())
}

/// Prints the rows of an animation, and takes the least and the most milliseconds of each method.
fn rows(asked: &Asked, folder: &Path, files: &[usize], ends: &mut [[f64; 2]]) -> Outcome<()> {
    let mut solvers = Vec::from_iter(asked.methods.iter().map(|_| None)); // that of `auto` is used
    for frame in files {
        let system = solve::read(folder, *frame)?;
        let mut line = format!("| {frame} |");
        let each = asked.methods.iter().zip(&mut *ends).zip(&mut solvers);
        for ((method, [least, most]), solver) in each {
            let times = solve::time(method, &system, solver)?;
            let total = times.setup + times.solve[0];
            if times.failed[0] {
                line += " failed |";
                continue;
            }
            (*least, *most) = (least.min(total), most.max(total));
            line += &format!(" {:.1} ({}) |", 1e3 * total, times.iterations[0]);
        }
        println!("{line}");
    }
    Ok(())
}
