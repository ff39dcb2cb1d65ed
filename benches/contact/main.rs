//! exploring
use coarsen_backend::{Cpu, Reused, Setup, UpdateExt};
use coarsen_core::{LinearOperator, Stop, parallel};
use coarsen_krylov::{Cg, Krylov};
use coarsen_multigrid::{Keep, Multigrid};
use coarsen_problems::{Options, Sequence};
use coarsen_schwarz::Schwarz;
use coarsen_sparse::{Sum, System};
use std::time::Instant;
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|w| !w.starts_with("--")).collect();
    let (spec, method, how, tol): (&str, &str, &str, f64) = (&args[0], &args[1], &args[2], args[3].parse()?);
    parallel::threads(2, || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut s = Sequence::parse(spec, 20, &Options::default())?;
        let b = s.right_hand_side(1);
        let mut x = vec![0.0; b.len()];
        let on = Cpu::new();
        let mut sa = None;
        let mut mas = None;
        let mut bj = None;
        let mut elastic = s.elastic().clone();
        let mut totals = [0.0; 2];
        loop {
            if let Ok(m) = std::env::var("ONLY") {
                if s.step() % m.parse::<usize>()? != 0 {
                    if !s.advance()? {
                        break;
                    }
                    continue;
                }
            }
            let t = Instant::now();
            let first = s.step() == 0;
            let frozen = System { matrix: &elastic, ..s.system() };
            let mut what = String::new();
            match (method, how) {
                ("sa", "build") => sa = Some(Multigrid::smoothed_aggregation().build(s.system(), &on)?),
                ("bj", "build") => bj = Some(coarsen_relax::BlockJacobi::default().build(s.system(), &on)?),
                ("mas", "build") => mas = Some(Schwarz::multilevel().build(s.system(), &on)?),
                ("sa", _) if first => {
                    sa = Some(
                        Multigrid { keep: Keep::Transfers, ..Multigrid::smoothed_aggregation() }
                            .build(s.system(), &on)?,
                    )
                }
                ("mas", _) if first => mas = Some(Schwarz::multilevel().build(s.system(), &on)?),
                ("sa", "update") => {
                    what = format!("{:?}", sa.as_mut().unwrap().update(s.system())?);
                }
                ("mas", "update") => {
                    what = format!("{:?}", mas.as_mut().unwrap().update(s.system())?);
                }
                ("mas", "patch") => {
                    what = format!("{:?}", mas.as_mut().unwrap().patch(frozen, s.touched())?);
                }
                _ => (),
            }
            if how != "patch" {
                elastic.values_mut().copy_from_slice(s.elastic().values());
            }
            let setup = t.elapsed().as_secs_f64();
            let t = Instant::now();
            x.fill(0.0);
            let sum = s.sum();
            let mut cg = Cg::new(Stop { max_iterations: 3000, ..Stop::relative(tol) });
            let report = match (&mut sa, &mut mas) {
                (None, None) => cg.solve(&sum, bj.as_mut().unwrap(), &b, &mut x)?,
                (Some(m), _) => cg.solve(&sum, m, &b, &mut x)?,
                (_, Some(m)) => cg.solve(&sum, m, &b, &mut x)?,
            };
            let solve = t.elapsed().as_secs_f64();
            println!(
                "{:3} pairs {:7} touched {:6} setup {setup:.3} its {:4} solve {solve:.3} {} {what}",
                s.step(),
                s.pairs(),
                s.touched().len(),
                report.iterations,
                report.outcome.name()
            );
            totals[0] += setup;
            totals[1] += solve;
            let t = Instant::now();
            if !s.advance()? {
                break;
            }
            print!("[{:.3}] ", t.elapsed().as_secs_f64());
        }
        println!("setup {:.3} solve {:.3}", totals[0], totals[1]);
        Ok(())
    })?
}
