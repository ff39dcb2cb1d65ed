//! The bandwidth of kernels.

use std::hint::black_box;

use coarsen::Error;
use coarsen::backend::{Backend, Cpu, DenseBlocks, Matrix, SetupError};
use coarsen::opencl::{DeviceMatrix, DeviceSymmetric, Format, OpenCl};
use coarsen::sparse::Bsr;
use coarsen::{LinearOperator, Real, Vector};

use crate::timing::least;

/// The reference kernel for each precision.
const YARDSTICK: &str = "x·y";

/// A line of the table.
pub(crate) struct Row {
    what: String,
    kernel: String,
    scalar: &'static str,
    bytes: usize,
    seconds: f64,
    /// The time on the CPU.
    cpu: Option<f64>,
}

impl Row {
    fn gigabytes(&self) -> f64 {
        self.bytes as f64 / self.seconds * 1e-9
    }

    /// Formats the line. The bandwidth is also given relative to the reference kernel (found in `all`) and to
    /// the CPU.
    pub(crate) fn line(&self, all: &[Self]) -> String {
        let yardstick = all.iter().find(|row| row.kernel == YARDSTICK && row.scalar == self.scalar);
        let share = yardstick.map_or(String::new(), |y| percent(self.gigabytes() / y.gigabytes()));
        let share = share + &of_peak(self.gigabytes());
        let cpu = self.cpu.map_or(["–".to_owned(), "–".to_owned()], |seconds| {
            [format!("{:.1}", self.bytes as f64 / seconds * 1e-9), percent(seconds / self.seconds)]
        });
        let Self { what, kernel, scalar, .. } = self;
        let (ms, rate) = (self.seconds * 1e3, self.gigabytes());
        format!("| {what} | {kernel} | {scalar} | {ms:.3} | {rate:.1} | {share} | {} | {} |", cpu[0], cpu[1])
    }
}

