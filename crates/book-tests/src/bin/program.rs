//! The program of the tutorial "A program of your own": a rubber beam bends
//! under its weight. `cargo run -p coarsen-book --bin program` writes `beam.svg`.

// ANCHOR: mesh
use std::array::from_fn;
use std::error::Error;
use std::io::Write;

use coarsen::constraints::Dirichlet;
use coarsen::prelude::*;
use coarsen::sparse::NearKernel;
use coarsen::sparse::assembly::Assembly;

/// The nodes of a beam of 4 m x 1 m and its triangles.
fn beam(cells: usize) -> (Vec<[f64; 2]>, Vec<[u32; 3]>) {
    let (columns, h) = (4 * cells + 1, 1.0 / cells as f64);
    let nodes = 0..columns * (cells + 1);
    let at = |k| [(k % columns) as f64 * h, (k / columns) as f64 * h];
    let mut triangles = Vec::new();
    for k in nodes.clone().filter(|k| (k + 1) % columns != 0) {
        if k + columns < nodes.end {
            let [a, b] = [k as u32, (k + columns) as u32];
            triangles.extend([[a, a + 1, b + 1], [a, b + 1, b]]);
        }
    }
    (nodes.map(at).collect(), triangles)
}
// ANCHOR_END: mesh

// ANCHOR: element
/// The blocks K_ab of a triangle with the corners p, row by row:
/// K_ab = area (λ g_a g_bᵀ + μ g_b g_aᵀ + μ (g_a·g_b) I),
/// where g_a is the gradient of the hat function of corner a.
fn element(p: [[f64; 2]; 3], young: f64, poisson: f64) -> [[f64; 4]; 9] {
    let mu = young / (2.0 * (1.0 + poisson));
    let lambda = 2.0 * mu * poisson / (1.0 - 2.0 * poisson);
    let [u, v] = [1, 2].map(|k| [p[k][0] - p[0][0], p[k][1] - p[0][1]]);
    let area = 0.5 * (u[0] * v[1] - u[1] * v[0]);
    let g: [[f64; 2]; 3] = from_fn(|a| {
        let (b, c) = (p[(a + 1) % 3], p[(a + 2) % 3]);
        [(b[1] - c[1]) / (2.0 * area), (c[0] - b[0]) / (2.0 * area)]
    });
    from_fn(|block| {
        let (a, b) = (g[block / 3], g[block % 3]);
        let dot = a[0] * b[0] + a[1] * b[1];
        from_fn(|entry| {
            let (i, j) = (entry / 2, entry % 2);
            let same = if i == j { mu * dot } else { 0.0 };
            area * (lambda * a[i] * b[j] + mu * a[j] * b[i] + same)
        })
    })
}
// ANCHOR_END: element

// ANCHOR: main
fn main() -> Result<(), Box<dyn Error>> {
    let picture = run(&mut std::io::stdout())?;
    Ok(std::fs::write("beam.svg", picture)?)
}

/// Returns the picture.
fn run(out: &mut impl Write) -> Result<String, Box<dyn Error>> {
    // ANCHOR_END: main
    // ANCHOR: assemble
    let cells = 60; // along the height
    let (points, triangles) = beam(cells);
    let n = points.len();
    let plan = Assembly::of_elements(n, &triangles)?; // once
    let mut a = plan.zeros(2)?; // 2x2 blocks
    let blocks = |young: f64| -> Vec<f64> {
        let corners = triangles.iter().map(|t| t.map(|k| points[k as usize]));
        corners.flat_map(|p| element(p, young, 0.3)).flatten().collect()
    };
    plan.fill(&blocks(1e7), &mut a)?; // Pa
    // ANCHOR_END: assemble

    // ANCHOR: load
    let mut weight = vec![0.0; 2 * n]; // N for a depth of 1 m
    let third = 0.5 / (cells * cells) as f64 / 3.0; // of a triangle
    for &k in triangles.as_flattened() {
        weight[2 * k as usize + 1] -= 1000.0 * 9.81 * third;
    }
    let wall = (0..n).filter(|&k| points[k][0] == 0.0);
    let held = wall.flat_map(|k| [(2 * k, 0.0), (2 * k + 1, 0.0)]);
    let held = Dirichlet::new(2 * n, held)?;
    let mut b = weight.clone();
    held.impose(&mut a, &mut b)?;
    // ANCHOR_END: load

    // ANCHOR: solve
    let flat: Vec<[f64; 3]> =
        points.iter().map(|p| [p[0], p[1], 0.0]).collect();
    let modes = NearKernel::rigid_body_modes(&flat, 2)?;
    let system = System { near_kernel: Some(&modes), ..System::from(&a) };
    let mut m = smoothed_aggregation().build(system, &Cpu::new())?;
    let mut cg = Cg::new(Stop::relative(1e-8));
    let mut u = vec![0.0; 2 * n];
    let report = cg.solve(&a, &mut m, &b, &mut u)?.converged()?;
    let (count, tip) = (report.iterations, 2 * (4 * cells) + 1);
    write!(out, "{} unknowns, {count} iterations, ", 2 * n)?;
    writeln!(out, "tip {:.3} m", u[tip])?;
    // ANCHOR_END: solve

    // ANCHOR: reuse
    for step in 1..=3 {
        plan.fill(&blocks(1e7 * 0.9_f64.powi(step)), &mut a)?; // it warms up
        b.copy_from_slice(&weight);
        held.impose(&mut a, &mut b)?;
        let kept =
            m.update(System { near_kernel: Some(&modes), ..System::from(&a) })?;
        let report = cg.solve(&a, &mut m, &b, &mut u)?.converged()?;
        write!(out, "{kept:?}: {} iterations, ", report.iterations)?;
        writeln!(out, "tip {:.3} m", u[tip])?;
    }
    // ANCHOR_END: reuse

    // ANCHOR: picture
    let at = |k: usize| {
        let [x, y]: [f64; 2] =
            from_fn(|d| 200.0 * (points[k][d] + u[2 * k + d]));
        format!("{x:.1},{:.1}", 200.0 - y)
    };
    let view =
        "viewBox=\"-10 -10 840 330\" fill=\"#9ecae1\" stroke=\"#3182bd\"";
    let mut svg =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {view}>\n");
    let (right, up) = (cells / 12, cells / 12 * (4 * cells + 1));
    for j in 0..12 {
        for k in (0..48).map(|i| j * up + i * right) {
            let corners = [k, k + right, k + right + up, k + up].map(at);
            svg += &format!("<polygon points=\"{}\"/>\n", corners.join(" "));
        }
    }
    Ok(svg + "</svg>\n")
}
// ANCHOR_END: picture

#[cfg(test)]
#[path = "../../../../tests/common/outputs.rs"]
#[rustfmt::skip] // its lines are wider
mod outputs;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_prints_what_the_page_says() {
        let mut said = Vec::new();
        let picture = run(&mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        let page = include_str!("../../../../book/src/tutorials/program.md");
        let other = outputs::difference(&outputs::on_page(page), &said);
        assert!(other.is_none(), "the page says {other:?}:\n{said}");
        assert_eq!(picture.matches("<polygon").count(), 12 * 48);
    }
}
