//! Fig. 8 and 10 to 12: the relative error of one time step of Projective Dynamics against time.
//!
//! > (g(x⁽ᵏ⁾) − g(x*)) / (g(x⁽⁰⁾) − g(x*))    (9)
//!
//! Each iteration computes ∇g at x and solves A d = −∇g approximately by one method. x⁽⁰⁾ = x + h v after ten
//! frames, and x* is the result of Newton's method. Vivace (Fratarcangeli et al. 2016) is coloured symmetric
//! Gauss-Seidel. The semi-iterative method of Wang 2015 takes one Jacobi step per iteration and accelerates
//! it from iteration 10 on; ρ and the damping γ are those with the smallest error at the last mark. All
//! methods store A in f32. The clock includes gradients and leaves out values of g.

use std::ops::ControlFlow;
use std::time::Instant;

use coarsen::backend::Componentwise;
use coarsen::descent::{CachedPreconditioner, HostObjective};
use coarsen::elastic::{Curvature, Potential};
use coarsen::optimize::{DescentOutcome, Iterate, Verdict};
use coarsen::prelude::*;
use coarsen_core::Objective;

use crate::Outcome;
use crate::body::{Body, armadillo};
use crate::lines::{self, Line};

/// The colours of the methods: greys for ours.
const COLOURS: [u32; 9] =
    [0x000000, 0x5a5a5a, 0xa0a0a0, 0xd55e00, 0xe69f00, 0x009e73, 0x0072b2, 0x56b4e9, 0xcc79a7];

/// The frames before the step that is measured.
const FRAMES: usize = 10;

/// Times at which errors are compared, in units of one of our iterations.
const MARKS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// The first accelerated iteration of Wang 2015.
const ACCELERATED: usize = 10;

/// The errors of the table of Fig. 8.
const ASKED: [f64; 3] = [1e-1, 1e-2, 1e-3];

/// Solves A d = r approximately.
type Solve = Box<dyn FnMut(&Vec<f64>, &mut Vec<f64>) -> Outcome<()>>;

/// ρ and γ of Wang 2015; `None` without acceleration.
type Acceleration = Option<[f64; 2]>;

/// The state at the begin of the measured step.
struct Moment {
    x: Vec<f64>,
    v: Vec<f64>,
    /// g(x⁽⁰⁾) and g(x*).
    values: [f64; 2],
}

/// Fig. 10 to 12: a sheet of 40,401 vertices, and a body of about as many vertices as the octopus.
pub(crate) fn run() -> Outcome<()> {
    let sheet = || Body::sheet(201);
    picture(sheet, "sheet of 40,401 vertices", "skinning_sheet")?;
    let solid = || Body::new(armadillo(Some(79))?, 1000.0);
    picture(solid, "body of 41,730 vertices", "skinning_body")
}

