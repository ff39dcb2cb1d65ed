//! If the buffer of dense products does not fit, factoring returns an error and the process continues.
//!
//! The program starts itself twice for each method: first to measure its address space, then with a limit that leaves only
//! half of the buffer.

use std::env;
use std::process::Command;

use coarsen_direct::{Dense, Direct, DirectError, Method};
use coarsen_sparse::{Bsr, assembly};

/// The environment variable that gives the method to a child process.
pub(super) const CHILD: &str = "COARSEN_DIRECT_FACTOR";

pub(super) fn a_buffer_that_does_not_fit_is_an_error() {
    if !cfg!(target_os = "linux") {
        return println!("skipped: no limit on address space is known here");
    }
    let products = Direct { method: Method::Ldlt, ..Direct::default() }.estimate(&full()).unwrap().1.products;
    assert!(products > 0);
    for method in ["Cholesky", "Ldlt", "Lu", "Dense"] {
        let free = run(method, None);
        let (outcome, size) = free.split_once(' ').unwrap();
        assert_eq!(outcome, "factored", "{method}");
        let limit = size.parse::<usize>().unwrap() + products / 2;
        assert_eq!(run(method, Some(limit)).split(' ').next(), Some("refused"), "{method}");
    }
}

/// The output of a child process that factors with `limit` bytes of address space.
fn run(method: &str, limit: Option<usize>) -> String {
    let limit = limit.map_or("unlimited".to_owned(), |bytes| (bytes >> 10).to_string());
    let script = format!("ulimit -v {limit}; exec \"$0\"");
    let mut shell = Command::new("sh");
    // One arena of malloc: more arenas reserve 64 MiB each, and whether they fit under the limit depends on timing.
    shell.env("MALLOC_ARENA_MAX", "1").env(CHILD, method);
    let output = shell.arg("-c").arg(script).arg(env::current_exe().unwrap()).output().unwrap();
    let (said, complaint) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{method} under {limit}: {}, {complaint}", output.status);
    said.trim().to_owned()
}

/// Factors; prints the outcome and the address space used before.
pub(super) fn child(method: &str) {
    let a = full();
    let size = address_space();
    let direct = |method| Direct { method, ..Direct::default() }.factor(&a).map(drop);
    let built = match method {
        "Cholesky" => direct(Method::Cholesky),
        "Ldlt" => direct(Method::Ldlt),
        "Lu" => direct(Method::Lu),
        _ => Dense::default().invert(&a).map(drop),
    };
    match built {
        Ok(()) => println!("factored {size}"),
        Err(DirectError::Memory { .. }) => println!("refused {size}"),
        Err(error) => panic!("{error}"),
    }
}

/// The number of bytes of address space of this process.
fn address_space() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    1024 * line.trim_end_matches("kB").trim().parse::<usize>().unwrap()
}

/// A full matrix: its factor is one dense block.
fn full() -> Bsr<f64> {
    let n = 300_u32;
    let value = |i: u32, j: u32| if i == j { f64::from(n) } else { 0.5 };
    let entries: Vec<_> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j, value(i, j)))).collect();
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}
