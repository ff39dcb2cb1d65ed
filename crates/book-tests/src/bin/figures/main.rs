//! Draws figures of the book with results of the library: `cargo run -p coarsen-book`. With a file of the tutorial on
//! solids, `beam.vtu`, it draws the picture of that page.
//!
//! | file | contents |
//! |---|---|
//! | `mesh` | a half ring of triangles and its Laplacian |
//! | `aggregates` | the picture of the aggregates |
//! | `residuals` | residuals of conjugate gradients |
//! | `stress` | the beam of the tutorial on solids |
//! | `picture` | SVG: lines, discs, text |

mod aggregates;
mod mesh;
mod picture;
mod residuals;
mod stress;

use std::error::Error;
use std::path::{Path, PathBuf};

use mesh::Mesh;
use residuals::Race;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(vtu) = std::env::args().nth(1) {
        let picture = stress::draw(&std::fs::read_to_string(vtu)?)?;
        return Ok(picture.write_png(path_of("../tutorials/solids.png"))?);
    }
    std::fs::write(path_of("aggregates.svg"), aggregates::draw(&Mesh::half_ring(8, 30))?)?;
    std::fs::write(path_of("residuals.svg"), Race::run("elasticity3d:10")?.draw())?;
    Ok(())
}

/// A picture of the method pages, or of another folder beside them.
fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/methods").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number stored in a picture of the book, by name.
    fn said(picture: &str, name: &str) -> usize {
        let text = std::fs::read_to_string(path_of(picture)).expect("a figure of the book");
        let tail = text.split(&format!("data-{name}=\"")).nth(1).expect("the name in the figure");
        tail.split('"').next().and_then(|n| n.parse().ok()).expect("a number")
    }

    #[test]
    fn aggregates_are_those_of_today() {
        let (_, count) = aggregates::of(&Mesh::half_ring(8, 30)).unwrap();
        assert_eq!(said("aggregates.svg", "aggregates"), count, "`cargo run -p coarsen-book` draws it again");
    }

    #[test]
    fn residuals_are_those_of_today() {
        for run in Race::run("elasticity3d:10").unwrap().runs {
            let (now, then) = (run.iterations(), said("residuals.svg", run.slug));
            // Round-off differs between machines and may change the count by one.
            assert!(
                now.abs_diff(then) <= 1 + then / 20,
                "{}: {now} iterations, {then} in the figure; `cargo run -p coarsen-book` draws it again",
                run.name
            );
        }
    }
}
