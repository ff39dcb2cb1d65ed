//! The figures of §8 on the CPU.

use coarsen_backend::Cpu;
use coarsen_core::{Preconditioner, Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_problems::{Material, NumpyRandom, Problem, cloth, softcube};
use coarsen_schwarz::{AdditiveSchwarz, Coarse, Schwarz};

use crate::chart::{Line, chart};
use crate::{METHODS, Outcome, run, until};

/// The residual at which solves stop, relative to the initial residual (§8.3).
pub(crate) const TOLERANCE: f64 = 5e-4;

/// Fig. 10: domain size M and number of levels L.
pub(crate) fn domains() -> Outcome<()> {
    let p = cloth(201, 0.01)?;
    let b = p.right_hand_side(1);
    println!(
        "domains: iterations and seconds (setup + solve) on cloth:201 at 10 ms; the last column solves a coarse level exactly"
    );
    println!("   M          L = 1               2               3               4           exact");
    for domain in [8, 16, 32, 64, 128] {
        print!("{domain:>4}");
        for levels in [1, 2, 3, 4, 0] {
            let coarse = if levels == 0 { Coarse::Exact { unknowns: 60_000 } } else { Coarse::Domains };
            let parameters = Schwarz {
                domain,
                coarse,
                levels: if levels == 0 { 9 } else { levels },
                ..Schwarz::multilevel()
            };
            let (its, seconds) = parallel::threads(0, || -> Outcome<(usize, f64)> {
                let begun = std::time::Instant::now();
                let mut m = parameters.build(p.system(), &Cpu::new())?;
                let setup = begun.elapsed().as_secs_f64();
                let its = until(&p.matrix, &mut m, &b, TOLERANCE)?;
                Ok((its, setup + timed(&p, &mut m, its)?))
            })??;
            print!("{its:>7} {seconds:8.3}");
        }
        println!();
    }
    println!("one level, eight sweeps (§6.1): M, iterations, seconds");
    for domain in [256, 512, 1024, 2048, 3820] {
        let (its, seconds) = parallel::threads(0, || -> Outcome<(usize, f64)> {
            let begun = std::time::Instant::now();
            let mut m = AdditiveSchwarz::swept(domain).build(p.system(), &Cpu::new())?;
            let setup = begun.elapsed().as_secs_f64();
            let its = until(&p.matrix, &mut m, &b, TOLERANCE)?;
            Ok((its, setup + timed(&p, &mut m, its)?))
        })??;
        println!("{domain:>4} {its:>7} {seconds:8.3}");
    }
    Ok(())
}

/// The time of a number of iterations, in seconds.
fn timed(p: &Problem, m: &mut dyn Preconditioner<Vec<f64>>, iterations: usize) -> Outcome<f64> {
    let b = p.right_hand_side(1);
    let (mut x, begun) = (vec![0.0; b.len()], std::time::Instant::now());
    let stop = Stop { max_iterations: iterations, ..Stop::relative(1e-30) };
    let _ = Cg::new(stop).solve(&p.matrix, m, &b, &mut x)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Prints a row for each method and a pair of columns for each problem.
fn table(names: &[String], problems: &[Problem], methods: &[&str]) -> Outcome<Vec<Vec<f64>>> {
    print!("{:14}", "");
    names.iter().for_each(|name| print!("{name:>22}"));
    println!("   growth of iterations, of seconds");
    let mut all = Vec::new();
    for method in methods {
        print!("{method:14}");
        let mut runs = Vec::new();
        for p in problems {
            let r = run(method, p, TOLERANCE)?;
            print!("{:>7} {:6.3}+{:7.3}", r.iterations, r.setup, r.solve);
            runs.push(r);
        }
        let (first, last) = (runs[0], runs[runs.len() - 1]);
        let seconds = |r: &crate::Run| r.setup + r.solve;
        println!(
            "{:10.2} {:10.1}",
            last.iterations as f64 / first.iterations as f64,
            seconds(&last) / seconds(&first)
        );
        all.push(runs.iter().map(seconds).collect());
    }
    Ok(all)
}

/// Fig. 18: stiffness. Multiplying the stiffness by f is equivalent to multiplying the time step by √f.
pub(crate) fn stiffness() -> Outcome<()> {
    println!("stiffness: cloth:201, times 0.1, 1, 10 and 100; iterations, setup + solve in seconds");
    let factors = [0.1, 1.0, 10.0, 100.0];
    let names: Vec<String> = factors.iter().map(f64::to_string).collect();
    let problems: Vec<Problem> =
        factors.iter().map(|f: &f64| cloth(201, 0.01 * f.sqrt())).collect::<Result<_, _>>()?;
    table(&names, &problems, &METHODS)?;
    Ok(())
}

/// Fig. 19 and 20: resolution.
pub(crate) fn growth() -> Outcome<()> {
    println!(
        "growth: cloth at 10 ms, 16 times the nodes; the paper's cost grows 76 (Jacobi), 69 (AS), 35 (MAS), 4 (AmgX) times"
    );
    let sides = [81, 161, 323];
    let names: Vec<String> = sides.iter().map(|n| format!("{n} x {n}")).collect();
    let problems: Vec<Problem> = sides.iter().map(|&n| cloth(n, 0.01)).collect::<Result<_, _>>()?;
    let seconds = table(&names, &problems, &METHODS)?;
    let lines: Vec<Line> = METHODS
        .iter()
        .zip(&seconds)
        .filter(|(name, _)| !matches!(**name, "jacobi" | "mas adjacency")) // too close to other lines
        .map(|(name, s)| (*name, sides.iter().zip(s).map(|(n, &s)| (3.0 * (n * n) as f64, s)).collect()))
        .collect();
    chart(
        "book/src/methods/mas_growth.svg",
        "cloth at 10 ms, to 5e-4, setup included",
        ["unknowns", "seconds"],
        &lines,
    )?;
    println!(
        "growth: neo-Hookean cubes at 10 ms, 15 times the nodes; the paper's cost grows 24, 23, 14, 3 times"
    );
    let sides = [10, 17, 26];
    let names: Vec<String> = sides.iter().map(|n| format!("{n}^3 cells")).collect();
    let problems: Vec<Problem> = sides
        .iter()
        .map(|&n| softcube(n, 0.01, Material::NeoHookean, &|_, _| 1.0))
        .collect::<Result<_, _>>()?;
    table(&names, &problems, &METHODS)?;
    Ok(())
}

/// A neo-Hookean cube with `cells` cells per side, whose octants are 0.01 to 100 times as stiff (Fig. 22).
pub(crate) fn regions(cells: usize) -> Outcome<Problem> {
    let octant = |x: [f64; 3]| {
        let k = x.iter().fold(0, |k, &x| 2 * k + i32::from(x > 0.5));
        10.0_f64.powf(4.0 * f64::from(k * 3 % 8) / 7.0 - 2.0)
    };
    Ok(softcube(cells, 0.01, Material::NeoHookean, &|_, x| octant(x))?)
}

/// Fig. 23: heterogeneous stiffness.
pub(crate) fn heterogeneous() -> Outcome<()> {
    println!(
        "heterogeneous: a neo-Hookean cube of 20^3 cells at 10 ms; equal stiffness, one of 0.1 to 10 drawn for each element, eight regions of 0.01 to 100"
    );
    let mut random = NumpyRandom::new(5);
    let drawn: Vec<f64> = (0..5 * 8000).map(|_| 10.0_f64.powf(random.between(-1.0, 1.0))).collect();
    let cube = |young: &dyn Fn(usize, [f64; 3]) -> f64| softcube(20, 0.01, Material::NeoHookean, young);
    let problems = [cube(&|_, _| 1.0)?, cube(&|e, _| drawn[e])?, regions(20)?];
    let methods = [&METHODS[..], &["mas strong", "mas rigid"][..]].concat();
    table(&["equal", "random", "regions"].map(str::to_owned), &problems, &methods)?;
    Ok(())
}
