//! Compiled programs are stored on disk: a process loads the programs that an earlier process compiled. Within a process
//! the backends of a device share them.

mod common;

use std::path::Path;

use coarsen_backend::{Backend, conformance};
use coarsen_core::{LinearOperator, Vector};
use coarsen_opencl::OpenCl;

/// Returns the number of programs that a new process compiles with this folder as its cache.
fn compiled(folder: &Path) -> u64 {
    let said = common::child("a_process", "COARSEN_CACHE", folder);
    let tail = said.split("compiled ").nth(1).unwrap_or_else(|| panic!("{said}"));
    tail.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

/// Multiplies noise by the matrix of a ring of n blocks of 3 on these backends, one after the other, and compares.
fn multiply(backends: &[(&OpenCl<f64>, usize)]) {
    let operands = backends.iter().map(|&(backend, n)| {
        let (a, x) = (conformance::ring(n, 3), conformance::noise(3 * n, 1));
        (backend.matrix(&a).unwrap(), backend.vector(&x).unwrap(), a, x)
    });
    let operands: Vec<_> = operands.collect();
    let products = operands.iter().map(|(a, x, ..)| {
        let mut y = x.like().unwrap();
        a.apply(x, &mut y);
        y
    });
    let products: Vec<_> = products.collect();
    for ((&(backend, n), y), (.., a, x)) in backends.iter().zip(&products).zip(&operands) {
        let (mut found, mut expected) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
        backend.read(y, &mut found).unwrap();
        a.apply(x, &mut expected);
        assert!(found.iter().zip(&expected).all(|(f, e)| (f - e).abs() < 1e-12));
    }
}

#[test]
#[ignore = "run by a_second_process_compiles_nothing"]
fn a_process() {
    let backend = common::backend::<f64>().expect("asked before");
    multiply(&[(&backend, 40)]);
    println!("compiled {} programs", backend.counters().compiled);
}

#[test]
#[ignore = "run by a_second_process_compiles_nothing"]
fn a_process_that_tunes() {
    let backend = common::backend::<f64>().expect("asked before");
    let local = backend.tune().unwrap();
    assert!(local.is_power_of_two() && (32..=1024).contains(&local), "{local}");
    println!("groups of {local}");
}

#[test]
#[ignore = "run by backends_of_a_device_share_programs"]
fn a_second_backend_compiles_nothing() {
    let [one, two] = [1, 2].map(|_| common::backend::<f64>().expect("asked before"));
    multiply(&[(&one, 40), (&two, 70), (&one, 30)]); // other arguments each time
    assert_eq!([&one, &two].map(|backend| backend.counters().compiled), [2, 0]);
}

#[test]
fn backends_of_a_device_share_programs() {
    if common::backend::<f64>().is_none() {
        return;
    }
    common::child("a_second_backend_compiles_nothing", "COARSEN_CACHE", "");
}

#[test]
fn a_second_process_compiles_nothing() {
    if common::backend::<f64>().is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("coarsen-cache-{}", std::process::id()));
    assert_eq!(compiled(&folder), 2, "vectors, and blocks of 3");
    assert_eq!(compiled(&folder), 0);
    // An incomplete file is not used.
    for file in std::fs::read_dir(folder.join("opencl")).unwrap() {
        let file = file.unwrap().path();
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    }
    assert_eq!(compiled(&folder), 2);
    assert_eq!(compiled(&folder), 0);
    // The fastest work-group size is stored in the same folder.
    common::child("a_process_that_tunes", "COARSEN_CACHE", &folder);
    let kept = |file: &Path| file.extension().is_some_and(|e| e == "local");
    let mut files = std::fs::read_dir(folder.join("opencl")).unwrap();
    assert!(files.any(|file| kept(&file.unwrap().path())));
    common::child("a_process", "COARSEN_CACHE", &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    // A file in place of the folder: there is no cache.
    let file = folder.with_extension("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(compiled(&file), 2);
    std::fs::remove_file(&file).unwrap();
}
