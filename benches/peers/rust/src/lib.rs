//! Reading of a system and printing of results, shared by the drivers; the formats are defined in
//! `system.py`.

use std::fs;
use std::time::Instant;

unsafe extern "C" {
    fn malloc_trim(pad: usize) -> i32;
}

pub struct System {
    pub n: usize,
    pub starts: Vec<usize>,
    pub columns: Vec<usize>,
    pub values: Vec<f64>,
    pub rhs: Vec<f64>,
}

impl System {
    pub fn read(folder: &str) -> Self {
        let bytes = fs::read(format!("{folder}/system.bin")).expect("system.bin");
        let mut rest = bytes.as_slice();
        let n = take(&mut rest, 1, u64::from_le_bytes)[0] as usize;
        let nnz = take(&mut rest, 1, u64::from_le_bytes)[0] as usize;
        let starts = take(&mut rest, n + 1, |b| u64::from_le_bytes(b) as usize);
        let columns = take(&mut rest, nnz, |b| u32::from_le_bytes(b) as usize);
        let values = take(&mut rest, nnz, f64::from_le_bytes);
        let rhs = take(&mut rest, n, f64::from_le_bytes);
        Self { n, starts, columns, values, rhs }
    }

    /// |b - A x| / |b|
    pub fn residual(&self, x: &[f64]) -> f64 {
        let mut r2 = 0.0;
        for i in 0..self.n {
            let row = self.starts[i]..self.starts[i + 1];
            let ax: f64 = row.map(|k| self.values[k] * x[self.columns[k]]).sum();
            r2 += (self.rhs[i] - ax).powi(2);
        }
        (r2 / self.rhs.iter().map(|b| b * b).sum::<f64>()).sqrt()
    }

    /// Times `setup` and `solve`, which returns x and the number of iterations, and prints a line.
    pub fn measure<S>(&self, setup: impl FnOnce() -> S, solve: impl FnOnce(S) -> (Vec<f64>, usize)) {
        // SAFETY: a plain call of the C library.
        unsafe { malloc_trim(0) };
        fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
        let before = resident("VmRSS");
        let begin = Instant::now();
        let solver = setup();
        let ready = begin.elapsed().as_secs_f64();
        let (x, iterations) = solve(solver);
        let end = begin.elapsed().as_secs_f64();
        let memory = (resident("VmHWM") - before).max(0.0);
        let residual = self.residual(&x);
        assert!(residual.is_finite(), "the residual is not a number");
        println!(
            r#"{{"setup": {ready}, "solve": {}, "iterations": {iterations}, "residual": {residual:e}, "memory": {memory}}}"#,
            end - ready
        );
    }
}

fn take<const B: usize, T>(rest: &mut &[u8], count: usize, decode: impl Fn([u8; B]) -> T) -> Vec<T> {
    let (head, tail) = rest.split_at(count * B);
    *rest = tail;
    head.chunks_exact(B).map(|b| decode(b.try_into().expect("B bytes"))).collect()
}

/// The value of a line in /proc/self/status, in MiB.
fn resident(key: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find(|line| line.starts_with(key)).expect("the line");
    line.split_whitespace().nth(1).expect("a number").parse::<f64>().expect("a number") / 1024.0
}

/// The folder of the system, and the configuration.
pub fn arguments() -> (String, String) {
    let mut arguments = std::env::args().skip(1);
    (arguments.next().expect("a folder"), arguments.next().expect("a configuration"))
}
