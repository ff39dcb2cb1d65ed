//! `coarsen info`: what diagnose finds, block size, scale, memory estimates, advice.

use std::fmt::Write;
use std::process::ExitCode;
use std::thread::available_parallelism;

use coarsen::auto::{Costs, MEMORY};
use coarsen::direct::{Direct, Method as Factorisation};
use coarsen::parallel;
use coarsen::sparse::Bsr;
use coarsen::sparse::diagnose::{Diagnosis, diagnose};

use crate::args::{Info, Method, Precond};
use crate::choose::{Choice, Wish};
use crate::error::Failure;
use crate::input::open;
use crate::say;

pub(crate) fn run(options: &Info) -> Result<ExitCode, Failure> {
    let threads = available_parallelism().map_or(1, usize::from);
    let text = parallel::threads(threads, || -> Result<String, Failure> {
        let a = open(&options.matrix)?.matrix()?;
        Ok(describe(&a, &diagnose(&a)))
    })??;
    say(&text);
    Ok(ExitCode::SUCCESS)
}

fn describe(a: &Bsr<f64>, diagnosis: &Diagnosis) -> String {
    let mut text = diagnosis.to_string();
    let n = a.shape().0;
    let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all that is written");
    match diagnosis.structure.blocking {
        Some(best) => {
            line(format!("block size {}, {:.0} % of the blocks filled", best.size, 100.0 * best.fill));
        }
        None => line("block size 1".to_owned()),
    }
    if diagnosis.values.is_none() {
        return text;
    }
    line(factor(a));
    let wish =
        Wish { method: Method::Auto, precond: Precond::Auto, iterate: false, varies: false, memory: MEMORY };
    let choice = Choice::new(wish, n, diagnosis, |factor| Costs::of(a, factor));
    line("solve would take".to_owned());
    choice.because.iter().for_each(|why| line(format!("  {why}")));
    text
}

/// What a direct solve would need, from structure alone.
fn factor(a: &Bsr<f64>) -> String {
    match Direct::default().estimate(a) {
        Ok((Factorisation::Lu, _)) => "direct: LU, whose fill depends on its pivots".to_owned(),
        Ok((method, figures)) => {
            let mut text =
                format!("direct: {method:?}, {:.1} MiB", figures.bytes as f64 / f64::from(1 << 20));
            if let Some(nnz) = figures.nnz {
                text += &format!(", {nnz} entries in the factor");
            }
            if let Some(flops) = figures.flops {
                text += &format!(", {flops:.1e} operations");
            }
            text
        }
        Err(error) => format!("direct: {error}"),
    }
}
