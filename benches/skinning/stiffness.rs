//! Fig. 9: the factor by which a cycle reduces the residual, for a stiffness of 5e2 to 2.56e5.

use coarsen::multigrid::Smoothing;
use coarsen::prelude::*;

use crate::Outcome;
use crate::body::{Body, armadillo};

const CYCLES: i32 = 20;

pub(crate) fn run() -> Outcome<()> {
    println!("| μ | reduction of the residual by a cycle | after 20 cycles |\n|---:|---:|---:|");
    let mut all = Vec::new();
    for doubling in 0..10 {
        let mu = 5e2 * f64::from(1 << doubling);
        let mut body = Body::new(armadillo(None)?, mu)?;
        let a = body.matrix();
        let rest = body.mesh.positions.clone();
        let system = System { positions: Some(&rest), ..System::from(&a) };
        // Table 1 of the paper has 50 control points, solved directly, and three symmetric sweeps before and after
        // the correction. Six forward and six backward sweeps cost the same.
        let smoothing = Smoothing::GaussSeidel(GaussSeidel { sweeps: 6, ..GaussSeidel::default() });
        let parameters = Multigrid { smoothing, ..skinning_levels(&[50]) };
        let mut m = parameters.build(system, &Cpu::new())?;
        let b = body.begin()?;
        let (mut x, mut z, mut r) = (vec![0.0; b.len()], vec![0.0; b.len()], b.clone());
        for _ in 0..CYCLES {
            m.apply(&r, &mut z);
            x.iter_mut().zip(&z).for_each(|(x, z)| *x += z);
            a.residual(&b, &x, &mut r);
        }
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let left = norm(&r) / norm(&b);
        let cycle = left.powf(1.0 / f64::from(CYCLES));
        println!("| {mu:.0} | {cycle:.3} | {left:.2e} |");
        all.push(cycle);
    }
    let (low, high) = all.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &c| (l.min(c), h.max(c)));
    println!("\nlargest over smallest: {:.3}", high / low);
    Ok(())
}