fn picture<P: Potential + 'static>(
    make: impl Fn() -> Outcome<Body<P>>,
    title: &str,
    file: &str,
) -> Outcome<()> {
    let moment = moment(&make)?;
    let mut body = make()?;
    let a = body.matrix();
    println!("\n{title}: {} vertices, {} nonzeros of A\n", body.mesh.positions.len(), a.nnz());
    let rest = body.mesh.positions.clone();
    let ours = || ours(&a, &rest);
    let first = iterate(&make, &moment, ours()?, None, 1.0)?;
    let unit = first[first.len() - 1].0 / (first.len() - 1) as f64;
    println!("one of our iterations takes {:.1} ms\n", 1e3 * unit);
    let last = MARKS[4] * unit * 1.02;
    let mut curves: Vec<Line> = Vec::new();
    let mut add = |name: &str, solve: Solve, acceleration| -> Outcome<f64> {
        let points = iterate(&make, &moment, solve, acceleration, last)?;
        let error = at(&points, last);
        curves.push((name.to_owned(), points));
        Ok(error)
    };
    add("skinning, one cycle", ours()?, None)?;
    for k in [3, 6] {
        add(&format!("skinning-PCG, {k} iterations"), cg_by(&a, ours_built(&a, &rest)?, k), None)?;
    }
    add("Gauss-Seidel, 10 sweeps", sweeps(&a, 10)?, None)?;
    add("Gauss-Seidel, 50 sweeps", sweeps(&a, 50)?, None)?;
    for k in [10, 20, 40] {
        add(&format!("Jacobi-PCG, {k} iterations"), pcg(&a, k)?, None)?;
    }
    let mut best = (f64::INFINITY, [0.0; 2]);
    for gamma in [0.5, 0.7, 0.9, 1.0] {
        for rho in [0.9, 0.99, 0.995, 0.999, 0.9995, 0.9999] {
            let points = iterate(&make, &moment, jacobi(&a)?, Some([rho, gamma]), last)?;
            let error = at(&points, last);
            if error < best.0 {
                best = (error, [rho, gamma]);
            }
        }
    }
    let [rho, gamma] = best.1;
    curves.push((
        format!("Chebyshev, rho {rho}, gamma {gamma}"),
        iterate(&make, &moment, jacobi(&a)?, Some(best.1), last)?,
    ));
    println!("| method | {} |", MARKS.map(|m| format!("{m} cycles")).join(" | "));
    println!("|---|{}", "---:|".repeat(MARKS.len()));
    for (name, points) in &curves {
        let errors = MARKS.map(|m| format!("{:.2e}", at(points, 1.02 * m * unit)));
        println!("| {name} | {} |", errors.join(" | "));
    }
    let lowest = curves.iter().flat_map(|c| &c.1).filter(|p| p.0 <= last).fold(1.0, |m: f64, p| m.min(p.1));
    let decade = 10_f64.powf(lowest.log10().floor()).max(1e-6);
    let titles = [title, "seconds", "relative error of the objective, (9)"];
    lines::write(&format!("book/src/methods/{file}.svg"), titles, [last, decade], &curves, &COLOURS)
}

/// Fig. 8: sheets of n x n vertices by a factor of a in A = a ⊗ I₃, by skinning of a and of A, and by Newton's
/// method.
pub(crate) fn sheets(sizes: &[usize]) -> Outcome<()> {
    println!(
        "| vertices | method | setup s | update s | MiB | s to {} |",
        ASKED.map(|e| format!("{e:.0e}")).join(" | s to ")
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|");
    for &n in sizes {
        let make = || Body::sheet(n);
        let moment = moment(&make)?;
        let mut body = make()?;
        let (a, rest) = (body.matrix(), body.mesh.positions.clone());
        let row = |name: &str, [setup, update, mib]: [f64; 3], points: &[(f64, f64)]| {
            let to = ASKED
                .map(|e| points.iter().find(|p| p.1 <= e).map_or("-".to_owned(), |p| format!("{:.3}", p.0)));
            println!("| {} | {name} | {setup:.3} | {update:.3} | {mib:.1} | {} |", n * n, to.join(" | "));
        };
        let system = System { positions: Some(&rest), ..System::from(&a) };
        let begin = Instant::now();
        let mut factor = Componentwise { scalar: Direct::default() }.build(&a, &Cpu::new())?;
        let setup = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        factor.update(&a)?;
        let update = begin.elapsed().as_secs_f64();
        let mib = Direct::default().estimate(&component(&a)?)?.1.bytes as f64 / f64::from(1 << 20);
        row("factor", [setup, update, mib], &iterate(&make, &moment, by(factor), None, 5.0)?);
        let begin = Instant::now();
        let mut each = Componentwise { scalar: skinning() }.build(system, &Cpu::mixed())?;
        let setup = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        each.update(system)?;
        let update = begin.elapsed().as_secs_f64();
        let scalar = component(&a)?;
        let system_of_scalars = System { positions: Some(&rest), ..System::from(&scalar) };
        let bytes = skinning().build(system_of_scalars, &Cpu::mixed())?.bytes();
        let mib = bytes as f64 / f64::from(1 << 20);
        row("skinning, 4 x 4", [setup, update, mib], &iterate(&make, &moment, by(each), None, 5.0)?);
        let begin = Instant::now();
        let mut m = skinning().build(system, &Cpu::mixed())?;
        let setup = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        m.update(system)?;
        let update = begin.elapsed().as_secs_f64();
        let mib = m.bytes() as f64 / f64::from(1 << 20);
        row("skinning", [setup, update, mib], &iterate(&make, &moment, by(m), None, 5.0)?);
        row("Newton, skinning", [setup, update, mib], &newton(&make, &moment, 5.0)?);
    }
    Ok(())
}

/// The matrix a of A = a ⊗ I₃.
fn component(a: &Bsr<f64>) -> Outcome<Bsr<f64>> {
    let values = a.values().chunks_exact(9).map(|block| block[0]).collect();
    Ok(Bsr::new(a.pattern().clone(), (1, 1), values)?)
}

/// Plays the first frames with four iterations each, and computes g(x*).
fn moment<P: Potential + 'static>(make: &impl Fn() -> Outcome<Body<P>>) -> Outcome<Moment> {
    let mut body = make()?;
    let (a, rest) = (body.matrix(), body.mesh.positions.clone());
    let mut solve = ours(&a, &rest)?;
    let mut d = vec![0.0; body.x.len()];
    for _ in 0..FRAMES {
        let (mut b, mut sum) = (body.begin()?, vec![0.0; d.len()]);
        for _ in 0..4 {
            solve(&b, &mut d)?;
            sum.iter_mut().zip(&d).for_each(|(s, d)| *s += d);
            let x: Vec<f64> = body.start().iter().zip(&sum).map(|(x, s)| x + s).collect();
            body.f.gradient(&x, &mut b);
            b.iter_mut().for_each(|b| *b = -*b);
        }
        body.end(&sum);
    }
    let mut moment = Moment { x: body.x, v: body.v, values: [0.0; 2] };
    let points = newton(make, &moment, f64::INFINITY)?;
    moment.values = [points[0].1, points.last().map_or(f64::NAN, |p| p.1)];
    Ok(moment)
}