/// The percentage of the theoretical memory bandwidth, if `benches/gpu/run.sh` has a value for the GPU.
fn of_peak(gigabytes: f64) -> String {
    let peak = std::env::var("COARSEN_PEAK").ok().and_then(|peak| peak.parse::<f64>().ok());
    peak.map_or(String::new(), |peak| format!(" ({} of peak)", percent(gigabytes / peak)))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Measures vector operations on n entries.
pub(crate) fn vectors<V: Real>(
    backend: &OpenCl<V>,
    n: usize,
    cpu: bool,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    let (x, y) = (vec![V::one(); n], vec![V::from_f64(0.5); n]);
    let (dx, mut dy) = (backend.vector(&x)?, backend.vector(&y)?);
    let synchronise = || backend.sync().expect("the device works");
    let mut add = |kernel: &str, words: usize, seconds, cpu| {
        let (what, bytes) = (format!("{n} entries"), words * n * size_of::<V>());
        rows.push(Row { what, kernel: kernel.to_owned(), scalar: V::NAME, bytes, seconds, cpu });
    };
    let (a, b) = (dx.scalar(V::from_f64(0.5)), dx.scalar(V::from_f64(0.25)));
    let dot = least(|| drop(dx.dot(&dy)), synchronise);
    let host = cpu.then(|| least(|| _ = black_box(black_box(&x).dot(&y)), || ()));
    add(YARDSTICK, 2, dot, host);
    let axpby = least(|| dy.axpby(&a, &dx, &b), synchronise);
    let mut z = y.clone();
    let host = cpu.then(|| least(|| z.axpby(&V::from_f64(0.5), black_box(&x), &V::from_f64(0.25)), || ()));
    add("a x + b y", 3, axpby, host);
    let (mut dr, dq) = (backend.vector(&y)?, backend.vector(&y)?);
    let cg_update = least(|| drop(Vector::cg_update(&mut dy, &mut dr, &a, &dx, &dq)), synchronise);
    let (mut r, q) = (y.clone(), y.clone());
    let host = cpu.then(|| {
        least(|| _ = black_box(Vector::cg_update(&mut z, &mut r, &V::from_f64(0.5), &x, &q)), || ())
    });
    add("x += a p, r −= a q, r·r", 6, cg_update, host);
    Ok(())
}

/// Measures products and relaxation with one matrix.
pub(crate) fn matrices<V: Real>(
    backend: &OpenCl<V>,
    name: &str,
    host: &Bsr<f64>,
    cpu: Option<Cpu<V>>,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    let (n, word) = (host.shape().0, size_of::<V>());
    let here = host.to::<V>();
    let matrix = here.bytes();
    let b = host.block().0;
    let synchronise = || backend.sync().expect("the device works");
    let mut add = |kernel: String, bytes: usize, seconds, cpu: Option<f64>| {
        let what = format!("{name}, {b}x{b}");
        rows.push(Row { what, kernel, scalar: V::NAME, bytes, seconds, cpu });
    };
    let x = vec![V::one(); n];
    let (mut y, mut s) = (x.clone(), x.clone());
    let (dx, db, mut dy, mut ds) =
        (backend.vector(&x)?, backend.vector(&x)?, backend.zeros(n)?, backend.zeros(n)?);
    let product = cpu.map(|_| least(|| here.apply(black_box(&x), &mut y), || ()));
    let suiting = backend.matrix(host)?.format();
    for format in [Format::Rows, Format::Ell, Format::Sliced] {
        let a = DeviceMatrix::new(backend, host, format)?;
        let chosen = if format == suiting { ", chosen" } else { "" };
        let seconds = least(|| a.apply(&dx, &mut dy), synchronise);
        add(format!("A x ({format:?}{chosen})"), matrix + 2 * word * n, seconds, product);
    }
    let half = DeviceSymmetric::new(backend, host).map_err(|e| match e {
        SetupError::Core(error) => error,
        other => unreachable!("gallery matrices are symmetric: {other}"),
    })?;
    let seconds = least(|| half.apply(&dx, &mut dy), synchronise);
    drop(half);
    let blocks = host.pattern().len();
    let triangle = (blocks + n / b) / 2 * b * b * word + 8 * blocks;
    add("A x (one triangle)".into(), triangle + 2 * word * n, seconds, product);
    let a = backend.matrix(host)?;
    let seconds = least(|| a.residual(&db, &dx, &mut dy), synchronise);
    let there = cpu.map(|_| least(|| here.residual(black_box(&x), &x, &mut y), || ()));
    add("b − A x".into(), matrix + 3 * word * n, seconds, there);
    let seconds = least(|| drop(a.apply_dot(&dx, &mut dy)), synchronise);
    let there = cpu.map(|_| {
        least(
            || {
                black_box(here.apply_dot(black_box(&x), &mut y));
            },
            || (),
        )
    });
    add("A x, x·A x".into(), matrix + 2 * word * n, seconds, there);
    let inverses = DenseBlocks::inverse_diagonal(host, "bench").expect("gallery matrices are definite");
    let (d, blocks) = (backend.blocks(&inverses)?, inverses.values().len() * word);
    let (one, zero, omega) = (V::one(), V::zero(), V::from_f64(0.3));
    let local = match cpu {
        Some(local) => Some((local.matrix(host)?, local.blocks(&inverses)?)),
        None => None,
    };
    let seconds = least(|| OpenCl::<V>::apply_blocks(&d, one, &dx, zero, &mut dy), synchronise);
    let there = local.as_ref().map(|(_, local_d)| {
        least(|| Cpu::<V>::apply_blocks(local_d, one, black_box(&x), zero, &mut y), || ())
    });
    add("D r".into(), blocks + 2 * word * n, seconds, there);
    let seconds = least(|| a.relax_into(&d, omega, zero, &db, &dx, &mut ds, &mut dy), synchronise);
    let there = local.as_ref().map(|(local_a, local_d)| {
        least(|| local_a.relax_into(local_d, omega, zero, black_box(&x), &x, &mut s, &mut y), || ())
    });
    add("Jacobi".into(), matrix + blocks + 4 * word * n, seconds, there);
    Ok(())
}