/// Seconds and errors of Newton's method with skinning multigrid; values of g instead of errors if they are
/// not known.
fn newton<P: Potential + 'static>(
    make: &impl Fn() -> Outcome<Body<P>>,
    moment: &Moment,
    limit: f64,
) -> Outcome<Vec<(f64, f64)>> {
    let mut body = at_moment(make, moment)?;
    let mut x = body.start();
    body.f.curvature = Curvature::Projected;
    let rest: Vec<f64> = body.mesh.positions.as_flattened().to_vec();
    let backend = Cpu::mixed();
    let m = CachedPreconditioner::build(&mut body.f, &rest, move |system| {
        Ok(Box::new(skinning().build_from(system, &backend)?))
    })?;
    let mut f = HostObjective::new(body.f, m).projecting_on_demand();
    let mut points = Vec::new();
    let begin = Instant::now();
    let [first, least] = moment.values;
    let known = first > least;
    let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
        let seconds = begin.elapsed().as_secs_f64();
        points.push((seconds, if known { (it.value - least) / (first - least) } else { it.value }));
        let done = match points[..] {
            [.., before, (_, error)] if known => error < 1e-4 || before.1 - error < 1e-6,
            [first, .., before, last] => before.1 - last.1 < 1e-6 * (first.1 - last.1),
            _ => false,
        };
        match done || seconds > limit {
            true => ControlFlow::Break(Verdict::Stop),
            false => ControlFlow::Continue(()),
        }
    };
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    let report = descent.minimize_with(&mut f, &mut Newton::inexact(), &mut x, &mut monitor)?;
    match report.outcome {
        DescentOutcome::Converged(_) | DescentOutcome::Stopped => Ok(points),
        _ => Err(format!("Newton's method: {report}").into()),
    }
}

fn at_moment<P: Potential>(make: &impl Fn() -> Outcome<Body<P>>, moment: &Moment) -> Outcome<Body<P>> {
    let mut body = make()?;
    body.x.copy_from_slice(&moment.x);
    body.v.copy_from_slice(&moment.v);
    body.begin()?;
    Ok(body)
}

/// Seconds and errors of Projective Dynamics, until `limit` seconds.
fn iterate<P: Potential>(
    make: &impl Fn() -> Outcome<Body<P>>,
    moment: &Moment,
    mut solve: Solve,
    acceleration: Acceleration,
    limit: f64,
) -> Outcome<Vec<(f64, f64)>> {
    let mut body = at_moment(make, moment)?;
    let mut x = body.start();
    let (mut before, n) = (x.clone(), x.len());
    let (mut g, mut d) = (vec![0.0; n], vec![0.0; n]);
    let ([first, least], mut omega, mut seconds) = (moment.values, 1.0, 0.0);
    let mut points = vec![(0.0, 1.0)];
    for k in 1..1000 {
        let begin = Instant::now();
        body.f.gradient(&x, &mut g);
        g.iter_mut().for_each(|g| *g = -*g);
        solve(&g, &mut d)?;
        match acceleration {
            None => x.iter_mut().zip(&d).for_each(|(x, d)| *x += d),
            Some([rho, gamma]) => {
                omega = match k {
                    _ if k < ACCELERATED => 1.0,
                    ACCELERATED => 2.0 / (2.0 - rho * rho),
                    _ => 4.0 / (4.0 - rho * rho * omega),
                };
                for ((x, before), d) in x.iter_mut().zip(&mut before).zip(&d) {
                    let next = omega * (gamma * d + *x - *before) + *before;
                    *before = *x;
                    *x = next;
                }
            }
        }
        seconds += begin.elapsed().as_secs_f64();
        let error = (body.f.value(&x).value - least) / (first - least);
        points.push((seconds, error));
        if seconds > limit || !(1e-5..=1e3).contains(&error) {
            break;
        }
    }
    Ok(points)
}

/// The error at a time: that of the last iteration that is complete.
fn at(points: &[(f64, f64)], seconds: f64) -> f64 {
    points.iter().take_while(|p| p.0 <= seconds).last().map_or(1.0, |p| p.1)
}

/// One application of a preconditioner.
fn by(mut m: impl Preconditioner<Vec<f64>> + 'static) -> Solve {
    Box::new(move |r, d| {
        m.apply(r, d);
        Ok(())
    })
}

fn ours_built(a: &Bsr<f64>, rest: &[[f64; 3]]) -> Outcome<impl Preconditioner<Vec<f64>> + use<>> {
    let system = System { positions: Some(rest), ..System::from(a) };
    Ok(skinning().build(system, &Cpu::mixed())?)
}

fn ours(a: &Bsr<f64>, rest: &[[f64; 3]]) -> Outcome<Solve> {
    Ok(by(ours_built(a, rest)?))
}

fn sweeps(a: &Bsr<f64>, sweeps: usize) -> Outcome<Solve> {
    Ok(by(GaussSeidel { sweeps, ..GaussSeidel::default() }.build(a, &Cpu::mixed())?))
}

fn jacobi(a: &Bsr<f64>) -> Outcome<Solve> {
    Ok(by(BlockJacobi::default().build(a, &Cpu::mixed())?))
}

fn pcg(a: &Bsr<f64>, iterations: usize) -> Outcome<Solve> {
    Ok(cg_by(a, BlockJacobi::default().build(a, &Cpu::mixed())?, iterations))
}

/// A number of iterations of conjugate gradients, with A stored in f32.
fn cg_by(a: &Bsr<f64>, mut m: impl Preconditioner<Vec<f64>> + 'static, iterations: usize) -> Solve {
    let stored = a.to::<f32>();
    let mut cg = Cg::new(Stop { max_iterations: iterations, ..Stop::relative(1e-12) });
    Box::new(move |r, d| {
        d.fill(0.0);
        let _ = cg.solve(&stored, &mut m, r, d)?; // ends at the iteration limit
        Ok(())
    })
}
